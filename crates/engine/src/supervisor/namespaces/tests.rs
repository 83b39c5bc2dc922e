use super::*;

#[test]
fn what_is_handed_down_is_read_again() {
    let init = |outside: &str, pid| NamespaceInit { outside: outside.to_owned(), pid, start_time: 77 };
    let all = vec![init("pid:[4026531836]", 1200), init("pid:[4026532001]", 14)];
    assert_eq!(text_of(&all), "pid:[4026531836]/1200/77,pid:[4026532001]/14/77");
    assert_eq!(parse(&text_of(&all)), Some(all));
}

#[test]
fn anything_else_names_no_namespace() {
    let long = vec!["pid:[1]/1/1"; LEVELS_MAX + 1].join(",");
    for text in ["", "pid:[1]", "pid:[1]/1", "/1/1", "pid:[1]/1/1/1", "pid:[1]/-1/1", "pid:[1]/1/1,", &long] {
        assert_eq!(parse(text), None, "{text:?}");
    }
}

#[test]
fn a_process_of_this_namespace_has_one_pid() {
    let own = std::process::id();
    assert_eq!(pids_of(own), Some(vec![own]));
    assert_eq!(pids_of(0), None);
}
