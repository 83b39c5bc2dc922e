//! A run as another process sees it, through the product's own commands.

use std::collections::BTreeMap;

use engine::supervisor::{MarkedProcess, find_marked};
use serde_json::Value;
use testkit::{Background, Cli, eventually, eventually_some};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunView {
    pub(crate) id: String,
    pub(crate) state: String,
    /// By their names in the plan.
    pub(crate) tasks: BTreeMap<String, TaskView>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskView {
    pub(crate) id: String,
    /// With its evidence, where it has one: `done, verified`.
    pub(crate) status: String,
    pub(crate) reason: Option<String>,
    /// Oldest first.
    pub(crate) attempts: Vec<AttemptView>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptView {
    pub(crate) id: String,
    pub(crate) state: String,
    pub(crate) code: Option<String>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) leftovers_killed: Option<i64>,
}

impl RunView {
    #[track_caller]
    pub(crate) fn of(cli: &Cli, run: &str) -> Self {
        let output = cli.run(["runs", "show", run, "--output", "json"]);
        let document = output.success().json();
        let data = &document["data"];
        let tasks = data["tasks"].as_array().unwrap().iter();
        Self {
            id: text(&data["id"]),
            state: text(&data["state"]),
            tasks: tasks.map(|task| (text(&task["name"]), TaskView::of(task))).collect(),
        }
    }

    /// The only run of the store, if it has one yet.
    #[track_caller]
    pub(crate) fn only(cli: &Cli) -> Option<Self> {
        let output = cli.run(["runs", "list", "--output", "json"]);
        let document = output.success().json();
        let runs = document["data"]["runs"].as_array().unwrap();
        assert!(runs.len() < 2, "one run was asked for: {runs:?}");
        runs.first().map(|run| Self::of(cli, run["id"].as_str().unwrap()))
    }

    #[track_caller]
    pub(crate) fn task(&self, name: &str) -> &TaskView {
        self.tasks.get(name).unwrap_or_else(|| panic!("no task `{name}` in {self:?}"))
    }

    /// Every task's status, in the order of the names.
    pub(crate) fn statuses(&self) -> Vec<&str> {
        self.tasks.values().map(|task| task.status.as_str()).collect()
    }
}

impl TaskView {
    fn of(task: &Value) -> Self {
        let evidence = task["evidence"].as_str().map(|evidence| format!(", {evidence}")).unwrap_or_default();
        Self {
            id: text(&task["id"]),
            status: text(&task["status"]) + &evidence,
            reason: task["reason"].as_str().map(str::to_owned),
            attempts: task["attempts"].as_array().unwrap().iter().map(AttemptView::of).collect(),
        }
    }

    /// The states of its attempts, oldest first.
    pub(crate) fn attempts(&self) -> Vec<&str> {
        self.attempts.iter().map(|attempt| attempt.state.as_str()).collect()
    }
}

impl AttemptView {
    fn of(attempt: &Value) -> Self {
        let outcome = &attempt["outcome"];
        Self {
            id: text(&attempt["id"]),
            state: text(&attempt["state"]),
            code: outcome["code"].as_str().map(str::to_owned),
            exit_code: outcome["exit_code"].as_i64(),
            leftovers_killed: outcome["leftovers_killed"].as_i64(),
        }
    }
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// The run's id, as soon as writ has told it.
#[track_caller]
pub(crate) fn run_id(writ: &Background<'_>) -> String {
    let told = || Some(writ.stderr().lines().find_map(|line| line.strip_prefix("run "))?.to_owned());
    eventually_some("writ says which run it works", told)
}

/// Waits until nothing that was started from here runs any more.
#[track_caller]
pub(crate) fn all_gone(cli: &Cli) {
    eventually("every process is gone", || cli.leftovers().is_empty());
}

/// What this owner's executors and shims still run.
pub(crate) fn marked_by(owner: u32) -> Vec<MarkedProcess> {
    find_marked(|marker| marker.owner.pid == owner)
}

/// The log and the tables it is replayed into agree, and no event is missing.
#[track_caller]
pub(crate) fn audit_is_clean(cli: &Cli) {
    let output = cli.run(["audit", "verify", "--replay", "--output", "json"]);
    let document = output.success().json();
    assert_eq!(document["success"], true, "{output}");
}

/// Writes a plan into the project.
pub(crate) fn write_plan(cli: &Cli, text: &str) {
    std::fs::write(cli.project().join("plan.toml"), text).unwrap();
}

/// A file of the workspace, empty if there is none.
pub(crate) fn file(cli: &Cli, name: &str) -> String {
    std::fs::read_to_string(cli.project().join(name)).unwrap_or_default()
}
