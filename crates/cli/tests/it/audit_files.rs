//! The audit files of AOP sessions: derived from the log, accepted by the validator, and nobody's change.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::Cli;

use crate::bad_stores::sqlite;
use crate::documents::{agent, aop, writ};
use crate::read_back::work;

const PATH: &str = "_skills/agent-orchestration-protocol_d/v2/audit_trails";

fn place(cli: &Cli) -> PathBuf {
    cli.project().join(PATH)
}

/// The audit files by their names.
fn files(directory: &std::path::Path) -> BTreeMap<String, String> {
    let Ok(listing) = fs::read_dir(directory) else { return BTreeMap::new() };
    let paths = listing.map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn records(cli: &Cli) -> Vec<Value> {
    files(&place(cli)).values().map(|text| serde_json::from_str(text).unwrap()).collect()
}

fn of_type<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["record_type"] == kind).collect()
}

/// A TASK that writes to `src`, whose program is this line of shell; `$0` is the scripted agent.
fn shelled(cli: &Cli, line: &str) -> Value {
    let mut task = aop(cli, "");
    task["task"]["extensions"] = json!({"x_command": ["sh", "-c", line, agent()], "x_sandbox": "off"});
    task["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": ["src"]}});
    fs::create_dir_all(cli.project().join("src")).unwrap();
    task
}

/// An output for which a snapshot is kept.
fn kept(path: &str) -> Value {
    json!([{"type": "FILE", "path": path, "description": "it", "rollback_snapshot": {"enabled": true}}])
}

#[test]
fn every_audit_file_is_valid_and_says_what_the_log_holds() {
    let cli = writ();
    let line = "echo x > src/x; [ -e ../again ] && exec \"$0\" 'aop-cost 0.3; aop-success'; touch ../again; \
                exec \"$0\" 'aop-cost 0.2; aop-failed E_UNKNOWN'";
    let mut task = shelled(&cli, line);
    task["task"]["budgets"] = json!({"max_cost_usd": 0.25});
    task["task"]["expected_outputs"] = kept("src/x");
    task["execution_policy"] = json!({"max_retries": 1, "retry_backoff_seconds": []});
    let worked = work(&cli, &task);
    let found = files(&place(&cli));
    for (name, text) in &found {
        let judged = cli.call(["validate", "aop-audit", "--output", "json"]).stdin(text.clone()).run();
        judged.success();
        let details = &judged.json()["details"];
        assert_eq!((&details["findings"], &details["warnings"]), (&json!([]), &json!([])), "{name} {judged}");
        let record: Value = serde_json::from_str(text).unwrap();
        let id = record["audit_record_id"].as_str().unwrap();
        assert!(name.starts_with("S-1_") && name.ends_with(&format!("Z_{}.json", &id[..8])), "{name}");
    }
    let records = records(&cli);
    let dispatched = of_type(&records, "TASK_DISPATCHED");
    assert_eq!(dispatched.len(), 2, "{:?}", found.keys());
    let mut attempts: Vec<&Value> = dispatched.iter().map(|record| &record["context"]["attempt"]).collect();
    attempts.sort_by_key(|number| number.as_u64());
    assert_eq!(attempts, [1, 2]);
    assert_eq!(dispatched[0]["payload"]["task"]["objective"], "Do it");
    let received = of_type(&records, "RESPONSE_RECEIVED");
    assert_eq!(received.len(), 2);
    let last = received.iter().find(|record| record["context"]["attempt"] == 2).unwrap();
    let budget = json!({"max_cost_usd": 0.25, "current_cost_usd": 0.5, "within_budget": false});
    assert_eq!(last["governance"]["budget_status"], budget);
    let checks = of_type(&records, "GUARD_RAIL_CHECK");
    let failed: Vec<&Value> = checks.into_iter().filter(|it| it["payload"]["result"] == "FAIL").collect();
    let names: Vec<&Value> = failed.iter().map(|it| &it["payload"]["check_type"]).collect();
    assert_eq!(names, [&json!("BUDGET")], "{failed:?}");
    assert!(failed.iter().all(|it| it["governance"]["access_decision"] == "DENIED"), "{failed:?}");
    assert_eq!(of_type(&records, "ROUTING_DECISION").len(), 2);
    assert!(!of_type(&records, "ROLLBACK_EVENT").is_empty(), "{:?}", found.keys());
    let summary = of_type(&records, "SESSION_SUMMARY");
    assert_eq!((summary.len(), &summary[0]["payload"]["failed"]), (1, &json!(1)));
    let mut reported = worked.trace().into_iter().map(|envelope| envelope["payload"]["event"].clone());
    let trail =
        reported.rfind(|event| event["event"] == "SESSION_FINAL_REPORT").unwrap()["audit_trail"].clone();
    assert_eq!(trail, json!({"storage_path": format!("{PATH}/"), "record_count": found.len()}));
}

