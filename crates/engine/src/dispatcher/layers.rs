//! The layers of a task: L5 and L6 before its executor starts, L7 and L8 after it has ended.
//!
//! A slow layer does not hold up the loop. Before the start, the task is not offered until the answer has come, and is
//! then started as any other. After the end, it stays live in [`Phase::Judging`]. Nothing is recorded until all
//! layers of a step have ended, so records of tasks that run in parallel never mix.

use std::collections::BTreeMap;
use std::ffi::OsString;

use contract::aop::kept::MODEL_UNKNOWN;
use contract::domain::checkpoint;
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::outside::Outside;
use contract::domain::task::TaskId;
use contract::plan::choice::standing;
use ops::Result;

use super::selection::Selected;
use super::{Dispatcher, millis};
use crate::beats::Beats;
use crate::executor::Executor;
use crate::live::{Live, Phase};
use crate::pipeline::l6_shape::Shaped;
use crate::pipeline::l7_delegate::DelegateFacts;
use crate::pipeline::l8_verify::{self, Spending, VerifyFacts};
use crate::pipeline::layer::{AttemptChoice, EndFacts, Fetched, Handed, Judgment, Stage, StartFacts};
use crate::pipeline::{LayerCall, LayerResult, StageEnd};

/// Whether an attempt can start.
pub(super) enum Preparation {
    Ready(Box<Shaped>),
    Refused(String),
    /// A layer parked the task until a person continues the run.
    Parked(String),
    /// A slow layer has not answered; the task is offered again later.
    Awaited,
}

/// What the layers after an attempt decided.
pub(super) enum TaskJudgment {
    Verdict(Box<Judgment>),
    /// A layer parked the task; no verdict is given.
    Parked(String),
}

