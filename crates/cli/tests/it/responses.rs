//! What a RESPONSE claims, beside what writ saw.

use serde_json::{Value, json};
use testkit::Cli;

use crate::aop_tasks::response;
use crate::documents::{agent, aop, with, writ};
use crate::read_back::{Worked, work};

/// A TASK whose executor does these steps and prints a RESPONSE with these fields.
fn answering(cli: &Cli, steps: &str, fields: Value) -> Value {
    let said = response(fields).to_string().replace('\\', r"\\").replace(';', r"\;");
    let script = cli.scratch().write("script", format!("{steps}\nprint {said}\n"));
    let mut task = aop(cli, "");
    task["task"]["extensions"]["x_command"] = json!([agent(), "--file", script]);
    task
}

fn summary(fields: Value) -> Value {
    json!({"execution_summary": with(json!({"summary": "did it", "actions": ["did it"]}), fields)})
}

fn report(worked: &Worked<'_>) -> Value {
    worked.shown("T-1")["attempts"][0]["outcome"]["report"].clone()
}

fn findings(worked: &Worked<'_>) -> Vec<String> {
    let found = worked.task("T-1")["findings"].as_array().cloned().unwrap_or_default();
    let told = |found: &Value| {
        let [what, claimed, seen] = ["what", "claimed", "seen"].map(|name| found[name].as_str().unwrap());
        format!("{what}: claimed {claimed}, seen {seen}")
    };
    found.iter().map(told).collect()
}

#[test]
fn everything_that_a_response_says_is_kept_and_shown() {
    let cli = writ();
    let task = answering(
        &cli,
        "write out.txt xy",
        json!({
            "task_status": {"state": "COMPLETED", "final_signal": "SUCCESS", "message": "all fine"},
            "execution_summary": {
                "summary": "did it", "actions": ["read", "wrote"], "warnings": ["it was late"], "errors": ["one"],
                "output_artifacts": [{"type": "FILE", "path": "out.txt", "status": "CREATED", "size_bytes": 3}],
            },
            "timing": {
                "started_at": "2020-01-01T12:00:00Z", "completed_at": "2020-01-01T12:00:01Z", "duration_seconds": 1,
                "retries_attempted": 2,
            },
            "cost_tracking": {"actual_cost_usd": 0.5, "model_pricing_tier": "standard"},
            "progress_log": {"progress_percentage": 60},
        }),
    );
    let worked = work(&cli, &task).succeeded();
    let kept = report(&worked);
    assert_eq!(kept["message"], "all fine");
    assert_eq!(kept["actions"], json!(["read", "wrote"]));
    assert_eq!((&kept["warnings"], &kept["errors"]), (&json!(["it was late"]), &json!(["one"])));
    assert_eq!(kept["cost"], json!({"actual": 500_000, "model_pricing_tier": "standard"}));
    assert_eq!(kept["progress"], json!({"progress_percentage": 60}));
    assert_eq!(kept["timing"]["retries_attempted"], 2);
    assert!(kept["timing"]["seen_started_at"].is_string(), "{kept}");
    let digest = contract::digest::of_bytes(b"xy\n");
    let seen = json!({"status": "CREATED", "digest": digest, "size_bytes": 3});
    assert_eq!(kept["output_artifacts"][0]["seen"], seen);
    assert_eq!(worked.task("T-1")["warnings"], json!(["it was late"]));
    let shown = cli.run(["runs", "show"]).success().stdout.clone();
    for text in ["reported COMPLETED SUCCESS: all fine", "did: wrote", "error: one", "warning: it was late"] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    let got =
        cli.run(["task", "get", "--id", &worked.task_id("T-1"), "--output", "json"]).success().stdout.clone();
    assert!(got.contains("all fine"), "{got}");
}

#[test]
fn a_false_hash_size_or_status_is_a_finding_and_does_not_fail_the_task() {
    let cli = writ();
    cli.scratch().write("project/old.txt", "old");
    let made = |path: &str, fields: Value| with(json!({"type": "FILE", "path": path}), fields);
    let artifacts = json!([
        made(
            "out.txt",
            json!({"status": "CREATED", "hash": contract::digest::of_bytes(b"xy\n"), "size_bytes": 3})
        ),
        made("old.txt", json!({"status": "UPDATED", "hash": "sha256:00", "size_bytes": 99})),
        made("gone.txt", json!({"status": "CREATED"})),
        made("../elsewhere.txt", json!({"status": "CREATED"})),
    ]);
    let task = answering(&cli, "write out.txt xy", summary(json!({"output_artifacts": artifacts})));
    let worked = work(&cli, &task).succeeded();
    assert_eq!(worked.status("T-1"), "done claimed");
    let old = contract::digest::of_bytes(b"old");
    let expected = [
        "output_artifacts[old.txt].status: claimed UPDATED, seen UNCHANGED".to_owned(),
        format!("output_artifacts[old.txt].hash: claimed sha256:00, seen {old}"),
        "output_artifacts[old.txt].size_bytes: claimed 99, seen 3".to_owned(),
        "output_artifacts[gone.txt].status: claimed CREATED, seen the file does not exist".to_owned(),
        "output_artifacts[../elsewhere.txt].path: claimed CREATED, seen `../elsewhere.txt` is outside the workspace"
            .to_owned(),
    ];
    assert_eq!(findings(&worked), expected);
    let traced: Vec<String> = expected.iter().map(|told| format!("FINDING: {told}")).collect();
    assert_eq!(worked.decisions("L8")[1..], traced);
    let shown = cli.run(["runs", "show"]).success().stdout.clone();
    assert!(shown.contains(&format!("finding: {}", expected[0])), "{shown}");
}

