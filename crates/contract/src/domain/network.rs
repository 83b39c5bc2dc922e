//! Which hosts a task may reach through its proxy, and what it reached.

mod address;

use std::fmt;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shape::words;

pub use address::is_public;

/// The longest name that DNS knows.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;
/// This machine, whatever a name server says.
const LOCALHOST: &str = "localhost";

/// A host as a request or a rule names it, in one spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// In lower case, without a dot at its end.
    Name(String),
    Address(IpAddr),
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination {
    pub host: Host,
    pub port: u16,
}

/// One line of an allow-list: `example.org:443`, `*.example.org:443` for every name below it, or `127.0.0.1:8080`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct HostRule {
    /// Whether it means every name below the host, and not the host itself.
    is_below: bool,
    to: Destination,
}

/// Why a text is not a host and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostFault {
    #[error("name a host and a port only, such as `example.org:443`, without `https://` and path")]
    Url,
    #[error("needs a port from 1 to 65535, such as `example.org:443`")]
    Port,
    #[error("`*` stands only for the first part of a name, as in `*.example.org:443`")]
    Star,
    #[error(
        "is not a host name or an address; write an IPv6 address as `[::1]:443`, other alphabets as `xn--…`"
    )]
    Host,
}

impl HostFault {
    pub fn rule(self) -> &'static str {
        match self {
            HostFault::Url => "host_url",
            HostFault::Port => "host_port",
            HostFault::Star => "host_star",
            HostFault::Host => "host_name",
        }
    }
}

impl Host {
    pub fn parse(text: &str) -> Result<Self, HostFault> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Option<std::net::Ipv6Addr> =
                inner.strip_suffix(']').and_then(|address| address.parse().ok());
            return address
                .map(|address| Host::Address(IpAddr::V6(address).to_canonical()))
                .ok_or(HostFault::Host);
        }
        if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
            return Ok(Host::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=LABEL_BYTES_MAX).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        // Resolvers read `127.1` and `0x7f000001` as addresses.
        let is_number =
            |label: &str| label.starts_with("0x") || label.bytes().all(|byte| byte.is_ascii_digit());
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_name = name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label) && !is_number(last);
        if is_name { Ok(Host::Name(name)) } else { Err(HostFault::Host) }
    }

    /// This machine itself.
    pub fn is_loopback(&self) -> bool {
        match self {
            Host::Name(name) => name == LOCALHOST,
            Host::Address(address) => address.is_loopback(),
        }
    }
}

impl Destination {
    /// `host:port`, or only `host` where a port is usual.
    pub fn parse(text: &str, usual_port: Option<u16>) -> Result<Self, HostFault> {
        let (host, port) = match text.rsplit_once(':') {
            // The colons of an address in brackets.
            Some((_, rest)) if rest.ends_with(']') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let port = match port {
            // Nothing but digits: a sign is a number to Rust too.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
            Some(_) => None,
            None => usual_port,
        };
        let host = Host::parse(host)?;
        Ok(Self { host, port: port.filter(|port| *port != 0).ok_or(HostFault::Port)? })
    }
}

impl HostRule {
    pub fn parse(text: &str) -> Result<Self, HostFault> {
        if text.contains('/') || text.contains('@') {
            return Err(HostFault::Url);
        }
        let (is_below, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        if rest.contains('*') {
            return Err(HostFault::Star);
        }
        let to = Destination::parse(rest, None)?;
        match to.host {
            Host::Address(_) if is_below => Err(HostFault::Star),
            Host::Name(_) | Host::Address(_) => Ok(Self { is_below, to }),
        }
    }

    /// Where to, if it means one host of this machine.
    pub fn loopback(&self) -> Option<&Destination> {
        (!self.is_below && self.to.host.is_loopback()).then_some(&self.to)
    }

    fn allows(&self, to: &Destination) -> bool {
        if self.to.port != to.port {
            return false;
        }
        match (&self.to.host, &to.host) {
            (Host::Name(above), Host::Name(name)) if self.is_below => {
                name.strip_suffix(above.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (allowed, asked) => allowed == asked,
        }
    }

    /// Whether it names this address itself.
    fn names(&self, address: IpAddr, port: u16) -> bool {
        let is_named = match &self.to.host {
            Host::Address(named) => *named == address.to_canonical(),
            Host::Name(name) => !self.is_below && name == LOCALHOST && address.is_loopback(),
        };
        is_named && self.to.port == port
    }
}

/// Whether a request to this destination is allowed.
pub fn permits(rules: &[HostRule], to: &Destination) -> bool {
    rules.iter().any(|rule| rule.allows(to))
}

/// Whether a name may lead to this address. One that is not public has to be named itself, or the owner of a name could
/// open this machine and its network.
pub fn permits_address(rules: &[HostRule], address: IpAddr, port: u16) -> bool {
    is_public(address) || rules.iter().any(|rule| rule.names(address, port))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_below { "*." } else { "" }, self.to)
    }
}

impl From<HostRule> for String {
    fn from(rule: HostRule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for HostRule {
    type Error = HostFault;

    fn try_from(text: String) -> Result<Self, HostFault> {
        Self::parse(&text)
    }
}

words! {
    /// What became of requests to a destination.
    Verdict {
        Allowed = "allowed",
        /// The allow-list does not have it.
        Denied = "denied",
        /// It was allowed, and could not be reached.
        Failed = "failed",
    }
}

/// All connections of an attempt to one destination that ended the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Visit {
    /// `host:port`.
    pub to: String,
    pub verdict: Verdict,
    pub connections: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent_bytes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub received_bytes: u64,
    /// Why it was denied or failed, the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// For people.
impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.connections == 1 { "" } else { "s" };
        write!(f, "{} {}: {} connection{plural}", self.to, self.verdict, self.connections)?;
        if self.verdict == Verdict::Allowed {
            write!(f, ", {} bytes sent, {} received", self.sent_bytes, self.received_bytes)?;
        }
        self.reason.iter().try_for_each(|reason| write!(f, "; {reason}"))
    }
}

#[cfg(test)]
mod tests;
