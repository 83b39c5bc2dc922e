//! Checks a document and shows what a run of it would do.

use std::collections::BTreeMap;

use contract::domain::run::RunWarning;
use contract::plan::order::sorted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::{self, DocumentInput, ReadDocument};
use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Preview;

impl Verb for Preview {
    const NAME: &'static str = "run.preview";
    const COMMAND: &'static str = "run --dry-run";
    const SUMMARY: &'static str = "Show what a run of a document would do";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| preview(cx, request));
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub document: DocumentInput,
    /// The absolute path of the directory that relative paths in the document start from.
    pub directory: String,
    /// What messages call the document, such as the name of its file.
    #[serde(default)]
    pub name: Option<String>,
    /// The executor that gets the TASKs or the prompt of the document, whatever they name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// Where directories that the TASKs of the document name are here, such as `C:/workspace`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub map: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub objective: String,
    pub workspace: String,
    pub max_parallel: usize,
    /// In the order in which they could run.
    pub tasks: Vec<PlannedTask>,
    /// What the author of the document should know although it is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RunWarning>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTask {
    pub id: String,
    pub command: Vec<String>,
    pub depends_on: Vec<String>,
    /// How many checks decide whether it is done.
    pub checks: usize,
}

pub fn preview(cx: &mut Context, request: &Request) -> Result<Answer> {
    let reading = document::reading(cx, request.name.as_deref(), request.executor.as_deref(), &request.map)?;
    let understood = document::read(cx, &request.document, &request.directory, &reading)?;
    Ok(Answer::from(&understood))
}

impl From<&ReadDocument> for Answer {
    fn from(understood: &ReadDocument) -> Self {
        let plan = &understood.intake.plan;
        let planned = |index: usize| {
            let task = &plan.tasks[index];
            PlannedTask {
                id: task.id.clone(),
                command: task.command.clone(),
                depends_on: task.depends_on.clone(),
                checks: task.checks.len(),
            }
        };
        Self {
            objective: understood.intake.objective.clone(),
            workspace: understood.workspace.clone(),
            max_parallel: plan.max_parallel,
            tasks: sorted(plan).into_iter().map(planned).collect(),
            warnings: understood.intake.warnings.clone(),
        }
    }
}
