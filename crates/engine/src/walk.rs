//! The walk of one run: through the layers before its tasks, the tasks, and the layers after them to an answer.

use std::path::Path;
use std::sync::Arc;

use contract::aee::{Type, intents as reserved};
use contract::aocl::payload::Branch;
use contract::aocl::{Layer, intents};
use contract::domain::attempt::{Attempt, AttemptState, Outcome as Observed};
use contract::domain::run::{NewRun, RunState};
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::Timestamp;
use contract::json::Value;
use ops::Result;
use ops::run::journal::{Entry, Note};
use ops::run::task_end::RUN_REFUSED;

use crate::dispatcher::{Dispatcher, Finished};
use crate::pipeline::l9_assemble::{self, End, FinalAnswer, RespondFacts};
use crate::pipeline::l10_audit::AuditFacts;
use crate::pipeline::stack::Member;
use crate::pipeline::{Exit, LayerResult, Outcome, Position, RunFacts, l4_plan};
use crate::recovery;

/// Walks the run as far as it can go now.
pub(crate) fn walk(dispatcher: &mut Dispatcher<'_>) -> Result<Finished> {
    let begun = dispatcher.cx.now().at;
    let finished = match enter(dispatcher)? {
        Entered::Passed => {
            let order = l4_plan::order(&dispatcher.run.asked.plan, dispatcher.pipeline.bundle());
            dispatcher.offer(order);
            dispatcher.work()?
        }
        Entered::Stopped(finished) => finished,
        Entered::Halted { by, end } => {
            let leaving = Leaving { end, halted_by: Some(by), begun };
            while !leave(dispatcher, &leaving)? {
                (0..dispatcher.tasks.len()).try_for_each(|task| dispatcher.refresh(task))?;
            }
            return Ok(Finished::Settled);
        }
    };
    let has_left = match finished {
        Finished::Settled => leave(dispatcher, &Leaving { end: End::Worked, halted_by: None, begun })?,
        Finished::Interrupted(_) => stop(dispatcher)?,
        Finished::Canceled => false,
    };
    if has_left {
        return Ok(finished);
    }
    // A run that was canceled while its end was written must not stay one that can be continued.
    cancel_rest(dispatcher)?;
    leave(dispatcher, &Leaving { end: End::Canceled, halted_by: None, begun })?;
    Ok(Finished::Canceled)
}

fn stop(dispatcher: &mut Dispatcher<'_>) -> Result<bool> {
    let mark = dispatcher.pipeline.mark();
    dispatcher.note(Entry::MoveRun { to: RunState::Stopped, result: None });
    dispatcher.commit_unless_moved(mark)
}

/// How the layers before the tasks ended.
enum Entered {
    Passed,
    /// A layer, by its id, answered or refused the run.
    Halted {
        by: String,
        end: End,
    },
    /// A request to stop came while a slow layer was awaited.
    Stopped(Finished),
}

/// Runs the layers before the tasks. A walk that has passed them and is continued passes only the policy again: its
/// rules may have changed. One that was halted starts over.
fn enter(dispatcher: &mut Dispatcher<'_>) -> Result<Entered> {
    let run = dispatcher.run.asked.clone();
    let facts = fetch(dispatcher, &run)?;
    let stack = Arc::clone(&dispatcher.pipeline.stack);
    let has_entered = dispatcher.pipeline.has_entered();
    for member in stack.entry.iter().filter(|member| !has_entered || member.layer == Layer::Policy) {
        let result = match run_or_stop(dispatcher, member, || (member.run)(&facts))? {
            Ok(result) => result,
            Err(finished) => return Ok(Entered::Stopped(finished)),
        };
        let end = match dispatcher.pipeline.record(&member.id, result, Position::Entry)? {
            Exit::Continue(()) => continue,
            Exit::Answer(answer) => End::Answered(answer),
            Exit::Refuse(reason) => End::Refused(reason),
        };
        return Ok(Entered::Halted { by: member.id.clone(), end });
    }
    Ok(Entered::Passed)
}

