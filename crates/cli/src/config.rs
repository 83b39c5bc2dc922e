//! The user's configuration, and the project's, which can only make it stricter.

mod aop;
mod escalation;
mod executors;

use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use contract::digest;
use contract::domain::check::Check;
use contract::domain::code::ErrorCode;
use contract::domain::confinement::SandboxMode;
use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::network::HostRule;
use contract::domain::policy::{Policy, PolicyAction, PolicyResource, authorize};
use contract::domain::price::{Price, Prices};
use contract::domain::retention::{self, Retention};
use contract::domain::time::{Timestamp, parse_duration};
use contract::domain::trust::ProjectCommands;
use contract::finding::Findings;
use contract::intake::Executors;
use contract::json::Value;
use contract::plan::read::toml_value;
use contract::plan::{executor, project_checks};
use contract::shape::check::check;
use contract::shape::{
    List, Map, NON_BLANK, NOT_NEGATIVE, Object, Shape, TEXT, Text, TextForm, UNBOUNDED, Unknown, optional,
};
use engine::Configured;
use ops::{Error, Result};

use crate::commands::run::read_bounded;
use crate::env;

/// A file that a check names may be a program; a larger one is refused.
const SCRIPT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Everything that was configured, and where each part came from.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub(crate) policy: Policy,
    pub(crate) executors: Executors,
    /// What the user configured for executors.
    pub(crate) configured: Vec<Configured>,
    pub(crate) retention: Retention,
    pub(crate) sandbox: SandboxConfig,
    pub(crate) prices: Prices,
    pub(crate) sources: Vec<(String, String, PathBuf)>,
    projects: Vec<PathBuf>,
}

/// The user's sandbox settings other than the mode.
#[derive(Debug, Default)]
pub(crate) struct SandboxConfig {
    /// In the user's home; readable from inside.
    pub(crate) credentials: Vec<PathBuf>,
    /// The same for tasks with the command of an executor.
    pub(crate) credentials_of_commands: Vec<(Vec<String>, Vec<PathBuf>)>,
    /// Where the models of executors are, for tasks with the command of one.
    pub(crate) endpoints_of_commands: Vec<(Vec<String>, Vec<HostRule>)>,
    pub(crate) memory_mib: Option<u64>,
    pub(crate) processes_max: Option<u32>,
}

static CONFIG: Object = Object {
    name: "config",
    about: "writ's configuration.",
    fields: &[
        optional("policy", Shape::Object(&POLICY), "What may run."),
        optional("sandbox", Shape::Object(&SANDBOX), "How tasks are confined."),
        optional(
            "executor",
            executors::SHAPE,
            "The programs that do the work of tasks, by the names that plans use.",
        ),
        optional("executors", executors::SHAPE, "The same as `executor`."),
        optional("aop", Shape::Object(&aop::AOP), "How AOP TASKs and prompts are read."),
        optional("prices", Shape::Map(&PRICES), "What models cost, for work that does not say it."),
        optional("escalation", Shape::Object(&escalation::ESCALATION), "Models for escalated tasks."),
        optional("checks", project_checks::SHAPE, "What writ runs before a task of the project is done."),
        optional("events_retention_days", DAYS, "How long events are kept."),
        optional("events_prune_batch", BATCH, "How many events one transaction of `writ gc` removes."),
        optional("events_summarize_threshold", THRESHOLD, "A stream with so many events gets a summary."),
        optional("events_summarize_keep_recent", KEPT, "So many of the newest stay out of the summary."),
    ],
    unknown: Unknown::Refused,
};

const DAYS: Shape = Shape::Integer { min: 1, max: retention::DAYS_MAX as i64 };
const BATCH: Shape = Shape::Integer { min: 1, max: 10_000 };
const THRESHOLD: Shape =
    Shape::Integer { min: retention::THRESHOLD_MIN as i64, max: retention::THRESHOLD_MAX as i64 };
const KEPT: Shape = Shape::Integer { min: 0, max: retention::THRESHOLD_MAX as i64 };

