//! Plugins of the program that the agent contract was written for: ours replaces them, and an uninstallation gives
//! them back.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use contract::digest;
use jsonc_parser::cst::CstArray;
use ops::Result;
use serde::{Deserialize, Serialize};

use crate::hooks::adapter::HookPlan;
use crate::hooks::settings::edits::{self, Edit};
use crate::hooks::settings::{difference, jsonc};
use crate::hooks::{FileChange, files};

/// The names that the original's plugin had in its releases.
const NAMES: [&str; 2] = ["vybe-bridge.js", "opencode-vybe-bridge.ts"];
const CONFIGURATIONS: [&str; 2] = ["opencode.json", "opencode.jsonc"];

/// Something of the original's that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum RemovedOriginal {
    /// A whole file.
    Plugin { path: String, text: String, mode: u32 },
    /// Entries of the list of plugins in a configuration file.
    Registration {
        path: String,
        entries: Vec<String>,
        /// The digest of the file as we left it.
        installed: String,
        /// The edits that undo the removal.
        back: Vec<Edit>,
    },
}

impl RemovedOriginal {
    pub(super) fn path(&self) -> &str {
        match self {
            RemovedOriginal::Plugin { path, .. } | RemovedOriginal::Registration { path, .. } => path,
        }
    }
}

/// Plans the removal of the original's plugins and its undo.
pub(super) fn replace(directory: &Path, plan: &mut HookPlan) -> Result<Vec<RemovedOriginal>> {
    let mut replaced = Vec::new();
    for name in NAMES {
        let path = directory.join("plugins").join(name);
        if let Some(text) = files::read(&path)? {
            let mode = std::fs::metadata(&path).map_or(0o600, |meta| meta.permissions().mode() & 0o7777);
            replaced.push(RemovedOriginal::Plugin {
                path: path.display().to_string(),
                text: text.clone(),
                mode,
            });
            plan.changes.push(FileChange { mode: Some(mode), ..FileChange::new(path, Some(text), None) });
        }
    }
    for name in CONFIGURATIONS {
        let path = directory.join(name);
        let Some(before) = files::read(&path)? else { continue };
        if let Some((after, entries, back)) = without_registration(&before) {
            let installed = digest::of_bytes(after.as_bytes());
            let path_text = path.display().to_string();
            replaced.push(RemovedOriginal::Registration { path: path_text, entries, installed, back });
            plan.changes.push(FileChange::new(path, Some(before), Some(after)));
        }
    }
    Ok(replaced)
}

/// Plans to give back what was removed. A file that exists again is left alone. Returns what is restored.
pub(super) fn give_back(replaced: &[RemovedOriginal], plan: &mut HookPlan) -> Result<Vec<String>> {
    let mut restored = Vec::new();
    for one in replaced {
        let path = Path::new(one.path()).to_owned();
        let now = files::read(&path)?;
        let after = match (one, &now) {
            (RemovedOriginal::Plugin { text, .. }, None) => Some(text.clone()),
            (RemovedOriginal::Plugin { .. }, Some(_)) | (RemovedOriginal::Registration { .. }, None) => None,
            (RemovedOriginal::Registration { entries, installed, back, .. }, Some(text)) => {
                let is_unchanged = digest::of_bytes(text.as_bytes()) == *installed;
                is_unchanged.then(|| edits::apply(text, back)).flatten().or_else(|| registered(text, entries))
            }
        };
        let mode = match one {
            RemovedOriginal::Plugin { mode, .. } => Some(*mode),
            RemovedOriginal::Registration { .. } => None,
        };
        if after.is_some() && after != now {
            restored.push(one.path().to_owned());
            plan.changes.push(FileChange { mode, ..FileChange::new(path, now, after) });
        }
    }
    Ok(restored)
}

/// The text without the original's registrations, what they were, and the edits that lead back.
fn without_registration(text: &str) -> Option<(String, Vec<String>, Vec<Edit>)> {
    // A configuration that cannot be read is OpenCode's to report; it registers nothing.
    let document = jsonc::JsoncFile::parse(text).ok()?;
    let list = document.object.array_value("plugin")?;
    let mut entries = Vec::new();
    for element in list.elements() {
        let value = jsonc::value(&element);
        if let Some(entry) = value.as_str().filter(|entry| is_originals(entry)) {
            entries.push(entry.to_owned());
            element.remove();
        }
    }
    let after = document.text();
    let back = edits::reversed(&difference::edits(text, &after)?);
    (!entries.is_empty()).then_some((after, entries, back))
}

/// The text with the entries that are missing in it.
fn registered(text: &str, entries: &[String]) -> Option<String> {
    let document = jsonc::JsoncFile::parse(text).ok()?;
    let list: CstArray = document.object.array_value_or_create("plugin")?;
    let known: Vec<serde_json::Value> = list.elements().iter().map(jsonc::value).collect();
    for entry in entries.iter().filter(|entry| !known.iter().any(|known| known == entry.as_str())) {
        jsonc::append(&list, &serde_json::json!(entry));
    }
    Some(document.text())
}

fn is_originals(entry: &str) -> bool {
    NAMES.iter().any(|name| entry == *name || entry.ends_with(&format!("/{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_are_removed_and_come_back_byte_for_byte() {
        for text in [
            "{\n  // mine\n  \"plugin\": [\"./plugins/opencode-vybe-bridge.ts\", \"other\"],\n}\n",
            "{\"plugin\":[\"./plugins/opencode-vybe-bridge.ts\"]}",
            "{\n  \"plugin\": [\n    \"a\",\n    \"file:///x/vybe-bridge.js\"\n  ]\n}",
        ] {
            let (after, entries, back) = without_registration(text).unwrap();
            assert!(!after.contains("vybe") && entries.len() == 1, "{after}");
            assert_eq!(edits::apply(&after, &back).as_deref(), Some(text));
            // After a foreign change only the entry is restored.
            let changed = after.replacen('{', "{\"a\": 1, ", 1);
            let with = registered(&changed, &entries).unwrap();
            assert!(with.contains("vybe-bridge") && with.contains("\"a\": 1"), "{with}");
        }
        for text in ["{}", "{\"plugin\": [\"mine\"]}", "{", "{\"plugin\": \"x\"}"] {
            assert_eq!(without_registration(text), None, "{text}");
        }
    }
}
