//! The agent contract's own five points of verification, under both names of the program.

use serde_json::{Value, json};
use testkit::{Cli, Output};

/// The program under one of its names, for one agent.
struct Program {
    cli: Cli,
    name: &'static str,
    agent: &'static str,
}

impl Program {
    fn both() -> [Program; 2] {
        ["writ", "vybe"].map(|name| Program {
            cli: Cli::new(env!("CARGO_BIN_EXE_writ")),
            name,
            agent: "claude-a1",
        })
    }

    #[track_caller]
    fn say(&self, words: &[&str]) -> Output {
        let output = self.cli.call(words.iter().chain(&["--agent", self.agent])).named(self.name).run();
        assert_eq!(output.stdout.lines().count(), 1, "one envelope: {output}");
        output
    }

    #[track_caller]
    fn data(&self, words: &[&str]) -> Value {
        let output = self.say(words);
        let envelope = output.json();
        assert_eq!(envelope["schema_version"], "v1", "{output}");
        assert_eq!(envelope["success"], true, "{output}");
        envelope["data"].clone()
    }

    /// A task that was begun and noted upon.
    fn with_work_begun() -> [(Program, String); 2] {
        Self::both().map(|program| {
            let made = program.data(&[
                "task", "create", "--request-id", "c1", "--title", "Write the parser", "--project-id", "/usr/lib",
            ]);
            let id = made["task"]["id"].as_str().unwrap().to_owned();
            program.data(&["task", "begin", "--request-id", "b1", "--id", &id]);
            let note = json!({
                "task_id": id,
                "event": {"kind": "progress", "message": "tokens are done", "metadata": {"next_action": "parse strings"}},
                "artifacts": [{"file_path": "src/parser.rs"}],
            });
            program.data(&["push", "--request-id", "p1", "--json", &note.to_string()]);
            (program, id)
        })
    }
}

#[test]
fn one_a_new_session_can_say_what_was_being_worked_on() {
    for (program, id) in Program::with_work_begun() {
        let resumed = program.data(&["resume", "--request-id", "r1", "--project-dir", "/usr/lib"]);
        assert_eq!(resumed["focus_task_id"], id.as_str());
        let prompt = resumed["prompt"].as_str().unwrap();
        for part in ["Write the parser", "tokens are done", "NEXT parse strings", "src/parser.rs", &id] {
            assert!(prompt.contains(part), "{part} is not in {prompt}");
        }
        let command = format!("{} task complete", program.name);
        assert!(prompt.contains(&command), "the commands are this program's: {prompt}");
        assert_eq!(resumed["brief"]["task"]["title"], "Write the parser");
        // After the session has ended, another one of the project takes the work over.
        let heir = Program { agent: "claude-b2", ..program };
        let waiting = heir.data(&["resume", "--request-id", "r1", "--project-dir", "/usr/lib"]);
        assert_eq!(waiting["focus_task_id"], "", "it is still held");
    }
}

#[test]
fn two_a_repeated_write_has_no_second_effect() {
    for (program, id) in Program::with_work_begun() {
        let writes: [&[&str]; 6] = [
            &["task", "create", "--request-id", "w1", "--title", "once"],
            &["memory", "set", "--request-id", "w2", "--key", "k", "--value", "v"],
            &["push", "--request-id", "w3", "--json", r#"{"event":{"kind":"note","message":"once"}}"#],
            &["resume", "--request-id", "w4", "--project-dir", "/usr/lib"],
            &["task", "set-priority", "--request-id", "w5", "--id", &id, "--priority", "3"],
            &["task", "complete", "--request-id", "w6", "--id", &id, "--outcome", "done", "--summary", "s"],
        ];
        for write in writes {
            let first = program.say(write).stdout;
            let events = || program.data(&["events", "list", "--all", "--limit", "1000"])["count"].clone();
            let before = events();
            assert_eq!(program.say(write).stdout, first, "{write:?}");
            assert_eq!(events(), before, "{write:?}");
        }
    }
}

#[test]
fn three_updates_of_tasks_are_listed() {
    for (program, id) in Program::with_work_begun() {
        let listed =
            |status: &str| program.data(&["task", "list", "--project-id", "/usr/lib", "--status", status]);
        assert_eq!(listed("in_progress")["tasks"][0]["id"], id.as_str());
        program.data(&[
            "task",
            "complete",
            "--request-id",
            "d1",
            "--id",
            &id,
            "--outcome",
            "done",
            "--summary",
            "s",
        ]);
        assert_eq!(listed("in_progress"), json!({"count": 0, "tasks": null}));
        assert_eq!(listed("completed")["tasks"][0]["id"], id.as_str());
    }
}

#[test]
fn four_memory_of_one_session_is_in_the_context_of_the_next() {
    for program in Program::both() {
        program.data(&[
            "memory",
            "set",
            "--request-id",
            "m1",
            "--key",
            "style",
            "--value",
            "tabs, never spaces",
        ]);
        let scoped = ["--scope", "project", "--scope-id", "/usr/lib"];
        let set = ["memory", "set", "--request-id", "m2", "--key", "build", "--value", "just build"];
        program.data(&[&set[..], &scoped[..]].concat());
        let next = Program { agent: "claude-b2", ..program };
        for (request, place) in [("r1", vec![]), ("r2", vec!["--project-dir", "/usr/lib"])] {
            let words = [vec!["resume", "--request-id", request], place.clone()].concat();
            let prompt = next.data(&words)["prompt"].as_str().unwrap().to_owned();
            assert!(prompt.contains("style = tabs, never spaces"), "{prompt}");
            assert_eq!(prompt.contains("build = just build"), !place.is_empty(), "{prompt}");
        }
    }
}

#[test]
fn five_a_caller_that_only_knows_the_schema_can_do_everything() {
    for program in Program::both() {
        let schema = program.data(&["schema", "commands"]);
        let rows = schema["commands"].as_array().unwrap();
        let row = |command: &str| {
            let full = format!("{} {command}", program.name);
            rows.iter().find(|row| row["command"] == full.as_str()).unwrap_or_else(|| panic!("no {full}"))
        };
        // Calls made of nothing but what the schema says is required.
        let mut made = Vec::new();
        for (command, values) in [
            ("task create", vec![("title", "made by schema")]),
            ("memory set", vec![("key", "k"), ("value", "v")]),
            ("resume", vec![]),
            ("task list", vec![]),
        ] {
            let described = row(command);
            let required: Vec<&str> = described["args_schema"]["required"]
                .as_array()
                // Who calls is said with every call.
                .map(|names| names.iter().filter_map(Value::as_str).filter(|name| *name != "agent").collect())
                .unwrap_or_default();
            let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            for name in required {
                let value = values.iter().find(|(known, _)| *known == name).expect("a value for it").1;
                words.extend([format!("--{name}"), value.to_owned()]);
            }
            if described["requires_request_id"] == true {
                words.extend(["--request-id".to_owned(), format!("s{}", made.len())]);
            }
            made.push(program.data(&words.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        assert_eq!(made[3]["tasks"][0]["title"], "made by schema");
    }
}
