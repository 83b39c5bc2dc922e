//! Clones of real repositories: what is in them, what lands in the workspace, and what is never lost or run.

mod discarding;
mod leftovers;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use contract::domain::id::{Attempt, Id, mint};
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use contract::domain::worktree::{MergeConflict, Standing};
use engine::git::{Git, Runner};
use engine::supervisor::ShimProgram;
use engine::worktree::{
    Author, CloneOrder, Landing, MergeCandidate, Trial, Worktree, WorktreeError, Worktrees,
};
use testkit::{Scratch, SeededIds};

use crate::world::PROGRAM;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A repository with one commit, and clones beside it.
struct Bench {
    scratch: Scratch,
    clones: Worktrees,
    shim: ShimProgram,
    environment: BTreeMap<OsString, OsString>,
    ids: SeededIds,
    run: RunId,
}

impl Bench {
    fn new() -> Self {
        let scratch = Scratch::new();
        let clones = Worktrees::at(scratch.join("clones"));
        let shim = ShimProgram {
            program: PROGRAM.into(),
            args: vec!["shim".into()],
            has_template: true,
            store: std::sync::OnceLock::new(),
        };
        let home = scratch.dir("home").into_os_string();
        let environment =
            BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()), ("HOME".into(), home)]);
        let mut ids = SeededIds::new(7);
        let run = mint(&mut ids, NOW);
        scratch.dir("work");
        let bench = Self { scratch, clones, shim, environment, ids, run };
        bench.git("work", &["init", "-q", "-b", "main"]);
        bench.write("work/file", "one\n");
        bench.write("work/other", "other\n");
        bench.write("work/.gitignore", "built\n");
        bench.commit("work", "first");
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        self.scratch.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Runs git as a person would.
    #[expect(clippy::disallowed_methods, reason = "a person's own git, which writ does not start")]
    fn git(&self, directory: &str, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ann", "-c", "user.email=ann@x"]).args(words);
        command.current_dir(self.path(directory)).env_clear().envs(&self.environment);
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned()
    }

    fn commit(&self, directory: &str, message: &str) {
        self.git(directory, &["add", "-A"]);
        self.git(directory, &["commit", "-q", "-m", message]);
    }

    fn runner(&self) -> Runner<'_> {
        let mark: Id<Attempt> = mint(&mut SeededIds::new(9), NOW);
        Runner { launcher: &self.shim, environment: &self.environment, mark }
    }

    fn try_open(&mut self, name: &str, ports: u16) -> Result<Worktree, WorktreeError> {
        let task: TaskId = mint(&mut self.ids, NOW);
        let workspace = self.path("work");
        let order = CloneOrder { run: &self.run, task: &task, name, workspace: &workspace, ports, at: NOW };
        self.clones.open(&self.runner(), &order).map(|(clone, _)| clone)
    }

    fn open(&mut self, name: &str) -> Worktree {
        self.try_open(name, 0).unwrap()
    }

    fn bring(&self, clone: &Worktree) -> Result<MergeCandidate, Box<MergeConflict>> {
        let message = format!("Work\n\nWrit-Run: {}\nWrit-Task: {}\n", self.run, clone.record.name);
        let author = Author { name: "shell", message: &message };
        match clone.bring_together(&self.runner(), &author).unwrap() {
            Trial::Fits(candidate) => Ok(candidate),
            Trial::Conflict(conflict) => Err(conflict),
        }
    }

    fn land(&self, clone: &mut Worktree) -> Landing {
        let candidate = self.bring(clone).unwrap();
        self.put(clone, &candidate)
    }

    fn put(&self, clone: &mut Worktree, candidate: &MergeCandidate) -> Landing {
        self.try_put(clone, candidate).unwrap()
    }

    fn try_put(&self, clone: &mut Worktree, candidate: &MergeCandidate) -> Result<Landing, WorktreeError> {
        match self.clones.prepare(&self.runner(), clone, candidate)? {
            Some(prepared) => prepared.land(clone),
            None => Ok(Landing::Moved),
        }
    }

    fn edit(&self, clone: &Worktree, path: &str, text: &str) {
        let path = clone.tree().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A PATH whose git runs a script instead of the commands that match.
    fn git_that(&self, pattern: &str, script: &str) -> OsString {
        let name = format!("bin-{}", contract::digest::of_bytes(script.as_bytes()).replace(':', "-"));
        let path = "/usr/local/bin:/usr/bin:/bin";
        let text = format!(
            "#!/bin/sh\nexport PATH={path} GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=Ann \
             GIT_COMMITTER_EMAIL=a@x\ncase \" $* \" in {pattern}) {script};; esac\nexec git \"$@\"\n"
        );
        let program = self.path(&name).join("git");
        self.write(&format!("{name}/git"), &text);
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        format!("{}:{path}", self.path(&name).display()).into()
    }

    fn status(&self) -> String {
        self.git("work", &["status", "--porcelain"])
    }
}

