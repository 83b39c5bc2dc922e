//! Each real program as an executor, in a sandbox that is enforced: scope, cost, repair, resumption, and how it fails.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::eventually;

use crate::lab::{Agent, Lab, script, shell};

/// OpenCode takes ten seconds of processor time for a turn, and a test has several of them.
const RUN_DEADLINE: Duration = Duration::from_secs(420);

/// Agents that speak the Agent Client Protocol.
const CONFIGURATION: &str = r#"
[executor.gemini-acp]
kind = "acp"
command = ["gemini", "--acp", "-m", "gemini-2.5-pro"]

[executor.opencode-acp]
kind = "acp"
command = ["opencode", "acp"]
"#;

/// A plan of one task that may write to `src`.
fn plan(lab: &Lab, executor: &str, steps: Value, more: Value) -> Value {
    let project = lab.cli.project();
    std::fs::create_dir_all(project.join("src")).unwrap();
    lab.cli.scratch().write("home/.config/writ/config.toml", CONFIGURATION);
    let mut task = json!({"id": "a", "executor": executor, "prompt": script(steps), "writes": ["src"]});
    if executor == "gemini" {
        task["model"] = json!("gemini-2.5-pro");
    }
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"objective": "Work inside", "workspace": ".", "sandbox": "enforce", "task": [task]})
}

/// The task and its attempts when its run has ended.
#[track_caller]
fn run(lab: &Lab, executor: &str, steps: Value, more: Value) -> (Value, Vec<Value>) {
    let plan = plan(lab, executor, steps, more);
    let call = lab
        .cli
        .call(["run", "-", "--limit-wait", "0s", "--output", "json"])
        .stdin(plan.to_string())
        .deadline(RUN_DEADLINE);
    let answer = call.run();
    let task = answer.json()["data"]["tasks"][0].clone();
    (task, attempts(lab))
}

fn attempts(lab: &Lab) -> Vec<Value> {
    let shown = lab.writ(["runs", "show", "@last", "--output", "json"]).success().json();
    shown["data"]["tasks"][0]["attempts"].as_array().unwrap().clone()
}

/// It writes inside its scope, not outside, its first attempt fails the check, and the second one repairs it in the same
/// conversation: the model goes on with its script only if it is told what it said before.
#[track_caller]
fn works(executor: &str, program: Agent) {
    works_with(executor, program, json!({}));
}

/// The same, with these fields of the task.
#[track_caller]
fn works_with(executor: &str, program: Agent, fields: Value) {
    let lab = Lab::new();
    let steps = json!([
        shell(program.name(), "echo wrong > src/out"),
        shell(program.name(), "echo x > outside"),
        {"text": "FIRST"},
        shell(program.name(), "echo right > src/out"),
        {"text": "SECOND"},
    ]);
    let checks = json!([{"command": ["grep", "-q", "right", "src/out"]}]);
    let mut more = json!({"retries": 1, "checks": checks});
    more.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let (task, attempts) = run(&lab, executor, steps, more);
    assert_eq!(
        (&task["status"], &task["evidence"]),
        (&json!("done"), &json!("verified")),
        "{task}\n{attempts:#?}"
    );
    assert!(!lab.cli.project().join("outside").exists());
    let told = lab.told().to_lowercase();
    let is_denied = ["permission denied", "read-only file system"].iter().any(|words| told.contains(words));
    assert!(is_denied, "{told}");
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0]["outcome"]["agent_session"], attempts[1]["agent_session"]);
    assert_eq!(attempts[1]["outcome"]["message"], "SECOND");
    for attempt in &attempts {
        assert!(attempt["outcome"]["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{attempt}");
    }
    if program == Agent::Claude {
        let cost = |attempt: &Value| attempt["outcome"]["cost"].as_u64().unwrap();
        // Three answers of the model, then two. The second report is that of the whole conversation.
        assert!(cost(&attempts[1]) < cost(&attempts[0]), "{attempts:#?}");
    }
}

#[test]
fn claude_works_as_an_executor() {
    works("claude", Agent::Claude);
}

#[test]
fn codex_works_as_an_executor() {
    works("codex", Agent::Codex);
}

#[test]
fn gemini_works_as_an_executor() {
    works("gemini", Agent::Gemini);
}

#[test]
fn opencode_works_as_an_executor() {
    works("opencode", Agent::OpenCode);
}

/// It names the file of a conversation after the minute, and loses one that is loaded in the minute in which it began.
#[test]
fn gemini_works_over_acp() {
    works_with("gemini-acp", Agent::Gemini, json!({"backoff": ["61s"]}));
}

#[test]
fn opencode_works_over_acp() {
    works("opencode-acp", Agent::OpenCode);
}

