//! What a layer returns: decisions, a delta to the context, references, and how the walk goes on.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::aocl::payload::Decision;
use contract::json::{Map, Value};
use serde::Serialize;

/// Everything one layer returns. `P` is what later steps use beside the context, such as a task's brief.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome<P = ()> {
    pub(crate) decisions: Vec<Decision>,
    /// C-paths and their new values.
    pub(crate) delta: Map<String, Value>,
    pub(crate) refs: Vec<String>,
    pub(crate) next: Next<P>,
}

/// How the walk goes on after a layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next<P> {
    Continue(P),
    /// The run is answered with this; no executor is needed.
    Answer(Value),
    /// The run, or the task a task's layer ran for, ends with this reason.
    Refuse(String),
    /// The outcome comes later.
    Await(SlowWork<P>),
}

/// How a layer ended: a [`Next`] that no longer waits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exit<P> {
    Continue(P),
    Answer(Value),
    Refuse(String),
}

/// What the runner records of a layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LayerResult<P> {
    pub(crate) decisions: Vec<Decision>,
    pub(crate) delta: Map<String, Value>,
    pub(crate) refs: Vec<String>,
    pub(crate) exit: Exit<P>,
    pub(crate) timing_ms: u64,
}

/// The rest of a slow layer. The runner calls it on a thread of its own and continues when it returns, or counts the
/// layer as refused at the deadline.
pub(crate) struct SlowWork<P>(Arc<dyn Fn(&GiveUp) -> Outcome<P> + Send + Sync>);

/// Tells slow work that nobody waits for it any more. Work that holds a process ends it then.
#[derive(Debug, Clone, Default)]
pub(crate) struct GiveUp(Arc<AtomicBool>);

impl Outcome {
    pub(crate) fn decided(code: &str, reason: impl Into<String>) -> Self {
        Self::new().and(code, reason)
    }

    pub(crate) fn new() -> Self {
        Self { decisions: Vec::new(), delta: Map::new(), refs: Vec::new(), next: Next::Continue(()) }
    }
}

impl<P> Outcome<P> {
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

    /// The walk continues, and later steps get `product`.
    pub(crate) fn giving<Q>(self, product: Q) -> Outcome<Q> {
        self.then(Next::Continue(product))
    }

    pub(crate) fn answer<Q>(self, answer: Value) -> Outcome<Q> {
        self.then(Next::Answer(answer))
    }

    pub(crate) fn refuse<Q>(self, reason: impl Into<String>) -> Outcome<Q> {
        self.then(Next::Refuse(reason.into()))
    }

    /// What was decided so far stays; `work` adds to it.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "no built-in layer is slow; layers in other processes are")
    )]
    pub(crate) fn wait<Q>(self, work: impl Fn(&GiveUp) -> Outcome<Q> + Send + Sync + 'static) -> Outcome<Q> {
        self.then(Next::Await(SlowWork(Arc::new(work))))
    }

    fn then<Q>(self, next: Next<Q>) -> Outcome<Q> {
        Outcome { decisions: self.decisions, delta: self.delta, refs: self.refs, next }
    }

    /// Decisions and delta of `earlier` come first.
    pub(super) fn after<Q>(mut self, mut earlier: Outcome<Q>) -> Self {
        earlier.decisions.append(&mut self.decisions);
        earlier.refs.append(&mut self.refs);
        earlier.delta.append(&mut self.delta);
        Self { decisions: earlier.decisions, delta: earlier.delta, refs: earlier.refs, next: self.next }
    }

    /// The result, or the work that has to be waited for with what was decided before it.
    pub(super) fn settle(self, timing_ms: u64) -> Result<LayerResult<P>, (Outcome, SlowWork<P>)> {
        let exit = match self.next {
            Next::Continue(product) => Exit::Continue(product),
            Next::Answer(answer) => Exit::Answer(answer),
            Next::Refuse(reason) => Exit::Refuse(reason),
            Next::Await(work) => {
                let next = Next::Continue(());
                let earlier = Outcome { decisions: self.decisions, delta: self.delta, refs: self.refs, next };
                return Err((earlier, work));
            }
        };
        let Self { decisions, delta, refs, .. } = self;
        Ok(LayerResult { decisions, delta, refs, exit, timing_ms })
    }
}

impl<P> Exit<P> {
    /// The product, or why a task ends here. A layer of a task cannot answer the run.
    pub(crate) fn for_task(self) -> Result<P, String> {
        match self {
            Exit::Continue(product) => Ok(product),
            Exit::Refuse(reason) => Err(reason),
            Exit::Answer(_) => Err("a layer of a task tried to answer the run".to_owned()),
        }
    }

    /// The product, if the walk continues.
    pub(crate) fn product(&self) -> Option<&P> {
        match self {
            Exit::Continue(product) => Some(product),
            Exit::Answer(_) | Exit::Refuse(_) => None,
        }
    }
}

impl<P> SlowWork<P> {
    pub(super) fn call(&self, give_up: &GiveUp) -> Outcome<P> {
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

impl<P> Clone for SlowWork<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P> PartialEq for SlowWork<P> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<P> fmt::Debug for SlowWork<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlowWork")
    }
}

#[cfg(test)]
mod tests;
