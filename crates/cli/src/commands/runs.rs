//! `writ runs list` and `writ runs show`

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::run::{Run, RunState};
use contract::domain::time::human_duration;
use contract::json::Value;
use ops::run::show::{Whole, list, show};
use ops::{Context, Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::host;
use crate::output::{Format, Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List runs, newest first
    List {
        /// submitted, running, stopped, done, failed or canceled
        #[arg(long)]
        state: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Show a run with its tasks and attempts
    Show {
        /// The run, an unambiguous beginning of its id, or its correlation
        run: String,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    match command {
        Command::List { state, limit } => {
            let state = state.as_deref().map(parse_state).transpose()?;
            let runs = list(&mut cx, state, *limit)?;
            let data: Vec<Value> = runs.iter().map(brief).collect();
            Ok(output.answer(&json!({"count": data.len(), "runs": data}), || {
                if runs.is_empty() {
                    return "no runs\n".to_owned();
                }
                let line = |run: &Run| {
                    let state = run.state.as_str();
                    let objective = one_line(&run.asked.objective);
                    format!("{}  {state:<9}  {}  {objective}\n", run.asked.id, run.created_at)
                };
                runs.iter().map(line).collect()
            }))
        }
        Command::Show { run } => {
            let whole = show(&mut cx, run)?;
            Ok(output.answer(&document(&whole), || text(&whole)))
        }
    }
}

fn parse_state(word: &str) -> Result<RunState> {
    RunState::parse(word).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("invalid state '{word}'"))
            .hint("one of submitted, running, stopped, done, failed, canceled")
    })
}

fn brief(run: &Run) -> Value {
    json!({
        "id": run.asked.id, "corr": run.asked.corr, "state": run.state, "objective": run.asked.objective,
        "requested_by": run.asked.requested_by, "created_at": run.created_at, "ended_at": run.ended_at,
    })
}

fn document(whole: &Whole) -> Value {
    let mut data = brief(&whole.run);
    data["workspace"] = json!(whole.run.asked.workspace);
    data["document"] = json!({"kind": whole.run.asked.kind, "digest": whole.run.asked.document_digest});
    data["result"] = whole.run.result.clone().unwrap_or(Value::Null);
    let tasks: Vec<Value> = whole
        .tasks
        .iter()
        .map(|(task, attempts)| {
            let name = task.part.as_ref().map(|part| part.spec.id.as_str());
            json!({
                "id": task.id, "name": name, "title": task.title, "status": task.status, "evidence": task.evidence,
                "reason": task.blocked_reason, "depends_on": task.depends_on, "attempts": attempts,
            })
        })
        .collect();
    data["tasks"] = json!(tasks);
    data
}

fn text(whole: &Whole) -> String {
    let run = &whole.run;
    let objective = one_line(&run.asked.objective);
    let mut text = format!("{}  {}  {objective}\n", run.asked.id, run.state.as_str());
    text.push_str(&format!(
        "  corr {}  by {}  in {}\n",
        one_line(&run.asked.corr),
        one_line(&run.asked.requested_by),
        one_line(&run.asked.workspace)
    ));
    if let Some(reason) = run.result.as_ref().and_then(|result| result.get("reason")).and_then(Value::as_str)
    {
        text.push_str(&format!("  {}\n", one_line(reason)));
    }
    for (task, attempts) in &whole.tasks {
        let name = task.part.as_ref().map_or("", |part| part.spec.id.as_str());
        let evidence = task.evidence.map(|evidence| format!(" ({})", evidence.as_str())).unwrap_or_default();
        text.push_str(&format!("\n  {name}  {}{evidence}  {}\n", task.status, task.id));
        if let Some(reason) = &task.blocked_reason {
            text.push_str(&format!("    because {}\n", one_line(reason)));
        }
        for attempt in attempts {
            let took = attempt.ended_at.map(|end| human_duration(end.since(attempt.started_at)));
            let exit = attempt.outcome.as_ref().and_then(|outcome| outcome.exit_code);
            let exit = exit.map(|code| format!(", exit {code}")).unwrap_or_default();
            text.push_str(&format!(
                "    attempt {}: {}{exit}, {}\n",
                attempt.begun.number,
                attempt.state.as_str(),
                took.unwrap_or_else(|| "not ended".to_owned())
            ));
            for check in attempt.outcome.iter().flat_map(|outcome| &outcome.checks) {
                let mark = if check.passed { "passed" } else { "FAILED" };
                let command = check.command.join(" ");
                text.push_str(&format!("      check {mark}: {}\n", one_line(&command)));
            }
        }
    }
    text
}

/// The answer of a run that was worked, and the exit code that goes with it.
pub(crate) fn print_result(cx: &mut Context, run: &Run, output: &Output) -> Result<ExitCode> {
    let failed = run.state != RunState::Done;
    let printed = match output.format {
        Format::Json | Format::Ndjson => {
            let data = run.result.clone().unwrap_or_else(|| brief(run));
            output.envelope(!failed, &data)
        }
        Format::Text => output.text(&summary(&show(cx, run.asked.id.as_str())?)),
    };
    if failed { Ok(ExitCode::from(ErrorCode::RunFailed.exit())) } else { Ok(printed) }
}

/// What became of each task, for people.
fn summary(whole: &Whole) -> String {
    let result = whole.run.result.as_ref();
    let field = |name: &str| result.and_then(|result| result.get(name));
    let mut text = String::new();
    if let Some(answer) = field("answer").filter(|answer| !answer.is_null()) {
        text.push_str(&format!("{answer}\n"));
    }
    let width = whole
        .tasks
        .iter()
        .filter_map(|(task, _)| task.part.as_ref())
        .map(|p| p.spec.id.len())
        .max()
        .unwrap_or(0);
    for (task, attempts) in &whole.tasks {
        let name = task.part.as_ref().map_or("", |part| part.spec.id.as_str());
        let took = attempts.last().and_then(|a| Some(human_duration(a.ended_at?.since(a.started_at))));
        let evidence = task.evidence.map(|evidence| format!(", {}", evidence.as_str())).unwrap_or_default();
        let reason = task
            .blocked_reason
            .as_deref()
            .map(|reason| format!(": {}", one_line(reason)))
            .unwrap_or_default();
        let state = format!("{}{evidence}", task.status);
        text.push_str(&format!("{name:<width$}  {state:<15} {:>7}{reason}\n", took.unwrap_or_default()));
    }
    let reason = field("reason").and_then(Value::as_str).unwrap_or("");
    text.push_str(&format!("run {}: {}\n", whole.run.state.as_str(), one_line(reason)));
    text.push_str(&format!("read it back with `writ trace {}`\n", whole.run.asked.id));
    text
}
