use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use contract::domain::scope::Scope;
use testkit::{Scratch, eventually};

use super::*;

/// A workspace and the index of it.
struct World {
    scratch: Scratch,
    root: PathBuf,
    index: Index,
}

impl World {
    fn new() -> Self {
        let scratch = Scratch::new();
        let root = crate::disk::real_root(&scratch.dir("project"));
        let index = Index::at(scratch.join("writ.db.index"));
        Self { scratch, root, index }
    }

    fn write(&self, path: &str, text: &str) {
        self.scratch.write(self.root.join(path), text);
    }

    fn look(&self) -> Look {
        self.index.look(&self.root, &How::default())
    }

    /// What a change does, compared by the rules before it.
    fn after(&self, always: &[&str], change: impl FnOnce(&Path)) -> Vec<String> {
        let always = scopes(always);
        let before = self.index.look(&self.root, &How { always: &always, ..How::default() });
        change(&self.root);
        let how = How { always: &always, rules: Some(before.rules()), ..How::default() };
        self.index.look(&self.root, &how).changed_since(&before)
    }
}

fn scopes(texts: &[&str]) -> Vec<Scope> {
    texts.iter().map(|text| Scope::parse(text, None).unwrap()).collect()
}

#[test]
fn a_second_look_at_an_unchanged_tree_reads_no_file() {
    let world = World::new();
    for number in 0..50 {
        world.write(&format!("d{}/f{number}", number % 5), "text");
    }
    let first = world.look();
    assert_eq!((first.files(), first.files_read()), (50, 50));
    // Files that were written in the instant of the look are read once more.
    eventually("no file is read", || world.look().files_read() == 0);
    world.write("d1/f1", "more");
    let third = world.look();
    assert_eq!((third.changed_since(&first), third.files_read()), (vec!["d1/f1".to_owned()], 1));
}

#[test]
fn a_change_with_the_same_size_and_time_is_seen_by_its_other_time() {
    let world = World::new();
    world.write("a", "one");
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let set_time =
        |path: &Path| fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    set_time(&world.root.join("a"));
    eventually("no file is read", || world.look().files_read() == 0);
    let changed = world.after(&[], |root| {
        fs::write(root.join("a"), "two").unwrap();
        set_time(&root.join("a"));
    });
    assert_eq!(changed, ["a"]);
}

#[test]
fn a_change_in_the_instant_of_a_look_is_seen() {
    let world = World::new();
    for round in 0..testkit::rounds(200) {
        world.write("a", &format!("{:08}", 2 * round));
        let changed =
            world.after(&[], |root| fs::write(root.join("a"), format!("{:08}", 2 * round + 1)).unwrap());
        assert_eq!(changed, ["a"], "round {round}");
    }
}

#[test]
fn a_file_that_was_only_touched_or_linked_has_not_changed() {
    let world = World::new();
    world.write("a", "one");
    let changed = world.after(&[], |root| {
        fs::File::options()
            .write(true)
            .open(root.join("a"))
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH)
            .unwrap();
        fs::hard_link(root.join("a"), root.join("b")).unwrap();
    });
    assert_eq!(changed, ["b"]);
}

#[test]
fn new_gone_renamed_and_reopened_files_are_seen_under_their_names() {
    let world = World::new();
    for name in ["gone", "old", "mode", "same", "d/x"] {
        world.write(name, name);
    }
    symlink("same", world.root.join("link")).unwrap();
    let changed = world.after(&[], |root| {
        fs::remove_file(root.join("gone")).unwrap();
        fs::rename(root.join("old"), root.join("renamed")).unwrap();
        fs::set_permissions(root.join("mode"), Permissions::from_mode(0o777)).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        symlink("mode", root.join("link")).unwrap();
        fs::rename(root.join("d"), root.join("e")).unwrap();
    });
    assert_eq!(changed, ["d/x", "e/x", "gone", "link", "mode", "old", "renamed"]);
}

#[test]
fn writing_through_a_link_is_seen_where_the_file_is() {
    let world = World::new();
    world.write("outside/a", "one");
    world.write("outside/b", "one");
    world.write("inside/x", "");
    symlink("../outside/a", world.root.join("inside/a")).unwrap();
    fs::hard_link(world.root.join("outside/b"), world.root.join("inside/b")).unwrap();
    let changed = world.after(&[], |root| {
        fs::write(root.join("inside/a"), "two").unwrap();
        fs::write(root.join("inside/b"), "two").unwrap();
    });
    assert_eq!(changed, ["inside/b", "outside/a", "outside/b"]);
}

