//! The run as this engine works it: its store, its journal, its processes, and why it ends early.

use contract::domain::attempt::AttemptId;
use contract::domain::code::ErrorCode;
use contract::domain::reason::Reason;
use contract::domain::run::{Owner, Run};
use contract::domain::scope::Scope;
use ops::crew::Obstacle;
use ops::run::journal::{JournalEntry, JournalWritten};
use ops::{Caller, Context, Error, Result};

use super::audit::RunAudit;
use super::leftovers::Leftover;
use super::processes::Processes;
use crate::git::Runner;
use crate::observer::Observer;
use crate::pipeline::{Mark, Pipeline};
use crate::settings::Settings;

pub(crate) struct EngineRun<'d> {
    pub(crate) cx: &'d mut Context,
    pub(crate) settings: &'d Settings,
    pub(crate) observer: &'d mut dyn Observer,
    pub(crate) run: Run,
    pub(crate) owner: Owner,
    pub(crate) caller: Caller,
    /// The layers, and the journal entries that have gathered.
    pub(crate) pipeline: Pipeline,
    pub(super) processes: Processes,
    /// The audit files of the run's AOP session; `None` if there are none.
    pub(super) audit: Option<RunAudit>,
    /// The scratch of every task. Changes there never count.
    pub(super) scratch: Vec<Scope>,
    pub(super) ends_early: EndsEarly,
    /// What ended attempts and tasks left, to be removed before the next wait.
    pub(super) leftovers: Vec<Leftover>,
    /// How long writes waited for the store since the deadlines were last moved.
    pub(super) waited_ms: i64,
}

/// Why tasks are ended that could go on.
#[derive(Default)]
pub(super) struct EndsEarly {
    pub(super) is_canceled: bool,
    /// The reason that came with the cancel.
    pub(super) cancel_reason: Option<Reason>,
    /// The failure of a task ends all others.
    pub(super) aborted: Option<String>,
    /// No process could be started.
    pub(super) starved: Option<Error>,
}

/// The engine that works a run, and the observer of its progress.
pub(crate) struct EngineParts<'d> {
    pub(crate) cx: &'d mut Context,
    pub(crate) settings: &'d Settings,
    pub(crate) observer: &'d mut dyn Observer,
    pub(crate) owner: Owner,
    pub(crate) caller: Caller,
}

/// What became of entries that were to be written.
pub(crate) enum Committed {
    /// They are, with the number of the grant where locks were taken.
    All(Option<i64>),
    /// Nothing is: another process moved a task in the last moment.
    Moved,
    /// Nothing is: an attempt cannot begin.
    Hindered(Obstacle),
    /// Nothing is: what the task held was taken back.
    Fenced,
}

impl<'d> EngineRun<'d> {
    pub(super) fn new(parts: EngineParts<'d>, run: Run, pipeline: Pipeline, scratch: Vec<Scope>) -> Self {
        let ends_early = EndsEarly { is_canceled: run.cancel_requested, ..EndsEarly::default() };
        Self {
            processes: Processes::new(parts.settings.launcher.children()),
            cx: parts.cx,
            settings: parts.settings,
            observer: parts.observer,
            run,
            owner: parts.owner,
            caller: parts.caller,
            pipeline,
            audit: None,
            scratch,
            ends_early,
            leftovers: Vec::new(),
            waited_ms: 0,
        }
    }

    /// On the boot clock.
    pub(crate) fn now_ms(&self) -> i64 {
        self.cx.now().boot.millis
    }

    pub(super) fn runner(&self, mark: &AttemptId) -> Runner<'d> {
        Runner {
            launcher: &*self.settings.launcher,
            environment: &self.settings.environment,
            mark: mark.clone(),
        }
    }

    pub(crate) fn note(&mut self, entry: JournalEntry) {
        self.pipeline.push(entry);
    }

    pub(crate) fn note_all(&mut self, entries: impl IntoIterator<Item = JournalEntry>) {
        entries.into_iter().for_each(|entry| self.note(entry));
    }

    /// Writes everything that has gathered in one transaction. If nothing could be written, everything since the
    /// mark is forgotten, and the caller looks again.
    pub(crate) fn try_commit(&mut self, mark: Mark) -> Result<Committed> {
        if self.pipeline.entries().is_empty() {
            return Ok(Committed::All(None));
        }
        let written = self.patiently(|engine| {
            let (entries, id) = (engine.pipeline.entries(), &engine.run.asked.id);
            ops::run::journal::write(engine.cx, &engine.caller, id, &engine.owner, entries)
        });
        let committed = match written {
            Ok(JournalWritten::All { token }) => {
                let is_audited = self.pipeline.entries().iter().any(JournalEntry::is_audited);
                self.pipeline.written();
                if is_audited {
                    self.follow_audit();
                }
                return Ok(Committed::All(token));
            }
            Ok(JournalWritten::Hindered(hindrance)) => Committed::Hindered(hindrance),
            Ok(JournalWritten::Fenced) => Committed::Fenced,
            Err(error) if error.code == ErrorCode::WrongState => Committed::Moved,
            Err(error) => return Err(error),
        };
        self.pipeline.back_to(mark);
        Ok(committed)
    }

    /// The same, where another process may move a task in the last moment. False if so.
    pub(crate) fn commit_unless_moved(&mut self, mark: Mark) -> Result<bool> {
        Ok(matches!(self.try_commit(mark)?, Committed::All(_)))
    }

    pub(super) fn note_cancel(&mut self) -> Result<()> {
        if !self.ends_early.is_canceled || self.ends_early.cancel_reason.is_none() {
            self.ends_early.is_canceled = true;
            self.ends_early.cancel_reason = ops::run::cancel::reason_of(self.cx, &self.run)?;
        }
        Ok(())
    }

    /// Why the run was canceled, for its tasks.
    pub(crate) fn canceled_because(&mut self) -> Result<Reason> {
        self.note_cancel()?;
        let reason = self.ends_early.cancel_reason.clone();
        Ok(reason.unwrap_or_else(|| "the run was canceled".into()))
    }

    pub(crate) fn is_canceled(&self) -> bool {
        self.ends_early.is_canceled
    }

    pub(super) fn leave(&mut self, leftover: Leftover) {
        self.leftovers.push(leftover);
    }

    /// What could not be written, in a copy of the store beside the one that was taken away. Returns the error that
    /// names the copy.
    pub(crate) fn rescued(&mut self, error: Error) -> Error {
        if error.code != ErrorCode::StoreReplaced {
            return error;
        }
        self.processes.end_all();
        let (run, owner, entries) = (&self.run.asked.id, &self.owner, self.pipeline.entries());
        ops::run::rescue::rescue(self.cx, &self.caller, (run, owner), entries, error)
    }

    /// A delegated task carries the caller's intent.
    pub(super) fn intent(&self) -> String {
        let intent = self.run.asked.intent.as_ref();
        intent.map_or_else(|| "writ.task.execute".to_owned(), |intent| intent.name.clone())
    }
}
