//! The options of a question.

use serde_json::Value;

use crate::domain::scope::Links;
use crate::domain::time::Timestamp;
use crate::operator::Tripwire;
use crate::validate::ValidateOptions;

/// The options of a question, owned.
#[derive(Debug, Default)]
pub(super) struct OwnedOptions {
    strict: bool,
    fold: bool,
    allow_stale: bool,
    root: Option<String>,
    links: Option<Links>,
    now: Option<Timestamp>,
    outcome: Option<String>,
    assignment: Option<String>,
    prior: Option<String>,
    tripwire: Tripwire,
    check_locks: Option<bool>,
}

impl OwnedOptions {
    /// Reads the options. Returns the name of an unknown one, which could make a case pass for the wrong reason.
    pub(super) fn read(options: &Value) -> Result<Self, String> {
        let mut given = OwnedOptions::default();
        for (name, value) in options.as_object().into_iter().flatten() {
            given.set(name, value).ok_or_else(|| name.clone())?;
        }
        Ok(given)
    }

    fn set(&mut self, name: &str, value: &Value) -> Option<()> {
        let text = || value.as_str().map(str::to_owned);
        match name {
            "strict" => self.strict = value.as_bool()?,
            "fold" => self.fold = value.as_bool()?,
            "check_locks" => self.check_locks = Some(value.as_bool()?),
            "allow_stale" => self.allow_stale = value.as_bool()?,
            "root" => self.root = Some(text()?),
            "links" => self.links = Some(serde_json::from_value(value.clone()).ok()?),
            "now" => self.now = Some(Timestamp::parse_utc(value.as_str()?)?),
            "outcome" => self.outcome = Some(text()?),
            "prior" => self.prior = Some(text()?),
            "assignment" => self.assignment = Some(text()?),
            "tripwire" => self.tripwire = Tripwire::parse(value.as_str()?)?,
            _ => return None,
        }
        Some(())
    }

    pub(super) fn options(&self) -> ValidateOptions<'_> {
        ValidateOptions {
            strict: self.strict,
            root: self.root.as_deref(),
            links: self.links.as_ref(),
            fold: self.fold,
            now: self.now,
            outcome: self.outcome.as_deref(),
            assignment: self.assignment.as_deref().map(str::as_bytes),
            prior: self.prior.as_deref().map(str::as_bytes),
            tripwire: self.tripwire,
            allow_stale: self.allow_stale,
            check_locks: self.check_locks,
            executors: &[],
        }
    }
}
