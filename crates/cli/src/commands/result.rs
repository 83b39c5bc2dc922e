//! `writ result`

use std::path::PathBuf;
use std::process::ExitCode;

use ops::Result;
use ops::result::submit::{Request, Submit};

use super::assignment::dollars;
use super::crew::{own_token, read_document};
use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Submit a worker's result; a task is done only after writ ran its checks
    ///
    /// A result that is blocked or failed needs a last worklog entry with a code and a next step, appended under the same
    /// token.
    #[command(after_help = "Examples:
  writ result submit result.json
  writ result submit --token 7 --cost 0.42 --tokens 31000 < result.json")]
    Submit {
        /// The result, or - for standard input
        #[arg(default_value = "-")]
        file: PathBuf,
        /// The token of the assignment [default: the document's x_token, else WRIT_ASSIGNMENT]
        #[arg(long)]
        token: Option<String>,
        /// What the worker spent in dollars [default: unknown, and what was reserved is withheld]
        #[arg(long, value_name = "USD")]
        cost: Option<f64>,
        /// What the worker spent in tokens [default: unknown, and what was reserved is withheld]
        #[arg(long, value_name = "COUNT")]
        tokens: Option<i64>,
        /// Refuse unknown fields without x_, and require a worklog of a task that is done too
        #[arg(long)]
        strict: bool,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Submit { file, token, cost, tokens, strict } = command;
    let document = read_document(file)?;
    let task = document["task_id"].as_str().unwrap_or_default();
    let token_of = if document["x_token"].is_null() { task } else { "" };
    let token = own_token(token.as_deref(), token_of)?;
    let request =
        Request { token, cost: cost.map(dollars).transpose()?, tokens: *tokens, strict: *strict, document };
    host::answer::<Submit>(globals, output, &request, |answer| {
        let evidence = answer.evidence.map(|evidence| format!(", {}", evidence.as_str())).unwrap_or_default();
        let withheld = answer.withheld.as_deref().map(|reason| format!(": {}", one_line(reason)));
        let evidence = format!("{evidence}{}", withheld.unwrap_or_default());
        format!("{} is {}{evidence}", answer.task_id, answer.status)
    })
}
