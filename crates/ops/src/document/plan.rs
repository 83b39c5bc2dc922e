//! Checks plans and other documents that can be run, and shows the schema of plans.

mod warnings;

use contract::domain::limits;
use contract::domain::pins::Digests;
use contract::domain::plan::PlanTask;
use contract::intake::Reading;
use contract::shape::Shape;
use contract::shape::schema::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::Schema;
use crate::run::document::{DocumentInput, ReadDocument, understand};
use crate::verb::{Function, Surface, Verb};

pub struct Check;

impl Verb for Check {
    const NAME: &'static str = "plan.check";
    const COMMAND: &'static str = "plan check";
    const SUMMARY: &'static str = "Report everything that is wrong with a plan, an AOP TASK or an AEE task";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request: &Request| {
        let executors = cx.host().executors(&request.directory)?;
        let reading = Reading { name: request.name.clone(), now: cx.now().at, ..Reading::default() };
        let understood = understand(&request.document.bytes(), &request.directory, &reading, &executors)?;
        let host = cx.host();
        let is_directory = |root: &str, path: &str| host.is_directory(root, path);
        Ok(Answer::of(&understood, |root, paths| host.digests(root, paths), is_directory))
    });
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// plan, aop_task or aee_task.
    pub kind: String,
    /// The ids of its tasks.
    pub tasks: Vec<String>,
    /// What will work, but probably not as it is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// Something about a plan that its author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Where in the plan.
    pub path: String,
    pub rule: String,
    pub message: String,
}

impl Answer {
    /// `digests` and `is_directory` look at paths of the workspace.
    pub fn of(
        understood: &ReadDocument,
        digests: impl Fn(&str, &[&str]) -> Digests,
        is_directory: impl Fn(&str, &str) -> bool,
    ) -> Self {
        let tasks = &understood.intake.plan.tasks;
        let workspace = &understood.workspace;
        let warn = |(index, task): (usize, &PlanTask)| {
            warnings::about((index, task), workspace, &digests, &is_directory)
        };
        Self {
            kind: understood.intake.kind.as_str().to_owned(),
            tasks: tasks.iter().map(|task| task.id.clone()).collect(),
            warnings: tasks.iter().enumerate().flat_map(warn).take(limits::FINDINGS_MAX).collect(),
        }
    }
}

pub struct PlanSchema;

impl Verb for PlanSchema {
    const NAME: &'static str = "plan.schema";
    const COMMAND: &'static str = "plan schema";
    const SUMMARY: &'static str = "Print the JSON Schema of plan files";
    const SURFACE: Surface = Surface::Writ;
    type Request = SchemaRequest;
    type Answer = Schema;
    const FUNCTION: Function<Self> = Function::Reads(|_, _, _| Ok(plan_schema()));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaRequest {}

pub fn plan_schema() -> Schema {
    Schema(schema("writ plan", &Shape::Object(contract::plan::shapes::PLAN)))
}