#[test]
fn a_deleted_audit_file_comes_back_identical() {
    let cli = writ();
    work(&cli, &aop(&cli, "aop-success")).succeeded();
    let before = files(&place(&cli));
    assert!(before.len() > 3, "{:?}", before.keys());
    let written = |words: &[&str]| {
        let words = [&["session", "audit", "S-1"], words, &["--output", "json"]].concat();
        cli.run(words).success().json()["data"].clone()
    };
    assert_eq!(written(&[])["count"], before.len());
    fs::remove_dir_all(cli.project().join("_skills")).unwrap();
    assert_eq!(written(&["--write", PATH])["written"], before.len());
    assert_eq!(files(&place(&cli)), before);
    assert_eq!(written(&["--write", PATH])["written"], 0);
    // The next engine of the session writes what an earlier one could not.
    fs::remove_dir_all(cli.project().join("_skills")).unwrap();
    work(&cli, &aop(&cli, "aop-success")).succeeded();
    let after = files(&place(&cli));
    assert!(before.iter().all(|(name, text)| after.get(name) == Some(text)) && after.len() > before.len());
}

#[test]
fn audit_files_are_no_change_of_a_task_and_no_rollback_removes_them() {
    let cli = writ();
    let mut task = shelled(&cli, "echo x > src/x; exec \"$0\" aop-success");
    let worked = work(&cli, &task).succeeded();
    assert_eq!(worked.shown("T-1")["attempts"][0]["outcome"]["outside"], Value::Null);
    // One that may write everywhere, and is rolled back.
    task = shelled(&cli, "echo y > y; exit 3");
    task["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": ["."]}});
    task["task"]["expected_outputs"] = kept("y");
    let before = files(&place(&cli));
    work(&cli, &task).failed();
    assert!(!cli.project().join("y").exists(), "it is rolled back");
    let after = files(&place(&cli));
    assert!(before.iter().all(|(name, text)| after.get(name) == Some(text)) && after.len() > before.len());
    let records = records(&cli);
    let checks = of_type(&records, "GUARD_RAIL_CHECK").into_iter();
    let failed: Vec<&Value> = checks.filter(|it| it["payload"]["result"] == "FAIL").collect();
    let mut names: Vec<&str> =
        failed.iter().map(|it| it["payload"]["check_type"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["FINAL_SIGNAL", "MINIMAL_REPORT"], "it ended without a RESPONSE");
}

#[test]
fn a_link_in_the_place_of_the_trail_is_told_and_not_followed() {
    let cli = writ();
    fs::create_dir_all(cli.scratch().path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(cli.scratch().path().join("elsewhere"), cli.project().join("_skills"))
        .unwrap();
    let worked = work(&cli, &aop(&cli, "aop-success")).succeeded();
    assert!(worked.output.stderr.contains("audit files are not written"), "{}", worked.output);
    assert_eq!(fs::read_dir(cli.scratch().path().join("elsewhere")).unwrap().count(), 0);
    let told = worked.trace().into_iter().any(|envelope| envelope["intent"] == "writ.audit.unwritten");
    assert!(told, "the trace says it");
}

#[test]
fn foreign_ids_name_no_other_place_and_the_configuration_decides() {
    let cli = writ();
    let mut task = aop(&cli, "aop-success");
    task["session"]["session_id"] = json!("../evil");
    task["task"]["task_id"] = json!("../../T");
    cli.scratch().write("home/.config/writ/config.toml", "[aop]\naudit = \"logs/audit\"\n");
    work(&cli, &task).succeeded();
    let names: Vec<String> = files(&cli.project().join("logs/audit")).into_keys().collect();
    assert!(names.iter().all(|name| name.starts_with("---evil_")), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("---evil_------T_TASK_DISPATCHED_")), "{names:?}");
    assert!(!cli.project().join("_skills").exists());
    let off = writ();
    off.scratch().write("home/.config/writ/config.toml", "[aop]\naudit = \"off\"\n");
    let worked = work(&off, &aop(&off, "aop-success")).succeeded();
    assert!(!off.project().join("_skills").exists());
    let mut events = worked.trace().into_iter().map(|envelope| envelope["payload"]["event"].clone());
    let report = events.rfind(|event| event["event"] == "SESSION_FINAL_REPORT").unwrap();
    assert_eq!(report["audit_trail"], Value::Null);
    off.scratch().write("home/.config/writ/config.toml", "[aop]\naudit = \"../up\"\n");
    let refused = off.call(["run", "-"]).stdin(aop(&off, "aop-success").to_string()).run();
    assert!(refused.stderr.contains("aop.audit") || refused.stdout.contains("aop.audit"), "{refused}");
}

