use super::*;
use crate::domain::confinement::{GitUse, NetworkUse};
use crate::plan::document::{self, PlanDocument};
use crate::plan::{CommandUse, PromptUse};
use proptest::prelude::*;

fn known() -> [KnownExecutor; 2] {
    [
        KnownExecutor {
            name: ExecutorName::shell(),
            prompt: PromptUse::Unused,
            command: CommandUse::Required,
        },
        KnownExecutor {
            name: ExecutorName::aop_stdio(),
            prompt: PromptUse::Required,
            command: CommandUse::Required,
        },
    ]
}

fn read_plan(bytes: &[u8]) -> Result<Plan, Findings> {
    match document::read(bytes, None).map_err(|unreadable| unreadable.findings)? {
        PlanDocument::Value { value, .. } => from_value(&value, &known()),
        other => panic!("no plan: {other:?}"),
    }
}

/// Reads TOML and prints either the plan's order of tasks or every finding.
fn run(toml: &str) -> String {
    let findings = match read_plan(toml.as_bytes()) {
        Ok(plan) => {
            return format!("ok: {}", plan.tasks.iter().map(|t| t.id.as_str()).collect::<Vec<_>>().join(" "));
        }
        Err(findings) => findings,
    };
    findings
        .sorted()
        .iter()
        .map(|f| format!("{} [{}] {}", f.path, f.rule, f.message))
        .collect::<Vec<_>>()
        .join("\n")
}

const HEAD: &str = "objective = \"o\"\n";

fn task(id: &str, rest: &str) -> String {
    format!("[[task]]\nid = \"{id}\"\ncommand = [\"true\"]\n{rest}\n")
}

#[test]
fn every_default_is_filled_in() {
    let value = toml_value(&format!("{HEAD}{}", task("a", ""))).unwrap();
    let plan = from_value(&value, &known()).unwrap();
    assert_eq!(plan.tasks, vec![PlanTask::minimal("a")]);
    assert_eq!((plan.max_parallel, plan.workspace), (4, None));
}

#[test]
fn a_cycle_is_named() {
    let plan = format!(
        "{HEAD}{}{}{}",
        task("a", "depends_on = [\"c\"]"),
        task("b", "depends_on = [\"a\"]"),
        task("c", "depends_on = [\"b\"]")
    );
    insta::assert_snapshot!(run(&plan), @"$.task[0].depends_on [cycle] the dependencies form a cycle: a -> c -> b -> a");
    insta::assert_snapshot!(run(&format!("{HEAD}{}", task("a", "depends_on = [\"a\"]"))), @"$.task[0].depends_on[0] [cycle] a task cannot depend on itself");
}