#[test]
fn ignored_files_do_not_count_unless_they_are_asked_for() {
    let world = World::new();
    world.write(".gitignore", "target/\n*.log\n!keep.log\n");
    world.write("target/a", "1");
    world.write("sub/.gitignore", "/local\n");
    let changes = |root: &Path| {
        for name in ["target/a", "target/b", "x.log", "keep.log", "sub/local", "sub/x/local", "target/no/k"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "changed").unwrap();
        }
    };
    assert_eq!(world.after(&["target/no"], changes), ["keep.log", "sub/x/local", "target/no/k"]);
}

#[test]
fn rules_that_were_added_meanwhile_hide_nothing() {
    let world = World::new();
    world.write("a", "one");
    let changed = world.after(&[], |root| {
        fs::write(root.join(".gitignore"), "*\n").unwrap();
        fs::write(root.join("a"), "two").unwrap();
        fs::write(root.join("b"), "new").unwrap();
    });
    assert_eq!(changed, [".gitignore", "a", "b"]);
}

#[test]
fn git_keeps_its_objects_to_itself_but_hooks_and_config_count() {
    let world = World::new();
    world.write(".gitignore", ".git\n");
    world.write(".git/config", "[core]");
    world.write(".git/objects/aa", "x");
    let changed = world.after(&[], |root| {
        fs::write(root.join(".git/config"), "[alias]").unwrap();
        fs::write(root.join(".git/objects/aa"), "y").unwrap();
        fs::create_dir(root.join(".git/hooks")).unwrap();
        fs::write(root.join(".git/hooks/pre-commit"), "#!/bin/sh").unwrap();
    });
    assert_eq!(changed, [".git/config", ".git/hooks/pre-commit"]);
}

#[test]
fn pipes_are_never_opened_and_any_name_can_be_told() {
    let world = World::new();
    let long = "n".repeat(255);
    world.write("same", "");
    let changed = world.after(&[], |root| {
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("fifo"), rustix::fs::Mode::RWXU).unwrap();
        fs::write(root.join(&long), "").unwrap();
        fs::write(root.join(OsStr::from_bytes(b"a\xffb")), "").unwrap();
        fs::write(root.join("new\nline"), "").unwrap();
    });
    assert_eq!(changed, [r"a\xffb", "fifo", "new\nline", &long]);
}

