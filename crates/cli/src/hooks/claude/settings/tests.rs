use super::*;

fn program() -> HookProgram {
    HookProgram { path: "/opt/my tools/writ".to_owned(), db_path: None }
}

#[track_caller]
fn installed(before: Option<&str>, record: Option<&ClaudeUndo>) -> (String, ClaudeUndo) {
    install("s.json", before, record, &program(), Scope::User)
        .unwrap()
        .change
        .expect("there was something to do")
}

/// Settings as people and programs write them.
const STYLES: &[&str] = &[
    "{}",
    "{ }\n",
    "",
    " \n",
    "{\"a\":1}",
    "{\"a\": 1, \"hooks\": {}}",
    "{\"hooks\":{\"Stop\":[],\"PreToolUse\":[]}}",
    "{\n    \"a\": [1,\n  2],\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n        ]\n    },\n    \"z\": 1.50\n}\n",
    "{\r\n\t\"hooks\": {\r\n\t\t\"Stop\": []\r\n\t}\r\n}",
    "{\n  \"hooks\": {\"Stop\": [ {\"hooks\":[{\"command\":\"x\"}]} ]}, \"ü\": \"\\u00fc ü\"}",
    "// head\n{}\n// tail\n",
    "{\n  \"a\": 1, // one\n}\n",
    "{\n  /* before */ \"a\": 1 // one\n  // last\n}\n",
    "{ \"a\": [1, 2,], }",
    COMMENTED,
];

/// Comments and trailing commas at every level.
const COMMENTED: &str = r#"// Settings of a careful person.
{
    /* The model
       we agreed on. */
    "model": "m", // not the large one
    "hooks": {
        // Tell me when it is done.
        "Stop": [
            {
                "matcher": "", // all
                "hooks": [
                    {"type": "command", "command": "say done"}, // loud
                ],
            },
            // More to come.
        ],
        "PreToolUse": [], // none yet
    },
    "permissions": {"allow": ["Bash(ls:*)",],},
    // The end.
}
"#;

fn parsed(text: &str) -> Value {
    jsonc::value(&jsonc::JsoncFile::parse(text).unwrap().object.into())
}

/// The comments of a text in their order, as a reader finds them.
fn comments(text: &str) -> Vec<String> {
    fn collect(node: &CstNode, found: &mut Vec<String>) {
        if node.is_comment() {
            found.push(node.to_string());
        }
        node.children().iter().for_each(|child| collect(child, found));
    }
    let root = jsonc_parser::cst::CstRootNode::parse(text, &jsonc_parser::ParseOptions::default()).unwrap();
    let mut found = Vec::new();
    root.children().iter().for_each(|child| collect(child, &mut found));
    found
}

#[test]
fn an_installation_is_taken_back_byte_for_byte_in_every_style() {
    for style in STYLES.iter().copied() {
        let (text, record) = installed(Some(style), None);
        let settings =
            ClaudeSettings::read(&text).unwrap_or_else(|error| panic!("{style:?}: {error}\n{text}"));
        for event in EVENTS {
            assert_eq!(
                settings.entries(event.name, &program(), Owner::Ours),
                [entry(event, &program(), Scope::User)],
                "{text}"
            );
        }
        assert_eq!(comments(&text), comments(style), "{text}");
        let back = uninstall(&text, Some(&record), &program()).unwrap();
        assert_eq!((back.text.as_deref(), back.restored), (Some(style), true));
        assert_eq!(back.removed.len(), EVENTS.len());
        // Once more changes nothing.
        let again = install("s.json", Some(&text), Some(&record), &program(), Scope::User).unwrap();
        assert_eq!((again.change, again.skipped.len()), (None, EVENTS.len()));
    }
}

