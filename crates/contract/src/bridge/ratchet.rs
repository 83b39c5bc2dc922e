//! The ratchet chain `.agents/ao/chain.jsonl`: which steps of a work item are locked in.

mod line;

use crate::aee::judge;
use crate::bridge::learning::text_of;
use crate::finding::Findings;
use crate::json::Value;
use crate::verdict::Verdict;

const KIND: &str = "ratchet_chain";

/// The steps, in the order in which they are locked.
pub const STEPS: [&str; 7] = ["research", "pre-mortem", "plan", "implement", "crank", "vibe", "post-mortem"];

/// The step with this name, if there is one.
pub fn step(word: &str) -> Option<&'static str> {
    let word = word.trim().to_ascii_lowercase();
    let known = match word.as_str() {
        "premortem" | "pre_mortem" => "pre-mortem",
        "postmortem" | "post_mortem" | "review" => "post-mortem",
        "formulate" => "plan",
        "autopilot" | "execute" => "crank",
        "validate" | "validation" => "vibe",
        "discovery" => "research",
        "promotion" => return Some("promotion"),
        other => return STEPS.into_iter().find(|step| *step == other),
    };
    Some(known)
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RatchetChain {
    pub id: Option<String>,
    pub started: Option<String>,
    pub epic_id: Option<String>,
    pub entries: Vec<RatchetEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatchetEntry {
    /// A known step, or the word itself.
    pub step: String,
    pub state: RatchetState,
    pub at: Option<String>,
    pub output: Option<String>,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatchetState {
    InProgress,
    Locked,
    Skipped,
}

impl RatchetChain {
    /// The state of a step; `None` if it has no entry. The latest entry counts.
    pub fn state(&self, step: &str) -> Option<RatchetState> {
        self.entries.iter().rev().find(|entry| entry.step == step).map(|entry| entry.state)
    }

    /// The first step that is neither locked nor skipped.
    pub fn next_step(&self) -> Option<&'static str> {
        let is_settled =
            |step: &str| matches!(self.state(step), Some(RatchetState::Locked | RatchetState::Skipped));
        STEPS.into_iter().find(|step| !is_settled(step))
    }
}

/// Reads a chain. Lines that are not entries are left out, as AO does, and reported as warnings; a first line
/// that is not JSON makes the file unreadable.
pub fn parse(bytes: &[u8]) -> Result<(RatchetChain, Findings), Box<Verdict>> {
    let text = text_of(KIND, bytes)?;
    let mut chain = RatchetChain::default();
    let mut warnings = Findings::default();
    for (index, raw) in text.lines().enumerate().filter(|(_, raw)| !raw.trim().is_empty()) {
        let place = format!("$[{index}]");
        let object = match judge::read_object(KIND, raw.as_bytes()) {
            Ok(object) => object,
            Err(refused) if index == 0 => return Err(refused),
            Err(refused) => {
                warnings.push(place, "skipped_line", refused.reason);
                continue;
            }
        };
        match line::read(&object) {
            // AO treats the first line as metadata even if it is an entry, and so loses the entry; we do not.
            line::RatchetLine::Meta { id, started, epic_id } if index == 0 => {
                (chain.id, chain.started, chain.epic_id) = (id, started, epic_id);
            }
            line::RatchetLine::Entry(entry) => {
                if step(&entry.step).is_none() {
                    warnings.push(
                        format!("{place}.step"),
                        "unknown_step",
                        format!("`{}` is not a known step", entry.step),
                    );
                }
                chain.entries.push(entry);
            }
            line::RatchetLine::Meta { .. } | line::RatchetLine::Other => {
                warnings.push(place, "skipped_line", "is neither metadata nor an entry");
            }
        }
    }
    Ok((chain, warnings))
}

/// Validates a chain. Strict: every line must be an entry.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    let (chain, found) = match parse(bytes) {
        Ok(read) => read,
        Err(refused) => return *refused,
    };
    let (findings, warnings) =
        if strict { (found, Findings::default()) } else { (Findings::default(), found) };
    let mut verdict = judge::rule(KIND, "chain valid", findings, warnings);
    verdict.details.more.insert("entries".to_owned(), Value::from(chain.entries.len()));
    verdict
}

/// One line as AO writes it.
pub fn entry_line(entry: &RatchetEntry) -> String {
    let mut object = crate::json::json!({
        "step": entry.step,
        "timestamp": entry.at.as_deref().unwrap_or_default(),
        "output": entry.output.as_deref().unwrap_or_default(),
        "locked": entry.state == RatchetState::Locked,
    });
    if entry.state == RatchetState::Skipped {
        object["skipped"] = Value::Bool(true);
    }
    if let Some(reason) = &entry.reason {
        object["reason"] = Value::from(reason.as_str());
    }
    format!("{object}\n")
}

#[cfg(test)]
mod tests;
