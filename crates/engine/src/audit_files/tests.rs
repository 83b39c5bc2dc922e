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
    assert_eq!(write(&directory, &files(), Replace::Differing).unwrap(), 1);
    assert_eq!(write(&directory, &files(), Replace::Differing).unwrap(), 0);
    let path = scratch.path().join(PATH).join(&files()[0].0);
    std::fs::write(&path, "{ }").unwrap();
    assert_eq!(write(&directory, &files(), Replace::Differing).unwrap(), 1);
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
    write(&directory, &files(), Replace::Differing).unwrap();
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"untouched");
    assert!(link.symlink_metadata().unwrap().is_file());
    assert_eq!(scratch.read("elsewhere/victim"), "untouched");
}

/// A workspace with a link to a directory outside of it.
fn planted(scratch: &Scratch) -> Vec<String> {
    scratch.write("elsewhere/victim", "untouched");
    std::fs::create_dir_all(scratch.path().join("workspace/sub")).unwrap();
    symlink(scratch.path().join("elsewhere"), scratch.path().join("workspace/link")).unwrap();
    symlink(scratch.path().join("workspace"), scratch.path().join("alias")).unwrap();
    vec![scratch.path().join("workspace").to_str().unwrap().to_owned()]
}

#[test]
fn a_named_directory_goes_through_no_link_of_a_workspace() {
    let scratch = Scratch::new();
    let workspaces = planted(&scratch);
    let path = |path: &str| scratch.path().join(path);
    for planted in ["workspace/link", "workspace/link/deep", "alias/link/deep", "alias/sub/../link"] {
        assert!(named(&path(planted), &workspaces).is_err(), "{planted}");
    }
    assert_eq!(std::fs::read_dir(path("elsewhere")).unwrap().count(), 1);
    // Links elsewhere are the user's own.
    symlink(path("elsewhere"), path("own")).unwrap();
    for (good, place) in
        [("own/deep", "elsewhere/deep"), ("alias/audit", "workspace/audit"), ("new/a", "new/a")]
    {
        let directory = named(&path(good), &workspaces).unwrap();
        write(&directory, &files(), Replace::Differing).unwrap();
        assert!(path(place).join(&files()[0].0).is_file(), "{good}");
    }
    symlink(path("circle"), path("circle")).unwrap();
    assert!(named(&path("circle/a"), &workspaces).is_err());
}

#[test]
fn what_was_derived_from_more_events_is_not_replaced() {
    let scratch = Scratch::new();
    let directory = in_workspace(scratch.path(), PATH).unwrap();
    let path = scratch.path().join(PATH).join(&files()[0].0);
    assert_eq!(write(&directory, &files(), Replace::Nothing).unwrap(), 1);
    std::fs::write(&path, "{\"more\": 1}").unwrap();
    assert_eq!(write(&directory, &files(), Replace::Nothing).unwrap(), 0);
    assert_eq!(std::fs::read(&path).unwrap(), b"{\"more\": 1}");
}

#[test]
fn no_draft_stays() {
    let scratch = Scratch::new();
    let directory = in_workspace(scratch.path(), PATH).unwrap();
    let inside = || std::fs::read_dir(scratch.path().join(PATH)).unwrap().count();
    // What an engine left that was killed.
    let name = &files()[0].0;
    let draft = format!(".{}.tmp", &name[name.len() - DRAFT_CHARS..]);
    std::fs::write(scratch.path().join(PATH).join(&draft), "{").unwrap();
    write(&directory, &files(), Replace::Differing).unwrap();
    assert_eq!(inside(), 1);
    // A directory in the place of the file cannot be replaced.
    std::fs::remove_file(scratch.path().join(PATH).join(name)).unwrap();
    std::fs::create_dir(scratch.path().join(PATH).join(name)).unwrap();
    assert!(write(&directory, &files(), Replace::Differing).is_err());
    assert_eq!(inside(), 1);
}
