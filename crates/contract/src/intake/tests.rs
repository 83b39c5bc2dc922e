use super::*;
use crate::domain::check::Expects;
use crate::domain::confinement::{NetworkUse, SandboxMode};
use crate::domain::plan::PlanTask;
use crate::domain::priority::Priority;
use serde_json::{Value, json};

fn executors() -> Executors {
    let commands = [("emma".to_owned(), vec!["emma-agent".to_owned()])].into_iter().collect();
    Executors { commands, ..Executors::default() }
}

fn aop() -> Value {
    json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "TASK",
        "session": {"session_id": "S-1", "created_at": "2026-02-26T14:00:00Z", "orchestrator": "o", "origin": "CLI"},
        "target": {"agent_name": "Emma", "role": "EXECUTOR", "provider": "CODEX", "model": "m"},
        "task": {
            "task_id": "TASK 1", "objective": "\nDo it\nwell", "category": "OTHER", "complexity": "LOW",
            "environment": {"workspace_root": "/srv/repo"},
            "expected_outputs": [{
                "type": "FILE", "path": "/srv/repo/out.txt", "description": "d",
                "validation": {"command": "grep -q 'a b' out.txt", "expects": "EXIT_CODE_0"}
            }],
            "access": {"filesystem": {"read_paths": ["/srv/repo"], "write_paths": ["/srv/repo/src"]}}
        },
        "execution_policy": {"timeout_seconds": 90, "max_retries": 2, "retry_backoff_seconds": [1, 2]},
        "guard_rails": {"timeout_seconds": 60}
    })
}

fn aee(intent: &str, payload: &Value) -> Value {
    json!({
        "v": "1", "id": "01REQUEST", "ts": "2026-01-26T12:00:00Z", "type": "task", "from": "human.ann",
        "to": "service.writ", "intent": intent, "corr": "01CORRELATION", "reply_to": null, "trace": null,
        "priority": "urgent", "requires": {"timeout_ms": 5000}, "payload": payload, "sig": null
    })
}

fn plan() -> Value {
    json!({"objective": "o", "task": [{"id": "a", "command": ["true"]}]})
}

fn read_value(value: &Value) -> Result<Intake, String> {
    read(value.to_string().as_bytes(), &executors()).map_err(|Refused { kind, findings, .. }| {
        let list: Vec<String> = findings.sorted().iter().map(ToString::to_string).collect();
        format!("{}: {}", kind.as_str(), list.join("; "))
    })
}

#[test]
fn an_aop_task_becomes_a_plan_of_one_task() {
    let intake = read_value(&aop()).unwrap();
    let task = &intake.plan.tasks[0];
    assert_eq!((intake.objective.as_str(), task.id.as_str()), ("Do it", "TASK-1"));
    assert_eq!(task.command, ["emma-agent"]);
    // Guard rails outrank the execution policy.
    assert_eq!((task.timeout_ms, task.retries, task.backoff_ms.as_slice()), (60_000, 2, &[1_000, 2_000][..]));
    assert_eq!(task.writes, [crate::domain::scope::Scope::parse("src", None).unwrap()]);
    assert_eq!(task.checks[0].expects, Expects::FileExists);
    assert_eq!(task.checks[1].command, ["grep", "-q", "a b", "out.txt"]);
}

#[test]
fn the_author_of_a_task_may_name_its_program() {
    let mut task = aop();
    task["task"]["extensions"] = json!({"x_command": ["mine", "-x"]});
    assert_eq!(read_value(&task).unwrap().plan.tasks[0].command, ["mine", "-x"]);
    task["task"]["extensions"] = json!({"x_command": "mine -x"});
    assert!(read_value(&task).unwrap_err().contains("$.task.extensions.x_command: must be a list"));
}