static POLICY: Object = Object {
    name: "policy",
    about: "Rules of the policy layer.",
    fields: &[
        optional(
            "deny_executors",
            Shape::List(&List { item: NON_BLANK, min: 0, max: 100 }),
            "Executors that may not be used.",
        ),
        optional("deny_shell", Shape::Bool, "Refuse tasks that ask for a shell."),
        optional("timeout_max", TEXT, "No attempt may take longer, such as `1h`."),
    ],
    unknown: Unknown::Refused,
};

static SANDBOX: Object = Object {
    name: "sandbox",
    about: "How tasks are confined. A project can only make the mode stricter.",
    fields: &[
        optional("mode", Shape::Word(SandboxMode::WORDS), "How strictly tasks are confined at least."),
        optional(
            "credentials",
            CREDENTIALS,
            "Paths in the user's home that tasks may read although they hold credentials.",
        ),
        optional("memory_mib", MEMORY, "Memory of all processes of a task together."),
        optional("processes_max", PROCESSES, "Processes and threads of a task."),
    ],
    unknown: Unknown::Refused,
};

const CREDENTIALS: Shape = Shape::List(&List { item: NON_BLANK, min: 0, max: 100 });
const ENDPOINTS: Shape = Shape::List(&List { item: NON_BLANK, min: 0, max: limits::NETWORK_ALLOW_MAX });
const MEMORY: Shape = Shape::Integer { min: 16, max: 1 << 30 };
const PROCESSES: Shape = Shape::Integer { min: 16, max: limits::SANDBOX_PROCESSES_MAX as i64 };

static PRICES: Map = Map { value: Shape::Object(&PRICE), key: Text { min: 1, max: UNBOUNDED, form: None } };

static PRICE: Object = Object {
    name: "price",
    about: "What a model costs, in US dollars for a million tokens.",
    fields: &[
        contract::shape::required("input_usd_per_million", NOT_NEGATIVE, "For input."),
        contract::shape::required("output_usd_per_million", NOT_NEGATIVE, "For output."),
        optional(
            "cached_input_usd_per_million",
            NOT_NEGATIVE,
            "For input from the provider's cache. Default: as other input.",
        ),
        contract::shape::required(
            "as_of",
            DAY,
            "The day from which the price is known, such as `2026-11-01`.",
        ),
    ],
    unknown: Unknown::Refused,
};

const DAY: Shape = Shape::Text(Text { min: 10, max: 10, form: Some(&DAY_FORM) });

static DAY_FORM: TextForm = TextForm {
    name: "a day such as 2026-11-01",
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    accepts: |text| Timestamp::parse(&format!("{text}T00:00:00Z")).is_ok(),
};

/// Reads the user's file, then the nearest project's above `from`.
pub(crate) fn load(from: &Path) -> Result<Config> {
    let mut config = Config::default();
    config.executors.known = engine::Executors::built_in().known();
    if let Some(user) = env::config_home().map(|home| home.join("config.toml"))
        && let Some(value) = read(&user)?
    {
        refuse_checks(&value, &user)?;
        // The policy may name them.
        config.take_executors(&value, &user)?;
        config.take(&value, &user)?;
        config.take_retention(&value, &user);
        config.take_sandbox(&value, &user)?;
        aop::take_of_user(&mut config, &value, &user)?;
        config.take_prices(&value, &user)?;
        escalation::take_of_user(&mut config, &value, &user)?;
    }
    config.heed_project(from)?;
    Ok(config)
}

pub(crate) fn project_file(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|directory| directory.join(".writ/config.toml")).find(|path| path.is_file())
}

/// Every command in the `.writ/` of the nearest project at or above `from` that writ would run.
pub(crate) fn project_commands(from: &Path) -> Result<Option<ProjectCommands>> {
    let Some(file) = project_file(from) else { return Ok(None) };
    let Some(value) = read(&file)? else { return Ok(None) };
    let directory = file.ancestors().nth(2).unwrap_or(Path::new("/"));
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let name = real
        .to_str()
        .ok_or_else(|| Error::new(ErrorCode::InvalidInput, format!("{} is not UTF-8", real.display())))?;
    let checks = checks_of(&value, &file)?;
    let words = checks.iter().flat_map(|check| &check.command);
    let files: Result<Vec<_>> = words.map(|word| scripts(word, &real)).collect();
    let files = files?.into_iter().flatten().collect();
    Ok(Some(ProjectCommands { directory: name.to_owned(), checks, files }))
}

