//! What a layer returns: decisions, a delta to the context, references, and how the walk goes on.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::aocl::payload::Decision;
use contract::domain::reason::Reason;
use contract::json::{Map, Value};
use serde::Serialize;

use super::layer::Handed;

/// Everything one layer returns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) decisions: Vec<Decision>,
    /// C-paths and their new values.
    pub(crate) delta: Map<String, Value>,
    pub(crate) refs: Vec<String>,
    /// How long the work took that the layer reports about; the runner measures the layer itself.
    pub(crate) took: Option<Duration>,
    pub(crate) next: Next,
}

/// How the walk goes on after a layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    Continue(Handed),
    /// The run is answered with this; no executor is needed.
    Answer(Value),
    /// The run, or the task a task's layer ran for, ends with this reason.
    Refuse(Reason),
    /// The outcome comes later.
    Await(SlowWork),
    /// The run, or the task, waits for a person. No thread and no process waits with it: a run that is continued asks
    /// the layer again.
    Park(String),
}

/// How a layer ended: a [`Next`] that no longer waits for its outcome.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LayerEnd {
    Continue(Handed),
    Answer(Value),
    Refuse(Reason),
    Park(String),
}

/// What the runner records of a layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LayerResult {
    pub(crate) decisions: Vec<Decision>,
    pub(crate) delta: Map<String, Value>,
    pub(crate) refs: Vec<String>,
    pub(crate) exit: LayerEnd,
    pub(crate) timing_ms: u64,
}

/// The rest of a slow layer. The runner calls it on a thread of its own and continues when it returns, or counts the
/// layer as refused at the deadline.
#[derive(Clone)]
pub(crate) struct SlowWork(Arc<dyn Fn(&GiveUp) -> Outcome + Send + Sync>);

/// A slow layer to start, with the decisions so far.
#[derive(Debug)]
pub(crate) struct Unsettled {
    pub(crate) earlier: Outcome,
    pub(crate) work: SlowWork,
}

/// Is set when the answer of slow work is not needed. Work that holds a process ends it then.
#[derive(Debug, Clone, Default)]
pub(crate) struct GiveUp(Arc<AtomicBool>);

impl Outcome {
    pub(crate) fn decided(code: &str, reason: impl Into<String>) -> Self {
        Self::new().and(code, reason)
    }

    pub(crate) fn new() -> Self {
        let (decisions, delta, refs) = (Vec::new(), Map::new(), Vec::new());
        Self { decisions, delta, refs, took: None, next: Next::Continue(Handed::Nothing) }
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

    #[must_use]
    pub(crate) fn taking(self, took: Duration) -> Self {
        Self { took: Some(took), ..self }
    }

    /// The walk continues, and later steps get `handed`.
    #[must_use]
    pub(crate) fn giving(self, handed: Handed) -> Self {
        Self { next: Next::Continue(handed), ..self }
    }

    #[must_use]
    pub(crate) fn answer(self, answer: Value) -> Self {
        Self { next: Next::Answer(answer), ..self }
    }

    #[must_use]
    pub(crate) fn refuse(self, reason: impl Into<Reason>) -> Self {
        Self { next: Next::Refuse(reason.into()), ..self }
    }

    /// What was decided so far stays; `work` adds to it.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "no built-in layer is slow; layers in other processes are")
    )]
    #[must_use]
    pub(crate) fn wait(self, work: impl Fn(&GiveUp) -> Outcome + Send + Sync + 'static) -> Self {
        Self { next: Next::Await(SlowWork(Arc::new(work))), ..self }
    }

    #[cfg_attr(not(test), expect(dead_code, reason = "only layers of tests park; approvals will"))]
    #[must_use]
    pub(crate) fn park(self, reason: impl Into<String>) -> Self {
        Self { next: Next::Park(reason.into()), ..self }
    }

    /// Decisions and delta of `earlier` come first.
    pub(super) fn after(mut self, mut earlier: Outcome) -> Self {
        earlier.decisions.append(&mut self.decisions);
        earlier.refs.append(&mut self.refs);
        earlier.delta.append(&mut self.delta);
        Self {
            decisions: earlier.decisions,
            delta: earlier.delta,
            refs: earlier.refs,
            took: self.took.or(earlier.took),
            ..self
        }
    }

    /// The result, or the work that has to be waited for. `timing_ms` is how long the layer ran.
    pub(super) fn settle(self, timing_ms: u64) -> Result<LayerResult, Box<Unsettled>> {
        let Self { decisions, delta, refs, took, next } = self;
        let exit = match next {
            Next::Continue(handed) => LayerEnd::Continue(handed),
            Next::Answer(answer) => LayerEnd::Answer(answer),
            Next::Refuse(reason) => LayerEnd::Refuse(reason),
            Next::Park(reason) => LayerEnd::Park(reason),
            Next::Await(work) => {
                let next = Next::Continue(Handed::Nothing);
                let earlier = Outcome { decisions, delta, refs, took, next };
                return Err(Box::new(Unsettled { earlier, work }));
            }
        };
        let timing_ms = took.map_or(timing_ms, |took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        Ok(LayerResult { decisions, delta, refs, exit, timing_ms })
    }
}

impl LayerEnd {
    /// What was handed on, if the walk continues.
    pub(crate) fn handed(&self) -> Option<&Handed> {
        match self {
            LayerEnd::Continue(handed) => Some(handed),
            LayerEnd::Answer(_) | LayerEnd::Refuse(_) | LayerEnd::Park(_) => None,
        }
    }
}

impl SlowWork {
    pub(super) fn call(&self, give_up: &GiveUp) -> Outcome {
        (self.0)(give_up)
    }
}

impl GiveUp {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    #[cfg_attr(not(test), expect(dead_code, reason = "for slow work, which only tests have so far"))]
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl PartialEq for SlowWork {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for SlowWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlowWork")
    }
}

#[cfg(test)]
mod tests;
