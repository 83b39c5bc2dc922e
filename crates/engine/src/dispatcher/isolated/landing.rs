//! The way of a task's work into the workspace: its locks, the journal, the merge.

use contract::domain::attempt::AttemptId;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::scope::Scope;
use ops::Result;
use ops::run::journal::{JournalEntry, Wants};
use serde_json::json;

use super::{Unmerged, bring_again, end_conflict_tasks, note_worktree, worktree_note};
use crate::dispatcher::engine_run::{Committed, EngineRun};
use crate::dispatcher::live::{Live, ReturnStep};
use crate::dispatcher::millis;
use crate::dispatcher::task_work::TaskWork;
use crate::dispatcher::waiting::{look_at_holder, refusal};
use crate::executor::Stopped;
use crate::launcher::with_causes;
use crate::observer::TaskProgress;
use crate::pipeline::Mark;
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::pipeline::l8_verify::AttemptVerdict;
use crate::worktree::{Landing, MergeCandidate};

/// Whether an attempt can be concluded: its work needs the locks on what its merge changes. One that has to wait for
/// them stays live.
pub(in crate::dispatcher) fn may_land(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &mut Live,
) -> Result<bool> {
    let returned = live.phase.returned();
    let is_successful =
        returned.claim == ExecutorClaim::Success && returned.seen.iter().all(|check| check.passed);
    let wants = landing_wants(engine, work);
    if !is_successful || work.grant.is_some() || wants.scopes.is_empty() {
        return Ok(true);
    }
    let mark = engine.pipeline.mark();
    engine.note(JournalEntry::Hold { task_id: work.task.id.clone(), wants });
    let mut obstacle = match engine.try_commit(mark)? {
        Committed::All(token) => {
            work.grant = work.grant.or(token);
            return Ok(true);
        }
        Committed::Hindered(obstacle) => obstacle,
        Committed::Moved => {
            live.stopped = Some(Stopped::Canceled);
            return Ok(true);
        }
        Committed::Fenced => {
            live.stopped = Some(Stopped::Fenced);
            return Ok(true);
        }
    };
    look_at_holder(engine.settings, &mut obstacle);
    let now_ms = engine.now_ms();
    let lock_wait_ms = millis(engine.settings.waits.locks);
    let is_first = work.clone().waits_since_ms.is_none();
    let since_ms = *work.clone_mut().waits_since_ms.get_or_insert(now_ms);
    if now_ms - since_ms >= lock_wait_ms {
        let reason = refusal(&engine.run, work, &obstacle);
        work.clone_mut().unmerged = Some(Unmerged::Fault(reason.to_string()));
        return Ok(true);
    }
    if is_first {
        let awaited = obstacle.awaited();
        engine.observer.report(TaskProgress::Waiting { task: work.name(), awaited: &awaited });
    }
    let due_ms = now_ms.saturating_add(millis(limits::HINDRANCE_POLL));
    live.phase.returned_mut().step = ReturnStep::Landing { due_ms };
    Ok(false)
}

/// What the merge of a task changes in the workspace. Nothing for a task that works there itself.
pub(crate) fn landing_wants(engine: &EngineRun<'_>, work: &TaskWork) -> Wants {
    let candidate = work.clone.as_ref().and_then(|isolated| isolated.candidate.as_ref());
    let Some(candidate) = candidate.filter(|candidate| !candidate.paths.is_empty()) else {
        return Wants::default();
    };
    let paths = candidate.paths.iter().map(|path| Scope::parse(path, None).ok());
    let scopes: Option<Vec<Scope>> = paths.collect();
    // Many paths, and names that a lock cannot have, are the whole workspace.
    let scopes = scopes.filter(|scopes| scopes.len() <= limits::SCOPES_PER_TASK_MAX);
    let scopes = scopes.unwrap_or_else(|| vec![Scope::everything()]);
    Wants { scopes, fold: engine.cx.host().folds_case(&engine.run.asked.workspace) }
}

/// How the merge of a task's work ended. Why it is not in the workspace is in [`unmerged`].
pub(crate) enum MergeEnd {
    Ended {
        /// Why its evidence is withheld: it was merged with something that its checks have not seen.
        withheld: Option<String>,
    },
    /// Its beginning could not be written: the task was canceled or lost its locks, so its work is not merged.
    Unwritten(Committed),
}