impl Dispatcher<'_> {
    /// Runs L5 and L6 for one attempt and records them.
    pub(super) fn prepare(&mut self, task: usize, number: i64, selected: &Selected) -> Result<Preparation> {
        if let Some(reason) = self.sandbox_refusal(task) {
            return Ok(Preparation::Refused(reason));
        }
        let Some(results) = self.run_before_start(task, number, selected) else {
            let now_ms = self.now_ms();
            let until_ms = self.pipeline.awaited_until_ms(task);
            let soon = || now_ms.saturating_add(millis(limits::HINDRANCE_POLL));
            self.board.set_not_before(task, until_ms.unwrap_or_else(soon));
            return Ok(Preparation::Awaited);
        };
        let id = self.tasks[task].id.clone();
        Ok(match self.pipeline.record_stage(Stage::Start, results, &id)? {
            StageEnd::Passed(handed) => match handed.into_iter().find_map(Handed::into_launch) {
                Some(launch) => Preparation::Ready(launch),
                None => Preparation::Refused("no layer decided what the executor is given".to_owned()),
            },
            StageEnd::Refused(reason) => Preparation::Refused(reason),
            StageEnd::Parked(reason) => Preparation::Parked(reason),
        })
    }

    /// `None` while one of the layers is awaited.
    fn run_before_start(
        &mut self,
        task: usize,
        number: i64,
        selected: &Selected,
    ) -> Option<Vec<LayerResult>> {
        let call = LayerCall { task: Some(task), now_ms: self.now_ms() };
        let part = self.part(task).clone();
        let needs = self.needs(task);
        let environment = &self.settings.environment;
        let none = BTreeMap::new();
        let executor = self.settings.executors.find(&self.selected(task).executor);
        let profile = self.aop(task).and_then(|asked| asked.target.execution_profile);
        let profile = profile.map(|profile| (profile.as_str(), executor.is_some_and(Executor::has_effort)));
        let takes_model = executor.is_none_or(Executor::takes_model);
        let is_named = |model: &&str| !takes_model && *model != MODEL_UNKNOWN;
        let unused_model = self.aop(task).and(selected.model.as_deref()).filter(is_named);
        let executor_env = executor.map_or(&none, |executor| &executor.configured().env);
        let lookup =
            |name: &str| environment.get(&OsString::from(name)).and_then(|v| v.to_str().map(str::to_owned));
        let needed = &self.board.slot(task).needs;
        let fetched = Fetched::Start(StartFacts {
            run: &self.run.asked,
            task: &self.tasks[task],
            part: &part,
            dependencies: needed.iter().map(|&needed| &self.tasks[needed]).collect(),
            attempts: &self.attempts[task],
            attempt_number: number,
            choice: AttemptChoice {
                executor: &selected.executor,
                model: selected.model.as_deref(),
                fallback: selected.fallback.as_deref(),
                escalated: selected.escalated.as_deref(),
            },
            timeout_max: self.settings.policy.timeout_max,
            executor_env,
            profile,
            unused_model,
            lookup: &lookup,
            needs: &needs,
        });
        self.pipeline.run_stage(Stage::Start, call, &fetched)
    }

    /// Runs L7 and L8 for an attempt that has ended. `None` while one of them is awaited.
    pub(super) fn judge(&mut self, task: usize, live: &Live) -> Option<Vec<LayerResult>> {
        let now_ms = self.now_ms();
        let part = self.part(task).clone();
        let claim = live.claimed();
        let late_ms = live.late_since_ms.map(|since_ms| now_ms.saturating_sub(since_ms).max(0));
        let returned = DelegateFacts {
            number: part.number,
            ended: &live.ended,
            claim,
            claims: &live.claims,
            took: self.cx.now().at.since(live.started_at),
            overruled: &live.overruled,
            silences: live.beats.as_ref().and_then(Beats::missed),
            late_ms: late_ms.and_then(|late_ms| u64::try_from(late_ms).ok()),
        };
        let outside = live.outside.as_ref();
        let mut withheld = live.withheld.clone();
        withheld.extend(outside.and_then(Outside::withheld));
        withheld.extend(checkpoint::tolerated(&part.spec.checkpoints, &live.seen));
        let tree = self.tree_after(task, live);
        let verify = VerifyFacts {
            number: part.number,
            claim,
            checks: &live.seen,
            checks_expected: part.spec.checks.len(),
            spent: self.spent(task, live),
            tree_digest: tree.as_deref(),
            withheld: &withheld,
            outside,
            checkpoints: &checkpoint::seen(&part.spec.checkpoints, &live.seen),
            aborted: checkpoint::aborted(&part.spec.checkpoints, &live.seen),
            findings: live.claims.report.as_ref().map_or(&[][..], |report| &report.findings),
            is_partial: live.is_partial(),
        };
        let fetched = Fetched::End(EndFacts { returned, verify });
        self.pipeline.run_stage(Stage::End, LayerCall { task: Some(task), now_ms }, &fetched)
    }

    /// The digest of everything in the task's write scope. Nothing has run since the last check, so the tree is still
    /// the one that was seen after it.
    fn tree_after(&self, task: usize, live: &Live) -> Option<String> {
        let writes = &self.part(task).spec.writes;
        if writes.is_empty() {
            return None;
        }
        let after = live.seen.last().and_then(|seen| seen.ran.as_ref()?.tree_after.clone());
        after.or_else(|| self.settings.index.tree_digest(self.directory(task), writes))
    }

    /// What the task has cost with this attempt.
    fn spent<'l>(&self, task: usize, live: &'l Live) -> Spending<'l> {
        let spec = &self.part(task).spec;
        let before = standing(spec, &self.attempts[task]).with_delegated(spec.budget, live.delegated);
        // Runs that it started are known to have spent this, whatever it reports itself.
        let has_delegated = !live.delegated.spent.is_zero();
        let cost = live.reported.cost.or(has_delegated.then_some(MicroUsd(0)));
        let half = live.reported.tokens_half;
        let tokens = live.reported.tokens.or(half).or(has_delegated.then_some(0));
        Spending {
            budget: spec.budget,
            attempts: self.attempts[task].len().saturating_add(1),
            has_delegated,
            cost: cost.map(|cost| MicroUsd(cost.0.saturating_add(before.cost.0))),
            tokens: tokens.map(|tokens| tokens.saturating_add(before.tokens)),
            cost_basis: live.cost_basis.as_ref(),
            is_half_counted: half.is_some(),
        }
    }

    /// Records L7 and L8. A layer that refuses fails the attempt.
    pub(super) fn record_judgment(&mut self, id: &TaskId, results: Vec<LayerResult>) -> Result<TaskJudgment> {
        let judgment = match self.pipeline.record_stage(Stage::End, results, id)? {
            StageEnd::Passed(handed) => handed.into_iter().rev().find_map(Handed::into_judgment),
            StageEnd::Refused(reason) => Some(Box::new(l8_verify::refused(&reason))),
            StageEnd::Parked(reason) => return Ok(TaskJudgment::Parked(reason)),
        };
        let none = || Box::new(l8_verify::refused("no layer judged the attempt"));
        Ok(TaskJudgment::Verdict(judgment.unwrap_or_else(none)))
    }

    /// Keeps an attempt live whose judgment is awaited.
    pub(super) fn await_judgment(&mut self, task: usize, mut live: Live) {
        live.phase = Phase::Judging;
        let now_ms = self.now_ms();
        let until_ms = self.pipeline.awaited_until_ms(task);
        live.deadline_ms = until_ms.unwrap_or_else(|| now_ms.saturating_add(millis(limits::HINDRANCE_POLL)));
        self.live.insert(task, live);
    }

    /// Takes the answers of slow layers. Their tasks are offered again now, and attempts are concluded whose judgment
    /// has come, is overdue, or is not needed because somebody asked to stop.
    pub(super) fn take_answers(&mut self) -> Result<()> {
        let now_ms = self.now_ms();
        for task in self.pipeline.take_answers().into_iter().filter_map(|key| key.task) {
            match self.live.get_mut(&task).map(|live| (&live.phase, &mut live.deadline_ms)) {
                None => self.board.set_not_before(task, now_ms),
                Some((Phase::Judging, deadline_ms)) => *deadline_ms = now_ms,
                // A process has its own deadline, and no layer of its task is awaited.
                Some((
                    Phase::Executing
                    | Phase::Setup { .. }
                    | Phase::Checking { .. }
                    | Phase::Landing { .. }
                    | Phase::Parked { .. },
                    _,
                )) => {}
            }
        }
        let is_due = |live: &Live| match live.phase {
            Phase::Judging => live.stopped.is_some() || now_ms >= live.deadline_ms,
            Phase::Landing { due_ms } => live.stopped.is_some() || now_ms >= due_ms,
            Phase::Executing | Phase::Setup { .. } | Phase::Checking { .. } | Phase::Parked { .. } => false,
        };
        let due: Vec<usize> =
            self.live.iter().filter(|(_, live)| is_due(live)).map(|(task, _)| *task).collect();
        due.into_iter().try_for_each(|task| self.conclude(task))
    }
}
