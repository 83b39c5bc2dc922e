//! A session of 30 TASKs with retries, alternative models, budgets, rollbacks and checks, and the program that works them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{agent, aop, with};

/// What each TASK may spend, in micro-dollars.
pub(super) const BUDGET: i64 = 100_000;

/// What the program of a TASK does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Waits until the session has its budget.
    Gate,
    /// Replaces a file.
    Replaces,
    /// Appends to a file: done twice, the file shows it.
    Appends,
    /// Fails once and leaves something, which its retry goes on with.
    Fails,
    /// Needs its alternative model.
    FallsBack,
    /// Is verified by what it leaves.
    Checked,
    /// Fails each time, and is rolled back each time.
    RolledBack,
    /// Spends more than it may.
    Costly,
    /// Comes after one that fails.
    Skipped,
    /// Must not run again.
    Careful,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Gate => "gate",
            Kind::Replaces => "replaces",
            Kind::Appends => "appends",
            Kind::Fails => "fails",
            Kind::FallsBack => "falls-back",
            Kind::Checked => "checked",
            Kind::RolledBack => "rolled-back",
            Kind::Costly => "costly",
            Kind::Skipped => "skipped",
            Kind::Careful => "careful",
        }
    }
}

/// A TASK: its kind, and the TASKs that come before it.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) kind: Kind,
    after: Vec<String>,
}

/// Chains, a diamond, trees, and TASKs that wait for many.
const SHAPE: [(Kind, &[&str]); 30] = [
    (Kind::Gate, &[]),
    (Kind::Careful, &["gate-1"]),
    (Kind::Appends, &["gate-1"]),
    (Kind::Appends, &["appends-1"]),
    (Kind::Appends, &["appends-2"]),
    (Kind::Appends, &["appends-3"]),
    (Kind::Careful, &["appends-1"]),
    (Kind::Appends, &["gate-1"]),
    (Kind::Fails, &["gate-1"]),
    (Kind::Fails, &["fails-1"]),
    (Kind::Fails, &["fails-1"]),
    (Kind::Fails, &["fails-2", "fails-3"]),
    (Kind::Fails, &["appends-1", "fails-4"]),
    (Kind::FallsBack, &["gate-1"]),
    (Kind::FallsBack, &["falls-back-1"]),
    (Kind::FallsBack, &["gate-1"]),
    (Kind::FallsBack, &["falls-back-2", "falls-back-3"]),
    (Kind::Replaces, &["gate-1"]),
    (Kind::Replaces, &["gate-1"]),
    (Kind::Replaces, &["replaces-1", "replaces-2"]),
    (Kind::Replaces, &["falls-back-1"]),
    (Kind::Checked, &["gate-1"]),
    (Kind::Checked, &["gate-1"]),
    (Kind::Checked, &["checked-1"]),
    (Kind::Checked, &["checked-1", "checked-2", "checked-3", "replaces-1", "appends-2"]),
    (Kind::RolledBack, &["gate-1"]),
    (Kind::RolledBack, &["checked-1"]),
    (Kind::RolledBack, &["fails-1"]),
    (Kind::Skipped, &["rolled-back-1"]),
    (Kind::Costly, &["gate-1"]),
];

pub(super) fn parts() -> Vec<Part> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let part = |&(kind, after): &(Kind, &[&str])| {
        let count = counts.entry(kind.as_str()).or_default();
        *count += 1;
        let name = format!("{}-{count}", kind.as_str());
        Part { name, kind, after: after.iter().map(|&name| name.to_owned()).collect() }
    };
    SHAPE.iter().map(part).collect()
}

