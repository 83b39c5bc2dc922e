//! The block form: one entry a line, nested by indentation.

use super::inline::{self, Inline};
use super::{DEPTH_MAX, Fields, Malformed, Node};

/// Names in one mapping.
const FIELDS_MAX: usize = 200;
/// Lines that one value may take; more is text, and text belongs in the body.
const CONTINUATIONS_MAX: usize = 100;

pub(super) fn parse(text: &str) -> Result<Fields, Malformed> {
    let mut reader = Reader { lines: Vec::new(), at: 0 };
    for (index, raw) in text.lines().enumerate() {
        // The opening fence is line 1.
        reader.lines.push(Line::new(raw, index + 2)?);
    }
    match reader.block(0, 0)? {
        Some(Node::Map(fields)) => reader.nothing_left().map(|()| fields),
        None => Ok(Fields::default()),
        Some(_) => Err(Malformed { message: "frontmatter must be `name: value` lines".to_owned(), line: 2 }),
    }
}

#[derive(Debug, Clone)]
struct Line<'t> {
    number: usize,
    indent: usize,
    /// Without indentation and trailing space.
    text: &'t str,
}

impl<'t> Line<'t> {
    fn new(raw: &'t str, number: usize) -> Result<Self, Malformed> {
        let text = raw.trim_start_matches(' ');
        if text.starts_with('\t') && !text.trim().is_empty() {
            return Err(Malformed { message: "tabs cannot indent".to_owned(), line: number });
        }
        Ok(Self { number, indent: raw.len() - text.len(), text: text.trim_end() })
    }

    fn is_blank(&self) -> bool {
        self.text.trim().is_empty() || self.text.starts_with('#')
    }

    fn is_item(&self) -> bool {
        self.text == "-" || self.text.starts_with("- ")
    }

    fn fault<T>(&self, message: &str) -> Result<T, Malformed> {
        Err(Malformed { message: message.to_owned(), line: self.number })
    }
}

struct Reader<'t> {
    lines: Vec<Line<'t>>,
    at: usize,
}

impl<'t> Reader<'t> {
    /// The next line that says something.
    fn peek(&mut self) -> Option<Line<'t>> {
        while self.lines.get(self.at).is_some_and(Line::is_blank) {
            self.at += 1;
        }
        self.lines.get(self.at).cloned()
    }

    /// The mapping or list that starts here, if one does at this indentation or deeper.
    fn block(&mut self, indent: usize, depth: usize) -> Result<Option<Node>, Malformed> {
        let Some(line) = self.peek().filter(|line| line.indent >= indent) else { return Ok(None) };
        if depth == DEPTH_MAX {
            return line.fault("nested too deep");
        }
        let node = if line.is_item() {
            Node::List(self.list(line.indent, depth)?)
        } else {
            Node::Map(self.map(line.indent, depth)?)
        };
        Ok(Some(node))
    }

    fn map(&mut self, indent: usize, depth: usize) -> Result<Fields, Malformed> {
        let mut fields = Fields::default();
        while let Some(line) = self.peek().filter(|line| line.indent == indent && !line.is_item()) {
            let Some((key, rest)) = inline::key(line.text) else {
                return line.fault("expected `name: value`");
            };
            if fields.0.len() == FIELDS_MAX {
                return line.fault("too many names");
            }
            if fields.get(&key).is_some() {
                return line.fault(&format!("`{key}` is there twice"));
            }
            self.at += 1;
            let node = self.value(&line, rest, depth)?;
            fields.0.push((key, node));
        }
        Ok(fields)
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<Vec<Node>, Malformed> {
        let mut items = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent == indent && line.is_item()) {
            let rest = line.text[1..].trim_start();
            let inner = indent + line.text.len() - rest.len();
            let is_block = rest.starts_with("- ") || inline::key(rest).is_some();
            if is_block {
                // The item's first line stands behind its dash; read it as a line of its own.
                self.lines[self.at] = Line { number: line.number, indent: inner, text: rest };
                let node =
                    self.block(inner, depth + 1)?.expect("BUG: the line that was just put there is read");
                items.push(node);
            } else {
                self.at += 1;
                items.push(self.value(&line, rest, depth)?);
            }
        }
        Ok(items)
    }

    /// What follows a name or a dash.
    fn value(&mut self, line: &Line<'t>, rest: &'t str, depth: usize) -> Result<Node, Malformed> {
        if rest.starts_with(['|', '>']) {
            return self.text_block(line, rest);
        }
        if rest.is_empty() || rest.starts_with('#') {
            // A list may stand below its name without being indented further.
            let same = !line.is_item()
                && self.peek().is_some_and(|next| next.indent == line.indent && next.is_item());
            let indent = line.indent + usize::from(!same);
            let node = self.block(indent, depth + 1)?;
            return Ok(node.unwrap_or(Node::Text { text: String::new(), quoted: false }));
        }
        let mut text = rest.to_owned();
        for _ in 0..CONTINUATIONS_MAX {
            match inline::parse(&text) {
                Ok(Inline::Whole(node)) => return Ok(node),
                // Plain text and flow lists may go on below, further in.
                Ok(Inline::Plain(node)) => match self.continuation(line) {
                    None => return Ok(node),
                    Some(more) => text = format!("{text} {more}"),
                },
                Ok(Inline::Open) => match self.continuation(line) {
                    None => return line.fault("the value has no end"),
                    Some(more) => text = format!("{text} {more}"),
                },
                Err(message) => return line.fault(message),
            }
        }
        line.fault("the value goes on for too long")
    }

    fn continuation(&mut self, of: &Line<'t>) -> Option<&'t str> {
        let next = self.lines.get(self.at).filter(|next| !next.is_blank() && next.indent > of.indent)?;
        self.at += 1;
        Some(next.text)
    }

    /// Text in lines (`|`) or folded into paragraphs (`>`).
    fn text_block(&mut self, line: &Line<'t>, header: &str) -> Result<Node, Malformed> {
        let folded = header.starts_with('>');
        let marks = header[1..].split('#').next().unwrap_or_default().trim();
        if !matches!(marks, "" | "-" | "+") {
            return line.fault("after | or > only - or + is read");
        }
        let mut lines: Vec<String> = Vec::new();
        let mut indent = 0;
        while let Some(next) = self.lines.get(self.at) {
            if !next.text.is_empty() {
                if next.indent <= line.indent {
                    break;
                }
                // The first line says how far the text is indented; more than that belongs to it.
                indent = if indent == 0 { next.indent } else { indent };
            }
            let kept = if next.text.is_empty() { 0 } else { next.indent.saturating_sub(indent) };
            lines.push(format!("{}{}", " ".repeat(kept), next.text));
            self.at += 1;
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let mut text = if folded { fold(&lines) } else { lines.join("\n") };
        if marks != "-" && !text.is_empty() {
            text.push('\n');
        }
        Ok(Node::Text { text, quoted: true })
    }

    fn nothing_left(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            None => Ok(()),
            Some(line) => line.fault("the indentation fits nothing above it"),
        }
    }
}

/// Lines become one; an empty line keeps paragraphs apart.
fn fold(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        match (line.is_empty(), text.is_empty() || text.ends_with('\n')) {
            (true, _) => text.push('\n'),
            (false, true) => text.push_str(line),
            (false, false) => {
                text.push(' ');
                text.push_str(line);
            }
        }
    }
    text
}
