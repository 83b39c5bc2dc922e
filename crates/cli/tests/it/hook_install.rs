//! Into the settings of agent programs, and out again without a trace.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Cli, Output, Scratch};

use crate::documents::writ;

const EVENTS: [&str; 10] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUseFailure",
    "PostToolUse",
    "PreCompact",
    "SessionEnd",
    "TaskCompleted",
    "SubagentStart",
    "SubagentStop",
    "Stop",
];
const SETTINGS: &str = "home/.claude/settings.json";
const PLUGIN: &str = "home/.config/opencode/plugin/writ.js";
const INSTALL_BOTH: &[&str] = &["install", "--claude", "--opencode"];
const UNINSTALL_BOTH: &[&str] = &["uninstall", "--claude", "--opencode"];

#[track_caller]
fn data(output: &Output) -> Value {
    let envelope = output.success().json();
    assert_eq!((&envelope["success"], output.stderr.as_str()), (&json!(true), ""), "{output}");
    envelope["data"].clone()
}

fn hook(cli: &Cli, words: &[&str]) -> Output {
    cli.run(["hook"].iter().chain(words))
}

/// Every file and directory below, with what is in it and its mode.
fn contents(scratch: &Scratch, below: &str) -> Vec<(String, Option<String>, u32)> {
    let mut found = Vec::new();
    let mut pending = vec![scratch.join(below)];
    while let Some(path) = pending.pop() {
        for entry in fs::read_dir(&path).unwrap().flatten() {
            let path = entry.path();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777;
            let text = path.is_file().then(|| fs::read_to_string(&path).unwrap());
            if path.is_dir() {
                pending.push(path.clone());
            }
            found.push((path.display().to_string(), text, mode));
        }
    }
    // What we keep for ourselves is not part of anybody's settings.
    found.retain(|(path, _, _)| !path.contains("/.local/"));
    found.sort();
    found
}

