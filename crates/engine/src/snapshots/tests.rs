//! Random trees and random changes: after a rollback the task's are gone, everybody else's stay, and a redo brings them back.

mod edits;
mod mapped;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use contract::domain::attempt::AttemptId;
use contract::domain::id::mint;
use contract::domain::rollback::{Direction, FileResult, FileStatus};
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use ops::host::Collection;
use proptest::prelude::*;
use testkit::SeededIds;

use super::*;
use crate::index::Index;
use edits::{Edit, apply, edit};

struct World {
    scratch: tempfile::TempDir,
    root: PathBuf,
    snapshots: Snapshots,
    index: Index,
    ids: SeededIds,
    task: TaskId,
    run: RunId,
    scopes: Vec<Scope>,
}

impl Drop for World {
    fn drop(&mut self) {
        // A directory that nobody may write could not be removed.
        for path in picture(&self.root).into_keys().map(|path| self.root.join(path)) {
            if path.is_dir() && !path.is_symlink() {
                fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
            }
        }
    }
}

impl World {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("work");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        let mut ids = SeededIds::new(7);
        let at = Timestamp::from_millis(0);
        let task = mint(&mut ids, at);
        let run = RunId::from_uuid("3f5626fe-3b5a-4a0c-8a1d-6d1f3b0c9a11").unwrap();
        let (snapshots, index) =
            (scratch.path().join("writ.db.snapshots"), scratch.path().join("writ.db.index"));
        let scopes = vec![Scope::parse("src", None).unwrap()];
        let (snapshots, index) = (Snapshots::at(snapshots), Index::at(index));
        Self { scratch, root, snapshots, index, ids, task, run, scopes }
    }

    /// An attempt of a task.
    fn attempt(&mut self, at_ms: i64, work: impl FnOnce(&Path)) -> AttemptId {
        let attempt: AttemptId = mint(&mut self.ids, Timestamp::from_millis(at_ms));
        let subject = SnapshotSubject {
            attempt: &attempt,
            task: &self.task,
            run: &self.run,
            name: "t",
            root: &self.root,
            scopes: &self.scopes,
            at: Timestamp::from_millis(at_ms),
        };
        self.snapshots.take(&self.index, &subject).unwrap();
        work(&self.root);
        self.snapshots.finish(&self.index, &subject).unwrap();
        attempt
    }

    fn roll(&self, attempt: &AttemptId, direction: Direction) -> Vec<FileResult> {
        let attempts = [attempt.clone()];
        self.snapshots.roll_back(&self.index, &RestoreJob::new(&self.root, &attempts, direction)).unwrap()
    }

    /// Kills it after each number of steps, and then lets it end.
    fn roll_killed(&self, attempt: &AttemptId, direction: Direction) -> Vec<FileResult> {
        let attempts = [attempt.clone()];
        for round in 0.. {
            let job =
                RestoreJob::new(&self.root, &attempts, direction).repeated(round > 0).killed_after(round);
            match self.snapshots.roll_back(&self.index, &job) {
                Ok(files) => return files,
                Err(SnapshotError::Stopped) => {}
                Err(fault) => panic!("{fault}"),
            }
        }
        unreachable!("BUG: it ends after its last step")
    }
}

/// What anybody can see of a tree.
type Picture = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn picture(root: &Path) -> Picture {
    let mut picture = Picture::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if meta.is_dir() {
                pending.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            picture.insert(path.strip_prefix(root).unwrap().to_owned(), (meta.mode(), content));
        }
    }
    picture
}

fn left_of(files: &[FileResult]) -> Vec<String> {
    let is_left = |file: &&FileResult| matches!(file.status, FileStatus::Conflict | FileStatus::Failed);
    files.iter().filter(is_left).map(|file| file.path.clone()).collect()
}

fn script(length: usize) -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), 0..length)
}

