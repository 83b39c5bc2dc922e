//! Sessions of real agent programs: what one did, the next one is told.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Background, eventually, eventually_some};

use crate::lab::{Agent, Lab, script};

/// How long a session may take to get somewhere. OpenCode starts slowly, and tests run side by side.
const PATIENCE: Duration = Duration::from_secs(120);
const TITLE: &str = "Paint the fence";

/// A lab with hooks in both agent programs, and one task in its project.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.writ(["hook", "install", "--claude", "--opencode"]).success();
    create(&lab, TITLE);
    lab
}

fn create(lab: &Lab, title: &str) -> String {
    let project = lab.cli.project();
    let words = ["task", "create", "--title", title, "--agent", "p", "--request-id", title];
    let made = lab.writ(words.iter().chain(&["--project-id", project.to_str().unwrap(), "--output", "json"]));
    made.success().json()["data"]["task"]["id"].as_str().unwrap().to_owned()
}

fn events(lab: &Lab, kind: &str) -> Vec<Value> {
    let words = ["events", "list", "--all", "--asc", "--kind", kind, "--output", "json"];
    lab.writ(words).success().json()["data"]["events"].as_array().unwrap().clone()
}

fn messages(lab: &Lab, kind: &str) -> Vec<String> {
    events(lab, kind).iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
}

fn project_of_task(lab: &Lab, id: &str) -> Value {
    lab.writ(["task", "get", "--id", id, "--output", "json"]).success().json()["data"].clone()
}

/// What the model was told in requests after this many.
fn told_since(lab: &Lab, requests: usize) -> String {
    lab.requests()[requests..].iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// A session that waits for its model, so that it is alive until it is ended.
#[track_caller]
fn session_that_waits<'lab>(lab: &'lab Lab, agent: Agent, steps: &[Value]) -> Background<'lab> {
    let steps: Vec<Value> = steps.iter().cloned().chain([json!({"hang": 600})]).collect();
    lab.call(agent, &[], &script(json!(steps))).spawn()
}

