//! The walk of one run through the layers: to the executors, and back to an answer.

use std::path::Path;
use std::time::Instant;

use contract::aee::{Type, intents as reserved};
use contract::aocl::payload::Branch;
use contract::aocl::{Layer, intents};
use contract::domain::run::RunState;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::Timestamp;
use contract::json::Value;
use ops::Result;
use ops::run::journal::{Entry, Note};

use crate::dispatcher::{Dispatcher, Finished};
use crate::pipeline::l2_route::Fetched;
use crate::pipeline::l9_assemble::End;
use crate::pipeline::l10_audit::Walked;
use crate::pipeline::{
    Outcome, l0_normalize, l1_identity, l2_route, l3_policy, l4_plan, l9_assemble, l10_audit,
};

/// Walks the run as far as it can go now.
pub(crate) fn walk(dispatcher: &mut Dispatcher<'_>) -> Result<Finished> {
    let begun = dispatcher.cx.now().at;
    let halted = enter(dispatcher)?;
    if let Some(layer) = halted {
        let end = ending_of_halt(dispatcher);
        while !leave(dispatcher, &end.borrowed(), Some(layer), begun)? {
            (0..dispatcher.tasks.len()).try_for_each(|task| dispatcher.refresh(task))?;
        }
        return Ok(Finished::Settled);
    }
    let (_, order) = l4_plan::run(&dispatcher.run.asked);
    dispatcher.offer(order);
    let finished = dispatcher.work()?;
    let has_left = match finished {
        Finished::Settled => leave(dispatcher, &End::Worked, None, begun)?,
        Finished::Interrupted(_) => stop(dispatcher)?,
        Finished::Canceled => false,
    };
    if has_left {
        return Ok(finished);
    }
    // Perhaps canceled only while the last words were written: a run that could be continued does not stay so.
    cancel_rest(dispatcher)?;
    leave(dispatcher, &End::Canceled, None, begun)?;
    Ok(Finished::Canceled)
}

fn stop(dispatcher: &mut Dispatcher<'_>) -> Result<bool> {
    let mark = dispatcher.pipeline.mark();
    dispatcher.note(Entry::MoveRun { to: RunState::Stopped, result: None });
    dispatcher.commit_unless_moved(mark)
}

/// A layer, ready to be run on what was fetched for it.
type Step<'s> = (Layer, Box<dyn Fn() -> Outcome + 's>);

/// L0 to L4. Returns the layer that halted the walk, if one did. A walk that was planned and is taken up again passes
/// only the policy anew: its rules may have changed. One that was halted starts over.
fn enter(dispatcher: &mut Dispatcher<'_>) -> Result<Option<Layer>> {
    let asked = dispatcher.run.asked.clone();
    let workspace_exists = Path::new(&asked.workspace).is_dir();
    let fetched = fetch(dispatcher)?;
    let now = dispatcher.cx.now().at;
    let policy = dispatcher.settings.policy.clone();
    let planned = dispatcher.pipeline.has_run(Layer::Plan);
    let steps: [Step<'_>; 5] = [
        (Layer::Normalize, Box::new(|| l0_normalize::run(&asked, workspace_exists))),
        (Layer::Identity, Box::new(|| l1_identity::run(&asked))),
        (Layer::Route, Box::new(|| l2_route::run(&asked, &fetched, now))),
        (Layer::Policy, Box::new(|| l3_policy::run(&asked, &policy))),
        (Layer::Plan, Box::new(|| l4_plan::run(&asked).0)),
    ];
    for (layer, step) in steps {
        if planned && layer != Layer::Policy {
            continue;
        }
        let begun = Instant::now();
        let outcome = step();
        let halts = outcome.halts();
        let timing_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(0);
        dispatcher.pipeline.record(layer, outcome, timing_ms, None)?;
        if halts {
            return Ok(Some(layer));
        }
    }
    Ok(None)
}

/// What a reserved intent asks about the store.
fn fetch(dispatcher: &mut Dispatcher<'_>) -> Result<Fetched> {
    let Some(intent) = dispatcher.run.asked.intent.clone() else { return Ok(Fetched::default()) };
    let mut fetched = Fetched { envelope: None, healthy: true };
    if intent.name == reserved::CONTEXT_FETCH
        && let Some(id) = intent.payload.get("id").and_then(Value::as_str)
    {
        fetched.envelope =
            ops::event::by_event_id(dispatcher.cx, id)?.map(|event| ops::event::envelope(&event));
    }
    Ok(fetched)
}

/// How a halted walk ends, owned: the bundle it comes from is changed afterwards.
enum Halt {
    Answered(Value),
    Refused(String),
}

