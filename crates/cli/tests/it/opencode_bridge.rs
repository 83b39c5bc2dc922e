//! The plugin as OpenCode would load it, in the only other program that can: node.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::writ;

const DRIVER: &str = r#"
import { WritBridge } from "./bridge.mjs";
const session = "ses_0123456789abcdefXYZ12345";
const place = { directory: process.cwd(), worktree: process.cwd() };
const bridge = await WritBridge(place);
const second = await WritBridge(place);
const system = [];
await bridge["chat.message"]({ sessionID: session }, { message: { id: "m1" }, parts: [{ type: "text", text: "paint it" }] });
await bridge["experimental.chat.system.transform"]({ sessionID: session }, { system });
await bridge["experimental.chat.system.transform"]({}, { system });
const bash = { tool: "bash", sessionID: session, callID: "c1", args: { command: "false" } };
for (let i = 0; i < 2; i++) await bridge["tool.execute.after"](bash, { output: "no", metadata: { exit: 1 } });
await bridge["tool.execute.after"]({ ...bash, tool: "edit", callID: "c2" }, { output: "ok", metadata: {} });
await bridge["tool.execute.after"]({ ...bash, tool: "read", callID: "c3" }, { output: "ok", metadata: {} });
const part = { type: "tool", tool: "write", callID: "c4", sessionID: session, state: { status: "error", input: {}, error: "denied" } };
await bridge.event({ event: { type: "message.part.updated", properties: { part } } });
await bridge["experimental.text.complete"]({ sessionID: session }, { text: "half of it is green" });
await bridge.event({ event: { type: "session.idle", properties: { sessionID: session } } });
await bridge["experimental.session.compacting"]({ sessionID: session }, { context: [] });
if (process.argv[2] === "deleted") {
  await bridge.event({ event: { type: "session.deleted", properties: { info: { id: session } } } });
}
await bridge.event({ event: { type: "something.else", properties: {} } });
console.log(JSON.stringify({ system, second: Object.keys(second) }));
"#;

#[expect(clippy::disallowed_methods, reason = "whether node is there is a matter of this machine")]
fn has_node() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join("node").is_file())
}

#[test]
fn a_session_of_opencode_is_remembered() {
    if !has_node() {
        // The plugin is only text to a machine without it.
        return;
    }
    let cli = writ();
    let project = cli.project();
    let words = ["task", "create", "--title", "Paint the fence", "--agent", "p", "--request-id", "r"];
    cli.run(words.iter().chain(&["--project-id", project.to_str().unwrap()])).success();
    let store = cli.db();
    cli.run(["hook", "install", "--opencode", "--db-path", store.to_str().unwrap()]).success();
    let plugin = cli.scratch().read("home/.config/opencode/plugin/writ.js");
    let node = Cli::new("node");
    node.scratch().write("bridge.mjs", plugin);
    let driver = node.scratch().write("driver.mjs", DRIVER);
    // The session is resumed twice and ends in both ways: with a word, and with the program.
    node.call([driver.to_str().unwrap(), "deleted"]).in_dir(&project).run().success();
    let released = || cli.run(["events", "list", "--all", "--kind", "task_released"]).success().json();
    assert_eq!(released()["data"]["count"], 1);
    let told = node.call([&driver]).in_dir(&project).run().success().json();
    assert_eq!(released()["data"]["count"], 2);
    assert_eq!(told["second"], json!([]), "loaded twice it is still one");
    let system = told["system"].as_array().unwrap();
    assert_eq!(system.len(), 2, "{told}");
    assert!(system[0].as_str().unwrap().contains("Paint the fence"), "{told}");
    let listed = cli.run(["events", "list", "--all", "--asc"]).success().json();
    let events = listed["data"]["events"].as_array().unwrap().clone();
    let of = |kind: &str| -> Vec<&Value> { events.iter().filter(|event| event["kind"] == kind).collect() };
    assert_eq!(of("user_prompt")[0]["message"], "paint it");
    let prompt = of("user_prompt")[0];
    assert_eq!(
        (prompt["agent_name"].as_str().unwrap().len(), &prompt["project_id"]),
        ("opencode-".len() + 16, &json!(project))
    );
    // What was told again in the second run is written once; a turn that ends is another turn.
    assert_eq!((of("tool_failure").len(), of("tool_success").len(), of("heartbeat").len()), (2, 1, 2));
    let failure = of("tool_failure")[0];
    assert_eq!(
        (&failure["message"], &failure["metadata"]["exit_code"]),
        (&json!("Bash failed (exit 1): false (no)"), &json!(1))
    );
    assert_eq!(of("last_words")[0]["message"], "half of it is green");
}
