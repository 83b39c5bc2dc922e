//! Hooks of the program that the agent contract was written for: ours replace them, and an uninstallation gives them
//! back.

use serde_json::{Value, json};

use super::settings::{ClaudeSettings, ReplacedEntry, owner_of};
use crate::hooks::settings::jsonc;
use crate::hooks::{HookProgram, Owner};

/// The original's entries in a text, in file order, without hooks that others have in the same entry.
pub(super) fn found(text: &str, program: &HookProgram) -> Vec<ReplacedEntry> {
    let Ok(settings) = ClaudeSettings::read(text) else { return Vec::new() };
    let is_original = |hook: &Value| owner_of(hook, program) == Some(Owner::Original);
    let mut found = Vec::new();
    for event in settings.events() {
        for mut entry in settings.entries(&event, program, Owner::Original) {
            if let Some(hooks) = entry["hooks"].as_array_mut() {
                hooks.retain(is_original);
            }
            found.push(ReplacedEntry { event: event.clone(), entry });
        }
    }
    found
}

/// Adds entries that are missing. Used where the file changed since, so that it cannot be restored byte for byte.
pub(super) fn give_back(settings: &ClaudeSettings, replaced: &[ReplacedEntry], program: &HookProgram) {
    // The original may have been installed again since.
    let is_missing = |event: &str| settings.entries(event, program, Owner::Original).is_empty();
    let missing: Vec<&ReplacedEntry> =
        replaced.iter().filter(|replaced| is_missing(&replaced.event)).collect();
    for ReplacedEntry { event, entry } in missing {
        let object = &settings.document.object;
        let Some(hooks) = object.get("hooks").and_then(|property| property.object_value()) else {
            object.append("hooks", jsonc::input(&json!({ event.as_str(): [entry] })));
            continue;
        };
        match hooks.array_value(event) {
            Some(list) => jsonc::append(&list, entry),
            None => {
                hooks.append(event, jsonc::input(&json!([entry])));
            }
        }
    }
}
