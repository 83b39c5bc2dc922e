//! The way of a task's work into the workspace: its locks, the journal, the merge.

use contract::domain::attempt::AttemptId;
use contract::domain::limits;
use contract::domain::scope::Scope;
use ops::Result;
use ops::run::journal::{Entry, Wants};
use serde_json::json;

use super::Unmerged;
use crate::dispatcher::{Committed, Dispatcher, millis};
use crate::executor::Stopped;
use crate::launcher::with_causes;
use crate::live::{Live, Phase};
use crate::observer::Progress;
use crate::pipeline::Mark;
use crate::pipeline::l7_delegate::Claim;
use crate::pipeline::l8_verify::Verdict;
use crate::worktree::{Candidate, Landing};

impl Dispatcher<'_> {
    /// Whether an attempt can be concluded: its work needs the locks on what its merge changes. One that has to wait for
    /// them stays live.
    pub(in crate::dispatcher) fn may_land(&mut self, task: usize, live: &mut Live) -> Result<bool> {
        let is_successful = live.claim == Some(Claim::Success) && live.seen.iter().all(|check| check.passed);
        let wants = self.landing_wants(task);
        if !is_successful || self.held.contains_key(&task) || wants.scopes.is_empty() {
            return Ok(true);
        }
        let mark = self.pipeline.mark();
        self.note(Entry::Hold { task_id: self.tasks[task].id.clone(), wants });
        let mut obstacle = match self.try_commit(mark)? {
            Committed::All(token) => {
                self.held.extend(token.map(|token| (task, token)));
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
        self.look_at_holder(&mut obstacle);
        let now_ms = self.now_ms();
        let lock_wait_ms = millis(self.settings.lock_wait);
        let is_first = self.clones[&task].waits_since_ms.is_none();
        let since_ms = *self.isolated_mut(task).waits_since_ms.get_or_insert(now_ms);
        if now_ms - since_ms >= lock_wait_ms {
            let reason = self.refusal(task, &obstacle);
            self.isolated_mut(task).unmerged = Some(Unmerged::Fault(reason));
            return Ok(true);
        }
        if is_first {
            let awaited = obstacle.awaited();
            self.observer.report(Progress::Waiting { task: &self.board.slot(task).name, awaited: &awaited });
        }
        live.phase = Phase::Landing { due_ms: now_ms.saturating_add(millis(limits::HINDRANCE_POLL)) };
        Ok(false)
    }

    /// What the merge of a task changes in the workspace. Nothing for a task that works there itself.
    pub(crate) fn landing_wants(&self, task: usize) -> Wants {
        let candidate = self.clones.get(&task).and_then(|isolated| isolated.candidate.as_ref());
        let Some(candidate) = candidate.filter(|candidate| !candidate.paths.is_empty()) else {
            return Wants::default();
        };
        let paths = candidate.paths.iter().map(|path| Scope::parse(path, None).ok());
        let scopes: Option<Vec<Scope>> = paths.collect();
        // Many paths, and names that a lock cannot have, are the whole workspace.
        let scopes = scopes.filter(|scopes| scopes.len() <= limits::SCOPES_PER_TASK_MAX);
        let scopes = scopes.unwrap_or_else(|| vec![Scope::everything()]);
        Wants { scopes, fold: self.cx.host().folds_case(&self.run.asked.workspace) }
    }

    /// Puts the work of a task that is done into the workspace. Everything since the mark is written first, and the mark
    /// moves on. `Err` if that could not be written: the task was canceled or lost its locks, so its work is not merged.
    /// Returns why the evidence is withheld, if it was merged with something that its checks have not seen.
    pub(crate) fn land(
        &mut self,
        task: usize,
        attempt: &AttemptId,
        mark: &mut Mark,
    ) -> Result<std::result::Result<Option<String>, Committed>> {
        let mut withheld = None;
        for round in 0..=limits::MERGE_ROUNDS_MAX {
            let Some(isolated) = self.clones.get(&task) else { return Ok(Ok(None)) };
            let Some(candidate) = isolated.candidate.clone().filter(|_| isolated.unmerged.is_none()) else {
                break;
            };
            let runner = self.runner(attempt);
            let landing = match self.settings.worktrees.prepare(&runner, &isolated.clone, &candidate) {
                Ok(Some(prepared)) => {
                    self.note_landing(task, &candidate);
                    match self.try_commit(mark.clone())? {
                        Committed::All(_) => *mark = self.pipeline.mark(),
                        unwritten => return Ok(Err(unwritten)),
                    }
                    prepared.land(&mut self.isolated_mut(task).clone)
                }
                Ok(None) => Ok(Landing::Moved),
                Err(fault) => Err(fault),
            };
            match landing {
                Ok(Landing::Landed) => {
                    self.isolated_mut(task).landed = Some(candidate.merged.clone());
                    self.note_landed(task, &candidate);
                    self.end_conflict_tasks(task);
                    // It is there, whatever becomes of the verdict.
                    *mark = self.pipeline.mark();
                    return Ok(Ok(withheld));
                }
                Ok(Landing::Conflict(conflict)) => {
                    self.isolated_mut(task).unmerged = Some(Unmerged::Conflict(conflict));
                }
                Err(fault) => self.isolated_mut(task).unmerged = Some(Unmerged::Fault(with_causes(&fault))),
                Ok(Landing::Moved) if round == limits::MERGE_ROUNDS_MAX => {
                    let reason = format!("HEAD moved during {} merge attempts", round + 1);
                    self.isolated_mut(task).unmerged = Some(Unmerged::Fault(reason));
                }
                Ok(Landing::Moved) => {
                    withheld = Some("other work was merged after its checks had run".to_owned());
                    self.bring_again(task, attempt);
                    self.refuse_other_paths(task, &candidate);
                }
            }
        }
        let kept = self.clones[&task].clone.keep_result(&self.runner(attempt));
        if let (Err(fault), Some(Unmerged::Fault(reason))) = (kept, &mut self.isolated_mut(task).unmerged) {
            reason.push_str(&format!("; {}", with_causes(&fault)));
        }
        Ok(Ok(None))
    }

    /// The task holds the locks on what its merge changed before the workspace moved on.
    fn refuse_other_paths(&mut self, task: usize, before: &Candidate) {
        let Some(isolated) = self.clones.get_mut(&task) else { return };
        let paths = isolated.candidate.iter().flat_map(|candidate| &candidate.paths);
        if let Some(path) = paths.into_iter().find(|path| !before.paths.contains(path)) {
            let reason =
                format!("HEAD moved, and the merge would now change {path} too, which is not locked");
            isolated.unmerged = Some(Unmerged::Fault(reason));
        }
    }

    /// The verdict on work that could be merged only with something that its checks have not seen. `Err` if it was not to
    /// be merged any more.
    pub(in crate::dispatcher) fn land_judged(
        &mut self,
        task: usize,
        live: &Live,
        verdict: Verdict,
        mark: &mut Mark,
    ) -> Result<std::result::Result<Verdict, Committed>> {
        let is_done = matches!(verdict, Verdict::Done { .. } | Verdict::Withheld { .. });
        if !is_done || !self.is_isolated(task) {
            return Ok(Ok(verdict));
        }
        let withheld = match self.land(task, &live.attempt.id, mark)? {
            Ok(withheld) => withheld,
            Err(unwritten) => return Ok(Err(unwritten)),
        };
        Ok(Ok(match (verdict, withheld) {
            (Verdict::Done { verified: true }, Some(reason)) => Verdict::Withheld { checked: true, reason },
            (verdict, _) => verdict,
        }))
    }

    /// What to say about a task that ended otherwise after its work had been merged.
    pub(crate) fn merged_before(&self, task: usize) -> Option<String> {
        let commit = self.clones.get(&task)?.landed.as_ref()?;
        Some(format!("its work was merged before that; `git revert -m 1 {commit}` takes it back"))
    }

    /// That the merge begins, refused where the task is not to be merged any more.
    fn note_landing(&mut self, task: usize, candidate: &Candidate) {
        let payload = json!({
            "onto": candidate.onto, "result": candidate.result, "merged": candidate.merged,
        });
        let note = self.worktree_note(task, "writ.worktree.landing", "Merges into the workspace", payload);
        self.note(Entry::Land {
            task_id: self.tasks[task].id.clone(),
            from: self.tasks[task].status,
            token: self.held.get(&task).copied(),
            note: Box::new(note),
        });
    }

    fn note_landed(&mut self, task: usize, candidate: &Candidate) {
        let paths: Vec<&String> = candidate.paths.iter().take(limits::CONFLICT_PATHS_MAX).collect();
        let payload = json!({
            "onto": candidate.onto, "result": candidate.result, "merged": candidate.merged,
            "paths": paths, "paths_count": candidate.paths.len(),
        });
        self.note_worktree(task, "writ.worktree.merged", "Merged into the workspace", payload);
    }

    /// Why the work of a task is not in the workspace, if it is done and is not there.
    pub(crate) fn unmerged(&self, task: usize) -> Option<String> {
        match self.clones.get(&task)?.unmerged.as_ref()? {
            Unmerged::Conflict(conflict) => Some(conflict.told()),
            Unmerged::Fault(fault) => Some(format!("its work could not be merged: {fault}")),
        }
    }
}
