//! The stack a run walks: its layers in the order of the file, each with its function.

use std::time::Duration;

use contract::aocl::Layer;
use contract::aocl::payload::{RunSummary, Verification};
use contract::aocl::stack::{self, Reference, Stack, Walk};
use contract::domain::code::ErrorCode;
use ops::{Error, Result};
use serde_json::json;

use super::l5_context::ContextFacts;
use super::l6_shape::{ShapeFacts, Shaped};
use super::l7_delegate::DelegateFacts;
use super::l8_verify::{Verdict, VerifyFacts};
use super::l9_assemble::{FinalAnswer, RespondFacts};
use super::l10_audit::AuditFacts;
use super::{
    Outcome, RunFacts, l0_normalize, l1_identity, l2_route, l3_policy, l4_plan, l5_context, l6_shape,
    l7_delegate, l8_verify, l9_assemble, l10_audit,
};

/// The stack that is walked where no other was selected.
pub(crate) const DEFAULT: &[u8] = include_bytes!("default.stack.json");

/// How long the runner waits for a slow layer whose stack sets no `timeout_ms`, and the longest that a stack may ask
/// for: a run must not wait for a lost answer for days.
const LAYER_TIMEOUT_DEFAULT: Duration = Duration::from_mins(1);
const LAYER_TIMEOUT_MAX: Duration = Duration::from_hours(1);