#[test]
fn a_task_may_demand_a_sandbox_and_says_what_it_needs_of_the_network() {
    let mut task = aop();
    let said =
        |task: &Value| read_value(task).map(|read| (read.plan.tasks[0].sandbox, read.plan.tasks[0].network));
    assert_eq!(said(&task), Ok((None, NetworkUse::Full)));
    task["target"]["capabilities"] = json!({"network_access": "RESTRICTED"});
    assert_eq!(said(&task), Ok((None, NetworkUse::Restricted)));
    task["task"]["access"]["network"] = json!("FULL");
    assert_eq!(said(&task), Ok((None, NetworkUse::Restricted)));
    task["task"]["access"]["network"] = json!("NONE");
    task["task"]["extensions"] = json!({"x_sandbox": "enforce"});
    assert_eq!(said(&task), Ok((Some(SandboxMode::Enforce), NetworkUse::None)));
    task["task"]["extensions"] = json!({"x_sandbox": "strict"});
    assert!(said(&task).unwrap_err().contains("$.task.extensions.x_sandbox: must be enforce, prefer or off"));
}

#[test]
fn a_task_says_in_an_extension_that_it_may_run_again() {
    let mut task = aop();
    let said = |task: &Value| read_value(task).map(|read| read.plan.tasks[0].retry_safe);
    assert_eq!(said(&task), Ok(false));
    for is_safe in [true, false] {
        task["task"]["extensions"] = json!({"x_retry_safe": is_safe});
        assert_eq!(said(&task), Ok(is_safe));
    }
    task["task"]["extensions"] = json!({"x_retry_safe": "yes"});
    assert!(said(&task).unwrap_err().contains("$.task.extensions.x_retry_safe: must be true or false"));
}

