//! Deltas that say `done`, and ledgers that have to be repaired.

use contract::domain::check::{Check, CheckSeen, Expects};
use contract::domain::plan::{Plan, PlanTask};
use contract::domain::run::DocumentKind;
use ops::Result;
use ops::ledger::{open, repair};
use ops::run::accept::Submission;
use serde_json::{Value, json};

use crate::crew_world::{Crew, denied};
use crate::handoff::exported;
use crate::world::{key, submit};

fn delta(name: &str, status: &str, id: &str) -> Value {
    json!({"task_id": name, "status": status, "owner": "w", "reason": "read the change", "delta_id": id})
}

fn apply(crew: &mut Crew, deltas: Value) -> Result<ops::ledger::apply::Answer> {
    crew.apply(crew.envelope(deltas), false)
}

fn repaired(crew: &mut Crew, accept: Option<&str>) -> Result<repair::Answer> {
    let key = crew.key();
    let request = repair::Request { run: crew.run.clone(), accept: accept.map(str::to_owned) };
    Ok(repair::repair(&mut crew.world.cx, &key, &request)?.answer)
}

fn seen(passed: bool) -> CheckSeen {
    CheckSeen {
        command: vec!["true".to_owned()],
        expects: Expects::ExitCode0,
        passed,
        exit_code: Some(i32::from(!passed)),
        output_digest: "sha256:0".to_owned(),
        output_tail: String::new(),
        problem: None,
        ran: None,
        tolerated: false,
    }
}

/// A ledger of an author's plan, whose task has a check.
fn checked(author: &str) -> Crew {
    let mut crew = Crew::new();
    let mut task = PlanTask::minimal("a");
    task.writes = vec![contract::domain::scope::Scope::parse("a", None).unwrap()];
    task.checks = vec![Check { command: vec!["true".to_owned()], shell: false, expects: Expects::ExitCode0 }];
    let submission = Submission {
        kind: DocumentKind::Ledger,
        workspace: crew.workspace.clone(),
        plan: Plan { tasks: vec![task], ..Plan::default() },
        ..submit(&["a"])
    };
    let key = key(author, "open");
    crew.run = open::open_submission(&mut crew.world.cx, &key, &submission).unwrap().answer.run_id;
    crew
}

#[test]
fn a_done_delta_needs_evidence_for_every_criterion_and_leaves_a_ledger_that_goes_on() {
    let mut crew = Crew::new();
    crew.task("T-1", &["a"], json!({}));
    crew.task("T-2", &["b"], json!({"dependencies": ["T-1"]}));
    apply(&mut crew, json!([delta("T-1", "in_progress", "1")])).unwrap();
    let before = crew.world.state();
    let error = apply(&mut crew, json!([delta("T-1", "done", "2")])).unwrap_err();
    assert!(error.hint.as_deref().unwrap().contains("writ result submit"), "{error:?}");
    denied(apply(&mut crew, json!([delta("T-1", "done", "2")])), "ACCEPTANCE_FAILED", "criterion_missing");
    let with = |checks: Value| {
        let mut done = delta("T-1", "done", "2");
        done["x_acceptance_check"] = checks;
        json!([done])
    };
    let check = |status: &str, evidence: &str| json!([{"criterion": "it works", "status": status, "evidence": evidence}]);
    denied(apply(&mut crew, with(check("fail", "seen"))), "ACCEPTANCE_FAILED", "criterion_failed");
    denied(apply(&mut crew, with(check("pass", " "))), "ACCEPTANCE_FAILED", "no_evidence");
    assert_eq!(crew.world.state(), before);
    let applied = apply(&mut crew, with(check("pass", "seen"))).unwrap();
    assert_eq!(applied.reconcile["allow"], true, "{}", applied.reconcile);
    let row = crew.row("T-1");
    assert_eq!((&row["status"], &row["x_evidence"]), (&json!("done"), &json!("claimed")));
    assert_eq!(row["x_accepted"]["acceptance_check"][0]["evidence"], "seen");
    crew.issue("T-2").unwrap();
    exported(&mut crew, false).unwrap();
    crew.holds();
}

