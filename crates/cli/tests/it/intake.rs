//! What `writ run` accepts besides plans: TASKs of every version of AOP, prompts, and where their paths are.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{agent, aop, plan, shell, with, writ};
use crate::read_back::{Worked, work};

/// A runner whose user has this configuration.
fn configured(text: &str) -> Cli {
    let cli = writ();
    cli.scratch().write("home/.config/writ/config.toml", text);
    cli
}

/// A configuration in which `emma` runs a line of shell.
fn emma(line: &str) -> String {
    format!("[executors.emma]\ncommand = [\"sh\", \"-c\", {}]\n", json!(line))
}

/// Runs a file with this text and these arguments.
fn run(cli: &Cli, name: &str, text: &str, arguments: &[&str]) -> testkit::Output {
    cli.scratch().write(cli.project().join(name), text);
    cli.run(["run", name, "--output", "json"].iter().chain(arguments))
}

fn worked<'c>(cli: &'c Cli, name: &str, text: &str, arguments: &[&str]) -> Worked<'c> {
    Worked::of(cli, run(cli, name, text, arguments))
}

/// The codes and paths of the warnings in an answer.
fn warnings(result: &Value) -> Vec<String> {
    let list = result["warnings"].as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list.iter().map(|warning| format!("{} {}", word(&warning["code"]), word(&warning["path"]))).collect()
}

/// The AOP events of a run with this name.
fn events(worked: &Worked<'_>, name: &str) -> Vec<Value> {
    let events = worked.trace().into_iter().map(|envelope| envelope["payload"]["event"].clone());
    events.filter(|event| event["event"] == name).collect()
}

/// The error code, the AOP code and the first path of a refusal.
fn refusal(output: &testkit::Output) -> (String, String, String) {
    output.fails_with(1);
    let error = output.json();
    let context = &error["error_context"];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (word(&error["error_code"]), word(&context["aop_code"]), word(&context["findings"][0]["path"]))
}

fn refused(cli: &Cli, document: &Value) -> (String, String, String) {
    refusal(&cli.call(["run", "-", "--output", "json"]).stdin(document.to_string()).run())
}

const V1: &str = "# ORCHESTRATION_TASK\n\n**TO:** Emma (Codex)\n**FROM:** Forge (Gemini)\n**PROTOCOL:** AOP v1\n\n\
                  ## 4. INSTRUCTIONS\n\n1. Write hello.txt.\n";

#[test]
fn a_v1_prompt_runs_and_its_closing_word_decides() {
    let cli = configured(&emma("cat > hello.txt; echo STATUS: SUCCESS"));
    let done = worked(&cli, "task.md", V1, &[]).succeeded();
    assert_eq!(done.result["tasks"][0]["status"], "done");
    assert_eq!(cli.scratch().read("project/hello.txt").trim_end(), V1.trim_end());
    let cli = configured(&emma("echo cannot; echo FAIL"));
    let failed = worked(&cli, "task.md", V1, &[]).failed();
    let reason = failed.result["tasks"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("the v1 executor reported failure"), "{reason}");
}

#[test]
fn a_v1_prompt_is_known_on_standard_input() {
    let cli = configured(&emma("cat > /dev/null; echo SUCCESS"));
    let output = cli.call(["run", "-", "--output", "json"]).stdin(V1).run();
    assert_eq!(Worked::of(&cli, output).result["tasks"][0]["status"], "done");
}

#[test]
fn text_without_structure_is_a_prompt_with_a_warning() {
    let cli = configured(&format!("[aop]\nexecutor = \"emma\"\n{}", emma("cat > got; echo SUCCESS")));
    let done = worked(&cli, "wish.txt", "Please tidy.\n", &[]).succeeded();
    assert_eq!(warnings(&done.result), ["UNSTRUCTURED $"]);
    assert!(done.output.stderr.contains("warning: UNSTRUCTURED: $: the text is neither"), "{}", done.output);
    assert!(
        done.decisions("L0").iter().any(|it| it.starts_with("UNSTRUCTURED: $: ")),
        "{:?}",
        done.decisions("L0")
    );
    // The same text that might be a plan is not guessed at.
    let output = cli.call(["run", "-", "--output", "json"]).stdin("Please tidy.\n").run();
    assert_eq!(refusal(&output).1, "");
}

