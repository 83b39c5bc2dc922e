//! The OL-AO bridge: what two agent command lines exchange, as envelopes and as files.

use crate::shape::words;

pub mod candidate;
pub mod constraint;
pub mod council;
pub mod dispatch;
pub mod envelope;
pub mod frontmatter;
pub mod harvest;
pub mod learning;
mod markdown;
pub mod memrl;
pub mod pattern;
pub mod promise;
pub mod ratchet;
pub mod stage1;

/// The schema versions that are read; the highest is written.
pub const VERSIONS: std::ops::RangeInclusive<i64> = 1..=1;

words! {
    /// One of the two sides of the bridge.
    System {
        Ao = "ao",
        Ol = "ol",
    }
}

impl System {
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            System::Ao => System::Ol,
            System::Ol => System::Ao,
        }
    }
}

/// The kinds of document that [`validate`] judges.
pub const KINDS: [&str; 11] = [
    "bridge_envelope",
    "candidate",
    "council",
    "harvest_candidate",
    "learning",
    "memrl_policy",
    "pattern",
    "promise",
    "quarantine",
    "ratchet_chain",
    "stage1",
];

/// Validates a document of the bridge by the name of its kind; `None` for an unknown kind.
pub fn validate(kind: &str, bytes: &[u8], strict: bool) -> Option<crate::verdict::Verdict> {
    let verdict = match kind {
        "bridge_envelope" => envelope::validate(bytes, strict),
        "candidate" => candidate::validate(bytes, strict),
        "council" => council::validate(bytes, strict),
        "harvest_candidate" => harvest::validate(bytes, strict),
        "learning" => learning::validate(bytes, strict),
        "memrl_policy" => memrl::validate(bytes, strict),
        "pattern" => pattern::validate(bytes, strict),
        "promise" => promise::validate(bytes),
        "quarantine" => constraint::validate(bytes, strict),
        "ratchet_chain" => ratchet::validate(bytes, strict),
        "stage1" => stage1::validate(bytes, strict),
        _ => return None,
    };
    Some(verdict)
}

#[cfg(test)]
mod tests;