/// Edits a file, fails a command, and is then killed without a chance to say so.
#[track_caller]
fn the_next_session_goes_on_after_a_crash(agent: Agent, steps: &[Value]) {
    let lab = lab();
    let crashed = session_that_waits(&lab, agent, steps);
    let failure = eventually_some("the failure is noted", || messages(&lab, "tool_failure").pop());
    assert_eq!(failure, "Bash failed (exit 3): ./brush.sh (error: the brush is dry)");
    let edits = messages(&lab, "tool_success");
    assert!(edits.contains(&"Write: fence.txt".to_owned()), "{edits:?}");
    assert!(!crashed.kill_nine().status.success());
    assert_eq!(events(&lab, "task_released").len(), 0, "nobody said goodbye");

    let before = lab.requests().len();
    let next = lab.turn(agent, &script(json!([{"grep": "TASK task_[0-9a-z]+[^\\\\]*"}])));
    assert!(next.said().contains(TITLE), "{}", next.output);
    let told = told_since(&lab, before);
    for part in ["Bash failed (exit 3): ./brush.sh", "the brush is dry", "fence.txt"] {
        assert!(told.contains(part), "{part} is missing in:\n{told}");
    }
    // Through the sweep: the dead claim ended first, and the new one has a higher token.
    let tokens: Vec<i64> = claims(&lab).iter().filter_map(|claim| claim["token"].as_i64()).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

fn claims(lab: &Lab) -> Vec<Value> {
    events(lab, "task_claimed").iter().map(|event| event["metadata"].clone()).collect()
}

const BRUSH: &str = "#!/bin/sh\necho painting\necho 'error: the brush is dry' >&2\nexit 3\n";

#[test]
fn after_a_crash_of_claude_the_next_session_gets_the_task_the_failure_and_the_files() {
    let brush = format!("printf '%s' {} > brush.sh; chmod +x brush.sh", quoted(BRUSH));
    the_next_session_goes_on_after_a_crash(
        Agent::Claude,
        &[
            json!({"tool": "Bash", "args": {"command": brush}}),
            json!({"tool": "Write", "args": {"file_path": "fence.txt", "content": "green"}}),
            json!({"tool": "Bash", "args": {"command": "./brush.sh"}}),
        ],
    );
}

#[test]
fn after_a_crash_of_opencode_the_next_session_gets_the_task_the_failure_and_the_files() {
    let brush = format!("printf '%s' {} > brush.sh; chmod +x brush.sh", quoted(BRUSH));
    let bash = |command: &str| json!({"tool": "bash", "args": {"command": command, "description": "paint"}});
    the_next_session_goes_on_after_a_crash(
        Agent::OpenCode,
        &[
            bash(&brush),
            json!({"tool": "write", "args": {"filePath": "fence.txt", "content": "green"}}),
            bash("./brush.sh"),
        ],
    );
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn seven_idle_sessions_later_the_progress_note_is_still_there() {
    let lab = lab();
    let note = json!({"event": {"kind": "progress", "message": "the north side is green"}}).to_string();
    let push = format!(
        "writ push --agent \"claude-$CLAUDE_CODE_SESSION_ID\" --request-id note --json {}",
        quoted(&note)
    );
    let first = lab.claude(&script(json!([{"tool": "Bash", "args": {"command": push}}, {"text": "noted"}])));
    assert_eq!((first.said().as_str(), messages(&lab, "progress").len()), ("noted", 1), "{}", first.output);
    for _ in 0..7 {
        assert_eq!(lab.claude(&script(json!([{"text": "nothing to do"}]))).said(), "nothing to do");
    }
    let last = lab.claude(&script(json!([{"grep": "the north side is g\\w+"}])));
    assert_eq!(last.said(), "GREP:the north side is green");
}

#[test]
fn a_compaction_leaves_a_checkpoint_and_the_brief_comes_again() {
    let lab = lab();
    let session = "11111111-1111-4111-8111-111111111111";
    let first =
        lab.call(Agent::Claude, &["--session-id", session], &script(json!([{"text": "half is done"}])));
    first.run().success();
    let compacted =
        lab.call(Agent::Claude, &["--resume", session, "--include-hook-events"], "/compact").run();
    let lines: Vec<Value> =
        compacted.success().stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let answered = lines
        .iter()
        .find(|line| line["hook_name"] == "SessionStart:compact" && line["subtype"] == "hook_response");
    let brief = answered.expect("the hook ran")["output"].as_str().unwrap();
    assert!(brief.contains(TITLE) && brief.contains("half is done"), "{brief}");
    let checkpoints = events(&lab, "checkpoint");
    assert_eq!(checkpoints.len(), 1);
    let task = checkpoints[0]["task_id"].as_str().unwrap();
    assert_eq!(project_of_task(&lab, task)["title"], TITLE);
    // What the compacted conversation knows, it knows from the brief.
    let next =
        lab.call(Agent::Claude, &["--resume", session], &script(json!([{"grep": "Paint the f\\w+"}]))).run();
    assert!(next.success().stdout.contains("GREP:Paint the fence"), "{next}");
}

#[test]
fn a_session_beside_a_living_one_is_told_about_it_and_its_task() {
    let lab = lab();
    let first = session_that_waits(&lab, Agent::Claude, &[]);
    eventually("the first session has its task", || !claims(&lab).is_empty());
    let holder = events(&lab, "task_claimed")[0]["agent_name"].as_str().unwrap().to_owned();
    let task = events(&lab, "task_claimed")[0]["task_id"].as_str().unwrap().to_owned();
    let before = lab.requests().len();
    let second = lab.claude(&script(json!([{"text": "I see"}])));
    assert_eq!(second.said(), "I see", "{}", second.output);
    let told = told_since(&lab, before);
    for part in [TITLE, holder.as_str(), task.as_str()] {
        assert!(told.contains(part), "{part} is missing in:\n{told}");
    }
    assert_eq!(claims(&lab).len(), 1, "the task of a living session is not taken");
    drop(first);
}

#[test]
fn a_subagent_is_told_the_task_of_its_session() {
    let lab = lab();
    let inner = script(json!([{"grep": "Paint the f\\w+"}]));
    let outer = json!([
        {"tool": "~Agent|Task", "args": {"description": "look", "prompt": inner, "subagent_type": "general-purpose"}},
        {"text": "looked"},
    ]);
    lab.claude(&script(outer)).said();
    let stopped = messages(&lab, "agent_completed");
    assert_eq!(stopped, ["subagent stopped: general-purpose: GREP:Paint the fence"]);
    assert_eq!(messages(&lab, "agent_spawned"), ["subagent started: general-purpose"]);
}

#[test]
fn a_session_inside_a_run_is_told_its_own_task_and_claims_nothing_else() {
    let lab = lab();
    let steps = json!([
        {"tool": "Bash", "args": {"command": "touch gate.txt"}},
        {"grep": "Oil the g\\w+"},
    ]);
    lab.cli.scratch().write("project/prompt.txt", script(steps));
    let line = "claude -p --permission-mode acceptEdits --allowedTools Bash < prompt.txt";
    let task = json!({"id": "gate", "title": "Oil the gate", "command": line, "shell": true});
    let plan = json!({"objective": "A garden", "task": [task]});
    lab.cli.scratch().write("project/plan.json", plan.to_string());
    let before = lab.requests().len();
    let ran = lab.cli.call(["run", "plan.json"]).deadline(PATIENCE).run();
    assert!(ran.success().status.success(), "{ran}");
    let told = told_since(&lab, before);
    assert!(told.contains("GREP:Oil the gate") || told.contains("Oil the gate"), "{told}");
    assert!(!told.contains(TITLE), "a task outside of the run is not told:\n{told}");
    assert_eq!(claims(&lab), Vec::<Value>::new());
    let noted = events(&lab, "tool_success");
    assert_eq!(noted.len(), 1, "{noted:?}");
    let task = noted[0]["task_id"].as_str().unwrap();
    assert_eq!(project_of_task(&lab, task)["title"], "Oil the gate");
    assert_eq!(events(&lab, "last_words")[0]["task_id"], task);
    assert_eq!(events(&lab, "last_words")[0]["message"], "GREP:Oil the gate");
}
