//! The help of the whole program: its commands in sections, and its options under another name.

use clap::{Arg, ArgAction};

use super::grammar;
use crate::persona::{self, Persona};

/// The sections of the commands. A command's display order selects its section.
pub(super) const START: usize = 1;
pub(super) const RUN: usize = 2;
pub(super) const CREW: usize = 3;
pub(super) const MEMORY: usize = 4;
pub(super) const STORE: usize = 5;
pub(super) const DOCUMENTS: usize = 6;
pub(super) const SETUP: usize = 7;

pub(super) const SECTIONS: [(usize, &str); 7] = [
    (START, "Start here"),
    (RUN, "Run"),
    (CREW, "Crew"),
    (MEMORY, "Memory"),
    (STORE, "Store"),
    (DOCUMENTS, "Documents"),
    (SETUP, "Setup"),
];

/// The help of the program itself.
pub(crate) fn root() -> String {
    let grammar = grammar();
    if persona::current() == Persona::Vybe {
        return grammar.clone().render_help().to_string();
    }
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{all-args}}", sections(&grammar));
    let about = grammar.get_long_about().cloned().unwrap_or_default();
    grammar
        .about(about)
        .mut_subcommands(|command| command.hide(true))
        .override_usage("writ [OPTIONS] <COMMAND>")
        .help_template(template)
        .render_help()
        .to_string()
}

fn sections(grammar: &clap::Command) -> String {
    let width = grammar.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for (order, title) in SECTIONS {
        text.push_str(&format!("{title}:\n"));
        for command in grammar.get_subcommands().filter(|command| command.get_display_order() == order) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {:<width$}  {about}\n", command.get_name()));
        }
        text.push('\n');
    }
    text
}

/// The agent contract's `-v` prints a document, where other programs have `-V`.
pub(super) fn version_of_vybe() -> Arg {
    Arg::new("version").short('v').long("version").action(ArgAction::Version).help("Print the version")
}

/// An option as the agent contract has it: its variables, and no choice of a format or a pager.
pub(super) fn in_the_words_of_vybe(argument: &Arg) -> Arg {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let (ours, theirs) = (Persona::Writ, Persona::Vybe);
    let variables = [
        (ours.store_variables(), theirs.store_variables()),
        (ours.agent_variables(), theirs.agent_variables()),
        (ours.request_variables(), theirs.request_variables()),
    ];
    let help = variables.iter().fold(help, |help, ([ours, _], [theirs, _])| help.replace(ours, theirs));
    let is_ours = matches!(argument.get_id().as_str(), "output" | "no_pager");
    argument.clone().help(help).hide(is_ours)
}
