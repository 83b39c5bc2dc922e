//! A second look at an unchanged workspace, against `git status` in the same tree.

use super::report::Report;
use super::rounds::{contender, interleave, micros};
use super::{Bench, Setup, profile, time};
use crate::Result;
use crate::job::{Job, target_dir};

pub(super) const BENCH: Bench = Bench { name: "look", needs: &["run"], run };

const FILES_PER_DIRECTORY: usize = 100;
const DIRECTORIES: usize = 500;
const DIRECTORIES_QUICKLY: usize = 5;
/// Files that were just written are read once more by the next look, so several may be needed.
const LOOKS_MAX: usize = 10;

fn run(setup: &Setup) -> Result<Report> {
    let (profile, folder) = profile(setup.quick);
    Job::cargo(&["build", "--quiet", "--bin", "look-for-bench"]).args(profile).run()?;
    let program = target_dir().join(folder).join("look-for-bench").display().to_string();
    let tree = setup.path("tree");
    fill(setup, if setup.quick { DIRECTORIES_QUICKLY } else { DIRECTORIES })?;
    let git = |words: &[&str]| Job::new("git", &[&["-C", &tree][..], words].concat());
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(&["init", "--quiet"]).output()?;
    // It would go on in the background and measure itself.
    git(&["config", "gc.auto", "0"]).output()?;
    git(&["add", "--all"]).output()?;
    git(&[&who[..], &["commit", "--quiet", "--message", "bench"]].concat()).output()?;
    let look = Job::new(&program, &[&setup.path("index"), &tree]);
    if !(0..LOOKS_MAX).any(|_| time(&look).is_ok()) {
        return Err(format!("`{look}` still reads files after {LOOKS_MAX} looks"));
    }
    let status = git(&["status", "--porcelain"]);
    let series = interleave(
        setup.rounds,
        vec![
            contender("second look", |_| time(&look).map(micros)),
            contender("git status", |_| time(&status).map(micros)),
        ],
    )?;
    let about = "an unchanged tree of 50,000 files, process start to exit";
    Ok(Report { name: BENCH.name, about, series, pairs: vec![(0, 1)] })
}

pub(super) fn fill(setup: &Setup, directories: usize) -> Result {
    for directory in 0..directories {
        let path = setup.dir.join(format!("tree/d{}/d{directory}", directory % 10));
        let fault = |error: std::io::Error| format!("could not fill {}: {error}", path.display());
        std::fs::create_dir_all(&path).map_err(fault)?;
        for file in 0..FILES_PER_DIRECTORY {
            std::fs::write(path.join(format!("file-{file}.txt")), format!("{directory} {file}\n"))
                .map_err(fault)?;
        }
    }
    Ok(())
}