#[test]
fn without_a_record_or_after_a_change_only_our_entries_go() {
    for &style in STYLES.iter().filter(|style| !is_blank(style)) {
        let (text, record) = installed(Some(style), None);
        let mut value = parsed(style);
        let stripped = uninstall(&text, None, &program()).unwrap();
        assert!(!stripped.restored);
        let mut left = parsed(stripped.text.as_deref().unwrap());
        assert_eq!(comments(stripped.text.as_deref().unwrap()), comments(style), "{text}");
        // Lists that were empty before cannot be told from ours without the record.
        for side in [&mut value, &mut left] {
            let hooks = side.as_object_mut().unwrap().entry("hooks").or_insert_with(|| json!({}));
            hooks.as_object_mut().unwrap().retain(|_, list| list != &json!([]));
        }
        assert_eq!(left, value);
        // With the record they stay, and so does what somebody added meanwhile.
        let document = jsonc::JsoncFile::parse(&text).unwrap();
        document.object.append("added", jsonc::input(&json!("later")));
        let back = uninstall(&document.text(), Some(&record), &program()).unwrap();
        let mut expected = parsed(style);
        expected["added"] = json!("later");
        assert_eq!(parsed(back.text.as_deref().unwrap()), expected);
        assert_eq!(comments(back.text.as_deref().unwrap()), comments(style), "{text}");
    }
}

