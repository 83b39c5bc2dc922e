//! Whether agent programs call writ, as their settings say.

use std::path::{Path, PathBuf};

use ops::host::Diagnostic;
use serde_json::{Map, Value, json};

use crate::app::Globals;
use crate::commands::hook::program;
use crate::hooks::opencode::Found;
use crate::hooks::places::{self, Scope};
use crate::hooks::{claude, files, opencode};

const SCOPES: [Scope; 2] = [Scope::User, Scope::Project];

pub(super) fn look(globals: &Globals) -> (Value, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let Ok(program) = program(globals) else { return (json!({"claude": false}), diagnostics) };
    let mut events: Vec<&str> = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    for path in settings() {
        // Settings that cannot be read hold nothing that would work.
        let text = files::read(&path).ok().flatten().unwrap_or_default();
        let found = claude::events_in(&text, &program);
        if !found.is_empty() {
            paths.push(path.display().to_string());
            events.extend(found.iter().filter(|event| !events.contains(event)).copied().collect::<Vec<_>>());
        }
        let is_gone = |called: &String| called.starts_with('/') && !Path::new(called).is_file();
        for missing in claude::programs_in(&text, &program).into_iter().filter(is_gone) {
            diagnostics.push(Diagnostic {
                level: "warning".to_owned(),
                code: "HOOK_PROGRAM_MISSING".to_owned(),
                message: format!("{} calls {missing}, which does not exist", path.display()),
                suggested_action: Some("call `hook install` again".to_owned()),
            });
        }
    }
    let installed: Map<String, Value> =
        claude::event_names().map(|name| (name.to_owned(), Value::from(events.contains(&name)))).collect();
    let mut value = json!({
        "claude": !events.is_empty(),
        "claude_events": installed,
        "opencode": plugin(&program),
    });
    if !events.is_empty() {
        value["claude_settings_paths"] = json!(paths);
    }
    (value, diagnostics)
}

fn settings() -> Vec<PathBuf> {
    SCOPES.iter().filter_map(|scope| places::claude_settings(*scope).ok()).collect()
}

/// The plugin that is there, else the place where it would be.
fn plugin(program: &crate::hooks::Program) -> Value {
    let places: Vec<PathBuf> =
        SCOPES.iter().filter_map(|scope| places::opencode_plugin(*scope).ok()).collect();
    let there = places.iter().find(|path| path.exists()).or(places.first());
    let Some(path) = there else { return json!({"installed": false, "path": "", "status": "missing"}) };
    let text = files::read(path).ok().flatten();
    let status = match opencode::find(text.as_deref()) {
        Found::Nothing => "missing",
        Found::Ours if text.as_deref() == Some(opencode::plugin(program).as_str()) => "installed",
        Found::Ours => "outdated",
        Found::Changed => "changed",
        Found::Foreign => "foreign",
    };
    let installed = !matches!(status, "missing" | "foreign");
    json!({"installed": installed, "path": path.display().to_string(), "status": status})
}
