//! The layer runner: every request walks through the layers of a stack, and every layer leaves an envelope.
//!
//! A layer is a pure function in a file of its own, from a [`LayerInput`] to an [`Outcome`]. The runner waits for it
//! where it is slow, applies its delta to the context bundle and records both.

mod awaited;
mod l0_normalize;
mod l10_audit;
mod l1_identity;
mod l2_route;
mod l3_policy;
pub(crate) mod l4_plan;
mod l5_context;
pub(crate) mod l6_shape;
pub(crate) mod l7_delegate;
pub(crate) mod l8_verify;
pub(crate) mod l9_assemble;
pub(crate) mod layer;
mod outcome;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod stack;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use contract::aee::{LOG_SINK, Type};
use contract::aocl::payload::{Control, Delegation, Digests, LayerPayload, LayerRef, StackSelect};
use contract::aocl::{Bundle, Layer, Replaced, intents};
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::run::NewRun;
use contract::domain::task::TaskId;
use contract::json::{Map, Value};
use ops::run::journal::{JournalEntry, JournalNote};
use ops::{Error, Result};
use serde::Serialize;
use serde_json::json;

pub(crate) use awaited::LayerKey;
use awaited::{AwaitProgress, Awaited};
use layer::{ContextView, Fetched, Handed, LayerInput, LayerSpec, Stage};
pub(crate) use outcome::{LayerEnd, LayerResult, Outcome};
use stack::{LayerNode, LayerStack};

/// The built-in layers. A new one is a file, its `mod` line above and a line here.
const LAYERS: [LayerSpec; 11] = [
    l0_normalize::LAYER,
    l1_identity::LAYER,
    l2_route::LAYER,
    l3_policy::LAYER,
    l4_plan::LAYER,
    l5_context::LAYER,
    l6_shape::LAYER,
    l7_delegate::LAYER,
    l8_verify::LAYER,
    l9_assemble::LAYER,
    l10_audit::LAYER,
];

/// Runs the layers of one run: the context so far, what has to be written, and the answers it waits for.
pub(crate) struct Pipeline {
    pub(crate) stack: Arc<LayerStack>,
    run_id: String,
    bundle: Bundle,
    /// The digest of the bundle.
    digest: String,
    /// What was replaced in the bundle since the entries were last committed.
    replaced: Vec<Replaced>,
    /// Numbers of tasks that have ended and are still in the bundle, in the order of their ends.
    ended: VecDeque<i64>,
    entries: Vec<JournalEntry>,
    executed: Vec<Executed>,
    pub(crate) delegations: Vec<Delegation>,
    awaited: Awaited,
}

/// A layer that has a record.
pub(crate) struct Executed {
    pub(crate) id: String,
    halted: bool,
}

/// For what a layer is run, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerCall {
    /// The index of a task; `None` for the run.
    pub(crate) task: Option<usize>,
    /// On the boot clock.
    pub(crate) now_ms: i64,
}

/// How the layers of a task's stage ended.
#[derive(Debug)]
pub(crate) enum StageEnd {
    /// What they handed on, in their order.
    Passed(Vec<Handed>),
    /// The task ends with this reason.
    Refused(Reason),
    /// The task waits for a person.
    Parked(String),
}

/// A walk at one moment, to return to when what followed could not be written.
#[derive(Clone)]
pub(crate) struct Mark {
    replaced: usize,
    digest: String,
    ended: VecDeque<i64>,
    entries: usize,
    executed: usize,
    delegations: usize,
}

impl Pipeline {
    /// A walk from the beginning.
    pub(crate) fn new(stack: LayerStack, run: &NewRun) -> Self {
        let mut pipeline = Self::blank(stack, run);
        let select = StackSelect {
            run_id: pipeline.run_id.clone(),
            stack_id: pipeline.stack.id.clone(),
            reason: format!("the {} stack fits a {}", pipeline.stack.id, run.kind.as_str()),
        };
        pipeline.note(intents::STACK_SELECT, "Stack selected", &select, None);
        pipeline
    }

    /// A walk that continues after its records. The bundle is rebuilt from them and compared with their digests.
    pub(crate) fn resumed(stack: LayerStack, run: &NewRun, records: &[LayerPayload]) -> Result<Self> {
        let mut pipeline = Self::blank(stack, run);
        for record in records {
            pipeline.patch(&record.delta)?;
            if pipeline.digest != record.digests.context_out {
                let message = format!("the context after {} is not what its record says", record.layer.id);
                return Err(Error::new(ErrorCode::Corrupt, message));
            }
            let (id, halted) = (record.layer.id.clone(), record.control.halt_pipeline);
            pipeline.executed.push(Executed { id, halted });
        }
        // All of it is committed.
        pipeline.replaced.clear();
        pipeline.ended = numbers_in(&pipeline.bundle);
        Ok(pipeline)
    }

