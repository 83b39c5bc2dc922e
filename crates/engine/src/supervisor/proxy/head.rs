//! The head of a request to the proxy: where it goes, and what is passed on. Pure, and safe to feed with any bytes.

use contract::domain::limits::PROXY_HEADERS_MAX;
use contract::domain::network::Destination;
use httparse::{EMPTY_HEADER, Header, Status};

use super::body::RequestBody;

/// The port of `http://host/`.
const HTTP_PORT: u16 = 80;

/// What a client asks the proxy for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Bytes in both directions.
    Tunnel(Destination),
    /// One request of plain HTTP.
    Plain {
        to: Destination,
        /// The head for the server.
        head: Vec<u8>,
        body: RequestBody,
    },
}

/// Why a request is not answered by any server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeadFault {
    Malformed(&'static str),
    /// The Host header names another destination than the request line.
    OtherHost {
        asked: Destination,
        named: Destination,
    },
}

impl Request {
    pub(super) fn to(&self) -> &Destination {
        match self {
            Request::Tunnel(to) | Request::Plain { to, .. } => to,
        }
    }
}

/// The request and how many bytes its head took, or nothing if it is not whole yet.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, HeadFault> {
    let mut headers = [EMPTY_HEADER; PROXY_HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadFault::Malformed("too many header lines")),
        Err(_) => return Err(HeadFault::Malformed("this is not a request of HTTP/1")),
    };
    let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(HeadFault::Malformed("this is not a request of HTTP/1"));
    };
    let request = if method.eq_ignore_ascii_case("CONNECT") {
        let to = Destination::parse(target, None)
            .map_err(|_| HeadFault::Malformed("CONNECT needs a host and a port"))?;
        check_host(parsed.headers, &to, to.port)?;
        Request::Tunnel(to)
    } else {
        let (to, path) = absolute(target)?;
        check_host(parsed.headers, &to, HTTP_PORT)?;
        let body = body(parsed.headers, version)?;
        let head = origin_form(&format!("{method} {path} HTTP/1.{version}"), &to, parsed.headers);
        Request::Plain { to, head, body }
    };
    Ok(Some((request, length)))
}

/// `http://host:port/path` as its destination and its path.
fn absolute(target: &str) -> Result<(Destination, String), HeadFault> {
    const NOT_ABSOLUTE: HeadFault =
        HeadFault::Malformed("this is a proxy: ask with CONNECT host:port or with http://host/path");
    let scheme = "http://";
    let rest = target.get(..scheme.len()).filter(|start| start.eq_ignore_ascii_case(scheme));
    let rest = rest.and_then(|_| target.get(scheme.len()..)).ok_or(NOT_ABSOLUTE)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let to = Destination::parse(authority, Some(HTTP_PORT)).map_err(|_| NOT_ABSOLUTE)?;
    match path.chars().next() {
        _ if path.contains('#') => Err(HeadFault::Malformed("a request has no fragment")),
        Some('/') => Ok((to, path.to_owned())),
        _ => Ok((to, format!("/{path}"))),
    }
}

/// A server chooses among its sites by the Host header, so it has to be the one that was allowed.
fn check_host(headers: &[Header<'_>], to: &Destination, usual_port: u16) -> Result<(), HeadFault> {
    let mut named = values(headers, "host");
    let Some(value) = named.next() else { return Ok(()) };
    if named.next().is_some() {
        return Err(HeadFault::Malformed("more than one Host header"));
    }
    let text = std::str::from_utf8(value).ok();
    let host = text.and_then(|text| Destination::parse(text.trim(), Some(usual_port)).ok());
    let host = host.ok_or(HeadFault::Malformed("the Host header is not a host"))?;
    if host == *to { Ok(()) } else { Err(HeadFault::OtherHost { asked: to.clone(), named: host }) }
}

/// How long the body is. What two readers could understand differently is refused.
fn body(headers: &[Header<'_>], version: u8) -> Result<RequestBody, HeadFault> {
    let lengths: Vec<&[u8]> = values(headers, "content-length").collect();
    let encodings: Vec<&[u8]> = values(headers, "transfer-encoding").collect();
    match (&lengths[..], &encodings[..]) {
        ([], []) => Ok(RequestBody::Length(0)),
        ([length], []) => {
            let digits = std::str::from_utf8(length)
                .ok()
                .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
            let length = digits.and_then(|digits| digits.parse().ok());
            length.map(RequestBody::Length).ok_or(HeadFault::Malformed("the Content-Length is not a number"))
        }
        ([], [encoding]) if version == 1 && encoding.eq_ignore_ascii_case(b"chunked") => {
            Ok(RequestBody::chunked())
        }
        _ => Err(HeadFault::Malformed("the length of the request is not clear")),
    }
}

/// The head for the server: for this destination, and for this one request.
fn origin_form(line: &str, to: &Destination, headers: &[Header<'_>]) -> Vec<u8> {
    const BETWEEN_TWO: &[&str] = &[
        "host",
        "connection",
        "proxy-connection",
        "proxy-authorization",
        "keep-alive",
        "te",
        "upgrade",
        "http2-settings",
    ];
    let connection: Vec<String> = values(headers, "connection")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(|word| String::from_utf8_lossy(word).trim().to_ascii_lowercase())
        .collect();
    let is_kept = |name: &str| {
        let name = name.to_ascii_lowercase();
        // The length of the body is never a matter between two.
        let is_length = name == "content-length" || name == "transfer-encoding";
        is_length || (!BETWEEN_TWO.contains(&name.as_str()) && !connection.contains(&name))
    };
    let host = if to.port == HTTP_PORT { to.host.to_string() } else { to.to_string() };
    let mut head = format!("{line}\r\nHost: {host}\r\n").into_bytes();
    for header in headers.iter().filter(|header| is_kept(header.name)) {
        head.extend_from_slice(header.name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(header.value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    head
}

fn values<'h>(headers: &'h [Header<'_>], name: &'static str) -> impl Iterator<Item = &'h [u8]> {
    headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
}

#[cfg(test)]
mod tests;
