//! What the tests submit: plans, AOP TASKs and AEE tasks.

use serde_json::{Value, json};
use testkit::Cli;

pub(crate) fn writ() -> Cli {
    Cli::new(env!("CARGO_BIN_EXE_writ"))
}

/// Opens the ledger of this plan in the project; gives the run's UUID.
pub(crate) fn opened(cli: &Cli, plan: &str) -> String {
    cli.scratch().write(cli.project().join("plan.toml"), plan);
    let shown = cli.run(["ledger", "open", "plan.toml"]).success().json();
    shown["data"]["run_id"].as_str().unwrap().to_owned()
}

/// The scripted agent, as a word of a command.
pub(crate) fn agent() -> String {
    testkit::fake_agent().into_os_string().into_string().unwrap()
}

pub(crate) fn plan(tasks: impl IntoIterator<Item = Value>) -> Value {
    let tasks: Vec<Value> = tasks.into_iter().collect();
    json!({"objective": "show what happens", "task": tasks})
}

/// A task whose child does these steps of the scripted agent.
pub(crate) fn scripted(id: &str, script: &str) -> Value {
    json!({"id": id, "command": [agent(), script]})
}

/// A task whose child is a line of shell.
pub(crate) fn shell(id: &str, line: &str) -> Value {
    json!({"id": id, "command": line, "shell": true})
}

/// A task whose child is given an AOP TASK and answers as the script says.
pub(crate) fn speaking(id: &str, script: &str) -> Value {
    json!({"id": id, "executor": "aop-stdio", "command": [agent(), script], "prompt": "Do it"})
}

/// The document with these fields set; what it had under the same names is replaced.
pub(crate) fn with(mut document: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    document.as_object_mut().unwrap().extend(fields);
    document
}

/// An AOP TASK for the workspace of the runner. Its author names the scripted agent as the program.
pub(crate) fn aop(cli: &Cli, script: &str) -> Value {
    json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "TASK",
        "session": {
            "session_id": "S-1", "created_at": "2026-01-01T12:00:00Z", "orchestrator": "test", "origin": "CLI",
        },
        "target": {"agent_name": "emma", "role": "EXECUTOR", "provider": "OTHER", "model": "none"},
        "task": {
            "task_id": "T-1", "objective": "Do it", "category": "OTHER", "complexity": "LOW",
            "environment": {"workspace_root": cli.project()},
            "extensions": {"x_command": [agent(), script]},
        },
    })
}

pub(crate) const CORR: &str = "corr-of-the-caller";

/// An AEE task from a person.
pub(crate) fn aee(intent: &str, payload: impl Into<Value>) -> Value {
    let payload = payload.into();
    json!({
        "v": "1", "id": "request-0001", "ts": "2026-01-01T12:00:00Z", "type": "task", "from": "human.ann",
        "to": "service.writ", "intent": intent, "corr": CORR, "reply_to": null, "trace": null,
        "priority": "normal", "requires": null, "payload": payload, "sig": null,
    })
}
