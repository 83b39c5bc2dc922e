//! The checks in a project's configuration, which hold for its tasks that have none of their own.

use serde_json::Value;

use super::shapes::RawCheck;
use crate::command_line;
use crate::domain::check::Check;
use crate::domain::limits;
use crate::finding::Findings;
use crate::shape::{Described, List, Map, NON_BLANK, Shape, Text, UNBOUNDED, check::check};

/// `[checks]` with a command per name, or `[[checks]]` as in a plan.
pub const SHAPE: Shape = Shape::Either(&[Shape::Map(&NAMED), Shape::List(&LISTED)]);

static NAMED: Map = Map { value: COMMAND, key: Text { min: 1, max: UNBOUNDED, form: None } };
static LISTED: List = List { item: RawCheck::SHAPE, min: 0, max: limits::CHECKS_PER_TASK_MAX };
const COMMAND: Shape = Shape::Either(&[NON_BLANK, Shape::List(&ARGUMENTS), RawCheck::SHAPE]);
static ARGUMENTS: List =
    List { item: Shape::Text(Text { min: 0, max: UNBOUNDED, form: None }), min: 1, max: 1000 };

/// The checks of this value, which stands at `path` in its document.
pub fn read(value: &Value, path: &str) -> Result<Vec<Check>, Findings> {
    let mut findings = Findings::default();
    for finding in check(&SHAPE, value, true).sorted() {
        findings.push(finding.path.replacen('$', path, 1), finding.rule, finding.message);
    }
    super::read::refuse_secrets(value, &mut path.to_owned(), ADVICE, &mut findings);
    let mut checks = Vec::new();
    if findings.is_empty() {
        let entries: Vec<(String, &Value)> = match value {
            Value::Object(named) => named.iter().map(|(name, one)| (format!("{path}.{name}"), one)).collect(),
            Value::Array(list) => {
                list.iter().enumerate().map(|(index, one)| (format!("{path}[{index}]"), one)).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        checks = entries.iter().filter_map(|(at, one)| one_check(one, at, &mut findings)).collect();
        if checks.len() > limits::CHECKS_PER_TASK_MAX {
            let message = format!("more than {} checks", limits::CHECKS_PER_TASK_MAX);
            findings.push(path.to_owned(), "max_items", message);
        }
    }
    if findings.is_empty() { Ok(checks) } else { Err(findings) }
}

const ADVICE: &str = "keep it in the environment";

fn one_check(value: &Value, at: &str, findings: &mut Findings) -> Option<Check> {
    let made = match value {
        Value::String(line) => command_line::split(line).map(Check::of_arguments).map_err(|fault| {
            format!("{fault}; write {{ command = \"…\", shell = true }} to run it with a shell")
        }),
        Value::Array(_) => {
            serde_json::from_value(value.clone()).map(Check::of_arguments).map_err(|error| error.to_string())
        }
        Value::Object(_) => match serde_json::from_value::<RawCheck>(value.clone()) {
            Ok(raw) => Ok(raw.finish(at, findings)),
            Err(error) => Err(error.to_string()),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => Err("must be a command".to_owned()),
    };
    let fault = match made {
        Ok(check) => match check.fault() {
            None => return Some(check),
            Some(fault) => fault.to_owned(),
        },
        Err(fault) => fault,
    };
    findings.push(at.to_owned(), "form", fault);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::read::toml_value;

    fn read_toml(text: &str) -> Result<Vec<Check>, Vec<String>> {
        let value = toml_value(text).unwrap();
        read(&value["checks"], "$.checks")
            .map_err(|findings| findings.sorted().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_check_is_a_line_a_list_or_a_table() {
        let text = "[checks]\na = \"cargo test 'two words'\"\nb = [\"test\", \"-e\", \"x\"]\n\
                    c = { command = \"a && b\", shell = true }\nd = { command = \"out.txt\", expects = \"FILE_EXISTS\" }\n";
        let checks = read_toml(text).unwrap();
        let shown: Vec<String> = checks
            .iter()
            .map(|check| format!("{:?} {} {}", check.command, check.shell, check.expects))
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        ["cargo", "test", "two words"] false EXIT_CODE_0
        ["test", "-e", "x"] false EXIT_CODE_0
        ["a && b"] true EXIT_CODE_0
        ["out.txt"] false FILE_EXISTS
        "#);
        let listed = read_toml("[[checks]]\ncommand = [\"true\"]\n").unwrap();
        assert_eq!(listed, [Check::of_arguments(vec!["true".to_owned()])]);
        assert_eq!(read_toml("[checks]\n").unwrap(), []);
    }

    #[test]
    fn a_wrong_check_is_named() {
        for (text, expected) in [
            (
                "[checks]\na = \"x && y\"\n",
                "$.checks.a: has `&&`, which only a shell understands; write { command = \"…\", shell = true } to run it with a shell",
            ),
            ("[checks]\na = [\"\"]\n", "$.checks.a: must name a program"),
            ("[checks]\na = \" \"\n", "$.checks.a: must be text that is not blank"),
            (
                "[[checks]]\ncommand = \"x y\"\n",
                "$.checks[0].command: must be a list of arguments such as [\"cargo\", \"test\"]; or set `shell = true`",
            ),
        ] {
            assert_eq!(read_toml(text).unwrap_err(), [expected], "{text}");
        }
        assert!(read_toml("checks = 7\n").is_err());
        assert!(read_toml("[checks]\na = 7\n").is_err());
        assert!(read_toml("[[checks]]\ncomand = [\"x\"]\n").is_err());
    }
}
