//! The walk of one run: through the layers before its tasks, the tasks, and the layers after them to an answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use contract::aee::{Type, intents as reserved};
use contract::aocl::payload::Branch;
use contract::aocl::{Layer, intents};
use contract::domain::attempt::{Attempt, AttemptOutcome as Observed, AttemptState};
use contract::domain::reason::ReasonRule;
use contract::domain::run::{NewRun, RunState};
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::Timestamp;
use contract::json::Value;
use ops::Result;
use ops::run::journal::{JournalEntry, JournalNote};

use crate::dispatcher::{Dispatcher, Finished};
use crate::pipeline::l9_assemble::{FinalAnswer, WalkEnd, assemble};
use crate::pipeline::layer::{Fetched, Handed, LeaveFacts, RunFacts, Stage};
use crate::pipeline::stack::LayerNode;
use crate::pipeline::{LayerCall, LayerEnd, LayerResult, l4_plan};
use crate::recovery;

/// Walks the run as far as it can go now.
pub(crate) fn walk(dispatcher: &mut Dispatcher<'_>) -> Result<Finished> {
    let begun = dispatcher.engine.cx.now().at;
    let finished = match enter(dispatcher)? {
        LayersEntered::Passed => {
            unpark(dispatcher)?;
            let order =
                l4_plan::order(&dispatcher.engine.run.asked.plan, dispatcher.engine.pipeline.bundle());
            dispatcher.offer(order);
            dispatcher.work()?
        }
        LayersEntered::Stopped(finished) => finished,
        LayersEntered::Halted { by, end } => {
            let leaving = Leaving { end, halted_by: Some(by), begun };
            while !leave(dispatcher, &leaving)? {
                (0..dispatcher.tasks.len()).try_for_each(|task| dispatcher.refresh(task))?;
            }
            return Ok(Finished::Settled);
        }
    };
    let has_left = match finished {
        Finished::Settled => leave(dispatcher, &Leaving { end: WalkEnd::Worked, halted_by: None, begun })?,
        Finished::Interrupted(_) => stop(dispatcher)?,
        Finished::Canceled => false,
    };
    if has_left {
        return Ok(finished);
    }
    // A run that was canceled while its end was written must not stay one that can be continued.
    cancel_rest(dispatcher)?;
    leave(dispatcher, &Leaving { end: WalkEnd::Canceled, halted_by: None, begun })?;
    Ok(Finished::Canceled)
}

fn stop(dispatcher: &mut Dispatcher<'_>) -> Result<bool> {
    let mark = dispatcher.engine.pipeline.mark();
    dispatcher.engine.note(JournalEntry::MoveRun { to: RunState::Stopped, result: None });
    dispatcher.engine.commit_unless_moved(mark)
}

/// How the layers before the tasks ended.
enum LayersEntered {
    Passed,
    /// A layer, by its id, answered, refused or parked the run.
    Halted {
        by: String,
        end: WalkEnd,
    },
    /// A request to stop came while a slow layer was awaited.
    Stopped(Finished),
}

/// Runs the layers before the tasks. A walk that has passed them and is continued repeats only some, such as the
/// policy: its rules may have changed. One that was halted starts over.
fn enter(dispatcher: &mut Dispatcher<'_>) -> Result<LayersEntered> {
    let run = dispatcher.engine.run.asked.clone();
    let fetched = Fetched::Enter(fetch(dispatcher, &run)?);
    let stack = Arc::clone(&dispatcher.engine.pipeline.stack);
    let has_entered = dispatcher.engine.pipeline.has_entered();
    let mut handed = Vec::new();
    for node in stack.of(Stage::Enter).filter(|node| !has_entered || node.spec.is_repeated) {
        let result = match run_or_stop(dispatcher, node, &handed, &fetched)? {
            LayerWait::Ended(result) => result,
            LayerWait::Stopped(finished) => return Ok(LayersEntered::Stopped(finished)),
        };
        let end = match dispatcher.engine.pipeline.record(node, result, None)? {
            LayerEnd::Continue(given) => {
                handed.push(given);
                continue;
            }
            LayerEnd::Answer(answer) => WalkEnd::Answered(answer),
            LayerEnd::Refuse(reason) => WalkEnd::Refused(reason),
            LayerEnd::Park(reason) => WalkEnd::Parked(reason),
        };
        return Ok(LayersEntered::Halted { by: node.id.clone(), end });
    }
    Ok(LayersEntered::Passed)
}

