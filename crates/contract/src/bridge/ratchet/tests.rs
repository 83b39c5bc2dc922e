use super::*;
use proptest::prelude::*;

fn states(text: &str) -> String {
    let (chain, warnings) = parse(text.as_bytes()).unwrap();
    let entries: Vec<String> =
        chain.entries.iter().map(|entry| format!("{} {:?}", entry.step, entry.state)).collect();
    let rules: Vec<&str> = warnings.iter().map(|warning| warning.rule).collect();
    format!("{:?} [{}] [{}]", chain.id, entries.join(", "), rules.join(", "))
}

#[test]
fn all_three_forms_of_a_chain_are_read() {
    let canonical = "{\"id\":\"chain-1\",\"started\":\"2026-03-01T00:00:00Z\"}\n\n\
        {\"step\":\"research\",\"timestamp\":\"t\",\"output\":\"a.md\",\"locked\":true}\n\
        {\"step\":\"formulate\",\"timestamp\":\"t\",\"output\":\"\",\"locked\":false}\n\
        {\"step\":\"vibe\",\"timestamp\":\"t\",\"output\":\"\",\"locked\":false,\"skipped\":true,\"reason\":\"r\"}\n";
    assert_eq!(states(canonical), r#"Some("chain-1") [research Locked, plan InProgress, vibe Skipped] []"#);
    let skill = "{\"step\":\"research\",\"status\":\"completed\",\"time\":\"t\"}\n{\"step\":\"crank\",\"status\":\"blocked\"}\n";
    assert_eq!(states(skill), "None [research Locked, crank InProgress] []");
    assert_eq!(states("{\"gate\":\"plan\",\"status\":\"locked\"}\n"), "None [plan Locked] []");
    assert_eq!(states("{\"id\":\"only\",\"started\":\"t\"}"), r#"Some("only") [] []"#);
}

#[test]
fn lines_that_are_not_entries_are_left_out_and_reported() {
    let text = "{\"id\":\"c\",\"started\":\"t\"}\n{broken\n{\"a\":1}\n{\"step\":\"dance\",\"locked\":true}\n";
    assert_eq!(states(text), r#"Some("c") [dance Locked] [skipped_line, skipped_line, unknown_step]"#);
    assert!(validate(text.as_bytes(), false).allow);
    assert_eq!(validate(text.as_bytes(), true).details.path.as_deref(), Some("$[1]"));
    assert_eq!(validate(b"{broken\n", false).details.rule.as_deref(), Some("json"));
    assert_eq!(validate(b"", false).details.rule.as_deref(), Some("empty_input"));
}

#[test]
fn the_latest_entry_of_a_step_counts() {
    let text = "{\"id\":\"c\",\"started\":\"t\"}\n{\"step\":\"research\",\"locked\":true}\n{\"step\":\"pre_mortem\",\"skipped\":true}\n\
        {\"step\":\"plan\",\"locked\":true}\n{\"step\":\"plan\",\"locked\":false}\n";
    let (chain, _) = parse(text.as_bytes()).unwrap();
    assert_eq!((chain.state("plan"), chain.state("vibe")), (Some(RatchetState::InProgress), None));
    assert_eq!(chain.next_step(), Some("plan"));
}

#[test]
fn words_for_steps_are_understood() {
    let words = [
        "research",
        " PLAN ",
        "premortem",
        "post_mortem",
        "review",
        "autopilot",
        "validation",
        "nonsense",
        "",
    ];
    let steps = words.map(|word| step(word).unwrap_or("none"));
    assert_eq!(
        steps,
        ["research", "plan", "pre-mortem", "post-mortem", "post-mortem", "crank", "vibe", "none", "none"]
    );
}

#[test]
fn an_entry_is_read_back_as_it_was_written() {
    let entry = RatchetEntry {
        step: "vibe".to_owned(),
        state: RatchetState::Skipped,
        at: Some("2026-03-01T00:00:00Z".to_owned()),
        output: Some("v.md".to_owned()),
        reason: Some("small change".to_owned()),
    };
    let (chain, _) = parse(entry_line(&entry).as_bytes()).unwrap();
    assert_eq!(chain.entries, [entry]);
}

proptest! {
    #[test]
    fn reading_never_panics(bytes: Vec<u8>, text in "(\\{\"step\":|\"plan\"|\\}|\n|\\{\\}| ){0,12}", strict: bool) {
        validate(&bytes, strict);
        validate(text.as_bytes(), strict);
    }
}
