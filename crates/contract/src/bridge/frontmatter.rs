//! YAML frontmatter of Markdown files.
//!
//! Anchors, aliases, tags and several documents are refused, because in frontmatter they are mistakes and in the
//! worst case a bomb. Plain text is kept as written, so that `0.5000` and a date survive.

mod yaml;

use crate::json::{Map, Value};

/// A Markdown file, split at its frontmatter.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkdownDocument<'t> {
    /// None where the file has no frontmatter.
    pub fields: Option<Fields>,
    pub body: &'t str,
}

/// The fields of one mapping, in file order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(Vec<(String, YamlNode)>);

#[derive(Debug, Clone, PartialEq)]
pub enum YamlNode {
    /// As written in the file. Quoted text is never a number.
    Text {
        text: String,
        quoted: bool,
    },
    List(Vec<YamlNode>),
    Map(Fields),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line})")]
pub struct FrontmatterError {
    pub message: String,
    /// Counted from 1.
    pub line: usize,
}

/// Splits a file into its fields and its body. Accepts a byte order mark and Windows line ends.
pub fn parse(text: &str) -> Result<MarkdownDocument<'_>, FrontmatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((_, rest)) = text.split_once('\n').filter(|(first, _)| first.trim_end() == "---") else {
        return Ok(MarkdownDocument { fields: None, body: text });
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let fields = yaml::parse(&rest[..at])?;
            return Ok(MarkdownDocument { fields: Some(fields), body: &rest[at + line.len()..] });
        }
        at += line.len();
    }
    Err(FrontmatterError { message: "the frontmatter has no closing ---".to_owned(), line: 1 })
}

/// Prints fields as frontmatter with its fences. Text is quoted, so that it is read back as text.
pub fn render(fields: &[(&str, Value)]) -> String {
    let lines: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    format!("---\n{}---\n", lines.concat())
}

impl Fields {
    pub fn get(&self, name: &str) -> Option<&YamlNode> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// The text of a field, if it has one and is not null.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.to_value().as_f64()
    }

    /// A list of texts; a single text is a list of one.
    pub fn texts(&self, name: &str) -> Vec<String> {
        match self.get(name) {
            Some(YamlNode::List(items)) => {
                items.iter().filter_map(YamlNode::text).map(str::to_owned).collect()
            }
            Some(node) => node.text().map(str::to_owned).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// The fields as JSON, with plain text read as YAML reads it.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.iter().map(|(key, node)| (key.clone(), node.to_value())).collect::<Map<_, _>>())
    }
}

impl YamlNode {
    /// The text, unless this is null, a list or a mapping.
    pub fn text(&self) -> Option<&str> {
        match self {
            YamlNode::Text { text, quoted } => Some(text.as_str()).filter(|text| *quoted || !is_null(text)),
            YamlNode::List(_) | YamlNode::Map(_) => None,
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            YamlNode::Text { text, quoted: true } => Value::from(text.as_str()),
            YamlNode::Text { text, quoted: false } => resolved(text),
            YamlNode::List(items) => items.iter().map(YamlNode::to_value).collect(),
            YamlNode::Map(fields) => fields.to_value(),
        }
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// What plain text means. Numbers that would not print back the same, such as 007, stay text.
fn resolved(text: &str) -> Value {
    match text {
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ if is_null(text) => return Value::Null,
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_numeric = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if !is_numeric || has_leading_zero {
        return Value::from(text);
    }
    if let Ok(number) = text.parse::<i64>() {
        return Value::from(number);
    }
    let number = text.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
    number.map_or_else(|| Value::from(text), Value::Number)
}

#[cfg(test)]
mod tests;
