//! OpenCode: a plugin of ours, which calls the handlers.

mod originals;
mod plugin;

use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use ops::host::Diagnostic;
use ops::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::adapter::{HookAdapter, HookEvent, HookPlan};
use super::handling::tool::ToolCall;
use super::places::{self, Scope};
use super::{FileChange, HookProgram, files, records};
use crate::{env, host};
use originals::RemovedOriginal;
use plugin::InstalledPlugin;

/// Tools that change nothing in the project.
const READING_TOOLS: [&str; 9] =
    ["read", "grep", "glob", "list", "webfetch", "websearch", "todoread", "todowrite", "codesearch"];
/// How the lines of a patch begin that name a file.
const PATCH_LINES: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];

#[derive(Debug)]
pub(crate) struct OpenCode;

/// What was changed around the plugin.
#[derive(Debug, Serialize, Deserialize)]
struct OpencodeUndo {
    path: String,
    /// Directories that were made for the plugin, outermost first.
    directories: Vec<String>,
    /// Plugins of the original that ours replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replaced: Vec<RemovedOriginal>,
}

impl HookAdapter for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn process_names(&self) -> &'static [&'static str] {
        &["opencode"]
    }

    fn request_prefix(&self) -> &'static str {
        "oc"
    }

    fn has_case_sensitive_sessions(&self) -> bool {
        true
    }

    fn tool(&self, name: &str, input: &Value) -> ToolCall {
        let file = |name: &str| ToolCall::file(name, input["filePath"].as_str());
        match name {
            "write" => file("Write"),
            "edit" => file("Edit"),
            "multiedit" => file("MultiEdit"),
            "bash" => ToolCall::command("Bash", input["command"].as_str()),
            "patch" | "apply_patch" => ToolCall::files("Patch", patched(input["patchText"].as_str())),
            _ if READING_TOOLS.contains(&name) => ToolCall::unknown(name, input).reading(),
            _ => ToolCall::unknown(name, input),
        }
    }

    /// Our own plugin reads this.
    fn answer(&self, _event: HookEvent, context: &str) -> Value {
        json!({ "context": context })
    }

    fn missing_directories(&self, scope: Scope) -> Result<Vec<String>> {
        Ok(files::missing_directories(&file(scope)?).iter().map(|path| path.display().to_string()).collect())
    }

    fn install(&self, scope: Scope, program: &HookProgram, made: &[String]) -> Result<HookPlan> {
        let named = file(scope)?;
        let path: PathBuf = files::real(&named)?;
        let before = files::read(&path)?;
        let after = plugin::text(program, scope);
        let status = match plugin::find(before.as_deref()) {
            InstalledPlugin::Nothing => "installed",
            InstalledPlugin::Ours if before.as_deref() == Some(after.as_str()) => "skipped",
            InstalledPlugin::Ours => "updated",
            InstalledPlugin::Changed | InstalledPlugin::Foreign => return Err(conflict(&path)),
        };
        let mut plan = HookPlan::new(json!({"path": named.display().to_string(), "status": status}));
        let mut record = record(&path)?.unwrap_or_else(|| OpencodeUndo {
            path: path.display().to_string(),
            directories: Vec::new(),
            replaced: Vec::new(),
        });
        let originals = originals::replace(&directory(scope)?, &mut plan)?;
        if !made.is_empty() {
            record.directories = made.to_vec();
        }
        if !originals.is_empty() {
            plan.answer["replaced"] = originals.iter().map(|one| json!(one.path())).collect();
            record.replaced.extend(originals);
        }
        let has_news = !plan.changes.is_empty() || status != "skipped";
        if has_news && !(record.directories.is_empty() && record.replaced.is_empty()) {
            // What leads back is written first: nothing is removed before it can be restored.
            plan.changes.splice(0..0, records::store(&record, &path));
        }
        if status != "skipped" {
            plan.changes.push(FileChange::new(path, before, Some(after)));
        }
        Ok(plan)
    }

    fn uninstall(&self, scope: Scope, _program: &HookProgram, force: bool) -> Result<HookPlan> {
        let named = file(scope)?;
        let path = files::real(&named)?;
        let before = files::read(&path)?;
        let (status, removed) = match plugin::find(before.as_deref()) {
            InstalledPlugin::Nothing => ("not_found", false),
            InstalledPlugin::Ours => ("removed", true),
            InstalledPlugin::Changed | InstalledPlugin::Foreign if force => ("removed", true),
            InstalledPlugin::Changed | InstalledPlugin::Foreign => ("skipped_conflict", false),
        };
        let mut plan =
            HookPlan::new(json!({"path": named.display().to_string(), "removed": removed, "status": status}));
        if removed {
            plan.changes.push(FileChange::new(path.clone(), before, None));
        }
        if let Some(record) = record(&path)?.filter(|_| status != "skipped_conflict") {
            let restored = originals::give_back(&record.replaced, &mut plan)?;
            if !restored.is_empty() {
                plan.answer["restored"] = json!(restored);
            }
            records::forget(&path, record.directories, &mut plan)?;
        }
        Ok(plan)
    }

    fn status(&self, program: &HookProgram, hooks: &mut Map<String, Value>, _: &mut Vec<Diagnostic>) {
        let places = Scope::ALL.iter().filter_map(|scope| Some((*scope, file(*scope).ok()?)));
        let places: Vec<(Scope, PathBuf)> = places.collect();
        let there = places.iter().find(|(_, path)| path.exists()).or(places.first());
        let (status, path) = match there {
            None => ("missing", String::new()),
            Some((scope, path)) => (look(path, program, *scope), path.display().to_string()),
        };
        let installed = !matches!(status, "missing" | "foreign");
        let found = json!({"installed": installed, "path": path, "status": status});
        hooks.insert("opencode".to_owned(), found);
    }
}