/// The files below `.writ/` that a word of a command names, with their digests. A script counts as its words.
fn scripts(word: &str, directory: &Path) -> Result<Vec<(String, String)>> {
    let is_end =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | '(' | ')' | '<' | '>');
    let named = word.split(is_end).filter(|part| part.contains(".writ/"));
    let mut found = Vec::new();
    for path in named {
        let file = directory.join(path);
        match digest_of(&file) {
            Ok(digest) => found.push((path.to_owned(), digest)),
            // A file that appears later changes the digest of the commands. A directory is not run.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
                ) => {}
            Err(error) => {
                let message = format!("could not read {}: {error}", file.display());
                return Err(Error::new(ErrorCode::Io, message)
                    .hint("the project's checks name it, so it has to be a file that can be read"));
            }
        }
    }
    Ok(found)
}

/// The digest of a whole file. Only of a file: a pipe could be waited for without end.
fn digest_of(path: &Path) -> std::io::Result<String> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut file = std::fs::File::open(path)?.take(SCRIPT_BYTES_MAX + 1);
    let (mut digest, mut bytes, mut read) = (digest::Running::default(), vec![0; 64 * 1024], 0_u64);
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(digest.finish()),
            some => {
                digest.update(&bytes[..some]);
                read += some as u64;
            }
        }
        if read > SCRIPT_BYTES_MAX {
            return Err(std::io::Error::other(format!("it is larger than {SCRIPT_BYTES_MAX} bytes")));
        }
    }
}

fn checks_of(value: &Value, from: &Path) -> Result<Vec<Check>> {
    let Some(checks) = value.get("checks") else { return Ok(Vec::new()) };
    project_checks::read(checks, "$.checks").map_err(|findings| invalid(from, findings))
}

/// Checks belong to a project; in the user's file they would never run.
fn refuse_checks(value: &Value, from: &Path) -> Result<()> {
    if value.get("checks").is_none() {
        return Ok(());
    }
    let mut findings = Findings::default();
    let message = "belongs in the .writ/config.toml of a project, because it names the project's checks";
    findings.push("$.checks".to_owned(), "misplaced", message);
    Err(invalid(from, findings))
}

fn invalid(file: &Path, findings: Findings) -> Error {
    Error::invalid(&format!("configuration {}", file.display()), findings)
}

/// Refuses settings that only the user's own file may have.
fn refuse_own(value: &Value, from: &Path) -> Result<()> {
    let mut findings = Findings::default();
    for (name, value) in settings(value) {
        let setting = PolicyResource::Setting { name: &name, value: value.as_str() };
        let decision = authorize("service.project", PolicyAction::Configure, &setting, &Policy::default());
        if let Some(denial) = decision.denial() {
            findings.push(format!("$.{name}"), denial.rule.code(), denial.rule.to_string());
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(invalid(from, findings)) }
}

/// The tables of a file and the values in them, by their dotted names.
fn settings(file: &Value) -> Vec<(String, &Value)> {
    let mut all = Vec::new();
    for (name, value) in file.as_object().into_iter().flatten() {
        all.push((name.clone(), value));
        let inside = value.as_object().into_iter().flatten();
        all.extend(inside.map(|(inner, value)| (format!("{name}.{inner}"), value)));
    }
    all
}

fn read(path: &Path) -> Result<Option<Value>> {
    let text = match read_bounded(path).map(String::from_utf8) {
        Ok(Ok(text)) if text.len() <= limits::DOCUMENT_BYTES_MAX => text,
        Ok(_) => {
            let message = format!("{} is too large or not UTF-8", path.display());
            return Err(Error::new(ErrorCode::InvalidInput, message));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::new(ErrorCode::Io, format!("could not read {}: {error}", path.display())));
        }
    };
    let value = toml_value(&text).map_err(|fault| {
        let place = format!("{}, line {}, column {}", path.display(), fault.line, fault.column);
        Error::new(ErrorCode::InvalidInput, format!("{place}: {}", fault.message))
    })?;
    let findings = check(&Shape::Object(&CONFIG), &value, true);
    if findings.is_empty() { Ok(Some(value)) } else { Err(invalid(path, findings)) }
}