fn run(root: &Path, directory: &str, edits: &[Edit]) {
    edits.iter().for_each(|edit| apply(&root.join(directory), edit));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testkit::rounds(96), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_rollback_restores_the_tree_and_a_redo_brings_everything_back(
        before in script(24), work in script(24), other in script(12), is_killed in any::<bool>(),
    ) {
        let mut world = World::new();
        run(&world.root, "src", &before);
        let old = picture(&world.root.join("src"));
        let attempt = world.attempt(1, |root| {
            run(root, "src", &work);
            // Another task works beside it.
            run(root, "other", &other);
        });
        let (new, beside) = (picture(&world.root.join("src")), picture(&world.root.join("other")));
        let roll = |direction| {
            if is_killed { world.roll_killed(&attempt, direction) } else { world.roll(&attempt, direction) }
        };
        prop_assert_eq!(left_of(&roll(Direction::Undo)), Vec::<String>::new());
        prop_assert_eq!(&picture(&world.root.join("src")), &old);
        prop_assert_eq!(left_of(&roll(Direction::Redo)), Vec::<String>::new());
        prop_assert_eq!(&picture(&world.root.join("src")), &new);
        prop_assert_eq!(&picture(&world.root.join("other")), &beside);
    }

    #[test]
    fn what_a_person_changed_since_is_listed_and_stays(
        before in script(16), work in script(16), person in script(6), is_killed in any::<bool>(),
    ) {
        let mut world = World::new();
        run(&world.root, "src", &before);
        let old = picture(&world.root);
        let attempt = world.attempt(1, |root| run(root, "src", &work));
        let new = picture(&world.root);
        run(&world.root, "src", &person);
        let edited = picture(&world.root);
        let files = if is_killed { world.roll_killed(&attempt, Direction::Undo) } else { world.roll(&attempt, Direction::Undo) };
        let now = picture(&world.root);
        let left = left_of(&files);
        let is_left = |path: &Path| left.iter().any(|left| path.starts_with(left) || Path::new(left).starts_with(path));
        let paths = old.keys().chain(new.keys()).chain(edited.keys()).chain(now.keys());
        for path in paths {
            let (was, made, has, is) = (old.get(path), new.get(path), edited.get(path), now.get(path));
            if was == made {
                prop_assert_eq!(is, has, "{:?} is not the task's", path);
            } else if has == made && !is_left(path) {
                prop_assert_eq!(is, was, "{:?} is taken back", path);
            } else if has != made && has != was {
                prop_assert_eq!(is, has, "{:?} was changed by the person", path);
                prop_assert!(left.iter().any(|left| Path::new(left) == path), "{path:?} is not listed in {left:?}");
            }
        }
        let files = world.roll(&attempt, Direction::Redo);
        let again = picture(&world.root);
        let left = left_of(&files);
        let is_left = |path: &Path| left.iter().any(|left| path.starts_with(left) || Path::new(left).starts_with(path));
        for path in old.keys().chain(new.keys()).chain(edited.keys()).chain(again.keys()) {
            let (was, made, has, is) = (old.get(path), new.get(path), edited.get(path), again.get(path));
            if was == made || (has != made && has != was) {
                prop_assert_eq!(is, has, "{:?} is not the task's", path);
            } else if has == made && !is_left(path) {
                prop_assert_eq!(is, made, "{:?} is there again", path);
            }
        }
    }
}

/// The task replaced a file by a directory, and a person made a directory in that.
fn replaced_and_filled(world: &mut World) -> AttemptId {
    let path = world.root.join("src/a b");
    fs::write(&path, "one").unwrap();
    let attempt = world.attempt(1, |_| {
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
    });
    fs::create_dir(path.join("b")).unwrap();
    attempt
}

#[test]
fn a_directory_that_a_person_filled_stays_however_often_the_rollback_is_killed() {
    let mut world = World::new();
    let attempt = replaced_and_filled(&mut world);
    let edited = picture(&world.root);
    assert_eq!(left_of(&world.roll_killed(&attempt, Direction::Undo)), ["src/a b"]);
    assert_eq!(picture(&world.root), edited);
}

