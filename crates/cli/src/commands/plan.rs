//! `writ plan check` and `writ plan schema`

use std::path::PathBuf;
use std::process::ExitCode;

use contract::shape::{Shape, schema::schema};
use ops::Result;
use serde_json::json;

use super::run::read_document;
use crate::config;
use crate::output::{Format, Output};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Say everything that is wrong with a plan, an AOP TASK or an AEE task
    Check {
        /// The file, or - for standard input
        file: PathBuf,
    },
    /// Print the JSON Schema of plan files
    Schema,
}

pub(crate) fn run(command: &Command, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Schema => {
            let schema = schema("writ plan", &Shape::Object(contract::plan::shapes::PLAN));
            Ok(output.text(&format!("{schema:#}")))
        }
        Command::Check { file } => {
            let document = read_document(file, &config::load(&super::run::directory_of(file))?)?;
            let tasks: Vec<&str> = document.intake.plan.tasks.iter().map(|task| task.id.as_str()).collect();
            let kind = document.intake.kind.as_str();
            if output.format == Format::Text {
                return Ok(output.text(&format!(
                    "ok: {kind} with {} tasks: {}",
                    tasks.len(),
                    tasks.join(", ")
                )));
            }
            Ok(output.answer(&json!({"kind": kind, "tasks": tasks}), String::new))
        }
    }
}