fn look(path: &Path, program: &HookProgram, scope: Scope) -> &'static str {
    let text = files::read(path).ok().flatten();
    match plugin::find(text.as_deref()) {
        InstalledPlugin::Nothing => "missing",
        InstalledPlugin::Ours if text.as_deref() == Some(plugin::text(program, scope).as_str()) => {
            "installed"
        }
        InstalledPlugin::Ours => "outdated",
        InstalledPlugin::Changed => "changed",
        InstalledPlugin::Foreign => "foreign",
    }
}

/// OpenCode's configuration directory.
fn directory(scope: Scope) -> Result<PathBuf> {
    Ok(match scope {
        Scope::Project => host::absolute(".opencode".into()),
        Scope::User => match (env::directory("OPENCODE_CONFIG_DIR"), env::directory("XDG_CONFIG_HOME")) {
            (Some(directory), _) => directory,
            (None, Some(config)) => config.join("opencode"),
            (None, None) => places::home()?.join(".config/opencode"),
        },
    })
}

fn file(scope: Scope) -> Result<PathBuf> {
    Ok(directory(scope)?.join("plugin/writ.js"))
}

fn record(path: &Path) -> Result<Option<OpencodeUndo>> {
    let record: Option<OpencodeUndo> = records::load(path)?;
    Ok(record.filter(|record| Path::new(&record.path) == path))
}

fn conflict(path: &Path) -> Error {
    let message = format!("{} was modified, or was not installed by writ", path.display());
    Error::new(ErrorCode::AlreadyExists, message)
        .hint("move it away, or remove it with `hook uninstall --opencode --force`; nothing was written")
        .details(json!({"path": path.display().to_string()}))
}

fn patched(patch: Option<&str>) -> Vec<String> {
    let lines = patch.unwrap_or_default().lines();
    let file = |line: &str| PATCH_LINES.iter().find_map(|begin| line.strip_prefix(begin)).map(str::to_owned);
    lines.filter_map(file).collect()
}