impl Config {
    /// Adds the rules of the nearest project above `from`. Where a document is read and where it works may be two.
    pub(crate) fn heed_project(&mut self, from: &Path) -> Result<()> {
        let Some(project) = project_file(from).filter(|file| !self.projects.contains(file)) else {
            return Ok(());
        };
        if let Some(value) = read(&project)? {
            // A cloned repository may forbid, but not name programs to run.
            refuse_own(&value, &project)?;
            aop::take_of_project(self, &value, &project);
            self.take(&value, &project)?;
            if value.get("executors").is_some() {
                let said = "ignored: only the user's configuration names programs".to_owned();
                self.sources.push(("executors".to_owned(), said, project.clone()));
            }
            for check in checks_of(&value, &project)? {
                self.sources.push(("checks".to_owned(), check.line(), project.clone()));
            }
        }
        self.projects.push(project);
        Ok(())
    }

    fn take(&mut self, value: &Value, from: &Path) -> Result<()> {
        if let Some(mode) = value.pointer("/sandbox/mode").and_then(Value::as_str) {
            self.policy.sandbox = self.policy.sandbox.max(SandboxMode::parse(mode));
            self.sources.push(("sandbox.mode".to_owned(), mode.to_owned(), from.to_owned()));
        }
        let Some(policy) = value.get("policy") else { return Ok(()) };
        let words = policy.get("deny_executors").and_then(Value::as_array).into_iter().flatten();
        for (index, word) in words.filter_map(Value::as_str).enumerate() {
            self.refuse_unknown_executor(word, index, from)?;
            self.policy.deny_executors.push(word.to_owned());
            self.sources.push(("policy.deny_executors".to_owned(), word.to_owned(), from.to_owned()));
        }
        if policy.get("deny_shell").and_then(Value::as_bool) == Some(true) {
            self.policy.deny_shell = true;
            self.sources.push(("policy.deny_shell".to_owned(), "true".to_owned(), from.to_owned()));
        }
        if let Some(text) = policy.get("timeout_max").and_then(Value::as_str) {
            let max = parse_duration(text).filter(|max| !max.is_zero()).ok_or_else(|| {
                let message = format!(
                    "{}: $.policy.timeout_max: `{text}` is not a duration; use 30s, 10m or 2h",
                    from.display()
                );
                Error::new(ErrorCode::InvalidInput, message)
            })?;
            let stricter: Duration = self.policy.timeout_max.map_or(max, |known| known.min(max));
            self.policy.timeout_max = Some(stricter);
            self.sources.push(("policy.timeout_max".to_owned(), text.to_owned(), from.to_owned()));
        }
        Ok(())
    }

    /// Only the user's own: a cloned repository has no say in what its tasks may read and use.
    fn take_sandbox(&mut self, value: &Value, from: &Path) -> Result<()> {
        let Some(sandbox) = value.get("sandbox") else { return Ok(()) };
        let number = |name: &str| sandbox.get(name).and_then(Value::as_u64);
        self.sandbox.memory_mib = number("memory_mib");
        self.sandbox.processes_max = number("processes_max").and_then(|number| u32::try_from(number).ok());
        for name in ["memory_mib", "processes_max"] {
            let source =
                number(name).map(|number| (format!("sandbox.{name}"), number.to_string(), from.to_owned()));
            self.sources.extend(source);
        }
        self.sandbox.credentials = self.credentials_in(sandbox, "sandbox", from)?;
        Ok(())
    }