#[test]
fn work_in_a_clone_lands_as_a_merge_that_names_run_and_task() {
    let mut bench = Bench::new();
    let mut clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    bench.edit(&clone, "new/file", "new\n");
    bench.edit(&clone, "built", "ignored\n");
    fs::remove_file(clone.tree().join("other")).unwrap();
    assert_eq!(bench.read("work/file"), "one\n", "the workspace is not touched before it lands");
    assert_eq!(bench.land(&mut clone), Landing::Landed);
    assert_eq!(bench.read("work/file"), "two\n");
    assert_eq!(bench.read("work/new/file"), "new\n");
    assert!(!bench.path("work/other").exists() && !bench.path("work/built").exists());
    assert_eq!(bench.status(), "");
    let format = "--format=%an/%cn %s %(trailers:key=Writ-Task,valueonly,separator=%x2C)";
    let log = bench.git("work", &["log", "--topo-order", format, "HEAD"]);
    assert_eq!(log, "writ/writ Work a\nshell/writ Work a\nAnn/Ann first ");
    let kept = bench.git("work", &["for-each-ref", "--format=%(refname)", "refs/writ"]);
    assert_eq!(kept, format!("refs/writ/{}/a", bench.run));
}

#[test]
fn commits_of_the_task_itself_are_kept() {
    let mut bench = Bench::new();
    let mut clone = bench.open("a");
    let inside = format!("clones/{}/a/tree", bench.run);
    bench.edit(&clone, "file", "two\n");
    bench.commit(&inside, "by the agent");
    bench.edit(&clone, "file", "three\n");
    assert_eq!(bench.land(&mut clone), Landing::Landed);
    assert_eq!(bench.read("work/file"), "three\n");
    let log = bench.git("work", &["log", "--topo-order", "--format=%s", "HEAD"]);
    assert_eq!(log, "Work\nWork\nby the agent\nfirst");
}

#[test]
fn two_clones_merge_and_the_second_is_checked_with_the_first() {
    let mut bench = Bench::new();
    let (mut a, mut b) = (bench.open("a"), bench.open("b"));
    bench.edit(&a, "file", "two\n");
    bench.edit(&b, "other", "changed\n");
    assert_eq!(bench.land(&mut a), Landing::Landed);
    let candidate = bench.bring(&b).unwrap();
    let seen = fs::read_to_string(b.tree().join("file")).unwrap();
    assert_eq!((seen.as_str(), &candidate.paths), ("two\n", &vec!["other".to_owned()]));
    assert_eq!(bench.put(&mut b, &candidate), Landing::Landed);
    assert_eq!((bench.read("work/file"), bench.read("work/other")), ("two\n".into(), "changed\n".into()));
    assert_eq!(bench.status(), "");
}

#[test]
fn a_workspace_that_moved_on_is_not_merged_into() {
    let mut bench = Bench::new();
    let mut clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    let candidate = bench.bring(&clone).unwrap();
    bench.write("work/other", "by a person\n");
    bench.commit("work", "second");
    assert_eq!(bench.put(&mut clone, &candidate), Landing::Moved);
    assert_eq!(bench.read("work/file"), "one\n");
    assert_eq!(bench.land(&mut clone), Landing::Landed);
    assert_eq!((bench.read("work/file"), bench.read("work/other")), ("two\n".into(), "by a person\n".into()));
}

#[test]
fn a_conflict_names_both_sides_and_loses_nothing() {
    let mut bench = Bench::new();
    let (mut a, b) = (bench.open("a"), bench.open("b"));
    bench.edit(&a, "file", "by a\n");
    bench.edit(&b, "file", "by b\n");
    assert_eq!(bench.land(&mut a), Landing::Landed);
    let conflict = bench.bring(&b).unwrap_err();
    assert_eq!(conflict.paths, ["file"]);
    assert_eq!(conflict.ours.by, ["`a`"]);
    assert_eq!(conflict.theirs.by, [format!("`b` of {}", bench.run)]);
    b.keep_result(&bench.runner()).unwrap();
    let theirs = bench.git("work", &["show", &format!("{}:file", conflict.theirs.at)]);
    assert_eq!((theirs.as_str(), bench.read("work/file").as_str()), ("by b", "by a\n"));
    assert!(matches!(b.standing(&bench.runner()), Standing::Unmerged { .. }));
    assert!(!bench.clones.remove(&bench.runner(), &b).unwrap());
    assert!(b.conflict_now(&bench.runner()).unwrap().is_some());
    // A person resolves it, and nothing is left to merge.
    bench.git("work", &["merge", "-q", "-s", "ours", "-m", "resolved", &conflict.theirs.at]);
    assert_eq!(b.conflict_now(&bench.runner()).unwrap(), None);
    let candidate = bench.bring(&b).unwrap();
    assert_eq!(candidate.merged, candidate.onto);
}