#[test]
fn a_prompt_without_an_executor_says_how_to_name_one() {
    let cli = configured(&emma("cat > /dev/null; echo SUCCESS"));
    let output = run(&cli, "wish.md", "Please tidy.\n", &[]);
    assert_eq!(
        refusal(&output),
        ("INVALID_INPUT".to_owned(), "E_AGENT_NOT_FOUND".to_owned(), "$".to_owned())
    );
    assert!(output.stdout.contains("writ run --executor NAME FILE"), "{output}");
    worked(&cli, "wish.md", "Please tidy.\n", &["--executor", "emma"]).succeeded();
    let output = run(&cli, "wish.md", "Please tidy.\n", &["--executor", "zoe"]);
    assert_eq!(refusal(&output).1, "E_AGENT_NOT_FOUND");
}

#[test]
fn the_caller_may_name_who_gets_a_task() {
    let cli = configured("");
    let mut task = aop(&cli, "exit 1");
    task["target"]["agent_name"] = json!("zoe");
    cli.scratch().write(
        "home/.config/writ/config.toml",
        format!("[executors.emma]\ncommand = [{}, \"aop-success\"]\n", json!(agent())),
    );
    let done = worked(&cli, "task.json", &task.to_string(), &["--executor", "emma"]).succeeded();
    assert_eq!(done.status("T-1"), "done claimed");
    let plan = plan([shell("a", "true")]).to_string();
    let output = run(&cli, "plan.json", &plan, &["--executor", "emma"]);
    output.fails_with(1);
    assert!(output.stdout.contains("a plan names the executor of each task"), "{output}");
}

#[test]
fn a_task_that_breaks_its_schema_goes_on_as_a_prompt() {
    let cli = writ();
    let mut task = aop(&cli, "");
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", "cat > got; echo SUCCESS"]);
    task["task"]["category"] = json!("HOUSEKEEPING");
    task["task"]["expected_outputs"] = json!([{"type": "FILE", "path": "got"}]);
    let done = work(&cli, &task).succeeded();
    assert_eq!(done.status("T-1"), "done verified");
    assert!(cli.scratch().read("project/got").starts_with("=== TASK (AOP v1 Compatibility Mode) ==="));
    let expected = [
        "VERSION_FALLBACK $",
        "E_SCHEMA_VALIDATION $.task.category",
        "E_SCHEMA_VALIDATION $.task.expected_outputs[0].description",
    ];
    assert_eq!(warnings(&done.result), expected);
    let said = events(&done, "VERSION_FALLBACK");
    assert_eq!(said.len(), 1);
    assert_eq!((&said[0]["session_id"], &said[0]["task_id"]), (&json!("S-1"), &json!("T-1")));
    assert_eq!(said[0]["reason"], "V2_SCHEMA_VALIDATION_FAILED");
    assert_eq!(said[0]["error_code"], "E_SCHEMA_VALIDATION");
    assert_eq!(said[0]["validation_errors"].as_array().unwrap().len(), 2);
    let trace = cli.run(["trace", done.id()]).success().stdout.clone();
    assert!(trace.contains("VERSION_FALLBACK"), "{trace}");
}

#[test]
fn unknown_fields_of_a_newer_version_are_named_and_the_limits_hold() {
    let cli = writ();
    let mut task = with(aop(&cli, ""), json!({"aop_version": "2.1", "mood": "bright"}));
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", "cat > /dev/null; sleep 60"]);
    task["guard_rails"] = json!({"timeout_seconds": 1});
    let late = work(&cli, &task).failed();
    assert!(late.reason("T-1").starts_with("E_TIMEOUT: "), "{}", late.reason("T-1"));
    assert_eq!(warnings(&late.result), ["VERSION_FALLBACK $", "E_SCHEMA_VALIDATION $.mood"]);
}

#[test]
fn a_limit_that_cannot_be_read_refuses_the_task_and_writes_nothing() {
    let cli = writ();
    for (pointer, wrong, path) in [
        ("/guard_rails", json!({"timeout_seconds": "soon"}), "$.guard_rails.timeout_seconds"),
        ("/task/budgets", json!({"max_cost_usd": "much"}), "$.task.budgets.max_cost_usd"),
        ("/task/access", json!({"network": "SOME"}), "$.task.access.network"),
    ] {
        let mut task = aop(&cli, "aop-success");
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        task.pointer_mut(parent).unwrap()[field] = wrong;
        let expected = ("INVALID_INPUT".to_owned(), "E_SCHEMA_VALIDATION".to_owned(), path.to_owned());
        assert_eq!(refused(&cli, &task), expected);
    }
    assert_eq!(cli.run(["runs", "list", "--output", "json"]).success().json()["data"]["count"], 0);
}

