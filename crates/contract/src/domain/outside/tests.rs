use super::*;

fn scopes(texts: &[&str]) -> Vec<Scope> {
    texts.iter().map(|text| Scope::parse(text, None).unwrap()).collect()
}

fn other(name: &str, texts: &[&str]) -> OtherTask {
    OtherTask { name: name.to_owned(), scopes: scopes(texts) }
}

fn judged(others: &[OtherTask], forbidden: &[&str], changed: &[&str]) -> Outside {
    let (scope, forbidden, scratch) = (scopes(&["src/a"]), scopes(forbidden), scopes(&["tmp"]));
    let interval = Interval { scope: &scope, forbidden: &forbidden, scratch: &scratch, others, fold: false };
    judge(&interval, changed.iter().copied())
}

fn names(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_change_outside_the_scope_is_undeclared_if_the_task_ran_alone() {
    let found = judged(&[], &[], &["src/a/x", "src/ab", "tmp/y", "docs/z"]);
    assert_eq!(found, Outside { undeclared: names(&["src/ab", "docs/z"]), ..Outside::default() });
    let told = found.withheld().unwrap();
    assert_eq!(told, "files outside its scope changed while it ran: src/ab, docs/z");
}

#[test]
fn a_change_that_another_task_may_make_is_that_tasks_and_any_other_is_unattributed() {
    let others = [other("T-2", &["src/b"]), other("T-3", &[])];
    let found = judged(&others, &[], &["src/b/x", "docs/z"]);
    let covered = vec![Covered { path: "src/b/x".to_owned(), by: "T-2".to_owned() }];
    assert_eq!(found, Outside { unattributed: names(&["docs/z"]), covered, ..Outside::default() });
    assert_eq!((found.withheld(), found.refusal()), (None, None));
}

#[test]
fn a_worklog_that_was_set_aside_counts_as_the_worklog() {
    let changed = ["tmp/w.jsonl", "tmp.found-0123456789ab", "tmp.draft", "src/b.found-0123456789ab"];
    let found = judged(&[other("T-2", &["src/b"])], &[], &changed);
    let covered = vec![Covered { path: changed[3].to_owned(), by: "T-2".to_owned() }];
    assert_eq!(found, Outside { covered, ..Outside::default() });
    assert_eq!(judged(&[], &[], &["tmp.found-zz"]).undeclared, ["tmp.found-zz"]);
}

#[test]
fn a_forbidden_file_counts_unless_another_tasks_grant_covers_it() {
    assert_eq!(judged(&[], &["secret"], &["secret/k"]).forbidden, ["secret/k"]);
    assert_eq!(judged(&[other("T-2", &["src/b"])], &["secret"], &["secret/k"]).forbidden, ["secret/k"]);
    assert_eq!(judged(&[other("T-2", &["secret"])], &["secret"], &["secret/k"]).forbidden, [""; 0]);
    assert_eq!(judged(&[], &["src/a/no"], &["src/a/no", "src/a/yes"]).forbidden, ["src/a/no"]);
}

#[test]
fn lists_are_bounded_and_the_rest_is_counted() {
    let paths: Vec<String> = (0..limits::OUTSIDE_PATHS_MAX + 7).map(|n| format!("f{n}")).collect();
    let found = judged(&[], &[], &paths.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((found.undeclared.len(), found.left_out), (limits::OUTSIDE_PATHS_MAX, 7));
    assert!(found.withheld().unwrap().ends_with(" and up to 7 more"));
}

#[test]
fn names_on_the_disk_are_compared_in_one_normal_form() {
    let scope = Scope::parse("caf\u{e9}", None).unwrap();
    assert!(covers(&scope, "cafe\u{301}/x", false));
    assert!(!covers(&scope, "CAFE\u{301}/x", false));
    assert!(covers(&scope, "CAFE\u{301}/x", true));
}

#[test]
fn what_was_stored_before_there_were_lists_can_be_read() {
    assert_eq!(serde_json::from_str::<Outside>("{}").unwrap(), Outside::default());
}
