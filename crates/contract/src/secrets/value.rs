//! Secrets in JSON values: in texts, in the names of fields, and in fields whose name says that they hold one.

use serde_json::{Map, Value};

use super::hints::CREDENTIAL_WORDS;
use super::{find, parts, scrub};

/// Where a secret was found, and by which rule. The secret itself is not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// `$.field.0.other`; a name that is a secret itself is left out.
    pub path: String,
    pub rule: &'static str,
}

/// The first secret in a value.
pub fn find_in(value: &Value) -> Option<Secret> {
    let mut steps = Vec::new();
    let keyed = parts::are_possible(value).then_some(false);
    let rule = find_below(value, keyed, &mut steps)?;
    let path = steps.iter().rev().fold("$".to_owned(), |path, step| format!("{path}.{step}"));
    Some(Secret { path, rule })
}

/// Whether a value is beside a part of a private key. `None` if no key is mentioned anywhere.
type Keyed = Option<bool>;

fn keyed_below(keyed: Keyed, container: &Value) -> Keyed {
    keyed.map(|keyed| keyed || parts::are_in(container))
}

/// The steps are collected on the way back, so a value without a secret costs none.
fn find_below(value: &Value, keyed: Keyed, steps: &mut Vec<String>) -> Option<&'static str> {
    let below = keyed_below(keyed, value);
    match value {
        Value::String(text) if keyed == Some(true) && parts::is_part(text) => Some(parts::RULE),
        Value::String(text) => find(text),
        Value::Array(items) => {
            let found =
                items.iter().enumerate().find_map(|(i, item)| Some((i, find_below(item, below, steps)?)));
            found.map(|(index, rule)| {
                steps.push(index.to_string());
                rule
            })
        }
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            if let Some(rule) = find(name) {
                return Some(rule);
            }
            let rule = named(name, value).or_else(|| find_below(value, below, steps))?;
            steps.push(name.clone());
            Some(rule)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The value with every secret replaced by its marker, in names of fields too.
pub fn scrub_value(value: Value) -> Value {
    let keyed = parts::are_possible(&value).then_some(false);
    scrub_below(value, keyed)
}

fn scrub_below(value: Value, keyed: Keyed) -> Value {
    let below = keyed_below(keyed, &value);
    match value {
        Value::String(text) if keyed == Some(true) && parts::is_part(&text) => marker(parts::RULE),
        Value::String(text) => Value::String(scrubbed(text)),
        Value::Array(items) => {
            let is_last: Vec<bool> = match below {
                Some(true) => {
                    (1..=items.len()).map(|n| parts::is_last(&items[n - 1], items.get(n))).collect()
                }
                Some(false) | None => vec![false; items.len()],
            };
            let clean =
                |(item, is_last)| if is_last { marker(parts::RULE) } else { scrub_below(item, below) };
            Value::Array(items.into_iter().zip(is_last).map(clean).collect())
        }
        Value::Object(fields) => {
            let mut clean = Map::new();
            for (name, value) in fields {
                let value = match named(&name, &value) {
                    Some(rule) => marker(rule),
                    None => scrub_below(value, below),
                };
                insert(&mut clean, scrubbed(name), value);
            }
            Value::Object(clean)
        }
        other => other,
    }
}

fn marker(rule: &str) -> Value {
    Value::String(format!("[REDACTED:{rule}]"))
}

/// Two names that become the same marker both stay.
fn insert(fields: &mut Map<String, Value>, name: String, value: Value) {
    let free = (2..).map(|number| format!("{name} {number}"));
    let free = std::iter::once(name.clone()).chain(free).find(|name| !fields.contains_key(name));
    fields.insert(free.expect("BUG: numbers do not end"), value);
}

fn scrubbed(text: String) -> String {
    match scrub(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(clean) => clean,
    }
}

/// The rule for a text that is a secret because of its field's name, such as `password`.
fn named(name: &str, value: &Value) -> Option<&'static str> {
    let Value::String(text) = value else { return None };
    let says_so = |word: &&str| {
        let mut windows = name.as_bytes().windows(word.len());
        windows.any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
    };
    if text.is_empty() || !CREDENTIAL_WORDS.iter().any(says_so) {
        return None;
    }
    // A text with a secret in it keeps its other words.
    if find(text).is_some() { None } else { find(&format!("{name}={text}")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret() -> String {
        ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat()
    }

    #[test]
    fn names_are_scrubbed_like_texts_and_none_is_lost() {
        let (one, two) = (secret(), secret().to_lowercase().replace("ghp", "gho"));
        let value = json!({"a": {one: 1, two: [secret()]}, "n": 1});
        let expected = json!({"a": {"[REDACTED:github_token]": ["[REDACTED:github_token]"],
            "[REDACTED:github_token] 2": 1}, "n": 1});
        let clean = scrub_value(value);
        assert_eq!(clean, expected);
        assert_eq!(find_in(&clean), None);
    }

    #[test]
    fn a_field_whose_name_says_that_it_holds_a_secret_is_scrubbed() {
        let value = json!({"password": "c0rrect-horse", "Api_Key": "abcdefabcdef1", "token": 12, "tokens": "a-lot-123",
            "secret": "env:NAME", "key": "style-guide-2", "credential": ""});
        let marker = "[REDACTED:credential_assignment]";
        let clean = scrub_value(value);
        assert_eq!(
            clean,
            json!({"password": marker, "Api_Key": marker, "token": 12, "tokens": "a-lot-123",
                "secret": "env:NAME", "key": "style-guide-2", "credential": ""})
        );
        assert_eq!(find_in(&clean), None);
    }

    #[test]
    fn a_secret_is_found_with_its_path_and_is_not_repeated() {
        let found = |value: Value| find_in(&value).map(|found| (found.path, found.rule));
        let path = |path: &str| Some((path.to_owned(), "github_token"));
        assert_eq!(found(json!({"a": [{"b": 1}, {"c": format!("x {}", secret())}]})), path("$.a.1.c"));
        assert_eq!(found(json!({"a": {secret(): 1}})), path("$.a"));
        assert_eq!(found(json!(secret())), path("$"));
        let named = Some(("$.a.password".to_owned(), "credential_assignment"));
        assert_eq!(found(json!({"a": {"password": "hunter2hunter2"}})), named);
        assert_eq!(found(json!({"a": "plain"})), None);
    }

    #[test]
    fn a_private_key_in_a_list_of_lines_or_in_fields_is_scrubbed_and_nothing_else() {
        let line = |which: &str| ["-----", which, " RSA PRIV", "ATE KEY-----"].concat();
        let (begin, end) = (line("BEGIN"), line("END"));
        let (body, short) = ("MIIEpAIBAAKCAQEA7bq0+/f2", "x9A=");
        let gone = "[REDACTED:private_key_block]";
        for (value, clean) in [
            (
                json!(["a", begin, body, body, short, end, "done"]),
                json!(["a", gone, gone, gone, gone, gone, "done"]),
            ),
            (json!([begin, body, body]), json!([gone, gone, gone])),
            (json!([body, short, end]), json!([gone, gone, gone])),
            (
                json!({"a": body, "b": {"c": begin}, "id": "task_01", "n": 1}),
                json!({"a": gone, "b": {"c": gone}, "id": "task_01", "n": 1}),
            ),
            (json!([{"line": begin}, {"line": body}]), json!([{"line": gone}, {"line": gone}])),
            (
                json!({"head": begin, "rest": [format!("{body}\n{body}\n"), "plain"]}),
                json!({"head": gone, "rest": [gone, "plain"]}),
            ),
            // No key: nothing is beside the last line, or the texts have nothing to do with each other.
            (json!([end, "some words"]), json!([end, "some words"])),
            (
                json!({"a": [end], "b": {"c": {"d": {"e": body}}}}),
                json!({"a": [end], "b": {"c": {"d": {"e": body}}}}),
            ),
            (json!([body, "words"]), json!([body, "words"])),
        ] {
            let is_clean = value == clean;
            assert_eq!(
                find_in(&value).map(|found| found.rule),
                (!is_clean).then_some(parts::RULE),
                "{value}"
            );
            let scrubbed = scrub_value(value);
            assert_eq!(scrubbed, clean);
            assert_eq!(find_in(&scrubbed), None, "{scrubbed}");
        }
    }
}