fn settings(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn both_agents_get_their_hooks_and_lose_them_without_a_trace() {
    let cli = writ();
    let before = contents(cli.scratch(), "home");
    let made = data(&hook(&cli, INSTALL_BOTH));
    let (path, plugin) = (cli.scratch().join(SETTINGS), cli.scratch().join(PLUGIN));
    let claude = json!({"path": path.to_str().unwrap(), "installed": EVENTS, "skipped": null});
    let opencode = json!({"path": plugin.to_str().unwrap(), "status": "installed"});
    assert_eq!(made, json!({"message": made["message"], "claude": claude, "opencode": opencode}));
    let hooks = settings(&path)["hooks"].clone();
    assert_eq!(hooks.as_object().unwrap().len(), EVENTS.len());
    let start = &hooks["SessionStart"][0];
    assert_eq!(start["matcher"], "startup|resume|clear|compact");
    let command = start["hooks"][0]["command"].as_str().unwrap();
    assert_eq!(command, format!("{} hook session-start", env!("CARGO_BIN_EXE_writ")));
    // Claude Code counts seconds.
    assert!(
        hooks
            .as_object()
            .unwrap()
            .values()
            .all(|list| list[0]["hooks"][0]["timeout"].as_i64().unwrap() <= 60)
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let again = data(&hook(&cli, INSTALL_BOTH));
    assert_eq!((&again["claude"]["installed"], &again["claude"]["skipped"]), (&Value::Null, &json!(EVENTS)));
    assert_eq!(again["opencode"]["status"], "skipped");

    let gone = data(&hook(&cli, UNINSTALL_BOTH));
    let sorted = |value: &Value| {
        let mut names: Vec<String> = serde_json::from_value(value.clone()).unwrap();
        names.sort();
        names
    };
    assert_eq!(sorted(&gone["claude"]["removed"]), sorted(&json!(EVENTS)));
    assert_eq!((&gone["claude"]["restored"], &gone["opencode"]["removed"]), (&json!(true), &json!(true)));
    assert_eq!(contents(cli.scratch(), "home"), before);
    let nothing = data(&hook(&cli, &["uninstall", "--claude", "--opencode", "--force"]));
    assert_eq!(
        (&nothing["claude"]["removed"], &nothing["opencode"]["status"]),
        (&Value::Null, &json!("not_found"))
    );
    assert!(!cli.db().exists(), "hooks are installed without a store");
}

#[test]
fn settings_of_others_are_kept_and_come_back_byte_for_byte() {
    let cli = writ();
    let original = "{\r\n   \"model\" : \"m\",\r\n   \"hooks\": {\r\n      \"Stop\": [ {\"hooks\":[{\"type\":\"command\",\"command\":\"say 'writ hook'\"}]} ],\r\n      \"PreToolUse\": []\r\n   }\r\n}";
    let path = cli.scratch().write(SETTINGS, original);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let made = data(&hook(&cli, &["install", "--claude"]));
    assert_eq!(made.get("opencode"), None);
    let after = settings(&path);
    assert_eq!((&after["model"], &after["hooks"]["PreToolUse"]), (&json!("m"), &json!([])));
    assert_eq!(after["hooks"]["Stop"].as_array().unwrap().len(), 2);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    data(&hook(&cli, &["uninstall", "--claude"]));
    assert_eq!(fs::read_to_string(&path).unwrap(), original);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);

    // Changed since: only our entries go.
    data(&hook(&cli, &["install", "--claude"]));
    let changed = fs::read_to_string(&path).unwrap().replace("\"m\"", "\"n\"");
    fs::write(&path, changed).unwrap();
    let gone = data(&hook(&cli, &["uninstall", "--claude"]));
    assert_eq!(gone["claude"]["restored"], false);
    assert_eq!(fs::read_to_string(&path).unwrap(), original.replace("\"m\"", "\"n\""));
}

#[test]
fn comments_and_trailing_commas_survive_install_update_and_uninstall() {
    let cli = writ();
    let original = "// mine\n{\n\t\"model\": \"m\", // small\n\t\"hooks\": {\n\t\t/* tell me */\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"},],}, // loud\n\t\t],\n\t},\n}\n";
    let path = cli.scratch().write(SETTINGS, original);
    let kept = |text: &str| {
        let comments =
            ["// mine\n{", "\"m\", // small\n\t\"hooks\"", "/* tell me */\n\t\t\"Stop\"", ", // loud\n"];
        comments.iter().all(|part| text.contains(part)) && text.contains("\"say done\"},],}")
    };
    data(&hook(&cli, &["install", "--claude"]));
    let first = fs::read_to_string(&path).unwrap();
    assert!(kept(&first) && first.contains(" hook session-start"), "{first}");
    data(&hook(&cli, &["install", "--claude", "--db-path", "/data/other.db"]));
    let second = fs::read_to_string(&path).unwrap();
    assert!(kept(&second) && second.contains("--db-path /data/other.db"), "{second}");
    data(&hook(&cli, &["uninstall", "--claude"]));
    assert_eq!(fs::read_to_string(&path).unwrap(), original);

    // Changed since: only our entries go.
    data(&hook(&cli, &["install", "--claude"]));
    let changed = fs::read_to_string(&path).unwrap().replace("\"m\"", "\"n\"");
    fs::write(&path, changed).unwrap();
    data(&hook(&cli, &["uninstall", "--claude"]));
    assert_eq!(fs::read_to_string(&path).unwrap(), original.replace("\"m\"", "\"n\""));
}

