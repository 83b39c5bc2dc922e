//! What a person at a terminal gets, and what a program gets.

use testkit::{Cli, Output};

/// Runs a command line of the shell on a terminal of 20 rows and 80 columns; `writ` is the program.
fn on_terminal(cli: &Cli, line: &str, env: &[(&str, &str)]) -> Output {
    let line = format!("stty rows 20 cols 80; writ() {{ {} \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_writ"));
    let mut call = cli.call(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    for (name, value) in env {
        call = call.env(*name, *value);
    }
    let mut output = call.run();
    output.stdout = output.stdout.replace("\r\n", "\n");
    output
}

fn terminal() -> Cli {
    Cli::new("script").env("USER", "ann")
}

fn writ_on(cli: &Cli) -> Cli {
    Cli::new(env!("CARGO_BIN_EXE_writ")).env("WRIT_DB", cli.db()).env("USER", "ann")
}

#[test]
fn a_person_at_a_terminal_gets_text_and_needs_no_ceremony() {
    let cli = terminal();
    let created = on_terminal(&cli, "writ task create --title 'Write the parser'", &[]);
    assert!(created.success().stdout.contains("created task_"), "{created}");
    assert!(created.stdout.contains("request req_"), "{created}");
    // An agent's name makes no difference on a terminal.
    for env in [&[][..], &[("WRIT_AGENT", "bob")]] {
        let listed = on_terminal(&cli, "writ task list", env);
        assert!(listed.success().stdout.contains("pending"), "{listed}");
        assert!(!listed.stdout.contains("todo") && !listed.stdout.contains('{'), "{listed}");
        let made = on_terminal(&cli, "writ task create --title x", env);
        assert!(made.success().stdout.contains("created task_"), "{made}");
    }
    let ready = on_terminal(&cli, "writ ready", &[]);
    assert!(ready.success().stdout.contains("Write the parser") && !ready.stdout.contains('{'), "{ready}");
    let json = on_terminal(&cli, "writ task list --output json", &[]);
    assert!(json.success().stdout.starts_with("{\"schema_version\""), "{json}");
    let json = on_terminal(&cli, "writ task list", &[("WRIT_OUTPUT", "json")]);
    assert!(json.success().stdout.starts_with("{\"schema_version\""), "{json}");
    let text = on_terminal(&cli, "writ task list --output text", &[("WRIT_OUTPUT", "json")]);
    assert!(text.success().stdout.contains("pending"), "{text}");
    let events = writ_on(&cli).run(["events", "list", "--all", "--output", "json"]).json();
    assert!(events["data"]["events"].as_array().unwrap().iter().any(|event| event["agent_name"] == "ann"));
}

#[test]
fn a_program_gets_json_from_the_agent_contract_and_the_crew_and_text_from_the_rest() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    for json in [&["task", "list"][..], &["ready"], &["lock", "list"], &["approval", "list"], &["status"]] {
        let output = cli.run(json);
        assert!(output.success().stdout.starts_with('{'), "{output}");
        let text = cli.call(json).env("WRIT_OUTPUT", "text").run();
        assert!(!text.success().stdout.starts_with('{'), "{text}");
        let flag = cli.call(json.iter().chain(&["--output", "json"])).env("WRIT_OUTPUT", "text").run();
        assert!(flag.success().stdout.starts_with('{'), "{flag}");
    }
    for text in [&["runs", "list"][..], &["doctor"], &["config", "show"]] {
        assert!(!cli.run(text).stdout.starts_with('{'), "{text:?}");
        let output = cli.call(text).env("WRIT_OUTPUT", "json").run();
        assert!(output.stdout.starts_with('{'), "{output}");
    }
    let wrong = cli.call(["runs", "list"]).env("WRIT_OUTPUT", "yaml").run();
    wrong.fails_with(2);
    assert!(wrong.stderr.contains("WRIT_OUTPUT") && wrong.stderr.contains("text, json or ndjson"), "{wrong}");
    // Under its own name the agent contract prints JSON, whatever is asked for.
    let vybe = cli.call(["task", "list"]).named("vybe").env("WRIT_OUTPUT", "text").run();
    assert!(vybe.success().stdout.starts_with('{'), "{vybe}");
}

