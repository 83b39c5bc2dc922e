use super::*;

fn kind(text: &str, name: Option<&str>) -> &'static str {
    match read(text.as_bytes(), name) {
        Ok(PlanDocument::Value { kind, .. }) => kind.as_str(),
        Ok(PlanDocument::Tasks(_)) => "tasks",
        Ok(PlanDocument::Prompt { is_v1: true, .. }) => "v1",
        Ok(PlanDocument::Prompt { is_v1: false, .. }) => "unstructured",
        Err(DocumentError { code: Some(code), .. }) => code.as_str(),
        Err(DocumentError { code: None, .. }) => "unreadable",
    }
}

#[test]
fn text_is_a_prompt_only_where_it_cannot_be_a_plan() {
    let v1 = "# ORCHESTRATION_TASK\n\n**TO:** Emma (Codex)\n";
    let broken = "objective = \"o\"\nmax = = 1\n[[task]]\nprompt = \"\"\"\nTask: do it\n\"\"\"\n";
    for (text, name, expected) in [
        (v1, Some("task.md"), "v1"),
        (v1, None, "v1"),
        (v1, Some("-"), "v1"),
        (v1, Some("task.toml"), "unreadable"),
        (broken, None, "unreadable"),
        (broken, Some("plan.txt"), "unreadable"),
        ("Please tidy the house.", Some("wish.txt"), "unstructured"),
        ("[a link](x) to begin with\n\nTidy", Some("wish.md"), "unstructured"),
        ("Please tidy the house.", None, "unreadable"),
        ("Run this:\n\nFOO=bar make\n", Some("wish.md"), "unstructured"),
        ("\n \n", Some("wish.md"), "E_PARSE_FAILURE"),
        ("objective = \"o\"\n[[task]]\nid = \"a\"\n", Some("plan.txt"), "plan"),
        ("objective: o\ntask: a\n", Some("plan.yaml"), "unreadable"),
    ] {
        assert_eq!(kind(text, name), expected, "{name:?}: {text}");
    }
}

#[test]
fn json_is_never_a_prompt() {
    for (text, expected) in [
        ("{\"objective\": \"Task: x\"}", "plan"),
        ("{\"aop_version\": \"2.0.0\", \"task\": }", "E_PARSE_FAILURE"),
        ("{\"objective\": }\nTask: x", "unreadable"),
        ("{\"protocol_family\": \"AOP\", \"message_type\": \"TASK\"}", "aop_task"),
        ("[{\"aop_version\": \"2.0.0\"}, {\"aop_version\": \"2.0.0\"}]", "tasks"),
        ("{\"aop_version\": \"2.0.0\"}\n\n{\"aop_version\": \"2.0.0\"}\n", "tasks"),
        ("{\"aop_version\": \"2.0.0\"}\n{\"objective\": \"o\"}\n", "E_PARSE_FAILURE"),
    ] {
        assert_eq!(kind(text, None), expected, "{text}");
    }
}

#[test]
fn bytes_that_are_no_text_are_no_prompt() {
    let read = read(b"Tidy \xff", Some("wish.md"));
    assert_eq!(read.unwrap_err().code, Some(FailureCode::ParseFailure));
}