#[test]
fn a_dry_run_shows_every_byte_and_touches_none() {
    let cli = writ();
    let path = cli.scratch().write(SETTINGS, "{\n  \"model\": \"m\"\n}\n");
    let before = contents(cli.scratch(), "");
    let plan = data(&hook(&cli, &["install", "--dry-run"]));
    let unchanged = |found: Vec<(String, Option<String>, u32)>| {
        let calls = |entry: &(String, Option<String>, u32)| !entry.0.contains("/calls/");
        found.into_iter().filter(calls).collect::<Vec<_>>()
    };
    assert_eq!(unchanged(contents(cli.scratch(), "")), unchanged(before));
    assert!(!cli.scratch().has("home/.local/share/writ"));
    assert_eq!(plan["dry_run"], true);
    // Making the shown edits by hand gives what the installation gives.
    let files = plan["files"].as_array().unwrap().clone();
    let shown = |file: &Value| -> String {
        let old = fs::read_to_string(file["path"].as_str().unwrap()).unwrap_or_default();
        let (at, removed) = (file["at"].as_u64().unwrap(), file["removed"].as_str().unwrap());
        let at = usize::try_from(at).unwrap();
        assert_eq!(&old[at..at + removed.len()], removed);
        format!("{}{}{}", &old[..at], file["inserted"].as_str().unwrap(), &old[at + removed.len()..])
    };
    let expected: Vec<(String, String)> =
        files.iter().map(|file| (file["path"].as_str().unwrap().to_owned(), shown(file))).collect();
    assert!(expected.iter().any(|(name, _)| *name == path.to_str().unwrap()));
    data(&hook(&cli, &["install"]));
    for (name, text) in expected {
        assert_eq!(fs::read_to_string(&name).unwrap(), text, "{name}");
    }
    let plan = data(&hook(&cli, &["uninstall", "--dry-run"]));
    assert_eq!(plan["files"][0]["action"], "change");
    assert_eq!(settings(&path)["hooks"].as_object().unwrap().len(), EVENTS.len());
    let text = hook(&cli, &["uninstall", "--dry-run", "--output", "text"]);
    assert!(
        text.success().stdout.contains("would change") && text.stdout.contains("hook session-start"),
        "{text}"
    );
}

#[test]
fn settings_that_are_not_json_are_refused_and_nothing_is_written() {
    let cli = writ();
    let path = cli.scratch().write(SETTINGS, "{\"hooks\": // not closed\n {}");
    let before = contents(cli.scratch(), "home");
    for verb in ["install", "uninstall"] {
        let refused = hook(&cli, &[verb]).fails_with(1).json();
        assert_eq!(
            (&refused["error_code"], &refused["error_context"]["path"]),
            (&json!("INVALID_INPUT"), &json!(path.to_str().unwrap()))
        );
        assert!(refused["error"].as_str().unwrap().contains("not valid JSON"), "{refused}");
    }
    assert_eq!(contents(cli.scratch(), "home"), before);
}

#[test]
fn an_installation_that_fails_leaves_nothing_behind() {
    let cli = writ();
    // Where the plugin belongs is a link to nowhere, which shows only when it is written.
    cli.scratch().dir("home/.config/opencode");
    symlink("/nowhere/plugin", cli.scratch().join("home/.config/opencode/plugin")).unwrap();
    for before in [None, Some("{\"model\": \"x\"}\n")] {
        if let Some(text) = before {
            cli.scratch().write(SETTINGS, text);
        }
        let entries = || fs::read_dir(cli.scratch().join("home")).unwrap().count();
        let (known, files) = (entries(), contents(cli.scratch(), "home"));
        assert_eq!(hook(&cli, INSTALL_BOTH).fails_with(1).json()["error_code"], "IO");
        assert_eq!(contents(cli.scratch(), "home"), files);
        assert_eq!(entries(), known, "what is ours is gone too");
    }
}

#[test]
fn what_somebody_wrote_around_a_call_of_ours_stays_theirs() {
    let cli = writ();
    let lines = [
        "writ hook stop && notify-send done",
        "echo writ hook stop",
        "writ hook-report",
        "writ hook install",
        "sh -c 'writ hook stop'",
        "writ hook stop; true",
    ];
    let entry = |line: &&str| json!({"hooks": [{"type": "command", "command": line}]});
    let theirs = json!({"hooks": {"Stop": lines.iter().map(entry).collect::<Vec<_>>()}});
    cli.scratch().write(SETTINGS, format!("{theirs:#}\n"));
    data(&hook(&cli, &["install", "--claude"]));
    assert_eq!(
        settings(&cli.scratch().join(SETTINGS))["hooks"]["Stop"].as_array().unwrap().len(),
        lines.len() + 1
    );
    data(&hook(&cli, &["uninstall", "--claude"]));
    assert_eq!(settings(&cli.scratch().join(SETTINGS)), theirs);
    assert_eq!(data(&hook(&cli, &["uninstall", "--claude"]))["claude"]["removed"], Value::Null);
}