/// How the wait for a layer ended.
enum LayerWait {
    Ended(LayerResult),
    Stopped(Finished),
}

/// Runs a layer before the tasks. A request to stop ends the wait for a slow one.
fn run_or_stop(
    dispatcher: &mut Dispatcher<'_>,
    node: &LayerNode,
    handed: &[Handed],
    fetched: &Fetched<'_>,
) -> Result<LayerWait> {
    loop {
        if let Some(result) = run_once(dispatcher, node, handed, fetched) {
            return Ok(LayerWait::Ended(result));
        }
        dispatcher.heed_requests()?;
        if let Some(finished) = dispatcher.stop_requested() {
            dispatcher.engine.pipeline.forget_answers(None);
            return Ok(LayerWait::Stopped(finished));
        }
        dispatcher.turn()?;
    }
}

/// Runs a layer after the tasks. The run is about to end, so only the deadline ends the wait for a slow one.
fn run_to_end(
    dispatcher: &mut Dispatcher<'_>,
    node: &LayerNode,
    handed: &[Handed],
    fetched: &Fetched<'_>,
) -> Result<LayerResult> {
    loop {
        if let Some(result) = run_once(dispatcher, node, handed, fetched) {
            return Ok(result);
        }
        dispatcher.heed_requests()?;
        dispatcher.turn()?;
    }
}

fn run_once(
    dispatcher: &mut Dispatcher<'_>,
    node: &LayerNode,
    handed: &[Handed],
    fetched: &Fetched<'_>,
) -> Option<LayerResult> {
    let call = LayerCall { task: None, now_ms: dispatcher.engine.now_ms() };
    let result = dispatcher.engine.pipeline.run(node, call, handed, fetched)?;
    dispatcher.engine.pipeline.forget_answers(None);
    Some(result)
}

/// Offers the tasks again that a layer parked before their attempt: the layer is asked again. The last record of
/// such a task requires a person.
fn unpark(dispatcher: &mut Dispatcher<'_>) -> Result<()> {
    let is_blocked = |task: &usize| dispatcher.tasks[*task].task.status == Status::Blocked;
    let blocked: Vec<usize> = (0..dispatcher.tasks.len()).filter(is_blocked).collect();
    if blocked.is_empty() {
        return Ok(());
    }
    let stack = Arc::clone(&dispatcher.engine.pipeline.stack);
    let before_start: Vec<&str> = stack.of(Stage::Start).map(|node| node.id.as_str()).collect();
    let mut last = BTreeMap::new();
    for event in ops::event::by_corr(dispatcher.engine.cx, &dispatcher.engine.run.asked.corr)? {
        if let (intents::LAYER_DECISION, Some(task)) = (event.record.intent.as_str(), event.record.task_id) {
            last.insert(task, event.record.payload);
        }
    }
    for task in blocked {
        let task_id = dispatcher.tasks[task].task.id.clone();
        let Some(record) = last.get(task_id.as_str()) else { continue };
        let by_layer = record["layer"]["id"].as_str().is_some_and(|id| before_start.contains(&id));
        if !by_layer || record["control"]["require_hitl"] != true {
            continue;
        }
        let mark = dispatcher.engine.pipeline.mark();
        dispatcher.engine.note(JournalEntry::MoveTask { task_id, to: Status::Todo, reason: None });
        // If another process moved it, its change stays.
        dispatcher.engine.commit_unless_moved(mark)?;
        dispatcher.refresh(task)?;
    }
    Ok(())
}