#[test]
fn a_task_with_restricted_network_names_its_hosts_in_an_extension() {
    let mut task = aop();
    let said = |task: &Value| {
        read_value(task).map(|read| {
            let task = &read.plan.tasks[0];
            (task.network, task.network_allow.iter().map(ToString::to_string).collect::<Vec<_>>())
        })
    };
    task["task"]["access"]["network"] = json!("RESTRICTED");
    assert_eq!(said(&task), Ok((NetworkUse::Restricted, Vec::new())));
    task["task"]["extensions"] = json!({"x_network_allow": ["example.org:443"]});
    assert_eq!(said(&task), Ok((NetworkUse::Restricted, vec!["example.org:443".to_owned()])));
    for (value, expected) in [
        (json!("example.org:443"), "$.task.extensions.x_network_allow: must be a list"),
        (json!(["example.org"]), "$.task.extensions.x_network_allow[0]: `example.org`: needs a port"),
    ] {
        task["task"]["extensions"] = json!({"x_network_allow": value});
        let refused = said(&task).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    task["task"]["extensions"] = json!({"x_network_allow": ["example.org:443"]});
    task["task"]["access"]["network"] = json!("NONE");
    assert!(said(&task).unwrap_err().contains("has no effect unless the network is RESTRICTED"));
}

#[test]
fn an_unconfigured_agent_is_refused_by_name() {
    let mut task = aop();
    task["target"]["agent_name"] = json!("nobody");
    let refused = read_value(&task).unwrap_err();
    assert!(refused.starts_with(
        "aop_task: $.target.agent_name: E_AGENT_NOT_FOUND: no program is configured for `nobody`"
    ));
}

#[test]
fn an_aee_task_carries_a_plan_and_makes_it_urgent() {
    let intake = read_value(&aee("writ.run.plan", &json!({"plan": plan()}))).unwrap();
    assert_eq!(intake.corr.as_deref(), Some("01CORRELATION"));
    assert_eq!((intake.plan.tasks[0].priority, intake.plan.tasks[0].timeout_ms), (Priority::Critical, 5_000));
    let intake = read_value(&aee("writ.run.task", &json!({"task": aop()}))).unwrap();
    assert_eq!(intake.plan.tasks[0].command, ["emma-agent"]);
}

#[test]
fn the_time_an_envelope_allows_may_have_a_fraction() {
    for (written, timeout_ms) in [(json!(1.5), 1), (json!(0), 1), (json!(0.25), 1), (json!(4999.9), 4_999)] {
        let mut envelope = aee("writ.run.plan", &json!({"plan": plan()}));
        envelope["requires"]["timeout_ms"] = written;
        assert_eq!(read_value(&envelope).unwrap().plan.tasks[0].timeout_ms, timeout_ms);
    }
    let mut envelope = aee("writ.run.plan", &json!({"plan": plan()}));
    let unhurried = PlanTask::minimal("").timeout_ms;
    envelope["requires"]["timeout_ms"] = json!(1e300);
    assert_eq!(read_value(&envelope).unwrap().plan.tasks[0].timeout_ms, unhurried);
}

#[test]
fn faults_inside_an_envelope_have_their_whole_path() {
    let refused =
        read_value(&aee("writ.run.plan", &json!({"plan": {"objective": "o", "task": []}}))).unwrap_err();
    assert_eq!(refused, "aee_task: $.payload.plan.task: needs at least 1, has 0");
    let refused = read_value(&aee("writ.run.plan", &json!({}))).unwrap_err();
    assert_eq!(refused, "aee_task: $.payload.plan: `plan` is required for writ.run.plan");
}

#[test]
fn only_tasks_are_run() {
    let mut event = aee("x.y.z", &json!({}));
    event["type"] = json!("event");
    assert!(read_value(&event).unwrap_err().contains("$.type: only an envelope of type task can be run"));
}

#[test]
fn a_reserved_intent_has_no_plan() {
    let intake = read_value(&aee("aee.status.ping", &json!({}))).unwrap();
    assert_eq!((intake.plan.tasks.len(), intake.objective.as_str()), (0, "aee.status.ping"));
}

#[test]
fn no_document_may_hold_a_secret_and_none_is_repeated() {
    let secret = ["ghp", "_0123456789abcdefghijABCDEFGHIJ456789"].concat();
    let mut task = aop();
    task["task"]["objective"] = json!(format!("push with {secret}"));
    let nested = aee("writ.run.task", &json!({"task": task}));
    for (document, path) in [(task, "$.task.objective"), (nested, "$.payload.task.task.objective")] {
        let refused = read_value(&document).unwrap_err();
        assert!(refused.contains(&format!("{path}: looks like a secret (github_token)")), "{refused}");
        assert!(!refused.contains(&secret));
    }
    let mut signed = aee("aee.status.ping", &json!({}));
    signed["sig"] = json!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLWl0");
    assert!(read_value(&signed).is_ok());
}

#[test]
fn a_task_that_breaks_the_form_of_a_message_is_refused_at_its_place() {
    let without = |path: &str| {
        let mut task = aop();
        task.as_object_mut().unwrap().remove(path);
        task
    };
    let with = |field: &str, value: Value| {
        let mut task = aop();
        task[field] = value;
        task
    };
    let strict = Executors { aop: AopSettings { refuses_fallback: true, ..executors().aop }, ..executors() };
    for (task, place) in [
        (without("schema_version"), "$.schema_version"),
        (without("protocol_family"), "$.protocol_family"),
        (without("session"), "$.session"),
        (without("target"), "$.target"),
        (without("task"), "$.task"),
        (with("aop_version", json!("3.0")), "$.aop_version"),
        (with("protocol_family", json!("OPA")), "$.protocol_family"),
        (with("task_status", json!({"state": "COMPLETED"})), "$.task_status"),
        (with("extensions", json!({"own": 1})), "$.extensions.own"),
        (with("unknown", json!(1)), "$.unknown"),
    ] {
        let refused = read(task.to_string().as_bytes(), &strict).unwrap_err();
        assert_eq!(refused.code, Some(FailureCode::SchemaValidation));
        let found = refused.findings.sorted();
        assert!(found.iter().any(|finding| finding.path == place), "{place}: {found:?}");
    }
}

#[test]
fn a_task_that_breaks_its_schema_goes_on_as_a_prompt_and_says_so() {
    let mut task = aop();
    task["aop_version"] = json!("2.1");
    task["task"]["mood"] = json!("bright");
    task["task"]["budgets"] = json!({"max_tokens": 1000});
    let intake = read_value(&task).unwrap();
    let warnings: Vec<String> = intake.warnings.iter().map(|it| format!("{} {}", it.code, it.path)).collect();
    assert_eq!(warnings, ["VERSION_FALLBACK $", "E_SCHEMA_VALIDATION $.task.mood"]);
    let (index, fallback) = &intake.fallbacks[0];
    assert_eq!((*index, fallback.reason.as_str()), (0, "V2_SCHEMA_VALIDATION_FAILED"));
    assert_eq!(fallback.errors, ["$.task.mood: unknown field `mood`"]);
    let planned = &intake.plan.tasks[0];
    assert!(planned.prompt.as_deref().unwrap().starts_with("=== TASK (AOP v1 Compatibility Mode) ==="));
    assert_eq!((planned.title.as_str(), planned.timeout_ms, planned.retries), ("Do it", 60_000, 2));
    assert_eq!((planned.budget.tokens, planned.checks.len(), planned.writes.len()), (Some(1000), 2, 1));
}

#[test]
fn a_task_with_a_limit_that_cannot_be_read_is_refused_at_its_place() {
    let mut task = aop();
    task["task"]["mood"] = json!("bright");
    task["guard_rails"]["timeout_seconds"] = json!("soon");
    let refused = read(task.to_string().as_bytes(), &executors()).unwrap_err();
    assert_eq!(refused.code, Some(FailureCode::SchemaValidation));
    assert_eq!(refused.findings.sorted()[0].path, "$.guard_rails.timeout_seconds");
}

#[test]
fn a_target_that_reads_no_v2_gets_the_prompt() {
    let mut task = aop();
    task["target"]["capabilities"] = json!({"aop_versions_supported": ["1.x"]});
    let intake = read_value(&task).unwrap();
    assert_eq!(intake.fallbacks[0].1.reason.as_str(), "TARGET_V1_ONLY");
    assert_eq!(intake.plan.tasks[0].prompt, intake.fallbacks[0].1.prompt);
}

#[test]
fn hard_limits_refuse_a_task_and_soft_ones_warn() {
    let code = |task: &Value| read(task.to_string().as_bytes(), &executors()).map_err(|refused| refused.code);
    let mut task = aop();
    task["task"]["inputs"] = json!(vec![json!({"type": "TEXT", "content": "x"}); 101]);
    assert_eq!(code(&task).unwrap_err(), Some(FailureCode::ContextOverflow));
    let mut task = aop();
    task["extensions"] = json!({"x_padding": "x".repeat(200 * 1024)});
    assert_eq!(code(&task).unwrap_err(), Some(FailureCode::ContextOverflow));
    let mut task = aop();
    task["task"]["objective"] = json!("x ".repeat(20_001));
    let warnings = code(&task).unwrap().warnings;
    assert_eq!(
        (warnings[0].code.as_str(), warnings[0].path.as_str()),
        ("E_PAYLOAD_SIZE_WARNING", "$.task.objective")
    );
}

#[test]
fn a_path_of_windows_has_to_be_mapped() {
    let mut task = aop();
    task["task"]["environment"]["workspace_root"] = json!("C:/workspace/project-x");
    task["task"]["access"] =
        json!({"filesystem": {"read_paths": [], "write_paths": ["c:/workspace/project-x/src"]}});
    task["task"]["expected_outputs"] = json!([]);
    let read = |map: &[(&str, &str)]| {
        let map = map.iter().map(|(from, to)| PathMapping::new(from, to).unwrap()).collect();
        read_as(task.to_string().as_bytes(), &executors(), &Reading { map, ..Reading::default() })
    };
    let refused = read(&[]).unwrap_err();
    assert_eq!((refused.code, refused.findings.iter().count()), (Some(FailureCode::FileNotFound), 2));
    let message = refused.findings.sorted()[1].to_string();
    assert!(
        message.contains("$.task.environment.workspace_root: `C:/workspace/project-x` is a Windows path")
    );
    assert!(message.contains("--map C:/workspace/project-x=DIR"), "{message}");
    let intake = read(&[("C:/workspace", "/srv"), ("D:/", "/d")]).unwrap();
    assert_eq!(intake.workspace.as_deref(), Some("/srv/project-x"));
    assert_eq!(intake.plan.tasks[0].writes[0].as_str(), "src");
    let codes: Vec<&str> = intake.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["NO_EFFECT"]);
}