/// Puts the work of a task that is done into the workspace. Everything since the mark is written first, and the mark
/// moves on.
pub(crate) fn land(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    attempt: &AttemptId,
    mark: &mut Mark,
) -> Result<MergeEnd> {
    let mut withheld = None;
    for round in 0..=limits::MERGE_ROUNDS_MAX {
        let Some(isolated) = work.clone.as_ref() else {
            return Ok(MergeEnd::Ended { withheld: None });
        };
        let Some(candidate) = isolated.candidate.clone().filter(|_| isolated.unmerged.is_none()) else {
            break;
        };
        let runner = engine.runner(attempt);
        let landing = match engine.settings.archive.worktrees.prepare(&runner, &isolated.clone, &candidate) {
            Ok(Some(prepared)) => {
                note_landing(engine, work, &candidate);
                match engine.try_commit(mark.clone())? {
                    Committed::All(_) => *mark = engine.pipeline.mark(),
                    unwritten => return Ok(MergeEnd::Unwritten(unwritten)),
                }
                prepared.land(&mut work.clone_mut().clone)
            }
            Ok(None) => Ok(Landing::Moved),
            Err(fault) => Err(fault),
        };
        match landing {
            Ok(Landing::Landed) => {
                work.clone_mut().landed = Some(candidate.merged.clone());
                note_landed(engine, work, &candidate);
                end_conflict_tasks(engine, work);
                // It is there, whatever becomes of the verdict.
                *mark = engine.pipeline.mark();
                return Ok(MergeEnd::Ended { withheld });
            }
            Ok(Landing::Conflict(conflict)) => {
                work.clone_mut().unmerged = Some(Unmerged::Conflict(conflict));
            }
            Err(fault) => work.clone_mut().unmerged = Some(Unmerged::Fault(with_causes(&fault))),
            Ok(Landing::Moved) if round == limits::MERGE_ROUNDS_MAX => {
                let reason = format!("HEAD moved during {} merge attempts", round + 1);
                work.clone_mut().unmerged = Some(Unmerged::Fault(reason));
            }
            Ok(Landing::Moved) => {
                withheld = Some("other work was merged after its checks had run".to_owned());
                bring_again(engine, work, attempt);
                refuse_other_paths(work, &candidate);
            }
        }
    }
    let kept = work.clone().clone.keep_result(&engine.runner(attempt));
    if let (Err(fault), Some(Unmerged::Fault(reason))) = (kept, &mut work.clone_mut().unmerged) {
        reason.push_str(&format!("; {}", with_causes(&fault)));
    }
    Ok(MergeEnd::Ended { withheld: None })
}

/// The task holds the locks on what its merge changed before the workspace moved on.
fn refuse_other_paths(work: &mut TaskWork, before: &MergeCandidate) {
    let Some(isolated) = work.clone.as_mut() else { return };
    let paths = isolated.candidate.iter().flat_map(|candidate| &candidate.paths);
    if let Some(path) = paths.into_iter().find(|path| !before.paths.contains(path)) {
        let reason = format!("HEAD moved, and the merge would now change {path} too, which is not locked");
        isolated.unmerged = Some(Unmerged::Fault(reason));
    }
}

/// The same for work with this verdict. Only work that is done is merged.
pub(in crate::dispatcher) fn land_judged(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &Live,
    verdict: &AttemptVerdict,
    mark: &mut Mark,
) -> Result<MergeEnd> {
    match verdict {
        AttemptVerdict::Done { .. } | AttemptVerdict::Withheld { .. } if work.is_isolated() => {
            land(engine, work, &live.start.attempt.id, mark)
        }
        AttemptVerdict::Done { .. } | AttemptVerdict::Withheld { .. } | AttemptVerdict::Failed { .. } => {
            Ok(MergeEnd::Ended { withheld: None })
        }
    }
}

/// What to say about a task that ended otherwise after its work had been merged.
pub(crate) fn merged_before(work: &TaskWork) -> Option<String> {
    let commit = work.clone.as_ref()?.landed.as_ref()?;
    Some(format!("its work was merged before that; `git revert -m 1 {commit}` takes it back"))
}

/// That the merge begins, refused where the task was canceled or lost its locks.
fn note_landing(engine: &mut EngineRun<'_>, work: &TaskWork, candidate: &MergeCandidate) {
    let payload = json!({
        "onto": candidate.onto, "result": candidate.result, "merged": candidate.merged,
    });
    let note = worktree_note(engine, work, "writ.worktree.landing", "Merges into the workspace", payload);
    engine.note(JournalEntry::Land {
        task_id: work.task.id.clone(),
        from: work.task.status,
        token: work.grant,
        note: Box::new(note),
    });
}

fn note_landed(engine: &mut EngineRun<'_>, work: &TaskWork, candidate: &MergeCandidate) {
    let paths: Vec<&String> = candidate.paths.iter().take(limits::CONFLICT_PATHS_MAX).collect();
    let payload = json!({
        "onto": candidate.onto, "result": candidate.result, "merged": candidate.merged,
        "paths": paths, "paths_count": candidate.paths.len(),
    });
    note_worktree(engine, work, "writ.worktree.merged", "Merged into the workspace", payload);
}

/// Why the work of a task is not in the workspace, if it is done and is not there.
pub(crate) fn unmerged(work: &TaskWork) -> Option<Reason> {
    match work.clone.as_ref()?.unmerged.as_ref()? {
        Unmerged::Conflict(conflict) => Some(conflict.reason()),
        Unmerged::Fault(fault) => Some(format!("its work could not be merged: {fault}").into()),
    }
}
