//! README and the guides in `docs/`: their shell blocks are run in order, as they are printed there.
//!
//! A block is fenced with ```` ```sh ````. The word after it says what is expected: nothing (it succeeds), `fails`, or `no-run`
//! for commands that a test cannot run; `cli/src/app/tests` parses those too. A block ```` ```output ```` after it shows lines of
//! what it prints, in order; `…` stands for anything.

mod block;

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use testkit::{Cli, Output};

use block::{Block, Kind};

fn published(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A home with `writ` on its path and an empty repository.
fn newcomer() -> Cli {
    let writ = PathBuf::from(env!("CARGO_BIN_EXE_writ"));
    let cli = Cli::new(&writ);
    let built = writ.parent().unwrap().to_path_buf();
    #[expect(clippy::disallowed_methods, reason = "sh and git are where this machine has them")]
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(built).chain(std::env::split_paths(&machine))).unwrap();
    // A reader has the store in its usual place.
    // A reader sits at a terminal, and gets text.
    let cli = cli.env("PATH", path).env("WRIT_DB", "").env("USER", "reader").env("WRIT_OUTPUT", "text");
    cli.call(["init", "--quiet"]).program("git").run().success();
    cli
}

/// Runs every block of the page in order.
#[track_caller]
fn follow(page: &str) {
    let text = fs::read_to_string(published(page)).unwrap();
    let cli = newcomer();
    let mut last: Option<Output> = None;
    for Block { kind, line, text } in block::of(&text) {
        match kind {
            Kind::Runs => last = Some(run(&cli, &text, page, line, true)),
            Kind::Fails => last = Some(run(&cli, &text, page, line, false)),
            Kind::Output => {
                let output = last.as_ref().unwrap_or_else(|| panic!("{page}:{line}: output of no block"));
                if let Some(missing) = missing_line(&text, &output.stdout) {
                    panic!("{page}:{line}: `{missing}` is not in the output\n{output}");
                }
            }
            Kind::NotRun | Kind::Other => {}
        }
    }
    let left = cli.leftovers();
    assert!(left.is_empty(), "{page} leaves processes behind: {left:?}");
}

#[track_caller]
fn run(cli: &Cli, text: &str, page: &str, line: usize, succeeds: bool) -> Output {
    // Variables of one block are known in the next, as in the reader's shell.
    let state = cli.scratch().join("variables").display().to_string();
    let script = format!("[ ! -f {state} ] || . {state}\nset -a\nexec 2>&1\n{text}export -p > {state}\n");
    let output = cli.call(["-e", "-c", &script]).program("sh").run();
    assert_eq!(output.status.success(), succeeds, "{page}:{line}\n{output}");
    output
}

/// The first expected line that does not come after the ones before it.
fn missing_line<'t>(expected: &'t str, printed: &str) -> Option<&'t str> {
    let mut printed = printed.lines();
    expected.lines().filter(|line| line.trim() != "…").find(|line| {
        let pattern = pattern(line);
        !printed.any(|line| pattern.is_match(line.trim_end()))
    })
}

/// Columns may be wider or narrower, and `…` is anything.
fn pattern(line: &str) -> Regex {
    let parts = line.trim_end().split('…').map(|part| {
        let words: Vec<String> = part.split(' ').filter(|word| !word.is_empty()).map(regex::escape).collect();
        let (before, after) = (part.starts_with(' '), part.ends_with(' ') && !words.is_empty());
        format!(
            "{}{}{}",
            if before { r"\s+" } else { "" },
            words.join(r"\s+"),
            if after { r"\s+" } else { "" }
        )
    });
    Regex::new(&format!("^{}$", parts.collect::<Vec<_>>().join(".*"))).unwrap()
}

macro_rules! guides {
    ($($name:ident: $page:literal,)*) => {
        /// Every page whose blocks are run.
        const PAGES: &[&str] = &[$($page),*];

        $(
            #[test]
            fn $name() {
                follow($page);
            }
        )*
    };
}

guides! {
    the_readme_can_be_followed: "README.md",
    the_first_plan_can_be_followed: "docs/first-plan.md",
    hooks_can_be_followed: "docs/hooks.md",
    the_loop_can_be_followed: "docs/loop.md",
    a_handoff_can_be_followed: "docs/handoff.md",
    money_can_be_followed: "docs/money.md",
    confinement_can_be_followed: "docs/confinement.md",
    rollback_can_be_followed: "docs/rollback.md",
    execution_can_be_followed: "docs/execution.md",
    executors_can_be_followed: "docs/executors.md",
    worktrees_can_be_followed: "docs/worktrees.md",
    troubleshooting_can_be_followed: "docs/troubleshooting.md",
}

/// Pages without steps, and `docs/crew.md`, which `crew_guide.rs` runs.
const OTHER_PAGES: &[&str] = &[
    "docs/checks.md",
    "docs/commands.md",
    "docs/conformance.md",
    "docs/control.md",
    "docs/crew.md",
    "docs/reliability.md",
];

#[test]
fn every_guide_is_run_and_the_readme_links_to_it() {
    let readme = fs::read_to_string(published("README.md")).unwrap();
    for entry in fs::read_dir(published("docs")).unwrap().flatten() {
        if entry.path().extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let page = format!("docs/{}", entry.file_name().to_str().unwrap());
        assert!(PAGES.contains(&page.as_str()) || OTHER_PAGES.contains(&page.as_str()), "{page} is not run");
        assert!(readme.contains(&format!("({page})")), "README.md has no link to {page}");
    }
}

#[test]
fn output_is_compared_line_by_line_and_dots_are_anything() {
    let printed = "one   done  12ms\nrun_1 failed\nnext: writ retry one\n";
    for (expected, missing) in [
        ("one done …\nnext: writ retry one", None),
        ("next: writ retry one\none done …", Some("one done …")),
        ("run_… failed", None),
        ("run_… done", Some("run_… done")),
        ("…\nnext: …", None),
    ] {
        assert_eq!(missing_line(expected, printed), missing, "{expected}");
    }
}
