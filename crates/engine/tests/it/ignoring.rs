//! The index ignores what git ignores: both are asked about random rules.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use engine::index::{How, Index};
use testkit::{Scratch, SeededIds, rounds};

const PIECES: [&str; 14] = ["a", "b", "c", "ab", "*", "**", "/", "/", "?", "[ab]", "[!a]", ".x", "*.x", "a*"];
const FILES: [&str; 16] = [
    "a", "b", "c/a", "c/b", "c/ab", "c/c/a", "ab.x", "a.x", "b/a", "b/b/c", "b/b/a.x", "ab/c/a", "ab/b",
    ".x", "c/.x", "d/a/b/c",
];

fn rules(dice: &mut SeededIds) -> String {
    let mut lines = String::new();
    for _ in 0..=dice.below(3) {
        if dice.below(4) == 0 {
            lines.push('!');
        }
        for _ in 0..=dice.below(4) {
            lines.push_str(PIECES[usize::try_from(dice.below(14)).unwrap()]);
        }
        lines.push('\n');
    }
    lines
}

#[expect(clippy::disallowed_methods, reason = "git is what the index is compared with")]
fn git(root: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(words).env_clear();
    command.envs([
        ("PATH", "/usr/bin:/bin:/usr/local/bin"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("HOME", "/nonexistent"),
    ]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_index_ignores_what_git_ignores() {
    for seed in 0..u64::from(rounds(150)) {
        let mut dice = SeededIds::new(seed);
        let scratch = Scratch::new();
        let root = engine::disk::real_root(&scratch.dir("project"));
        git(&root, &["init", "--quiet"]);
        for file in FILES {
            // Some names are files here and directories there.
            if !FILES.iter().any(|other| other.starts_with(&format!("{file}/"))) {
                scratch.write(root.join(file), "");
            }
        }
        let (top, inner) = (rules(&mut dice), rules(&mut dice));
        scratch.write(root.join(".gitignore"), &top);
        scratch.write(root.join("c/.gitignore"), &inner);
        let listed = git(&root, &["ls-files", "--others", "--exclude-standard", "-z"]);
        let by_git: BTreeSet<String> =
            listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let look = Index::default().look(&root, &How::default());
        let seen = look.changed_since(&engine::index::Look::default());
        // Git knows no directories, and does not list its own files.
        let is_listed = |name: &String| !name.starts_with(".git/") && !root.join(name).is_dir();
        let by_us: BTreeSet<String> = seen.into_iter().filter(is_listed).collect();
        assert_eq!(by_us, by_git, "seed {seed}\n{top}---\n{inner}");
    }
}