#[test]
fn a_filled_directory_that_a_killed_rollback_moved_aside_comes_back() {
    let mut world = World::new();
    let attempt = replaced_and_filled(&mut world);
    let edited = picture(&world.root);
    // The person was quicker than the last look before the exchange, and then the rollback was killed.
    let path = world.root.join("src/a b");
    let aside = world.root.join("src").join(place::temporary(b"src/a b"));
    fs::rename(&path, &aside).unwrap();
    fs::write(&path, "one").unwrap();
    assert_eq!(left_of(&world.roll_killed(&attempt, Direction::Undo)), ["src/a b"]);
    assert_eq!(picture(&world.root), edited);
    // What the person wrote in its place since then is not exchanged.
    fs::rename(&path, &aside).unwrap();
    fs::write(&path, "two").unwrap();
    let both = picture(&world.root);
    assert_eq!(left_of(&world.roll_killed(&attempt, Direction::Undo)), ["src/a b"]);
    assert_eq!(picture(&world.root), both);
}

#[test]
fn what_git_ignored_before_the_task_is_never_taken_for_new() {
    let mut world = World::new();
    world.scopes = vec![Scope::everything()];
    fs::write(world.root.join(".gitignore"), "private\nbuild/\n").unwrap();
    fs::write(world.root.join("private"), "not in git").unwrap();
    fs::create_dir(world.root.join("build")).unwrap();
    fs::write(world.root.join("build/out"), "made").unwrap();
    fs::write(world.root.join("src/file"), "one").unwrap();
    let old = picture(&world.root);
    let attempt = world.attempt(1, |root| {
        fs::write(root.join(".gitignore"), "file\n").unwrap();
        fs::write(root.join("src/file"), "two").unwrap();
        fs::write(root.join("new"), "new").unwrap();
    });
    let new = picture(&world.root);
    assert_eq!(left_of(&world.roll(&attempt, Direction::Undo)), Vec::<String>::new());
    assert_eq!(picture(&world.root), old);
    assert_eq!(left_of(&world.roll(&attempt, Direction::Redo)), Vec::<String>::new());
    assert_eq!(picture(&world.root), new);
}

#[test]
fn files_and_directories_whose_names_contain_secrets_come_back() {
    let mut world = World::new();
    let secret = ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    let (file, directory) = (format!("src/{secret}"), format!("src/d/{secret}-d"));
    fs::write(world.root.join(&file), "one").unwrap();
    fs::create_dir_all(world.root.join(&directory)).unwrap();
    fs::write(world.root.join(&directory).join("inner"), "two").unwrap();
    let old = picture(&world.root);
    let attempt = world.attempt(1, |root| {
        fs::write(root.join(&file), "changed").unwrap();
        fs::remove_dir_all(root.join(&directory)).unwrap();
    });
    let changed: Vec<String> =
        world.roll(&attempt, Direction::Undo).into_iter().map(|file| file.path).collect();
    assert_eq!(changed, [directory.clone(), format!("{directory}/inner"), file]);
    assert_eq!(picture(&world.root), old);
}

#[test]
fn a_second_snapshot_reads_and_keeps_only_what_changed() {
    let mut world = World::new();
    for number in 0..50 {
        fs::write(world.root.join(format!("src/{number}")), number.to_string()).unwrap();
    }
    world.attempt(1, |root| fs::write(root.join("src/7"), "changed").unwrap());
    world.attempt(2, |_| {});
    let kept = world.snapshots.list().unwrap();
    let copied: Vec<u64> = kept.iter().map(|kept| kept.taken.copied + kept.taken.cloned).collect();
    assert_eq!(copied, [50, 1]);
    assert_eq!(kept.iter().map(|kept| kept.taken.files).collect::<Vec<u64>>(), [50, 50]);
}

#[test]
fn sparse_and_large_files_come_back_and_stay_sparse() {
    let mut world = World::new();
    let path = world.root.join("src/sparse");
    let hole = 160 * 1024 * 1024;
    let file = fs::File::create(&path).unwrap();
    file.set_len(hole).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"middle", hole / 2).unwrap();
    drop(file);
    let attempt = world.attempt(1, |root| fs::remove_file(root.join("src/sparse")).unwrap());
    assert_eq!(left_of(&world.roll(&attempt, Direction::Undo)), Vec::<String>::new());
    let meta = fs::metadata(&path).unwrap();
    assert_eq!(meta.len(), hole);
    assert!(meta.blocks() * 512 < 1024 * 1024, "{} blocks", meta.blocks());
    let mut middle = [0; 6];
    std::os::unix::fs::FileExt::read_exact_at(&fs::File::open(&path).unwrap(), &mut middle, hole / 2)
        .unwrap();
    assert_eq!(&middle, b"middle");
}

