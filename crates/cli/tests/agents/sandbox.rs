//! Each real program, and the usual build tools, at work inside a sandbox that is enforced.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::lab::{Agent, Lab, shell};

/// What the programs keep in the user's home and cannot do without.
const CONFIGURATION: &str = r#"
[executors.codex]
command = ["codex"]
credentials = [".codex/config.toml"]

[executors.gemini]
command = ["gemini"]
credentials = [".gemini/settings.json"]
"#;

/// Runs a plan of one task that may write to `src`. Returns the task.
#[track_caller]
fn run(lab: &Lab, command: &[&str]) -> Value {
    let project = lab.cli.project();
    std::fs::create_dir_all(project.join("src")).unwrap();
    lab.cli.scratch().write("home/.config/writ/config.toml", CONFIGURATION);
    let plan = format!(
        "objective = \"Work inside\"\nworkspace = \".\"\nsandbox = \"enforce\"\n\n\
         [[task]]\nid = \"a\"\nwrites = [\"src\"]\ncommand = {command:?}\n"
    );
    std::fs::write(project.join("plan.toml"), plan).unwrap();
    let call = lab.cli.call(["run", "plan.toml", "--output", "json"]).deadline(Duration::from_secs(240));
    let run = toolchains().fold(call, |call, (name, place)| call.env(name, place)).run();
    let task = run.json()["data"]["tasks"][0].clone();
    assert_eq!(task["status"], "done", "{run}");
    task
}

/// Toolchains that are found through the home directory, which is another one here.
#[expect(clippy::disallowed_methods, reason = "toolchains are where this machine has them")]
fn toolchains() -> impl Iterator<Item = (&'static str, PathBuf)> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let places = [("RUSTUP_HOME", home.join(".rustup")), ("PYENV_ROOT", home.join(".pyenv"))];
    places.into_iter().filter(|(_, place)| place.exists())
}

#[track_caller]
fn writes_inside_and_not_outside(agent: Agent, command: &[&str]) {
    let [inside, outside] =
        ["echo x > src/inside", "echo x > outside"].map(|command| shell(agent.name(), command));
    let lab = Lab::with_model(json!([inside, outside, {"text": "FINISHED"}]));
    run(&lab, command);
    let project = lab.cli.project();
    assert!(project.join("src/inside").is_file(), "{}", lab.told());
    assert!(!project.join("outside").exists());
    let told = lab.told().to_lowercase();
    assert!(
        ["permission denied", "read-only file system"].iter().any(|denial| told.contains(denial)),
        "{told}"
    );
}

#[test]
fn claude_works_inside() {
    let headless = ["claude", "-p", "go", "--output-format", "stream-json", "--verbose"];
    let tools = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Edit,Read"];
    writes_inside_and_not_outside(Agent::Claude, &[&headless[..], &tools].concat());
}

/// Its own sandbox cannot be made inside another one, and is not needed there.
#[test]
fn codex_works_inside_with_its_own_sandbox_off() {
    let headless = ["codex", "exec", "--json", "-s", "danger-full-access", "--skip-git-repo-check", "go"];
    writes_inside_and_not_outside(Agent::Codex, &headless);
}

#[test]
fn gemini_works_inside() {
    let headless =
        ["gemini", "-m", "gemini-2.5-pro", "-o", "stream-json", "--approval-mode", "yolo", "-p", "go"];
    writes_inside_and_not_outside(Agent::Gemini, &headless);
}

#[test]
fn opencode_works_inside() {
    writes_inside_and_not_outside(Agent::OpenCode, &["opencode", "run", "--format", "json", "go"]);
}

/// Writes the smallest package that pip installs.
const WHEEL: &str = r#"
import zipfile
with zipfile.ZipFile("tiny-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tiny.py", "")
    wheel.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
    wheel.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("tiny-1.dist-info/RECORD", "tiny.py,,\n")
"#;

/// What each tool does in `src`. None of it needs the network.
const TOOLS: &[&str] = &[
    "cargo new --vcs none hello -q && cd hello && cargo test --offline -q && cargo clean -q",
    "npm init -y > /dev/null && mkdir tiny && cd tiny && npm init -y > /dev/null && cd .. && npm install --offline --no-audit ./tiny && npm ls tiny",
    "python3 -m venv --without-pip --system-site-packages own && own/bin/python -m pip install -q --no-index tiny-1-py3-none-any.whl \
     && own/bin/python -c 'import tiny'",
    "go vet . && go build -o built . && ./built && go clean -cache",
    "printf 'all:\n\techo made > out\n' > Makefile && make && test -s out",
    "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git gc -q",
];

#[test]
fn build_tools_do_ordinary_work_inside() {
    let lab = Lab::new();
    let source = lab.cli.project().join("src");
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("go.mod"), "module hello\n\ngo 1.21\n").unwrap();
    std::fs::write(source.join("main.go"), "package main\n\nfunc main() {}\n").unwrap();
    std::fs::write(source.join("wheel.py"), WHEEL).unwrap();
    run(&lab, &["sh", "-c", "cd src && python3 wheel.py"]);
    for tool in TOOLS {
        run(&lab, &["sh", "-c", &format!("cd src && {tool}")]);
    }
}
