//! Snapshots of a large tree and a rollback of a part of it, against what a person would use: a copy, a stash, a checkout.

use std::fs::{self, OpenOptions};
use std::io::Write;

use super::look::fill;
use super::report::Report;
use super::rounds::{Micros, contender, interleave, micros};
use super::{Bench, Setup, profile, time};
use crate::Result;
use crate::job::{Job, target_dir};

pub(super) const BENCH: Bench = Bench { name: "rollback", needs: &["rollback"], run };

/// A round copies the tree twice.
const ROUNDS_MAX: usize = 10;
const DIRECTORIES: usize = 500;
const DIRECTORIES_QUICKLY: usize = 5;

/// The first file of every directory is changed: 500 of 50,000.
struct Tree<'s> {
    setup: &'s Setup,
    program: String,
    directories: usize,
}

fn run(setup: &Setup) -> Result<Report> {
    let (profile, folder) = profile(setup.quick);
    Job::cargo(&["build", "--quiet", "--bin", "snapshot-for-bench"]).args(profile).run()?;
    let program = target_dir().join(folder).join("snapshot-for-bench").display().to_string();
    let directories = if setup.quick { DIRECTORIES_QUICKLY } else { DIRECTORIES };
    let tree = Tree { setup, program, directories };
    fill(setup, directories)?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    tree.git(&["init", "--quiet"]).output()?;
    // It would go on in the background and measure itself.
    tree.git(&["config", "gc.auto", "0"]).output()?;
    tree.git(&["add", "--all"]).output()?;
    tree.git(&[&who[..], &["commit", "--quiet", "--message", "bench"]].concat()).output()?;
    let stash = tree.git(&[&who[..], &["stash", "create"]].concat());
    let series = interleave(
        setup.rounds.min(ROUNDS_MAX),
        vec![
            contender("first snapshot", |round| tree.first(round)),
            contender("cp -a --reflink=auto", |_| tree.copy()),
            contender("snapshot again", |round| time(&tree.ours("take", "kept", round)).map(micros)),
            contender("git stash create", |_| {
                tree.change()?;
                time(&stash).map(micros)
            }),
            contender("git checkout", |_| time(&tree.git(&["checkout", "--quiet", "--", "."])).map(micros)),
            contender("rollback", |round| tree.roll_back(round)),
        ],
    )?;
    let about = "a tree of 50,000 files; 500 of them changed";
    Ok(Report { name: BENCH.name, about, series, pairs: vec![(0, 1), (2, 3), (5, 4)] })
}

impl Tree<'_> {
    /// The repository is beside the tree, so that it is not copied with it.
    fn git(&self, words: &[&str]) -> Job {
        let (tree, repository) = (self.setup.path("tree"), self.setup.path("repository"));
        let place = ["-C", &tree, "--git-dir", &repository, "--work-tree", &tree];
        Job::new("git", &[&place[..], words].concat())
    }

    /// Each round is another attempt.
    fn ours(&self, what: &str, place: &str, round: usize) -> Job {
        let attempt = format!("attempt_01m7kx2z8me5gr6a43zwaa{round:04}");
        let (snapshots, index) =
            (self.setup.path(&format!("{place}.snapshots")), self.setup.path(&format!("{place}.index")));
        Job::new(&self.program, &[what, &snapshots, &index, &self.setup.path(""), &attempt])
    }

    /// Into an empty store, without an index.
    fn first(&self, round: usize) -> Result<Micros> {
        let took = time(&self.ours("take", "first", round)).map(micros);
        remove(&self.setup.path("first.snapshots"))?;
        remove(&self.setup.path("first.index"))?;
        took
    }

    fn copy(&self) -> Result<Micros> {
        let (tree, copy) = (self.setup.path("tree"), self.setup.path("copy"));
        let took = time(&Job::new("cp", &["-a", "--reflink=auto", &tree, &copy])).map(micros);
        remove(&copy)?;
        took
    }

    fn roll_back(&self, round: usize) -> Result<Micros> {
        self.change()?;
        time(&self.ours("finish", "kept", round))?;
        time(&self.ours("roll", "kept", round)).map(micros)
    }

    fn change(&self) -> Result {
        for directory in 0..self.directories {
            let path = self.setup.dir.join(format!("tree/d{}/d{directory}/file-0.txt", directory % 10));
            let fault = |error: std::io::Error| format!("could not write {}: {error}", path.display());
            let mut file = OpenOptions::new().append(true).open(&path).map_err(fault)?;
            file.write_all(b"changed\n").map_err(fault)?;
        }
        Ok(())
    }
}

fn remove(path: &str) -> Result {
    fs::remove_dir_all(path).map_err(|error| format!("could not remove {path}: {error}"))
}
