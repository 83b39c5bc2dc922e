//! The layers of a task: L5 and L6 before its executor starts, L7 and L8 after it has ended.
//!
//! A slow layer does not hold up the loop. Before the start, the task is not offered until the answer has come, and is
//! then started as any other. After the end, it stays live in [`ReturnStep::Judging`]. Nothing is recorded until all
//! layers of a step have ended, so records of tasks that run in parallel never mix.

use std::collections::BTreeMap;
use std::ffi::OsString;

use contract::aop::kept::MODEL_UNKNOWN;
use contract::domain::checkpoint;
use contract::domain::crew::budget::Delegated;
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::outside::Outside;
use contract::domain::reason::Reason;
use contract::domain::task::{Task, TaskId};
use contract::plan::choice::standing;
use ops::Result;

use super::confined::sandbox_refusal;
use super::engine_run::EngineRun;
use super::inputs::needs;
use super::life::AttemptStep;
use super::live::{AttemptPhase, AttemptReturn, Live, Pending, ReturnStep};
use super::selection::{self, Selected};
use super::task_work::TaskWork;
use super::{Dispatcher, millis};
use crate::executor::Executor;
use crate::pipeline::l6_shape::Shaped;
use crate::pipeline::l7_delegate::DelegateFacts;
use crate::pipeline::l8_verify::{self, Spending, VerifyFacts};
use crate::pipeline::layer::{AttemptChoice, EndFacts, Fetched, Handed, Judgment, Stage, StartFacts};
use crate::pipeline::{LayerCall, LayerResult, StageEnd};

/// Whether an attempt can start.
pub(super) enum AttemptPreparation {
    Ready(Box<Shaped>),
    Refused(Reason),
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

/// Runs L5 and L6 for one attempt and records them.
pub(super) fn prepare(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    dependencies: &[&Task],
    number: i64,
    selected: &Selected,
) -> Result<AttemptPreparation> {
    if let Some(reason) = sandbox_refusal(engine, work) {
        return Ok(AttemptPreparation::Refused(reason));
    }
    let Some(results) = run_before_start(engine, work, dependencies, number, selected) else {
        return Ok(AttemptPreparation::Awaited);
    };
    let id = work.task.id.clone();
    Ok(match engine.pipeline.record_stage(Stage::Start, results, &id)? {
        StageEnd::Passed(handed) => match handed.into_iter().find_map(Handed::into_launch) {
            Some(launch) => AttemptPreparation::Ready(launch),
            None => AttemptPreparation::Refused("no layer decided what the executor is given".into()),
        },
        StageEnd::Refused(reason) => AttemptPreparation::Refused(reason),
        StageEnd::Parked(reason) => AttemptPreparation::Parked(reason),
    })
}

/// `None` while one of the layers is awaited.
fn run_before_start(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    dependencies: &[&Task],
    number: i64,
    selected: &Selected,
) -> Option<Vec<LayerResult>> {
    let call = LayerCall { task: Some(work.index), now_ms: engine.now_ms() };
    let part = work.part().clone();
    let needs = needs(engine, work);
    let environment = &engine.settings.environment;
    let none = BTreeMap::new();
    let executor = engine.settings.executors.find(&selection::selected(engine.settings, work).executor);
    let profile = work.asked().and_then(|asked| asked.target.execution_profile);
    let profile = profile.map(|profile| (profile.as_str(), executor.is_some_and(Executor::has_effort)));
    let takes_model = executor.is_none_or(Executor::takes_model);
    let is_named = |model: &&str| !takes_model && *model != MODEL_UNKNOWN;
    let unused_model = work.asked().and(selected.model.as_deref()).filter(is_named);
    let executor_env = executor.map_or(&none, |executor| &executor.configured().env);
    let lookup =
        |name: &str| environment.get(&OsString::from(name)).and_then(|v| v.to_str().map(str::to_owned));
    let fetched = Fetched::Start(StartFacts {
        run: &engine.run.asked,
        task: &work.task,
        part: &part,
        dependencies: dependencies.to_vec(),
        attempts: &work.attempts,
        attempt_number: number,
        choice: AttemptChoice {
            executor: &selected.executor,
            model: selected.model.as_deref(),
            fallback: selected.fallback.as_deref(),
            escalated: selected.escalated.as_deref(),
        },
        timeout_max: engine.settings.policy.timeout_max,
        executor_env,
        profile,
        unused_model,
        lookup: &lookup,
        needs: &needs,
    });
    engine.pipeline.run_stage(Stage::Start, call, &fetched)
}

/// Runs L7 and L8 for an attempt that has ended. `None` while one of them is awaited.
pub(super) fn judge(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    live: &Live,
    delegated: Delegated,
) -> Option<Vec<LayerResult>> {
    let seen = &live.phase.returned().seen;
    let outcome = live.phase.returned();
    let now_ms = engine.now_ms();
    let part = work.part().clone();
    let claim = &outcome.claim;
    let returned = DelegateFacts {
        number: part.number,
        ended: &outcome.ended,
        claim,
        claims: &outcome.claims,
        took: engine.cx.now().at.since(live.start.started_at),
        overruled: &live.start.overruled,
        silences: outcome.silences,
        late_ms: live.late_ms(now_ms),
    };
    let outside = outcome.outside.as_ref();
    let mut withheld = outcome.withheld.clone();
    withheld.extend(outside.and_then(Outside::withheld));
    withheld.extend(checkpoint::tolerated(&part.spec.checkpoints, seen));
    let tree = tree_after(engine, work, outcome);
    let verify = VerifyFacts {
        number: part.number,
        claim,
        checks: seen,
        checks_expected: part.spec.checks.len(),
        spent: spent(work, outcome, delegated),
        tree_digest: tree.as_deref(),
        withheld: &withheld,
        outside,
        checkpoints: &checkpoint::seen(&part.spec.checkpoints, seen),
        aborted: checkpoint::aborted(&part.spec.checkpoints, seen),
        findings: outcome.claims.report.as_ref().map_or(&[][..], |report| &report.findings),
        is_partial: outcome.is_partial(),
    };
    let fetched = Fetched::End(EndFacts { returned, verify });
    engine.pipeline.run_stage(Stage::End, LayerCall { task: Some(work.index), now_ms }, &fetched)
}

/// The digest of everything in the task's write scope. Nothing has run since the last check, so the tree is still
/// the one that was seen after it.
fn tree_after(engine: &EngineRun<'_>, work: &TaskWork, returned: &AttemptReturn) -> Option<String> {
    let writes = &work.spec().writes;
    if writes.is_empty() {
        return None;
    }
    let after = returned.seen.last().and_then(|seen| seen.ran.as_ref()?.tree_after.clone());
    after.or_else(|| engine.settings.index.tree_digest(work.directory(&engine.run), writes))
}

/// What the task has cost with this attempt.
fn spent<'l>(work: &TaskWork, returned: &'l AttemptReturn, delegated: Delegated) -> Spending<'l> {
    let spec = work.spec();
    let before = standing(spec, &work.attempts).with_delegated(spec.budget, delegated);
    // Runs that it started are known to have spent this, whatever it reports itself.
    let has_delegated = !delegated.spent.is_zero();
    let cost = returned.reported.cost.or(has_delegated.then_some(MicroUsd(0)));
    let half = returned.reported.tokens_half;
    let tokens = returned.reported.tokens.or(half).or(has_delegated.then_some(0));
    Spending {
        budget: spec.budget,
        attempts: work.attempts.len().saturating_add(1),
        has_delegated,
        cost: cost.map(|cost| MicroUsd(cost.0.saturating_add(before.cost.0))),
        tokens: tokens.map(|tokens| tokens.saturating_add(before.tokens)),
        cost_basis: returned.cost_basis.as_ref(),
        is_half_counted: half.is_some(),
    }
}

