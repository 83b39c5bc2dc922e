//! The stack a run walks: its layers as nodes, in the order of the file.

use std::time::Duration;

use contract::aocl::Layer;
use contract::aocl::stack::{self, Stack, StackReference, StackWalk};
use contract::domain::code::ErrorCode;
use ops::{Error, Result};
use serde_json::json;

use super::LAYERS;
use super::layer::{LayerSpec, Stage};

/// The stack that is walked where no other was selected.
pub(crate) const DEFAULT: &[u8] = include_bytes!("default.stack.json");

/// How long the runner waits for a slow layer whose stack sets no `timeout_ms`, and the longest that a stack may ask
/// for: a run must not wait for a lost answer for days.
const LAYER_TIMEOUT_DEFAULT: Duration = Duration::from_mins(1);
const LAYER_TIMEOUT_MAX: Duration = Duration::from_hours(1);

/// One layer of a stack.
#[derive(Debug, Clone)]
pub(crate) struct LayerNode {
    /// Its name in traces, which the stack file chooses.
    pub(crate) id: String,
    pub(crate) spec: LayerSpec,
}

/// A stack that can be walked: everything the engine needs is there, in an order it can follow.
#[derive(Debug, Clone)]
pub(crate) struct LayerStack {
    pub(crate) id: String,
    /// How long a slow layer may take.
    pub(crate) timeout: Duration,
    pub(crate) nodes: Vec<LayerNode>,
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
        let mut nodes: Vec<LayerNode> = Vec::new();
        match &stack.walk {
            StackWalk::Pipeline(steps) => {
                for step in steps.iter().filter(|step| step.enabled) {
                    nodes.push(node(&step.id, step.reference, &nodes)?);
                }
            }
            // Edges and conditions are walked here once they are supported, and bypasses with them.
            StackWalk::Dag { .. } => return Err(refused("the mode `dag` is not supported yet")),
        }
        let has = |layer: Layer| nodes.iter().any(|node| node.spec.layer == layer);
        if let Some(missing) = LAYERS.iter().find(|spec| spec.is_required && !has(spec.layer)) {
            return Err(refused(&format!("{} is missing or not enabled", missing.layer)));
        }
        let asked = stack.defaults.timeout_ms.map(Duration::from_millis);
        let timeout = asked.unwrap_or(LAYER_TIMEOUT_DEFAULT).min(LAYER_TIMEOUT_MAX);
        Ok(Self { id: stack.stack_id.clone(), timeout, nodes })
    }

    /// The layers of a stage, in their order.
    pub(crate) fn of(&self, stage: Stage) -> impl DoubleEndedIterator<Item = &LayerNode> {
        self.nodes.iter().filter(move |node| node.spec.stage == stage)
    }

    /// The name of a layer that every stack has.
    pub(crate) fn id_of(&self, required: Layer) -> &str {
        let node = self.nodes.iter().find(|node| node.spec.layer == required);
        &node.expect("BUG: a stack without a required layer is refused").id
    }
}

/// The next node after `above`. Layers before the tasks may come in any order; the others have theirs, and run once.
fn node(id: &str, reference: StackReference, above: &[LayerNode]) -> Result<LayerNode> {
    let layer = match reference {
        StackReference::Layer(layer) => layer,
        StackReference::AlertFast | StackReference::Restricted => {
            return Err(refused(&format!("the branch `{id}` is not supported yet")));
        }
    };
    let spec = LAYERS.iter().find(|spec| spec.layer == layer).copied();
    let spec = spec.ok_or_else(|| refused(&format!("`{id}`: {layer} is not built in")))?;
    if spec.stage != Stage::Enter && above.iter().any(|node| node.spec.layer == layer) {
        return Err(refused(&format!("`{id}` runs {layer} a second time")));
    }
    if above.last().is_some_and(|last| rank(&last.spec) > rank(&spec)) {
        return Err(refused(&format!("`{id}` comes too late: {layer} runs before the layers above it")));
    }
    Ok(LayerNode { id: id.to_owned(), spec })
}

/// The place of a layer in the walk.
fn rank(spec: &LayerSpec) -> usize {
    match spec.stage {
        Stage::Enter => 0,
        Stage::Start | Stage::End | Stage::Leave => spec.layer.order(),
    }
}

fn refused(reason: &str) -> Error {
    Error::new(ErrorCode::InvalidInput, format!("the stack cannot be walked: {reason}"))
}

#[cfg(test)]
mod tests;
