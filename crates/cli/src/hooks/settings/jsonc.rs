//! JSON with comments and trailing commas, as editors and agents accept it in settings.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstContainerNode, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// Comments and trailing commas are accepted; the other liberties of JSON5 are not.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// One parsed file. It owns the tree: nodes are valid as long as it lives.
#[derive(Debug)]
pub(crate) struct JsoncFile {
    root: CstRootNode,
    pub(crate) object: CstObject,
}

impl JsoncFile {
    /// Parses a text that must be one object without duplicate keys at any level.
    pub(crate) fn parse(text: &str) -> Result<JsoncFile, String> {
        let root =
            CstRootNode::parse(text, &OPTIONS).map_err(|error| format!("is not valid JSON: {error}"))?;
        if root.to_string() != text {
            return Err("is not valid JSON: it has characters outside of its values".to_owned());
        }
        let object = root.object_value().ok_or("is JSON, but not an object")?;
        check_strings(&object.clone().into())?;
        Ok(JsoncFile { root, object })
    }

    pub(crate) fn text(&self) -> String {
        self.root.to_string()
    }
}

/// A new file with this value.
pub(crate) fn new_text(value: &Value) -> String {
    format!("{value:#}\n")
}

/// The value as the syntax tree takes it.
pub(crate) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

/// Adds an item behind the others. A list on one line keeps its items on one line.
pub(crate) fn append(list: &CstArray, item: &Value) {
    let is_on_one_line = !list.elements().is_empty() && !list.children().iter().any(CstNode::is_newline);
    let added = list.append(input(item));
    if !is_on_one_line {
        return;
    }
    let space: Vec<CstNode> = added.previous_siblings().take_while(CstNode::is_trivia).collect();
    for node in space {
        match (node.as_newline(), node.as_whitespace()) {
            (Some(newline), _) => newline.remove(),
            (_, Some(indent)) => indent.set_value(" ".to_owned()),
            (None, None) => {}
        }
    }
}

pub(crate) fn value(node: &CstNode) -> Value {
    node.to_serde_value().unwrap_or_default()
}

/// Whether a person wrote a comment directly into this object or list.
pub(crate) fn has_comments(container: impl Into<CstContainerNode>) -> bool {
    container.into().children().iter().any(CstNode::is_comment)
}

/// Refuses duplicate keys and strings that cannot be decoded. The parser limits the depth.
fn check_strings(node: &CstNode) -> Result<(), String> {
    if let Some(text) = node.as_string_lit() {
        return text.decoded_value().map(drop).map_err(|error| format!("is not valid JSON: {error:?}"));
    }
    if let Some(object) = node.as_object() {
        let mut keys = std::collections::BTreeSet::new();
        for property in object.properties() {
            let key = property.decoded_name().ok_or("is not valid JSON: a key cannot be decoded")?;
            if !keys.insert(key.clone()) {
                return Err(format!("has the key `{key}` twice in one object"));
            }
        }
    }
    let children = if let Some(property) = node.as_object_prop() {
        property.value().into_iter().collect()
    } else {
        node.children_exclude_trivia_and_tokens()
    };
    children.iter().try_for_each(check_strings)
}

#[cfg(test)]
mod tests;