#[test]
fn the_fallback_can_be_refused_and_a_project_cannot_bring_it_back() {
    let cli = configured("[aop]\nfallback = \"refuse\"\n");
    let task = with(aop(&cli, "aop-success"), json!({"mood": "bright"}));
    assert_eq!(refused(&cli, &task).1, "E_SCHEMA_VALIDATION");
    let cli = writ();
    let task = with(aop(&cli, "aop-success"), json!({"mood": "bright"}));
    cli.scratch().write("project/.writ/config.toml", "[aop]\nfallback = \"refuse\"\n");
    assert_eq!(refused(&cli, &task).1, "E_SCHEMA_VALIDATION");
    cli.scratch().write("project/.writ/config.toml", "[aop]\nfallback = \"v1\"\n");
    assert_eq!(refused(&cli, &task).2, "$.aop.fallback");
    cli.scratch().write("project/.writ/config.toml", "[aop]\nexecutor = \"emma\"\n");
    assert_eq!(refused(&cli, &task).2, "$.aop.executor");
}

#[test]
fn hard_limits_refuse_with_their_code_and_soft_ones_warn() {
    let cli = writ();
    let mut task = aop(&cli, "aop-success");
    task["task"]["inputs"] = json!(vec![json!({"type": "TEXT", "content": "x"}); 101]);
    assert_eq!(refused(&cli, &task).1, "E_CONTEXT_OVERFLOW");
    let mut task = aop(&cli, "aop-success");
    task["task"]["expected_outputs"] = json!(vec![json!({"type": "TEXT", "description": "x"}); 51]);
    assert_eq!(refused(&cli, &task).1, "E_CONTEXT_OVERFLOW");
    let task = with(aop(&cli, "aop-success"), json!({"extensions": {"x_padding": "x".repeat(200 * 1024)}}));
    assert_eq!(refused(&cli, &task).1, "E_CONTEXT_OVERFLOW");
    let phase = |number: usize, points: usize| {
        let point = json!({"checkpoint_id": "C", "description": "d"});
        json!({"phase_id": "P", "phase_order": number, "label": "l", "objective": "o", "checkpoints": vec![point; points]})
    };
    let mut task = aop(&cli, "aop-success");
    task["task"]["objective"] = json!("do it ".repeat(8_000));
    task["phases"] = (1..=11).map(|number| phase(number, if number == 1 { 21 } else { 0 })).collect();
    let done = work(&cli, &task).succeeded();
    let over = ["$.phases", "$.phases[0].checkpoints", "$.task.objective"];
    let expected: Vec<String> = over.iter().map(|path| format!("E_PAYLOAD_SIZE_WARNING {path}")).collect();
    assert_eq!(warnings(&done.result), expected);
    assert!(done.output.stderr.contains("warning: E_PAYLOAD_SIZE_WARNING: $.phases: "), "{}", done.output);
    let told = done.decisions("L0").iter().filter(|it| it.starts_with("E_PAYLOAD_SIZE_WARNING: ")).count();
    assert_eq!(told, 3);
}

#[test]
fn input_that_is_no_message_has_the_code_of_a_parse_failure() {
    let cli = writ();
    let output = run(&cli, "task.json", "{\"aop_version\": \"2.0.2-C\", \"task\": }", &[]);
    assert_eq!(refusal(&output).1, "E_PARSE_FAILURE");
    let output = run(&cli, "task.md", "\n", &[]);
    assert_eq!(refusal(&output).1, "E_PARSE_FAILURE");
    let headless = json!({"protocol_family": "AOP", "message_type": "TASK"});
    assert_eq!(refused(&cli, &headless).1, "E_PARSE_FAILURE");
}

const MINIMAL: &str = include_str!("../../../contract/vectors/aop/valid/c-2.1-task-minimal.json");

#[test]
fn the_example_of_the_contract_runs_where_its_root_is_mapped() {
    let cli = configured(&format!("[executors.emma]\ncommand = [{}, \"aop-success\"]\n", json!(agent())));
    let output = run(&cli, "task.json", MINIMAL, &[]);
    let (_, code, path) = refusal(&output);
    assert_eq!((code.as_str(), path.as_str()), ("E_FILE_NOT_FOUND", "$.task.environment.workspace_root"));
    assert!(output.stdout.contains("writ run --map C:/ai/my-project=DIR"), "{output}");
    let map = format!("c:/ai={}", cli.project().parent().unwrap().display());
    cli.scratch().dir("my-project");
    let done = worked(&cli, "task.json", MINIMAL, &["--map", &map]).succeeded();
    assert_eq!(done.status("TASK-001"), "done claimed");
    let shown = cli.run(["runs", "show", done.id(), "--output", "json"]).success().json();
    let root = cli.project().parent().unwrap().join("my-project").canonicalize().unwrap();
    assert_eq!(shown["data"]["workspace"], json!(root));
}

