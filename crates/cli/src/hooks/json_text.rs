//! JSON as text: where each part of it stands, so that a change can leave every other byte alone.

use std::ops::Range;

use serde_json::Value;

/// One value and the place it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    /// A string, number, boolean or null.
    Leaf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) key: String,
    /// Where the key begins.
    pub(crate) start: usize,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().find(|member| member.key == key),
            Kind::Array(_) | Kind::Leaf => None,
        }
    }

    /// The places of what is directly inside: whole members of an object, values of a list.
    pub(crate) fn inside(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|m| m.start..m.value.span.end).collect(),
            Kind::Array(items) => items.iter().map(|item| item.span.clone()).collect(),
            Kind::Leaf => Vec::new(),
        }
    }

    pub(crate) fn items(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            Kind::Object(_) | Kind::Leaf => None,
        }
    }

    /// The value itself.
    pub(crate) fn value(&self, text: &str) -> Value {
        text.get(self.span.clone()).and_then(|part| serde_json::from_str(part).ok()).unwrap_or_default()
    }
}

/// Reads a text that must be one JSON document without a key twice in one object.
pub(crate) fn read(text: &str) -> Result<Node, String> {
    // The parser judges; what follows only looks for places in a text that is known to be JSON and not too deep.
    serde_json::from_str::<Value>(text).map_err(|error| error.to_string())?;
    let mut places = Places { text, at: 0 };
    places.node().ok_or_else(|| "a key stands twice in one object".to_owned())
}

struct Places<'t> {
    text: &'t str,
    at: usize,
}

impl Places<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn node(&mut self) -> Option<Node> {
        self.skip_space();
        let start = self.at;
        let kind = match self.peek() {
            b'{' => Kind::Object(self.members()?),
            b'[' => Kind::Array(self.list()?),
            b'"' => {
                self.skip_string();
                Kind::Leaf
            }
            _ => {
                while !matches!(self.peek(), 0 | b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r') {
                    self.at += 1;
                }
                Kind::Leaf
            }
        };
        Some(Node { span: start..self.at, kind })
    }

    fn members(&mut self) -> Option<Vec<Member>> {
        let mut members: Vec<Member> = Vec::new();
        while self.next_inside(b'}') {
            let start = self.at;
            self.skip_string();
            let key: String = serde_json::from_str(self.text.get(start..self.at)?).ok()?;
            self.skip_space();
            self.at += 1;
            let value = self.node()?;
            if members.iter().any(|member| member.key == key) {
                return None;
            }
            members.push(Member { key, start, value });
        }
        Some(members)
    }

    fn list(&mut self) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        while self.next_inside(b']') {
            items.push(self.node()?);
        }
        Some(items)
    }

    /// Steps over the opening bracket or a comma to the next thing inside, or over the closing bracket.
    fn next_inside(&mut self, closing: u8) -> bool {
        self.skip_space();
        if self.peek() != closing {
            self.at += 1;
            self.skip_space();
        }
        let more = self.peek() != closing && self.peek() != 0;
        if !more {
            self.at += 1;
        }
        more
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while !matches!(self.peek(), 0 | b'"') {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests;
