use std::fs;
use std::os::unix::fs::symlink;

use super::*;

const PATH: &str = "logs/T-1.jsonl";

fn brought(root: &Path, wanted: &str) -> io::Result<Followed> {
    follow(root, PATH, || Ok::<_, io::Error>(wanted.as_bytes().to_vec()))
}

#[test]
fn a_file_that_ends_early_or_in_the_middle_of_a_line_grows() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(read(root.path(), PATH).unwrap(), None);
    assert_eq!(brought(root.path(), "one\n").unwrap(), Followed::Grown);
    assert_eq!(brought(root.path(), "one\n").unwrap(), Followed::Same);
    fs::write(root.path().join(PATH), "one\ntw").unwrap();
    assert_eq!(brought(root.path(), "one\ntwo\nthree\n").unwrap(), Followed::Grown);
    assert_eq!(read(root.path(), PATH).unwrap().unwrap(), b"one\ntwo\nthree\n");
}

#[test]
fn what_somebody_else_wrote_is_set_aside_and_kept() {
    let root = tempfile::tempdir().unwrap();
    brought(root.path(), "one\n").unwrap();
    fs::write(root.path().join(PATH), "other\n").unwrap();
    let Followed::Renewed { set_aside } = brought(root.path(), "one\ntwo\n").unwrap() else {
        panic!("the file was not renewed")
    };
    assert_eq!(fs::read(root.path().join("logs").join(set_aside)).unwrap(), b"other\n");
    assert_eq!(read(root.path(), PATH).unwrap().unwrap(), b"one\ntwo\n");
}

#[test]
fn no_link_is_followed_and_no_path_leads_out() {
    let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    symlink(outside.path(), root.path().join("logs")).unwrap();
    brought(root.path(), "one\n").unwrap_err();
    read(root.path(), PATH).unwrap_err();
    fs::remove_file(root.path().join("logs")).unwrap();
    fs::create_dir(root.path().join("logs")).unwrap();
    symlink(outside.path().join("file"), root.path().join(PATH)).unwrap();
    brought(root.path(), "one\n").unwrap_err();
    for path in ["../x", "/etc/x", "a/../../x", ""] {
        follow(root.path(), path, || Ok::<_, io::Error>(Vec::new())).unwrap_err();
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}