fn told(cli: &Cli) -> Value {
    cli.run(["session", "audit", "S-1", "--output", "json"]).success().json()["data"].clone()
}

#[test]
fn a_trail_that_cannot_be_read_hinders_no_task_and_is_told() {
    let cli = writ();
    let first = work(&cli, &aop(&cli, "aop-success")).succeeded();
    let count = files(&place(&cli)).len();
    let damage = |payload: &str, kind: &str| {
        let run = first.result["run_id"].as_str().unwrap();
        sqlite(
            &cli.db(),
            &format!("UPDATE events SET payload = '{payload}' WHERE run_id = '{run}' AND kind = '{kind}'"),
        );
    };
    damage("{}", "attempt_ended");
    let answer = told(&cli);
    assert_eq!(
        (&answer["unread"], answer["count"].as_u64() < Some(count as u64)),
        (&json!(1), true),
        "{answer}"
    );
    let second = work(&cli, &aop(&cli, "aop-success")).succeeded();
    assert!(
        second.output.stderr.contains("audit files are not written: 1 event cannot be read"),
        "{}",
        second.output
    );
    damage("no JSON", "attempt_ended");
    let third = work(&cli, &aop(&cli, "aop-success")).succeeded();
    assert!(third.output.stderr.contains("audit files are not written"), "{}", third.output);
}

#[test]
fn the_files_of_a_run_whose_old_events_were_removed_stay() {
    let cli = writ();
    let line = "[ -e src/again ] && exec \"$0\" 'aop-cost 0.3; aop-success'; touch src/again; \
                exec \"$0\" 'aop-cost 0.2; aop-failed E_UNKNOWN'";
    let mut task = shelled(&cli, line);
    task["execution_policy"] = json!({"max_retries": 1, "retry_backoff_seconds": []});
    work(&cli, &task).succeeded();
    let before = files(&place(&cli));
    let spent = |files: &BTreeMap<String, String>| files.values().any(|text| text.contains("0.5"));
    assert!(spent(&before), "{before:?}");
    sqlite(
        &cli.db(),
        "DELETE FROM events WHERE id = (SELECT min(id) FROM events WHERE kind = 'attempt_started');
         UPDATE heads SET anchor_seq = 1 WHERE stream LIKE 'run%'",
    );
    let answer = told(&cli);
    assert_eq!(answer["pruned_runs"].as_array().unwrap().len(), 1, "{answer}");
    fs::remove_file(place(&cli).join(before.keys().find(|name| name.contains("SUMMARY")).unwrap())).unwrap();
    work(&cli, &aop(&cli, "aop-success")).succeeded();
    let after = files(&place(&cli));
    assert!(before.iter().all(|(name, text)| after.get(name) == Some(text)), "{after:?}");
}

#[test]
fn an_absolute_path_into_a_workspace_goes_through_no_link_of_a_task() {
    let cli = writ();
    let alias = cli.scratch().path().join("alias");
    std::os::unix::fs::symlink(cli.project(), &alias).unwrap();
    let config = format!("[aop]\naudit = \"{}/logs/audit\"\n", alias.display());
    cli.scratch().write("home/.config/writ/config.toml", &config);
    work(&cli, &aop(&cli, "aop-success")).succeeded();
    assert!(!files(&cli.project().join("logs/audit")).is_empty());
    let elsewhere = cli.scratch().path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("audit")).unwrap();
    fs::remove_dir_all(cli.project().join("logs")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, cli.project().join("logs")).unwrap();
    let worked = work(&cli, &aop(&cli, "aop-success")).succeeded();
    assert!(worked.output.stderr.contains("audit files are not written"), "{}", worked.output);
    assert_eq!(fs::read_dir(elsewhere.join("audit")).unwrap().count(), 0);
    cli.run(["session", "audit", "S-1", "--write", "logs/audit"]).fails_with(1);
    assert_eq!(fs::read_dir(elsewhere.join("audit")).unwrap().count(), 0);
}