fn read_prompt(text: &str, aop: AopSettings, executor: Option<&str>) -> Result<Intake, Option<FailureCode>> {
    let name = Some("task.md".to_owned());
    let reading = Reading { name, executor: executor.map(str::to_owned), ..Reading::default() };
    read_as(text.as_bytes(), &Executors { aop, ..executors() }, &reading).map_err(|refused| refused.code)
}

#[test]
fn a_prompt_names_its_executor_or_the_caller_or_the_configuration_does() {
    let command = |text: &str, usual: Option<&str>, executor: Option<&str>| {
        let aop = AopSettings { executor: usual.map(str::to_owned), ..AopSettings::default() };
        read_prompt(text, aop, executor).map(|intake| intake.plan.tasks[0].command[0].clone())
    };
    let v1 = "# ORCHESTRATION_TASK\n\n**TO:** Ada (Emma)\n**FROM:** Forge (Gemini)\n\nTidy.";
    assert_eq!(command(v1, None, None).as_deref(), Ok("emma-agent"));
    assert_eq!(command(v1, None, Some("nobody")), Err(Some(FailureCode::AgentNotFound)));
    assert_eq!(command("Tidy.", None, Some("Emma")).as_deref(), Ok("emma-agent"));
    assert_eq!(command("Tidy.", Some("emma"), None).as_deref(), Ok("emma-agent"));
    assert_eq!(command("Tidy.", None, None), Err(Some(FailureCode::AgentNotFound)));
    assert_eq!(command("Task: tidy\nAgent: Zoe", Some("emma"), None).as_deref(), Ok("emma-agent"));
    assert_eq!(command("Task: tidy\nAgent: Zoe", None, None), Err(Some(FailureCode::AgentNotFound)));
}

