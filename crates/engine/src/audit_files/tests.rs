use std::os::unix::fs::symlink;

use testkit::Scratch;

use super::*;

const PATH: &str = "_skills/agent-orchestration-protocol_d/v2/audit_trails/";

fn files() -> Vec<(String, Vec<u8>)> {
    vec![("S_T_ROUTING_DECISION_20200101T000000Z_12345678.json".to_owned(), b"{}\n".to_vec())]
}

#[test]
fn a_file_that_is_missing_or_changed_is_written_and_a_whole_one_is_not() {
    let scratch = Scratch::new();
    let directory = in_workspace(scratch.path(), PATH).unwrap();
    assert_eq!(write(&directory, &files()).unwrap(), 1);
    assert_eq!(write(&directory, &files()).unwrap(), 0);
    let path = scratch.path().join(PATH).join(&files()[0].0);
    std::fs::write(&path, "{ }").unwrap();
    assert_eq!(write(&directory, &files()).unwrap(), 1);
    assert_eq!(std::fs::read(&path).unwrap(), b"{}\n");
    assert_eq!(std::fs::read_dir(scratch.path().join(PATH)).unwrap().count(), 1, "no draft is left");
}

#[test]
fn a_link_that_a_task_planted_is_never_followed() {
    let scratch = Scratch::new();
    let elsewhere = scratch.write("elsewhere/victim", "untouched");
    let workspace = scratch.path().join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    symlink(scratch.path().join("elsewhere"), workspace.join("_skills")).unwrap();
    assert!(in_workspace(&workspace, PATH).is_err());
    assert!(in_workspace(&workspace, "../elsewhere").is_err());
    std::fs::remove_file(workspace.join("_skills")).unwrap();
    let directory = in_workspace(&workspace, PATH).unwrap();
    let link = workspace.join(PATH).join(&files()[0].0);
    symlink(&elsewhere, &link).unwrap();
    write(&directory, &files()).unwrap();
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"untouched");
    assert!(link.symlink_metadata().unwrap().is_file());
    assert_eq!(scratch.read("elsewhere/victim"), "untouched");
}
