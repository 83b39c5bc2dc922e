//! The caller's identity, and the key by which a retry is recognized.

use super::limits;

/// The identity a caller acts under: trimmed, lower case, bounded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Agent(String);

/// The caller's key for one logical write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct RequestId(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be 1 to {max} bytes without control characters")]
pub struct InvalidName {
    what: &'static str,
    max: usize,
}

impl Agent {
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let text = text.trim().to_lowercase();
        bounded(&text, "the agent name", limits::AGENT_BYTES_MAX)?;
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RequestId {
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        bounded(text, "the request id", limits::REQUEST_ID_BYTES_MAX)?;
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn bounded(text: &str, what: &'static str, max: usize) -> Result<(), InvalidName> {
    let fits = !text.trim().is_empty() && text.len() <= max && !text.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(InvalidName { what, max }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_lowered_and_bounded() {
        assert_eq!(Agent::parse(" Claude-A1 ").unwrap().as_str(), "claude-a1");
        assert!(Agent::parse(&"a".repeat(128)).is_ok());
        assert!(RequestId::parse(&"a".repeat(256)).is_ok());
        for refused in ["", " ", "a\nb", &"a".repeat(257)] {
            assert!(Agent::parse(refused).is_err(), "{refused:?}");
            assert!(RequestId::parse(refused).is_err(), "{refused:?}");
        }
    }
}
