//! Keeps the audit files of an AOP session in step with the log. They are copies: whatever hinders them hinders no task.

use std::path::Path;

use contract::aop::audit::Record;
use contract::domain::limits;
use contract::domain::text::counted;
use ops::Result;
use ops::aop_session::trail::{self, Follower, file_of};
use ops::run::journal::{JournalEntry, JournalNote};
use serde_json::json;

use super::engine_run::EngineRun;
use super::task_work::TaskSet;
use crate::audit_files::{self, Replace};
use crate::observer::TaskProgress;

/// The trail of the run, while it is worked.
pub(super) struct RunAudit {
    follower: Follower,
    session: String,
    /// A fault is reported once.
    is_told: bool,
}

impl EngineRun<'_> {
    /// Writes what earlier engines of the session could not, and follows this run from here on.
    pub(crate) fn begin_audit(&mut self, tasks: &TaskSet) {
        if self.settings.audit.path().is_none() {
            return;
        }
        let Some(session) = self.run.asked.session_id.clone() else { return };
        let Some(follower) = Follower::of(&self.run, tasks.iter().map(|work| &work.task)) else { return };
        self.audit = Some(RunAudit { follower, session: session.clone(), is_told: false });
        if let Err(error) = self.write_earlier(&session) {
            self.tell_unwritten(&error.message);
        }
        self.follow_audit();
    }

    /// Only the newest runs, so that the start of a run does not take longer with each run of its session.
    fn write_earlier(&mut self, session: &str) -> Result<()> {
        let runs = trail::runs_of(self.cx, session)?;
        let runs = runs.into_iter().rev().filter(|run| run.asked.id != self.run.asked.id);
        for run in runs.take(limits::AUDIT_RUNS_MAX).collect::<Vec<_>>() {
            let of_run = trail::of_run(self.cx, &run)?;
            let replaced = if of_run.is_pruned { Replace::Nothing } else { Replace::Differing };
            self.write_records(&run.asked.workspace, &of_run.records, replaced)?;
            self.tell_unread(of_run.unread);
        }
        Ok(())
    }

    /// Writes the files of what was committed since the last call.
    pub(crate) fn follow_audit(&mut self) {
        let Some(audit) = &mut self.audit else { return };
        let workspace = self.run.asked.workspace.clone();
        let written = match audit.follower.next(self.cx) {
            Ok(records) => self.write_records(&workspace, &records, Replace::Differing),
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            self.tell_unwritten(&error.message);
        }
        let unread = self.audit.as_ref().map_or(0, |audit| audit.follower.unread());
        self.tell_unread(unread);
    }

    fn write_records(&mut self, workspace: &str, records: &[Record], replaced: Replace) -> Result<()> {
        let (Some(path), Some(audit)) = (self.settings.audit.path(), &self.audit) else { return Ok(()) };
        if records.is_empty() {
            return Ok(());
        }
        let files: Vec<(String, Vec<u8>)> = records.iter().map(file_of).collect();
        let directory = if path.starts_with('/') {
            // Other engines may have begun runs elsewhere.
            audit_files::named(Path::new(path), &trail::workspaces(self.cx, &audit.session)?)
        } else {
            audit_files::in_workspace(Path::new(workspace), path)
        };
        if let Err(error) = directory.and_then(|it| audit_files::write(&it, &files, replaced)) {
            self.tell_unwritten(&error.to_string());
        }
        Ok(())
    }

    fn tell_unread(&mut self, unread: usize) {
        if unread > 0 {
            self.tell_unwritten(&format!("{} cannot be read", counted(unread, "event")));
        }
    }

    /// The records are in the log; only their copies are missing.
    fn tell_unwritten(&mut self, why: &str) {
        let Some(audit) = &mut self.audit else { return };
        if std::mem::replace(&mut audit.is_told, true) {
            return;
        }
        let session = audit.session.clone();
        let told = format!(
            "audit files are not written: {why}; `writ session audit {session} --write DIRECTORY` writes them"
        );
        self.observer.report(TaskProgress::Warned { task: &session, told: &told });
        let note = JournalEntry::Envelope(JournalNote::event(
            "writ.audit.unwritten",
            &told,
            json!({"told": told}),
            None,
        ));
        let (run, owner) = (&self.run.asked.id, &self.owner);
        // A run that has just ended takes no more notes; the observer has the warning.
        ops::run::journal::write(self.cx, &self.caller, run, owner, &[note]).ok();
    }
}
