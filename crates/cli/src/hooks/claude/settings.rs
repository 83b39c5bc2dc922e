//! Claude Code's settings: which hooks writ wants in them, which are its own, and what has to change. Pure.

use contract::digest;
use jsonc_parser::cst::{CstArray, CstNode, CstObject};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::originals;
use crate::hooks::places::Scope;
use crate::hooks::settings::edits::{self, Edit};
use crate::hooks::settings::{difference, jsonc};
use crate::hooks::{HookProgram, Owner};

/// An event of Claude Code, the handler that we register for it, and the handler's time limit.
pub(super) struct ClaudeEvent {
    pub(super) name: &'static str,
    handler: &'static str,
    matcher: &'static str,
    seconds: u32,
}

pub(super) const EVENTS: &[ClaudeEvent] = &[
    ClaudeEvent {
        name: "SessionStart",
        handler: "session-start",
        matcher: "startup|resume|clear|compact",
        seconds: 10,
    },
    ClaudeEvent { name: "UserPromptSubmit", handler: "prompt", matcher: "", seconds: 5 },
    ClaudeEvent { name: "PostToolUseFailure", handler: "tool-failure", matcher: "", seconds: 5 },
    ClaudeEvent {
        name: "PostToolUse",
        handler: "tool-success",
        matcher: "Write|Edit|MultiEdit|Bash|NotebookEdit",
        seconds: 5,
    },
    ClaudeEvent { name: "PreCompact", handler: "checkpoint", matcher: "", seconds: 10 },
    ClaudeEvent { name: "SessionEnd", handler: "session-end", matcher: "", seconds: 10 },
    ClaudeEvent { name: "TaskCompleted", handler: "task-completed", matcher: "", seconds: 60 },
    ClaudeEvent { name: "SubagentStart", handler: "subagent-start", matcher: "", seconds: 5 },
    ClaudeEvent { name: "SubagentStop", handler: "subagent-stop", matcher: "", seconds: 5 },
    ClaudeEvent { name: "Stop", handler: "stop", matcher: "", seconds: 5 },
];

/// Stored after an installation, so that it can be undone byte for byte. It holds no text of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClaudeUndo {
    pub(crate) path: String,
    /// The digest of the file as we left it.
    installed: String,
    /// The digest of the file before; absent where there was none.
    original: Option<String>,
    /// The edits that undo the installation.
    back: Vec<Edit>,
    /// Parts of the hooks that existed before; they stay even if they become empty.
    had: Vec<String>,
    /// Directories that were made for the file, outermost first.
    pub(crate) directories: Vec<String>,
    /// Entries of the original that ours replace. They come back with the uninstallation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replaced: Vec<ReplacedEntry>,
}

/// An entry of the original's hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReplacedEntry {
    pub(super) event: String,
    pub(super) entry: Value,
}

/// What an installation would do.
#[derive(Debug, Default)]
pub(crate) struct Install {
    pub(crate) installed: Vec<&'static str>,
    pub(crate) updated: Vec<&'static str>,
    pub(crate) skipped: Vec<&'static str>,
    /// The new text and how to undo it; none where everything is installed already.
    pub(crate) change: Option<(String, ClaudeUndo)>,
}

/// What removing our entries would do.
#[derive(Debug)]
pub(crate) struct Uninstall {
    pub(crate) removed: Vec<String>,
    /// The text without our entries; `None` where the file is removed.
    pub(crate) text: Option<String>,
    /// The text has the same bytes as before the installation.
    pub(crate) restored: bool,
}

pub(crate) fn install(
    path: &str,
    current: Option<&str>,
    record: Option<&ClaudeUndo>,
    program: &HookProgram,
    scope: Scope,
) -> Result<Install, String> {
    let mut found = Install::default();
    let settings = current.filter(|text| !is_blank(text)).map(ClaudeSettings::read).transpose()?;
    let mut has_originals = false;
    for event in EVENTS {
        let of = |owner| {
            settings.as_ref().map_or_else(Vec::new, |settings| settings.entries(event.name, program, owner))
        };
        let (ours, originals) = (of(Owner::Ours), of(Owner::Original));
        has_originals |= !originals.is_empty();
        match ours.as_slice() {
            [] if originals.is_empty() => found.installed.push(event.name),
            [only] if originals.is_empty() && *only == entry(event, program, scope) => {
                found.skipped.push(event.name);
            }
            _ => found.updated.push(event.name),
        }
    }
    if found.installed.is_empty() && found.updated.is_empty() && !has_originals {
        return Ok(found);
    }
    let base = match current {
        None => None,
        Some(text) => uninstall(text, record, program)?.text,
    };
    let old = base.as_deref().unwrap_or_default();
    let text = with_entries(old, program, scope)?;
    let edits = if is_blank(old) {
        vec![Edit::replace(old, 0..old.len(), text.clone())]
    } else {
        difference::edits(old, &text).ok_or("would change in too many places")?
    };
    let record = ClaudeUndo {
        path: path.to_owned(),
        installed: digest::of_bytes(text.as_bytes()),
        original: base.as_ref().map(|text| digest::of_bytes(text.as_bytes())),
        back: edits::reversed(&edits),
        had: base.as_deref().map_or_else(Vec::new, had),
        directories: record.map_or_else(Vec::new, |record| record.directories.clone()),
        replaced: base.as_deref().map_or_else(Vec::new, |text| originals::found(text, program)),
    };
    found.change = Some((text, record));
    Ok(found)
}