#[test]
fn a_dependency_must_exist_and_an_id_be_unique() {
    let plan = format!("{HEAD}{}{}", task("build", ""), task("build", "depends_on = [\"buidl\", \"zzz\"]"));
    insta::assert_snapshot!(run(&plan), @r"
    $.task[1].depends_on[0] [unknown_dependency] unknown task `buidl`; did you mean `build`?
    $.task[1].depends_on[1] [unknown_dependency] unknown task `zzz`
    $.task[1].id [duplicate] `build` is already the id of $.task[0]
    ");
}

#[test]
fn writers_of_one_path_need_an_order() {
    let collide = |order: &str| {
        format!(
            "{HEAD}{}{}{}",
            task("a", "writes = [\"src\"]"),
            task("m", "depends_on = [\"a\"]"),
            task("b", order)
        )
    };
    insta::assert_snapshot!(run(&collide("writes = [\"./src/x.rs\"]")), @"$.task[2].writes [overlapping_writes] `a` writes `src` and `b` writes `src/x.rs`, and neither waits for the other; add a depends_on");
    insta::assert_snapshot!(run(&collide("writes = [\"src/x.rs\"]\ndepends_on = [\"m\"]")), @"ok: a m b");
    insta::assert_snapshot!(run(&collide("writes = [\"src2\"]")), @"ok: a m b");
}

#[test]
fn wrong_types_and_unknown_fields_are_all_named() {
    let plan = "objectiv = 1\nmax_parallel = 0\n[[task]]\nid = \"-\"\ncommand = \"make all\"\ntimout = 3\ntimeout = \"soon\"\nwrites = [\"../x\", \"*.rs\"]\n[[task.checks]]\ncommand = []\nexpects = \"OK\"\n";
    insta::assert_snapshot!(run(plan), @r#"
    $.max_parallel [minimum] must be at least 1, is 0
    $.objectiv [unknown_field] unknown field `objectiv`; did you mean `objective`?
    $.objective [missing] `objective` is required
    $.task[0].checks[0].command [min_items] needs at least 1, has 0
    $.task[0].checks[0].expects [enum] must be one of EXIT_CODE_0, MATCH_FOUND, NO_MATCH, FILE_EXISTS; is `OK`
    $.task[0].command [type] must be a list of arguments such as ["cargo", "test"]; or set `shell = true`
    $.task[0].id [form] must be a name of letters, digits, `-`, `_` and `.`, starting with a letter or digit
    $.task[0].timeout [form] must be a duration such as `90s`, `5m` or `1h30m`, up to 7 days
    $.task[0].timout [unknown_field] unknown field `timout`; did you mean `timeout`?
    $.task[0].writes[0] [workspace_escape] leads out of the workspace
    $.task[0].writes[1] [glob_not_supported] globs are not supported; name the file or its directory
    "#);
    let plan = "objective = \"o\"\n[[task]]\nid = \"a\"\ncommand = \"make all\"\nwrites = [\"../x\", \"*.rs\"]\nprompt = \"p\"";
    insta::assert_snapshot!(run(plan), @r#"
    $.task[0].command [type] must be a list of arguments such as ["cargo", "test"]; or set `shell = true`
    $.task[0].prompt [unused] a task for `shell` takes no `prompt`
    $.task[0].writes[0] [workspace_escape] leads out of the workspace
    $.task[0].writes[1] [glob_not_supported] globs are not supported; name the file or its directory
    "#);
}

#[test]
fn a_syntax_fault_neither_hides_nor_causes_semantic_faults() {
    let faulty = |rest: &str| run(&format!("{HEAD}retires = 1\n{}{}", task("a", "writes = [\"x\"]"), rest));
    let unknown = "$.retires [unknown_field] unknown field `retires`";
    assert_eq!(faulty(""), unknown);
    // What depends on an unreadable field is not checked.
    for rest in [
        "[[task]]\ncommand = [\"true\"]\n[[task]]\nid = \"c\"\ncommand = [\"true\"]\ndepends_on = [\"b\"]\n",
        "[[task]]\nid = \"b\"\ncommand = [\"true\"]\nwrites = [\"x\"]\ndepends_on = \"a\"\n",
        "[[task]]\nid = \"b\"\ncommand = \"true\"\nshell = 1\n",
        "[[task]]\nid = \"b\"\ncommand = [\"true\"]\nexecutor = \"aop\"\nprompt = \"p\"\n",
        "[[task]]\nid = \"b\"\ncommand = [\"true\"]\nexecutor = \"aop-stdio\"\nprompt = 1\n",
    ] {
        let found = faulty(rest);
        assert_eq!(found.lines().count(), 2, "{rest}: {found}");
        assert!(found.starts_with(unknown), "{found}");
    }
    insta::assert_snapshot!(faulty(&task("b", "writes = [\"x/y\"]\ndepends_on = [\"zzz\"]")), @r"
    $.retires [unknown_field] unknown field `retires`
    $.task[1].depends_on[0] [unknown_dependency] unknown task `zzz`
    $.task[1].writes [overlapping_writes] `a` writes `x` and `b` writes `x/y`, and neither waits for the other; add a depends_on
    ");
}

#[test]
fn an_executor_is_known_by_its_name() {
    let named = |name: &str| run(&format!("{HEAD}{}", task("a", &format!("executor = \"{name}\""))));
    insta::assert_snapshot!(named("mystery"), @"$.task[0].executor [unknown_executor] must be one of shell, aop-stdio; is `mystery`");
    insta::assert_snapshot!(named("No Name"), @"$.task[0].executor [form] must be a name of lower-case letters, digits, `-`, `_` and `.`, starting with a letter or digit");
    insta::assert_snapshot!(named("aop-stdio"), @"$.task[0].prompt [missing] a task for `aop-stdio` needs a `prompt`");
    // Without a list of known executors only the form of the name is checked.
    let value = toml_value(&format!("{HEAD}{}", task("a", "executor = \"mystery\""))).unwrap();
    assert_eq!(from_value(&value, &[]).unwrap().tasks[0].executor.as_str(), "mystery");
}

/// The relation of two tasks must not be recomputed for each pair.
#[test]
fn the_largest_plans_are_checked_without_comparing_all_pairs() {
    let names: Vec<String> = (0..500).map(|i| format!("t{i}")).collect();
    let dense = names.iter().enumerate().map(|(i, id)| {
        let needs = if i == 0 { &names[1..] } else { &names[1..i] };
        serde_json::json!({"id": id, "command": ["true"], "depends_on": needs, "writes": ["."]})
    });
    let plan = serde_json::json!({"objective": "o", "task": dense.collect::<Vec<_>>()});
    assert!(from_value(&plan, &known()).is_ok());
    let wide = names.iter().map(|id| {
        let writes: Vec<String> = (0..limits::SCOPES_PER_TASK_MAX).map(|k| format!("a/{id}/{k}")).collect();
        serde_json::json!({"id": id, "command": ["true"], "writes": writes})
    });
    let plan = serde_json::json!({"objective": "o", "task": wide.collect::<Vec<_>>()});
    assert!(from_value(&plan, &known()).is_ok());
}

#[test]
fn a_literal_secret_is_refused_without_being_repeated() {
    let secret = ["hunter", "2secret!"].concat();
    let plan = format!(
        "{HEAD}{}",
        task("a", &format!("[task.env]\nDB_PASSWORD = \"{secret}\"\nTOKEN = \"env:TOKEN\""))
    );
    let found = run(&plan);
    assert!(!found.contains(&secret));
    insta::assert_snapshot!(found, @"$.task[0].env.DB_PASSWORD [secret] looks like a secret (credential_assignment); write `env:NAME` under `env` and keep the value in the environment");
}

#[test]
fn faults_of_the_text_itself_have_a_line_and_a_column() {
    insta::assert_snapshot!(run("objective = \"o\"\nmax = = 1"), @"$ [parse] line 2, column 7: extra `=`, expected nothing");
    insta::assert_snapshot!(run("{\"objective\": 1,\n \"objective\": 2}"), @"$ [parse] line 2, column 12: duplicate key `objective`");
    let findings = read_plan(b"objective = \"\xff\"").unwrap_err().sorted();
    assert_eq!(findings[0].to_string(), "$: line 1, column 14: not valid UTF-8");
    let findings = read_plan(&vec![b' '; 20 * 1024 * 1024]).unwrap_err().sorted();
    assert_eq!(findings[0].to_string(), "$: is longer than the limit of 16777216 bytes");
}

#[test]
fn a_long_chain_is_ordered_without_recursion() {
    let mut plan = HEAD.to_owned();
    for i in 0..limits::PLAN_TASKS_MAX {
        let rest = if i == 0 { String::new() } else { format!("depends_on = [\"t{}\"]", i - 1) };
        plan.push_str(&task(&format!("t{i}"), &format!("writes = [\".\"]\n{rest}")));
    }
    assert!(run(&plan).starts_with("ok: t0 t1"));
}

#[test]
fn the_kind_of_a_document_is_detected_from_its_fields() {
    let kind = |text: &str| document::read(text.as_bytes(), None).map(|document| document.kind().as_str());
    assert_eq!(kind("{\"aop_version\": \"2.0.2-C\"}"), Ok("aop_task"));
    assert_eq!(kind("{\"v\": \"1\", \"intent\": \"x\"}"), Ok("aee_task"));
    assert_eq!(kind("[[task]]\nid = \"a\""), Ok("plan"));
    assert_eq!(kind("{\"objective\": \"o\"}"), Ok("plan"));
}

proptest! {
    #[test]
    fn reading_never_panics(bytes: Vec<u8>) {
        if let Ok(PlanDocument::Value { value, .. }) = document::read(&bytes, None) {
            from_value(&value, &known()).ok();
        }
    }
}

#[test]
fn what_a_plan_says_about_sandboxes_holds_for_tasks_that_do_not_say_it() {
    let head = "objective = \"o\"\nsandbox = \"prefer\"\nnetwork = \"none\"\ngit = \"commit\"\n";
    let own = "sandbox = \"enforce\"\nnetwork = \"full\"\ngit = \"read\"";
    let value = toml_value(&format!("{head}{}{}", task("a", ""), task("b", own))).unwrap();
    let plan = from_value(&value, &known()).unwrap();
    let said: Vec<_> = plan.tasks.iter().map(|task| (task.sandbox, task.network, task.git)).collect();
    let expected = [
        (Some(SandboxMode::Prefer), NetworkUse::None, GitUse::Commit),
        (Some(SandboxMode::Enforce), NetworkUse::Full, GitUse::Read),
    ];
    assert_eq!(said, expected);
    let conflict = task("a", "sandbox = \"enforce\"\nnamespace = \"off\"");
    assert!(run(&format!("{HEAD}{conflict}")).starts_with("$.task[0].sandbox [conflict]"));
}

#[test]
fn hosts_are_named_by_the_plan_or_the_task_where_the_network_is_restricted() {
    let head = "objective = \"o\"\nnetwork = \"restricted\"\nnetwork_allow = [\"Example.org:443\"]\n";
    let text = head.to_owned()
        + &task("a", "")
        + &task("b", "network_allow = [\"*.example.net:80\"]")
        + &task("c", "network = \"none\"");
    let plan = from_value(&toml_value(&text).unwrap(), &known()).unwrap();
    let said = |index: usize| {
        let rules = plan.tasks[index].network_allow.iter();
        rules.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(said(0), ["example.org:443"]);
    assert_eq!(said(1), ["*.example.net:80"]);
    assert_eq!(said(2), Vec::<String>::new());
    for (head, more, expected) in [
        ("", "network_allow = [\"example.org:443\"]", "$.task[0].network_allow: has no effect without"),
        ("network_allow = [\"example.org:443\"]\n", "", "$.network_allow: has no effect without"),
        (
            "network = \"restricted\"\nnetwork_allow = [\"example.org:443\", \"example.org\"]\n",
            "",
            "$.network_allow[1]: `example.org`: needs a port",
        ),
        (
            "network = \"restricted\"\n",
            "network_allow = [\"https://example.org\"]",
            "$.task[0].network_allow[0]: `https://example.org`: name a host and a port only",
        ),
    ] {
        let value = toml_value(&format!("objective = \"o\"\n{head}{}", task("a", more))).unwrap();
        let refused = from_value(&value, &known()).unwrap_err();
        let shown: Vec<String> =
            refused.iter().map(|finding| format!("{}: {}", finding.path, finding.message)).collect();
        assert!(shown.len() == 1 && shown[0].starts_with(expected), "{shown:?}");
    }
}

#[test]
fn tasks_that_work_in_clones_may_write_the_same_paths() {
    let isolated = "writes = [\"src\"]\nisolation = \"worktree\"";
    let both = format!("{HEAD}{}{}", task("a", isolated), task("b", isolated));
    assert_eq!(run(&both), "ok: a b");
    let one = format!("{HEAD}{}{}", task("a", isolated), task("b", "writes = [\"src\"]"));
    insta::assert_snapshot!(run(&one), @"$.task[1].writes [overlapping_writes] `a` writes `src` and `b` writes `src`, and neither waits for the other; add a depends_on");
}

#[test]
fn a_clone_has_its_setup_and_ports_from_the_task_or_the_plan() {
    let head = format!("{HEAD}isolation = \"worktree\"\nsetup = [[\"make\"]]\nports = 3\n");
    let tasks = [task("a", ""), task("b", "ports = 0\nsetup = []"), task("c", "isolation = \"none\"")];
    let value = toml_value(&format!("{head}{}", tasks.concat())).unwrap();
    let plan = from_value(&value, &known()).unwrap();
    let spec = |setup: &[&str], ports| {
        let setup = setup.iter().map(|word| vec![(*word).to_owned()]).collect();
        Some(crate::domain::worktree::WorktreeSpec { setup, ports })
    };
    let found: Vec<_> = plan.tasks.into_iter().map(|task| task.worktree).collect();
    assert_eq!(found, [spec(&["make"], 3), spec(&[], 0), None]);
}

#[test]
fn setup_and_ports_need_a_clone_and_a_clone_needs_what_it_depends_on() {
    let isolated = "isolation = \"worktree\"\nsetup = [[\"\"]]\ndepends_on = [\"a\"]";
    let plan = format!("{HEAD}{}{}", task("a", "writes = [\"src\"]\nports = 2"), task("b", isolated));
    insta::assert_snapshot!(run(&plan), @r#"
    $.task[0].ports [no_worktree] has no effect without `isolation = "worktree"`
    $.task[1].depends_on[0] [dependency_in_workspace] `b` works in a clone, which would not have what `a` writes into the workspace; give `a` `isolation = "worktree"` too
    $.task[1].setup[0][0] [min_length] the program must not be empty
    "#);
    insta::assert_snapshot!(run(&format!("{HEAD}setup = [[\"make\"]]\n{}", task("a", ""))), @r#"$.setup [no_worktree] has no effect without `isolation = "worktree"`"#);
}