#[test]
fn a_deleted_file_is_seen_as_deleted() {
    let cli = writ();
    cli.scratch().write("project/old.txt", "old");
    let gone = json!([{"type": "FILE", "path": "old.txt", "status": "DELETED"}]);
    let said = response(summary(json!({"output_artifacts": gone}))).to_string();
    let mut task = aop(&cli, "");
    let line = format!("rm old.txt; cat > /dev/null; echo '{said}'");
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", line]);
    let worked = work(&cli, &task).succeeded();
    assert_eq!(findings(&worked), Vec::<String>::new());
    assert_eq!(report(&worked)["output_artifacts"][0]["seen"], json!({"status": "DELETED"}));
}

#[test]
fn claimed_checkpoints_are_compared_with_what_writ_ran() {
    let cli = writ();
    let point = |id: &str, command: &str| {
        json!({"checkpoint_id": id, "description": "d",
            "validation": {"command": command, "expects": "EXIT_CODE_0"}})
    };
    let phases = json!([{"phase_id": "P", "phase_order": 1, "label": "l", "objective": "o",
        "checkpoints": [point("C-1", "true"), point("C-2", "false")]}]);
    let said = |one: &str, two: &str| {
        json!({"checkpoint_results": [
            {"checkpoint_id": "C-1", "status": one}, {"checkpoint_id": "C-2", "status": two},
        ]})
    };
    let task = with(answering(&cli, "", said("FAIL", "PASS")), json!({"phases": phases}));
    let worked = work(&cli, &task).failed();
    let problem = "check `false` failed: exit 1, expected 0";
    assert_eq!(worked.reason("T-1"), problem);
    assert_eq!(
        findings(&worked),
        [
            "checkpoint_results[C-1]: claimed FAIL, seen PASS".to_owned(),
            format!("checkpoint_results[C-2]: claimed PASS, seen FAIL: {problem}"),
            format!("task_status: claimed SUCCESS, seen FAILURE: {problem}"),
        ]
    );
}

#[test]
fn a_partial_success_is_done_if_its_checks_pass_and_is_shown_as_partial() {
    let cli = writ();
    let partial = json!({"task_status": {"state": "COMPLETED", "final_signal": "PARTIAL_SUCCESS"}});
    let checked = |command: &str| {
        let mut task = answering(&cli, "write out.txt xy", partial.clone());
        task["task"]["expected_outputs"] = json!([{
            "type": "FILE", "path": "out.txt", "description": "d",
            "validation": {"command": command, "expects": "EXIT_CODE_0"},
        }]);
        task
    };
    let told = |worked: &Worked<'_>| {
        let task = worked.task("T-1");
        let words = [&worked.result["final_signal"], &worked.result["state"], &task["final_signal"]];
        let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap_or("-")).collect();
        format!("{} {}", words.join(" "), worked.status("T-1"))
    };
    let done = work(&cli, &checked("grep -q x out.txt")).succeeded();
    assert_eq!(told(&done), "PARTIAL_SUCCESS done PARTIAL_SUCCESS done verified");
    assert_eq!(done.result["reason"], "1 of 1 tasks done, 1 only in part");
    let failed = work(&cli, &checked("grep -q z out.txt")).failed();
    assert_eq!(told(&failed), "FAILURE failed - failed");
    let unchecked = work(&cli, &answering(&cli, "", partial.clone())).succeeded();
    assert_eq!(told(&unchecked), "PARTIAL_SUCCESS done PARTIAL_SUCCESS done claimed");
}

#[test]
fn only_a_completed_state_without_a_bad_signal_is_a_success() {
    let cli = writ();
    let told = |state: &str, signal: &str| {
        let status = json!({"task_status": {"state": state, "final_signal": signal, "message": "m"}});
        let worked = work(&cli, &answering(&cli, "", status));
        let attempt = &worked.shown("T-1")["attempts"][0]["outcome"];
        let signal = attempt["final_signal"].as_str().unwrap_or("-");
        format!("{} {signal} {}", worked.status("T-1"), worked.reason("T-1"))
    };
    assert_eq!(told("COMPLETED", "SUCCESS"), "done claimed - ");
    assert_eq!(told("COMPLETED", "FAILURE"), "failed - E_UNKNOWN: FAILURE m");
    assert_eq!(told("COMPLETED", "ABORTED"), "failed ABORTED E_UNKNOWN: ABORTED m");
    assert_eq!(told("FAILED", "SUCCESS"), "failed - E_UNKNOWN: FAILED m");
    assert_eq!(told("ABORTED", "ABORTED"), "failed ABORTED E_UNKNOWN: ABORTED m");
    assert_eq!(told("SKIPPED", "PARTIAL_SUCCESS"), "failed - E_UNKNOWN: SKIPPED m");
}