type EntryFn = fn(&RunFacts<'_>) -> Outcome;
type ContextFn = fn(&ContextFacts<'_>) -> Outcome<String>;
type ShapeFn = fn(&ShapeFacts<'_>) -> Outcome<Shaped>;
type DelegateFn = fn(&DelegateFacts<'_>) -> Outcome;
type VerifyFn = fn(&VerifyFacts<'_>) -> Outcome<(Verdict, Verification)>;
type RespondFn = fn(&RespondFacts<'_>) -> Outcome<FinalAnswer>;
type AuditFn = fn(&AuditFacts<'_>) -> Outcome<RunSummary>;

/// A layer's function, by where in the walk it is called. In the order of the walk.
enum Function {
    /// Once for the run, before its tasks.
    Entry(EntryFn),
    /// For each attempt of a task, before its executor starts.
    Context(ContextFn),
    Shape(ShapeFn),
    /// For each attempt, after its executor and its checks have ended.
    Delegate(DelegateFn),
    Verify(VerifyFn),
    /// Once for the run, after its tasks.
    Respond(RespondFn),
    Audit(AuditFn),
}

/// The one table of layers. A new layer is a file, a line here and a line in a stack file.
fn function(layer: Layer) -> Function {
    match layer {
        Layer::Normalize => Function::Entry(l0_normalize::run),
        Layer::Identity => Function::Entry(l1_identity::run),
        Layer::Route => Function::Entry(l2_route::run),
        Layer::Policy => Function::Entry(l3_policy::run),
        Layer::Plan => Function::Entry(l4_plan::run),
        Layer::Context => Function::Context(l5_context::run),
        Layer::Shape => Function::Shape(l6_shape::run),
        Layer::Delegate => Function::Delegate(l7_delegate::run),
        Layer::Verify => Function::Verify(l8_verify::run),
        Layer::Respond => Function::Respond(l9_assemble::run),
        Layer::Audit => Function::Audit(l10_audit::run),
    }
}

/// One layer of a stack.
#[derive(Debug, Clone)]
pub(crate) struct Member<F> {
    /// Its name in traces, which the stack file chooses.
    pub(crate) id: String,
    pub(crate) layer: Layer,
    pub(crate) run: F,
}

/// A stack that can be walked: everything the engine needs is there, in an order it can follow.
#[derive(Debug, Clone)]
pub(crate) struct LayerStack {
    pub(crate) id: String,
    /// How long a slow layer may take.
    pub(crate) timeout: Duration,
    pub(crate) entry: Vec<Member<EntryFn>>,
    pub(crate) context: Option<Member<ContextFn>>,
    pub(crate) shape: Member<ShapeFn>,
    pub(crate) delegate: Member<DelegateFn>,
    pub(crate) verify: Member<VerifyFn>,
    pub(crate) respond: Member<RespondFn>,
    pub(crate) audit: Option<Member<AuditFn>>,
}

impl LayerStack {
    /// Reads a stack file. Refuses one that is not valid, or that this engine cannot walk.
    pub(crate) fn parse(file: &[u8]) -> Result<Self> {
        let stack = stack::parse(file).map_err(|verdict| {
            let details = json!({"code": verdict.code, "findings": verdict.details.findings});
            Error::new(ErrorCode::InvalidInput, format!("the stack is not valid: {}", verdict.reason))
                .details(details)
        })?;
        Self::select(&stack)
    }

    pub(crate) fn select(stack: &Stack) -> Result<Self> {
        let mut slots = Slots::default();
        match &stack.walk {
            Walk::Pipeline(steps) => {
                for step in steps.iter().filter(|step| step.enabled) {
                    slots.add(&step.id, step.reference)?;
                }
            }
            // Edges and conditions are walked here once the control issue brings them, and bypasses with them.
            Walk::Dag { .. } => return Err(refused("the mode `dag` is not supported yet")),
        }
        let asked = stack.defaults.timeout_ms.map(Duration::from_millis);
        Ok(Self {
            id: stack.stack_id.clone(),
            timeout: asked.unwrap_or(LAYER_TIMEOUT_DEFAULT).min(LAYER_TIMEOUT_MAX),
            entry: slots.entry,
            context: slots.context,
            shape: required(slots.shape, Layer::Shape)?,
            delegate: required(slots.delegate, Layer::Delegate)?,
            verify: required(slots.verify, Layer::Verify)?,
            respond: required(slots.respond, Layer::Respond)?,
            audit: slots.audit,
        })
    }
}

/// A stack while it is read.
#[derive(Default)]
struct Slots {
    entry: Vec<Member<EntryFn>>,
    context: Option<Member<ContextFn>>,
    shape: Option<Member<ShapeFn>>,
    delegate: Option<Member<DelegateFn>>,
    verify: Option<Member<VerifyFn>>,
    respond: Option<Member<RespondFn>>,
    audit: Option<Member<AuditFn>>,
    /// The place of the last layer in the walk.
    place: usize,
}

impl Slots {
    fn add(&mut self, id: &str, reference: Reference) -> Result<()> {
        let layer = match reference {
            Reference::Layer(layer) => layer,
            Reference::AlertFast | Reference::Restricted => {
                return Err(refused(&format!("the branch `{id}` is not supported yet")));
            }
        };
        let place = match function(layer) {
            Function::Entry(run) => {
                self.entry.push(member(id, layer, run));
                0
            }
            Function::Context(run) => fill(&mut self.context, member(id, layer, run), 1)?,
            Function::Shape(run) => fill(&mut self.shape, member(id, layer, run), 2)?,
            Function::Delegate(run) => fill(&mut self.delegate, member(id, layer, run), 3)?,
            Function::Verify(run) => fill(&mut self.verify, member(id, layer, run), 4)?,
            Function::Respond(run) => fill(&mut self.respond, member(id, layer, run), 5)?,
            Function::Audit(run) => fill(&mut self.audit, member(id, layer, run), 6)?,
        };
        if place < self.place {
            return Err(refused(&format!("`{id}` comes too late: {layer} runs before the layers above it")));
        }
        self.place = place;
        Ok(())
    }
}

fn member<F>(id: &str, layer: Layer, run: F) -> Member<F> {
    Member { id: id.to_owned(), layer, run }
}

fn fill<F>(slot: &mut Option<Member<F>>, member: Member<F>, place: usize) -> Result<usize> {
    if slot.is_some() {
        return Err(refused(&format!("`{}` runs {} a second time", member.id, member.layer)));
    }
    *slot = Some(member);
    Ok(place)
}

fn required<F>(slot: Option<Member<F>>, layer: Layer) -> Result<Member<F>> {
    slot.ok_or_else(|| refused(&format!("{layer} is missing or not enabled")))
}

fn refused(reason: &str) -> Error {
    Error::new(ErrorCode::InvalidInput, format!("the stack cannot be walked: {reason}"))
}

#[cfg(test)]
mod tests;