#[test]
fn what_could_not_be_taken_in_is_named_and_never_overwritten() {
    let mut world = World::new();
    world.snapshots = world.snapshots.clone().limited_to(10);
    fs::write(world.root.join("src/large"), "more than ten bytes").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, world.root.join("src/pipe"), rustix::fs::Mode::RWXU).unwrap();
    let attempt = world.attempt(1, |root| {
        fs::write(root.join("src/large"), "changed by the task").unwrap();
        fs::remove_file(root.join("src/pipe")).unwrap();
        fs::write(root.join("src/new"), "as large as the other").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("src/made"), rustix::fs::Mode::RWXU).unwrap();
    });
    let kept = &world.snapshots.list().unwrap()[0];
    assert_eq!(kept.taken.not_taken.len(), 2, "{:?}", kept.taken.not_taken);
    assert!(kept.taken.not_taken[0].starts_with("src/large: it is larger than 10 bytes"));
    let files = world.roll(&attempt, Direction::Undo);
    assert_eq!(left_of(&files), ["src/large", "src/made", "src/new", "src/pipe"]);
    // Reading a pipe would wait for a writer.
    fs::remove_file(world.root.join("src/made")).unwrap();
    assert_eq!(fs::read_to_string(world.root.join("src/large")).unwrap(), "changed by the task");
    // What could not be kept is not taken away either.
    assert!(files[2].reason.as_ref().unwrap().starts_with("it is larger than 10 bytes"), "{files:?}");
    assert!(world.root.join("src/new").exists());
}

#[test]
fn a_file_that_is_larger_than_a_snapshot_keeps_is_not_read_at_the_end_of_a_task() {
    let mut world = World::new();
    let attempt = world.attempt(1, |root| {
        let file = fs::File::create(root.join("src/huge")).unwrap();
        // Reading it would take an hour. The largest that some file systems can have is smaller.
        let is_made = [1 << 42, 1 << 40].into_iter().any(|length| file.set_len(length).is_ok());
        assert!(is_made);
        fs::write(root.join("src/small"), "s").unwrap();
    });
    let files = world.roll(&attempt, Direction::Undo);
    assert_eq!(left_of(&files), ["src/huge"]);
    assert!(files[0].reason.as_ref().unwrap().contains("SNAPSHOT_FILE_BYTES_MAX"), "{files:?}");
    assert!(!world.root.join("src/small").exists());
    fs::remove_file(world.root.join("src/huge")).unwrap();
}

#[test]
fn a_content_gets_its_name_only_when_it_is_on_the_disk() {
    let world = World::new();
    let objects = world.snapshots.objects().unwrap();
    let path = world.root.join("src/file");
    for number in 0..40 {
        fs::write(&path, number.to_string()).unwrap();
        objects.put_file(&fs::File::open(&path).unwrap(), &super::bounds(None)).unwrap();
    }
    let (digest, is_new) = objects.put_bytes(b"39").unwrap();
    assert!(!is_new && objects.has(&digest, 2) && !objects.path(&digest).exists());
    objects.sync().unwrap();
    assert_eq!(fs::read(objects.path(&digest)).unwrap(), b"39");
    assert_eq!(fs::read_dir(objects.directory().join("tmp")).unwrap().count(), 0);
    // Nothing is left of what was not synced.
    assert!(objects.put_bytes(b"never synced").unwrap().1);
    drop(objects);
    assert_eq!(fs::read_dir(world.scratch.path().join("writ.db.snapshots/objects/tmp")).unwrap().count(), 0);
}