#[test]
fn uncommitted_edits_of_a_person_are_never_overwritten() {
    let mut bench = Bench::new();
    let (mut a, mut b) = (bench.open("a"), bench.open("b"));
    bench.edit(&a, "file", "by a\n");
    bench.edit(&a, "new", "by a\n");
    bench.edit(&b, "new", "by b\n");
    bench.write("work/file", "by a person\n");
    for clone in [&mut a, &mut b] {
        bench.write("work/new", "by a person\n");
        let Landing::Conflict(conflict) = bench.land(clone) else { panic!("it landed") };
        assert!(conflict.problem.is_some(), "{conflict:?}");
    }
    assert_eq!(
        (bench.read("work/file"), bench.read("work/new")),
        ("by a person\n".into(), "by a person\n".into())
    );
    let fault = bench.try_open("c", 0).unwrap_err().to_string();
    assert!(fault.contains("uncommitted changes") && fault.contains("file"), "{fault}");
    // Edits elsewhere are not in the way, and stay.
    bench.git("work", &["checkout", "-q", "file"]);
    fs::remove_file(bench.path("work/new")).unwrap();
    bench.write("work/other", "by a person\n");
    assert_eq!(bench.land(&mut a), Landing::Landed);
    assert_eq!(bench.status(), " M other");
}

#[test]
fn nothing_planted_in_a_clone_or_a_workspace_runs() {
    let mut bench = Bench::new();
    bench.write("work/.gitattributes", "* filter=evil merge=evil diff=evil\n");
    bench.commit("work", "attributes");
    let planted = bench.path("ran");
    let script = format!("touch {}; cat; true", planted.display());
    let hook = format!("#!/bin/sh\ntouch {}\n", planted.display());
    let mut clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    let inside = format!("clones/{}/a/tree", bench.run);
    for repository in [inside.as_str(), "work"] {
        for name in [
            "core.fsmonitor",
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "merge.evil.driver",
            "diff.evil.textconv",
            "diff.evil.command",
            "core.alternateRefsCommand",
            "uploadpack.packObjectsHook",
        ] {
            bench.git(repository, &["config", name, &script]);
        }
        for name in
            ["post-checkout", "reference-transaction", "post-index-change", "post-merge", "pre-commit"]
        {
            let path = format!("{repository}/.git/hooks/{name}");
            bench.write(&path, &hook);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(bench.path(&path), mode).unwrap();
        }
    }
    // A remote whose name is the path that is fetched from.
    let from = bench.path(&format!("clones/{}/a/git", bench.run));
    bench.git("work", &["config", &format!("remote.{}.uploadpack", from.display()), &script]);
    fs::remove_file(&planted).ok();
    let (mut b, unmerged) = (bench.open("b"), bench.open("c"));
    bench.edit(&b, "other", "changed\n");
    bench.edit(&unmerged, "other", "changed too\n");
    assert_eq!(bench.land(&mut clone), Landing::Landed);
    assert_eq!(bench.land(&mut b), Landing::Landed);
    bench.bring(&unmerged).unwrap_err();
    assert_eq!(clone.standing(&bench.runner()), Standing::Merged);
    assert!(bench.clones.remove(&bench.runner(), &clone).unwrap());
    assert!(!planted.exists());
    assert_eq!(bench.read("work/file"), "two\n");
}