#[test]
fn a_file_we_made_goes_away_unless_something_else_is_in_it() {
    let (text, record) = installed(None, None);
    assert_eq!(uninstall(&text, Some(&record), &program()).unwrap().text, None);
    // Written anew by the agent in another style, but with nothing of its own.
    let compact = serde_json::from_str::<Value>(&text).unwrap().to_string();
    assert_eq!(uninstall(&compact, Some(&record), &program()).unwrap().text, None);
    let mut more: Value = serde_json::from_str(&text).unwrap();
    more["model"] = json!("m");
    let left = uninstall(&more.to_string(), Some(&record), &program()).unwrap();
    assert_eq!((left.text.as_deref(), left.restored), (Some(r#"{"model":"m"}"#), false));
}

#[test]
fn what_others_have_in_our_entries_and_events_stays() {
    let (text, _) = installed(Some("{}"), None);
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let other = json!({"type": "command", "command": "notify done"});
    value["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().push(other.clone());
    value["hooks"]["PreToolUse"] = json!([{"matcher": "Bash", "hooks": [other]}]);
    let left = uninstall(&value.to_string(), None, &program()).unwrap();
    let left: Value = serde_json::from_str(left.text.as_deref().unwrap()).unwrap();
    let stop = json!({"matcher": "", "hooks": [other]});
    assert_eq!(
        left,
        json!({"hooks": {"Stop": [stop], "PreToolUse": [{"matcher": "Bash", "hooks": [other]}]}})
    );
}

#[test]
fn entries_of_another_place_or_store_are_updated_and_back_still_leads_to_the_beginning() {
    let (old, record) = installed(Some("{\"a\":1}"), None);
    let moved = HookProgram { path: "/usr/bin/vybe".to_owned(), db_path: Some("/data/x y.db".to_owned()) };
    let found = install("s.json", Some(&old), Some(&record), &moved, Scope::User).unwrap();
    assert_eq!((found.updated.len(), found.installed.len()), (EVENTS.len(), 0));
    let (text, record) = found.change.unwrap();
    assert!(text.contains("/usr/bin/vybe hook stop --db-path '/data/x y.db'"), "{text}");
    assert!(!text.contains("my tools"));
    let back = uninstall(&text, Some(&record), &moved).unwrap();
    assert_eq!(back.text.as_deref(), Some("{\"a\":1}"));
}

#[test]
fn our_commands_are_known_by_program_and_word() {
    let program = program();
    for line in [
        "writ hook stop",
        "'/a b/writ' hook prompt",
        "'/opt/my tools/writ' hook session-start",
        "/x/writ hook stop -a b",
        "writ hook stop --from codex",
    ] {
        assert_eq!(program.owner(line), Some(Owner::Ours), "{line}");
    }
    for line in ["vybe hook stop", "\"/x/vybe\" hook session-start", "/go/bin/vybe hook retrospective-bg"] {
        assert_eq!(program.owner(line), Some(Owner::Original), "{line}");
    }
    for line in
        ["writ", "writ task list", "/writ/other hook stop", "echo writ hook stop", "writ'", "writhook stop"]
    {
        assert_eq!(program.owner(line), None, "{line}");
    }
    let called_vybe = HookProgram { path: "/usr/bin/vybe".to_owned(), db_path: None };
    assert_eq!(called_vybe.owner("/usr/bin/vybe hook stop"), Some(Owner::Ours));
    assert_eq!(called_vybe.owner("/go/bin/vybe hook stop"), Some(Owner::Original));
}

/// Settings as the original's installation leaves them, with an entry of the user.
const ORIGINAL: &str = r#"{
  "hooks": {
    "SessionEnd": [
      {
        "hooks": [
          {
            "command": "\"/go/bin/vybe\" hook session-end",
            "timeout": 5000,
            "type": "command"
          }
        ],
        "matcher": ""
      },
      {"hooks": [{"command": "vybe hook retrospective", "type": "command"}], "matcher": ""}
    ],
    "Stop": [
      {"hooks": [{"command": "say done", "type": "command"}]},
      {
        "hooks": [
          {"command": "\"/go/bin/vybe\" hook stop", "timeout": 1000, "type": "command"},
          {"command": "say more", "type": "command"}
        ],
        "matcher": ""
      }
    ]
  },
  "model": "m"
}
"#;

fn originals_in(text: &str) -> usize {
    originals::found(text, &program()).len()
}

#[test]
fn hooks_of_the_original_are_replaced_and_come_back_byte_for_byte() {
    assert_eq!(originals_in(ORIGINAL), 3);
    let found = install("s.json", Some(ORIGINAL), None, &program(), Scope::User).unwrap();
    assert_eq!(found.updated, ["SessionEnd", "Stop"]);
    let (text, record) = found.change.unwrap();
    assert_eq!(originals_in(&text), 0, "{text}");
    assert!(text.contains("say done") && text.contains("say more"), "{text}");
    let back = uninstall(&text, Some(&record), &program()).unwrap();
    assert_eq!((back.text.as_deref(), back.restored), (Some(ORIGINAL), true));
    // An update in between does not lose the way back.
    let moved = HookProgram { path: "/usr/bin/writ".to_owned(), db_path: None };
    let (text, record) =
        install("s.json", Some(&text), Some(&record), &moved, Scope::User).unwrap().change.unwrap();
    assert_eq!(uninstall(&text, Some(&record), &moved).unwrap().text.as_deref(), Some(ORIGINAL));
    // Changed since: ours go, theirs come back, and what somebody added stays.
    let changed = text.replace("\"m\"", "\"n\"");
    let back = uninstall(&changed, Some(&record), &moved).unwrap();
    let mut expected = parsed(ORIGINAL);
    expected["model"] = json!("n");
    let hook = expected["hooks"]["Stop"][1]["hooks"].as_array_mut().unwrap().remove(0);
    let given_back = json!({"hooks": [hook], "matcher": ""});
    expected["hooks"]["Stop"].as_array_mut().unwrap().push(given_back);
    assert_eq!((parsed(back.text.as_deref().unwrap()), back.restored), (expected, false));
}

#[test]
fn without_an_installation_of_ours_the_original_keeps_its_hooks() {
    let left = uninstall(ORIGINAL, None, &program()).unwrap();
    assert_eq!((left.text.as_deref(), left.removed.len()), (Some(ORIGINAL), 0));
}

#[test]
fn a_program_that_took_over_the_originals_path_still_gives_its_hooks_back() {
    let ours = HookProgram { path: "/go/bin/vybe".to_owned(), db_path: None };
    let (text, record) = install("s.json", Some(ORIGINAL), None, &ours, Scope::User).unwrap().change.unwrap();
    assert!(!text.contains("1000"), "{text}");
    assert_eq!(uninstall(&text, Some(&record), &ours).unwrap().text.as_deref(), Some(ORIGINAL));
}

#[test]
fn settings_of_a_project_call_the_program_by_its_name() {
    let found = install("s.json", None, None, &program(), Scope::Project).unwrap();
    let (text, _) = found.change.unwrap();
    assert!(text.contains("\"writ hook stop\"") && !text.contains("my tools"), "{text}");
    assert_eq!(programs_in(&text, &program()), ["writ"]);
    let again = install("s.json", Some(&text), None, &program(), Scope::Project).unwrap();
    assert_eq!(again.change, None);
    // Entries with a path from an earlier installation are updated.
    let (old, _) = installed(None, None);
    let found = install("s.json", Some(&old), None, &program(), Scope::Project).unwrap();
    assert_eq!(found.updated.len(), EVENTS.len());
}

#[test]
fn an_update_keeps_comments_and_trailing_commas() {
    let (text, record) = installed(Some(COMMENTED), None);
    let moved = HookProgram { path: "/usr/bin/writ".to_owned(), db_path: None };
    let (text, record) =
        install("s.json", Some(&text), Some(&record), &moved, Scope::User).unwrap().change.unwrap();
    assert!(!text.contains("my tools"), "{text}");
    assert_eq!(comments(&text), comments(COMMENTED));
    assert!(text.contains("\"allow\": [\"Bash(ls:*)\",],"), "{text}");
    let back = uninstall(&text, Some(&record), &moved).unwrap();
    assert_eq!((back.text.as_deref(), back.restored), (Some(COMMENTED), true));
    // Also where the record of the first installation is lost.
    let (first, _) = installed(Some(COMMENTED), None);
    let (text, record) = install("s.json", Some(&first), None, &moved, Scope::User).unwrap().change.unwrap();
    assert!(!text.contains("my tools"), "{text}");
    assert_eq!(comments(&text), comments(COMMENTED));
    let back = uninstall(&text, Some(&record), &moved).unwrap();
    assert_eq!(comments(back.text.as_deref().unwrap()), comments(COMMENTED));
}

#[test]
fn a_comment_inside_a_list_of_ours_keeps_the_list() {
    let (text, _) = installed(Some("{}"), None);
    let commented = text.replacen("\"Stop\": [", "\"Stop\": [\n // mine\n", 1);
    assert_ne!(text, commented);
    let left = uninstall(&commented, None, &program()).unwrap();
    assert_eq!(parsed(left.text.as_deref().unwrap()), json!({"hooks": {"Stop": []}}));
    assert_eq!(comments(left.text.as_deref().unwrap()), ["// mine"]);
}

#[test]
fn the_record_holds_no_text_of_the_user() {
    for &style in STYLES {
        let (_, record) = installed(Some(style), None);
        let kept: String = record.back.iter().map(|edit| edit.inserted.as_str()).collect();
        assert!(kept.trim().is_empty(), "{style:?}: {kept:?}");
        let removed: String = record.back.iter().map(|edit| edit.removed.as_str()).collect();
        for word in ["say", "loud", "model", "agreed", "one", "allow"] {
            assert!(!removed.contains(word), "{style:?}: {removed}");
        }
    }
}

/// As the release before this one stored it: single insertions in the style of the text.
#[test]
fn a_record_of_an_earlier_release_still_leads_back() {
    let before = "{\"a\":1}";
    let hook =
        |event: &ClaudeEvent| format!("\"{}\":[{}]", event.name, entry(event, &program(), Scope::User));
    let hooks: Vec<String> = EVENTS.iter().map(hook).collect();
    let added = format!(",\"hooks\":{{{}}}", hooks.join(","));
    let text = format!("{{\"a\":1{added}}}");
    let record: ClaudeUndo = serde_json::from_value(json!({
        "path": "s.json",
        "installed": digest::of_bytes(text.as_bytes()),
        "original": digest::of_bytes(before.as_bytes()),
        "back": [{"at": 6, "removed": added, "inserted": ""}],
        "had": [],
        "directories": [],
    }))
    .unwrap();
    let back = uninstall(&text, Some(&record), &program()).unwrap();
    assert_eq!((back.text.as_deref(), back.restored), (Some(before), true));
}

#[test]
fn settings_that_we_could_only_guess_about_are_refused() {
    for text in
        ["{", "[]", "null", "{\"hooks\":[]}", "{\"hooks\":{\"Stop\":{}}}", "{\"a\":1,\"a\":2}", "// x\n"]
    {
        assert!(install("s.json", Some(text), None, &program(), Scope::User).is_err(), "{text}");
        assert!(uninstall(text, None, &program()).is_err(), "{text}");
    }
}

#[test]
fn damaged_settings_are_refused_or_come_back_byte_for_byte() {
    let styles = STYLES.iter().copied().filter(|style| !is_blank(style));
    for (style, at) in
        styles.flat_map(|style| style.char_indices().step_by(41).map(move |(at, _)| (style, at)))
    {
        let rest = &style[at..];
        let width = rest.chars().next().map_or(0, char::len_utf8);
        for put in ["", "\"", ",", "//"] {
            let damaged = format!("{}{put}{}", &style[..at], &rest[width..]);
            let Ok(found) = install("s.json", Some(&damaged), None, &program(), Scope::User) else {
                continue;
            };
            let (text, record) = found.change.unwrap();
            let back = uninstall(&text, Some(&record), &program()).unwrap();
            assert_eq!((back.text.as_deref(), back.restored), (Some(damaged.as_str()), true));
        }
    }
}