/// Fetches what the layers before the tasks look at.
fn fetch<'f, 'd: 'f>(dispatcher: &mut Dispatcher<'d>, run: &'f NewRun) -> Result<RunFacts<'f>> {
    let intent = run.intent.as_ref().filter(|intent| intent.name == reserved::CONTEXT_FETCH);
    let asked = intent.and_then(|intent| intent.payload.get("id")).and_then(Value::as_str);
    let envelope = match asked {
        Some(id) => {
            ops::event::by_event_id(dispatcher.engine.cx, id)?.map(|event| ops::event::envelope(&event))
        }
        None => None,
    };
    Ok(RunFacts {
        run,
        workspace_exists: Path::new(&run.workspace).is_dir(),
        envelope,
        // The store was just read.
        is_healthy: true,
        policy: &dispatcher.engine.settings.policy,
        now: dispatcher.engine.cx.now().at,
    })
}

fn cancel_rest(dispatcher: &mut Dispatcher<'_>) -> Result<()> {
    let words = dispatcher.engine.canceled_because()?;
    let all = 0..dispatcher.tasks.len();
    loop {
        let mark = dispatcher.engine.pipeline.mark();
        for task in all.clone() {
            // One of an engine that died, if the cancel came before it was decided about.
            if let Some(open) = dispatcher.tasks[task].attempts.last().cloned() {
                let end = (AttemptState::Interrupted, "canceled after its engine had ended");
                recovery::note_end(
                    &mut dispatcher.engine,
                    &dispatcher.tasks[task],
                    &open,
                    end,
                    Observed::default(),
                );
            }
            if dispatcher.tasks[task].task.status.is_terminal() {
                continue;
            }
            let task_id = dispatcher.tasks[task].task.id.clone();
            let reason = Some(words.clone());
            dispatcher.engine.note(JournalEntry::MoveTask { task_id, to: Status::Canceled, reason });
        }
        let canceled = dispatcher.engine.commit_unless_moved(mark)?;
        all.clone().try_for_each(|task| dispatcher.reload(task))?;
        if canceled {
            return Ok(());
        }
    }
}

/// Why and since when a run leaves the walk.
struct Leaving {
    end: WalkEnd,
    /// The id of the layer that answered, refused or parked the run.
    halted_by: Option<String>,
    begun: Timestamp,
}

/// Runs the layers after the tasks and writes their records, the reply and the run's state in one transaction. False
/// if another process moved a task at the last moment, or canceled the run that would be stopped.
fn leave(dispatcher: &mut Dispatcher<'_>, leaving: &Leaving) -> Result<bool> {
    let mark = dispatcher.engine.pipeline.mark();
    let run = dispatcher.engine.run.asked.clone();
    if let Some(from) = &leaving.halted_by {
        refuse_tasks(dispatcher, &leaving.end);
        let reason = "the layer ended the walk".to_owned();
        let to = Some(dispatcher.engine.pipeline.stack.id_of(Layer::Respond).to_owned());
        let taken = Branch { run_id: run.id.to_string(), from: from.clone(), to, reason };
        dispatcher.engine.pipeline.note(intents::CONTROL_BRANCH, "Branch taken", &taken, None);
    }
    let tasks: Vec<(Task, Vec<Attempt>)> =
        dispatcher.tasks.iter().map(|work| (work.task.clone(), work.attempts.clone())).collect();
    let RunAnswer { answer, is_refused } = respond(dispatcher, &run, &tasks, leaving)?;
    if answer.state.is_terminal() {
        let ended = dispatcher.engine.run.clone();
        let files = dispatcher.engine.settings.audit.path();
        if let Some(event) =
            ops::aop_session::final_report::event(dispatcher.engine.cx, &ended, &tasks, files)?
        {
            dispatcher.engine.note(JournalEntry::AopOfRun { event: Box::new(event) });
        }
    }
    dispatcher.engine.note(JournalEntry::Envelope(JournalNote {
        kind: if is_refused { Type::Error } else { Type::Result },
        from: None,
        to: run.intent.as_ref().map_or_else(|| run.requested_by.clone(), |intent| intent.from.clone()),
        intent: run
            .intent
            .as_ref()
            .map_or_else(|| "writ.run.submit".to_owned(), |intent| intent.name.clone()),
        message: "Answer".to_owned(),
        payload: answer.reply,
        task_id: None,
    }));
    dispatcher.engine.note(JournalEntry::MoveRun { to: answer.state, result: Some(answer.result) });
    dispatcher.engine.commit_unless_moved(mark)
}

