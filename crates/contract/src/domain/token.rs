//! Access tokens: what a person hands to a program so that it may decide for them where there is no terminal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest;
use crate::domain::id::{AccessToken, Id};
use crate::domain::time::Timestamp;
use crate::shape::words;

pub type TokenId = Id<AccessToken>;

/// What every secret begins with, so that people and scanners recognize one.
const PREFIX: &str = "writ_";
const SECRET_DIGITS: usize = 64;

words! {
    /// What the holder of a token may do.
    TokenScope {
        /// Decide what only a person may: approvals, budgets, trust, forced releases.
        Approve = "approve",
    }
}

/// The text that its holder presents. It is shown once and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret {
    id: TokenId,
    text: String,
}

impl TokenSecret {
    /// The secret of a new token, from 256 fresh random bits.
    pub fn new(id: TokenId, bits: [u128; 2]) -> Self {
        let opaque = id.as_str().strip_prefix("token_").expect("BUG: an id begins with its kind");
        let text = format!("{PREFIX}{opaque}_{:032x}{:032x}", bits[0], bits[1]);
        Self { id, text }
    }

    /// Reads what somebody presented. `None` if it cannot be a secret of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (opaque, digits) = text.strip_prefix(PREFIX)?.rsplit_once('_')?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let id = Id::parse(&format!("token_{opaque}")).ok()?;
        (digits.len() == SECRET_DIGITS && is_hex).then(|| Self { id, text: text.to_owned() })
    }

    pub fn id(&self) -> &TokenId {
        &self.id
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is stored in its place.
    pub fn hash(&self) -> String {
        digest::of_bytes(self.text.as_bytes())
    }
}

impl std::fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({}, …)", self.id)
    }
}

/// A token as it was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    pub id: TokenId,
    pub name: String,
    pub scope: TokenScope,
    /// The digest of its secret.
    pub hash: String,
    pub created_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A token as the store knows it. Its secret is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    pub id: TokenId,
    pub name: String,
    pub scope: TokenScope,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// The digest of the secret is of no use to readers of a list.
    #[serde(skip)]
    pub hash: String,
}

/// Why a token does not permit an action. Follows the name of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPermitted {
    #[error("was not created in this store")]
    Unknown,
    #[error("was revoked")]
    Revoked,
    #[error("has expired")]
    Expired,
    #[error("does not have the scope for this")]
    OtherScope,
}

impl NotPermitted {
    pub fn rule(self) -> &'static str {
        match self {
            NotPermitted::Unknown => "token_unknown",
            NotPermitted::Revoked => "token_revoked",
            NotPermitted::Expired => "token_expired",
            NotPermitted::OtherScope => "token_scope",
        }
    }
}

impl Token {
    /// Whether the holder of `secret` may do what needs `scope` now.
    pub fn permits(
        &self,
        secret: &TokenSecret,
        scope: TokenScope,
        now: Timestamp,
    ) -> Result<(), NotPermitted> {
        if !is_same(&secret.hash(), &self.hash) {
            return Err(NotPermitted::Unknown);
        }
        if self.revoked_at.is_some() {
            return Err(NotPermitted::Revoked);
        }
        if self.expires_at.is_some_and(|end| now >= end) {
            return Err(NotPermitted::Expired);
        }
        if self.scope == scope { Ok(()) } else { Err(NotPermitted::OtherScope) }
    }
}

/// Whether two texts are the same. Takes the same time wherever they differ.
pub fn is_same(a: &str, b: &str) -> bool {
    let differing = a.bytes().zip(b.bytes()).fold(0, |seen, (a, b)| seen | (a ^ b));
    std::hint::black_box(differing) == 0 && a.len() == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(bits: u128) -> TokenSecret {
        TokenSecret::new(Id::from_bits(7), [bits, 1])
    }

    #[test]
    fn a_secret_reads_back_and_nothing_else_does() {
        let own = secret(5);
        let read = TokenSecret::parse(&format!("{}\n", own.text())).unwrap();
        assert_eq!((read.id(), read.hash()), (own.id(), own.hash()));
        assert!(!format!("{own:?}").contains(own.text()));
        let text = own.text();
        for wrong in
            ["", "writ_", &text[1..], &text[..text.len() - 1], &text.to_uppercase(), &format!("{text}0")]
        {
            assert_eq!(TokenSecret::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_token_permits_its_scope_until_it_expires_or_is_revoked() {
        let at = Timestamp::from_millis;
        let token = Token {
            id: Id::from_bits(7),
            name: "ci".to_owned(),
            scope: TokenScope::Approve,
            created_by: "human.ann".to_owned(),
            created_at: at(0),
            expires_at: Some(at(100)),
            last_used_at: None,
            revoked_at: None,
            hash: secret(5).hash(),
        };
        let asked = |token: &Token, bits, now| token.permits(&secret(bits), TokenScope::Approve, at(now));
        assert_eq!(asked(&token, 5, 99), Ok(()));
        assert_eq!(asked(&token, 5, 100), Err(NotPermitted::Expired));
        assert_eq!(asked(&token, 6, 99), Err(NotPermitted::Unknown));
        let revoked = Token { revoked_at: Some(at(50)), ..token.clone() };
        assert_eq!(asked(&revoked, 5, 60), Err(NotPermitted::Revoked));
        let shown = serde_json::to_string(&token).unwrap();
        assert!(!shown.contains("sha256") && !shown.contains("hash"), "{shown}");
    }

    #[test]
    fn texts_are_the_same_only_if_every_byte_is() {
        assert!(is_same("", "") && is_same("abc", "abc"));
        assert!(!is_same("abc", "abd") && !is_same("abc", "ab") && !is_same("", "a"));
    }
}
