//! What a verb is: a name, a surface, a typed request and answer, and one function that says what it changes.

use contract::domain::code::ErrorCode;
use contract::secrets::find_in;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;

/// One thing the product can do. Every door calls it through this trait, or through [`VerbEntry`] where it knows only
/// the name.
pub trait Verb: Sized {
    /// `<thing>.<verb>`. Stored with every answer that a retry gets again, so it never changes.
    const NAME: &'static str;
    /// What a person types after the program's name; empty for a verb that only programs call.
    const COMMAND: &'static str;
    /// One line for help and documentation: imperative, no full stop.
    const SUMMARY: &'static str;
    const SURFACE: Surface;
    /// Whether a verb that writes does so while writ is halted.
    const WHILE_HALTED: WhileHalted = WhileHalted::Refused;
    /// Unknown fields are refused, unless a published contract tolerates them; then the answer lists them.
    type Request: Serialize + DeserializeOwned + JsonSchema;
    /// The one document that every door returns.
    type Answer: Serialize + DeserializeOwned + JsonSchema;
    const FUNCTION: Function<Self>;

    /// Reads a request from JSON. Documents of a published contract report their faults as that contract does.
    fn read(request: Value) -> Result<Self::Request> {
        read(request)
    }
}

/// A verb's function. Its kind is the verb's effect, so the two cannot disagree.
pub enum Function<V: Verb> {
    /// Changes nothing.
    Reads(fn(&mut Context, &Session, &V::Request) -> Result<V::Answer>),
    /// Changes something once per request id.
    Once(fn(&mut Context, &Session, &V::Request) -> Result<Reply<V::Answer>>),
    /// Changes something, and calling it again does no harm: it needs no request id.
    Repeatable(fn(&mut Context, &Session, &V::Request) -> Result<V::Answer>),
}

/// What calling a verb does to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Once,
    Repeatable,
}

impl Effect {
    pub fn mutates(self) -> bool {
        match self {
            Effect::Reads => false,
            Effect::Once | Effect::Repeatable => true,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Reads => "reads",
            Effect::Once => "once",
            Effect::Repeatable => "repeatable",
        }
    }
}

impl<V: Verb> Function<V> {
    pub const fn effect(&self) -> Effect {
        match self {
            Function::Reads(_) => Effect::Reads,
            Function::Once(_) => Effect::Once,
            Function::Repeatable(_) => Effect::Repeatable,
        }
    }
}

/// What a verb that writes does while writ is halted. Reading is always possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileHalted {
    Refused,
    /// A person decides it, or it only ends or keeps something.
    Possible,
}

/// Whose exit codes and envelope a verb follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The agent contract: exit 0 or 1, usage errors included, one JSON envelope on standard output.
    Continuity,
    /// The crew's verbs: writ's exit codes, JSON unless a person looks.
    Crew,
    /// Validators: exit 0 allow, 1 deny, 2 could not work, and always an answer.
    Validator,
    /// Everything else of writ.
    Writ,
    /// Runs of test vectors: exit 0 all passed, 1 some failed, 2 could not work.
    Conformance,
    /// What hooks call: always exit 0, because an agent must not fail over it.
    Handler,
}

impl Surface {
    /// Whether programs get JSON without asking for it.
    pub fn prints_json(self) -> bool {
        match self {
            Surface::Continuity | Surface::Crew | Surface::Validator => true,
            Surface::Writ | Surface::Conformance | Surface::Handler => false,
        }
    }
}

/// Calls a verb with a typed request. A verb that changes something once needs a request id.
pub fn call<V: Verb>(cx: &mut Context, session: &Session, request: &V::Request) -> Result<Reply<V::Answer>> {
    cx.store.permit_while_halted(V::WHILE_HALTED == WhileHalted::Possible);
    if V::FUNCTION.effect().mutates() && session.request_id.is_none() {
        return Err(key_required(V::NAME));
    }
    match V::FUNCTION {
        Function::Reads(read) => read(cx, session, request).map(Reply::fresh),
        Function::Once(write) => write(cx, session, request),
        Function::Repeatable(write) => write(cx, session, request).map(Reply::fresh),
    }
}

