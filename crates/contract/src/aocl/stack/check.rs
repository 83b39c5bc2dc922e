//! Validates a stack file: its shape, then whether a request can walk it safely.

mod shape;
mod walk;

use serde::{Deserialize, Serialize, Serializer};

use crate::aee::judge;
use crate::aocl::stack::{BypassPolicy, Defaults, Edge, Node, PolicyOverrides, Stack, StackStep, StackWalk};
use crate::finding::Findings;
use crate::json::Value;
use crate::verdict::Verdict;

pub(super) use shape::COUNT;
pub use shape::STACK;

const KIND: &str = "aocl_stack";

/// Validates one stack file. Strict: unknown fields are faults.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    match judge::read_object(KIND, bytes) {
        Ok(document) => look(&document, strict).0,
        Err(refused) => *refused,
    }
}

/// Reads one stack file, or gives the verdict that refuses it.
pub fn parse(bytes: &[u8]) -> Result<Stack, Box<Verdict>> {
    let document = judge::read_object(KIND, bytes)?;
    match look(&document, false) {
        (verdict, Some(stack)) if verdict.allow => Ok(stack),
        (verdict, _) => Err(Box::new(verdict)),
    }
}

fn look(document: &Value, strict: bool) -> (Verdict, Option<Stack>) {
    let mut findings = judge::check(&STACK, document, strict);
    let mut warnings = Findings::default();
    shape::check_mode(&mut findings, document);
    // An unreadable stack cannot be walked.
    let stack = if findings.is_empty() { read(document, &mut findings) } else { None };
    if let Some(stack) = &stack {
        walk::check(stack, &mut findings, &mut warnings);
    }
    (judge::rule(KIND, "stack valid", findings, warnings), stack)
}

/// A stack as a file has it.
#[derive(Serialize, Deserialize)]
struct File {
    stack_id: String,
    version: String,
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layers: Option<Vec<StackStep>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<Node>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edges: Option<Vec<Edge>>,
    #[serde(default)]
    defaults: Defaults,
    #[serde(default)]
    bypass_policy: BypassPolicy,
    #[serde(default)]
    policy_overrides: PolicyOverrides,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Pipeline,
    Dag,
}

/// The shape accepts `1.0` as a whole number, as JSON Schema does; here it is refused with a reason.
fn read(document: &Value, findings: &mut Findings) -> Option<Stack> {
    let file = match File::deserialize(document) {
        Ok(file) => file,
        Err(error) => {
            findings.push("$", "type", error.to_string());
            return None;
        }
    };
    Some(Stack {
        stack_id: file.stack_id,
        version: file.version,
        walk: match file.mode {
            Mode::Pipeline => StackWalk::Pipeline(file.layers.unwrap_or_default()),
            Mode::Dag => StackWalk::Dag {
                nodes: file.nodes.unwrap_or_default(),
                edges: file.edges.unwrap_or_default(),
            },
        },
        defaults: file.defaults,
        bypass_policy: file.bypass_policy,
        policy_overrides: file.policy_overrides,
    })
}

impl Serialize for Stack {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stack = self.clone();
        let (mode, layers, nodes, edges) = match stack.walk {
            StackWalk::Pipeline(layers) => (Mode::Pipeline, Some(layers), None, None),
            StackWalk::Dag { nodes, edges } => (Mode::Dag, None, Some(nodes), Some(edges)),
        };
        let file = File {
            stack_id: stack.stack_id,
            version: stack.version,
            mode,
            layers,
            nodes,
            edges,
            defaults: stack.defaults,
            bypass_policy: stack.bypass_policy,
            policy_overrides: stack.policy_overrides,
        };
        file.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
