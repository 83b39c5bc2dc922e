//! Runs this test binary as a child process: with other permissions, on another disk, or to be killed.

use std::path::{Path, PathBuf};

use testkit::{Call, Cli};

use crate::{crash, full, opening};

const ROLE: &str = "WRIT_STORE_TEST_ROLE";
const PLACE: &str = "WRIT_STORE_TEST_PLACE";

/// How the child's environment differs from ours.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Isolation {
    /// It does not differ.
    None,
    /// File permissions apply to it, even if we are root.
    Unprivileged,
    /// Its directory is a small temporary disk.
    OnSmallDisk,
    /// Its directory is on a read-only disk.
    OnReadOnlyDisk,
}

/// A call of this binary with `role` in the directory `place`.
pub(crate) struct Child {
    cli: Cli,
    before: Vec<String>,
    role: &'static str,
    place: PathBuf,
}

impl Child {
    pub(crate) fn new(isolation: Isolation, role: &'static str, place: &Path) -> Self {
        let own = std::env::current_exe().expect("a running test knows its own file");
        let own = own.to_str().expect("cargo builds into a readable path").to_owned();
        let mut words = wrapped(isolation, place);
        words.push(own);
        let program = words.remove(0);
        Self { cli: Cli::new(program), before: words, role, place: place.to_owned() }
    }

    pub(crate) fn call(&self) -> Call<'_> {
        let test = ["--exact", "child::plays_its_role", "--nocapture"];
        let words = self.before.iter().map(String::as_str).chain(test);
        self.cli.call(words).env(ROLE, self.role).env(PLACE, &self.place)
    }
}

/// The command line before the program's name.
fn wrapped(isolation: Isolation, place: &Path) -> Vec<String> {
    let place = place.to_str().expect("a scratch directory has a readable path");
    let root = rustix::process::geteuid().is_root();
    let namespace = if root { "unshare -m" } else { "unshare -rm" };
    let mounted = |script: &str| -> Vec<String> {
        let words = namespace.split(' ').chain(["sh", "-c", script, "sh", place]);
        words.map(str::to_owned).collect()
    };
    match isolation {
        Isolation::None => Vec::new(),
        // Without its capabilities, root is bound by file permissions like any other user.
        Isolation::Unprivileged if root => {
            ["setpriv", "--inh-caps=-all", "--bounding-set=-all"].map(str::to_owned).into()
        }
        Isolation::Unprivileged => Vec::new(),
        Isolation::OnSmallDisk => {
            mounted(r#"mount -t tmpfs -o size=1m tmpfs "$1" && shift && cd / && exec "$@""#)
        }
        Isolation::OnReadOnlyDisk => mounted(
            r#"mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && cd / && exec "$@""#,
        ),
    }
}

/// Prints a line for the test that started us.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
pub(crate) fn say(line: &str) {
    println!("\n> {line}");
}

/// The lines a child has printed so far, without those of the test runner.
pub(crate) fn said(stdout: &str) -> Vec<&str> {
    // The last line may be incomplete.
    let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().filter_map(|line| line.strip_prefix("> ")).collect()
}

/// Runs the child's role. Does nothing if this process is not a [`Child`].
#[test]
#[expect(clippy::disallowed_methods, reason = "a test binary has no command line of its own")]
fn plays_its_role() {
    let Some(role) = std::env::var_os(ROLE) else { return };
    let place = PathBuf::from(std::env::var_os(PLACE).expect("a role has a place"));
    match role.to_str() {
        Some("open") => opening::report_open_and_write(&place),
        Some("open together") => opening::open_on_signal(&place),
        Some("fill") => full::fill_and_free(&place),
        Some("commit") => crash::commit_forever(&place),
        other => panic!("unknown role {other:?}"),
    }
}
