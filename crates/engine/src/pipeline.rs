//! The control pipeline: every request walks through the layers, and every layer leaves an envelope.
//!
//! Layers are pure functions in one file each. They get everything they look at as arguments and give back an
//! `Outcome`; the runner applies its delta to the context bundle and writes both down.

pub(crate) mod l0_normalize;
pub(crate) mod l10_audit;
pub(crate) mod l1_identity;
pub(crate) mod l2_route;
pub(crate) mod l3_policy;
pub(crate) mod l4_plan;
pub(crate) mod l5_context;
pub(crate) mod l6_shape;
pub(crate) mod l7_delegate;
pub(crate) mod l8_verify;
pub(crate) mod l9_assemble;

use contract::aee::{LOG_SINK, Type};
use contract::aocl::payload::{Control, Decision, Delegation, Digests, LayerPayload, LayerRef, StackSelect};
use contract::aocl::{Bundle, Layer, intents};
use contract::domain::code::ErrorCode;
use contract::domain::run::NewRun;
use contract::domain::task::TaskId;
use contract::json::{Map, Value};
use ops::run::journal::{Entry, Note};
use ops::{Error, Result};
use serde::Serialize;
use serde_json::json;

pub(crate) const STACK_ID: &str = "default";

/// What a layer decided.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) decisions: Vec<Decision>,
    pub(crate) delta: Map<String, Value>,
    pub(crate) refs: Vec<String>,
    pub(crate) control: Control,
}

impl Outcome {
    pub(crate) fn decided(code: &str, reason: impl Into<String>) -> Self {
        Self::default().and(code, reason)
    }

    #[must_use]
    pub(crate) fn and(mut self, code: &str, reason: impl Into<String>) -> Self {
        self.decisions.push(Decision { code: code.to_owned(), reason: reason.into() });
        self
    }

    /// Sets a value of the context, by its dotted path.
    #[must_use]
    pub(crate) fn set(mut self, path: impl Into<String>, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.delta.insert(path.into(), value);
        self
    }

    /// The layers up to the answer are skipped.
    #[must_use]
    pub(crate) fn halt(mut self) -> Self {
        self.control.halt_pipeline = true;
        self.control.branch_to = Some(Layer::Respond.id().to_owned());
        self
    }

    pub(crate) fn halts(&self) -> bool {
        self.control.halt_pipeline
    }
}

/// One run's walk: the context so far, and what has to be written down.
pub(crate) struct Pipeline {
    run_id: String,
    bundle: Bundle,
    entries: Vec<Entry>,
    executed: Vec<String>,
    pub(crate) delegations: Vec<Delegation>,
}

/// A walk as it was at one moment, to go back to when what followed could not be written down.
pub(crate) struct Mark {
    bundle: Bundle,
    entries: usize,
    executed: usize,
    delegations: usize,
}

impl Pipeline {
    /// A walk from the beginning.
    pub(crate) fn new(run: &NewRun) -> Self {
        let mut pipeline = Self {
            run_id: run.id.to_string(),
            bundle: Bundle::new(),
            entries: Vec::new(),
            executed: Vec::new(),
            delegations: Vec::new(),
        };
        let select = StackSelect {
            run_id: pipeline.run_id.clone(),
            stack_id: STACK_ID.to_owned(),
            reason: format!("the default stack fits a {}", run.kind.as_str()),
        };
        pipeline.note(intents::STACK_SELECT, "Stack selected", &select, None);
        pipeline
    }

    /// A walk that goes on where its records end. The bundle is rebuilt from them and their digests.
    pub(crate) fn resumed(run: &NewRun, records: &[LayerPayload]) -> Result<Self> {
        let mut pipeline = Self::new(run);
        pipeline.entries.clear();
        for record in records {
            pipeline.patch(&record.delta)?;
            if pipeline.bundle.digest() != record.digests.context_out {
                let message = format!("the context after {} is not what its record says", record.layer.id);
                return Err(Error::new(ErrorCode::Corrupt, message));
            }
            pipeline.executed.push(record.layer.id.clone());
        }
        Ok(pipeline)
    }

    pub(crate) fn has_run(&self, layer: Layer) -> bool {
        self.executed.iter().any(|id| id == layer.id())
    }

    pub(crate) fn executed(&self) -> &[String] {
        &self.executed
    }

    pub(crate) fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Applies a layer's outcome to the context and writes it down as one `aocl.layer.decision`.
    pub(crate) fn record(
        &mut self,
        layer: Layer,
        outcome: Outcome,
        timing_ms: u64,
        task: Option<&TaskId>,
    ) -> Result<()> {
        let context_in = self.bundle.digest();
        // Scrubbed before it is hashed, so that what is stored is what was digested.
        let delta = scrubbed(outcome.delta);
        self.patch(&delta)?;
        let message = outcome.decisions.first().map_or_else(
            || layer.title().to_owned(),
            |decision| format!("{}: {}", decision.code, decision.reason),
        );
        let payload = LayerPayload {
            run_id: self.run_id.clone(),
            stack_id: STACK_ID.to_owned(),
            layer: LayerRef { id: layer.id().to_owned(), version: contract::aocl::layer::VERSION.to_owned() },
            timing_ms,
            decisions: outcome.decisions,
            delta,
            refs: outcome.refs,
            digests: Digests { context_in, context_out: self.bundle.digest() },
            control: outcome.control,
        };
        self.executed.push(layer.id().to_owned());
        self.note(intents::LAYER_DECISION, &message, &payload, task);
        Ok(())
    }

    /// Writes down another control event.
    pub(crate) fn note(
        &mut self,
        intent: &str,
        message: &str,
        payload: &impl Serialize,
        task: Option<&TaskId>,
    ) {
        self.entries.push(Entry::Envelope(Note {
            kind: Type::Event,
            from: None,
            to: LOG_SINK.to_owned(),
            intent: intent.to_owned(),
            message: message.to_owned(),
            payload: serde_json::to_value(payload).unwrap_or_else(|_| json!({})),
            task_id: task.cloned(),
        }));
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Everything to be committed together.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries were committed.
    pub(crate) fn written(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            bundle: self.bundle.clone(),
            entries: self.entries.len(),
            executed: self.executed.len(),
            delegations: self.delegations.len(),
        }
    }

    /// Forgets everything since the mark. Nothing of it may have been written: the context must stay what the
    /// records lead to.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.bundle = mark.bundle;
        self.entries.truncate(mark.entries);
        self.executed.truncate(mark.executed);
        self.delegations.truncate(mark.delegations);
    }

    fn patch(&mut self, delta: &Map<String, Value>) -> Result<()> {
        self.bundle.apply(delta).map_err(|error| {
            Error::new(ErrorCode::Bug, format!("a layer's delta does not fit the context: {error}"))
        })
    }
}

fn scrubbed(delta: Map<String, Value>) -> Map<String, Value> {
    match ops::scrubbed(Value::Object(delta)) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
