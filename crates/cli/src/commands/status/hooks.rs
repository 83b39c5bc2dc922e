//! Whether agent programs call writ, as their settings say.

use ops::host::Diagnostic;
use serde_json::{Map, Value, json};

use crate::app::Globals;
use crate::commands::hook::program;
use crate::hooks::adapter::{ADAPTERS, HookAdapter};
use crate::output::one_line;

pub(super) fn look(globals: &Globals) -> (Value, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let Ok(program) = program(globals) else { return (json!({"claude": false}), diagnostics) };
    let mut hooks = Map::new();
    for adapter in ADAPTERS {
        adapter.status(&program, &mut hooks, &mut diagnostics);
    }
    (Value::Object(hooks), diagnostics)
}

/// A line for each agent program.
pub(super) fn text(hooks: &Value) -> String {
    let line = |adapter: &&dyn HookAdapter| {
        let found = &hooks[adapter.name()];
        let installed = found.as_bool().or(found["installed"].as_bool()).unwrap_or(false);
        let several = hooks[format!("{}_settings_paths", adapter.name())].as_array().into_iter().flatten();
        let paths: Vec<&str> = several.chain([&found["path"]]).filter_map(Value::as_str).collect();
        let state = match found["status"].as_str() {
            _ if !installed => "not installed".to_owned(),
            None | Some("installed") => format!("installed in {}", paths.join(", ")),
            Some(other) => format!("installed in {} ({other})", paths.join(", ")),
        };
        format!("hooks    {}: {}\n", adapter.title(), one_line(&state))
    };
    ADAPTERS.iter().map(line).collect()
}