#[test]
fn a_damaged_index_is_made_again() {
    let world = World::new();
    world.write("a", "one");
    eventually("no file is read", || world.look().files_read() == 0);
    let kept: Vec<PathBuf> = fs::read_dir(world.scratch.join("writ.db.index"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "idx"))
        .collect();
    let [file] = kept.as_slice() else { panic!("{kept:?}") };
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let whole = fs::read(file).unwrap();
    for at in [0, 20, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(file, &damaged).unwrap();
        assert_eq!((world.look().files(), world.look().partial()), (1, None));
    }
    fs::write(file, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(world.look().files_read(), 1);
}

#[test]
fn a_kept_look_stays_until_it_is_forgotten() {
    let world = World::new();
    world.write("a", "one");
    let before = world.look();
    world.index.keep(&world.root, "T", &before).unwrap();
    world.write("a", "two");
    let after = world.look();
    world.index.keep(&world.root, "T", &after).unwrap();
    let kept = world.index.kept(&world.root, "T").unwrap();
    assert_eq!(after.changed_since(&kept), ["a"]);
    world.index.forget(&world.root, "T");
    assert_eq!(world.index.kept(&world.root, "T"), None);
}

#[test]
fn a_tree_digest_covers_names_modes_and_contents_of_its_scope() {
    let world = World::new();
    world.write("src/a", "one");
    world.write("other", "one");
    let scope = scopes(&["src"]);
    let digest = || world.index.tree_digest(&world.root, &scope).unwrap();
    let first = digest();
    world.write("other", "two");
    assert_eq!(digest(), first);
    fs::set_permissions(world.root.join("src/a"), Permissions::from_mode(0o755)).unwrap();
    let second = digest();
    assert_ne!(second, first);
    fs::rename(world.root.join("src/a"), world.root.join("src/b")).unwrap();
    assert_ne!(digest(), second);
    assert!(world.index.tree_digest(&world.root, &[]).is_some(), "the whole workspace");
}

#[test]
fn a_workspace_that_is_not_there_is_said_to_be_unreadable() {
    let world = World::new();
    let look = world.index.look(&world.root.join("gone"), &How::default());
    assert_eq!(look.partial(), Some(Partial::Root));
}

#[test]
fn a_snapshot_names_each_file_by_its_digest() {
    let world = World::new();
    world.write("src/a.rs", "");
    world.write("src/.git/objects/x", "x");
    symlink("a.rs", world.root.join("src/b.rs")).unwrap();
    let scopes = scopes(&["src", "gone"]);
    let look = world.index.look(&world.root, &How { always: &scopes, ..How::default() });
    let found = look.snapshot(&scopes, 10);
    let names: Vec<&str> = found.files.keys().map(String::as_str).collect();
    assert_eq!((names, found.is_partial), (vec!["src/a.rs", "src/b.rs"], false));
    assert_eq!(found.files["src/a.rs"], digest::of_bytes(b""));
    assert!(look.snapshot(&scopes, 1).is_partial);
}

#[test]
fn the_digest_of_a_scope_reads_nothing_else_and_forgets_nothing() {
    let world = World::new();
    for path in ["src/a", "src/deep/b", "docs/c", "top"] {
        world.write(path, path);
    }
    let only = scopes(&["src/deep", "src", "top", "gone"]);
    let inside = || world.index.look(&world.root, &How { always: &only, is_only: true, ..How::default() });
    eventually("nothing is racy any more", || world.look().files_read() == 0);
    let first = inside();
    assert_eq!((first.files(), first.files_read()), (3, 0));
    let digest = |look: &Look| look.tree_digest(&only).unwrap();
    let whole = world.index.look(&world.root, &How { always: &only, ..How::default() });
    assert_eq!(digest(&first), digest(&whole));
    world.write("src/deep/b", "changed");
    let second = inside();
    assert_eq!(second.files_read(), 1);
    assert_ne!(digest(&first), digest(&second));
    // What lies beside it is still known.
    eventually("nothing is racy any more", || inside().files_read() == 0);
    assert_eq!(world.look().files_read(), 0);
}

#[test]
fn the_files_of_the_store_are_not_looked_at_wherever_they_are() {
    let world = World::new();
    for path in ["writ.db", "writ.db-wal", "writ.db.logs/a", "src/a"] {
        world.write(path, "");
    }
    fs::hard_link(world.root.join("writ.db"), world.root.join("src/link.db")).unwrap();
    let own = ["writ.db", "writ.db-wal", "writ.db.logs", "writ.db.key"].map(|name| world.root.join(name));
    let index = world.index.clone().without(own.into());
    assert_eq!(index.look(&world.root, &How::default()).files(), 1);
    let only = scopes(&["writ.db", "src"]);
    let how = How { always: &only, is_only: true, ..How::default() };
    assert_eq!(index.look(&world.root, &how).files(), 1);
}

#[test]
fn a_pipe_in_the_place_of_gits_own_files_does_not_hold_up_a_look() {
    let world = World::new();
    world.write(".gitignore", "ignored\n");
    world.write("ignored", "");
    for name in ["index", "commondir"] {
        world.write(&format!(".git/{name}.other"), "");
        let pipe = world.root.join(".git").join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    }
    assert_eq!(world.look().files(), 1);
}

#[test]
fn a_workspace_with_too_many_files_is_said_to_be_partial_by_the_limits_name() {
    let world = World::new();
    for number in 0..5 {
        world.write(&format!("d/f{number}"), "");
    }
    let look = |max: usize| world.index.clone().limited_to(max).look(&world.root, &How::default());
    assert_eq!((look(5).partial(), look(4).partial()), (None, Some(Partial::Files)));
    assert!(Partial::Files.to_string().contains("INDEX_FILES_MAX"));
    assert_eq!(look(4).tree_digest(&scopes(&["d"])), None);
}

#[test]
fn a_directory_that_was_opened_changed_and_closed_again_is_seen() {
    let world = World::new();
    world.write("closed/x", "one");
    let set_mode = |root: &Path, mode| {
        fs::set_permissions(root.join("closed"), Permissions::from_mode(mode)).unwrap();
    };
    set_mode(&world.root, 0o000);
    let changed = world.after(&[], |root| {
        set_mode(root, 0o700);
        fs::write(root.join("closed/x"), "two").unwrap();
        set_mode(root, 0o000);
    });
    set_mode(&world.root, 0o700);
    // The superuser can read it; everybody else sees that the directory itself was touched.
    assert!(changed == ["closed/x"] || changed == ["closed"], "{changed:?}");
}

#[test]
fn a_directory_deeper_than_any_path_is_seen_by_itself() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let world = World::new();
    world.write("top", "");
    let changed = world.after(&[], |root| {
        let mut here = fs::File::open(root).unwrap().into();
        let name = "d".repeat(250);
        for _ in 0..20 {
            mkdirat(&here, &name, Mode::RWXU).unwrap();
            here = openat(&here, &name, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
        }
        openat(&here, "hidden", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
    });
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].starts_with("dddd"), "{changed:?}");
}

