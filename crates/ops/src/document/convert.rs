//! Writes a document of one contract as another's.

use contract::convert::{ConvertContext as Conversion, Converted, convert};
use contract::domain::time::Timestamp;
use contract::validate::{Kind, could_not_work};
use contract::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Judgment;
use crate::verb::{Function, Surface, Verb};

pub struct Convert;

impl Verb for Convert {
    const NAME: &'static str = "document.convert";
    const COMMAND: &'static str = "convert";
    const SUMMARY: &'static str = "Convert a document to another contract, and list what was lost";
    const SURFACE: Surface = Surface::Validator;
    type Request = Request;
    type Answer = Judgment;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request: &Request| {
        let now = cx.now().at;
        Ok(judgment(&converted(request, request.document.as_bytes(), now)))
    });
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The document's text.
    pub document: String,
    /// The kind to write: assignment, result, aop, aee, stage1 or bridge.
    pub to: String,
    /// The workspace that paths are in.
    #[serde(default)]
    pub root: Option<String>,
    /// The time to write where the document has none; the time of the call where it is absent.
    #[serde(default)]
    pub now: Option<Timestamp>,
}

/// Converts these bytes with the options of the request, or returns the verdict that refuses them.
pub fn converted(request: &Request, document: &[u8], now: Timestamp) -> Result<Converted, Box<Verdict>> {
    let Some(to) = Kind::named(&request.to) else {
        return Err(Box::new(could_not_work(None, "usage", format!("there is no kind `{}`", request.to))));
    };
    let now = request.now.unwrap_or(now);
    convert(document, to, &Conversion { now, root: request.root.as_deref() })
}

/// The answer for both outcomes.
pub fn judgment(converted: &Result<Converted, Box<Verdict>>) -> Judgment {
    match converted {
        Ok(converted) => {
            let verdict = converted.verdict();
            Judgment { document: Some(converted.document.clone()), ..Judgment::from(&verdict) }
        }
        Err(verdict) => Judgment::from(&**verdict),
    }
}
