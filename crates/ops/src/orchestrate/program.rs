//! An orchestrator that is a program: it reads the ledger and prints its output.

use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::Context;
use crate::crew::denial::deny;
use crate::crew::document;
use crate::error::{Error, Result};
use crate::host::ProgramQuestion;
use crate::ledger::show;

const TIMEOUT_DEFAULT: Duration = Duration::from_mins(10);

/// A program to run, and the run it is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrchestratorProgram {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The run whose ledger the program reads on standard input. Default: no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Default: ten minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Runs the program and returns the document that it printed. Everything it started has ended by then.
pub(super) fn ask(cx: &mut Context, program: &OrchestratorProgram) -> Result<Value> {
    if program.argv.first().is_none_or(|name| name.trim().is_empty()) {
        return Err(Error::new(ErrorCode::InvalidInput, "program.argv must name a program"));
    }
    let ledger = program.run.as_ref().map(|run| show::show(cx, &show::Request { run: run.clone() }));
    let ledger = ledger.transpose()?;
    let timeout = program.timeout_ms.map_or(TIMEOUT_DEFAULT, Duration::from_millis);
    let question = ProgramQuestion {
        argv: program.argv.clone(),
        input: ledger.as_ref().map(|ledger| json!(ledger)),
        timeout: timeout.min(limits::TASK_TIMEOUT_MAX),
    };
    let now = cx.now().at;
    let mark = mint(cx.ids(), now);
    let printed = cx.host().ask_program(&question, &mark).map_err(|error| {
        error.hint("run the program by hand; it must print one JSON object and exit with 0")
    })?;
    let document = document::parse(&printed, limits::DOCUMENT_BYTES_MAX)?;
    if let Some(ledger) = &ledger {
        refuse_other_run(&ledger.run_id, &document)?;
    }
    Ok(document)
}

/// A program that was asked about one run must answer about that run.
fn refuse_other_run(asked: &str, document: &Value) -> Result<()> {
    // A document without a run is refused when it is read.
    match document["run_id"].as_str().filter(|run_id| !run_id.eq_ignore_ascii_case(asked)) {
        None => Ok(()),
        Some(_) => {
            let message = format!("$.run_id is another run; the orchestrator was asked about {asked}");
            Err(deny(Code::NonCompliant, "identity_mismatch", message)
                .hint("answer with the run_id of the ledger on standard input"))
        }
    }
}