#[test]
fn only_clones_without_unmerged_work_are_removed() {
    let mut bench = Bench::new();
    let (mut merged, empty, committed, touched) =
        (bench.open("merged"), bench.open("empty"), bench.open("committed"), bench.open("touched"));
    bench.edit(&merged, "file", "two\n");
    assert_eq!(bench.land(&mut merged), Landing::Landed);
    bench.edit(&touched, "untracked", "only here\n");
    // A commit on a branch that is not the current one.
    let inside = format!("clones/{}/committed/tree", bench.run);
    bench.git(&inside, &["checkout", "-q", "-b", "aside"]);
    bench.edit(&committed, "file", "aside\n");
    bench.commit(&inside, "aside");
    bench.git(&inside, &["checkout", "-q", "writ/committed"]);
    let names = || -> Vec<String> {
        bench.clones.list().unwrap().into_iter().map(|clone| clone.record.name).collect()
    };
    assert_eq!(names(), ["committed", "empty", "merged", "touched"]);
    for clone in bench.clones.list().unwrap() {
        let is_removed = bench.clones.remove(&bench.runner(), &clone).unwrap();
        assert_eq!(
            is_removed,
            ["empty", "merged"].contains(&clone.record.name.as_str()),
            "{:?}",
            clone.record
        );
    }
    assert_eq!(names(), ["committed", "touched"]);
    assert!(!empty.tree().exists() && !merged.tree().exists());
    assert_eq!(fs::read_to_string(touched.tree().join("untracked")).unwrap(), "only here\n");
    let _ = &empty;
}

#[test]
fn a_clone_that_was_changed_after_it_landed_is_kept() {
    let mut bench = Bench::new();
    let mut clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    let candidate = bench.bring(&clone).unwrap();
    // What a check leaves is no part of the work.
    bench.edit(&clone, "report", "left by a check\n");
    assert_eq!(bench.put(&mut clone, &candidate), Landing::Landed);
    assert!(!bench.path("work/report").exists());
    assert_eq!(clone.standing(&bench.runner()), Standing::Merged);
    bench.edit(&clone, "later", "by a person\n");
    assert!(matches!(clone.standing(&bench.runner()), Standing::Unmerged { .. }));
    fs::remove_file(clone.tree().join("later")).unwrap();
    // The branch went back: the work is nowhere else.
    bench.git("work", &["reset", "-q", "--hard", "HEAD~1"]);
    assert!(matches!(clone.standing(&bench.runner()), Standing::Unmerged { .. }));
}

#[test]
fn ports_do_not_overlap_and_are_free_again_after_the_merge() {
    let mut bench = Bench::new();
    let mut first = bench.try_open("a", 10).unwrap();
    let second = bench.try_open("b", 10).unwrap();
    let (one, two) = (first.record.ports.unwrap(), second.record.ports.unwrap());
    assert_eq!((one.first, one.last, two.first), (20_000, 20_009, 20_010));
    bench.edit(&first, "file", "two\n");
    assert_eq!(bench.land(&mut first), Landing::Landed);
    assert_eq!(bench.try_open("c", 5).unwrap().record.ports.unwrap().first, 20_000);
    // The same task gets the same clone.
    assert_eq!(bench.try_open("b", 10).unwrap().record.ports, Some(two));
}

#[test]
fn what_cannot_be_cloned_or_merged_is_refused_with_the_reason() {
    let mut bench = Bench::new();
    let clone = bench.open("a");
    bench.edit(&clone, "vendor/lib/file", "x\n");
    bench.git(&format!("clones/{}/a/tree/vendor/lib", bench.run), &["init", "-q"]);
    let author = Author { name: "shell", message: "Work" };
    let fault = clone.bring_together(&bench.runner(), &author).unwrap_err();
    assert!(fault.to_string().starts_with("vendor/lib/ is a git repository of its own"), "{fault}");
    let task: TaskId = mint(&mut bench.ids, NOW);
    let below = bench.scratch.dir("work/below");
    let outside = bench.scratch.dir("outside");
    for (workspace, expected) in [(below, "must be the top directory"), (outside, "is not a git repository")]
    {
        let order =
            CloneOrder { run: &bench.run, task: &task, name: "z", workspace: &workspace, ports: 0, at: NOW };
        let fault = bench.clones.open(&bench.runner(), &order).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault}");
    }
    let inside = Worktrees::at(bench.path("work/clones"));
    let workspace = bench.path("work");
    let order =
        CloneOrder { run: &bench.run, task: &task, name: "z", workspace: &workspace, ports: 0, at: NOW };
    assert!(matches!(inside.open(&bench.runner(), &order), Err(WorktreeError::Inside)));
}

