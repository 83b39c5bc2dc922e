//! The flags that name agent programs: one for each adapter.

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use contract::domain::code::ErrorCode;
use ops::{Error, Result};

use crate::hooks::adapter::{self, ADAPTERS, HookAdapter};

#[derive(Debug)]
pub(super) struct Agents {
    chosen: Vec<&'static dyn HookAdapter>,
    /// Whether a flag was given at all: `--claude=false` is.
    is_given: bool,
}

impl Agents {
    /// The agent programs that are meant: those that were named, else the usual one.
    pub(super) fn chosen(&self) -> Result<Vec<&'static dyn HookAdapter>> {
        match (self.chosen.is_empty(), self.is_given) {
            (false, _) => Ok(self.chosen.clone()),
            (true, false) => Ok(vec![adapter::usual()]),
            (true, true) => {
                let flags: Vec<String> = ADAPTERS.iter().map(|one| format!("--{}", one.name())).collect();
                let message = format!("nothing selected: use {}", flags.join(" and/or "));
                Err(Error::new(ErrorCode::Usage, message))
            }
        }
    }

    /// Agent programs that are not meant only because no flag was given.
    pub(super) fn unnamed(&self) -> impl Iterator<Item = &'static dyn HookAdapter> {
        let others = ADAPTERS.iter().copied().filter(|one| one.name() != adapter::usual().name());
        others.filter(|_| !self.is_given)
    }
}

impl clap::Args for Agents {
    fn augment_args(command: Command) -> Command {
        ADAPTERS.iter().enumerate().fold(command, |command, (order, adapter)| {
            let usual = if adapter.name() == adapter::usual().name() { " [default]" } else { "" };
            let help = format!("{}{usual}", adapter.title());
            let flag = Arg::new(adapter.name()).long(adapter.name()).action(ArgAction::SetTrue);
            command.arg(flag.help(help).display_order(order))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Agents {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        use clap::parser::ValueSource::CommandLine;
        let all = || ADAPTERS.iter().copied();
        let is_given = all().any(|one| matches.value_source(one.name()) == Some(CommandLine));
        Ok(Self { chosen: all().filter(|one| matches.get_flag(one.name())).collect(), is_given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
