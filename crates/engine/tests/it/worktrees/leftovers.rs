//! What killed engines and removals leave among the clones.

use std::fs;

use contract::domain::worktree::Standing;

use super::Bench;

#[test]
fn a_clone_whose_engine_died_while_it_was_made_is_made_again() {
    let mut bench = Bench::new();
    let half = bench.try_open("a", 10).unwrap();
    let record = half.tree().with_file_name("worktree.json");
    let text = fs::read_to_string(&record).unwrap().replace("\"unfinished\": false", "\"unfinished\": true");
    fs::write(&record, text).unwrap();
    fs::remove_dir_all(half.tree()).unwrap();
    let listed = &bench.clones.list().unwrap()[0];
    assert_eq!(listed.standing(&bench.runner()), Standing::Empty, "nothing has run in it");
    let again = bench.try_open("a", 10).unwrap();
    assert_eq!((again.record.ports, bench.clones.list().unwrap().len()), (half.record.ports, 1));
    assert_eq!(bench.clones.leftovers().unwrap(), []);
    assert!(again.tree().join("file").exists());
}

#[test]
fn what_is_no_clone_is_listed_and_what_a_removal_left_goes_with_the_next() {
    let mut bench = Bench::new();
    let (a, b) = (bench.open("a"), bench.open("b"));
    bench.write("clones/.trash-task_x.0/deep/file", "left");
    bench.write("clones/.trash-task_x.0-0/file", "left");
    fs::write(a.tree().with_file_name("worktree.json"), "{}").unwrap();
    let left = bench.clones.leftovers().unwrap();
    let reasons: Vec<&str> = left.iter().map(|(_, reason)| reason.as_str()).collect();
    assert!(left.len() == 3 && reasons[0].contains("worktree.json is damaged: missing field"), "{left:?}");
    // Read-only directories are no obstacle to their owner.
    fs::create_dir(b.tree().join("built")).unwrap();
    fs::write(b.tree().join("built/file"), "").unwrap();
    fs::set_permissions(b.tree().join("built"), std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    assert!(bench.clones.remove(&bench.runner(), &b).unwrap());
    bench.clones.empty_trash();
    let left = bench.clones.leftovers().unwrap();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].0.ends_with("a"));
}
