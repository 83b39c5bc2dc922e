//! `writ session`

use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::money::MicroUsd;
use contract::domain::text::counted;
use contract::json::Value;
use ops::Result;
use ops::aop_session::{audit, list, report, show};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List AOP sessions, the one with the newest run first
    #[command(after_help = "Examples:\n  writ session list\n  writ session list --output json")]
    List,
    /// Show an AOP session: its runs, its TASKs and who delegated them
    #[command(after_help = "Examples:\n  writ session show AOP-SESSION-2026-02-26-001")]
    Show {
        /// The session's id
        session: String,
    },
    /// Print the final report of an AOP session as an AOP EVENT
    #[command(after_help = "Examples:\n  writ session report AOP-SESSION-2026-02-26-001 --output json")]
    Report {
        /// The session's id
        session: String,
    },
    /// Print the audit records of an AOP session, or write their files
    #[command(
        after_help = "Examples:\n  writ session audit AOP-SESSION-2026-02-26-001 --output json\n  writ session audit AOP-SESSION-2026-02-26-001 --write audit"
    )]
    Audit {
        /// The session's id
        session: String,
        /// Write the files into this directory: those that are missing, and those that differ
        #[arg(long, value_name = "DIR")]
        write: Option<PathBuf>,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::List => host::answer::<list::List>(globals, output, &list::Request::default(), listed),
        Command::Show { session } => {
            let request = show::Request { session: session.clone() };
            host::answer::<show::Show>(globals, output, &request, shown)
        }
        Command::Report { session } => {
            let request = report::Request { session: session.clone() };
            host::answer::<report::Report>(globals, output, &request, reported)
        }
        Command::Audit { session, write: None } => {
            let request = audit::Request { session: session.clone() };
            host::answer::<audit::Audit>(globals, output, &request, audited)
        }
        Command::Audit { session, write: Some(directory) } => {
            let directory = host::absolute(directory.clone()).to_string_lossy().into_owned();
            let request = audit::WriteRequest { session: session.clone(), directory };
            host::answer::<audit::WriteAudit>(globals, output, &request, audited)
        }
    }
}

fn listed(answer: &list::Answer) -> String {
    if answer.sessions.is_empty() {
        return "there are no AOP sessions\n".to_owned();
    }
    let line = |one: &list::SessionBrief| {
        format!("{}  {}  {}\n", one_line(&one.session_id), counted(one.runs, "run"), one.newest_run)
    };
    answer.sessions.iter().map(line).collect()
}

fn shown(answer: &show::Answer) -> String {
    let mut text = format!("{}  {}\n", one_line(&answer.session_id), answer.final_signal);
    for run in &answer.runs {
        text.push_str(&format!("  {}  {}  {}\n", run.id, run.state.as_str(), one_line(&run.objective)));
    }
    let word = |value: &Value| one_line(value.as_str().unwrap_or("-")).into_owned();
    for node in answer.delegation_graph["nodes"].as_array().into_iter().flatten() {
        let depth = node["depth"].as_u64().unwrap_or(1);
        let indent = "  ".repeat(usize::try_from(depth).unwrap_or(1));
        let after: Vec<String> = node["depends_on"].as_array().into_iter().flatten().map(word).collect();
        let after = if after.is_empty() { String::new() } else { format!(" after {}", after.join(", ")) };
        // A part of the work is a completed TASK, too.
        let is_partial = node["final_signal"] == "PARTIAL_SUCCESS";
        let state = word(if is_partial { &node["final_signal"] } else { &node["state"] });
        let line = format!("{}  {state}  {}{after}", word(&node["task_id"]), word(&node["agent"]));
        text.push_str(&format!("{indent}{line}\n"));
    }
    text
}

fn reported(answer: &report::Answer) -> String {
    let report = &answer.0;
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let status = |field: &str| report.pointer(&format!("/session_status/{field}")).and_then(Value::as_str);
    let state = status("state").filter(|state| *state == "IN_PROGRESS");
    let signal = state.or_else(|| status("final_signal")).unwrap_or("-");
    let mut text = format!(
        "{}  {signal}: {} of {} TASKs completed, {} failed\n",
        one_line(report["session_id"].as_str().unwrap_or("-")),
        number("/totals/completed"),
        number("/totals/total_tasks"),
        number("/totals/failed"),
    );
    let dollars = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64);
    if let Some(cost) = dollars("/cost_summary/actual_cost_usd").and_then(MicroUsd::from_dollars) {
        text.push_str(&format!("cost {cost}\n"));
    }
    text
}

fn audited(answer: &audit::Answer) -> String {
    let mut text: String = answer.records.iter().map(|one| format!("{}\n", one_line(&one.file))).collect();
    if answer.left_out > 0 {
        text.push_str(&format!("{} more\n", counted(answer.left_out, "record")));
    }
    let records = counted(answer.count, "record");
    text.push_str(&match answer.written {
        Some(written) => format!("{records}, {} written\n", counted(written, "file")),
        None => format!("{records}\n"),
    });
    if answer.unread > 0 {
        let events = counted(answer.unread, "event");
        text.push_str(&format!("{events} could not be read; their records are missing\n"));
    }
    for run in &answer.pruned_runs {
        text.push_str(&format!("old events of {run} were removed; its records may be incomplete\n"));
    }
    text
}
