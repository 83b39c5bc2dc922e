//! Every verb of the product, in one list that all doors read.

use crate::verb::Entry;
use crate::{
    agent, aop_session, approval, artifact, assignment, audit, budget, document, epoch, event, gc, handoff,
    heartbeat, ledger, limit_window, lock, memory, orchestrate, push, result, resume, rollback, run, session,
    snapshots, status, task, token, transfer, trust, vybe, watchdog, worklog, worktree,
};

pub const VERBS: &[Entry] = &[
    // Continuity: the agent contract.
    Entry::of::<resume::Resume>(),
    Entry::of::<resume::peek::Peek>(),
    Entry::of::<push::Push>(),
    Entry::of::<task::create::Create>(),
    Entry::of::<task::begin::Begin>(),
    Entry::of::<task::get::Get>(),
    Entry::of::<task::list::List>(),
    Entry::of::<task::ready::Ready>(),
    Entry::of::<task::set_status::SetStatus>(),
    Entry::of::<task::complete::Complete>(),
    Entry::of::<task::set_priority::SetPriority>(),
    Entry::of::<task::add_dependency::AddDependency>(),
    Entry::of::<task::remove_dependency::RemoveDependency>(),
    Entry::of::<task::delete::Delete>(),
    Entry::of::<memory::set::Set>(),
    Entry::of::<memory::get::Get>(),
    Entry::of::<memory::list::List>(),
    Entry::of::<memory::search::Search>(),
    Entry::of::<memory::pin::Pin>(),
    Entry::of::<memory::delete::Delete>(),
    Entry::of::<memory::gc::Gc>(),
    Entry::of::<artifact::list::List>(),
    Entry::of::<event::list::List>(),
    Entry::of::<event::note::Note>(),
    Entry::of::<session::checkpoint::Checkpoint>(),
    Entry::of::<agent::Leave>(),
    Entry::of::<status::Show>(),
    // Crew: the operator contracts.
    Entry::of::<ledger::open::Open>(),
    Entry::of::<ledger::show::Show>(),
    Entry::of::<ledger::apply::Apply>(),
    Entry::of::<ledger::reconcile::Reconcile>(),
    Entry::of::<ledger::repair::Repair>(),
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
    Entry::of::<lock::force::Force>(),
    Entry::of::<lock::list::List>(),
    Entry::of::<lock::check::Check>(),
    Entry::of::<worklog::append::Append>(),
    Entry::of::<worklog::show::Show>(),
    Entry::of::<worklog::verify::Verify>(),
    Entry::of::<handoff::export::Export>(),
    Entry::of::<handoff::import::Import>(),
    Entry::of::<handoff::brief::Brief>(),
    Entry::of::<budget::set::Set>(),
    Entry::of::<budget::settle::Settle>(),
    Entry::of::<budget::show::Show>(),
    Entry::of::<approval::request::RequestApproval>(),
    Entry::of::<approval::decide::Decide>(),
    Entry::of::<approval::list::List>(),
    // Runs.
    Entry::of::<run::submit::Submit>(),
    Entry::of::<run::preview::Preview>(),
    Entry::of::<run::continue_run::Continue>(),
    Entry::of::<run::list::List>(),
    Entry::of::<run::show::Show>(),
    Entry::of::<run::trace::Trace>(),
    Entry::of::<run::logs::Logs>(),
    Entry::of::<run::logs::LogsOfRun>(),
    Entry::of::<run::cancel::CancelRun>(),
    Entry::of::<run::cancel::CancelTask>(),
    Entry::of::<run::retry::Retry>(),
    Entry::of::<run::escalate::Escalate>(),
    Entry::of::<aop_session::list::List>(),
    Entry::of::<aop_session::show::Show>(),
    Entry::of::<aop_session::report::Report>(),
    Entry::of::<aop_session::audit::Audit>(),
    Entry::of::<aop_session::audit::WriteAudit>(),
    Entry::of::<rollback::undo::Undo>(),
    Entry::of::<rollback::preview::Preview>(),
    Entry::of::<snapshots::list::List>(),
    Entry::of::<snapshots::gc::Gc>(),
    Entry::of::<snapshots::gc::Preview>(),
    Entry::of::<limit_window::list::List>(),
    Entry::of::<limit_window::clear::Clear>(),
    // Halts.
    Entry::of::<epoch::halt::HaltAll>(),
    Entry::of::<epoch::resume_all::ResumeAll>(),
    // The store.
    Entry::of::<audit::verify::Verify>(),
    Entry::of::<audit::ReadTip>(),
    Entry::of::<audit::reseal::Reseal>(),
    Entry::of::<gc::all::Gc>(),
    Entry::of::<gc::all::Preview>(),
    Entry::of::<worktree::list::List>(),
    Entry::of::<worktree::gc::Gc>(),
    Entry::of::<worktree::gc::Preview>(),
    Entry::of::<worktree::discard::Discard>(),
    Entry::of::<worktree::discard::Preview>(),
    Entry::of::<transfer::backup::Backup>(),
    Entry::of::<transfer::export::Export>(),
    Entry::of::<transfer::import::Import>(),
    Entry::of::<transfer::upgrade::Upgrade>(),
    Entry::of::<vybe::ImportVybe>(),
    // Trust in projects.
    Entry::of::<trust::grant::Grant>(),
    Entry::of::<trust::show::Show>(),
    Entry::of::<trust::list::List>(),
    Entry::of::<trust::revoke::Revoke>(),
    // Tokens of programs that decide for a person.
    Entry::of::<token::create::Create>(),
    Entry::of::<token::list::List>(),
    Entry::of::<token::revoke::Revoke>(),
    // Documents.
    Entry::of::<document::validate::Validate>(),
    Entry::of::<document::convert::Convert>(),
    Entry::of::<document::schema::List>(),
    Entry::of::<document::schema::Show>(),
    Entry::of::<document::plan::Check>(),
    Entry::of::<document::plan::PlanSchema>(),
];

/// The verb with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|verb| verb.name == name)
}

/// The verb behind a command, without the program's name: `task create`.
pub fn of_command(command: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|verb| !command.is_empty() && verb.command == command)
}

#[cfg(test)]
mod tests;