#[test]
fn every_configured_place_is_honoured() {
    let cli = writ();
    let dirs = ["cc", "oc", "xdg"].map(|name| cli.scratch().join(name));
    let call = |words: &[&str]| {
        let call = cli.call(["hook"].iter().chain(words)).env("CLAUDE_CONFIG_DIR", &dirs[0]);
        call.env("XDG_CONFIG_HOME", &dirs[2])
    };
    data(&call(INSTALL_BOTH).run());
    assert!(cli.scratch().has("cc/settings.json") && cli.scratch().has("xdg/opencode/plugin/writ.js"));
    data(&call(UNINSTALL_BOTH).run());
    data(&call(&["install", "--opencode"]).env("OPENCODE_CONFIG_DIR", &dirs[1]).run());
    assert!(cli.scratch().has("oc/plugin/writ.js") && !cli.scratch().has("xdg"));
    assert!(!cli.scratch().has("cc"), "directories made for nothing else are gone");
    data(&hook(&cli, &["install", "--claude", "--opencode", "--project"]));
    assert!(cli.scratch().has("project/.claude/settings.json"));
    assert!(cli.scratch().has("project/.opencode/plugin/writ.js"));
    data(&hook(&cli, &["uninstall", "--claude", "--opencode", "--project"]));
    assert_eq!(fs::read_dir(cli.project()).unwrap().count(), 0);
}

#[test]
fn a_link_to_settings_stays_a_link() {
    let cli = writ();
    let real = cli.scratch().write("dotfiles/claude.json", "{}\n");
    let link = cli.scratch().join(SETTINGS);
    cli.scratch().dir("home/.claude");
    symlink(&real, &link).unwrap();
    data(&hook(&cli, &["install", "--claude"]));
    assert!(link.is_symlink());
    assert_eq!(settings(&real)["hooks"].as_object().unwrap().len(), EVENTS.len());
    data(&hook(&cli, &["uninstall", "--claude"]));
    assert_eq!((link.is_symlink(), fs::read_to_string(&real).unwrap().as_str()), (true, "{}\n"));
}

#[test]
fn the_store_of_the_installation_is_written_into_the_commands() {
    let cli = writ();
    data(&hook(&cli, &["install", "--claude", "--opencode", "--db-path", "my store.db"]));
    let command = settings(&cli.scratch().join(SETTINGS))["hooks"]["Stop"][0]["hooks"][0]["command"].clone();
    let store = cli.project().join("my store.db");
    assert!(
        command.as_str().unwrap().ends_with(&format!("hook stop --db-path '{}'", store.display())),
        "{command}"
    );
    assert!(
        cli.scratch()
            .read(PLUGIN)
            .contains(&format!("const STORE = [\"--db-path\",\"{}\"];", store.display()))
    );
    let other = data(&hook(&cli, INSTALL_BOTH));
    assert_eq!(
        (&other["claude"]["updated"], &other["opencode"]["status"]),
        (&json!(EVENTS), &json!("updated"))
    );
    data(&hook(&cli, UNINSTALL_BOTH));
    assert!(!cli.scratch().has("home/.claude"));
}

