use super::*;

#[test]
fn what_is_handed_down_is_read_again() {
    let init = |outside: &str, pid| NamespaceInit { outside: outside.to_owned(), pid, start_time: 77 };
    let path = vec![init("pid:[4026531836]", 1200), init("pid:[4026532001]", 14)];
    let text = text_of(&path, "pid:[4026532009]");
    assert_eq!(text, "pid:[4026531836]/1200/77,pid:[4026532001]/14/77,pid:[4026532009]");
    assert_eq!(parse(&text), Some((path, "pid:[4026532009]".to_owned())));
    assert_eq!(parse("pid:[1]"), Some((Vec::new(), "pid:[1]".to_owned())));
}

#[test]
fn anything_else_names_no_namespace() {
    let long = vec!["pid:[1]/1/1"; LEVELS_MAX].join(",") + ",pid:[1]";
    for text in ["", "pid:[1]/1", "/1/1", "pid:[1]/1/1", "x/1/1/1,y", "x/-1/1,y", "pid:[1]/1/1,", &long] {
        assert_eq!(parse(text), None, "{text:?}");
    }
}

#[test]
fn the_name_of_a_first_process_has_its_pid_outside() {
    let largest = Name(4_194_304).to_string();
    assert!(largest.len() <= 15, "{largest}");
    assert_eq!(pid_in_name(&format!("{largest}\n")), Some(4_194_304));
    for name in ["systemd\n", "writ\n", "writ:\n", "writ:x\n", "writ:-1\n"] {
        assert_eq!(pid_in_name(name), None, "{name:?}");
    }
}

#[test]
fn where_writ_made_no_namespace_this_process_is_in_none() {
    let is_ours = std::fs::read_to_string("/proc/1/comm").unwrap().starts_with(NAME_PREFIX);
    assert_eq!(own_namespaces().is_empty(), !is_ours);
}

#[test]
fn a_process_of_this_namespace_has_one_pid() {
    let own = std::process::id();
    assert_eq!(pids_of(own), Some(vec![own]));
    assert_eq!(pids_of(0), None);
}
