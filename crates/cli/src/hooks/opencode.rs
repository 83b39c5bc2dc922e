//! OpenCode's plugin: one file of ours, which knows its own digest.

use contract::digest;
use serde_json::json;

use super::Program;

const BODY: &str = include_str!("opencode/bridge.js");
const MARK: &str = "// Written by `writ hook install`, removed by `writ hook uninstall`. ";

/// What stands in the plugin's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// As some writ wrote it.
    Ours,
    /// Ours, and changed since.
    Changed,
    /// Somebody else's.
    Foreign,
}

/// The plugin for this program.
pub(crate) fn plugin(program: &Program) -> String {
    let database: Vec<&str> = program.db_path.iter().flat_map(|path| ["--db-path", path.as_str()]).collect();
    let rest =
        format!("const PROGRAM = {};\nconst STORE = {};\n{BODY}", json!(program.path), json!(database));
    format!("{MARK}{}\n{rest}", digest::of_bytes(rest.as_bytes()))
}

pub(crate) fn find(text: Option<&str>) -> Found {
    let Some(text) = text else { return Found::Nothing };
    let Some((digest, rest)) = text.strip_prefix(MARK).and_then(|text| text.split_once('\n')) else {
        return Found::Foreign;
    };
    if digest::of_bytes(rest.as_bytes()) == digest { Found::Ours } else { Found::Changed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_is_known_again_and_a_change_is_seen() {
        let program = Program { path: "/opt/writ".to_owned(), db_path: Some("/data/\"x\".db".to_owned()) };
        let text = plugin(&program);
        assert_eq!(find(Some(&text)), Found::Ours);
        assert_eq!(find(Some(&text.replace("/opt", "/usr"))), Found::Changed);
        assert_eq!(find(Some("export const x = 1;\n")), Found::Foreign);
        assert_eq!(find(None), Found::Nothing);
        assert!(text.contains(r#"const STORE = ["--db-path","/data/\"x\".db"];"#));
    }
}