pub(crate) fn uninstall(
    text: &str,
    record: Option<&ClaudeUndo>,
    program: &HookProgram,
) -> Result<Uninstall, String> {
    if is_blank(text) {
        return Ok(Uninstall { removed: Vec::new(), text: Some(text.to_owned()), restored: false });
    }
    let settings = ClaudeSettings::read(text)?;
    let mut removed = settings.events();
    removed.retain(|event| !settings.entries(event, program, Owner::Ours).is_empty());
    if let Some(record) = record.filter(|record| record.installed == digest::of_bytes(text.as_bytes())) {
        let before = edits::apply(text, &record.back);
        let digest = before.as_ref().map(|text| digest::of_bytes(text.as_bytes()));
        if record.original.is_none() {
            return Ok(Uninstall { removed, text: None, restored: true });
        }
        if digest == record.original {
            return Ok(Uninstall { removed, text: before, restored: true });
        }
    }
    let had = record.map_or(&[][..], |record| &record.had);
    settings.remove(Owner::Ours, had, program);
    originals::give_back(&settings, record.map_or(&[][..], |record| &record.replaced), program);
    let is_ours_alone = record.is_some_and(|record| record.original.is_none());
    let is_empty = settings.document.object.properties().is_empty();
    let text = (!(is_ours_alone && is_empty)).then(|| settings.document.text());
    Ok(Uninstall { removed, text, restored: false })
}

/// Which of our events the settings have, by whatever name they call us.
pub(crate) fn events_in(text: &str, program: &HookProgram) -> Vec<&'static str> {
    let Ok(settings) = ClaudeSettings::read(text) else { return Vec::new() };
    let has = |event: &&ClaudeEvent| settings.all_entries(event.name, program).next().is_some();
    EVENTS.iter().filter(has).map(|event| event.name).collect()
}