/// Records L7 and L8. A layer that refuses fails the attempt.
pub(super) fn record_judgment(
    engine: &mut EngineRun<'_>,
    id: &TaskId,
    results: Vec<LayerResult>,
) -> Result<TaskJudgment> {
    let judgment = match engine.pipeline.record_stage(Stage::End, results, id)? {
        StageEnd::Passed(handed) => handed.into_iter().rev().find_map(Handed::into_judgment),
        StageEnd::Refused(reason) => Some(Box::new(l8_verify::refused(&reason.to_string()))),
        StageEnd::Parked(reason) => return Ok(TaskJudgment::Parked(reason)),
    };
    let none = || Box::new(l8_verify::refused("no layer judged the attempt"));
    Ok(TaskJudgment::Verdict(judgment.unwrap_or_else(none)))
}

/// Until when a layer of the task is awaited, on the boot clock.
pub(super) fn awaited_until_ms(engine: &EngineRun<'_>, work: &TaskWork) -> i64 {
    let soon = || engine.now_ms().saturating_add(millis(limits::HINDRANCE_POLL));
    engine.pipeline.awaited_until_ms(work.index).unwrap_or_else(soon)
}

impl Dispatcher<'_> {
    /// Takes the answers of slow layers. Their tasks are offered again now, and attempts are concluded once their
    /// judgment has come, is overdue, or is not needed because of a request to stop.
    pub(super) fn take_answers(&mut self) -> Result<()> {
        let now_ms = self.engine.now_ms();
        for task in self.engine.pipeline.take_answers().into_iter().filter_map(|key| key.task) {
            match self.tasks[task].live_mut().map(|live| &mut live.phase) {
                None => self.board.set_not_before(task, now_ms),
                // A process has its own deadline, and no layer of its task is awaited.
                Some(AttemptPhase::Working(_)) => {}
                Some(AttemptPhase::Returned(returned)) => {
                    if let ReturnStep::Judging { deadline_ms } = &mut returned.step {
                        *deadline_ms = now_ms;
                    }
                }
            }
        }
        let is_due = |live: &Live| matches!(live.pending(), Pending::Conclusion(due_ms) if live.stopped.is_some() || now_ms >= due_ms);
        let mut due = self.tasks.live_where(is_due).into_iter();
        due.try_for_each(|task| self.advance(task, AttemptStep::Conclude))
    }
}
