//! What a run would do, for people.

use std::fmt::Write;

use contract::domain::text::counted;
use ops::run::preview::Answer;

use crate::output::one_line;

pub(super) fn text(would: &Answer) -> String {
    let mut text = format!(
        "would run `{}` in {}: {}, at most {} at once\n",
        one_line(&would.objective),
        would.workspace,
        counted(would.tasks.len(), "task"),
        would.max_parallel
    );
    for task in &would.tasks {
        let after = match task.depends_on.as_slice() {
            [] => String::new(),
            needed => format!(" after {}", needed.join(", ")),
        };
        let checks = counted(task.checks, "check");
        let line = format!("  {}: {} [{checks}]{after}", task.id, task.command.join(" "));
        writeln!(text, "{}", one_line(&line)).expect("BUG: writing to memory cannot fail");
    }
    text
}
