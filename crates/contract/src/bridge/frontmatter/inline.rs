//! The inline form: quoted text, plain text, flow lists and flow mappings on one line.

use super::{DEPTH_MAX, Fields, Node};

pub(super) enum Inline {
    Whole(Node),
    /// Plain text, which may go on below.
    Plain(Node),
    /// A quote or bracket is still open.
    Open,
}

/// Splits `name: rest`; none where the line has no name.
pub(super) fn key(line: &str) -> Option<(String, &str)> {
    if line.starts_with(['"', '\'']) {
        let mut reader = Reader { rest: line };
        let key = reader.quoted().ok()??;
        let rest = reader.rest.trim_start().strip_prefix(':')?;
        return (rest.is_empty() || rest.starts_with(' ')).then(|| (key, rest.trim_start()));
    }
    if line.starts_with(['[', '{', '&', '*', '!', '|', '>', '?', '%', '@', '`', '#']) {
        return None;
    }
    let (key, rest) = line.split_once(": ").or_else(|| line.strip_suffix(':').map(|key| (key, "")))?;
    Some((key.trim_end().to_owned(), rest.trim_start()))
}

pub(super) fn parse(text: &str) -> Result<Inline, &'static str> {
    if !text.starts_with(['"', '\'', '[', '{']) {
        return plain(without_comment(text)).map(Inline::Plain);
    }
    let mut reader = Reader { rest: text };
    let Some(node) = reader.value(0)? else { return Ok(Inline::Open) };
    let rest = reader.rest.trim();
    if rest.is_empty() || rest.starts_with('#') {
        Ok(Inline::Whole(node))
    } else {
        Err("text after the value's end")
    }
}

fn without_comment(text: &str) -> &str {
    text.find(" #").map_or(text, |at| &text[..at]).trim_end()
}

fn plain(text: &str) -> Result<Node, &'static str> {
    if text.starts_with(['&', '*', '!']) {
        return Err("anchors, aliases and tags are not read; quote the text");
    }
    Ok(Node::Text { text: text.to_owned(), quoted: false })
}

struct Reader<'t> {
    rest: &'t str,
}

/// Each gives none where the text ends too early.
impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Option<Node>, &'static str> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            None => Ok(None),
            Some('"' | '\'') => Ok(self.quoted()?.map(|text| Node::Text { text, quoted: true })),
            Some('[' | '{') if depth == DEPTH_MAX => Err("nested too deep"),
            Some('[') => self.list(depth),
            Some('{') => self.map(depth),
            Some(_) => {
                let text = self.until(&[',', ']', '}']).trim();
                plain(text).map(Some)
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Option<Node>, &'static str> {
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        loop {
            if self.ate(']') {
                return Ok(Some(Node::List(items)));
            }
            let Some(item) = self.value(depth + 1)? else { return Ok(None) };
            items.push(item);
            if !self.ate(',') && !self.rest.starts_with(']') {
                return if self.rest.is_empty() { Ok(None) } else { Err("expected , or ]") };
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Option<Node>, &'static str> {
        self.rest = &self.rest[1..];
        let mut fields = Fields::default();
        loop {
            if self.ate('}') {
                return Ok(Some(Node::Map(fields)));
            }
            let key = match self.rest.chars().next() {
                None => return Ok(None),
                Some('"' | '\'') => match self.quoted()? {
                    None => return Ok(None),
                    Some(key) => key,
                },
                Some(_) => self.until(&[':', ',', '}']).trim().to_owned(),
            };
            if !self.ate(':') {
                return if self.rest.is_empty() { Ok(None) } else { Err("expected : after the name") };
            }
            if fields.get(&key).is_some() {
                return Err("a name is there twice");
            }
            let Some(value) = self.value(depth + 1)? else { return Ok(None) };
            fields.0.push((key, value));
            if !self.ate(',') && !self.rest.starts_with('}') {
                return if self.rest.is_empty() { Ok(None) } else { Err("expected , or }") };
            }
        }
    }

    /// Takes the character, white space before and after it included.
    fn ate(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn until(&mut self, ends: &[char]) -> &str {
        let at = self.rest.find(ends).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(at);
        self.rest = rest;
        text
    }

    fn quoted(&mut self) -> Result<Option<String>, &'static str> {
        let mut chars = self.rest.chars();
        let quote = chars.next().expect("BUG: called where a quote stands");
        let mut text = String::new();
        loop {
            match (quote, chars.next()) {
                (_, None) => return Ok(None),
                // In single quotes a quote is written twice.
                ('\'', Some('\'')) if chars.as_str().starts_with('\'') => {
                    chars.next();
                    text.push('\'');
                }
                (_, Some(c)) if c == quote => break,
                ('"', Some('\\')) => match chars.next() {
                    None => return Ok(None),
                    Some(c) => text.push(escaped(c, &mut chars)?),
                },
                (_, Some(c)) => text.push(c),
            }
        }
        self.rest = chars.as_str();
        Ok(Some(text))
    }
}

fn escaped(c: char, rest: &mut std::str::Chars<'_>) -> Result<char, &'static str> {
    let digits = match c {
        '"' | '\\' | '/' | ' ' => return Ok(c),
        'n' => return Ok('\n'),
        't' => return Ok('\t'),
        'r' => return Ok('\r'),
        'b' => return Ok('\u{8}'),
        'f' => return Ok('\u{c}'),
        '0' => return Ok('\0'),
        'e' => return Ok('\u{1b}'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return Err("an escape that is not known"),
    };
    let hex = rest.as_str().get(..digits).ok_or("an escape that is cut off")?;
    let code = u32::from_str_radix(hex, 16).map_err(|_| "an escape that is no number")?;
    *rest = rest.as_str()[digits..].chars();
    char::from_u32(code).ok_or("an escape that is no character")
}
