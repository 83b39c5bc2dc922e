//! The agent programs: how each is started without a person, pointed at the stub, and read.

use serde_json::{Value, json};
use testkit::{Output, Scratch};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Gemini,
    OpenCode,
}

impl Agent {
    pub(crate) const ALL: [Agent; 4] = [Agent::Claude, Agent::Codex, Agent::Gemini, Agent::OpenCode];

    /// The program's name, as it is found in `PATH`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
            Agent::Gemini => "gemini",
            Agent::OpenCode => "opencode",
        }
    }

    /// The arguments of a headless turn with the prompt on standard input.
    pub(super) fn headless<'a>(self, more: &[&'a str]) -> Vec<&'a str> {
        let (before, after): (&[&str], &[&str]) = match self {
            Agent::Claude => {
                let tools =
                    ["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Edit,Read,Task"];
                return ["-p", "--output-format", "stream-json", "--verbose"]
                    .into_iter()
                    .chain(tools)
                    .chain(more.iter().copied())
                    .collect();
            }
            Agent::Codex => (&["exec", "--json", "-s", "workspace-write", "--skip-git-repo-check"], &["-"]),
            Agent::Gemini => (&["-m", "gemini-2.5-pro", "-o", "stream-json", "--approval-mode", "yolo"], &[]),
            Agent::OpenCode => (&["run", "--format", "json"], &[]),
        };
        before.iter().chain(more).chain(after).copied().collect()
    }

    /// Variables that point the program at the stub and keep it from calling anyone else.
    pub(super) fn environment(self, scratch: &Scratch, port: u16) -> Vec<(&'static str, String)> {
        let stub = format!("http://127.0.0.1:{port}");
        let on = || "1".to_owned();
        match self {
            Agent::Claude => vec![
                ("ANTHROPIC_BASE_URL", stub),
                ("ANTHROPIC_API_KEY", "stub-key".to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
                ("DISABLE_AUTOUPDATER", on()),
                ("CLAUDE_CODE_MAX_RETRIES", on()),
            ],
            Agent::Codex => {
                vec![("CODEX_HOME", codex_home(scratch)), ("STUB_KEY", "stub-key".to_owned())]
            }
            Agent::Gemini => vec![
                ("GEMINI_API_KEY", "stub-key".to_owned()),
                ("GOOGLE_GEMINI_BASE_URL", stub),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
                ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
            ],
            Agent::OpenCode => vec![
                ("OPENCODE_DISABLE_AUTOUPDATE", on()),
                ("OPENCODE_DISABLE_MODELS_FETCH", on()),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", on()),
                ("OPENCODE_CONFIG_CONTENT", opencode_configuration(&stub).to_string()),
            ],
        }
    }

    /// Writes the files that the program cannot do without.
    pub(super) fn configure(self, scratch: &Scratch, port: u16) {
        match self {
            Agent::Claude | Agent::OpenCode => {}
            Agent::Codex => {
                let home = codex_home(scratch);
                scratch.write(format!("{home}/config.toml"), codex_configuration(port));
            }
            Agent::Gemini => {
                let settings = json!({
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "privacy": {"usageStatisticsEnabled": false},
                    "general": {"enableAutoUpdate": false},
                });
                scratch.write("home/.gemini/settings.json", settings.to_string());
            }
        }
    }

    /// The final text of the model in the program's stream. Lines that are not JSON are tolerated.
    fn final_text(self, stdout: &str) -> String {
        let lines = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut texts = lines.filter_map(|line| {
            let text = match self {
                Agent::Claude => line.get("result"),
                Agent::Codex => line.get("item").filter(|item| item["type"] == "agent_message")?.get("text"),
                Agent::Gemini => line.get("content").filter(|_| line["role"] == "assistant"),
                Agent::OpenCode => line.pointer("/part/text"),
            };
            text.and_then(Value::as_str).map(str::to_owned)
        });
        texts.next_back().unwrap_or_default()
    }
}

fn codex_home(scratch: &Scratch) -> String {
    scratch.dir("home/.codex").display().to_string()
}

fn codex_configuration(port: u16) -> String {
    format!(
        r#"model = "gpt-5.5"
model_provider = "stub"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0
"#
    )
}

fn opencode_configuration(stub: &str) -> Value {
    json!({
        "model": "stub/m",
        "provider": {"stub": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{stub}/v1"), "apiKey": "stub-key"},
            "models": {"m": {}},
        }},
    })
}

/// A finished call of an agent program.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) agent: Agent,
    pub(crate) output: Output,
}

impl Turn {
    /// The final text of the model. Panics unless the program exited with 0.
    #[track_caller]
    pub(crate) fn said(&self) -> String {
        self.agent.final_text(&self.output.success().stdout)
    }
}