/// Its engine is killed while a tool works, and the run that is continued goes on in the same conversation.
#[track_caller]
fn survives(executor: &str, program: Agent) {
    let lab = Lab::new();
    let wait = "test -e src/started || { touch src/started; python3 -c 'import time; time.sleep(60)'; }";
    let said = json!({"text": "RESUMED"});
    // A program may add answers of its own for what was interrupted; each counts as a step.
    let steps = json!([shell(program.name(), wait), said, said, said]);
    let plan = plan(&lab, executor, steps, json!({"retry_safe": true}));
    lab.cli.scratch().write(lab.cli.project().join("plan.json"), plan.to_string());
    let engine = lab.cli.spawn(["run", "plan.json"]);
    eventually("the tool works", || lab.cli.project().join("src/started").exists());
    drop(engine.kill_nine());
    let call = lab.cli.call(["run", "--continue", "--output", "json"]).deadline(RUN_DEADLINE);
    let task = call.run().json()["data"]["tasks"][0].clone();
    let attempts = attempts(&lab);
    assert_eq!(task["status"], "done", "{task}\n{attempts:#?}");
    assert!(attempts[0]["agent_session"].is_string(), "{attempts:#?}");
    assert_eq!(attempts[1]["outcome"]["agent_session"], attempts[0]["agent_session"], "{attempts:#?}");
    assert_eq!(attempts[1]["outcome"]["message"], "RESUMED");
    assert!(lab.told().contains("Your work on this task was interrupted."));
}

#[test]
fn claude_goes_on_after_its_engine_was_killed() {
    survives("claude", Agent::Claude);
}

#[test]
fn codex_goes_on_after_its_engine_was_killed() {
    survives("codex", Agent::Codex);
}

#[test]
fn gemini_goes_on_after_its_engine_was_killed() {
    survives("gemini", Agent::Gemini);
}

#[test]
fn opencode_goes_on_after_its_engine_was_killed() {
    survives("opencode", Agent::OpenCode);
}

#[test]
fn opencode_goes_on_over_acp_after_its_engine_was_killed() {
    survives("opencode-acp", Agent::OpenCode);
}

/// What the program makes of an error of its model.
#[track_caller]
fn fails(program: Agent, rows: &[(Value, &str)]) {
    for (step, expected) in rows {
        let lab = Lab::new();
        let (task, attempts) = run(&lab, program.name(), json!([step]), json!({"timeout": "3m"}));
        let reason = task["reason"].as_str().unwrap_or_default();
        assert!(reason.starts_with(expected), "{step}: {reason}\n{attempts:#?}");
    }
}

const AUTHENTICATION: &str = "E_MODEL_UNAVAILABLE: authentication failed";
const RATE_LIMIT: &str = "E_MODEL_UNAVAILABLE: rate limit";
const UNAVAILABLE: &str = "E_MODEL_UNAVAILABLE: ";
const OVERFLOW: &str = "E_CONTEXT_OVERFLOW: ";
const TOO_LONG: &str = "prompt is too long: 250000 tokens > 200000 maximum";

#[test]
fn errors_of_the_model_of_claude_have_their_codes() {
    let rows = [
        (json!({"status": 401, "message": "bad key"}), AUTHENTICATION),
        (json!({"status": 429, "message": "slow down"}), RATE_LIMIT),
        (json!({"status": 529, "message": "overloaded"}), UNAVAILABLE),
        (json!({"status": 400, "message": TOO_LONG}), OVERFLOW),
    ];
    fails(Agent::Claude, &rows);
}

#[test]
fn errors_of_the_model_of_codex_have_their_codes() {
    let rows = [
        (json!({"status": 401, "message": "bad key"}), AUTHENTICATION),
        (json!({"status": 429, "message": "slow down"}), RATE_LIMIT),
        (json!({"status": 500, "message": "broken"}), UNAVAILABLE),
        (json!({"drop": true}), UNAVAILABLE),
    ];
    fails(Agent::Codex, &rows);
}

#[test]
fn errors_of_the_model_of_gemini_have_their_codes() {
    let rows = [
        (json!({"status": 401, "message": "bad key"}), AUTHENTICATION),
        (json!({"status": 400, "message": "the input token count exceeds the maximum"}), OVERFLOW),
        (json!({"drop": true}), UNAVAILABLE),
    ];
    fails(Agent::Gemini, &rows);
}

#[test]
fn errors_of_the_model_of_opencode_have_their_codes() {
    let rows = [
        (json!({"status": 401, "message": "bad key"}), AUTHENTICATION),
        (json!({"drop": true}), UNAVAILABLE),
    ];
    fails(Agent::OpenCode, &rows);
}
