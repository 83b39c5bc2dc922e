//! The token of a lock grant or an assignment: its fencing number, which only orders, and the proof that the store gave
//! it out.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest;

const PROOF_DIGITS: usize = 64;

/// `7-<64 hexadecimal digits>`. Without its proof it is only the number, `7`: what is stored, and what stores of earlier
/// versions gave out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LockToken {
    pub number: i64,
    proof: Option<[u8; PROOF_DIGITS]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token: expected a number, `-` and 64 hexadecimal digits")]
pub struct InvalidToken;

impl LockToken {
    /// The token with this proof, which must be 64 hexadecimal digits.
    pub fn proved(number: i64, proof: &str) -> Option<Self> {
        let is_hex = proof.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let proof = <[u8; PROOF_DIGITS]>::try_from(proof.as_bytes()).ok().filter(|_| is_hex)?;
        Some(Self { number, proof: Some(proof) })
    }

    pub fn proof(&self) -> Option<&str> {
        self.proof.as_ref().map(|proof| std::str::from_utf8(proof).expect("BUG: hexadecimal digits"))
    }

    /// What a bundle has in the place of the token.
    pub fn hash(&self) -> String {
        digest::of_bytes(self.to_string().as_bytes())
    }
}

/// A number without a proof.
impl From<i64> for LockToken {
    fn from(number: i64) -> Self {
        Self { number, proof: None }
    }
}

impl FromStr for LockToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        let (number, proof) =
            text.split_once('-').map_or((text, None), |(number, proof)| (number, Some(proof)));
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = number.parse().ok().filter(|_| is_number).ok_or(InvalidToken)?;
        match proof {
            Some(proof) => Self::proved(number, proof).ok_or(InvalidToken),
            None => Ok(number.into()),
        }
    }
}

impl fmt::Display for LockToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.proof() {
            Some(proof) => write!(f, "{}-{proof}", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

impl fmt::Debug for LockToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proof = if self.proof.is_some() { "-…" } else { "" };
        write!(f, "LockToken({}{proof})", self.number)
    }
}

/// A text with its proof, a number without.
impl Serialize for LockToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.proof {
            Some(_) => serializer.collect_str(self),
            None => serializer.serialize_i64(self.number),
        }
    }
}

impl<'de> Deserialize<'de> for LockToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "not a token: expected a number, `-` and 64 hexadecimal digits")]
        enum TokenForm {
            Number(i64),
            Text(String),
        }
        match TokenForm::deserialize(deserializer)? {
            TokenForm::Number(number) => Ok(number.into()),
            TokenForm::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl JsonSchema for LockToken {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LockToken".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "integer"], "pattern": "^[0-9]+(-[0-9a-f]{64})?$"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_its_number_and_its_proof() {
        let text = format!("7-{}", "0a".repeat(32));
        let token: LockToken = text.parse().unwrap();
        assert_eq!((token.number, token.to_string()), (7, text.clone()));
        assert_eq!(serde_json::to_string(&token).unwrap(), format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<LockToken>(&format!("\"{text}\"")).unwrap(), token);
        assert_eq!(format!("{token:?}"), "LockToken(7-…)");
        let plain: LockToken = "7".parse().unwrap();
        assert_eq!((plain, plain.proof()), (LockToken::from(7), None));
        assert_eq!(serde_json::to_string(&plain).unwrap(), "7");
        assert_eq!(serde_json::from_str::<LockToken>("7").unwrap(), plain);
        for wrong in
            ["", "-", "-7", "x", "7-", "7-0a", &text.to_uppercase(), &format!("{text}0"), "+7", "7 7"]
        {
            assert_eq!(wrong.parse::<LockToken>(), Err(InvalidToken), "{wrong:?}");
        }
    }
}
