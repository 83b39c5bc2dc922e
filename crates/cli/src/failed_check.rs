//! A failed check for people: its command, how it ended, the last lines of its output, and what to type next.

use contract::domain::check::CheckSeen;

use crate::output::{harmless, one_line};

/// The check, below a line about its task that starts `indent` columns from the left.
pub(crate) fn text(check: &CheckSeen, indent: usize) -> String {
    let margin = " ".repeat(indent + 2);
    let mut text = format!("{margin}{}\n", one_line(&check.fault()));
    let lines = check.last_lines();
    if lines.is_empty() {
        text.push_str(&format!("{margin}  (it printed nothing)\n"));
    }
    for line in lines {
        let line = line.trim_end_matches('\r').replace('\t', "    ");
        text.push_str(format!("{margin}| {}", harmless(&line)).trim_end());
        text.push('\n');
    }
    text
}

/// The commands that help with a task that failed, by the name under which they find it.
pub(crate) fn next(name: &str) -> String {
    let name = shlex::try_quote(name).unwrap_or_else(|_| name.into());
    let logs = format!("writ logs {name}");
    let retry = format!("writ retry {name}");
    let width = logs.len().max(retry.len());
    format!(
        "  {logs:<width$}  # all of its output\n  {retry:<width$}  # run it again, and what depends on it\n"
    )
}
