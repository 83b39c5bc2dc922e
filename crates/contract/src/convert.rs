//! Converts a document of one contract to another. Values that cannot be converted are listed, never dropped silently.

mod from_aop;
mod from_operator;
mod source;
mod stage1;

pub use source::LostValue;

use serde_json::{Value, json};

use crate::domain::time::Timestamp;
use crate::finding::{Finding, Findings};
use crate::validate::{self, Kind, ValidateOptions};
use crate::verdict::Verdict;
use source::ConvertSource;

/// What a conversion needs to know beyond the document.
#[derive(Debug, Clone, Copy)]
pub struct ConvertContext<'a> {
    /// The time of the result, if the document has none.
    pub now: Timestamp,
    /// The workspace.
    pub root: Option<&'a str>,
}

/// A document in its new form.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    pub from: Kind,
    pub to: Kind,
    pub document: Value,
    pub lost: Vec<LostValue>,
}

/// Which messages of a kind a conversion accepts, and the function that converts them.
type Conversion = fn(&mut ConvertSource<'_>, &ConvertContext) -> Value;

/// Converts a document, or returns the verdict that says why not: the document is invalid, there is no conversion
/// to the requested kind, or the result is invalid.
pub fn convert(bytes: &[u8], to: Kind, context: &ConvertContext) -> Result<Converted, Box<Verdict>> {
    let options = ValidateOptions { root: context.root, ..ValidateOptions::default() };
    let Some(from) = validate::detect(bytes) else {
        return Err(Box::new(validate::validate(None, bytes, &options)));
    };
    let verdict = validate::validate(Some(from), bytes, &options);
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    let document = crate::json::strict::parse(bytes).unwrap_or_default();
    let Some(conversion) = conversion(from, to, &document) else {
        let message = format!("cannot convert {} to {to}", described(from, &document));
        return Err(refused(to, "no_conversion", message));
    };
    let mut source = ConvertSource::new(&document);
    let made = conversion(&mut source, context);
    let verdict = validate::validate(Some(to), made.to_string().as_bytes(), &options);
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    Ok(Converted { from, to, document: made, lost: source.lost() })
}

impl Converted {
    /// The answer as a verdict, with `details.lost`.
    pub fn verdict(&self) -> Verdict {
        let reason = format!("{} written as {}", self.from, self.to);
        let mut verdict = Verdict::allowed(self.to.as_str(), reason, Findings::default());
        verdict.details.more.insert("from".to_owned(), self.from.as_str().into());
        verdict.details.more.insert("lost".to_owned(), json!(self.lost));
        verdict
    }
}

fn conversion(from: Kind, to: Kind, document: &Value) -> Option<Conversion> {
    match (from, document["message_type"].as_str(), to) {
        (Kind::Assignment, _, Kind::Aop) => Some(from_operator::task),
        (Kind::Result, _, Kind::Aop) => Some(from_operator::response),
        (Kind::Aop, Some("TASK"), Kind::Assignment) => Some(from_aop::assignment),
        (Kind::Aop, Some("RESPONSE"), Kind::Result) => Some(from_aop::result),
        (Kind::Aop, Some("TASK"), Kind::Aee) => Some(from_aop::aee_task),
        (Kind::Aop, Some("EVENT"), Kind::Aee) => Some(from_aop::aee_event),
        (Kind::Stage1, _, Kind::Bridge) => Some(stage1::envelope),
        (Kind::Bridge, _, Kind::Stage1) if document["operation"] == crate::bridge::stage1::OPERATION => {
            Some(stage1::result)
        }
        _ => None,
    }
}

fn described(from: Kind, document: &Value) -> String {
    match document["message_type"].as_str().filter(|_| from == Kind::Aop) {
        Some(message) => format!("an AOP {message}"),
        None => from.to_string(),
    }
}

fn refused(kind: Kind, rule: &'static str, message: String) -> Box<Verdict> {
    let primary = Finding { path: "$".to_owned(), rule, message };
    let findings = Findings::from_iter([primary.clone()]);
    Box::new(Verdict::denied(kind.as_str(), "SCHEMA_INVALID", &primary, findings, Findings::default()))
}

#[cfg(test)]
mod tests;
