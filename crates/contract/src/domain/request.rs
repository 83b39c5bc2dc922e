//! The caller's identity, and the key by which a retry is recognized.

use super::limits;
use crate::secrets;

/// The identity a caller acts under: trimmed, lower case, bounded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Agent(String);

/// The caller's key for one logical write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct RequestId(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error("{what} must be 1 to {max} bytes without control characters")]
    Form { what: &'static str, max: usize },
    /// Names are stored as they are, so one with a secret in it is refused. The secret is not repeated.
    #[error("{what} contains a secret ({rule}); use one without it")]
    Secret { what: &'static str, rule: &'static str },
}

impl Agent {
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let name = text.trim().to_lowercase();
        bounded(&name, "the agent name", limits::AGENT_BYTES_MAX)?;
        // As it was written: some secrets are no longer recognized in lower case.
        without_secret(text, "the agent name")?;
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RequestId {
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        bounded(text, "the request id", limits::REQUEST_ID_BYTES_MAX)?;
        without_secret(text, "the request id")?;
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn bounded(text: &str, what: &'static str, max: usize) -> Result<(), InvalidName> {
    let fits = !text.trim().is_empty() && text.len() <= max && !text.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(InvalidName::Form { what, max }) }
}

fn without_secret(text: &str, what: &'static str) -> Result<(), InvalidName> {
    secrets::find(text).map_or(Ok(()), |rule| Err(InvalidName::Secret { what, rule }))
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

    #[test]
    fn a_name_with_a_secret_is_refused_and_not_repeated() {
        let secret = ["AKIA", "ABCDEFGHIJKLMNOP"].concat();
        for error in
            [Agent::parse(&secret).unwrap_err(), RequestId::parse(&format!("r {secret}")).unwrap_err()]
        {
            assert!(matches!(error, InvalidName::Secret { rule: "aws_access_key_id", .. }), "{error}");
            assert!(!error.to_string().contains(&secret), "{error}");
        }
    }
}
