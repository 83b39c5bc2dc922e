//! What agents are told to type, and what they are told when they typed something wrong.

use serde_json::{Value, json};
use testkit::Cli;

use crate::answers::{ann, asked, data, error, refusal, task};
use crate::documents::writ;

#[test]
fn the_commands_of_a_prompt_work_as_they_stand_there() {
    let cli = writ();
    let store = cli.scratch().join("a store.db");
    let (shell, place) = (Cli::new("sh"), cli.project());
    let words = ["--db-path", store.to_str().unwrap(), "--agent", "it's me"];
    let said = |more: &[&str]| data(&cli.run(words.iter().chain(more)));
    let line = |prompt: &str, word: &str| {
        let line =
            prompt.lines().find(|line| line.starts_with(word)).unwrap_or_else(|| panic!("{word}: {prompt}"));
        line.split_once(' ').unwrap().1.trim().to_owned()
    };
    let typed = |line: &str| {
        let output = shell.call(["-c", line]).in_dir(&place).run();
        assert_eq!(output.json()["success"], true, "{line}: {output}");
    };
    let empty = said(&["resume", "--request-id", "r1", "--project-dir", "."]);
    let prompt = empty["prompt"].as_str().unwrap();
    typed(&line(prompt, "CREATE"));
    typed(&line(prompt, "SAVE"));
    typed(&line(prompt, "RESUME"));
    let listed = said(&["task", "list", "--project-id", place.to_str().unwrap()]);
    assert_eq!(listed["count"], 1, "it was made where the agent is: {listed}");
    let full = said(&["resume", "--request-id", "r2"]);
    let prompt = full["prompt"].as_str().unwrap();
    let begin = full["brief"]["next_action"].as_str().unwrap().strip_prefix("begin the task: ").unwrap();
    assert_eq!(begin, line(prompt, "BEGIN"));
    for word in ["BEGIN", "LOG", "REJECT", "THINK", "SAVE", "STUCK", "DONE"] {
        typed(&line(prompt, word));
    }
    let done = said(&["task", "list", "--status", "completed"]);
    assert_eq!(done["count"], 1);
    let thought = said(&["events", "list", "--kind", "reasoning"]);
    assert_eq!(thought["count"], 1);
}

#[test]
fn a_workspace_has_one_name_however_it_is_written() {
    let cli = ann();
    let place = cli.project().to_str().unwrap().to_owned();
    for (number, written) in
        [".", "./", &format!("{place}/"), &format!("{place}/./sub/..")].iter().enumerate()
    {
        let resumed = data(&asked(&cli, &format!("r{number}"), &["resume", "--project-dir", written]));
        assert_eq!(resumed["focus_project_id"], place.as_str(), "{written}");
    }
    // The same wherever a project is named, so that what is written under one spelling is found under the other.
    let made =
        data(&asked(&cli, "t", &["task", "create", "--title", "t", "--project-id", &format!("{place}/")]));
    assert_eq!(made["task"]["project_id"], place.as_str());
    assert_eq!(data(&cli.run(["task", "list", "--project-id", "."]))["count"], 1);
    let of_project = ["--scope", "project", "--scope-id"];
    let set = ["memory", "set", "--key", "k", "--value", "v"].iter().chain(&of_project);
    let set: Vec<&str> = set.copied().chain(["./"]).collect();
    assert_eq!(data(&asked(&cli, "m", &set))["scope_id"], place.as_str());
    let listed =
        data(&cli.run(["memory", "list"].iter().chain(&of_project).chain(&[format!("{place}//").as_str()])));
    assert_eq!(listed["count"], 1);
    let resumed = data(&asked(&cli, "last", &["resume", "--project-dir", &format!("{place}/")]));
    assert_eq!(resumed["focus_task_id"], made["task"]["id"]);
    assert_eq!(resumed["brief"]["relevant_memory"][0]["key"], "k");
    let named = data(&asked(&cli, "id", &["resume", "--project-dir", "proj_1"]));
    assert_eq!(named["focus_project_id"], "proj_1", "an id is nobody's to change");
}

#[test]
fn a_refusal_names_the_holder_and_when_to_come_back_under_both_names() {
    let cli = ann();
    let id = task(&cli, "one");
    data(&asked(&cli, "b", &["task", "begin", "--id", &id]));
    for name in ["writ", "vybe"] {
        let words = ["task", "begin", "--id", &id, "--agent", "bob", "--request-id", "b"];
        let refused = error(&cli.call(words).named(name).run());
        assert_eq!((&refused["error_code"], &refused["retry"]), (&json!("HELD_BY_ANOTHER"), &json!("later")));
        let context = refused["error_context"].as_object().unwrap();
        let until = context["lease_until"].as_str().unwrap();
        let hint =
            format!("wait until the lease expires at {until}, or let `{name} resume` choose another task");
        assert_eq!(refused["suggested_action"], hint);
        assert!(context.values().all(Value::is_string), "{refused}");
        assert_eq!((&context["holder"], &context["task_id"]), (&json!("ann"), &json!(id)));
        assert!(context.contains_key("lease_until") && context.contains_key("lease_seconds"), "{refused}");
    }
    let seen = data(&cli.run(["resume", "--peek", "--focus", &id, "--agent", "bob"]));
    assert_eq!(seen["brief"]["task"]["id"], id.as_str());
}

