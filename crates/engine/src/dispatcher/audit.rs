//! Keeps the audit files of an AOP session in step with the log. They are copies: whatever hinders them hinders no task.

use std::io;
use std::path::Path;

use contract::aee::Type;
use contract::aop::audit::Record;
use ops::Result;
use ops::aop_session::trail::{Follower, file_of, of_session};
use ops::run::journal::{Entry, Note};
use serde_json::json;

use super::Dispatcher;
use crate::audit_files;
use crate::observer::Progress;

/// The trail of the run, while it is worked.
pub(super) struct AuditTrail {
    follower: Follower,
    /// A fault is told once.
    is_told: bool,
}

impl Dispatcher<'_> {
    /// Writes what earlier engines of the session could not, and follows this run from here on.
    pub(crate) fn begin_audit(&mut self) -> Result<()> {
        if self.settings.audit.path().is_none() {
            return Ok(());
        }
        let Some(session) = self.run.asked.session_id.clone() else { return Ok(()) };
        let Some(follower) = Follower::of(&self.run, &self.tasks) else { return Ok(()) };
        self.audit = Some(AuditTrail { follower, is_told: false });
        for earlier in of_session(self.cx, &session)? {
            if earlier.run.asked.id != self.run.asked.id && !earlier.records.is_empty() {
                self.write_records(&earlier.run.asked.workspace, &earlier.records);
            }
        }
        self.follow_audit()
    }

    /// Writes the files of what was committed since the last call.
    pub(crate) fn follow_audit(&mut self) -> Result<()> {
        let Some(audit) = &mut self.audit else { return Ok(()) };
        let records = audit.follower.next(self.cx)?;
        if !records.is_empty() {
            let workspace = self.run.asked.workspace.clone();
            self.write_records(&workspace, &records);
        }
        Ok(())
    }

    fn write_records(&mut self, workspace: &str, records: &[Record]) {
        let Some(path) = self.settings.audit.path() else { return };
        let files: Vec<(String, Vec<u8>)> = records.iter().map(file_of).collect();
        let directory = match self.settings.audit.within(workspace) {
            Some(inside) => audit_files::in_workspace(Path::new(workspace), inside),
            None => audit_files::named(Path::new(path)),
        };
        if let Err(error) = directory.and_then(|directory| audit_files::write(&directory, &files)) {
            self.tell_unwritten(&error);
        }
    }

    /// The records are in the log; only their copies are missing.
    fn tell_unwritten(&mut self, error: &io::Error) {
        let is_told = self.audit.as_mut().is_none_or(|audit| std::mem::replace(&mut audit.is_told, true));
        if is_told {
            return;
        }
        let session = self.run.asked.session_id.clone().unwrap_or_default();
        let told = format!(
            "audit files are not written: {error}; `writ session audit {session} --write DIRECTORY` writes them"
        );
        self.observer.report(Progress::Warned { task: &session, told: &told });
        let note = Entry::Envelope(Note {
            kind: Type::Event,
            from: None,
            to: "log.writ".to_owned(),
            intent: "writ.audit.unwritten".to_owned(),
            message: told.clone(),
            payload: json!({"told": told}),
            task_id: None,
        });
        let (run, owner) = (&self.run.asked.id, &self.owner);
        // A run that has just ended takes no more notes; people were told above.
        ops::run::journal::write(self.cx, &self.caller, run, owner, &[note]).ok();
    }
}
