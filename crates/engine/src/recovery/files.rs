//! What becomes of the files of an interrupted task: it runs again only with those that it had before.

use contract::domain::attempt::{Attempt, AttemptState};
use contract::domain::limits;
use contract::domain::rollback::{FileResult, Trigger};
use contract::domain::text::counted;
use contract::domain::time::Timestamp;
use ops::Result;
use ops::run::journal::JournalEntry;

use super::RecoveryChoice;
use crate::dispatcher::isolated;
use crate::dispatcher::rollback::{self, Rolled, is_unfinished};
use crate::dispatcher::{EngineRun, TaskWork, selection};
use crate::launcher::with_causes;
use crate::snapshots::{Between, SnapshotError};

/// What was done with the files of an interrupted attempt.
#[derive(Default)]
pub(super) struct RecoveredFiles {
    /// For the journal, where a rollback ended.
    pub(super) entry: Option<JournalEntry>,
    /// What to say about it, if there is anything to say.
    pub(super) told: Option<String>,
    /// How many paths were brought back. `None` if none had to be.
    pub(super) restored: Option<u64>,
    /// Paths that could not be brought back.
    pub(super) left: Vec<FileResult>,
    /// Whether the task cannot begin again with what is there.
    pub(super) is_unfit: bool,
}

impl RecoveredFiles {
    fn stay(told: impl Into<String>) -> Self {
        Self { told: Some(told.into()), ..Self::default() }
    }

    fn unfit(told: impl Into<String>) -> Self {
        Self { is_unfit: true, ..Self::stay(told) }
    }

    fn of(rolled: Rolled, is_unfit: bool) -> Self {
        let named = rolled.left.iter().take(NAMED_MAX).map(|left| {
            let reason = left.reason.as_deref().unwrap_or_default();
            format!("; {}: {reason}", left.path)
        });
        let told = format!("{}{}", rolled.told, named.collect::<String>());
        Self {
            entry: rolled.entry,
            told: Some(told),
            restored: Some(rolled.counts.done),
            left: rolled.left,
            is_unfit,
        }
    }
}

/// Paths that a reason names.
const NAMED_MAX: usize = 3;

/// Whether an interrupted attempt is taken back as its plan asks, or because that was begun.
pub(super) fn is_wanted_back(engine: &EngineRun<'_>, work: &TaskWork, last: &Attempt) -> bool {
    let is_kept = engine.settings.archive.snapshots.has(&last.begun.id);
    is_kept && last.rollback.as_ref().map_or(rollback::is_rolled_back(engine, work), is_unfinished)
}

/// Whether the scope of the attempt may have to be restored, for which its locks are needed.
pub(super) fn needs_locks(engine: &EngineRun<'_>, work: &TaskWork, last: &Attempt) -> bool {
    let is_restored = matches!(last.state, AttemptState::Started | AttemptState::Interrupted)
        && engine.settings.archive.snapshots.has(&last.begun.id);
    is_restored || is_wanted_back(engine, work, last)
}

/// The time in which nothing of writ's wrote in the scope of an attempt: its engine had died, and this one had not begun.
/// `None` if the end of the attempt was recorded, or the death of its engine has no time.
pub(super) fn between(
    engine: &mut EngineRun<'_>,
    last: &Attempt,
    until: Timestamp,
) -> Result<Option<Between>> {
    if last.state != AttemptState::Started {
        return Ok(None);
    }
    let known = ops::run::journal::last_heartbeat(engine.cx, &last.begun.id)?;
    Ok(known.map(|known| Between { since: known.plus(limits::ENGINE_SILENCE_MAX), until }))
}

/// What a task that was decided about needs of its files.
pub(super) struct Need {
    pub(super) decision: RecoveryChoice,
    /// The locks of its scope are held, and no other task had them since.
    pub(super) is_held: bool,
    /// Another task had its locks since.
    pub(super) is_lost: bool,
    pub(super) between: Option<Between>,
}

