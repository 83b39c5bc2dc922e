//! OpenCode's plugin: one file of ours, which holds its own digest.

use contract::digest;
use serde_json::json;

use super::READING_TOOLS;
use crate::hooks::HookProgram;
use crate::hooks::places::Scope;

const BODY: &str = include_str!("bridge.js");
const MARK: &str = "// Written by `writ hook install`, removed by `writ hook uninstall`. ";

/// The file at the plugin's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstalledPlugin {
    Nothing,
    /// Unmodified since it was installed.
    Ours,
    /// Installed by writ, and modified since.
    Changed,
    /// Not written by writ.
    Foreign,
}

/// The plugin for this program.
pub(super) fn text(program: &HookProgram, scope: Scope) -> String {
    let database: Vec<&str> = program.db_path.iter().flat_map(|path| ["--db-path", path.as_str()]).collect();
    let (program, database) = (json!(program.called_in(scope)), json!(database));
    let reading = json!(READING_TOOLS);
    let rest = format!(
        "const PROGRAM = {program};\nconst STORE = {database};\nconst READING_TOOLS = {reading};\n{BODY}"
    );
    format!("{MARK}{}\n{rest}", digest::of_bytes(rest.as_bytes()))
}

pub(super) fn find(text: Option<&str>) -> InstalledPlugin {
    let Some(text) = text else { return InstalledPlugin::Nothing };
    let Some((digest, rest)) = text.strip_prefix(MARK).and_then(|text| text.split_once('\n')) else {
        return InstalledPlugin::Foreign;
    };
    if digest::of_bytes(rest.as_bytes()) == digest { InstalledPlugin::Ours } else { InstalledPlugin::Changed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_known_again_and_a_change_is_seen() {
        let program =
            HookProgram { path: "/opt/writ".to_owned(), db_path: Some("/data/\"x\".db".to_owned()) };
        let text = text(&program, Scope::User);
        assert_eq!(find(Some(&text)), InstalledPlugin::Ours);
        assert_eq!(find(Some(&text.replace("/opt", "/usr"))), InstalledPlugin::Changed);
        assert_eq!(find(Some("export const x = 1;\n")), InstalledPlugin::Foreign);
        assert_eq!(find(None), InstalledPlugin::Nothing);
        assert!(super::text(&program, Scope::Project).contains("const PROGRAM = \"writ\";"));
        assert!(text.contains(r#"const STORE = ["--db-path","/data/\"x\".db"];"#));
    }
}