#[test]
fn a_content_that_was_cut_off_is_taken_in_again() {
    let mut world = World::new();
    fs::write(world.root.join("src/file"), "whole").unwrap();
    world.attempt(1, |_| {});
    let digest = contract::digest::raw_of_bytes(b"whole");
    let object = world.snapshots.objects().unwrap().path(&digest);
    fs::write(&object, "").unwrap();
    let attempt = world.attempt(2, |root| fs::write(root.join("src/file"), "changed").unwrap());
    assert_eq!(left_of(&world.roll(&attempt, Direction::Undo)), Vec::<String>::new());
    assert_eq!(fs::read(world.root.join("src/file")).unwrap(), b"whole");
}

#[test]
fn a_file_is_read_no_longer_than_the_deadline_allows() {
    let world = World::new();
    let path = world.root.join("src/file");
    fs::write(&path, "text").unwrap();
    let (file, into) = (fs::File::open(&path).unwrap(), fs::File::create(world.root.join("copy")).unwrap());
    let past = ReadLimits { bytes_max: 100, deadline: Instant::now().checked_sub(Duration::from_millis(1)) };
    assert!(objects::digest_of(&file, &past).unwrap_err().to_string().contains("SNAPSHOT_TIME_MAX"));
    assert!(objects::copy(&file, &into, &past).is_err());
    assert!(objects::digest_of(&file, &super::bounds(None)).is_ok());
}

#[test]
fn a_large_file_that_nobody_touched_is_no_change() {
    let mut world = World::new();
    world.snapshots = world.snapshots.clone().limited_to(10);
    fs::write(world.root.join("src/large"), "more than ten bytes").unwrap();
    let attempt = world.attempt(1, |root| fs::write(root.join("src/small"), "s").unwrap());
    let files = world.roll(&attempt, Direction::Undo);
    assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<&str>>(), ["src/small"]);
}

