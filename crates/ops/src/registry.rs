//! Every verb of the product, in one list that all doors read.

use crate::verb::Entry;
use crate::{
    approval, assignment, budget, handoff, heartbeat, ledger, lock, orchestrate, result, task, watchdog,
    worklog,
};

pub const VERBS: &[Entry] = &[
    // Continuity: the agent contract.
    Entry::of::<task::create::Create>(),
    Entry::of::<task::list::List>(),
    // Crew: the operator contracts.
    Entry::of::<ledger::open::Open>(),
    Entry::of::<ledger::show::Show>(),
    Entry::of::<ledger::apply::Apply>(),
    Entry::of::<ledger::reconcile::Reconcile>(),
    Entry::of::<ledger::close::Close>(),
    Entry::of::<assignment::issue::Issue>(),
    Entry::of::<assignment::show::Show>(),
    Entry::of::<result::submit::Submit>(),
    Entry::of::<heartbeat::Send>(),
    Entry::of::<watchdog::Sweep>(),
    Entry::of::<orchestrate::step::Step>(),
    Entry::of::<lock::acquire::Acquire>(),
    Entry::of::<lock::renew::Renew>(),
    Entry::of::<lock::release::Release>(),
    Entry::of::<lock::list::List>(),
    Entry::of::<lock::check::Check>(),
    Entry::of::<worklog::append::Append>(),
    Entry::of::<worklog::show::Show>(),
    Entry::of::<worklog::verify::Verify>(),
    Entry::of::<handoff::export::Export>(),
    Entry::of::<handoff::import::Import>(),
    Entry::of::<handoff::brief::Brief>(),
    Entry::of::<budget::set::Set>(),
    Entry::of::<budget::show::Show>(),
    Entry::of::<approval::request::RequestApproval>(),
    Entry::of::<approval::decide::Decide>(),
    Entry::of::<approval::list::List>(),
    // Runs.
    // The store.
    // Documents.
];

/// The verb with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|verb| verb.name == name)
}

/// The verb behind a command, without the program's name: `task create`.
pub fn of_command(command: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|verb| verb.command == command)
}

#[cfg(test)]
mod tests;
