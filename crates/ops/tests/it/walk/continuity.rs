//! Samples of the agent contract's verbs.

use serde_json::json;

use super::Sample;

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        verb: "task.create",
        prepare: |crew| {
            let request = json!({"title": "one", "description": "more", "project_id": "p", "priority": 3});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "task.list",
        prepare: |crew| {
            crew.world.task("one");
            let request = json!({"status": "pending", "project_id": null, "priority": 0, "limit": 10});
            (None, request)
        },
    },
];