    fn blank(stack: LayerStack, run: &NewRun) -> Self {
        Self {
            awaited: Awaited::new(stack.timeout),
            stack: Arc::new(stack),
            run_id: run.id.to_string(),
            digest: Bundle::new().digest(),
            bundle: Bundle::new(),
            replaced: Vec::new(),
            ended: VecDeque::new(),
            entries: Vec::new(),
            executed: Vec::new(),
            delegations: Vec::new(),
        }
    }

    /// Whether the walk has passed every layer before the tasks.
    pub(crate) fn has_entered(&self) -> bool {
        let last = self.stack.of(Stage::Enter).next_back();
        last.is_some_and(|last| self.executed.iter().any(|done| done.id == last.id && !done.halted))
    }

    pub(crate) fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Runs a layer. `None` while its answer is awaited: the caller asks again when it has arrived or its deadline
    /// has passed, and gets a refusal then.
    pub(crate) fn run(
        &mut self,
        node: &LayerNode,
        call: LayerCall,
        handed: &[Handed],
        fetched: &Fetched<'_>,
    ) -> Option<LayerResult> {
        let key = LayerKey { task: call.task, id: node.id.clone() };
        match self.awaited.look(&key, call.now_ms) {
            AwaitProgress::NotStarted => {}
            AwaitProgress::UnderWay => return None,
            AwaitProgress::Ended(result) => return Some(result),
        }
        let view = ContextView {
            bundle: &self.bundle,
            handed,
            executed: &self.executed,
            delegations: &self.delegations,
        };
        let begun = Instant::now();
        let outcome = (node.spec.run)(&LayerInput { id: &node.id, view, fetched });
        match outcome.settle(elapsed_ms(begun)) {
            Ok(result) => Some(result),
            Err(slow) => {
                self.awaited.start(&key, call.now_ms, *slow);
                None
            }
        }
    }

    /// Runs the layers of a stage, until one does not continue, and records nothing. `None` while one is awaited.
    pub(crate) fn run_stage(
        &mut self,
        stage: Stage,
        call: LayerCall,
        fetched: &Fetched<'_>,
    ) -> Option<Vec<LayerResult>> {
        let stack = Arc::clone(&self.stack);
        let (mut results, mut handed) = (Vec::new(), Vec::new());
        for node in stack.of(stage) {
            let result = self.run(node, call, &handed, fetched)?;
            let given = result.exit.handed().cloned();
            results.push(result);
            let Some(given) = given else { break };
            handed.push(given);
        }
        Some(results)
    }

    /// Records the results of a task's stage.
    pub(crate) fn record_stage(
        &mut self,
        stage: Stage,
        results: Vec<LayerResult>,
        task: &TaskId,
    ) -> Result<StageEnd> {
        let stack = Arc::clone(&self.stack);
        let mut handed = Vec::new();
        for (node, result) in stack.of(stage).zip(results) {
            match self.record(node, result, Some(task))? {
                LayerEnd::Continue(given) => handed.push(given),
                LayerEnd::Refuse(reason) => return Ok(StageEnd::Refused(reason)),
                LayerEnd::Park(reason) => return Ok(StageEnd::Parked(reason)),
                LayerEnd::Answer(_) => {
                    return Ok(StageEnd::Refused("a layer of a task tried to answer the run".into()));
                }
            }
        }
        Ok(StageEnd::Passed(handed))
    }

    /// Takes the answers of slow layers that have arrived. Gives what they were run for.
    pub(crate) fn take_answers(&mut self) -> Vec<LayerKey> {
        self.awaited.arrivals()
    }

    /// Until when a layer of this task is waited for, on the boot clock.
    pub(crate) fn awaited_until_ms(&self, task: usize) -> Option<i64> {
        self.awaited.deadline_ms(Some(task))
    }

    /// The answers for this task, or for the run, were used or are not needed.
    pub(crate) fn forget_answers(&mut self, task: Option<usize>) {
        self.awaited.forget(task);
    }

    /// Applies a layer's result to the context and records it as one `aocl.layer.decision`.
    pub(crate) fn record(
        &mut self,
        node: &LayerNode,
        result: LayerResult,
        task: Option<&TaskId>,
    ) -> Result<LayerEnd> {
        let context_in = self.digest.clone();
        // Scrubbed before it is hashed, so that what is stored is what was digested.
        let mut delta = scrubbed(result.delta);
        if task.is_some() {
            self.forget_oldest(&mut delta);
        }
        self.patch(&delta)?;
        let message = result.decisions.first().map_or_else(
            || Layer::from_id(&node.id).map_or(node.id.as_str(), |layer| layer.title()).to_owned(),
            |decision| format!("{}: {}", decision.code, decision.reason),
        );
        let control = self.control(&result.exit, node.spec.stage);
        self.executed.push(Executed { id: node.id.clone(), halted: control.halt_pipeline });
        let payload = LayerPayload {
            run_id: self.run_id.clone(),
            stack_id: self.stack.id.clone(),
            layer: LayerRef { id: node.id.clone(), version: contract::aocl::layer::VERSION.to_owned() },
            timing_ms: result.timing_ms,
            decisions: result.decisions,
            delta,
            refs: result.refs,
            digests: Digests { context_in, context_out: self.digest.clone() },
            control,
        };
        self.note(intents::LAYER_DECISION, &message, &payload, task);
        Ok(result.exit)
    }

