//! The OL-AO bridge: what two agent command lines hand each other, as envelopes and as files.

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

/// One of the two sides of the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    Ao,
    Ol,
}

impl System {
    pub fn as_str(self) -> &'static str {
        match self {
            System::Ao => "ao",
            System::Ol => "ol",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "ao" => Some(System::Ao),
            "ol" => Some(System::Ol),
            _ => None,
        }
    }

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            System::Ao => System::Ol,
            System::Ol => System::Ao,
        }
    }
}
