//! The layers of a task: L5 and L6 before its executor starts, L7 and L8 after it has ended.
//!
//! A slow layer does not hold up the loop. Before the start, the task is not offered until the answer has come, and is
//! then started as any other. After the end, it stays live in [`Phase::Judging`]. Nothing is recorded until all
//! layers of a step have ended, so records of tasks that run in parallel never mix.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use contract::aocl::Bundle;
use contract::aocl::payload::Verification;
use contract::aop::kept::MODEL_UNKNOWN;
use contract::domain::checkpoint;
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::outside::Outside;
use contract::domain::task::TaskId;
use contract::json::Value;
use contract::plan::choice::standing;
use ops::Result;

use super::selection::Selected;
use super::{Dispatcher, millis};
use crate::beats::Beats;
use crate::executor::Executor;
use crate::live::{Live, Phase};
use crate::pipeline::l5_context::ContextFacts;
use crate::pipeline::l6_shape::{ShapeFacts, Shaped};
use crate::pipeline::l7_delegate::DelegateFacts;
use crate::pipeline::l8_verify::{self, Verdict, VerifyFacts};
use crate::pipeline::{LayerResult, Position};

/// Whether an attempt can start.
pub(super) enum Preparation {
    Ready(Box<Shaped>),
    Refused(String),
    /// A slow layer has not answered; the task is offered again later.
    Awaited,
}

/// What the layers said about an attempt that has ended.
pub(super) struct Judgment {
    delegated: LayerResult<()>,
    /// Missing where L7 refused.
    verified: Option<LayerResult<(Verdict, Verification)>>,
}

/// The results of L5 and L6, as far as the task got.
struct Prepared {
    context: Option<LayerResult<String>>,
    shape: Option<LayerResult<Shaped>>,
}