#[test]
fn a_plugin_that_somebody_changed_is_left_alone() {
    let cli = writ();
    data(&hook(&cli, &["install", "--opencode"]));
    let mine = format!("{}// mine\n", cli.scratch().read(PLUGIN));
    cli.scratch().write(PLUGIN, &mine);
    let refused = hook(&cli, INSTALL_BOTH).fails_with(1).json();
    assert_eq!(refused["error_code"], "ALREADY_EXISTS");
    assert!(!cli.scratch().has(SETTINGS), "nothing is written when a part is refused");
    let skipped = data(&hook(&cli, &["uninstall", "--opencode"]));
    assert_eq!(
        (&skipped["opencode"]["status"], &skipped["opencode"]["removed"]),
        (&json!("skipped_conflict"), &json!(false))
    );
    assert_eq!(cli.scratch().read(PLUGIN), mine);
    data(&hook(&cli, &["uninstall", "--opencode", "--force"]));
    assert!(!cli.scratch().has("home/.config/opencode"));
}

#[test]
fn installations_at_the_same_time_leave_one_entry_each() {
    let cli = writ();
    cli.scratch().write(SETTINGS, "{}\n");
    let installing: Vec<_> = (0..6).map(|_| cli.spawn(["hook", "install"])).collect();
    for call in installing {
        data(&call.wait());
    }
    let hooks = settings(&cli.scratch().join(SETTINGS))["hooks"].clone();
    assert!(hooks.as_object().unwrap().values().all(|list| list.as_array().unwrap().len() == 1), "{hooks}");
    data(&hook(&cli, &["uninstall"]));
    assert_eq!(cli.scratch().read(SETTINGS), "{}\n");
}

#[test]
fn without_a_flag_claude_code_alone_is_meant() {
    let cli = writ();
    let made = data(&hook(&cli, &["install"]));
    assert_eq!((made["claude"]["installed"].as_array().unwrap().len(), made.get("opencode")), (10, None));
    assert!(!cli.scratch().has("home/.config/opencode"));
    data(&hook(&cli, &["install", "--opencode"]));
    let gone = data(&hook(&cli, &["uninstall"]));
    assert_eq!((gone["claude"]["removed"].as_array().unwrap().len(), gone.get("opencode")), (10, None));
    assert!(cli.scratch().has(PLUGIN), "what was not named stays");
    assert_eq!(gone["still_installed"], json!(["opencode"]));
    let text = hook(&cli, &["uninstall", "--output", "text"]);
    assert!(text.success().stdout.contains("writ hook uninstall --opencode"), "{text}");
}

#[test]
fn a_project_gets_a_command_that_works_on_every_machine() {
    let cli = writ();
    data(&hook(&cli, &["install", "--claude", "--opencode", "--project"]));
    let text = cli.scratch().read("project/.claude/settings.json");
    let plugin = cli.scratch().read("project/.opencode/plugin/writ.js");
    assert!(text.contains("\"writ hook session-start\""), "{text}");
    assert!(plugin.contains("const PROGRAM = \"writ\";"), "{plugin}");
    for file in [&text, &plugin] {
        assert!(!file.contains(env!("CARGO_BIN_EXE_writ")) && !file.contains("/target/"), "{file}");
    }
    let status = |cli: &Cli| data(&cli.run(["status"]));
    let found = status(&cli);
    assert_eq!(
        (&found["hooks"]["claude"], &found["hooks"]["opencode"]["status"]),
        (&json!(true), &json!("installed"))
    );
    // Nothing on the path has that name in this test.
    let codes = |found: &Value| {
        let all = found["diagnostics"].as_array().cloned().unwrap_or_default();
        all.iter().filter(|one| one["code"] == "HOOK_PROGRAM_MISSING").count()
    };
    assert_eq!(codes(&found), 1, "{found}");
    // The user's own hooks keep the path of this program.
    data(&hook(&cli, &["install"]));
    let own = settings(&cli.scratch().join(SETTINGS))["hooks"]["Stop"][0]["hooks"][0]["command"].clone();
    assert_eq!(own, format!("{} hook stop", env!("CARGO_BIN_EXE_writ")));
    data(&hook(&cli, &["uninstall"]));
    data(&hook(&cli, &["uninstall", "--claude", "--opencode", "--project"]));
    assert_eq!(codes(&status(&cli)), 0);
}