    /// A task begins: its part of the context is kept until it has ended.
    pub(crate) fn task_begins(&mut self, number: i64) {
        self.ended.retain(|ended| *ended != number);
    }

    /// A task has ended. Only the newest of those stay in the context: it is digested after each layer, so it must not
    /// grow with the run. The records of the task keep everything.
    pub(crate) fn task_ended(&mut self, number: i64) {
        self.task_begins(number);
        self.ended.push_back(number);
    }

    fn forget_oldest(&mut self, delta: &mut Map<String, Value>) {
        while self.ended.len() > limits::CONTEXT_TASKS_MAX {
            let Some(number) = self.ended.pop_front() else { return };
            for partition in ["C2.Task", "C3.Memory"] {
                delta.insert(format!("{partition}.t{number}"), Value::Null);
            }
        }
    }

    /// What the envelope says about how the walk goes on. A layer before the tasks that does not continue halts the
    /// walk, which branches to the answer. One of a task ends or parks only that task.
    fn control(&self, exit: &LayerEnd, stage: Stage) -> Control {
        let ends = exit.handed().is_none();
        let halts = ends && stage == Stage::Enter;
        Control {
            halt_pipeline: halts,
            branch_to: halts.then(|| self.stack.id_of(Layer::Respond).to_owned()),
            require_hitl: matches!(exit, LayerEnd::Park(_)),
            ..Control::default()
        }
    }

    /// Records another control event.
    pub(crate) fn note(
        &mut self,
        intent: &str,
        message: &str,
        payload: &impl Serialize,
        task: Option<&TaskId>,
    ) {
        self.entries.push(JournalEntry::Envelope(JournalNote {
            kind: Type::Event,
            from: None,
            to: LOG_SINK.to_owned(),
            intent: intent.to_owned(),
            message: message.to_owned(),
            payload: serde_json::to_value(payload).unwrap_or_else(|_| json!({})),
            task_id: task.cloned(),
        }));
    }

    pub(crate) fn push(&mut self, entry: JournalEntry) {
        self.entries.push(entry);
    }

    /// Everything to be committed together.
    pub(crate) fn entries(&self) -> &[JournalEntry] {
        &self.entries
    }

    /// The entries were committed.
    pub(crate) fn written(&mut self) {
        self.entries.clear();
        self.replaced.clear();
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            replaced: self.replaced.len(),
            digest: self.digest.clone(),
            ended: self.ended.clone(),
            entries: self.entries.len(),
            executed: self.executed.len(),
            delegations: self.delegations.len(),
        }
    }

    /// Drops everything since the mark. None of it may have been committed: the context must stay what the records
    /// lead to.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        while self.replaced.len() > mark.replaced
            && let Some(replaced) = self.replaced.pop()
        {
            self.bundle.undo(replaced);
        }
        self.digest = mark.digest;
        self.ended = mark.ended;
        self.entries.truncate(mark.entries);
        self.executed.truncate(mark.executed);
        self.delegations.truncate(mark.delegations);
    }

    fn patch(&mut self, delta: &Map<String, Value>) -> Result<()> {
        let replaced = self.bundle.apply(delta).map_err(|error| {
            Error::new(ErrorCode::Bug, format!("a layer's delta does not fit the context: {error}"))
        })?;
        self.replaced.push(replaced);
        if !delta.is_empty() {
            self.digest = self.bundle.digest();
        }
        Ok(())
    }
}

/// The numbers of the tasks that the context knows.
fn numbers_in(bundle: &Bundle) -> VecDeque<i64> {
    let tasks = bundle.get("C2.Task").and_then(Value::as_object);
    let names = tasks.into_iter().flat_map(Map::keys);
    let mut numbers: Vec<i64> =
        names.filter_map(|name| name.strip_prefix('t').and_then(|number| number.parse().ok())).collect();
    numbers.sort_unstable();
    numbers.into()
}

/// Timings of layers are for people; nothing is decided by them.
pub(crate) fn elapsed_ms(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn scrubbed(delta: Map<String, Value>) -> Map<String, Value> {
    match ops::scrubbed(Value::Object(delta)) {
        Value::Object(fields) => fields,
        // Scrubbing keeps the kind of a value.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

#[cfg(test)]
mod tests;
