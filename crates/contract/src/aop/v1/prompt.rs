//! Writes a v2 task as a v1 prompt: everything an executor must know, in plain text.

use serde_json::Value;

use super::COMPATIBILITY_HEADER;
use crate::aop::task::{Network, Task};

const NOTE: &str = "Note: written from an AOP v2 task for an executor that reads v1.";

/// The prompt of a valid task.
pub fn prompt(task: &Task) -> String {
    let value = serde_json::to_value(task).expect("BUG: a task has only text keys and finite numbers");
    V1Prompt::default().write(&value, None)
}

/// The prompt of a message that does not match its schema, with every readable part. A message without an
/// objective is shown unchanged.
pub(in crate::aop) fn prompt_from_raw(value: &Value, text: &str) -> String {
    V1Prompt::default().write(value, Some(text))
}

#[derive(Default)]
struct V1Prompt {
    lines: Vec<String>,
}

impl V1Prompt {
    fn write(mut self, envelope: &Value, text: Option<&str>) -> String {
        let task = &envelope["task"];
        self.lines.extend([COMPATIBILITY_HEADER.to_owned(), String::new()]);
        self.line("Task ID: ", &task["task_id"]);
        self.line("Category: ", &task["category"]);
        self.line("Complexity: ", &task["complexity"]);
        self.lines.push(format!("Priority: {}", task["priority"].as_str().unwrap_or("NORMAL")));
        self.section("Objective");
        match (task["objective"].as_str(), text) {
            (Some(objective), _) => self.lines.push(objective.to_owned()),
            (None, Some(text)) => self.lines.extend(["The message as it came:".to_owned(), text.to_owned()]),
            (None, None) => {}
        }
        self.environment(&task["environment"]);
        self.inputs(&task["inputs"]);
        self.outputs(&task["expected_outputs"]);
        self.phases(&envelope["phases"]);
        self.budgets(&task["constraints"], &task["budgets"]);
        self.access(task);
        self.policy(&envelope["guard_rails"], &envelope["execution_policy"]);
        self.lines.extend([String::new(), "---".to_owned(), NOTE.to_owned()]);
        self.lines.join("\n")
    }

    fn section(&mut self, name: &str) {
        self.lines.extend([String::new(), format!("## {name}")]);
    }

    fn line(&mut self, label: &str, value: &Value) {
        match value {
            Value::String(text) => self.lines.push(format!("{label}{text}")),
            Value::Number(number) => self.lines.push(format!("{label}{number}")),
            _ => {}
        }
    }

    fn environment(&mut self, environment: &Value) {
        if environment.is_object() {
            self.section("Environment");
            self.line("Workspace: ", &environment["workspace_root"]);
            self.line("OS: ", &environment["os"]);
            self.line("Shell: ", &environment["shell"]);
            self.line("Git Branch: ", &environment["git_branch"]);
        }
    }

    fn inputs(&mut self, inputs: &Value) {
        let inputs = items(inputs);
        if inputs.is_empty() {
            return;
        }
        self.section("Inputs");
        for (number, input) in (1..).zip(inputs) {
            let kind = input["type"].as_str().unwrap_or("INPUT");
            let lock = if input["read_only"] == false { "" } else { " (read-only)" };
            match (input["path"].as_str(), input["content"].as_str()) {
                (Some(path), _) => self.lines.push(format!("{number}. {kind}: {path}{lock}")),
                (None, Some(_)) => self.lines.push(format!("{number}. {kind}: [inline content]")),
                (None, None) => self.lines.push(format!("{number}. {kind}")),
            }
            let content = input["content"].as_str().into_iter().flat_map(str::lines);
            self.lines.extend(content.map(|line| format!("   | {line}")));
        }
    }

    fn outputs(&mut self, outputs: &Value) {
        let outputs = items(outputs);
        if outputs.is_empty() {
            return;
        }
        self.section("Expected Outputs");
        for (number, output) in (1..).zip(outputs) {
            let kind = output["type"].as_str().unwrap_or("OUTPUT");
            let path = output["path"].as_str().unwrap_or("[unspecified]");
            self.lines.push(format!("{number}. {kind}: {path}"));
            self.line("   ", &output["description"]);
            self.check("   ", &output["validation"]);
        }
    }

    fn check(&mut self, indent: &str, validation: &Value) {
        if let (Some(command), Some(expects)) =
            (validation["command"].as_str(), validation["expects"].as_str())
        {
            self.lines.push(format!("{indent}Check: {command} (must give {expects})"));
        }
    }

    fn phases(&mut self, phases: &Value) {
        let mut phases: Vec<&Value> = items(phases).iter().collect();
        if phases.is_empty() {
            return;
        }
        phases.sort_by_key(|phase| phase["phase_order"].as_i64());
        self.section("Phases");
        for phase in phases {
            let order = phase["phase_order"].as_i64().map(|order| format!(" {order}")).unwrap_or_default();
            let label = phase["label"].as_str().unwrap_or_default();
            self.lines.extend([String::new(), format!("### Phase{order}: {label}")]);
            self.line("Objective: ", &phase["objective"]);
            let checkpoints = items(&phase["checkpoints"]);
            if !checkpoints.is_empty() {
                self.lines.push("Checkpoints:".to_owned());
            }
            for checkpoint in checkpoints {
                let id = checkpoint["checkpoint_id"].as_str().unwrap_or("?");
                self.line(&format!("  - {id}: "), &checkpoint["description"]);
                self.check("    ", &checkpoint["validation"]);
            }
        }
    }

    fn budgets(&mut self, constraints: &Value, budgets: &Value) {
        let least = |name: &str| {
            let amounts = [&constraints[name], &budgets[name]].into_iter().filter_map(Value::as_f64);
            amounts.min_by(f64::total_cmp)
        };
        let (cost, tokens) = (least("max_cost_usd"), least("max_tokens"));
        if cost.is_some() || tokens.is_some() {
            self.section("Budgets");
        }
        self.lines.extend(cost.map(|cost| format!("Max Cost: ${cost:?}")));
        self.lines.extend(tokens.map(|tokens| format!("Max Tokens: {tokens}")));
    }

    fn access(&mut self, task: &Value) {
        let (access, constraints) = (&task["access"], &task["constraints"]);
        let read_only = constraints["read_only_mode"] == true;
        if !access.is_object() && !read_only && constraints["network_access"].is_null() {
            return;
        }
        self.section("Access");
        let files = &access["filesystem"];
        if files.is_object() {
            self.lines.push(format!("Read: {}", listed(&files["read_paths"])));
            let write = if read_only { "nothing".to_owned() } else { listed(&files["write_paths"]) };
            self.lines.push(format!("Write: {write}"));
        } else if read_only {
            self.lines.push("Write: nothing".to_owned());
        }
        let networks = [&access["network"], &constraints["network_access"]].into_iter();
        let least = networks.filter_map(|network| network.as_str().and_then(Network::parse)).min();
        self.lines.extend(least.map(|network| format!("Network: {network}")));
    }

    fn policy(&mut self, guard_rails: &Value, policy: &Value) {
        let timeout = [guard_rails, policy].into_iter().find_map(|at| at["timeout_seconds"].as_u64());
        let retries = policy["max_retries"].as_u64();
        if !policy.is_object() && timeout.is_none() {
            return;
        }
        self.section("Execution Policy");
        self.lines.push(format!("Timeout: {}s", timeout.unwrap_or(1800)));
        self.lines.push(format!("Max Retries: {}", retries.unwrap_or(0)));
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn listed(paths: &Value) -> String {
    let paths: Vec<&str> = items(paths).iter().filter_map(Value::as_str).collect();
    if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") }
}
