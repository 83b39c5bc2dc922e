//! What is printed, and how. Answers go to standard output, everything else to standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use contract::domain::code::{ErrorCode, Retry};
use contract::domain::time::Clock;
use ops::Error;
use ops::verb::Surface;
use serde::Serialize;
use serde_json::{Value, json};

use crate::clock::SystemClock;
use crate::persona::{self, Persona};
use crate::{env, exit, pager};

pub(crate) use crate::visible::{harmless, one_line};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Ndjson,
}

/// Where and how one command prints.
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) surface: Surface,
    /// Whether long text goes through a pager.
    pub(crate) pages: bool,
}

impl Output {
    /// A terminal gets text. Elsewhere the agent contract, the crew and validators print JSON, and all others text.
    /// `asked` is the value of the flag or the variable. Under its own name the agent contract always prints JSON, and a
    /// handler speaks to its agent in that agent's form.
    pub(crate) fn new(asked: Option<Format>, surface: Surface) -> Self {
        let format = match (surface, persona::current()) {
            (Surface::Handler, _) => Format::Text,
            (_, Persona::Vybe) => Format::Json,
            (_, Persona::Ol | Persona::Ao) => asked.unwrap_or(Format::Text),
            (_, Persona::Writ) => asked.unwrap_or_else(|| {
                if surface.prints_json() && !is_terminal() { Format::Json } else { Format::Text }
            }),
        };
        Self { format, surface, pages: false }
    }

    /// The same, with a pager for long text.
    pub(crate) fn paged(self, pages: bool) -> Self {
        Self { pages: pages && self.format == Format::Text, ..self }
    }

    /// The answer of a continuity verb, in the envelope of its contract; or as text for people. As ndjson, a list is one
    /// line for each of its items.
    pub(crate) fn answer(&self, data: &impl Serialize, text: impl FnOnce() -> String) -> ExitCode {
        match self.format {
            Format::Text => self.text(&text()),
            Format::Json => self.envelope(true, data),
            Format::Ndjson => match items(data) {
                Some(items) => {
                    let lines = items.iter().map(|item| self.line(item));
                    lines
                        .reduce(|first, next| if first == ExitCode::SUCCESS { next } else { first })
                        .unwrap_or(ExitCode::SUCCESS)
                }
                None => self.envelope(true, data),
            },
        }
    }

    /// Data in the agent contract's envelope, whether it tells of success or not. The bridge has bare documents.
    pub(crate) fn envelope(&self, success: bool, data: &impl Serialize) -> ExitCode {
        if persona::current().is_bridge() {
            return self.line(data);
        }
        self.line(&ContinuityEnvelope { schema_version: "v1", success, data })
    }

    pub(crate) fn text(&self, text: &str) -> ExitCode {
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.show(&format!("{}{newline}", harmless(text)))
    }

    /// Text of our own, in colors perhaps.
    pub(crate) fn show(&self, text: &str) -> ExitCode {
        if self.pages && pager::is_long(text) && pager::show(text) {
            return ExitCode::SUCCESS;
        }
        write_out(text)
    }

    /// A document of some contract as it is, byte for byte, whatever form was asked for.
    pub(crate) fn document(&self, text: &str) -> ExitCode {
        write_out(text)
    }

    pub(crate) fn line(&self, value: &impl Serialize) -> ExitCode {
        let print =
            if persona::current().is_pretty() { serde_json::to_string_pretty } else { serde_json::to_string };
        match print(value) {
            // JSON has control characters of its own that a terminal would obey.
            Ok(line) if is_terminal() => write_out(&format!("{}\n", harmless(&line))),
            Ok(line) => write_out(&format!("{line}\n")),
            Err(_) => ExitCode::from(70),
        }
    }

    fn error_document<'e>(&self, error: &'e Error) -> ErrorEnvelope<'e> {
        let is_contract = self.surface == Surface::Continuity;
        let error_context =
            if is_contract { Cow::Owned(as_strings(&error.details)) } else { Cow::Borrowed(&error.details) };
        ErrorEnvelope {
            schema_version: "v1",
            success: false,
            error: full_message(error),
            error_code: error.code,
            error_context,
            suggested_action: error.hint.as_deref().map(in_own_words),
            retry: error.code.retry(),
        }
    }

    /// An error, in the form of the surface. Returns the exit code.
    pub(crate) fn error(&self, error: &Error) -> ExitCode {
        match self.format {
            // Agent programs show what hooks say; one line is enough.
            Format::Text if self.surface == Surface::Handler => {
                say(&format!("writ hook: {}\n", one_line(&full_message(error))));
            }
            Format::Text => say(&error_text(error)),
            // On the bridge, standard output has documents of the contract and nothing else.
            Format::Json | Format::Ndjson if persona::current().is_bridge() => say(&error_text(error)),
            Format::Json | Format::Ndjson => {
                self.line(&self.error_document(error));
            }
        }
        ExitCode::from(exit::code(self.surface, error.code))
    }
}

