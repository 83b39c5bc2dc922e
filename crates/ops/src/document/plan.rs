//! Checks plans and other documents that can be run, and shows the schema of plans.

use contract::shape::Shape;
use contract::shape::schema::schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::Schema;
use crate::run::document::{Document, Understood, understand};
use crate::verb::{Function, Surface, Verb};

pub struct Check;

impl Verb for Check {
    const NAME: &'static str = "plan.check";
    const COMMAND: &'static str = "plan check";
    const SUMMARY: &'static str = "Report everything that is wrong with a plan, an AOP TASK or an AEE task";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, request: &Request| {
        let executors = cx.host().executors(&request.directory)?;
        let (bytes, name) = (request.document.bytes(), request.name.as_deref());
        Ok(Answer::from(&understand(&bytes, &request.directory, name, &executors)?))
    });
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub document: Document,
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
}

impl From<&Understood> for Answer {
    fn from(understood: &Understood) -> Self {
        let tasks = understood.intake.plan.tasks.iter().map(|task| task.id.clone());
        Self { kind: understood.intake.kind.as_str().to_owned(), tasks: tasks.collect() }
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
    const FUNCTION: Function<Self> = Function::Reads(|_, _| Ok(plan_schema()));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaRequest {}

pub fn plan_schema() -> Schema {
    Schema(schema("writ plan", &Shape::Object(contract::plan::shapes::PLAN)))
}