/// A task that adds what a person has and git ignores, in each way.
#[test]
fn files_that_git_ignores_are_never_overwritten() {
    let mut bench = Bench::new();
    bench.write("work/.gitignore", ".env\nbuild/\n");
    bench.commit("work", "rules");
    bench.write("work/.env", "secret\n");
    bench.write("work/build/notes", "mine\n");
    let (mut unignored, mut forced, mut replaced) = (bench.open("a"), bench.open("b"), bench.open("c"));
    for (path, text) in [(".gitignore", ""), (".env", "theirs\n"), ("build/notes", "theirs\n")] {
        bench.edit(&unignored, path, text);
    }
    let inside = format!("clones/{}/b/tree", bench.run);
    bench.edit(&forced, ".env", "theirs\n");
    bench.git(&inside, &["add", "-f", ".env"]);
    bench.git(&inside, &["commit", "-q", "-m", "forced"]);
    bench.edit(&replaced, ".gitignore", ".env\n");
    bench.edit(&replaced, "build", "a file\n");
    for (clone, expected) in [
        (&mut unignored, vec![".env", "build/notes"]),
        (&mut forced, vec![".env"]),
        (&mut replaced, vec!["build"]),
    ] {
        let Landing::Conflict(conflict) = bench.land(clone) else { panic!("it landed") };
        assert_eq!(conflict.paths, expected);
        assert!(conflict.problem.is_some());
    }
    assert_eq!(
        (bench.read("work/.env"), bench.read("work/build/notes")),
        ("secret\n".into(), "mine\n".into())
    );
    assert_eq!(bench.status(), "");
}

/// Directories that become files and links, and files that become directories.
#[test]
fn a_file_in_the_place_of_a_directory_and_the_reverse_are_merged() {
    let mut bench = Bench::new();
    for path in ["work/a/x", "work/b/x", "work/c", "work/d/deep/x"] {
        bench.write(path, "one\n");
    }
    bench.commit("work", "directories");
    let mut clone = bench.open("a");
    let tree = clone.tree();
    for path in ["a", "b", "d"] {
        fs::remove_dir_all(tree.join(path)).unwrap();
    }
    fs::write(tree.join("a"), "a file\n").unwrap();
    fs::create_dir(tree.join("target")).unwrap();
    fs::write(tree.join("target/x"), "in the target\n").unwrap();
    std::os::unix::fs::symlink("target", tree.join("b")).unwrap();
    fs::remove_file(tree.join("c")).unwrap();
    bench.edit(&clone, "c/inside/file", "two\n");
    assert_eq!(bench.land(&mut clone), Landing::Landed);
    assert_eq!(bench.read("work/a"), "a file\n");
    assert_eq!(fs::read_link(bench.path("work/b")).unwrap(), PathBuf::from("target"));
    assert_eq!(bench.read("work/c/inside/file"), "two\n");
    assert!(!bench.path("work/d").exists());
    assert_eq!(bench.status(), "");
    // And back again.
    let mut back = bench.open("b");
    for path in ["a", "b"] {
        fs::remove_file(back.tree().join(path)).unwrap();
        bench.edit(&back, &format!("{path}/x"), "one\n");
    }
    fs::remove_dir_all(back.tree().join("c")).unwrap();
    bench.edit(&back, "c", "one\n");
    assert_eq!(bench.land(&mut back), Landing::Landed);
    assert_eq!((bench.read("work/b/x"), bench.read("work/c")), ("one\n".into(), "one\n".into()));
    assert_eq!(bench.status(), "");
}

/// The end of a git that was killed in writ's own repository.
#[test]
fn a_lock_that_a_dead_git_left_in_a_clone_is_no_obstacle() {
    let mut bench = Bench::new();
    let clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    for lock in ["git/index.lock", "git/refs/heads/onto.lock"] {
        bench.write(&format!("clones/{}/a/{lock}", bench.run), "");
    }
    let mut again = bench.open("a");
    assert_eq!(bench.land(&mut again), Landing::Landed);
}

#[test]
fn work_that_only_a_detached_head_has_is_kept() {
    let mut bench = Bench::new();
    bench.git("work", &["checkout", "-q", "--detach"]);
    let mut clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    assert_eq!(bench.land(&mut clone), Landing::Landed);
    assert!(matches!(clone.standing(&bench.runner()), Standing::Unmerged { .. }));
    bench.git("work", &["branch", "kept"]);
    assert_eq!(clone.standing(&bench.runner()), Standing::Merged);
}

/// A task that moves its clone aside and puts a link to the workspace there.
#[test]
fn a_clone_that_was_moved_aside_is_neither_merged_nor_removed() {
    let mut bench = Bench::new();
    let (linked, cloned) = (bench.open("linked"), bench.open("cloned"));
    for clone in [&linked, &cloned] {
        bench.edit(clone, "file", "two\n");
        fs::rename(clone.tree(), clone.tree().with_file_name("aside")).unwrap();
    }
    std::os::unix::fs::symlink(bench.path("work"), linked.tree()).unwrap();
    bench.git(".", &["clone", "-q", "work", cloned.tree().to_str().unwrap()]);
    let author = Author { name: "shell", message: "Work" };
    for clone in [&linked, &cloned] {
        assert!(matches!(clone.standing(&bench.runner()), Standing::Unknown { .. }));
        assert!(matches!(clone.bring_together(&bench.runner(), &author), Err(WorktreeError::Damaged(_))));
        assert!(!bench.clones.remove(&bench.runner(), clone).unwrap());
    }
}