#[test]
fn the_configuration_maps_paths_too() {
    let cli = writ();
    cli.scratch().write(
        "home/.config/writ/config.toml",
        format!(
            "[executors.emma]\ncommand = [{}, \"aop-success\"]\n[aop.map]\n\"C:/ai/my-project\" = {}\n",
            json!(agent()),
            json!(cli.project())
        ),
    );
    assert_eq!(worked(&cli, "task.json", MINIMAL, &[]).succeeded().status("TASK-001"), "done claimed");
    let done = worked(&cli, "task.json", MINIMAL, &["--map", "D:/x=."]).succeeded();
    assert_eq!(warnings(&done.result), ["NO_EFFECT $"]);
}

#[test]
fn a_target_that_reads_no_v2_gets_a_prompt_and_answers_in_text() {
    let cli = writ();
    let mut task = aop(&cli, "");
    task["target"]["capabilities"] = json!({"aop_versions_supported": ["1.0", "1.x"]});
    task["task"]["extensions"]["x_command"] =
        json!(["sh", "-c", "cat > got; echo all is well; echo SUCCESS"]);
    let done = work(&cli, &task).succeeded();
    let got = cli.scratch().read("project/got");
    assert!(
        got.starts_with("=== TASK (AOP v1 Compatibility Mode) ===") && got.contains("Task ID: T-1"),
        "{got}"
    );
    assert_eq!(events(&done, "VERSION_FALLBACK")[0]["reason"], "TARGET_V1_ONLY");
    task["target"]["capabilities"] = json!({"aop_versions_supported": ["1.x", "2.0.0"]});
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", "tee got | \"$0\" aop-success", agent()]);
    let done = work(&cli, &task).succeeded();
    assert!(cli.scratch().read("project/got").starts_with('{'));
    assert_eq!(events(&done, "VERSION_FALLBACK"), Vec::<Value>::new());
}

#[test]
fn who_sent_a_task_and_what_it_says_about_itself_is_in_identity_and_run() {
    let cli = writ();
    let mut task = aop(&cli, "aop-success");
    task["orchestration_metadata"] = json!({"initiator": "ann@example.org", "spec_author": "Cyclops", "tags": ["A", "B"], "notes": "by hand"});
    let done = work(&cli, &task).succeeded();
    let identity = done.delta("L1");
    let session = &identity["C1.Identity.session"];
    assert_eq!((&session["orchestrator"], &session["origin"]), (&json!("test"), &json!("CLI")));
    assert_eq!(session["created_at"], "2026-01-01T12:00:00.000Z");
    let said = json!({
        "task_id": "T-1", "category": "OTHER", "complexity": "LOW", "agent": "emma", "role": "EXECUTOR",
        "initiator": "ann@example.org", "spec_author": "Cyclops", "tags": ["A", "B"], "notes": "by hand",
    });
    assert_eq!(identity["C1.Identity.tasks"], json!([said]));
    let shown = cli.run(["runs", "show", done.id(), "--output", "json"]).success().json();
    assert_eq!(shown["data"]["session"]["session_id"], "S-1");
    let message = &shown["data"]["tasks"][0]["aop"];
    for (name, value) in said.as_object().unwrap() {
        assert_eq!(message[name], *value, "{name}");
    }
}

#[test]
fn a_value_above_a_limit_of_writ_names_the_one_that_holds() {
    let cli = writ();
    let mut task = aop(&cli, "aop-cost 0.25; aop-success");
    task["execution_policy"] = json!({"max_retries": 30, "timeout_seconds": 1_000_000_000});
    task["guard_rails"] = json!({"timeout_seconds": 604_801});
    task["task"]["budgets"] = json!({"max_cost_usd": 1e12});
    let done = work(&cli, &task).succeeded();
    let expected = [
        "LIMITED $.execution_policy.max_retries",
        "LIMITED $.execution_policy.timeout_seconds",
        "LIMITED $.guard_rails.timeout_seconds",
        "LIMITED $.task.budgets.max_cost_usd",
    ];
    assert_eq!(warnings(&done.result), expected);
    let traced = done.decisions("L0");
    let told = "LIMITED: $.execution_policy.max_retries: 30 retries are more than the limit; 20 retries are in force";
    assert!(traced.contains(&told.to_owned()), "{traced:?}");
    task["execution_policy"] = json!({"max_retries": 20, "timeout_seconds": 604_800});
    task["guard_rails"] = json!({});
    task["task"]["budgets"] = json!({"max_cost_usd": 1e9});
    assert_eq!(warnings(&work(&cli, &task).succeeded().result), Vec::<String>::new());
}

