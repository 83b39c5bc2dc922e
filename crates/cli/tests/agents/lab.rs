//! A lab for one test: a stub model, a scratch home and project, `writ`, and the four agent programs.
//!
//! ```ignore
//! let lab = Lab::new();
//! lab.writ(["hook", "install", "--claude"]).success();
//! lab.writ(["task", "create", "--title", "Paint the fence", ...]).success();
//! // The prompt is the model's script (`stub_model.py` lists the steps). `grep` answers with what the model was told.
//! let turn = lab.claude(&script(json!([{"tool": "Bash", "args": {"command": "true"}}, {"grep": "Paint the f\\w+"}])));
//! assert_eq!(turn.said(), "GREP:Paint the fence");
//! assert!(lab.told().contains("Paint the fence"));   // all that any request told the model
//! ```
//!
//! - `lab.claude(prompt)`, `codex`, `gemini` and `opencode` run one headless turn to its end. `lab.call(Agent::Claude, &["--resume", id], prompt)`
//!   is the same turn with more arguments, still to be started: `.env(…)`, `.in_dir(…)`, `.deadline(…)`, `.run()`, or `.spawn()` for a
//!   session that is to be killed or runs beside another.
//! - The programs and `writ` are on the `PATH` of every call, with all variables that point the programs at the stub, so `writ loop
//!   --command claude` needs nothing else. `lab.cli` is the testkit runner of `writ`: `lab.cli.project()`, `.db()`, `.scratch()`.
//! - `Lab::with_model(steps)` gives the steps for prompts without a script, such as those of `writ loop`.
//! - A script in what a hook adds to a conversation is not obeyed, so a brief may quote an earlier prompt.
//! - Tests run as root as well: no flag is used that a program refuses to root.
//! - When the lab is dropped, every process that was started in it is killed.
//!
//! Run some of them: `cargo xtask test --agents NAME`. Check and lint: `cargo clippy -p cli --test agents`.

mod agent;
mod stub;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Call, Cli, Output};

pub(crate) use agent::{Agent, Turn};
use stub::Stub;

/// OpenCode needs ten seconds of processor time for a turn, and tests run side by side.
const TURN_DEADLINE: Duration = Duration::from_secs(180);

/// Set by `cargo xtask test --agents`: the directories of the programs.
const PROGRAMS: &str = "WRIT_TEST_AGENTS";

pub(crate) struct Lab {
    pub(crate) cli: Cli,
    stub: Stub,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        Lab::build(None)
    }

    /// A lab whose model takes these steps when the prompt has no script.
    pub(crate) fn with_model(steps: Value) -> Lab {
        Lab::build(Some(steps))
    }

    fn build(default_steps: Option<Value>) -> Lab {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        let stub = Stub::start(cli.scratch(), default_steps.as_ref());
        let mut cli = cli.env("PATH", path());
        for agent in Agent::ALL {
            agent.configure(cli.scratch(), stub.port());
            for (name, value) in agent.environment(cli.scratch(), stub.port()) {
                cli = cli.env(name, value);
            }
        }
        let lab = Lab { cli, stub };
        lab.cli.call(["init", "--quiet"]).program("git").run().success();
        lab
    }

    pub(crate) fn writ<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.cli.run(args)
    }

    /// A headless turn with more arguments, not yet started.
    pub(crate) fn call(&self, agent: Agent, more: &[&str], prompt: &str) -> Call<'_> {
        let args = agent.headless(more);
        self.cli.call(args).program(agent.name()).stdin(prompt).deadline(TURN_DEADLINE)
    }

    #[track_caller]
    pub(crate) fn turn(&self, agent: Agent, prompt: &str) -> Turn {
        Turn { agent, output: self.call(agent, &[], prompt).run() }
    }

    #[track_caller]
    pub(crate) fn claude(&self, prompt: &str) -> Turn {
        self.turn(Agent::Claude, prompt)
    }

    #[track_caller]
    pub(crate) fn codex(&self, prompt: &str) -> Turn {
        self.turn(Agent::Codex, prompt)
    }

    #[track_caller]
    pub(crate) fn gemini(&self, prompt: &str) -> Turn {
        self.turn(Agent::Gemini, prompt)
    }

    #[track_caller]
    pub(crate) fn opencode(&self, prompt: &str) -> Turn {
        self.turn(Agent::OpenCode, prompt)
    }

    /// The bodies of all requests to the model, oldest first.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.stub.requests()
    }

    /// Everything that the model was told, by any program: all texts of all requests.
    pub(crate) fn told(&self) -> String {
        let mut texts = Vec::new();
        self.requests().iter().for_each(|body| collect(body, &mut texts));
        texts.join("\n")
    }
}

/// A prompt that makes the model take these steps.
pub(crate) fn script(steps: Value) -> String {
    format!("STUB{}", json!([steps]))
}

/// A step: a program's shell tool with a command.
pub(crate) fn shell(program: &str, command: &str) -> Value {
    match program {
        "claude" => json!({"tool": "Bash", "args": {"command": command}}),
        "codex" => json!({"tool": "exec_command", "args": {"cmd": command}}),
        "gemini" => json!({"tool": "run_shell_command", "args": {"command": command}}),
        _ => json!({"tool": "bash", "args": {"command": command, "description": "work"}}),
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `writ` as it was built, the agent programs, and then what this machine has.
#[expect(clippy::disallowed_methods, reason = "the programs are where xtask and this machine have them")]
fn path() -> std::ffi::OsString {
    let programs = std::env::var_os(PROGRAMS)
        .unwrap_or_else(|| panic!("{PROGRAMS} is not set: run `cargo xtask test --agents`"));
    let writ = PathBuf::from(env!("CARGO_BIN_EXE_writ"));
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let built = writ.parent().unwrap().to_path_buf();
    let directories = std::iter::once(built).chain(std::env::split_paths(&programs));
    std::env::join_paths(directories.chain(std::env::split_paths(&machine))).unwrap()
}