/// What a merge that was killed leaves: a record, the lock of the index, and some of the files.
fn interrupt(bench: &Bench, clone: &Worktree, changed: &[(&str, &str)]) {
    let candidate = bench.bring(clone).unwrap();
    drop(bench.clones.prepare(&bench.runner(), clone, &candidate).unwrap().unwrap());
    let lock = "writ merges it\n";
    bench.write("work/.git/index.lock", lock);
    let record = format!("clones/{}/{}/worktree.json", bench.run, clone.record.name);
    let mut written: serde_json::Value = serde_json::from_str(&bench.read(&record)).unwrap();
    written["underway"] = serde_json::json!({"from": candidate.onto, "to": candidate.merged, "lock": lock});
    bench.write(&record, &written.to_string());
    for (path, text) in changed {
        bench.write(&format!("work/{path}"), text);
    }
}

#[test]
fn what_an_interrupted_merge_changed_is_taken_back_and_it_merges_again() {
    let mut bench = Bench::new();
    let clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    bench.edit(&clone, "new/one", "new\n");
    bench.edit(&clone, "new/two", "new\n");
    fs::remove_file(clone.tree().join("other")).unwrap();
    interrupt(&bench, &clone, &[("file", "two\n"), ("new/one", "new\n")]);
    fs::remove_file(bench.path("work/other")).unwrap();
    let standing = bench.clones.list().unwrap()[0].standing(&bench.runner());
    assert!(matches!(standing, Standing::Unknown { .. }), "{standing:?}");
    let mut again = bench.open("a");
    assert_eq!((bench.read("work/file"), bench.read("work/other")), ("one\n".into(), "other\n".into()));
    assert!(!bench.path("work/new").exists() && !bench.path("work/.git/index.lock").exists());
    assert_eq!(bench.status(), "");
    assert_eq!(bench.land(&mut again), Landing::Landed);
    assert_eq!((bench.read("work/file"), bench.read("work/new/two")), ("two\n".into(), "new\n".into()));
    assert_eq!(bench.status(), "");
}

/// A file that became a directory, and a directory that became a file.
#[test]
fn an_interrupted_merge_of_files_and_directories_is_taken_back() {
    let mut bench = Bench::new();
    bench.write("work/a/x", "one\n");
    bench.commit("work", "a directory");
    let clone = bench.open("a");
    fs::remove_dir_all(clone.tree().join("a")).unwrap();
    fs::write(clone.tree().join("a"), "a file\n").unwrap();
    fs::remove_file(clone.tree().join("file")).unwrap();
    bench.edit(&clone, "file/inside/x", "two\n");
    fs::remove_file(bench.path("work/file")).unwrap();
    interrupt(&bench, &clone, &[("file/inside/x", "two\n")]);
    fs::remove_dir_all(bench.path("work/a")).unwrap();
    bench.write("work/a", "a file\n");
    let mut again = bench.open("a");
    assert_eq!((bench.read("work/file"), bench.read("work/a/x")), ("one\n".into(), "one\n".into()));
    assert_eq!(bench.status(), "");
    assert_eq!(bench.land(&mut again), Landing::Landed);
    assert_eq!((bench.read("work/a"), bench.read("work/file/inside/x")), ("a file\n".into(), "two\n".into()));
}

#[test]
fn what_a_person_changed_after_an_interrupted_merge_stays() {
    let mut bench = Bench::new();
    let clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    bench.edit(&clone, "other", "two\n");
    interrupt(&bench, &clone, &[("file", "by a person\n"), ("other", "two\n")]);
    let mut again = bench.open("a");
    assert_eq!(
        (bench.read("work/file"), bench.read("work/other")),
        ("by a person\n".into(), "other\n".into())
    );
    assert!(matches!(bench.land(&mut again), Landing::Conflict(_)));
    assert_eq!(bench.read("work/file"), "by a person\n");
}

