//! Claude Code: hooks in its settings file, JSON on standard input and output.

mod originals;
mod settings;

use std::path::PathBuf;

use contract::domain::code::ErrorCode;
use ops::host::Diagnostic;
use ops::{Error, Result};
use serde_json::{Map, Value, json};

use super::adapter::{HookAdapter, HookEvent, HookPlan};
use super::handling::tool::ToolCall;
use super::places::{self, Scope};
use super::{FileChange, HookProgram, files, records};
use crate::{env, host};
use settings::{ClaudeUndo, EVENTS};

/// Tools that change nothing in the project.
const READING_TOOLS: [&str; 13] = [
    "Read",
    "Grep",
    "Glob",
    "LS",
    "NotebookRead",
    "WebFetch",
    "WebSearch",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "BashOutput",
    "TaskOutput",
    "ListMcpResourcesTool",
];

#[derive(Debug)]
pub(crate) struct Claude;

impl HookAdapter for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn process_names(&self) -> &'static [&'static str] {
        &["claude"]
    }

    fn request_prefix(&self) -> &'static str {
        "cc"
    }

    fn tool(&self, name: &str, input: &Value) -> ToolCall {
        match name {
            "Write" | "Edit" | "MultiEdit" => ToolCall::file(name, input["file_path"].as_str()),
            "NotebookEdit" => ToolCall::file(name, input["notebook_path"].as_str()),
            "Bash" => ToolCall::command(name, input["command"].as_str()),
            _ if READING_TOOLS.contains(&name) => ToolCall::unknown(name, input).reading(),
            _ => ToolCall::unknown(name, input),
        }
    }

    fn answer(&self, event: HookEvent, context: &str) -> Value {
        let name = match event {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::Prompt => "UserPromptSubmit",
            HookEvent::SubagentStart => "SubagentStart",
        };
        json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}})
    }

    fn missing_directories(&self, scope: Scope) -> Result<Vec<String>> {
        Ok(files::missing_directories(&file(scope)?).iter().map(|path| path.display().to_string()).collect())
    }

    fn install(&self, scope: Scope, program: &HookProgram, made: &[String]) -> Result<HookPlan> {
        let named = file(scope)?;
        let path = files::real(&named)?;
        let before = files::read(&path)?;
        let record = record(&path)?;
        let name = path.display().to_string();
        let found = settings::install(&name, before.as_deref(), record.as_ref(), program, scope)
            .map_err(|reason| refused(&name, &reason))?;
        let mut plan = HookPlan::new(json!({
            "path": named.display().to_string(),
            "installed": names(&found.installed),
            "skipped": names(&found.skipped),
        }));
        if !found.updated.is_empty() {
            plan.answer["updated"] = names(&found.updated);
        }
        if let Some((text, mut record)) = found.change {
            if !made.is_empty() {
                record.directories = made.to_vec();
            }
            // The record is written first: after a crash in between it matches no file and is not used.
            plan.changes.extend(records::store(&record, &path));
            plan.changes.push(FileChange::new(path, before, Some(text)));
        }
        Ok(plan)
    }

    fn uninstall(&self, scope: Scope, program: &HookProgram, _force: bool) -> Result<HookPlan> {
        let named = file(scope)?;
        let path = files::real(&named)?;
        let mut plan = HookPlan::new(json!({"path": named.display().to_string(), "removed": null}));
        let record = record(&path)?;
        if let Some(before) = files::read(&path)? {
            let found = settings::uninstall(&before, record.as_ref(), program)
                .map_err(|reason| refused(&path.display().to_string(), &reason))?;
            if !found.removed.is_empty() {
                plan.answer["removed"] = json!(found.removed);
                plan.answer["restored"] = json!(found.restored);
            }
            if found.text.as_ref() != Some(&before) {
                plan.changes.push(FileChange::new(path.clone(), Some(before), found.text));
            }
        }
        if let Some(record) = record {
            records::forget(&path, record.directories, &mut plan)?;
        }
        Ok(plan)
    }

    fn status(
        &self,
        program: &HookProgram,
        hooks: &mut Map<String, Value>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let mut installed: Vec<&str> = Vec::new();
        let mut paths: Vec<String> = Vec::new();
        for path in Scope::ALL.iter().filter_map(|scope| file(*scope).ok()) {
            // Settings that cannot be read hold nothing that would work.
            let text = files::read(&path).ok().flatten().unwrap_or_default();
            let found = settings::events_in(&text, program);
            if !found.is_empty() {
                paths.push(path.display().to_string());
            }
            installed.extend(found);
            for called in settings::programs_in(&text, program) {
                if !env::can_start(&called, &host::absolute(".".into())) {
                    diagnostics.push(missing_program(&path.display().to_string(), &called));
                }
            }
        }
        hooks.insert("claude".to_owned(), json!(!installed.is_empty()));
        let events: Map<String, Value> = EVENTS
            .iter()
            .map(|event| (event.name.to_owned(), json!(installed.contains(&event.name))))
            .collect();
        hooks.insert("claude_events".to_owned(), Value::Object(events));
        if !paths.is_empty() {
            hooks.insert("claude_settings_paths".to_owned(), json!(paths));
        }
    }
}

fn file(scope: Scope) -> Result<PathBuf> {
    let directory = match scope {
        Scope::Project => host::absolute(".claude".into()),
        Scope::User => match env::directory("CLAUDE_CONFIG_DIR") {
            Some(directory) => directory,
            None => places::home()?.join(".claude"),
        },
    };
    Ok(directory.join("settings.json"))
}

fn record(path: &std::path::Path) -> Result<Option<ClaudeUndo>> {
    let record: Option<ClaudeUndo> = records::load(path)?;
    Ok(record.filter(|record| std::path::Path::new(&record.path) == path))
}

fn refused(name: &str, reason: &str) -> Error {
    Error::new(ErrorCode::InvalidInput, format!("{name} {reason}"))
        .hint("fix the file first; nothing was written")
        .details(json!({"path": name}))
}

fn missing_program(settings: &str, called: &str) -> Diagnostic {
    let (where_to_look, action) = if called.contains('/') {
        ("does not exist", "run `writ hook install` again")
    } else {
        ("is not on the PATH", "install writ where the shell finds it")
    };
    Diagnostic {
        level: "warning".to_owned(),
        code: "HOOK_PROGRAM_MISSING".to_owned(),
        message: format!("{settings} calls {called}, which {where_to_look}"),
        suggested_action: Some(action.to_owned()),
    }
}

/// The contract prints an empty list as null.
fn names(names: &[&str]) -> Value {
    if names.is_empty() { Value::Null } else { json!(names) }
}
