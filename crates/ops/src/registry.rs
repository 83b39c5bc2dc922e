//! Every verb of the product, in one list that all doors read.

use crate::verb::VerbEntry;
use crate::{
    agent, aop_session, approval, artifact, assignment, audit, budget, document, epoch, event, gc, handoff,
    heartbeat, ledger, limit_window, lock, memory, orchestrate, push, result, resume, rollback, run, session,
    snapshots, status, task, token, transfer, trust, vybe, watchdog, worklog, worktree,
};

pub const VERBS: &[VerbEntry] = &[
    // Continuity: the agent contract.
    VerbEntry::of::<resume::Resume>(),
    VerbEntry::of::<resume::peek::Peek>(),
    VerbEntry::of::<push::Push>(),
    VerbEntry::of::<task::create::Create>(),
    VerbEntry::of::<task::begin::Begin>(),
    VerbEntry::of::<task::get::Get>(),
    VerbEntry::of::<task::list::List>(),
    VerbEntry::of::<task::ready::Ready>(),
    VerbEntry::of::<task::set_status::SetStatus>(),
    VerbEntry::of::<task::complete::Complete>(),
    VerbEntry::of::<task::set_priority::SetPriority>(),
    VerbEntry::of::<task::add_dependency::AddDependency>(),
    VerbEntry::of::<task::remove_dependency::RemoveDependency>(),
    VerbEntry::of::<task::delete::Delete>(),
    VerbEntry::of::<memory::set::Set>(),
    VerbEntry::of::<memory::get::Get>(),
    VerbEntry::of::<memory::list::List>(),
    VerbEntry::of::<memory::search::Search>(),
    VerbEntry::of::<memory::pin::Pin>(),
    VerbEntry::of::<memory::delete::Delete>(),
    VerbEntry::of::<memory::gc::Gc>(),
    VerbEntry::of::<artifact::list::List>(),
    VerbEntry::of::<event::list::List>(),
    VerbEntry::of::<event::note::Note>(),
    VerbEntry::of::<session::checkpoint::Checkpoint>(),
    VerbEntry::of::<agent::Leave>(),
    VerbEntry::of::<status::Show>(),
    // Crew: the operator contracts.
    VerbEntry::of::<ledger::open::Open>(),
    VerbEntry::of::<ledger::show::Show>(),
    VerbEntry::of::<ledger::apply::Apply>(),
    VerbEntry::of::<ledger::reconcile::Reconcile>(),
    VerbEntry::of::<ledger::repair::Repair>(),
    VerbEntry::of::<ledger::close::Close>(),
    VerbEntry::of::<assignment::issue::Issue>(),
    VerbEntry::of::<assignment::show::Show>(),
    VerbEntry::of::<result::submit::Submit>(),
    VerbEntry::of::<heartbeat::Send>(),
    VerbEntry::of::<watchdog::Sweep>(),
    VerbEntry::of::<orchestrate::step::Step>(),
    VerbEntry::of::<lock::acquire::Acquire>(),
    VerbEntry::of::<lock::renew::Renew>(),
    VerbEntry::of::<lock::release::Release>(),
    VerbEntry::of::<lock::force::Force>(),
    VerbEntry::of::<lock::list::List>(),
    VerbEntry::of::<lock::check::Check>(),
    VerbEntry::of::<worklog::append::Append>(),
    VerbEntry::of::<worklog::show::Show>(),
    VerbEntry::of::<worklog::verify::Verify>(),
    VerbEntry::of::<handoff::export::Export>(),
    VerbEntry::of::<handoff::import::Import>(),
    VerbEntry::of::<handoff::brief::Brief>(),
    VerbEntry::of::<budget::set::Set>(),
    VerbEntry::of::<budget::settle::Settle>(),
    VerbEntry::of::<budget::show::Show>(),
    VerbEntry::of::<approval::request::RequestApproval>(),
    VerbEntry::of::<approval::decide::Decide>(),
    VerbEntry::of::<approval::list::List>(),
    // Runs.
    VerbEntry::of::<run::submit::Submit>(),
    VerbEntry::of::<run::preview::Preview>(),
    VerbEntry::of::<run::continue_run::Continue>(),
    VerbEntry::of::<run::list::List>(),
    VerbEntry::of::<run::show::Show>(),
    VerbEntry::of::<run::trace::Trace>(),
    VerbEntry::of::<run::logs::Logs>(),
    VerbEntry::of::<run::logs::LogsOfRun>(),
    VerbEntry::of::<run::cancel::CancelRun>(),
    VerbEntry::of::<run::cancel::CancelTask>(),
    VerbEntry::of::<run::retry::Retry>(),
    VerbEntry::of::<run::escalate::Escalate>(),
    VerbEntry::of::<aop_session::list::List>(),
    VerbEntry::of::<aop_session::show::Show>(),
    VerbEntry::of::<aop_session::report::Report>(),
    VerbEntry::of::<aop_session::audit::Audit>(),
    VerbEntry::of::<aop_session::audit::WriteAudit>(),
    VerbEntry::of::<rollback::undo::Undo>(),
    VerbEntry::of::<rollback::preview::Preview>(),
    VerbEntry::of::<snapshots::list::List>(),
    VerbEntry::of::<snapshots::gc::Gc>(),
    VerbEntry::of::<snapshots::gc::Preview>(),
    VerbEntry::of::<limit_window::list::List>(),
    VerbEntry::of::<limit_window::clear::Clear>(),
    // Halts.
    VerbEntry::of::<epoch::halt::HaltAll>(),
    VerbEntry::of::<epoch::resume_all::ResumeAll>(),
    // The store.
    VerbEntry::of::<audit::verify::Verify>(),
    VerbEntry::of::<audit::ReadTip>(),
    VerbEntry::of::<audit::reseal::Reseal>(),
    VerbEntry::of::<gc::all::Gc>(),
    VerbEntry::of::<gc::all::Preview>(),
    VerbEntry::of::<worktree::list::List>(),
    VerbEntry::of::<worktree::gc::Gc>(),
    VerbEntry::of::<worktree::gc::Preview>(),
    VerbEntry::of::<worktree::discard::Discard>(),
    VerbEntry::of::<worktree::discard::Preview>(),
    VerbEntry::of::<transfer::backup::Backup>(),
    VerbEntry::of::<transfer::export::Export>(),
    VerbEntry::of::<transfer::import::Import>(),
    VerbEntry::of::<transfer::upgrade::Upgrade>(),
    VerbEntry::of::<vybe::ImportVybe>(),
    // Trust in projects.
    VerbEntry::of::<trust::grant::Grant>(),
    VerbEntry::of::<trust::show::Show>(),
    VerbEntry::of::<trust::list::List>(),
    VerbEntry::of::<trust::revoke::Revoke>(),
    // Tokens of programs that decide for a person.
    VerbEntry::of::<token::create::Create>(),
    VerbEntry::of::<token::list::List>(),
    VerbEntry::of::<token::revoke::Revoke>(),
    // Documents.
    VerbEntry::of::<document::validate::Validate>(),
    VerbEntry::of::<document::convert::Convert>(),
    VerbEntry::of::<document::schema::List>(),
    VerbEntry::of::<document::schema::Show>(),
    VerbEntry::of::<document::plan::Check>(),
    VerbEntry::of::<document::plan::PlanSchema>(),
];

/// The verb with this name.
pub fn find(name: &str) -> Option<&'static VerbEntry> {
    VERBS.iter().find(|verb| verb.name == name)
}

/// The verb behind a command, without the program's name: `task create`.
pub fn of_command(command: &str) -> Option<&'static VerbEntry> {
    VERBS.iter().find(|verb| !command.is_empty() && verb.command == command)
}

#[cfg(test)]
mod tests;
