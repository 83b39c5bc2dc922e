//! Adds to and takes from JSON text in the style the text already has.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

use super::edits::Edit;
use super::json_text::Node;

/// What is put into an object (with a key) or into a list (without).
pub(crate) struct Item<'v> {
    pub(crate) key: Option<&'v str>,
    pub(crate) value: &'v Value,
}

/// Puts the items behind what the object or list has.
pub(crate) fn append(text: &str, into: &Node, items: &[Item<'_>]) -> Edit {
    let inside = into.inside();
    let (Some(first), Some(last)) = (inside.first(), inside.last()) else {
        return fill(text, into, items);
    };
    let space = text.get(into.span.start + 1..first.start).unwrap_or_default();
    let indent = space.rsplit_once('\n').map(|(_, indent)| indent);
    let style = Style { newline: newline(text), unit: unit(text), indent };
    let added: String = items.iter().map(|item| format!(",{space}{}", style.item(item))).collect();
    Edit::insert(last.end, added)
}

/// Puts the items into an object or list that is empty.
fn fill(text: &str, into: &Node, items: &[Item<'_>]) -> Edit {
    let place = into.span.start + 1..into.span.end - 1;
    let is_whole = text.trim().len() == into.span.len();
    if !is_whole && !text.trim().contains('\n') {
        let style = Style { newline: "", unit: "", indent: None };
        let items: Vec<String> = items.iter().map(|item| style.item(item)).collect();
        return Edit::replace(text, place, items.join(","));
    }
    let outer = line_indent(text, into.span.start);
    let (newline, unit) = (newline(text), unit(text));
    let indent = format!("{outer}{unit}");
    let style = Style { newline, unit, indent: Some(&indent) };
    let items: Vec<String> =
        items.iter().map(|item| format!("{newline}{indent}{}", style.item(item))).collect();
    Edit::replace(text, place, format!("{}{newline}{outer}", items.join(",")))
}

/// Takes some of the things inside out, with the commas and the space that belonged to them.
pub(crate) fn remove(text: &str, from: &Node, is_gone: impl Fn(usize) -> bool) -> Vec<Edit> {
    let inside = from.inside();
    let gone: Vec<usize> = (0..inside.len()).filter(|&index| is_gone(index)).collect();
    if gone.is_empty() {
        return Vec::new();
    }
    let cut = |place: Range<usize>| Edit::replace(text, place, String::new());
    let Some(kept) = (0..inside.len()).rev().find(|index| !gone.contains(index)) else {
        return vec![cut(from.span.start + 1..from.span.end - 1)];
    };
    let mut edits: Vec<Edit> = gone
        .iter()
        .filter(|&&index| index < kept)
        .map(|&index| cut(inside[index].start..inside[index + 1].start))
        .collect();
    if let Some(last) = gone.last().filter(|&&last| last > kept) {
        edits.push(cut(inside[kept].end..inside[*last].end));
    }
    edits
}

/// A new document of its own.
pub(crate) fn document(value: &Value) -> String {
    let style = Style { newline: "\n", unit: "  ", indent: Some("") };
    format!("{}\n", style.value(value))
}

/// How values are written: on lines with this indent, or without line breaks.
struct Style<'t> {
    newline: &'t str,
    unit: &'t str,
    indent: Option<&'t str>,
}

impl Style<'_> {
    fn item(&self, item: &Item<'_>) -> String {
        let value = self.value(item.value);
        match item.key {
            Some(key) if self.indent.is_some() => format!("{}: {value}", Value::from(key)),
            Some(key) => format!("{}:{value}", Value::from(key)),
            None => value,
        }
    }

    fn value(&self, value: &Value) -> String {
        let Some(indent) = self.indent else { return value.to_string() };
        let mut bytes = Vec::new();
        let form = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, form);
        value.serialize(&mut serializer).expect("BUG: a value can always be written into memory");
        // Strings hold no line breaks in JSON, so every one of these is ours.
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indent}", self.newline))
    }
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// One step of indentation: what the first indented line has.
fn unit(text: &str) -> &str {
    let indents = text.lines().map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    indents.into_iter().find(|indent| !indent.is_empty()).unwrap_or("  ")
}

/// The indentation of the line on which this place is.
fn line_indent(text: &str, at: usize) -> &str {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
