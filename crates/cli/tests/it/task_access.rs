//! What a TASK may do with files: read-only mode, no file system access, read and write paths.

use serde_json::{Value, json};
use testkit::{Cli, eventually};

use crate::documents::{agent, aop, writ};
use crate::read_back::{Worked, work};
use crate::sandbox::has_sandbox;

/// A TASK whose child runs this line of shell and succeeds.
fn task(cli: &Cli, line: &str, sandbox: &str, fields: Value) -> Value {
    let mut task = aop(cli, "");
    let line = format!("{line}; exec \"$0\" aop-success");
    task["task"]["extensions"] = json!({"x_sandbox": sandbox, "x_command": ["sh", "-c", line, agent()]});
    task["task"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    task
}

fn told(worked: &Worked<'_>) -> String {
    let line = worked.task("T-1");
    let words = [&line["code"], &line["rule"]].map(|word| word.as_str().unwrap_or("-").to_owned());
    format!("{} {} {}", worked.status("T-1"), words[0], words[1])
}

/// Each way in which a TASK says that nothing may be written.
fn read_only() -> [(&'static str, Value); 2] {
    [
        ("read_only_mode", json!({"constraints": {"read_only_mode": true}})),
        ("write_paths", json!({"access": {"filesystem": {"read_paths": ["."], "write_paths": []}}})),
    ]
}

#[test]
fn a_task_that_may_write_nothing_fails_if_it_writes_without_a_sandbox() {
    for (way, fields) in read_only() {
        let cli = writ();
        let wrote = work(&cli, &task(&cli, "echo x > out.txt", "off", fields.clone()));
        assert_eq!(told(&wrote), "failed E_PERMISSION_DENIED scope_violation", "{way}");
        assert!(wrote.reason("T-1").contains("out.txt"), "{way}: {}", wrote.reason("T-1"));
        let cli = writ();
        assert_eq!(told(&work(&cli, &task(&cli, "true", "off", fields))), "done claimed - -", "{way}");
    }
}

#[test]
fn a_task_that_may_write_nothing_cannot_write_in_a_sandbox() {
    if !has_sandbox(&writ()) {
        return;
    }
    for (way, fields) in read_only() {
        let cli = writ();
        cli.scratch().write("project/seen.txt", "x");
        let line = "cat seen.txt > $TMPDIR/copy && ! echo x 2> /dev/null > out.txt && test -s $TMPDIR/copy || exit 9";
        let worked = work(&cli, &task(&cli, line, "prefer", fields));
        assert_eq!(told(&worked), "done claimed - -", "{way}: {}", worked.reason("T-1"));
        assert!(!cli.project().join("out.txt").exists());
    }
}

#[test]
fn the_author_of_a_task_is_told_what_would_allow_what_was_denied() {
    if !has_sandbox(&writ()) {
        return;
    }
    let cli = writ();
    let files = json!({"access": {"filesystem": {"read_paths": ["."], "write_paths": ["out"]}}});
    cli.scratch().write("project/out/a", "");
    let worked = work(&cli, &task(&cli, "echo x > other.txt || exit 1", "enforce", files));
    let advice = "to allow it, add \"other.txt\" to `access.filesystem.write_paths` of the TASK";
    assert!(worked.reason("T-1").contains(advice), "{}", worked.reason("T-1"));
    let closed = json!({"access": {"network": "NONE"}});
    let line = "echo 'could not resolve host' >&2; exit 7";
    let worked = work(&cli, &task(&cli, line, "enforce", closed));
    assert!(worked.reason("T-1").contains("`access.network`"), "{}", worked.reason("T-1"));
}

#[test]
fn a_target_without_file_access_can_neither_read_nor_write_the_workspace() {
    if !has_sandbox(&writ()) {
        return;
    }
    let cli = writ();
    cli.scratch().write("project/seen.txt", "x");
    cli.scratch().write("project/deep/seen.txt", "x");
    let line = "! cat seen.txt && ! cat deep/seen.txt && ! touch out.txt || exit 9";
    let mut document = task(&cli, line, "prefer", json!({}));
    document["target"]["capabilities"] = json!({"file_system_access": false, "network_access": "FULL"});
    let worked = work(&cli, &document);
    assert_eq!(told(&worked), "done claimed - -", "{}", worked.reason("T-1"));
    assert!(!cli.project().join("out.txt").exists());
    document["target"]["capabilities"]["file_system_access"] = json!(true);
    let open = work(&cli, &document);
    assert!(told(&open).starts_with("failed "), "{}", told(&open));
}

#[test]
fn only_read_paths_and_write_paths_can_be_read_in_a_sandbox() {
    if !has_sandbox(&writ()) {
        return;
    }
    let cli = writ();
    for path in ["src/a.txt", "docs/b.txt", "out/c.txt", "top.txt"] {
        cli.scratch().write(format!("project/{path}"), "x");
    }
    let files = json!({"access": {"filesystem": {"read_paths": ["src"], "write_paths": ["out"]}}});
    let line = "cat src/a.txt out/c.txt > /dev/null && ! cat docs/b.txt && ! cat top.txt && ! echo y > src/a.txt && \
                echo y > out/d.txt || exit 9";
    let worked = work(&cli, &task(&cli, line, "prefer", files.clone()));
    assert_eq!(told(&worked), "done claimed - -", "{}", worked.reason("T-1"));
    assert_eq!(cli.scratch().read("project/out/d.txt"), "y\n");
    let whole = json!({"access": {"filesystem": {"read_paths": [cli.project()], "write_paths": ["out"]}}});
    assert!(told(&work(&cli, &task(&cli, line, "prefer", whole))).starts_with("failed "));
}

#[test]
fn read_paths_without_a_sandbox_are_named_as_without_effect() {
    let cli = writ();
    cli.scratch().write("project/top.txt", "x");
    let files = json!({"access": {"filesystem": {"read_paths": ["src"], "write_paths": ["out"]}}});
    let worked = work(&cli, &task(&cli, "cat top.txt > /dev/null", "off", files)).succeeded();
    let expected = "READS_NOT_LIMITED: no sandbox is on, so read paths have no effect for T-1";
    assert!(worked.decisions("L3").contains(&expected.to_owned()), "{:?}", worked.decisions("L3"));
    let warning = "access.filesystem.read_paths has no effect: no sandbox is on";
    assert_eq!(worked.task("T-1")["warnings"], json!([warning]));
}

#[test]
fn a_write_outside_the_write_paths_fails_the_task_with_and_without_a_sandbox() {
    let files = json!({"access": {"filesystem": {"read_paths": ["."], "write_paths": ["sub"]}}});
    for sandbox in ["off", "prefer"] {
        let cli = writ();
        let wrote = work(&cli, &task(&cli, "echo x > out.txt", sandbox, files.clone()));
        let reason = wrote.reason("T-1");
        assert_eq!(told(&wrote), "failed E_PERMISSION_DENIED scope_violation", "{sandbox}: {reason}");
        assert!(reason.contains("out.txt"), "{sandbox}: {reason}");
        let cli = writ();
        let inside = work(&cli, &task(&cli, "mkdir -p sub && echo x > sub/in.txt", sandbox, files.clone()));
        assert_eq!(told(&inside), "done claimed - -", "{sandbox}: {}", inside.reason("T-1"));
    }
}

#[test]
fn what_a_person_writes_meanwhile_is_not_the_tasks_where_the_kernel_held_it() {
    let cli = writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project().join("sub")).unwrap();
    std::fs::write(cli.project().join("README"), "one").unwrap();
    for (names, missing) in [(json!(["sub"]), false), (json!(["sub", "later"]), true)] {
        let files = json!({"access": {"filesystem": {"read_paths": ["."], "write_paths": names}}});
        let line = "touch sub/began; until [ -e sub/go ]; do sleep 0.02; done; rm sub/began sub/go";
        let document = task(&cli, line, "prefer", files).to_string();
        let writ = cli.call(["run", "-", "--output", "json"]).stdin(document).spawn();
        eventually("it began", || cli.scratch().has(cli.project().join("sub/began")));
        std::fs::write(cli.project().join("README"), format!("two {missing}")).unwrap();
        std::fs::write(cli.project().join("sub/go"), "").unwrap();
        let worked = Worked::of(&cli, writ.wait()).succeeded();
        assert_eq!(worked.task("T-1")["outside"]["undeclared"], json!(["README"]));
    }
}
