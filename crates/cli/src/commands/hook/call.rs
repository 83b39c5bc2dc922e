//! The hidden commands that hooks call: one for each handler.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, FromArgMatches};

use crate::hooks::handling::Handler;

#[derive(Debug, Clone)]
pub(crate) struct HandlerCall {
    pub(super) handler: Handler,
    /// The agent program that calls; the usual one where none is named.
    pub(super) from: Option<String>,
}

impl clap::Subcommand for HandlerCall {
    fn augment_subcommands(command: Command) -> Command {
        Handler::ALL.into_iter().fold(command, |command, handler| {
            let from = Arg::new("from").long("from").value_name("PROGRAM").hide(true);
            command.subcommand(Command::new(handler.word()).hide(true).arg(from))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Handler::from_word(name).is_some()
    }
}

impl FromArgMatches for HandlerCall {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let called = matches.subcommand();
        let call = called.and_then(|(word, inner)| {
            Some(Self { handler: Handler::from_word(word)?, from: inner.get_one::<String>("from").cloned() })
        });
        call.ok_or_else(|| clap::Error::new(ErrorKind::InvalidSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
