use serde_json::{Value, json};

use super::*;
use crate::aop::task::Task;
use crate::aop::{Fallback, detect, parse_response, parse_task};
use crate::domain::report::FinalSignal;
use crate::domain::time::Timestamp;

const MINIMAL: &str = include_str!("../../../vectors/aop/valid/c-2.1-task-minimal.json");
const FULL: &str = include_str!("../../../vectors/aop/valid/c-2.2-task-full.json");

fn task(text: &str) -> Task {
    parse_task(text.as_bytes()).unwrap().0
}

#[test]
fn a_v1_prompt_is_known_by_its_first_words() {
    for prompt in [
        "Task: tidy the house\nObjective: order",
        "   - **Objective:** order",
        "**Objective**: order",
        "### Context:\nthe house",
        "# ORCHESTRATION_TASK\n\nDo it.",
        "Dear Ada,\n**PROTOCOL:** AOP v1\n",
        COMPATIBILITY_HEADER,
        "## 1. ENVIRONMENT\n## 2. TOOLING\n## 7. CLOSURE",
    ] {
        assert!(is_v1(prompt), "{prompt}");
    }
    for prose in [
        "Please finish the subtask: thanks",
        "The task: none",
        "Task force: assemble",
        "## 1. ENVIRONMENT\n## 1. ENVIRONMENT\n## 2. TOOLING",
        "# Notes\n# ORCHESTRATION_TASK",
        "protocol: AOP v2",
        "\"task: x\"",
        "",
    ] {
        assert!(!is_v1(prose), "{prose}");
    }
}