/// Runs a layer before the tasks. A request to stop ends the wait for a slow one and is the error.
fn run_or_stop<F, P: Clone + Send + 'static>(
    dispatcher: &mut Dispatcher<'_>,
    member: &Member<F>,
    layer: impl Fn() -> Outcome<P>,
) -> Result<std::result::Result<LayerResult<P>, Finished>> {
    loop {
        if let Some(result) = run_once(dispatcher, member, &layer) {
            return Ok(Ok(result));
        }
        dispatcher.heed_requests()?;
        if let Some(finished) = dispatcher.stop_requested() {
            dispatcher.pipeline.forget_answers(None);
            return Ok(Err(finished));
        }
        dispatcher.turn()?;
    }
}

/// Runs a layer after the tasks. The run is about to end, so only the deadline ends the wait for a slow one.
fn run_to_end<F, P: Clone + Send + 'static>(
    dispatcher: &mut Dispatcher<'_>,
    member: &Member<F>,
    layer: impl Fn() -> Outcome<P>,
) -> Result<LayerResult<P>> {
    loop {
        if let Some(result) = run_once(dispatcher, member, &layer) {
            return Ok(result);
        }
        dispatcher.heed_requests()?;
        dispatcher.turn()?;
    }
}

fn run_once<F, P: Clone + Send + 'static>(
    dispatcher: &mut Dispatcher<'_>,
    member: &Member<F>,
    layer: impl Fn() -> Outcome<P>,
) -> Option<LayerResult<P>> {
    let now_ms = dispatcher.now_ms();
    let result = dispatcher.pipeline.run(member, None, now_ms, layer)?;
    dispatcher.pipeline.forget_answers(None);
    Some(result)
}

/// Fetches what the layers before the tasks look at.
fn fetch<'f, 'd: 'f>(dispatcher: &mut Dispatcher<'d>, run: &'f NewRun) -> Result<RunFacts<'f>> {
    let intent = run.intent.as_ref().filter(|intent| intent.name == reserved::CONTEXT_FETCH);
    let asked = intent.and_then(|intent| intent.payload.get("id")).and_then(Value::as_str);
    let envelope = match asked {
        Some(id) => ops::event::by_event_id(dispatcher.cx, id)?.map(|event| ops::event::envelope(&event)),
        None => None,
    };
    Ok(RunFacts {
        run,
        workspace_exists: Path::new(&run.workspace).is_dir(),
        envelope,
        // The store was just read.
        is_healthy: true,
        policy: &dispatcher.settings.policy,
        now: dispatcher.cx.now().at,
    })
}

fn cancel_rest(dispatcher: &mut Dispatcher<'_>) -> Result<()> {
    let words = dispatcher.cancel_words()?;
    let all = 0..dispatcher.tasks.len();
    loop {
        let mark = dispatcher.pipeline.mark();
        for task in all.clone() {
            // One of an engine that died, if the cancel came before it was decided about.
            if let Some(open) = dispatcher.attempts[task].last().cloned() {
                let end = (AttemptState::Interrupted, "canceled after its engine had ended");
                recovery::note_end(dispatcher, task, &open, end, Observed::default());
            }
            if dispatcher.tasks[task].status.is_terminal() {
                continue;
            }
            let task_id = dispatcher.tasks[task].id.clone();
            let reason = Some(words.clone());
            dispatcher.note(Entry::MoveTask { task_id, to: Status::Canceled, reason, verified: false });
        }
        let canceled = dispatcher.commit_unless_moved(mark)?;
        all.clone().try_for_each(|task| dispatcher.reload(task))?;
        if canceled {
            return Ok(());
        }
    }
}

/// Why and since when a run leaves the walk.
struct Leaving {
    end: End,
    /// The id of the layer that answered or refused the run.
    halted_by: Option<String>,
    begun: Timestamp,
}

