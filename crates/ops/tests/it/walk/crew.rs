//! Samples of the crew's verbs.

use serde_json::json;

use super::Sample;

pub(super) const SAMPLES: &[Sample] = &[Sample {
    verb: "result.submit",
    prepare: |crew| {
        crew.task("T-1", &["src/a"], json!({}));
        let issued = crew.issue("T-1").unwrap();
        let token = issued.token;
        let document = crew.result("T-1", token, "done");
        let request = json!({"document": document, "token": token, "cost": 5, "tokens": 7, "strict": false});
        (Some(crew.key()), request)
    },
}];
