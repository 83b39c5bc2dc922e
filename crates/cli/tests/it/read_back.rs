//! The result of a document: the printed answer, the stored run, the trace.

use serde_json::Value;
use testkit::{Cli, Output};

/// A run that has ended.
pub(crate) struct Worked<'c> {
    cli: &'c Cli,
    pub(crate) output: Output,
    pub(crate) result: Value,
}

/// Submits the document and waits for the end of its run, whatever that is.
#[track_caller]
pub(crate) fn work<'c>(cli: &'c Cli, document: &Value) -> Worked<'c> {
    Worked::of(cli, cli.call(["run", "-", "--output", "json"]).stdin(document.to_string()).run())
}

impl<'c> Worked<'c> {
    /// From the answer of `writ run` or `writ retry` as JSON.
    #[track_caller]
    pub(crate) fn of(cli: &'c Cli, output: Output) -> Self {
        let result = output.json()["data"].clone();
        assert!(result["run_id"].is_string(), "this is not the answer of a run\n{output}");
        Self { cli, output, result }
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        self.output.success();
        self
    }

    #[track_caller]
    pub(crate) fn failed(self) -> Self {
        self.output.fails_with(1);
        self
    }

    pub(crate) fn id(&self) -> &str {
        self.result["run_id"].as_str().unwrap()
    }

    /// The task's line in the answer, by its name in the plan.
    #[track_caller]
    pub(crate) fn task(&self, name: &str) -> &Value {
        let tasks = self.result["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {tasks:?}"))
    }

    #[track_caller]
    pub(crate) fn task_id(&self, name: &str) -> String {
        self.task(name)["id"].as_str().unwrap().to_owned()
    }

    /// Such as `done verified` or `failed`.
    #[track_caller]
    pub(crate) fn status(&self, name: &str) -> String {
        let task = self.task(name);
        let words = [&task["status"], &task["evidence"]].map(|word| word.as_str().unwrap_or_default());
        words.join(" ").trim_end().to_owned()
    }

    #[track_caller]
    pub(crate) fn reason(&self, name: &str) -> &str {
        self.task(name)["reason"].as_str().unwrap_or_default()
    }

    pub(crate) fn trace(&self) -> Vec<Value> {
        trace(self.cli, self.id())
    }

    /// What a layer decided, as `CODE: reason`, oldest first. The layer is named like `L3`.
    pub(crate) fn decisions(&self, layer: &str) -> Vec<String> {
        decisions(&self.trace(), layer)
    }

    /// The values a layer set in the context, the last one of each path.
    pub(crate) fn delta(&self, layer: &str) -> serde_json::Map<String, Value> {
        let trace = self.trace();
        let deltas = of_layer(&trace, layer).filter_map(|payload| payload["delta"].as_object());
        deltas.flat_map(Clone::clone).collect()
    }

    /// The layers that left an envelope, each once, in the order of their first.
    pub(crate) fn layers(&self) -> Vec<String> {
        let mut seen = Vec::new();
        for envelope in self.trace() {
            let id = envelope["payload"]["layer"]["id"].as_str().unwrap_or_default();
            let short = id.split('.').next().unwrap_or_default().to_owned();
            if !short.is_empty() && !seen.contains(&short) {
                seen.push(short);
            }
        }
        seen
    }

    /// What `writ runs show` says of a task, with its attempts.
    pub(crate) fn shown(&self, name: &str) -> Value {
        let shown = self.cli.run(["runs", "show", self.id(), "--output", "json"]).success().json();
        let tasks = shown["data"]["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["name"] == name).unwrap().clone()
    }

    /// What the task's last child printed.
    #[track_caller]
    pub(crate) fn printed(&self, name: &str) -> String {
        self.cli.run(["logs", &self.task_id(name)]).success().stdout.clone()
    }
}

#[track_caller]
pub(crate) fn trace(cli: &Cli, run: &str) -> Vec<Value> {
    cli.run(["trace", run, "--output", "ndjson"]).success().json_lines()
}

pub(crate) fn decisions(trace: &[Value], layer: &str) -> Vec<String> {
    let decisions = of_layer(trace, layer).flat_map(|payload| payload["decisions"].as_array().unwrap());
    decisions.map(|d| format!("{}: {}", d["code"].as_str().unwrap(), d["reason"].as_str().unwrap())).collect()
}

fn of_layer<'t>(trace: &'t [Value], layer: &str) -> impl Iterator<Item = &'t Value> {
    let prefix = format!("{layer}.");
    trace
        .iter()
        .map(|envelope| &envelope["payload"])
        .filter(move |payload| payload["layer"]["id"].as_str().is_some_and(|id| id.starts_with(&prefix)))
}
