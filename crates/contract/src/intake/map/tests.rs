use serde_json::{Value, json};

use super::*;

const FULL: &str = include_str!("../../../vectors/aop/valid/c-2.2-task-full.json");

fn mapping(from: &str, to: &str) -> PathMapping {
    PathMapping::new(from, to).unwrap()
}

#[test]
fn a_path_is_mapped_by_whole_components_whatever_the_case_of_its_drive() {
    let workspace = mapping("C:/workspace", "/srv/ws/");
    for (path, expected) in [
        ("C:/workspace", Some("/srv/ws")),
        ("c:\\workspace\\project-x\\src", Some("/srv/ws/project-x/src")),
        ("C:/workspace/./a/../b/", Some("/srv/ws/b")),
        ("C:/workspace-evil/x", None),
        ("C:/workspace/../secret", None),
        ("D:/workspace", None),
        ("src/module_x.py", None),
    ] {
        assert_eq!(workspace.apply(path).as_deref(), expected, "{path}");
    }
    assert_eq!(mapping("C:/", "/mnt/c").apply("C:/ai/x").as_deref(), Some("/mnt/c/ai/x"));
    assert_eq!(mapping("/srv", "/").apply("/srv/x").as_deref(), Some("/x"));
    assert_eq!(PathMapping::new("workspace", "/x"), None);
    assert_eq!(PathMapping::new("C:/x", ""), None);
}

#[test]
fn every_path_of_a_task_is_mapped_and_no_command() {
    let mut task: Value = serde_json::from_str(FULL).unwrap();
    assert_eq!(
        foreign(&task)[0],
        ("$.task.environment.workspace_root".to_owned(), "C:/workspace/project-x".to_owned())
    );
    let used = apply(&mut task, &[mapping("C:/workspace", "/w"), mapping("D:/", "/d")]);
    assert_eq!((used, foreign(&task)), (vec![true, false], Vec::new()));
    assert!(!task.to_string().contains("C:/"), "{task}");
    assert_eq!(task["task"]["environment"]["workspace_root"], "/w/project-x");
    assert_eq!(
        task["task"]["expected_outputs"][0]["validation"]["command"],
        "python -m py_compile src/module_x.py"
    );
}

#[test]
fn the_longest_mapping_counts() {
    let mut task = json!({"task": {"environment": {"workspace_root": "C:/a/b/c"}}});
    apply(&mut task, &[mapping("C:/a", "/short"), mapping("C:/a/b", "/long")]);
    assert_eq!(task["task"]["environment"]["workspace_root"], "/long/c");
}

#[test]
fn a_task_keeps_its_fields() {
    let mut task = json!({"task": {}});
    apply(&mut task, &[mapping("C:/a", "/b")]);
    assert_eq!(task, json!({"task": {}}));
}
