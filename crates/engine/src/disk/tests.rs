use std::os::unix::fs::symlink;

use contract::domain::scope::ScopeFault;
use testkit::Scratch;

use super::*;

fn real(root: &Path, text: &str) -> Result<String, ScopeFault> {
    let root = root.to_str().unwrap();
    let links = links(root, &[text]);
    let scope = Scope::parse(text, Some(root)).and_then(|scope| scope.follow(&links, Some(root)));
    scope.map(|scope| scope.to_string())
}

#[test]
fn names_are_followed_to_the_file_they_mean() {
    let scratch = Scratch::new();
    let root = real_root(&scratch.dir("project"));
    scratch.write(root.join("src/a.rs"), "a");
    symlink("src", root.join("link")).unwrap();
    symlink("../link", root.join("src/back")).unwrap();
    symlink(root.join("src"), root.join("absolute")).unwrap();
    assert_eq!(real(&root, "link/a.rs"), Ok("src/a.rs".to_owned()));
    assert_eq!(real(&root, "src/back/a.rs"), Ok("src/a.rs".to_owned()));
    assert_eq!(real(&root, "absolute/new.rs"), Ok("src/new.rs".to_owned()));
    assert_eq!(real(&root, "not/there"), Ok("not/there".to_owned()));
}

#[test]
fn a_link_out_of_the_workspace_and_a_loop_are_refused() {
    let scratch = Scratch::new();
    let root = real_root(&scratch.dir("project"));
    scratch.dir("outside");
    symlink("../outside", root.join("out")).unwrap();
    symlink("/", root.join("all")).unwrap();
    symlink("b", root.join("a")).unwrap();
    symlink("a", root.join("b")).unwrap();
    for text in ["out/x", "all/etc", "a/x"] {
        assert_eq!(real(&root, text), Err(ScopeFault::Escape), "{text}");
    }
}