#[test]
fn soft_limits_warn_also_where_a_task_falls_back_and_for_prompts() {
    let cli = configured(&emma("cat > /dev/null; echo SUCCESS"));
    let long = "x".repeat(45_000);
    let mut task = aop(&cli, "");
    task["task"]["objective"] = json!(long);
    task["task"]["category"] = json!("NOPE");
    task["task"]["extensions"]["x_command"] = json!(["sh", "-c", "cat > /dev/null; echo SUCCESS"]);
    let fallen = work(&cli, &task).succeeded();
    let expected = [
        "VERSION_FALLBACK $",
        "E_SCHEMA_VALIDATION $.task.category",
        "E_PAYLOAD_SIZE_WARNING $.task.objective",
    ];
    assert_eq!(warnings(&fallen.result), expected);
    let prompted = worked(&cli, "task.md", &format!("{V1}\n{long}\n"), &[]).succeeded();
    assert_eq!(warnings(&prompted.result), ["E_PAYLOAD_SIZE_WARNING $"]);
    assert!(prompted.output.stderr.contains("warning: E_PAYLOAD_SIZE_WARNING"), "{}", prompted.output);
}

#[test]
fn a_limit_in_a_wrong_place_or_of_a_wrong_type_refuses_the_task() {
    let cli = writ();
    for (parent, field, value) in [
        ("", "budgets", json!({"max_cost_usd": 1})),
        ("", "access", json!({"network": "NONE"})),
        ("/task", "max_cost_usd", json!(1)),
        ("/execution_policy", "max_cost", json!(1)),
        ("/execution_policy", "abort_on_first_critical_error", json!("yes")),
        ("/task", "parent_task_id", json!(7)),
    ] {
        let mut task = with(aop(&cli, "print SUCCESS"), json!({"execution_policy": {}}));
        task.pointer_mut(parent).unwrap()[field] = value;
        let path = format!("${}.{field}", parent.replace('/', "."));
        assert_eq!(refused(&cli, &task).2, path);
    }
    let newer = with(aop(&cli, "print SUCCESS"), json!({"mood": "good"}));
    let done = work(&cli, &newer).succeeded();
    assert_eq!(warnings(&done.result), ["VERSION_FALLBACK $", "E_SCHEMA_VALIDATION $.mood"]);
}

#[test]
fn a_check_that_cannot_be_read_refuses_the_task() {
    let cli = writ();
    let validated = |validation: Value| {
        let point = json!({"checkpoint_id": "C-1", "description": "d", "validation": validation});
        let phase = json!({"phase_id": "P", "phase_order": 1, "label": "l", "objective": "o", "checkpoints": [point]});
        with(aop(&cli, "aop-success"), json!({"phases": [phase]}))
    };
    for (validation, path) in [
        (json!({"command": 7, "expects": "EXIT_CODE_0"}), "validation.command"),
        (json!({"expects": "EXIT_CODE_0"}), "validation.command"),
        (json!("true"), "validation"),
    ] {
        assert_eq!(refused(&cli, &validated(validation)).2, format!("$.phases[0].checkpoints[0].{path}"));
    }
    let sound = work(&cli, &validated(json!({"command": "true", "expects": "EXIT_CODE_0"}))).succeeded();
    assert_eq!(sound.status("T-1"), "done verified");
}

#[test]
fn capabilities_that_do_not_name_the_network_restrict_it() {
    let cli = writ();
    let mut task = aop(&cli, "aop-success");
    task["target"]["capabilities"] = json!({"headless_mode": true});
    let done = work(&cli, &task).succeeded();
    assert_eq!(warnings(&done.result), ["NETWORK_DEFAULT $.target.capabilities.network_access"]);
    let traced = done.decisions("L0");
    assert!(traced.iter().any(|it| it.starts_with("NETWORK_DEFAULT: ")), "{traced:?}");
    task["target"]["capabilities"]["network_access"] = json!("FULL");
    assert_eq!(warnings(&work(&cli, &task).succeeded().result), Vec::<String>::new());
}