/// Brings the files of an interrupted attempt back where it is to run again or its plan asks for that.
pub(super) fn bring_back(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    last: &Attempt,
    need: &Need,
) -> Result<RecoveredFiles> {
    let is_begun = last.rollback.as_ref().is_some_and(is_unfinished);
    if is_wanted_back(engine, work, last) && (is_begun || need.decision == RecoveryChoice::Rerun) {
        return roll_back(engine, work, last, need);
    }
    match (need.decision, last.state) {
        (RecoveryChoice::Verified | RecoveryChoice::Parked, _) => Ok(RecoveredFiles::default()),
        (RecoveryChoice::Rerun, AttemptState::Succeeded | AttemptState::Failed) => {
            Ok(RecoveredFiles::default())
        }
        (RecoveryChoice::Rerun, AttemptState::Unknown) => {
            Ok(RecoveredFiles::stay("its files stay as they are"))
        }
        (RecoveryChoice::Rerun, AttemptState::Interrupted) if goes_on(engine, work, last) => {
            Ok(RecoveredFiles::stay(
                "its files stay as they are, because its agent goes on with its conversation",
            ))
        }
        (RecoveryChoice::Rerun, AttemptState::Started | AttemptState::Interrupted) => {
            restore(engine, work, last, need)
        }
    }
}

/// Whether the next attempt resumes the conversation of one that was stopped in order.
fn goes_on(engine: &EngineRun<'_>, work: &TaskWork, last: &Attempt) -> bool {
    let known = last.outcome.as_ref().and_then(|outcome| outcome.agent_session.as_ref());
    known.is_some() && selection::next_conversation(engine.settings, work).as_ref() == known
}

/// Takes an attempt back as its plan asks. What its dead engine began is finished.
fn roll_back(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    last: &Attempt,
    need: &Need,
) -> Result<RecoveredFiles> {
    // A person who reruns a parked task has seen what the rollback left.
    let is_asked = engine.settings.rerun_parked && last.state == AttemptState::Unknown;
    if !need.is_held {
        return Ok(RecoveredFiles { is_unfit: !is_asked, ..RecoveredFiles::default() });
    }
    let mark = engine.pipeline.mark();
    let end = rollback::roll_back(engine, work, mark, Trigger::TaskInterrupted, need.between)?;
    let Some(rolled) = end.done() else {
        return Ok(RecoveredFiles { is_unfit: !is_asked, ..RecoveredFiles::default() });
    };
    let is_unfit = !(rolled.is_whole || is_asked);
    Ok(RecoveredFiles::of(rolled, is_unfit))
}

/// Brings the files of an attempt back that is run again, where they were kept.
fn restore(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    last: &Attempt,
    need: &Need,
) -> Result<RecoveredFiles> {
    if work.is_isolated() {
        return Ok(match isolated::restore_clone(engine, work, &last.begun.id) {
            Ok(0) => RecoveredFiles::stay("it had changed no files"),
            Ok(count) => {
                let told = format!("restored before it runs again: {} of its clone", counted(count, "file"));
                RecoveredFiles { restored: Some(count as u64), ..RecoveredFiles::stay(told) }
            }
            Err(why) => RecoveredFiles::unfit(format!("its clone could not be restored: {why}")),
        });
    }
    if last.rollback.is_some() {
        return Ok(RecoveredFiles::stay("it was rolled back before"));
    }
    if !engine.settings.archive.snapshots.has(&last.begun.id) {
        let has_scope = !work.spec().writes.is_empty();
        let why = if has_scope { "no snapshot of its files was kept" } else { "it declares no `writes`" };
        return Ok(RecoveredFiles::stay(format!("nothing could be restored: {why}")));
    }
    // The other one worked with what it had left, so that is what there is to begin with.
    if need.is_lost {
        return Ok(RecoveredFiles::stay("nothing could be restored: another task had its locks since"));
    }
    if !need.is_held {
        return Ok(RecoveredFiles::unfit("its files could not be restored, because its locks were not free"));
    }
    match rollback::preview_of(engine, &last.begun.id) {
        // Nothing was ever kept of it, so it is run again as it is without snapshots.
        Err(fault @ (SnapshotError::Missing | SnapshotError::Nowhere | SnapshotError::Repository(_))) => {
            return Ok(RecoveredFiles::stay(format!("nothing could be restored: {fault}")));
        }
        Err(fault) => {
            return Ok(RecoveredFiles::unfit(format!(
                "its files could not be restored: {}",
                with_causes(&fault)
            )));
        }
        Ok(changed) if changed.is_empty() => return Ok(RecoveredFiles::stay("it had changed no files")),
        Ok(_) => {}
    }
    let mark = engine.pipeline.mark();
    let end = rollback::roll_back(engine, work, mark, Trigger::TaskInterrupted, need.between)?;
    let Some(rolled) = end.done() else {
        return Ok(RecoveredFiles { is_unfit: true, ..RecoveredFiles::default() });
    };
    let is_unfit = !rolled.is_whole_but_limits;
    Ok(RecoveredFiles::of(rolled, is_unfit))
}
