//! The agent contract's verbs.

use serde_json::json;

use super::{Example, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        verb: "task.create",
        prepare: |_| {
            let request = json!({"title": "one", "description": "more", "project_id": "p", "priority": 3});
            let argv = [
                "task",
                "create",
                "--title",
                "one",
                "--desc",
                "more",
                "--project-id",
                "p",
                "--priority",
                "3",
            ];
            Example::new(request, &argv)
        },
    },
    Row {
        verb: "task.list",
        prepare: |cli| {
            for (title, priority) in [("one", "1"), ("two", "2"), ("three", "1")] {
                let words = ["task", "create", "--title", title, "--priority", priority];
                let who = ["--agent", "setup", "--request-id", title];
                cli.run(words.iter().chain(&who)).success();
            }
            let request = json!({"status": "pending", "priority": 1, "limit": 1});
            let argv = ["task", "list", "--status", "pending", "--priority", "1", "--limit", "1"];
            Example::new(request, &argv)
        },
    },
];