/// The files of the index with this ending, with what tells that one was replaced.
fn stored(world: &World, ending: &str) -> Vec<StoredIndex> {
    let entries = fs::read_dir(world.scratch.join("writ.db.index")).unwrap().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(ending));
    named.map(|entry| StoredIndex::of(&entry.metadata().unwrap())).collect()
}

#[test]
fn reading_racy_files_again_writes_no_index_and_another_process_reads_them_too() {
    let world = World::new();
    world.write("a", "one");
    assert_eq!(world.look().files_read(), 1);
    let before = stored(&world, ".idx");
    eventually("no file is read", || world.look().files_read() == 0);
    assert_eq!(stored(&world, ".idx"), before);
    let other = Index::at(world.scratch.join("writ.db.index"));
    assert_eq!(other.look(&world.root, &How::default()).files_read(), 1);
    // What is kept is what was seen, although the file says that it is racy.
    let look = world.look();
    world.index.keep(&world.root, "task", &look).unwrap();
    assert_eq!(stored(&world, ".base"), before);
    assert!(world.index.kept(&world.root, "task").unwrap().shows_the_same(&look));
}

#[test]
fn an_index_that_another_process_replaced_is_loaded_again() {
    let world = World::new();
    world.write("a", "one");
    world.look();
    let other = Index::at(world.scratch.join("writ.db.index"));
    world.write("b", "two");
    other.look(&world.root, &How::default());
    eventually("no file is read", || other.look(&world.root, &How::default()).files_read() == 0);
    let before = world.look();
    world.write("c", "three");
    let look = world.look();
    assert_eq!(look.changed_since(&before), ["c"]);
    world.write("d", "four");
    other.look(&world.root, &How::default());
    // The index is not this look any more, so the look is written.
    world.index.keep(&world.root, "task", &look).unwrap();
    assert!(world.index.kept(&world.root, "task").unwrap().shows_the_same(&look));
}

#[test]
fn a_name_with_a_secret_is_not_kept_and_its_file_is_still_compared() {
    let secret =
        |number: u8| ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ01234", &number.to_string()].concat();
    let world = World::new();
    for path in
        [format!("src/{}", secret(1)), format!("src/{}", secret(2)), format!("{}/.gitignore", secret(3))]
    {
        world.write(&path, "text");
    }
    eventually("no file is read", || world.look().files_read() == 0);
    let before = world.look();
    world.index.keep(&world.root, "task", &before).unwrap();
    for entry in fs::read_dir(world.scratch.join("writ.db.index")).unwrap().flatten() {
        let bytes = fs::read(entry.path()).unwrap();
        assert!(!bytes.windows(10).any(|part| part == b"0123456789"), "{}", entry.path().display());
    }
    let before = world.index.kept(&world.root, "task").unwrap();
    assert_eq!(before.files(), 3);
    assert_eq!(world.look().changed_since(&before), [""; 0]);
    world.write(&format!("src/{}", secret(2)), "other");
    let changed = world.look().changed_since(&before);
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].starts_with("src/[REDACTED:github_token "), "{changed:?}");
}