    fn credentials_in(&mut self, value: &Value, at: &str, from: &Path) -> Result<Vec<PathBuf>> {
        let words = value.get("credentials").and_then(Value::as_array).into_iter().flatten();
        let mut paths = Vec::new();
        for word in words.filter_map(Value::as_str) {
            let home = env::directory("HOME").ok_or_else(|| {
                Error::new(ErrorCode::InvalidInput, format!("{at}.credentials needs HOME, which is not set"))
            })?;
            let path = home.join(word.strip_prefix("~/").unwrap_or(word));
            if !path.starts_with(&home) || path.components().any(|part| part == Component::ParentDir) {
                let message = format!("{}: $.{at}.credentials: `{word}` is not in your home", from.display());
                return Err(
                    Error::new(ErrorCode::InvalidInput, message).hint("name a path such as .aws/config")
                );
            }
            self.sources.push((format!("{at}.credentials"), word.to_owned(), from.to_owned()));
            paths.push(path);
        }
        Ok(paths)
    }

    fn endpoints_in(&mut self, value: &Value, at: &str, from: &Path) -> Result<Vec<HostRule>> {
        let words = value.get("endpoints").and_then(Value::as_array).into_iter().flatten();
        let mut rules = Vec::new();
        let mut findings = Findings::default();
        for (index, word) in words.filter_map(Value::as_str).enumerate() {
            match HostRule::parse(word) {
                Ok(rule) => {
                    self.sources.push((format!("{at}.endpoints"), rule.to_string(), from.to_owned()));
                    rules.push(rule);
                }
                Err(fault) => {
                    let message = format!("`{word}`: {fault}");
                    findings.push(format!("$.{at}.endpoints[{index}]"), fault.rule(), message);
                }
            }
        }
        if findings.is_empty() { Ok(rules) } else { Err(invalid(from, findings)) }
    }

    /// A rule about a name that no executor has would never apply.
    fn refuse_unknown_executor(&self, name: &str, index: usize, from: &Path) -> Result<()> {
        let known = &self.executors.known;
        if known.iter().any(|executor| executor.name.as_str() == name) {
            return Ok(());
        }
        let mut findings = Findings::default();
        let at = format!("$.policy.deny_executors[{index}]");
        findings.push(at, "unknown_executor", executor::unknown(name, known));
        Err(invalid(from, findings))
    }

    /// Only the user's own: a cloned repository has no say in what the user's store forgets.
    fn take_retention(&mut self, value: &Value, from: &Path) {
        let sources = &mut self.sources;
        let mut number = |name: &str| {
            let number = value.get(name).and_then(Value::as_u64)?;
            sources.push((name.to_owned(), number.to_string(), from.to_owned()));
            u32::try_from(number).ok()
        };
        let default = Retention::default();
        let or = |given: Option<u32>, usual: u32| given.unwrap_or(usual);
        self.retention = Retention {
            events_retention_days: or(number("events_retention_days"), default.events_retention_days),
            events_prune_batch: number("events_prune_batch")
                .and_then(|batch| usize::try_from(batch).ok())
                .unwrap_or(default.events_prune_batch),
            events_summarize_threshold: or(
                number("events_summarize_threshold"),
                default.events_summarize_threshold,
            ),
            events_summarize_keep_recent: or(
                number("events_summarize_keep_recent"),
                default.events_summarize_keep_recent,
            ),
        };
    }

    fn take_prices(&mut self, value: &Value, from: &Path) -> Result<()> {
        let Some(prices) = value.get("prices").and_then(Value::as_object) else { return Ok(()) };
        let mut findings = Findings::default();
        for (model, price) in prices {
            let mut amount = |field: &str| {
                let dollars = price.get(field)?.as_f64()?;
                let amount = MicroUsd::from_dollars(dollars);
                if amount.is_none() {
                    let at = format!("$.prices.{model}.{field}");
                    findings.push(at, "range", "must be from 0 to a billion dollars");
                }
                amount
            };
            let price = Price {
                input: amount("input_usd_per_million").unwrap_or_default(),
                output: amount("output_usd_per_million").unwrap_or_default(),
                cached_input: amount("cached_input_usd_per_million"),
                as_of: price.get("as_of").and_then(Value::as_str).unwrap_or_default().to_owned(),
            };
            let told = format!("{} in, {} out, as of {}", price.input, price.output, price.as_of);
            self.sources.push((format!("prices.{model}"), told, from.to_owned()));
            self.prices.set(model, price);
        }
        if findings.is_empty() { Ok(()) } else { Err(invalid(from, findings)) }
    }
}
