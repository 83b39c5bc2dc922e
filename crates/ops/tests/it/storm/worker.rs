//! One process of the storm: it issues, locks, lives, submits, sweeps and plans anew, in whatever order.

use std::path::Path;

use contract::domain::crew::token::LockToken;
use ops::Session;
use ops::{Context, assignment, ledger, lock, result, watchdog, worklog};
use serde_json::{Value, json};
use testkit::SeededIds;

use super::{SHARE, TASKS, open};
use crate::world::key;

/// What a worker may be told. Anything else is a fault of the store.
const EXPECTED: [&str; 9] = [
    "LOCK_CONFLICT",
    "CONCURRENCY_CONFLICT",
    "INVALID_TRANSITION",
    "TASK_TIMEOUT",
    "LEDGER_INCONSISTENT",
    "NON_COMPLIANT",
    "DEPENDENCY_NOT_MET",
    "MISSING_REQUIRED_INPUT",
    "BUSY",
];

const STEPS: u64 = 24;

struct Worker<'w> {
    cx: Context,
    run: &'w str,
    name: String,
    chance: SeededIds,
    calls: u64,
    /// What it was ever granted, current or not.
    grants: Vec<(String, LockToken)>,
}

#[expect(clippy::print_stdout, reason = "the parent reads it")]
pub(super) fn work(place: &Path, run: &str, seed: u64) {
    let name = format!("worker-{seed}");
    let mut worker = Worker {
        cx: open(place, seed.wrapping_mul(7919) + 1),
        run,
        name,
        chance: SeededIds::new(seed),
        calls: 0,
        grants: Vec::new(),
    };
    for step in 0..STEPS {
        worker.step();
        println!("\n> {step}");
    }
}

impl Worker<'_> {
    fn key(&mut self) -> Session {
        self.calls += 1;
        key(&self.name, &format!("call {}", self.calls))
    }

    fn any_task(&mut self) -> String {
        format!("T-{}", self.chance.below(TASKS as u64) + 1)
    }

    fn any_grant(&mut self) -> Option<(String, LockToken)> {
        let count = u64::try_from(self.grants.len()).unwrap();
        (count > 0).then(|| self.grants[usize::try_from(self.chance.below(count)).unwrap()].clone())
    }

    fn step(&mut self) {
        let told = match self.chance.below(16) {
            0..=5 => self.issue(),
            6 | 7 => self.heartbeat(),
            8..=11 => self.submit(),
            12 => self.sweep(),
            13 | 14 => self.plan_anew(),
            _ => self.lock(),
        };
        if let Err(error) = told {
            assert!(EXPECTED.contains(&error.code.as_str()), "{}: {error} {}", error.code, error.details);
        }
    }

    fn issue(&mut self) -> ops::Result<()> {
        let (key, task) = (self.key(), self.any_task());
        let request = assignment::issue::Request {
            run: self.run.to_owned(),
            task: Some(task.clone()),
            owner: Some(self.name.clone()),
            ..Default::default()
        };
        let given = assignment::issue::issue(&mut self.cx, &key, &request)?;
        self.grants.push((task, given.answer.token));
        Ok(())
    }

    fn heartbeat(&mut self) -> ops::Result<()> {
        let Some((task, token)) = self.any_grant() else { return Ok(()) };
        let request =
            ops::heartbeat::Request { run: self.run.to_owned(), task, token: Some(token), at: None };
        ops::heartbeat::send(&mut self.cx, &crate::world::key("worker", "repeatable"), &request).map(drop)
    }

    /// Submits under any token it ever had: an old one must be refused.
    fn submit(&mut self) -> ops::Result<()> {
        let Some((task, token)) = self.any_grant() else { return Ok(()) };
        let status = ["blocked", "blocked", "blocked", "done", "failed"];
        let status = status[usize::try_from(self.chance.below(5)).unwrap()];
        if status != "done" {
            let entry = json!({
                "action": "stop", "files_touched": [], "decision": "d", "result": "r", "code": "TASK_TIMEOUT",
                "next_step": "plan it again",
            });
            let (key, run, task) = (self.key(), self.run.to_owned(), task.clone());
            let request = worklog::append::Request { run, task, token: Some(token), entry, strict: false };
            worklog::append::append(&mut self.cx, &key, &request)?;
        }
        let document = json!({
            "schema_version": "1.0.0", "run_id": self.run, "task_id": task, "status": status, "changes": [],
            "acceptance_check": [{"criterion": "`true` gives EXIT_CODE_0", "status": "pass", "evidence": "seen"}],
            "worklog_path": format!("worklogs/{task}.jsonl"), "notes_for_orchestrator": [],
            "x_fencing_token": token.number, "x_token": token, "x_cost_micro_usd": self.chance.below(u64::try_from(SHARE).unwrap() + 1),
        });
        let request =
            result::submit::Request { document, token: None, cost: None, tokens: None, strict: false };
        let key = self.key();
        result::submit::submit(&mut self.cx, &key, &request).map(drop)
    }

    fn sweep(&mut self) -> ops::Result<()> {
        let caller = self.key().caller;
        watchdog::sweep(&mut self.cx, &caller, &watchdog::Request::default()).map(drop)
    }

    /// What is blocked is planned anew, by the version that was read.
    fn plan_anew(&mut self) -> ops::Result<()> {
        let shown = ledger::show::show(&mut self.cx, &ledger::show::Request { run: self.run.to_owned() })?;
        let rows = &shown.ledger;
        let blocked: Vec<&Value> = rows.iter().filter(|row| row["status"] == "blocked").collect();
        let mut deltas = Vec::new();
        for row in blocked {
            let name = row["task_id"].as_str().unwrap();
            deltas.push(json!({
                "task_id": name, "status": "todo", "owner": "", "reason": "planned anew",
                "delta_id": format!("anew {name} {}", row["version"]), "x_expected_version": row["version"],
            }));
        }
        let document = json!({"schema_version": "1.0.0", "run_id": self.run, "ledger_delta": deltas});
        let request = ledger::apply::Request { document, objective: None, workspace: None, strict: false };
        let key = self.key();
        ledger::apply::apply(&mut self.cx, &key, &request).map(drop)
    }

    fn lock(&mut self) -> ops::Result<()> {
        let (key, task) = (self.key(), self.any_task());
        let request = lock::acquire::Request {
            run: self.run.to_owned(),
            task: task.clone(),
            resources: vec![super::scope(usize::try_from(self.chance.below(TASKS as u64)).unwrap())],
            shared: self.chance.below(2) == 0,
            timeout_seconds: Some(20),
            token: None,
        };
        let given = lock::acquire::acquire(&mut self.cx, &key, &request)?;
        let token = given.answer.token;
        if self.chance.below(2) == 0 {
            let key = self.key();
            let back = lock::release::Request { run: self.run.to_owned(), task, token, reason: None };
            return lock::release::release(&mut self.cx, &key, &back).map(drop);
        }
        self.grants.push((task, token));
        Ok(())
    }
}