/// The items of a list: an answer with a `count` and one array.
fn items(data: &impl Serialize) -> Option<Vec<Value>> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(data) else { return None };
    fields.get("count").filter(|count| count.is_u64())?;
    let mut arrays = fields.iter().filter(|(_, value)| value.is_array()).map(|(name, _)| name.clone());
    let (Some(name), None) = (arrays.next(), arrays.next()) else { return None };
    drop(arrays);
    fields.remove(&name).and_then(|items| serde_json::from_value(items).ok())
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The format that the environment asks for, or a word that is not one.
pub(crate) fn format_in_environment() -> std::result::Result<Option<Format>, String> {
    let word = env::get("WRIT_OUTPUT").filter(|_| persona::current() == Persona::Writ);
    word.map(|word| Format::from_str(&word, true).map_err(|_| word)).transpose()
}

/// The agent contract's envelope, its fields in the order its readers know.
#[derive(Serialize)]
struct ContinuityEnvelope<D> {
    schema_version: &'static str,
    success: bool,
    data: D,
}

/// The same for an error: `error` is a string, and beside it stands what programs branch on.
#[derive(Serialize)]
struct ErrorEnvelope<'e> {
    schema_version: &'static str,
    success: bool,
    error: String,
    error_code: ErrorCode,
    #[serde(skip_serializing_if = "Value::is_null")]
    error_context: Cow<'e, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggested_action: Option<String>,
    retry: Retry,
}

/// The agent contract's context is a map of strings; what is no string stands in it as JSON.
fn as_strings(details: &Value) -> Value {
    let Value::Object(fields) = details else { return details.clone() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields.iter().map(|(name, value)| (name.clone(), Value::String(text(value)))).collect()
}

/// Advice names commands as they are called under the program's present name, where that name has them.
pub(crate) fn in_own_words(hint: &str) -> String {
    let persona = persona::current();
    let mut parts = hint.split("`writ ");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let command = part.split([' ', '`']).next().unwrap_or_default();
        let name = if persona.has(command) { persona.name() } else { Persona::Writ.name() };
        said.push_str(&format!("`{name} {part}"));
    }
    said
}

fn full_message(error: &Error) -> String {
    match &error.source {
        Some(source) => format!("{}: {source}", error.message),
        None => error.message.clone(),
    }
}

fn error_text(error: &Error) -> String {
    let mut text = format!("error: {}\n", one_line(&full_message(error)));
    if let Some(findings) =
        error.details.get("findings").and_then(Value::as_array).filter(|list| list.len() > 1)
    {
        for finding in findings {
            let field = |name: &str| finding.get(name).and_then(Value::as_str).unwrap_or("");
            let line = format!("{}: {}", one_line(field("path")), one_line(field("message")));
            // The first line names the first one.
            if !text.contains(&line) {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    // The end of what a failed check printed.
    let printed = error.details.get("last_lines").and_then(Value::as_str).unwrap_or_default();
    for line in printed.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(hint) = &error.hint {
        text.push_str(&format!("hint: {}\n", one_line(hint)));
    }
    text
}

/// A closed pipe is the reader's wish, not our failure.
fn write_out(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: could not print the answer: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Something for the person beside the answer.
pub(crate) fn say(text: &str) {
    let said = match persona::current() {
        Persona::Writ | Persona::Ol | Persona::Ao => harmless(text),
        Persona::Vybe => Cow::Owned(text.lines().map(logged).collect()),
    };
    // A closed standard error cannot be reported.
    io::stderr().write_all(said.as_bytes()).ok();
}

/// A line of the log that the agent contract keeps on standard error.
fn logged(line: &str) -> String {
    let is_error = line.starts_with("error: ") || line.starts_with("writ hook: ");
    let level = if is_error { "ERROR" } else { "INFO" };
    let time = SystemClock::new().now().at;
    format!("{}\n", json!({"time": time, "level": level, "msg": line}))
}
