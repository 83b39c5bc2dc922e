//! The only error that leaves the product. What a failure means to the caller is decided here.

use contract::domain::code::ErrorCode;
use contract::domain::failure_code::FailureCode;
use contract::domain::task::Refusal;
use contract::finding::{Finding, Findings};
use contract::intake::Refused;
use contract::secrets::{find_in, scrub, scrub_value};
use serde_json::{Value, json};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Option<String>,
    /// The field of the request that is at fault; the message then begins with its name. A door may write it as its
    /// callers know it, such as the command line's `--title`.
    pub field: Option<&'static str>,
    /// Facts for programs: ids, limits, findings.
    pub details: Value,
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A message may quote what the caller wrote. A secret in it is not repeated, nor one in hint and details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: clean(message.into()),
            hint: None,
            field: None,
            details: Value::Null,
            source: None,
        }
    }

    /// A field of the request is wrong: the message is the field's name and `problem`.
    pub fn field(code: ErrorCode, field: &'static str, problem: &str) -> Self {
        Self { field: Some(field), ..Self::new(code, format!("{field} {problem}")) }
    }

    /// A field of the request is missing or empty.
    pub fn required(field: &'static str) -> Self {
        Self::field(ErrorCode::InvalidInput, field, "is required")
    }

    /// The message, with the field at fault written as `shown`.
    pub fn message_naming(&self, shown: &str) -> String {
        let rest = self.field.and_then(|field| self.message.strip_prefix(field));
        rest.map_or_else(|| self.message.clone(), |rest| format!("{shown}{rest}"))
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(clean(hint.into()));
        self
    }

    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = scrub_value(details);
        self
    }

    pub fn not_found(what: &str, id: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("{what} not found: {id}")).details(json!({what: id}))
    }

    /// The same error, if it is about a secret, with the place in the request where the caller wrote it.
    #[must_use]
    pub(crate) fn placed_in(self, request: &impl serde::Serialize) -> Self {
        if self.details.get("secret").is_none() {
            return self;
        }
        let found = serde_json::to_value(request).ok().and_then(|request| find_in(&request));
        let Some(found) = found else { return self };
        let message = format!("`{}` contains a secret ({})", found.path, found.rule);
        Self { message, details: json!({"path": found.path, "secret": found.rule}), ..self }
    }

    /// Every finding of a document, the first in the message and all in the details.
    pub fn invalid(what: &str, findings: Findings) -> Self {
        let omitted = findings.omitted;
        // A finding may quote the document, and the quoted part may be a secret in the wrong place.
        let list: Vec<Finding> = findings.sorted().iter().map(scrubbed).collect();
        let code = match list.first().map(|finding| finding.rule) {
            Some("too_large") => ErrorCode::TooLarge,
            _ => ErrorCode::InvalidInput,
        };
        let message = match list.as_slice() {
            [] => format!("the {what} is not valid"),
            [only] => format!("the {what} is not valid: {only}"),
            [first, rest @ ..] => {
                format!("the {what} is not valid: {first} (and {} more)", rest.len() + omitted)
            }
        };
        Self::new(code, message).details(json!({"findings": list, "omitted": omitted}))
    }

    /// The same for a submitted document, with the code of AOP where it has one.
    pub fn refused(what: &str, refused: Refused) -> Self {
        let mut error = Self::invalid(what, refused.findings);
        if let Some(code) = refused.code {
            error.details["aop_code"] = json!(code);
            if !error.message.contains(code.as_str()) {
                error.message =
                    error.message.replacen(" is not valid", &format!(" is not valid ({code})"), 1);
            }
        }
        error
    }

    /// A refusal of what a TASK asks for, with its code of AOP.
    pub fn aop(code: ErrorCode, aop_code: FailureCode, message: &str) -> Self {
        Self::new(code, format!("{aop_code}: {message}")).details(json!({"aop_code": aop_code}))
    }
}

fn clean(text: String) -> String {
    match scrub(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(clean) => clean,
    }
}

fn scrubbed(finding: &Finding) -> Finding {
    Finding {
        path: scrub(&finding.path).into_owned(),
        rule: finding.rule,
        message: scrub(&finding.message).into_owned(),
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let hint = error.hint().map(str::to_owned);
        let details = match &error {
            store::Error::Replaced { path, written, .. } => json!({"path": path, "written": written}),
            store::Error::Secret(found) => json!({"path": found.path, "secret": found.rule}),
            _ => Value::Null,
        };
        Self {
            code: error.code(),
            message: clean(error.to_string()),
            hint,
            field: None,
            details,
            source: std::error::Error::source(&error).map(|source| source.to_string().into()),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.code,
            message: clean(refusal.message),
            hint: refusal.hint.map(clean),
            field: None,
            details: scrub_value(refusal.details),
            source: None,
        }
    }
}