pub(crate) fn key_required(name: &str) -> Error {
    let message = format!("`{name}` changes something, so it needs an agent and a request id");
    Error::new(ErrorCode::InvalidInput, message)
}

/// A verb as doors see it that know only its name: requests and answers are JSON.
pub struct VerbEntry {
    pub name: &'static str,
    pub command: &'static str,
    pub summary: &'static str,
    pub effect: Effect,
    pub surface: Surface,
    pub while_halted: WhileHalted,
    pub call: fn(&mut Context, &Session, Value) -> Result<Reply<Value>>,
    /// Reads a request without calling the verb: whether it is one, or which field is wrong.
    pub check: fn(Value) -> Result<()>,
    pub request_schema: fn() -> Value,
    pub answer_schema: fn() -> Value,
}

impl VerbEntry {
    pub(crate) const fn of<V: Verb>() -> Self {
        Self {
            name: V::NAME,
            command: V::COMMAND,
            summary: V::SUMMARY,
            effect: V::FUNCTION.effect(),
            surface: V::SURFACE,
            while_halted: V::WHILE_HALTED,
            call: call_json::<V>,
            check: |request| V::read(request).map(drop),
            request_schema: schema::<V::Request>,
            answer_schema: schema::<V::Answer>,
        }
    }
}

fn call_json<V: Verb>(cx: &mut Context, session: &Session, request: Value) -> Result<Reply<Value>> {
    let request = V::read(request)?;
    let Reply { answer, replayed } = call::<V>(cx, session, &request)?;
    let answer = serde_json::to_value(&answer)
        .map_err(|error| Error::new(ErrorCode::Bug, format!("an answer has no JSON form: {error}")))?;
    Ok(Reply { answer, replayed })
}

/// Reads a request, or says which field is wrong and why.
pub fn read<R: DeserializeOwned>(request: Value) -> Result<R> {
    // Serde would also read the fields of a request from an array, by their order.
    if !request.is_object() {
        return Err(Error::new(ErrorCode::InvalidInput, "$: a request must be a JSON object")
            .details(serde_json::json!({ "path": "$" })));
    }
    serde_path_to_error::deserialize(request).map_err(|error| {
        let path = match error.path().to_string() {
            root if root == "." => "$".to_owned(),
            path => format!("$.{path}"),
        };
        let message = format!("{path}: {}", plain(&quoting_no_secret(&path, &error.inner().to_string())));
        Error::new(ErrorCode::InvalidInput, message).details(serde_json::json!({ "path": path }))
    })
}

/// A fault in the words of people who know JSON and not the parser.
fn plain(fault: &str) -> String {
    let known = |prefix: &str| fault.strip_prefix(prefix).and_then(|rest| rest.split_once(", expected "));
    if let Some((found, expected)) = known("unknown variant ") {
        return format!("{found} is not known, use {expected}");
    }
    match known("invalid type: ").or_else(|| known("invalid value: ")) {
        Some((found, expected)) => format!("must be {expected}, is {found}"),
        None => fault.to_owned(),
    }
}

/// A fault may quote the value, which is a secret if the name of its field says so. Other secrets are seen without it.
fn quoting_no_secret(path: &str, fault: &str) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    let quoted = fault.split_once('"').and_then(|(before, rest)| Some((before, rest.rsplit_once('"')?)));
    match quoted {
        Some((before, (value, after))) if find_in(&serde_json::json!({name: value})).is_some() => {
            format!("{before}\"[REDACTED]\"{after}")
        }
        _ => fault.to_owned(),
    }
}

fn schema<T: JsonSchema>() -> Value {
    schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}