/// Somebody else's git holds the index: that is waited for, and the lock stays.
#[test]
fn what_fails_before_a_file_is_changed_is_no_conflict_and_leaves_nothing_behind() {
    let mut bench = Bench::new();
    let mut clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    let candidate = bench.bring(&clone).unwrap();
    let path = bench.environment[&OsString::from("PATH")].clone();
    let full = "echo 'error: unable to write file file: No space left on device' >&2; exit 1";
    bench.environment.insert("PATH".into(), bench.git_that("*checkout-index*", full));
    let fault = bench.try_put(&mut clone, &candidate).unwrap_err().to_string();
    assert!(fault.contains("No space left on device"), "{fault}");
    bench.environment.insert("PATH".into(), path);
    assert_eq!((bench.read("work/file"), bench.status()), ("one\n".to_owned(), String::new()));
    assert!(!bench.path("work/.git/index.lock").exists());
    assert_eq!(bench.land(&mut clone), Landing::Landed);
    let mut other = bench.open("b");
    bench.edit(&other, "other", "two\n");
    let candidate = bench.bring(&other).unwrap();
    bench.write("work/.git/index.lock", "");
    assert!(matches!(bench.try_put(&mut other, &candidate), Err(WorktreeError::IndexLocked(_))));
    assert_eq!(
        (bench.read("work/other"), bench.read("work/.git/index.lock")),
        ("other\n".into(), String::new())
    );
    fs::remove_file(bench.path("work/.git/index.lock")).unwrap();
    assert_eq!(bench.land(&mut other), Landing::Landed);
    assert_eq!(bench.status(), "");
}

#[test]
fn a_clone_stays_for_a_head_without_a_branch_and_for_a_tag_on_a_file() {
    let mut bench = Bench::new();
    let (detached, tagged, added) = (bench.open("detached"), bench.open("tagged"), bench.open("added"));
    let at =
        |clone: &Worktree| clone.tree().strip_prefix(bench.path("")).unwrap().to_str().unwrap().to_owned();
    let git = |clone: &Worktree, words: &[&str]| bench.git(&at(clone), words);
    let standing = |clone: &Worktree| clone.standing(&bench.runner());
    // Work that was taken back in the next commit: the files are the same as before.
    git(&detached, &["checkout", "-q", "--detach"]);
    bench.edit(&detached, "file", "two\n");
    git(&detached, &["commit", "-q", "-a", "-m", "work"]);
    git(&detached, &["revert", "--no-edit", "HEAD"]);
    let head = git(&detached, &["rev-parse", "HEAD"]);
    assert_eq!(standing(&detached), Standing::Unmerged { commit: head });
    bench.edit(&tagged, "built", "ignored, but tagged\n");
    let blob = git(&tagged, &["hash-object", "-w", "built"]);
    git(&tagged, &["tag", "kept", &blob]);
    assert_eq!(standing(&tagged), Standing::Unmerged { commit: blob });
    let elsewhere = bench.path("elsewhere");
    git(&added, &["worktree", "add", "-q", "--detach", elsewhere.to_str().unwrap()]);
    assert_eq!(standing(&added), Standing::Empty);
    bench.git("elsewhere", &["commit", "-q", "--allow-empty", "-m", "more"]);
    let head = bench.git("elsewhere", &["rev-parse", "HEAD"]);
    assert_eq!(standing(&added), Standing::Unmerged { commit: head });
}

#[test]
fn only_files_in_the_way_are_a_conflict_and_other_failures_are_not() {
    let mut bench = Bench::new();
    let mut clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    let candidate = bench.bring(&clone).unwrap();
    let index = fs::read(bench.path("work/.git/index")).unwrap();
    bench.write("work/.git/index", "damaged");
    let fault = bench.try_put(&mut clone, &candidate).unwrap_err().to_string();
    assert!(fault.contains("index file"), "{fault}");
    fs::write(bench.path("work/.git/index"), index).unwrap();
    // The branch cannot be moved, so the files are as they were.
    bench.environment.insert("PATH".into(), bench.git_that("*update-ref*HEAD*", "exit 128"));
    assert!(bench.try_put(&mut clone, &candidate).is_err());
    assert_eq!((bench.read("work/file"), bench.status()), ("one\n".to_owned(), String::new()));
    // Somebody else moved it in the last moment.
    let moves = "git update-ref HEAD $(git commit-tree -p HEAD -m other 'HEAD^{tree}'); exit 128";
    bench.environment.insert("PATH".into(), bench.git_that("*update-ref*HEAD*", moves));
    assert_eq!(bench.put(&mut clone, &candidate), Landing::Moved);
    assert_eq!((bench.read("work/file"), bench.status()), ("one\n".to_owned(), String::new()));
}