/// As the original writes its settings: sorted keys, two spaces, milliseconds.
fn settings_of_the_original() -> String {
    let entry = |handler: &str, limit: u32| {
        let command = format!("\"/opt/me/go/bin/vybe\" hook {handler}");
        json!([{"hooks": [{"command": command, "timeout": limit, "type": "command"}], "matcher": ""}])
    };
    let hooks = json!({"SessionEnd": entry("session-end", 5000), "SessionStart": entry("session-start", 3000), "Stop": entry("stop", 1000)});
    format!("{:#}\n", json!({"hooks": hooks, "model": "m"}))
}

#[test]
fn the_originals_hooks_and_plugins_are_replaced_and_given_back() {
    let cli = writ();
    cli.scratch().write(SETTINGS, settings_of_the_original());
    let config = "{\n  // mine\n  \"plugin\": [\"./plugins/opencode-vybe-bridge.ts\", \"other\"],\n}\n";
    cli.scratch().write("home/.config/opencode/opencode.json", config);
    for name in ["vybe-bridge.js", "opencode-vybe-bridge.ts"] {
        let path =
            cli.scratch().write(format!("home/.config/opencode/plugins/{name}"), format!("// {name}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    }
    let before = contents(cli.scratch(), "home");
    // Without an installation of ours there is nothing to remove.
    let nothing = data(&hook(&cli, UNINSTALL_BOTH));
    assert_eq!(
        (&nothing["claude"]["removed"], contents(cli.scratch(), "home")),
        (&Value::Null, before.clone())
    );

    let made = data(&hook(&cli, INSTALL_BOTH));
    assert_eq!(made["claude"]["updated"], json!(["SessionStart", "SessionEnd", "Stop"]));
    assert_eq!(made["opencode"]["replaced"].as_array().unwrap().len(), 3, "{made}");
    for file in [SETTINGS, "home/.config/opencode/opencode.json"] {
        assert!(!cli.scratch().read(file).contains("vybe"), "{}", cli.scratch().read(file));
    }
    assert_eq!(fs::read_dir(cli.scratch().join("home/.config/opencode/plugins")).unwrap().count(), 0);
    // A second installation forgets nothing of it.
    data(&hook(&cli, &["install", "--claude", "--opencode", "--db-path", "/data/other.db"]));
    let gone = data(&hook(&cli, UNINSTALL_BOTH));
    assert_eq!(
        (&gone["claude"]["restored"], gone["opencode"]["restored"].as_array().unwrap().len()),
        (&json!(true), 3)
    );
    assert_eq!(contents(cli.scratch(), "home"), before);

    // Files that changed since lose our entries and get the original's back.
    data(&hook(&cli, INSTALL_BOTH));
    let changed = cli.scratch().read(SETTINGS).replace("\"m\"", "\"n\"");
    cli.scratch().write(SETTINGS, changed);
    let configured = cli.scratch().read("home/.config/opencode/opencode.json").replace("mine", "ours");
    cli.scratch().write("home/.config/opencode/opencode.json", configured);
    cli.scratch().write("home/.config/opencode/plugins/vybe-bridge.js", "// newer\n");
    data(&hook(&cli, UNINSTALL_BOTH));
    let mut expected: Value = serde_json::from_str(&settings_of_the_original()).unwrap();
    expected["model"] = json!("n");
    assert_eq!(settings(&cli.scratch().join(SETTINGS)), expected);
    let configured = cli.scratch().read("home/.config/opencode/opencode.json");
    assert!(configured.contains("// ours") && configured.contains("opencode-vybe-bridge.ts"), "{configured}");
    assert_eq!(cli.scratch().read("home/.config/opencode/plugins/vybe-bridge.js"), "// newer\n");
    assert_eq!(
        cli.scratch().read("home/.config/opencode/plugins/opencode-vybe-bridge.ts"),
        "// opencode-vybe-bridge.ts\n"
    );
}