#[test]
fn a_done_delta_of_a_row_without_criteria_is_a_claim_with_a_reason() {
    let mut crew = Crew::new();
    let created = json!({"task_id": "T-1", "status": "todo", "owner": "", "reason": "n", "delta_id": "0"});
    apply(&mut crew, json!([created, delta("T-1", "in_progress", "1")])).unwrap();
    let mut done = delta("T-1", "done", "2");
    done["reason"] = json!("");
    denied(apply(&mut crew, json!([done])), "ACCEPTANCE_FAILED", "no_evidence");
    let applied = apply(&mut crew, json!([delta("T-1", "done", "2")])).unwrap();
    assert_eq!(applied.reconcile["allow"], true, "{}", applied.reconcile);
    assert_eq!(crew.row("T-1")["x_accepted"]["by"], "agent.orchestrator");
    exported(&mut crew, false).unwrap();
}

#[test]
fn writ_runs_the_checks_of_a_task_that_a_delta_makes_done() {
    // Who applies the delta completes the task.
    for (author, evidence) in [("planner", "verified"), ("orchestrator", "self-checked")] {
        let mut crew = checked(author);
        crew.issue("T-1").unwrap();
        let done = || {
            let mut done = delta("T-1", "done", "d");
            done["owner"] = json!("worker");
            json!([done])
        };
        crew.paper().checks = Some(vec![seen(false)]);
        denied(apply(&mut crew, done()), "ACCEPTANCE_FAILED", "criterion_failed");
        crew.paper().checks = Some(Vec::new());
        assert!(apply(&mut crew, done()).is_err());
        crew.paper().checks = Some(vec![seen(true)]);
        apply(&mut crew, done()).unwrap();
        let row = crew.row("T-1");
        assert_eq!((&row["status"], &row["x_evidence"]), (&json!("done"), &json!(evidence)));
        assert_eq!(crew.reconciled().code, "OK");
        // Repeating it changes nothing, and runs nothing.
        crew.paper().checks = Some(vec![seen(false)]);
        let again = apply(&mut crew, done()).unwrap();
        assert_eq!(again.ignored.len(), 1);
        exported(&mut crew, false).unwrap();
        crew.holds();
    }
}

#[test]
fn a_ledger_that_older_versions_left_without_a_result_is_repaired() {
    let mut crew = Crew::new();
    // As `ledger apply` of a done delta wrote it before results were required.
    crew.seed(&json!({"version": 3, "rows": {
        "T-1": {"status": "done", "owner": "w", "version": 2, "title": "t"},
        "T-2": {"status": "todo", "owner": "", "title": "t", "lock_scope": ["b"], "acceptance_criteria": ["c"]},
    }}));
    let error = crew.issue("T-2").unwrap_err();
    assert_eq!(error.code.as_str(), "LEDGER_INCONSISTENT");
    assert!(error.hint.as_deref().unwrap().contains("writ ledger repair"), "{error:?}");
    let error = repaired(&mut crew, None).unwrap_err();
    assert!(error.hint.as_deref().unwrap().contains("accept"), "{error:?}");
    let answer = repaired(&mut crew, Some("read the change")).unwrap();
    assert_eq!(answer.repaired.len(), 1);
    assert_eq!((answer.repaired[0].rule.as_str(), answer.repaired[0].task_id.as_str()), ("RC-17", "T-1"));
    assert_eq!(answer.reconcile["allow"], true, "{}", answer.reconcile);
    crew.issue("T-2").unwrap();
    exported(&mut crew, false).unwrap();
    crew.holds();
}

#[test]
fn repair_blocks_what_cannot_go_on_and_everything_that_depends_on_it() {
    let mut crew = Crew::new();
    crew.task("T-1", &["a"], json!({}));
    crew.task("T-2", &["b"], json!({}));
    crew.task("T-3", &["c"], json!({"dependencies": ["T-2"]}));
    crew.task("T-4", &["d"], json!({}));
    // In progress without a lock, and a dependency that will never be done.
    apply(&mut crew, json!([delta("T-1", "in_progress", "1"), delta("T-2", "canceled", "2")])).unwrap();
    denied(crew.issue("T-4"), "LEDGER_INCONSISTENT", "reconcile");
    let answer = repaired(&mut crew, None).unwrap();
    assert_eq!(answer.reconcile["allow"], true, "{}", answer.reconcile);
    for name in ["T-1", "T-3"] {
        assert_eq!(crew.row(name)["status"], "blocked", "{name}");
    }
    assert_eq!(crew.show()["open_blockers"].as_array().unwrap().len(), 2);
    crew.issue("T-4").unwrap();
    assert!(repaired(&mut crew, None).unwrap().repaired.is_empty());
    crew.holds();
}