/// The programs that our entries call.
pub(crate) fn programs_in(text: &str, program: &HookProgram) -> Vec<String> {
    let Ok(settings) = ClaudeSettings::read(text) else { return Vec::new() };
    let mut called: Vec<String> = settings
        .events()
        .iter()
        .flat_map(|event| settings.entries(event, program, Owner::Ours))
        .flat_map(|entry| commands(&entry).map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| program.owner(line) == Some(Owner::Ours))
        .filter_map(|line| shlex::split(&line)?.into_iter().next())
        .collect();
    called.sort();
    called.dedup();
    called
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// A parsed settings file with hooks in the documented format of Claude Code.
pub(super) struct ClaudeSettings {
    pub(super) document: jsonc::JsoncFile,
    pub(super) hooks: Option<CstObject>,
}

impl ClaudeSettings {
    /// Refuses what we would have to guess about.
    pub(super) fn read(text: &str) -> Result<ClaudeSettings, String> {
        let document = jsonc::JsoncFile::parse(text)?;
        let hooks = match document.object.get("hooks") {
            None => None,
            Some(property) => Some(property.object_value().ok_or("has `hooks` that are not an object")?),
        };
        let settings = ClaudeSettings { document, hooks };
        match settings.events().iter().find(|event| settings.list(event).is_none()) {
            Some(event) => Err(format!("has `hooks.{event}` that is not a list")),
            None => Ok(settings),
        }
    }

    /// The events that have hooks, in file order.
    pub(super) fn events(&self) -> Vec<String> {
        let properties = self.hooks.iter().flat_map(CstObject::properties);
        properties.filter_map(|property| property.decoded_name()).collect()
    }

    pub(super) fn list(&self, event: &str) -> Option<CstArray> {
        self.hooks.as_ref()?.array_value(event)
    }

    /// Entries of an event that hold a command of this owner.
    pub(super) fn entries(&self, event: &str, program: &HookProgram, owner: Owner) -> Vec<Value> {
        let all = self.all_entries(event, program);
        all.filter(|entry| hooks_of(entry).any(|hook| owner_of(hook, program) == Some(owner))).collect()
    }

    /// Entries of an event that call us or the original.
    fn all_entries(&self, event: &str, program: &HookProgram) -> impl Iterator<Item = Value> {
        let entries = self.list(event).map_or_else(Vec::new, |list| list.elements());
        let values = entries.into_iter().map(|entry| jsonc::value(&entry));
        values.filter(move |entry| hooks_of(entry).any(|hook| owner_of(hook, program).is_some()))
    }

    /// Removes the owner's commands, the entries that held nothing else, and the lists that held nothing else.
    pub(super) fn remove(&self, owner: Owner, had: &[String], program: &HookProgram) {
        let Some(hooks) = &self.hooks else { return };
        let had = |name: &str| had.iter().any(|part| part == name);
        let mut is_changed = false;
        for property in hooks.properties() {
            let Some(list) = property.array_value() else { continue };
            if !remove_from_list(&list, owner, program) {
                continue;
            }
            is_changed = true;
            let name = property.decoded_name().unwrap_or_default();
            let is_left_over = list.elements().is_empty() && !jsonc::has_comments(list);
            if is_left_over && !had(&format!("hooks.{name}")) {
                property.remove();
            }
        }
        let is_left_over = hooks.properties().is_empty() && !jsonc::has_comments(hooks.clone());
        if let Some(property) = self.document.object.get("hooks")
            && is_changed
            && is_left_over
            && !had("hooks")
        {
            property.remove();
        }
    }
}

/// Whether something of the owner's was in the list.
fn remove_from_list(list: &CstArray, owner: Owner, program: &HookProgram) -> bool {
    let is_ours = |hook: &CstNode| owner_of(&jsonc::value(hook), program) == Some(owner);
    let mut is_changed = false;
    for entry in list.elements() {
        let hooks = entry.as_object().and_then(|entry| entry.array_value("hooks"));
        let hooks = hooks.map_or_else(Vec::new, |hooks| hooks.elements());
        let ours: Vec<CstNode> = hooks.iter().filter(|hook| is_ours(hook)).cloned().collect();
        is_changed |= !ours.is_empty();
        if !ours.is_empty() && ours.len() == hooks.len() {
            entry.remove();
        } else {
            // Others use this entry too.
            ours.into_iter().for_each(CstNode::remove);
        }
    }
    is_changed
}

fn hooks_of(entry: &Value) -> impl Iterator<Item = &Value> {
    entry["hooks"].as_array().into_iter().flatten()
}

fn commands(entry: &Value) -> impl Iterator<Item = &str> {
    hooks_of(entry).filter_map(|hook| hook["command"].as_str())
}

/// Whose hook this is. Claude Code counts seconds and the original wrote milliseconds, so an entry with its name and
/// such a limit is the original's even where this program took over its path.
pub(super) fn owner_of(hook: &Value, program: &HookProgram) -> Option<Owner> {
    const ORIGINAL_TIMEOUT_MIN: i64 = 1000;
    let line = hook["command"].as_str()?;
    let is_original = hook["timeout"].as_i64().is_some_and(|limit| limit >= ORIGINAL_TIMEOUT_MIN)
        && crate::hooks::calls_original(line);
    program.owner(line).map(|owner| if is_original { Owner::Original } else { owner })
}

fn entry(event: &ClaudeEvent, program: &HookProgram, scope: Scope) -> Value {
    let line = program.hook_line(scope, event.handler);
    let hook = json!({"type": "command", "command": line, "timeout": event.seconds});
    json!({"matcher": event.matcher, "hooks": [hook]})
}

/// The parts of the hooks that a text has before we change it.
fn had(text: &str) -> Vec<String> {
    let Ok(settings) = ClaudeSettings::read(text) else { return Vec::new() };
    let own = settings.hooks.as_ref().map(|_| "hooks".to_owned());
    own.into_iter().chain(settings.events().iter().map(|event| format!("hooks.{event}"))).collect()
}

/// The text with our entries behind those of others, and without those of the original.
fn with_entries(base: &str, program: &HookProgram, scope: Scope) -> Result<String, String> {
    let entries: Vec<(&str, Value)> =
        EVENTS.iter().map(|event| (event.name, entry(event, program, scope))).collect();
    let all: serde_json::Map<String, Value> =
        entries.iter().map(|(name, entry)| ((*name).to_owned(), json!([entry]))).collect();
    if is_blank(base) {
        return Ok(jsonc::new_text(&json!({ "hooks": all })));
    }
    let settings = ClaudeSettings::read(base)?;
    let had = had(base);
    settings.remove(Owner::Original, &had, program);
    match &settings.hooks {
        None => {
            settings.document.object.append("hooks", jsonc::input(&Value::Object(all)));
        }
        Some(hooks) => {
            for (name, entry) in &entries {
                match settings.list(name) {
                    Some(list) => jsonc::append(&list, entry),
                    None => {
                        hooks.append(name, jsonc::input(&json!([entry])));
                    }
                }
            }
        }
    }
    Ok(settings.document.text())
}

#[cfg(test)]
mod tests;