#[test]
fn a_prompt_becomes_a_task_of_a_session_of_its_own() {
    let v1 = "# ORCHESTRATION_TASK\n\n**TO:** Emma\n**FROM:** Forge (Gemini)\n\nTidy.";
    let intake = read_prompt(v1, AopSettings::default(), None).unwrap();
    let task = &intake.plan.tasks[0];
    assert_eq!((task.prompt.as_deref(), intake.warnings.len()), (Some(v1), 0));
    assert_eq!(task.aop.as_ref().unwrap()["session"]["orchestrator"], "Forge (Gemini)");
    assert!(intake.session_id.unwrap().starts_with("AOP-SESSION-"));
    let loose = read_prompt("Tidy.", AopSettings::default(), Some("emma")).unwrap();
    assert_eq!(loose.warnings[0].code, "UNSTRUCTURED");
}

#[test]
fn a_provider_names_the_program_of_an_agent_that_is_not_configured() {
    let commands = [("codex".to_owned(), vec!["codex-agent".to_owned()])].into_iter().collect();
    let known = Executors { commands, ..Executors::default() };
    let intake = read(aop().to_string().as_bytes(), &known).unwrap();
    assert_eq!(intake.plan.tasks[0].command, ["codex-agent"]);
}

#[test]
fn the_priority_budget_and_checkpoints_of_a_task_reach_the_plan() {
    let mut task = aop();
    task["task"]["priority"] = json!("HIGH");
    task["task"]["constraints"] = json!({"max_tokens": 1000});
    task["phases"] = json!([{
        "phase_id": "P", "phase_order": 1, "label": "l", "objective": "o",
        "checkpoints": [{
            "checkpoint_id": "C", "description": "d",
            "validation": {"command": "grep -q x out.txt", "expects": "MATCH_FOUND"},
        }],
    }]);
    let intake = read_value(&task).unwrap();
    let task = &intake.plan.tasks[0];
    assert_eq!((task.priority, task.budget.tokens), (Priority::High, Some(1000)));
    let last = task.checks.last().unwrap();
    assert_eq!((last.command.join(" ").as_str(), last.expects), ("grep -q x out.txt", Expects::MatchFound));
}

#[test]
fn extensions_of_others_change_nothing_in_the_plan() {
    let plain = read_value(&aop()).unwrap();
    let mut extended = aop();
    for place in ["/session", "/target", "/task", "/execution_policy", "/guard_rails", ""] {
        extended.pointer_mut(place).unwrap()["extensions"] = json!({"x_of_somebody": {"any": ["thing"]}});
    }
    let mut intake = read_value(&extended).unwrap();
    // The TASK itself is handed over with its extensions.
    intake.plan.tasks[0].aop.clone_from(&plain.plan.tasks[0].aop);
    assert_eq!(intake.plan, plain.plan);
}