#[test]
fn the_prompt_says_everything_that_matters() {
    insta::assert_snapshot!(prompt(&task(FULL)), @r"
    === TASK (AOP v1 Compatibility Mode) ===

    Task ID: TASK-001
    Category: CODE_REFACTORING
    Complexity: MEDIUM
    Priority: NORMAL

    ## Objective
    Refactor module X to use dependency injection.

    ## Environment
    Workspace: C:/workspace/project-x
    OS: win32
    Shell: powershell
    Git Branch: feature/new-refactor

    ## Inputs
    1. FILE: C:/workspace/project-x/src/module_x.py (read-only)

    ## Expected Outputs
    1. FILE: C:/workspace/project-x/src/module_x.py
       Refactored file with DI pattern.
       Check: python -m py_compile src/module_x.py (must give EXIT_CODE_0)
    2. FILE: C:/workspace/project-x/tests/test_module_x.py
       New unit tests for module X.
       Check: pytest tests/test_module_x.py (must give EXIT_CODE_0)

    ## Phases

    ### Phase 1: Analysis
    Objective: Analyze existing code and identify global state usage.
    Checkpoints:
      - CP-ANA-001: Identify global config access in module_x.py.
        Check: grep -n 'config.get' src/module_x.py (must give MATCH_FOUND)

    ### Phase 2: Implementation
    Objective: Apply refactoring and create unit tests.
    Checkpoints:
      - CP-IMPL-001: module_x.py refactored and compiles.
        Check: python -m py_compile src/module_x.py (must give EXIT_CODE_0)

    ## Budgets
    Max Cost: $0.5
    Max Tokens: 15000

    ## Access
    Read: C:/workspace/project-x
    Write: C:/workspace/project-x/src, C:/workspace/project-x/tests
    Network: RESTRICTED

    ## Execution Policy
    Timeout: 1800s
    Max Retries: 1

    ---
    Note: written from an AOP v2 task for an executor that reads v1.
    ");
    assert!(detect(prompt(&task(MINIMAL)).as_bytes()).version == crate::aop::Version::V1);
}

#[test]
fn inline_content_and_tight_limits_reach_the_prompt() {
    let mut value: Value = serde_json::from_str(MINIMAL).unwrap();
    value["task"]["inputs"] =
        json!([{"type": "TEXT", "content": "one\ntwo"}, {"type": "FILE", "path": "a", "read_only": false}]);
    value["task"]["constraints"] =
        json!({"read_only_mode": true, "max_cost_usd": 5, "network_access": "NONE"});
    value["task"]["budgets"] = json!({"max_cost_usd": 0, "max_tokens": 100_000});
    value["guard_rails"] = json!({"timeout_seconds": 600});
    value["execution_policy"] = json!({"timeout_seconds": 900, "max_retries": 3});
    insta::assert_snapshot!(prompt(&task(&value.to_string())), @r"
    === TASK (AOP v1 Compatibility Mode) ===

    Task ID: TASK-001
    Category: ANALYSIS
    Complexity: LOW
    Priority: NORMAL

    ## Objective
    Read and summarize the README.md file.

    ## Environment
    Workspace: C:/ai/my-project

    ## Inputs
    1. TEXT: [inline content]
       | one
       | two
    2. FILE: a

    ## Budgets
    Max Cost: $0.0
    Max Tokens: 100000

    ## Access
    Write: nothing
    Network: NONE

    ## Execution Policy
    Timeout: 600s
    Max Retries: 3

    ---
    Note: written from an AOP v2 task for an executor that reads v1.
    ");
}

#[test]
fn the_loss_is_counted() {
    assert_eq!(loss(&task(MINIMAL)), ConversionLoss::default());
    let full = loss(&task(FULL));
    assert_eq!((full.total_features_lost, full.checkpoints_lost), (7, 2));
}

#[test]
fn a_target_without_v2_gets_the_prompt() {
    let mut value: Value = serde_json::from_str(MINIMAL).unwrap();
    assert_eq!(Fallback::for_target(&task(&value.to_string())), None);
    value["target"]["capabilities"] = json!({"aop_versions_supported": ["1.x"]});
    let fallback = Fallback::for_target(&task(&value.to_string())).unwrap();
    assert_eq!(fallback.reason.as_str(), "TARGET_V1_ONLY");
    assert!(fallback.prompt.unwrap().starts_with(COMPATIBILITY_HEADER));
}

fn reply() -> V1Reply {
    V1Reply {
        session_id: "s".to_owned(),
        task_id: "t".to_owned(),
        agent_name: "a".to_owned(),
        started_at: Timestamp::from_millis(0),
        completed_at: Timestamp::from_millis(61_500),
    }
}

#[test]
fn the_closing_word_decides_how_a_v1_reply_ended() {
    let signal = |text: &str| {
        let (response, warnings) = lift_response(text, &reply());
        (response.task_status.final_signal.unwrap(), warnings.len())
    };
    for success in ["all done\nSUCCESS", "**STATUS: SUCCESS**", "Yes.", "If not, say FAIL.\nok\nSUCCESS!"] {
        assert_eq!(signal(success), (FinalSignal::Success, 0), "{success}");
    }
    for failure in ["STATUS: FAIL permission denied", "FAIL: no disk", "wrote error.json", "Fail", " \n"] {
        assert_eq!(signal(failure), (FinalSignal::Failure, 0), "{failure}");
    }
    for open in ["I renamed the file", "success is near", "yes, but later"] {
        assert_eq!(signal(open), (FinalSignal::PartialSuccess, 1), "{open}");
    }
}

#[test]
fn a_lifted_reply_is_a_valid_response() {
    for text in ["X".repeat(600), "STATUS: FAIL".to_owned(), String::new()] {
        let (response, _) = lift_response(&text, &reply());
        let printed = serde_json::to_string(&response).unwrap();
        assert_eq!(parse_response(printed.as_bytes(), None).unwrap().0, response);
        assert_eq!(response.timing.unwrap().duration_seconds, 61);
    }
    let (long, _) = lift_response(&"X".repeat(600), &reply());
    let summary = long.execution_summary.unwrap().summary.unwrap();
    assert!(summary.len() == 503 && summary.ends_with("..."));
}

#[test]
fn a_lifted_prompt_is_a_valid_task() {
    let minimal = task(MINIMAL);
    let lifted = lift_task("Task: tidy", minimal.session, minimal.target, "T-1", "/ws");
    assert_eq!(task(&serde_json::to_string(&lifted).unwrap()), lifted);
}