#[test]
fn a_program_that_says_who_it_is_gives_request_ids() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let create = ["task", "create", "--title", "x"];
    let anonymous = cli.run(create);
    assert!(anonymous.success().stderr.contains("request req_"), "{anonymous}");
    let named = cli.call(create).env("WRIT_AGENT", "bob").run();
    named.fails_with(1);
    assert!(named.stdout.contains("--request-id or WRIT_REQUEST_ID is required"), "{named}");
    let by_flag = cli.run(["task", "create", "--title", "x", "--agent", "bob"]);
    by_flag.fails_with(1);
    let vybe = cli.call(create).named("vybe").run();
    vybe.fails_with(1);
    assert!(vybe.stdout.contains("agent is required"), "{vybe}");
    // The id that was shown repeats the call.
    let id = anonymous.stderr.lines().find_map(|line| line.strip_prefix("request ")).unwrap().to_owned();
    let again = cli.run(["task", "create", "--title", "x", "--request-id", &id]);
    assert_eq!(again.success().stdout, anonymous.stdout);
}

#[test]
fn the_help_of_each_command_says_what_it_prints() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let json = "Output: text on a terminal, JSON elsewhere";
    for (line, expected) in [
        (&["task", "create", "--help"][..], json),
        (&["ready", "-h"], json),
        (&["lock", "list", "--help"], json),
        (&["validate", "--help"], json),
        (&["runs", "show", "--help"], "Output: text;"),
        (&["run", "--help"], "Output: text;"),
    ] {
        let help = cli.run(line);
        assert!(help.success().stdout.contains(expected), "{help}");
        assert!(help.stdout.contains("Global options:"), "{help}");
    }
    assert!(!cli.run(["task", "--help"]).stdout.contains("Output:"));
    assert!(!cli.run(["--version"]).stdout.contains("Output:"));
}

#[test]
fn task_get_says_what_a_task_waits_for() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let make = |title: &str| {
        let made = cli.run(["task", "create", "--title", title]).json();
        made["data"]["task"]["id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (make("First"), make("Second"));
    cli.run(["task", "add-dep", "--id", &second, "--depends-on", &first]).success();
    let shown = cli.run(["task", "get", "--id", &second, "--output", "text"]);
    assert!(shown.success().stdout.contains(&format!("waits for {first}  pending")), "{shown}");
    assert!(!shown.stdout.contains("because"), "{shown}");
}

/// A store with more events than a screen has rows.
fn with_many_tasks(cli: &Cli) {
    let writ = writ_on(cli);
    for number in 0..30 {
        writ.run(["task", "create", "--title", &format!("Task number {number}")]).success();
    }
}

#[test]
fn long_text_on_a_terminal_goes_through_the_pager() {
    let cli = terminal();
    with_many_tasks(&cli);
    let pager = "sed s/^/paged:/";
    let paged = |line: &str, env: &[(&str, &str)]| {
        let output = on_terminal(&cli, line, env);
        output.success();
        assert!(output.stdout.contains("Task number 3"), "{output}");
        output.stdout.contains("paged:")
    };
    let all = "writ task list --limit 100";
    assert!(paged(all, &[("PAGER", pager)]));
    assert!(paged(all, &[("WRIT_PAGER", pager), ("PAGER", "false")]));
    assert!(!paged(&format!("{all} --no-pager"), &[("PAGER", pager)]));
    assert!(!paged(all, &[("WRIT_PAGER", ""), ("PAGER", pager)]));
    assert!(!paged(all, &[("WRIT_PAGER", "cat"), ("PAGER", pager)]));
    assert!(!paged(&format!("{all} --output json"), &[("PAGER", pager)]));
    // Short text is printed at once.
    assert!(!paged("writ memory list; echo Task number 3", &[("PAGER", pager)]));
    // A pager that is not there is no reason to print nothing.
    assert!(!paged(all, &[("PAGER", "/nowhere/pager")]));
    // A pager that quits early has shown enough.
    let early = on_terminal(&cli, &format!("{all}; echo exit=$?"), &[("PAGER", "head -n 1")]);
    assert!(early.success().stdout.ends_with("exit=0\n"), "{early}");
    let piped = writ_on(&cli).call(["task", "list", "--output", "text"]).env("PAGER", pager).run();
    assert!(!piped.success().stdout.contains("paged:"), "{piped}");
}