#[test]
fn more_actions_than_recommended_are_a_warning_in_answer_and_trace() {
    let cli = writ();
    let with_actions = |count: usize| {
        let actions: Vec<String> = (0..count).map(|number| format!("step {number}")).collect();
        let said = json!({"execution_summary": {"summary": "s", "actions": actions}});
        work(&cli, &answering(&cli, "", said)).succeeded()
    };
    assert_eq!(with_actions(200).task("T-1")["warnings"], Value::Null);
    let many = with_actions(201);
    let warning = "execution_summary.actions has 201 entries; at most 200 are recommended";
    assert_eq!(many.task("T-1")["warnings"], json!([format!("E_PAYLOAD_SIZE_WARNING: {warning}")]));
    let expected = format!("E_PAYLOAD_SIZE_WARNING: {warning}");
    assert!(many.decisions("L7").contains(&expected), "{:?}", many.decisions("L7"));
}

#[test]
fn a_code_that_aop_does_not_have_is_unknown_and_stays_readable() {
    let cli = writ();
    let failed = json!({
        "task_status": {"state": "FAILED", "final_signal": "FAILURE", "message": "no"},
        "error_details": {"error_code": "E_TEAPOT", "message": "short and stout", "recovery_suggestions": ["boil"]},
    });
    let worked = work(&cli, &answering(&cli, "", failed)).failed();
    assert_eq!(worked.task("T-1")["code"], "E_UNKNOWN");
    assert_eq!(worked.reason("T-1"), "E_UNKNOWN: E_TEAPOT: FAILURE no");
    let error =
        json!({"error_code": "E_TEAPOT", "message": "short and stout", "recovery_suggestions": ["boil"]});
    assert_eq!(report(&worked)["error"], error);
}

#[test]
fn what_an_executor_says_about_itself_is_compared_with_what_was_asked_for() {
    let cli = writ();
    let said = json!({
        "agent": {"name": "zoe", "provider": "GEMINI", "model": "none"},
        "timing": {
            "started_at": "2026-01-01T12:00:00Z", "completed_at": "2026-01-01T12:00:00Z", "duration_seconds": 0,
            "retries_attempted": 3,
        },
    });
    let worked = work(&cli, &answering(&cli, "", said)).succeeded();
    let found = findings(&worked);
    for expected in [
        "agent.name: claimed zoe, seen emma",
        "agent.provider: claimed GEMINI, seen OTHER",
        "timing.retries_attempted: claimed 3, seen 0",
    ] {
        assert!(found.contains(&expected.to_owned()), "{expected}\n{found:?}");
    }
}

#[test]
fn a_checkpoint_that_only_the_executor_can_judge_and_says_failed_is_a_finding() {
    let cli = writ();
    let point = json!({"checkpoint_id": "C-1", "description": "d"});
    let phases =
        json!([{"phase_id": "P", "phase_order": 1, "label": "l", "objective": "o", "checkpoints": [point]}]);
    let said = |status: &str| {
        let results = json!({"checkpoint_results": [{"checkpoint_id": "C-1", "status": status}]});
        findings(&work(&cli, &with(answering(&cli, "", results), json!({"phases": phases.clone()}))))
    };
    assert_eq!(said("PASS"), Vec::<String>::new());
    let expected = "checkpoint_results[C-1]: claimed FAIL, seen PENDING: it has nothing that can be checked";
    assert_eq!(said("FAIL"), [expected]);
}

#[test]
fn half_a_count_of_tokens_is_not_all_of_them() {
    let cli = writ();
    let used = |tokens: u64| {
        let mut task =
            answering(&cli, "", json!({"cost_tracking": {"tokens_input": tokens, "actual_cost_usd": 0.5}}));
        task["task"]["budgets"] = json!({"max_tokens": 100});
        work(&cli, &task)
    };
    let within = used(99).succeeded();
    assert_eq!(within.shown("T-1")["attempts"][0]["outcome"]["tokens"], json!(null));
    let told = "COST_UNKNOWN: it reported only a part of its tokens; the budget is 100 tokens";
    assert!(within.decisions("L8").contains(&told.to_owned()), "{:?}", within.decisions("L8"));
    let over = used(101).failed();
    assert_eq!(over.reason("T-1"), "E_COST_LIMIT_EXCEEDED: it used 101 tokens, the budget is 100");
}