#[test]
fn a_directory_that_became_a_link_leads_nowhere() {
    let mut world = World::new();
    let outside = world.scratch.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "not yours").unwrap();
    fs::create_dir(world.root.join("src/d")).unwrap();
    fs::write(world.root.join("src/d/file"), "mine").unwrap();
    fs::write(world.root.join("src/d/gone"), "mine too").unwrap();
    let attempt = world.attempt(1, |root| {
        fs::remove_dir_all(root.join("src/d")).unwrap();
        symlink(&outside, root.join("src/d")).unwrap();
    });
    assert_eq!(left_of(&world.roll(&attempt, Direction::Undo)), Vec::<String>::new());
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "not yours");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(world.root.join("src/d/gone")).unwrap(), "mine too");
    // Replaced again after the task: the way there is blocked, and nothing is written through it.
    let attempt = world.attempt(2, |root| fs::remove_file(root.join("src/d/gone")).unwrap());
    fs::remove_dir_all(world.root.join("src/d")).unwrap();
    symlink(&outside, world.root.join("src/d")).unwrap();
    assert_eq!(left_of(&world.roll(&attempt, Direction::Undo)), ["src/d/gone"]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn two_names_of_one_file_are_taken_back() {
    let mut world = World::new();
    fs::write(world.root.join("src/a"), "one").unwrap();
    let old = picture(&world.root);
    let attempt = world.attempt(1, |root| {
        fs::write(root.join("src/new"), "two").unwrap();
        fs::hard_link(root.join("src/new"), root.join("src/newer")).unwrap();
        fs::remove_file(root.join("src/a")).unwrap();
        fs::hard_link(root.join("src/new"), root.join("src/a")).unwrap();
    });
    assert_eq!(left_of(&world.roll(&attempt, Direction::Undo)), Vec::<String>::new());
    assert_eq!(picture(&world.root), old);
}

#[test]
fn a_preview_changes_nothing() {
    let mut world = World::new();
    fs::write(world.root.join("src/a"), "1").unwrap();
    let attempt = world.attempt(1, |root| {
        fs::write(root.join("src/a"), "2").unwrap();
        fs::write(root.join("src/b"), "2").unwrap();
    });
    let before = picture(world.scratch.path());
    let attempts = [attempt];
    let job = RestoreJob::new(&world.root, &attempts, Direction::Undo).previewed();
    let files = world.snapshots.roll_back(&world.index, &job).unwrap();
    let shown: Vec<String> = files
        .iter()
        .map(|file| format!("{} {} {}", file.status.as_str(), file.action.as_str(), file.path))
        .collect();
    assert_eq!(shown, ["planned restore src/a", "planned remove src/b"]);
    let mut after = picture(world.scratch.path());
    let is_index = |path: &Path| path.starts_with("writ.db.index");
    after.retain(|path, _| !is_index(path));
    assert_eq!(after, before.into_iter().filter(|(path, _)| !is_index(path)).collect());
}

#[test]
fn a_damaged_content_is_noticed_before_it_is_used() {
    let mut world = World::new();
    fs::write(world.root.join("src/a"), "one").unwrap();
    let attempt = world.attempt(1, |root| fs::write(root.join("src/a"), "two").unwrap());
    let object = world.snapshots.objects().unwrap().path(&contract::digest::raw_of_bytes(b"one"));
    fs::write(object, "eno").unwrap();
    let files = world.roll(&attempt, Direction::Undo);
    assert_eq!(files[0].reason.as_deref(), Some("the stored content is damaged"));
    assert_eq!(fs::read_to_string(world.root.join("src/a")).unwrap(), "two");
    assert_eq!(fs::read_dir(world.root.join("src")).unwrap().count(), 1);
}

#[test]
fn a_collection_removes_old_snapshots_and_what_only_they_had() {
    let mut world = World::new();
    fs::write(world.root.join("src/shared"), "in both").unwrap();
    fs::write(world.root.join("src/old"), "only in the first").unwrap();
    let first = world.attempt(1_000, |root| fs::remove_file(root.join("src/old")).unwrap());
    let second = world.attempt(2_000, |root| fs::write(root.join("src/shared"), "changed").unwrap());
    let listed: std::collections::BTreeSet<AttemptId> = [first.clone(), second.clone()].into();
    let collection = |held: &[&AttemptId], cutoff: i64, is_preview| Collection {
        listed: listed.clone(),
        held: held.iter().map(|id| (*id).clone()).collect(),
        cutoff: Timestamp::from_millis(cutoff),
        bytes_max: u64::MAX,
        is_preview,
    };
    let told = |collection| {
        let done = world.snapshots.collect(&collection).unwrap();
        (done.snapshots, done.contents, done.held)
    };
    assert_eq!(told(collection(&[&first], 1_500, false)), (0, 0, 1), "somebody may still need it");
    assert_eq!(told(collection(&[], 1_500, true)), (1, 1, 0));
    assert_eq!(world.snapshots.list().unwrap().len(), 2, "a preview removes nothing");
    assert_eq!(told(collection(&[], 1_500, false)), (1, 1, 0));
    assert!(matches!(world.snapshots.scopes(&[first]), Err(SnapshotError::Missing)));
    assert_eq!(left_of(&world.roll(&second, Direction::Undo)), Vec::<String>::new());
    assert_eq!(fs::read_to_string(world.root.join("src/shared")).unwrap(), "in both");
    let small = Collection { bytes_max: 0, ..collection(&[], 0, false) };
    assert_eq!(world.snapshots.collect(&small).unwrap().left_bytes, 0, "all contents are gone");
}

/// Everything goes, if nothing keeps it.
fn everything(listed: &[&AttemptId], held: &[&AttemptId]) -> Collection {
    let set = |ids: &[&AttemptId]| ids.iter().map(|id| (*id).clone()).collect();
    let cutoff = Timestamp::from_millis(i64::MAX);
    Collection { listed: set(listed), held: set(held), cutoff, bytes_max: 0, is_preview: false }
}

#[test]
fn a_collection_removes_only_what_was_listed_and_what_a_killed_writer_left() {
    let mut world = World::new();
    fs::write(world.root.join("src/file"), "one").unwrap();
    let first = world.attempt(1, |_| {});
    let second = world.attempt(2, |root| fs::write(root.join("src/file"), "two").unwrap());
    let left = world.scratch.path().join(format!("writ.db.snapshots/{first}.before.7.tmp"));
    fs::write(&left, "half of a record").unwrap();
    let done = world.snapshots.collect(&everything(&[&first], &[])).unwrap();
    assert_eq!((done.snapshots, done.contents, done.held), (1, 0, 1), "the second was taken since");
    assert!(!left.exists());
    assert_eq!(left_of(&world.roll(&second, Direction::Undo)), Vec::<String>::new());
}

#[test]
fn only_a_damaged_record_loses_its_right_to_stay() {
    let mut world = World::new();
    fs::write(world.root.join("src/file"), "one").unwrap();
    let first = world.attempt(1, |_| {});
    let second = world.attempt(2, |root| fs::write(root.join("src/file"), "two").unwrap());
    let path = |id: &AttemptId| world.snapshots.record_path(id, RecordSide::Before).unwrap();
    let (kept, other) = (fs::read(path(&first)).unwrap(), [&b"writ-snapshot 2\n"[..], b"and more"].concat());
    let all = everything(&[&first, &second], &[]);
    // What another version wrote stays, with every content that it may need.
    fs::write(path(&first), &other).unwrap();
    let done = world.snapshots.collect(&all).unwrap();
    assert_eq!((done.snapshots, done.contents, done.held), (1, 0, 1));
    assert_eq!(fs::read(path(&first)).unwrap(), other);
    // What cannot be read now is not judged, and neither is anything else.
    fs::remove_file(path(&first)).unwrap();
    fs::create_dir(path(&first)).unwrap();
    assert!(matches!(world.snapshots.collect(&all), Err(SnapshotError::Io { .. })));
    fs::remove_dir(path(&first)).unwrap();
    // A damaged one is of no use to anybody.
    let mut damaged = kept;
    damaged[20] ^= 1;
    fs::write(path(&first), &damaged).unwrap();
    let done = world.snapshots.collect(&everything(&[&first], &[&first])).unwrap();
    assert_eq!((done.snapshots, done.contents, done.held), (1, 1, 0));
}

#[test]
fn modes_and_empty_directories_are_part_of_a_snapshot() {
    let mut world = World::new();
    fs::create_dir(world.root.join("src/empty")).unwrap();
    fs::write(world.root.join("src/tool"), "#!/bin/sh\n").unwrap();
    let set = |path: PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(world.root.join("src/tool"), 0o755);
    set(world.root.join("src/empty"), 0o750);
    let old = picture(&world.root);
    let attempt = world.attempt(1, |root| {
        set(root.join("src/tool"), 0o600);
        fs::remove_dir(root.join("src/empty")).unwrap();
        fs::create_dir_all(root.join("src/new/inner")).unwrap();
    });
    assert_eq!(left_of(&world.roll(&attempt, Direction::Undo)), Vec::<String>::new());
    assert_eq!(picture(&world.root), old);
}

#[test]
fn what_another_task_may_have_changed_stays() {
    let mut world = World::new();
    fs::write(world.root.join("src/old"), "old").unwrap();
    let attempt = world.attempt(1, |root| {
        fs::write(root.join("src/new"), "new").unwrap();
        fs::write(root.join("src/old"), "changed").unwrap();
    });
    let at = |from: i64, until: i64| Beside {
        name: "u2".to_owned(),
        since: Timestamp::from_millis(from),
        until: Timestamp::from_millis(until),
    };
    let (ago, always) = ([at(0, 1000)], [at(0, i64::MAX / 2)]);
    let attempts = [attempt];
    let roll_back = |beside: &[Beside]| {
        let job = RestoreJob::new(&world.root, &attempts, Direction::Undo).beside(beside);
        let files = world.snapshots.roll_back(&world.index, &job).unwrap();
        files.into_iter().map(|file| (file.path, file.status)).collect::<Vec<_>>()
    };
    let expected = |status| vec![("src/new".to_owned(), status), ("src/old".to_owned(), status)];
    assert_eq!(roll_back(&always), expected(FileStatus::Conflict));
    assert_eq!(fs::read_to_string(world.root.join("src/new")).unwrap(), "new");
    assert_eq!(roll_back(&ago), expected(FileStatus::Done));
    assert_eq!(fs::read_to_string(world.root.join("src/old")).unwrap(), "old");
}

/// What is gone was nobody's edit that could be lost, so it comes back in any case.
#[test]
fn a_file_that_was_changed_between_two_engines_stays() {
    let mut world = World::new();
    for name in ["src/old", "src/gone"] {
        fs::write(world.root.join(name), "old").unwrap();
    }
    let attempt = world.attempt(1, |root| {
        fs::write(root.join("src/old"), "changed").unwrap();
        fs::remove_file(root.join("src/gone")).unwrap();
    });
    let attempts = [attempt];
    let roll_back = |since_ms, until_ms| {
        let [since, until] = [since_ms, until_ms].map(Timestamp::from_millis);
        let job =
            RestoreJob::new(&world.root, &attempts, Direction::Undo).between(Some(Between { since, until }));
        let files = world.snapshots.roll_back(&world.index, &job).unwrap();
        files.into_iter().map(|file| (file.path, file.status)).collect::<Vec<_>>()
    };
    let of = |gone, old| vec![("src/gone".to_owned(), gone), ("src/old".to_owned(), old)];
    assert_eq!(roll_back(0, i64::MAX), of(FileStatus::Done, FileStatus::Conflict));
    assert_eq!(fs::read_to_string(world.root.join("src/old")).unwrap(), "changed");
    assert_eq!(roll_back(0, 1000), of(FileStatus::Unchanged, FileStatus::Done));
    assert_eq!(fs::read_to_string(world.root.join("src/old")).unwrap(), "old");
}

/// A repository in the scope that the task changes, one that it leaves alone, and one that it makes.
#[test]
fn a_repository_in_the_scope_is_listed_and_one_that_the_task_made_is_taken_back() {
    let mut world = World::new();
    for path in ["src/known/.git/refs", "src/left/.git"] {
        fs::create_dir_all(world.root.join(path)).unwrap();
    }
    fs::write(world.root.join("src/known/.git/HEAD"), "one").unwrap();
    let attempt = world.attempt(1, |root| {
        fs::write(root.join("src/known/.git/HEAD"), "two").unwrap();
        fs::write(root.join("src/left/.git/index"), "looked at").unwrap();
        fs::create_dir_all(root.join("src/made/.git/objects/aa")).unwrap();
        fs::write(root.join("src/made/.git/objects/aa/bb"), "content").unwrap();
    });
    let attempts = [attempt];
    let kept = world.snapshots.list().unwrap();
    assert_eq!(kept[0].taken.not_taken.len(), 2, "{:?}", kept[0].taken);
    let files =
        world.snapshots.roll_back(&world.index, &RestoreJob::new(&world.root, &attempts, Direction::Undo));
    let left = files.unwrap().into_iter().filter(|file| file.status != FileStatus::Done);
    let left: Vec<(String, FileStatus)> = left.map(|file| (file.path, file.status)).collect();
    assert_eq!(left, [("src/known/.git".to_owned(), FileStatus::Failed)]);
    assert!(!world.root.join("src/made").exists());
    let redo = RestoreJob::new(&world.root, &attempts, Direction::Redo);
    world.snapshots.roll_back(&world.index, &redo).unwrap();
    assert_eq!(fs::read_to_string(world.root.join("src/made/.git/objects/aa/bb")).unwrap(), "content");
}

#[test]
fn a_scope_in_a_repository_of_its_own_has_no_snapshot() {
    let mut world = World::new();
    world.scopes = vec![Scope::parse(".git", None).unwrap()];
    let attempt: AttemptId = mint(&mut world.ids, Timestamp::from_millis(1));
    let subject = SnapshotSubject {
        attempt: &attempt,
        task: &world.task,
        run: &world.run,
        name: "t",
        root: &world.root,
        scopes: &world.scopes,
        at: Timestamp::from_millis(1),
    };
    assert!(matches!(world.snapshots.take(&world.index, &subject), Err(SnapshotError::Repository(_))));
}