impl Dispatcher<'_> {
    /// Runs L5 and L6 for one attempt and records them.
    pub(super) fn prepare(&mut self, task: usize, number: i64, selected: &Selected) -> Result<Preparation> {
        if let Some(reason) = self.sandbox_refusal(task) {
            return Ok(Preparation::Refused(reason));
        }
        let stack = Arc::clone(&self.pipeline.stack);
        let Some(prepared) = self.run_before_start(task, number, selected) else {
            let now_ms = self.now_ms();
            let until_ms = self.pipeline.awaited_until_ms(task);
            let soon = || now_ms.saturating_add(millis(limits::HINDRANCE_POLL));
            self.board.set_not_before(task, until_ms.unwrap_or_else(soon));
            return Ok(Preparation::Awaited);
        };
        let id = self.tasks[task].id.clone();
        if let (Some(member), Some(result)) = (&stack.context, prepared.context) {
            let exit = self.pipeline.record(&member.id, result, Position::Task(&id))?;
            if let Err(reason) = exit.for_task() {
                return Ok(Preparation::Refused(reason));
            }
        }
        let shape = prepared.shape.expect("BUG: L6 is left out only where L5 refused");
        let exit = self.pipeline.record(&stack.shape.id, shape, Position::Task(&id))?;
        Ok(match exit.for_task() {
            Ok(shaped) => Preparation::Ready(Box::new(shaped)),
            Err(reason) => Preparation::Refused(reason),
        })
    }

    /// `None` while one of the layers is awaited.
    fn run_before_start(&mut self, task: usize, number: i64, selected: &Selected) -> Option<Prepared> {
        let stack = Arc::clone(&self.pipeline.stack);
        let now_ms = self.now_ms();
        let part = self.part(task).clone();
        let needs = self.needs(task);
        let subject = &self.tasks[task];
        let mut context = None;
        if let Some(member) = &stack.context {
            let lesson = lesson(self.pipeline.bundle(), part.number);
            let facts = ContextFacts {
                objective: &self.run.asked.objective,
                task: subject,
                part: &part,
                dependencies: self.board.slot(task).needs.iter().map(|&needed| &self.tasks[needed]).collect(),
                attempts: &self.attempts[task],
                lesson: lesson.as_deref(),
            };
            let result = self.pipeline.run(member, Some(task), now_ms, || (member.run)(&facts))?;
            if result.exit.product().is_none() {
                return Some(Prepared { context: Some(result), shape: None });
            }
            context = Some(result);
        }
        let brief = context.as_ref().and_then(|result| result.exit.product()).map_or("", String::as_str);
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
        let facts = ShapeFacts {
            run: &self.run.asked,
            task: subject,
            part: &part,
            attempt_number: number,
            executor: &selected.executor,
            model: selected.model.as_deref(),
            fallback: selected.fallback.as_deref(),
            escalated: selected.escalated.as_deref(),
            brief,
            timeout_max: self.settings.policy.timeout_max,
            executor_env,
            profile,
            unused_model,
            lookup: &lookup,
            needs: &needs,
        };
        let shape = self.pipeline.run(&stack.shape, Some(task), now_ms, || (stack.shape.run)(&facts))?;
        Some(Prepared { context, shape: Some(shape) })
    }

    /// Runs L7 and L8 for an attempt that has ended. `None` while one of them is awaited.
    pub(super) fn judge(&mut self, task: usize, live: &Live) -> Option<Judgment> {
        let stack = Arc::clone(&self.pipeline.stack);
        let now_ms = self.now_ms();
        let part = self.part(task).clone();
        let took = self.cx.now().at.since(live.started_at);
        let claim = live.claimed();
        let late_ms = live.late_since_ms.map(|since_ms| now_ms.saturating_sub(since_ms).max(0));
        let facts = DelegateFacts {
            number: part.number,
            ended: &live.ended,
            claim,
            claims: &live.claims,
            took,
            overruled: &live.overruled,
            silences: live.beats.as_ref().and_then(Beats::missed),
            late_ms: late_ms.and_then(|late_ms| u64::try_from(late_ms).ok()),
        };
        let member = &stack.delegate;
        let mut delegated = self.pipeline.run(member, Some(task), now_ms, || (member.run)(&facts))?;
        // The layer itself is quick; its record tells how long the work took.
        delegated.timing_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if delegated.exit.product().is_none() {
            return Some(Judgment { delegated, verified: None });
        }
        let workspace = self.directory(task).to_owned();
        let outside = live.outside.as_ref();
        let mut withheld = live.withheld.clone();
        withheld.extend(outside.and_then(Outside::withheld));
        withheld.extend(checkpoint::tolerated(&part.spec.checkpoints, &live.seen));
        let checkpoints = checkpoint::seen(&part.spec.checkpoints, &live.seen);
        let findings = live.claims.report.as_ref().map_or(&[][..], |report| &report.findings);
        let before =
            standing(&part.spec, &self.attempts[task]).with_delegated(part.spec.budget, live.delegated);
        // Runs that it started are known to have spent this, whatever it says about itself.
        let has_delegated = !live.delegated.spent.is_zero();
        let cost = live.reported.cost.or(has_delegated.then_some(MicroUsd(0)));
        let half = live.reported.tokens_half;
        let tokens = live.reported.tokens.or(half).or(has_delegated.then_some(0));
        let member = &stack.verify;
        let verified = self.pipeline.run(member, Some(task), now_ms, || {
            // Nothing has run since the last check, so the tree is still the one that was seen after it.
            let after = live.seen.last().and_then(|seen| seen.ran.as_ref()?.tree_after.clone());
            let writes = &part.spec.writes;
            let look = || self.settings.index.tree_digest(&workspace, writes);
            let tree = if writes.is_empty() { None } else { after.or_else(look) };
            (member.run)(&VerifyFacts {
                number: part.number,
                claim,
                checks: &live.seen,
                checks_expected: part.spec.checks.len(),
                budget: part.spec.budget,
                attempts: self.attempts[task].len().saturating_add(1),
                has_delegated,
                cost: cost.map(|cost| MicroUsd(cost.0.saturating_add(before.cost.0))),
                tokens: tokens.map(|tokens| tokens.saturating_add(before.tokens)),
                cost_basis: live.cost_basis.as_ref(),
                is_half_counted: half.is_some(),
                tree_digest: tree.as_deref(),
                withheld: &withheld,
                outside,
                checkpoints: &checkpoints,
                aborted: checkpoint::aborted(&part.spec.checkpoints, &live.seen),
                findings,
                is_partial: live.is_partial(),
            })
        })?;
        Some(Judgment { delegated, verified: Some(verified) })
    }

    /// Records L7 and L8. A layer that refuses fails the attempt.
    pub(super) fn record_judgment(
        &mut self,
        id: &TaskId,
        judgment: Judgment,
    ) -> Result<(Verdict, Verification)> {
        let stack = Arc::clone(&self.pipeline.stack);
        let Judgment { delegated, verified } = judgment;
        let exit = self.pipeline.record(&stack.delegate.id, delegated, Position::Task(id))?;
        if let Err(reason) = exit.for_task() {
            return Ok(l8_verify::refused(&reason));
        }
        let verified = verified.expect("BUG: L8 is left out only where L7 refused");
        let exit = self.pipeline.record(&stack.verify.id, verified, Position::Task(id))?;
        Ok(exit.for_task().unwrap_or_else(|reason| l8_verify::refused(&reason)))
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

/// A task's lesson from an earlier walk, if there is one.
fn lesson(bundle: &Bundle, number: i64) -> Option<String> {
    bundle.get(&format!("C6.Audit.lessons.t{number}")).and_then(Value::as_str).map(str::to_owned)
}
