//! Summarizes a bundle, or a run, for an agent that does not know it.

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::operator::handoff::{Handoff, brief as summarize};
use contract::operator::{Options, Tripwire, read_handoff};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::export;
use crate::context::Context;
use crate::crew::denial::denied;
use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

/// The program in the commands that a brief names.
const PROGRAM: &str = "writ";

pub struct Brief;

impl Verb for Brief {
    const NAME: &'static str = "handoff.brief";
    const COMMAND: &'static str = "handoff brief";
    const SUMMARY: &'static str = "Summarize a bundle or a run for a new agent";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| brief(cx, request));
}

/// Either a bundle or a run of this store.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The bundle.
    #[serde(default)]
    pub document: Option<Value>,
    /// A run of this store.
    #[serde(default)]
    pub run: Option<String>,
    /// The longest brief, in tokens.
    #[serde(default)]
    pub budget: Option<usize>,
    /// What happens to a text that looks like instructions.
    #[serde(default, skip_serializing_if = "super::is_deny")]
    pub tripwire: Tripwire,
    /// Refuse unknown fields without `x_`, and placeholders of a template.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub approx_tokens: usize,
    pub brief: String,
    pub budget_tokens: usize,
    /// Items that did not fit.
    pub omitted: usize,
}

/// A bundle that the validator refuses is not summarized.
pub fn brief(cx: &mut Context, request: &Request) -> Result<Answer> {
    let document = match (&request.document, &request.run) {
        (Some(document), None) => document.clone(),
        (None, Some(run)) => {
            let export = export::Request { run: run.clone(), allow_stale: true, tripwire: request.tripwire };
            export::export(cx, &export)?.document
        }
        (None, None) | (Some(_), Some(_)) => {
            return Err(Error::new(ErrorCode::InvalidInput, "either document or run is required, not both"));
        }
    };
    let options = Options {
        allow_stale: true,
        tripwire: request.tripwire,
        strict: request.strict,
        ..Options::default()
    };
    let read = read_handoff(document.to_string().as_bytes(), &options);
    let (handoff, _): (Handoff, _) = read.map_err(|refusal| denied(&refusal))?;
    let found = summarize(&handoff, PROGRAM, request.budget.unwrap_or(limits::BRIEF_TOKENS_DEFAULT));
    Ok(Answer {
        approx_tokens: found.approx_tokens,
        brief: found.text,
        budget_tokens: found.budget_tokens,
        omitted: found.omitted,
    })
}
