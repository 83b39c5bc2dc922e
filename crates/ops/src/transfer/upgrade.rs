//! Migrates the store to this program's schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Upgrade;

impl Verb for Upgrade {
    const NAME: &'static str = "store.upgrade";
    const COMMAND: &'static str = "upgrade";
    const SUMMARY: &'static str = "Migrate the store to this version's schema";
    const SURFACE: Surface = Surface::Continuity;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Repeatable(upgrade);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Always `local`: nothing is downloaded.
    pub source: String,
    /// Always `migrate`.
    pub method: String,
    pub version: String,
    /// Where the store is.
    pub path: String,
    /// The schema before; 0 for a new store.
    pub schema_before: usize,
    pub schema: usize,
    pub migrated: bool,
    pub changed: bool,
}

/// The store was migrated when it was opened; this tells from where to where.
pub fn upgrade(cx: &mut Context, _: &Session, _: &Request) -> Result<Answer> {
    let (before, schema) = cx.schemas();
    Ok(Answer {
        source: "local".to_owned(),
        method: "migrate".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        path: cx.store_path().display().to_string(),
        schema_before: before,
        schema,
        migrated: true,
        changed: before != schema,
    })
}