#[test]
fn a_merge_waits_for_another_git_that_holds_the_index() {
    let mut bench = Bench::new();
    let mut clone = bench.open("a");
    bench.edit(&clone, "file", "two\n");
    let candidate = bench.bring(&clone).unwrap();
    let lock = bench.path("work/.git/index.lock");
    fs::write(&lock, "").unwrap();
    let record = bench.path(&format!("clones/{}/a/worktree.json", bench.run));
    let other = std::thread::spawn(move || {
        let is_begun = || fs::read_to_string(&record).is_ok_and(|text| text.contains("underway"));
        testkit::eventually("the merge begins", is_begun);
        fs::remove_file(&lock).unwrap();
    });
    assert_eq!(bench.put(&mut clone, &candidate), Landing::Landed);
    other.join().unwrap();
    assert_eq!(bench.read("work/file"), "two\n");
}

#[test]
fn nothing_planted_in_a_submodule_runs_when_git_is_asked_what_changed() {
    let bench = Bench::new();
    let planted = bench.path("planted");
    bench.git("work", &["init", "-q", "sub"]);
    bench.write("work/sub/inner", "one\n");
    bench.commit("work/sub", "first");
    bench.commit("work", "with a submodule");
    let trap = format!("touch {}; cat", planted.display());
    for name in ["filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "core.fsmonitor"] {
        bench.git("work/sub", &["config", name, &trap]);
    }
    bench.write("work/sub/.git/info/attributes", "* filter=trap\n");
    bench.write("work/sub/inner", "two\n");
    bench.write("work/file", "two\n");
    fs::remove_file(&planted).ok();
    let workspace = bench.path("work");
    let git = Git { runner: bench.runner(), workspace: &workspace };
    let patch = String::from_utf8(git.patch(".").unwrap()).unwrap();
    assert!(patch.contains("+two") && !patch.contains("sub"), "{patch}");
    let commit = git.stash("before").unwrap().unwrap();
    let head = git.tree_of("HEAD").unwrap();
    assert_eq!(git.changed(&head).unwrap(), ["file", "sub"]);
    assert!(!planted.exists(), "a filter of the submodule ran");
    assert_eq!(bench.git("work", &["show", &format!("{commit}:file")]), "two");
    assert_eq!(bench.git("work", &["stash", "list", "--format=%H %gs"]), format!("{commit} before"));
    assert_eq!(bench.read("work/file"), "two\n");
    // Staged and unstaged changes come back as they were.
    bench.git("work", &["checkout", "-q", "--", "file"]);
    bench.git("work/sub", &["checkout", "-q", "--", "inner"]);
    assert_eq!(git.stash("again").unwrap(), None);
    bench.git("work", &["-c", "submodule.recurse=false", "stash", "pop", "-q"]);
    assert_eq!(bench.read("work/file"), "two\n");
}

#[test]
fn a_clone_that_is_being_made_holds_up_nobody() {
    let mut bench = Bench::new();
    let (there, go) = (bench.path("there"), bench.path("go"));
    let script = format!(
        "touch {}; until [ -e {} ]; do sleep 0.01; done; exec git \"$@\"",
        there.display(),
        go.display()
    );
    let slow = bench.git_that("*\\ clone\\ *", &script);
    let (clones, run, workspace, shim) =
        (bench.clones.clone(), bench.run.clone(), bench.path("work"), bench.shim.clone());
    let environment = BTreeMap::from([("PATH".into(), slow)]);
    let first = std::thread::spawn(move || {
        let mark: Id<Attempt> = mint(&mut SeededIds::new(8), NOW);
        let runner = Runner { launcher: &shim, environment: &environment, mark };
        let task: TaskId = mint(&mut SeededIds::new(10), NOW);
        let order =
            CloneOrder { run: &run, task: &task, name: "first", workspace: &workspace, ports: 10, at: NOW };
        clones.open(&runner, &order).map(|(clone, _)| clone.record.ports)
    });
    testkit::eventually("a clone is being made", || there.exists());
    let second = bench.try_open("second", 10).unwrap();
    let kept = bench.clones.list().unwrap();
    let made = kept.iter().find(|clone| clone.record.name == "first").unwrap();
    let standing = made.standing(&bench.runner());
    assert_eq!(standing, Standing::Unknown { reason: "it is being made".to_owned() });
    assert!(!bench.clones.remove(&bench.runner(), made).unwrap());
    fs::write(&go, "").unwrap();
    let ports = first.join().unwrap().unwrap();
    assert_ne!(ports, second.record.ports);
    assert_eq!(bench.clones.list().unwrap().len(), 2);
}