/// The program of every TASK. It writes down outside of the workspace that an attempt begins and what it is about to say.
const PROGRAM: &str = r#"
name=$1 kind=$2 meet=$3 agent=$4 cost=$5
mark=${WRIT_MARK%%:*}
dir=d/$name
echo "$name $mark begins" >> "$meet/journal"
task=$(cat)
say() {
    echo "$name $mark $1" >> "$meet/journal"
    printf '%s' "$task" | "$agent" "aop-cost $cost; $1"
    exit
}
work() { sleep 0.03; }
case $kind in
gate) until [ -e "$meet/open" ]; do sleep 0.01; done; say aop-success;;
replaces) echo half > $dir/out; work; echo whole > $dir/out; say aop-success;;
appends | careful | costly) echo line >> $dir/log; work; echo more >> $dir/log; say aop-success;;
fails)
    echo line >> $dir/log; work
    if [ -e $dir/tried ]; then say aop-success; fi
    touch $dir/tried; say "aop-failed E_UNKNOWN";;
falls-back)
    target=$(printf '%s' "$task" | sed 's/.*"target":{\([^}]*\)}.*/\1/')
    echo line >> $dir/log; work
    case $target in *m-2*) say aop-success;; esac
    say "aop-failed E_MODEL_UNAVAILABLE";;
checked) echo half > $dir/new; work; echo whole > $dir/new; mv $dir/new $dir/out; work; say aop-success;;
rolled-back) echo line >> $dir/log; touch $dir/made; work; say "aop-failed E_UNKNOWN";;
esac
"#;

/// Where the children of a session meet, outside of its workspace.
pub(super) fn meet(cli: &Cli) -> PathBuf {
    cli.scratch().dir("meet")
}

/// Writes the session and the files that its TASKs begin with.
pub(super) fn prepare(cli: &Cli) {
    let program = meet(cli).join("program");
    fs::write(&program, PROGRAM).unwrap();
    let tasks: Vec<Value> = parts().iter().enumerate().map(|(index, part)| task(cli, index, part)).collect();
    cli.scratch().write("project/session.json", Value::from(tasks).to_string());
    for part in parts() {
        cli.scratch().write(format!("project/d/{}/log", part.name), "before\n");
    }
}

fn task(cli: &Cli, index: usize, part: &Part) -> Value {
    let meet = meet(cli);
    let mut task = aop(cli, "");
    task["task"]["task_id"] = json!(part.name);
    let millionths = 1_000 + 37 * i64::try_from(index).unwrap();
    let cost = if part.kind == Kind::Costly { BUDGET * 2 } else { millionths };
    let cost = format!("0.{cost:06}");
    let command = json!(["sh", meet.join("program"), part.name, part.kind.as_str(), meet, agent(), cost,]);
    task["task"]["extensions"] = json!({
        "x_command": command, "x_sandbox": "off", "x_depends_on": part.after,
        "x_retry_safe": part.kind != Kind::Careful,
    });
    let scope = format!("d/{}", part.name);
    task["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": [scope]}});
    task["task"]["budgets"] = json!({"max_cost_usd": 0.1});
    let output = |name: &str| json!({"type": "FILE", "description": "it", "path": format!("{scope}/{name}")});
    match part.kind {
        Kind::Fails => {
            task["execution_policy"] = json!({"max_retries": 2, "retry_backoff_seconds": []});
        }
        Kind::FallsBack => {
            let other = json!({"provider": "OTHER", "model": "m-2", "fallback_trigger": "CRITICAL_ERROR"});
            task["execution_policy"] = json!({"alternative_models": [other]});
        }
        Kind::Checked => task["task"]["expected_outputs"] = json!([output("out")]),
        Kind::RolledBack => {
            task["execution_policy"] = json!({"max_retries": 1, "retry_backoff_seconds": []});
            // What it leaves never proves that it had finished.
            let kept = json!({"rollback_snapshot": {"enabled": true}});
            task["task"]["expected_outputs"] = json!([with(output("never"), kept)]);
        }
        // Nothing comes after it, so that it would begin last.
        Kind::Careful => task["task"]["priority"] = json!("CRITICAL"),
        Kind::Gate | Kind::Replaces | Kind::Appends | Kind::Costly | Kind::Skipped => {}
    }
    task
}

/// Every file of a TASK's scope, byte for byte.
pub(super) fn files(cli: &Cli, part: &Part) -> BTreeMap<String, Vec<u8>> {
    let directory = cli.project().join("d").join(&part.name);
    let entries = fs::read_dir(&directory).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}