#[test]
fn a_negative_number_is_refused_with_the_name_of_its_flag() {
    let cli = ann();
    for words in [
        &["events", "list", "--since-id", "-1"][..],
        &["events", "list", "--since-id=-1"],
        &["loop", "--max-tasks", "-1"],
        &["loop", "--max-fails", "-3"],
        &["loop", "--cooldown", "-1s"],
        &["loop", "--task-timeout", "-10m"],
        &["loop", "stats", "--last", "-1"],
    ] {
        for name in ["writ", "vybe"] {
            let refused = error(&cli.call(words).named(name).run());
            let flag = words.iter().rfind(|word| word.starts_with("--")).unwrap().split('=').next().unwrap();
            let said = refused["error"].as_str().unwrap();
            assert!(said.contains("invalid value") && said.contains(flag), "{words:?}: {said}");
            assert_eq!(refused["error_code"], "USAGE", "{words:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_told_in_the_order_of_the_contract() {
    let cli = ann();
    let refused = |words: &[&str]| refusal(&asked(&cli, "r", words));
    let invalid = |message: &str| ("INVALID_INPUT".to_owned(), message.to_owned());
    assert_eq!(refused(&["task", "get", "--id", ""]), invalid("--id is required"));
    assert_eq!(refused(&["task", "begin", "--id", ""]), invalid("--id is required"));
    assert_eq!(refused(&["artifacts", "list", "--task-id", ""]), invalid("--task-id is required"));
    let unknown = "task_00000000000000000000000000000000";
    let both = ["task", "set-status", "--id", unknown, "--status", "odd"];
    assert_eq!(refused(&both), invalid("invalid status 'odd'"));
    let task = ["task", "set-status", "--id", unknown, "--status", "blocked"];
    assert_eq!(refused(&task).1, format!("failed to get task: task not found: {unknown}"));
    let late = refused(&["resume", "--peek", "--as-of", "9999-12-31T23:59:59Z"]);
    assert!(late.0 == "INVALID_INPUT" && late.1.contains("9999-12-30T22:00:00Z"), "{late:?}");
    data(&cli.run(["resume", "--peek", "--as-of", "9999-12-30T22:00:00Z"]));
}

#[test]
fn a_search_takes_its_words_as_its_schema_says_and_as_people_type_them() {
    let cli = ann();
    data(&asked(&cli, "m", &["memory", "set", "--key", "style", "--value", "tabs"]));
    let flagged = data(&cli.run(["memory", "search", "--query", "tabs"]));
    assert_eq!((&flagged["count"], &flagged), (&json!(1), &data(&cli.run(["memory", "search", "tabs"]))));
    let schema = data(&cli.run(["schema", "commands"]));
    let rows = schema["commands"].as_array().unwrap();
    let args = |name: &str| rows.iter().find(|row| row["command"] == name).unwrap()["args_schema"].clone();
    assert_eq!(args("writ memory search")["required"], json!(["query"]));
    // The agent may be named by a variable, so its flag is not required.
    assert_eq!(args("writ loop").get("required"), None);
    assert_eq!(args("writ resume").get("required"), None);
    assert_eq!(args("writ task get")["required"], json!(["id"]));
    let states = args("writ task list")["properties"]["status"]["enum"].clone();
    assert_eq!(states, json!(["pending", "in_progress", "completed", "blocked", "failed", "canceled"]));
    error(&cli.run(["memory", "search"]));
}

#[test]
fn the_states_of_the_contract_are_in_its_events_and_counts_too() {
    let cli = ann();
    let id = task(&cli, "one");
    data(&asked(&cli, "d", &["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s"]));
    let moved = data(&cli.run(["events", "list", "--kind", "task_status"]))["events"][0]["metadata"].clone();
    assert_eq!((&moved["from"], &moved["to"]), (&json!("pending"), &json!("completed")));
    let counts = data(&cli.run(["status"]))["counts"]["tasks_detail"].clone();
    assert_eq!(counts, json!({"total": 1, "unknown": 0}));
    let states = data(&cli.run(["status"]))["counts"]["tasks"].clone();
    assert_eq!(states, json!({"pending": 0, "in_progress": 0, "completed": 1, "blocked": 0}));
}

#[test]
fn called_as_vybe_the_log_on_standard_error_is_lines_of_json() {
    let cli = ann();
    let other = cli.scratch().write("other.db", "not a database, but somebody's notes about something else");
    let words = ["hook", "stop", "--db-path", other.to_str().unwrap()];
    let output = cli.call(words).named("vybe").stdin("{}").run();
    assert_eq!(output.success().stdout, "");
    let line: Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!(line["level"], "ERROR");
    assert!(line["time"].is_string() && line["msg"].as_str().unwrap().starts_with("writ hook: "), "{line}");
}

#[test]
fn a_trace_says_what_is_no_longer_there() {
    let cli = writ();
    cli.scratch()
        .write("project/plan.toml", "objective = \"o\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\n");
    let run = cli.run(["run", "plan.toml", "--output", "json"]).success().json();
    let id = run["data"]["run_id"].as_str().unwrap_or_else(|| panic!("{run}")).to_owned();
    let whole = cli.run(["trace", &id, "--output", "json"]).success().json();
    assert_eq!(whole["data"].get("removed_events"), None);
    // As if all of it had happened long ago.
    let old = "UPDATE events SET at = 0";
    Cli::new("sqlite3").run([cli.db().as_os_str(), old.as_ref()]).success();
    cli.run(["memory", "set", "--key", "k", "--value", "today"]).success();
    let gone = cli.run(["gc", "--output", "json"]).success().json()["data"]["done"]["pruned"].clone();
    assert!(gone.as_i64().unwrap() > 0, "{gone}");
    let rest = cli.run(["trace", &id, "--output", "json"]).success().json();
    assert_eq!(rest["data"]["removed_events"], gone, "{rest}");
    let text = cli.run(["trace", &id, "--output", "text"]);
    assert!(text.success().stdout.contains(&format!("{gone} older events were removed")), "{text}");
}
