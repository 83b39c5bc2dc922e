//! Lists the kinds of documents, and shows their JSON Schemas.

use contract::domain::code::ErrorCode;
use contract::validate::{Kind, schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "schema.list";
    const COMMAND: &'static str = "schema list";
    const SUMMARY: &'static str = "List the kinds of documents, and which have a schema";
    const SURFACE: Surface = Surface::Writ;
    type Request = ListRequest;
    type Answer = Kinds;
    const FUNCTION: Function<Self> = Function::Reads(|_, _, _| Ok(kinds()));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRequest {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kinds {
    pub kinds: Vec<KindRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindRow {
    pub kind: String,
    pub about: String,
    /// Whether it has a JSON Schema; kinds that are text have none.
    pub schema: bool,
}

pub fn kinds() -> Kinds {
    let row = |kind: &Kind| KindRow {
        kind: kind.as_str().to_owned(),
        about: kind.about().to_owned(),
        schema: schema::of(*kind, false).is_some(),
    };
    Kinds { kinds: Kind::ALL.iter().map(row).collect() }
}

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "schema.show";
    const COMMAND: &'static str = "schema show";
    const SUMMARY: &'static str = "Print the JSON Schema of a kind of document";
    const SURFACE: Surface = Surface::Writ;
    type Request = ShowRequest;
    type Answer = Schema;
    const FUNCTION: Function<Self> = Function::Reads(|_, _, request| show(request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowRequest {
    /// A kind that `schema.list` names.
    pub kind: String,
    /// As a strict reader has it: fields that would be ignored are faults.
    #[serde(default)]
    pub strict: bool,
}

/// A JSON Schema (2020-12).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Schema(pub Value);

pub fn show(request: &ShowRequest) -> Result<Schema> {
    let word = &request.kind;
    let unknown = || {
        let message = format!("there is no kind `{word}`");
        Error::new(ErrorCode::InvalidInput, message).hint("`writ schema list` shows them")
    };
    let kind = Kind::named(word).ok_or_else(unknown)?;
    let text = || {
        let message = format!("`{word}` is text, which no JSON Schema describes");
        Error::new(ErrorCode::InvalidInput, message)
    };
    schema::of(kind, request.strict).map(Schema).ok_or_else(text)
}
