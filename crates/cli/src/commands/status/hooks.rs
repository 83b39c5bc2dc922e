//! Whether agent programs call writ, as their settings say.

use ops::host::Diagnostic;
use serde_json::{Map, Value, json};

use crate::app::Globals;
use crate::commands::hook::program;
use crate::hooks::adapter::ADAPTERS;

pub(super) fn look(globals: &Globals) -> (Value, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let Ok(program) = program(globals) else { return (json!({"claude": false}), diagnostics) };
    let mut hooks = Map::new();
    for adapter in ADAPTERS {
        adapter.status(&program, &mut hooks, &mut diagnostics);
    }
    (Value::Object(hooks), diagnostics)
}