impl Halt {
    fn borrowed(&self) -> End<'_> {
        match self {
            Halt::Answered(answer) => End::Answered(answer),
            Halt::Refused(reason) => End::Refused(reason),
        }
    }
}

fn ending_of_halt(dispatcher: &Dispatcher<'_>) -> Halt {
    let bundle = dispatcher.pipeline.bundle();
    if let Some(reason) = bundle.get("C6.Audit.refused").and_then(Value::as_str) {
        return Halt::Refused(reason.to_owned());
    }
    Halt::Answered(bundle.get("C5.Execution.answer").cloned().unwrap_or(Value::Null))
}

fn cancel_rest(dispatcher: &mut Dispatcher<'_>) -> Result<()> {
    let all = 0..dispatcher.tasks.len();
    loop {
        let mark = dispatcher.pipeline.mark();
        for task in all.clone() {
            if dispatcher.tasks[task].status.is_terminal() {
                continue;
            }
            let task_id = dispatcher.tasks[task].id.clone();
            let reason = Some("the run was canceled".to_owned());
            dispatcher.note(Entry::MoveTask { task_id, to: Status::Canceled, reason, verified: false });
        }
        let canceled = dispatcher.commit_unless_moved(mark)?;
        all.clone().try_for_each(|task| dispatcher.refresh(task))?;
        if canceled {
            return Ok(());
        }
    }
}

/// L9 and L10, the reply, and the run's state, in one transaction. False if somebody else moved a task in the last
/// moment, or cancels the run that would be stopped.
fn leave(
    dispatcher: &mut Dispatcher<'_>,
    end: &End<'_>,
    halted: Option<Layer>,
    since: Timestamp,
) -> Result<bool> {
    let begun = Instant::now();
    let mark = dispatcher.pipeline.mark();
    let asked = dispatcher.run.asked.clone();
    let branch = halted.map(|layer| format!("{} -> {}", layer.id(), Layer::Respond.id()));
    if let Some(layer) = halted {
        // Tasks of a refused run were made with it and will never be worked.
        refuse_tasks(dispatcher, end);
        let reason = "the layer ended the walk".to_owned();
        let to = Some(Layer::Respond.id().to_owned());
        let taken = Branch { run_id: asked.id.to_string(), from: layer.id().to_owned(), to, reason };
        dispatcher.pipeline.note(intents::CONTROL_BRANCH, "Branch taken", &taken, None);
    }
    let worked: Vec<_> = dispatcher.tasks.iter().cloned().zip(dispatcher.attempts.iter().cloned()).collect();
    let (outcome, assembled) = l9_assemble::run(&asked, &worked, end);
    let timing_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(0);
    dispatcher.pipeline.record(Layer::Respond, outcome, timing_ms, None)?;
    let walked = Walked {
        run: &asked,
        executed: dispatcher.pipeline.executed(),
        delegations: &dispatcher.pipeline.delegations,
        branch,
        total_ms: u64::try_from(dispatcher.cx.now().at.since(since).as_millis()).unwrap_or(0),
    };
    let tasks: Vec<&Task> = dispatcher.tasks.iter().collect();
    let (outcome, summary) = l10_audit::run(&walked, &tasks);
    dispatcher.pipeline.record(Layer::Audit, outcome, 0, None)?;
    dispatcher.pipeline.note(intents::RUN_SUMMARY, "Run summary", &summary, None);
    let refused = matches!(end, End::Refused(_));
    dispatcher.note(Entry::Envelope(Note {
        kind: if refused { Type::Error } else { Type::Result },
        from: None,
        to: asked.intent.as_ref().map_or_else(|| asked.requested_by.clone(), |intent| intent.from.clone()),
        intent: asked
            .intent
            .as_ref()
            .map_or_else(|| "writ.run.submit".to_owned(), |intent| intent.name.clone()),
        message: "Answer".to_owned(),
        payload: assembled.reply,
        task_id: None,
    }));
    dispatcher.note(Entry::MoveRun { to: assembled.state, result: Some(assembled.result) });
    dispatcher.commit_unless_moved(mark)
}

/// Written with the answer, not before it: a run whose engine died in between would go on as if it was allowed.
fn refuse_tasks(dispatcher: &mut Dispatcher<'_>, end: &End<'_>) {
    let End::Refused(reason) = end else { return };
    for task in 0..dispatcher.tasks.len() {
        if dispatcher.tasks[task].status.is_terminal() {
            continue;
        }
        let task_id = dispatcher.tasks[task].id.clone();
        let reason = Some(format!("the run was refused: {reason}"));
        dispatcher.tasks[task].status = Status::Canceled;
        dispatcher.tasks[task].blocked_reason.clone_from(&reason);
        dispatcher.note(Entry::MoveTask { task_id, to: Status::Canceled, reason, verified: false });
    }
}