/// The answer of a run, and whether it is a refusal.
struct RunAnswer {
    answer: FinalAnswer,
    is_refused: bool,
}

/// Runs and records the layers after the tasks. One that does not continue before there is an answer decides the end
/// of the run; one after it leaves only its record.
fn respond(
    dispatcher: &mut Dispatcher<'_>,
    run: &NewRun,
    tasks: &[(Task, Vec<Attempt>)],
    leaving: &Leaving,
) -> Result<RunAnswer> {
    let stack = Arc::clone(&dispatcher.engine.pipeline.stack);
    let took = dispatcher.engine.cx.now().at.since(leaving.begun);
    let branch_to = stack.id_of(Layer::Respond);
    let fetched = Fetched::Leave(LeaveFacts {
        run,
        tasks,
        end: &leaving.end,
        stack_id: &stack.id,
        branch: leaving.halted_by.as_ref().map(|from| format!("{from} -> {branch_to}")),
        total_ms: u64::try_from(took.as_millis()).unwrap_or(0),
    });
    let (mut end, mut answer, mut handed) = (leaving.end.clone(), None, Vec::new());
    for node in stack.of(Stage::Leave) {
        let result = run_to_end(dispatcher, node, &handed, &fetched)?;
        match dispatcher.engine.pipeline.record(node, result, None)? {
            LayerEnd::Continue(Handed::Answer(given)) => answer = Some(*given),
            LayerEnd::Continue(Handed::Summary(summary)) => {
                dispatcher.engine.pipeline.note(intents::RUN_SUMMARY, "Run summary", &*summary, None);
            }
            LayerEnd::Continue(given) => handed.push(given),
            LayerEnd::Answer(_) | LayerEnd::Refuse(_) | LayerEnd::Park(_) if answer.is_some() => {}
            LayerEnd::Answer(given) => end = WalkEnd::Answered(given),
            LayerEnd::Refuse(reason) => end = WalkEnd::Refused(reason),
            LayerEnd::Park(reason) => end = WalkEnd::Parked(reason),
        }
    }
    let is_refused = matches!(end, WalkEnd::Refused(_));
    Ok(RunAnswer { answer: answer.unwrap_or_else(|| assemble(run, tasks, &end)), is_refused })
}

/// Cancels the tasks of a run that was refused. Written together with the answer: if the engine died in between, the
/// next one would continue the run as if it was allowed.
fn refuse_tasks(dispatcher: &mut Dispatcher<'_>, end: &WalkEnd) {
    let reason = match end {
        WalkEnd::Refused(reason) => reason.clone().with_rule(ReasonRule::RunRefused),
        WalkEnd::Answered(_) | WalkEnd::Parked(_) | WalkEnd::Worked | WalkEnd::Canceled => return,
    };
    for task in 0..dispatcher.tasks.len() {
        if dispatcher.tasks[task].task.status.is_terminal() {
            continue;
        }
        let task_id = dispatcher.tasks[task].task.id.clone();
        dispatcher.tasks[task].task.status = Status::Canceled;
        dispatcher.tasks[task].task.blocked_reason = Some(reason.clone());
        let reason = Some(reason.clone());
        dispatcher.engine.note(JournalEntry::MoveTask { task_id, to: Status::Canceled, reason });
    }
}

#[cfg(test)]
mod tests;
