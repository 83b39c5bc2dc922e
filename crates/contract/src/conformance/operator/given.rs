//! What a case gives beside its document.

use serde_json::Value;

use crate::conformance::Mismatch;
use crate::domain::scope::Links;
use crate::domain::time::Timestamp;
use crate::json::strict;
use crate::operator::ids::parse_utc;
use crate::operator::{Assignment, Options, Outcome, Tripwire, recall_assignment};

/// The options of a case, owned.
#[derive(Debug, Default)]
pub(super) struct Given {
    strict: bool,
    fold: bool,
    allow_stale: bool,
    root: Option<String>,
    links: Option<Links>,
    now: Option<Timestamp>,
    outcome: Option<Outcome>,
    assignment: Option<Assignment>,
    prior: Option<Vec<u8>>,
    tripwire: Tripwire,
}

impl Given {
    /// Reads the options. One that is not known would make a case pass for the wrong reason.
    pub(super) fn read(options: &Value) -> Result<Self, Mismatch> {
        let mut given = Given::default();
        for (name, value) in options.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            given
                .set(name, value)
                .ok_or_else(|| Mismatch(format!("cannot use the option `{name}`: {value}")))?;
        }
        Ok(given)
    }

    fn set(&mut self, name: &str, value: &Value) -> Option<()> {
        match name {
            "strict" => self.strict = value.as_bool()?,
            "fold" => self.fold = value.as_bool()?,
            "allow_stale" => self.allow_stale = value.as_bool()?,
            "root" => self.root = Some(value.as_str()?.to_owned()),
            "links" => self.links = Some(serde_json::from_value(value.clone()).ok()?),
            "now" => self.now = Some(parse_utc(value.as_str()?)?),
            "outcome" => self.outcome = Some(Outcome::parse(value.as_str()?)?),
            "prior" => {
                self.prior = Some(match value {
                    Value::String(raw) => raw.clone().into_bytes(),
                    entries => lines(entries.as_array()?),
                });
            }
            "tripwire" => {
                self.tripwire = match value.as_str()? {
                    "deny" => Tripwire::Deny,
                    "warn" => Tripwire::Warn,
                    "off" => Tripwire::Off,
                    _ => return None,
                }
            }
            "assignment" => self.assignment = Some(recall_assignment(value.to_string().as_bytes()).ok()?),
            _ => return None,
        }
        Some(())
    }

    pub(super) fn options(&self) -> Options<'_> {
        Options {
            strict: self.strict,
            root: self.root.as_deref(),
            links: self.links.as_ref(),
            fold: self.fold,
            now: self.now,
            outcome: self.outcome,
            assignment: self.assignment.as_ref(),
            prior: self.prior.as_deref(),
            tripwire: self.tripwire,
            allow_stale: self.allow_stale,
        }
    }

    /// The bytes of a worklog that is given as entries. Where it begins with the same entries as the prior
    /// state, it begins with the same bytes: spaces and the order of keys are no change.
    pub(super) fn worklog(&self, entries: &Value) -> Result<Vec<u8>, Mismatch> {
        let Some(entries) = entries.as_array() else {
            return Err(Mismatch("the input of a worklog is a list of entries".to_owned()));
        };
        let prior = self.prior.as_deref().unwrap_or_default();
        let kept: Option<Vec<Value>> = prior
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| strict::parse(line).ok())
            .collect();
        let rest =
            kept.filter(|_| prior.ends_with(b"\n")).and_then(|kept| entries.strip_prefix(kept.as_slice()));
        Ok(match rest {
            Some(rest) => [prior, &lines(rest)].concat(),
            None => lines(entries),
        })
    }
}

fn lines(entries: &[Value]) -> Vec<u8> {
    entries.iter().flat_map(|entry| format!("{entry}\n").into_bytes()).collect()
}