/// Runs the layers after the tasks and writes their records, the reply and the run's state in one transaction. False
/// if another process moved a task at the last moment, or canceled the run that would be stopped.
fn leave(dispatcher: &mut Dispatcher<'_>, leaving: &Leaving) -> Result<bool> {
    let mark = dispatcher.pipeline.mark();
    let run = dispatcher.run.asked.clone();
    let stack = Arc::clone(&dispatcher.pipeline.stack);
    if let Some(from) = &leaving.halted_by {
        refuse_tasks(dispatcher, &leaving.end);
        let reason = "the layer ended the walk".to_owned();
        let to = Some(stack.respond.id.clone());
        let taken = Branch { run_id: run.id.to_string(), from: from.clone(), to, reason };
        dispatcher.pipeline.note(intents::CONTROL_BRANCH, "Branch taken", &taken, None);
    }
    let tasks: Vec<(Task, Vec<Attempt>)> =
        dispatcher.tasks.iter().cloned().zip(dispatcher.attempts.iter().cloned()).collect();
    let (answer, is_refused) = respond(dispatcher, &run, &tasks, &leaving.end)?;
    audit(dispatcher, &run, &tasks, leaving)?;
    if answer.state.is_terminal() {
        let ended = dispatcher.run.clone();
        let files = dispatcher.settings.audit.path();
        if let Some(event) = ops::aop_session::final_report::event(dispatcher.cx, &ended, &tasks, files)? {
            dispatcher.note(Entry::AopOfRun { event: Box::new(event) });
        }
    }
    dispatcher.note(Entry::Envelope(Note {
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
    dispatcher.note(Entry::MoveRun { to: answer.state, result: Some(answer.result) });
    dispatcher.commit_unless_moved(mark)
}

/// Runs L9. Gives the answer, and whether it is a refusal.
fn respond(
    dispatcher: &mut Dispatcher<'_>,
    run: &NewRun,
    tasks: &[(Task, Vec<Attempt>)],
    end: &End,
) -> Result<(FinalAnswer, bool)> {
    let stack = Arc::clone(&dispatcher.pipeline.stack);
    let facts = RespondFacts { run, tasks, end };
    let result = run_to_end(dispatcher, &stack.respond, || (stack.respond.run)(&facts))?;
    let end = match dispatcher.pipeline.record(&stack.respond.id, result, Position::Leaving)? {
        Exit::Continue(answer) => return Ok((answer, matches!(end, End::Refused(_)))),
        // The run ends either way; its answer is then that of the layer.
        Exit::Answer(answer) => End::Answered(answer),
        Exit::Refuse(reason) => End::Refused(reason),
    };
    let answer = l9_assemble::assemble(&RespondFacts { run, tasks, end: &end });
    Ok((answer, matches!(end, End::Refused(_))))
}

/// Runs L10 and records its summary. An audit that refuses leaves its record and no summary: the run has ended.
fn audit(
    dispatcher: &mut Dispatcher<'_>,
    run: &NewRun,
    tasks: &[(Task, Vec<Attempt>)],
    leaving: &Leaving,
) -> Result<()> {
    let stack = Arc::clone(&dispatcher.pipeline.stack);
    let Some(member) = &stack.audit else { return Ok(()) };
    let mut executed = dispatcher.pipeline.executed();
    executed.push(member.id.clone());
    let delegations = dispatcher.pipeline.delegations.clone();
    let took = dispatcher.cx.now().at.since(leaving.begun);
    let facts = AuditFacts {
        run,
        tasks,
        stack_id: &stack.id,
        executed: &executed,
        delegations: &delegations,
        branch: leaving.halted_by.as_ref().map(|from| format!("{from} -> {}", stack.respond.id)),
        total_ms: u64::try_from(took.as_millis()).unwrap_or(0),
    };
    let result = run_to_end(dispatcher, member, || (member.run)(&facts))?;
    match dispatcher.pipeline.record(&member.id, result, Position::Leaving)? {
        Exit::Continue(summary) => {
            dispatcher.pipeline.note(intents::RUN_SUMMARY, "Run summary", &summary, None);
        }
        Exit::Answer(_) | Exit::Refuse(_) => {}
    }
    Ok(())
}

/// Cancels the tasks of a run that was refused. Written together with the answer: if the engine died in between, the
/// next one would continue the run as if it was allowed.
fn refuse_tasks(dispatcher: &mut Dispatcher<'_>, end: &End) {
    let reason = match end {
        End::Refused(reason) => format!("{RUN_REFUSED}{reason}"),
        End::Answered(_) | End::Worked | End::Canceled => return,
    };
    for task in 0..dispatcher.tasks.len() {
        if dispatcher.tasks[task].status.is_terminal() {
            continue;
        }
        let task_id = dispatcher.tasks[task].id.clone();
        dispatcher.tasks[task].status = Status::Canceled;
        dispatcher.tasks[task].blocked_reason = Some(reason.clone());
        let reason = Some(reason.clone());
        dispatcher.note(Entry::MoveTask { task_id, to: Status::Canceled, reason, verified: false });
    }
}

#[cfg(test)]
mod tests;
