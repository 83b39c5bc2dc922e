use super::*;

const AGENTS: &[&str] = &["claude", "opencode", "codex", "gemini"];

fn command(file: &str, name: &str, arguments: &str) -> Command {
    let arguments = arguments.split_ascii_whitespace().map(str::to_owned).collect();
    Command { file: file.to_owned(), name: name.to_owned(), arguments }
}

#[test]
fn agents_are_recognized_by_file_name_and_script() {
    let cases = [
        (command("/opt/claude", "claude", "claude -p"), Some("claude")),
        (command("/u/.local/share/claude/versions/2.1.3", "claude", "claude"), Some("claude")),
        (command("", "MainThread", "/usr/bin/claude"), Some("claude")),
        (command("/usr/bin/node", "node", "node /usr/local/bin/gemini -p x"), Some("gemini")),
        (
            command("/usr/bin/node", "node-MainThread", "node --no-warnings=X /u/bundle/gemini.js"),
            Some("gemini"),
        ),
        (
            command("/usr/bin/node", "node", "node /u/lib/node_modules/@anthropic-ai/claude-code/cli.js"),
            Some("claude"),
        ),
        (
            command("/usr/bin/node", "node", "/usr/bin/node /u/node_modules/@openai/codex/bin/codex.js"),
            Some("codex"),
        ),
        (command("/bin/dash", "opencode", "/bin/sh /u/bin/opencode run"), Some("opencode")),
        (command("/bin/dash", "sh", "/bin/sh /u/bin/opencode run"), Some("opencode")),
        (command("/usr/bin/python3.12", "python3", "python3 /u/claude.py"), Some("claude")),
        (command("/bin/dash", "sh", "sh -c claude"), None),
        (command("/bin/bash", "bash", "bash -e -c claude --continue"), None),
        (command("/usr/bin/vim", "vim", "vim claude"), None),
        (command("/usr/bin/node", "node", "node server.js claude"), None),
        (command("/usr/bin/node", "node", "node /u/node_modules/claudette/x.js"), None),
        (command("/opt/claude-helper", "claude-helper", "claude-helper"), None),
        (command("", "", ""), None),
    ];
    for (command, expected) in cases {
        assert_eq!(program_of(&command, AGENTS), expected, "{command:?}");
    }
}

#[test]
fn no_ancestor_of_a_test_runs_a_program_that_does_not_exist() {
    assert_eq!(find(&["no-such-agent-program"]), None);
}
