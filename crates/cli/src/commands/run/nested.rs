//! `writ run` inside a sandbox: the engine outside works the run, within what the calling task may do.

use std::process::ExitCode;

use contract::domain::run::RunState;
use contract::json::Value;
use ops::Result;
use ops::run::submit::{Request, Submit};
use ops::run::work::RunAnswer;

use super::runs;
use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

/// Depth and parents are known outside.
pub(super) fn run(request: &Request, (globals, output): (&Globals, &Output)) -> Result<ExitCode> {
    let answer = host::call::<Submit>(globals, request)?;
    // The run's tasks cannot be read from here; the answer has their outcome.
    runs::print_result_as(&answer, output, || Ok(summary(&answer)))
}

fn summary(answer: &RunAnswer) -> String {
    let state = answer.state().map_or("unknown", RunState::as_str);
    let mut text = format!("run {}: {state}\n", answer.run_id());
    let word = |task: &Value, field: &str| one_line(task[field].as_str().unwrap_or_default()).into_owned();
    for task in answer.0["tasks"].as_array().into_iter().flatten() {
        let reason = word(task, "reason");
        let reason = if reason.is_empty() { String::new() } else { format!("  {reason}") };
        text.push_str(&format!("  {}  {}{reason}\n", word(task, "name"), word(task, "status")));
    }
    text
}
