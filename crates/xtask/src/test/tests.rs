use super::*;

fn planned(runner: Runner, ci: bool, args: &[&str]) -> String {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    plan(runner, ci, &args).last().expect("a plan ends with the tests").to_string()
}

#[test]
fn the_whole_workspace_is_tested_unless_a_package_is_named() {
    assert_eq!(
        planned(Runner::Nextest(4), false, &[]),
        "NEXTEST_TEST_THREADS=4 cargo nextest run --workspace"
    );
    assert_eq!(planned(Runner::CargoTest, false, &["resume"]), "cargo test --workspace resume");
    assert_eq!(
        planned(Runner::Nextest(4), false, &["-p", "engine"]),
        "NEXTEST_TEST_THREADS=4 cargo nextest run -p engine"
    );
    assert_eq!(planned(Runner::CargoTest, false, &["--package=ops"]), "cargo test --package=ops");
    assert_eq!(planned(Runner::CargoTest, false, &["--", "-p"]), "cargo test --workspace -- -p");
}

#[test]
fn in_ci_snapshots_are_never_accepted() {
    assert_eq!(
        planned(Runner::Nextest(4), true, &[]),
        "NEXTEST_TEST_THREADS=4 INSTA_UPDATE=no cargo nextest run --workspace"
    );
    assert_eq!(planned(Runner::CargoTest, true, &[]), "INSTA_UPDATE=no cargo test --workspace");
}

#[test]
fn helper_binaries_are_built_before_the_tests_run() {
    let jobs = plan(Runner::Nextest(4), false, &["-p".to_owned(), "contract".to_owned()]);
    assert_eq!(jobs[0].to_string(), "cargo build --quiet --bins");
    // The whole workspace has them among its own.
    assert_eq!(plan(Runner::Nextest(4), false, &["resume".to_owned()]).len(), 1);
}

#[test]
fn missing_programs_are_named_with_their_packages() {
    let missing = [("setsid", "util-linux"), ("strace", "strace")];
    assert_eq!(
        missing_notice(&missing),
        "missing: setsid (Debian package util-linux), strace (Debian package strace). \
         Tests that call it will fail; no test is skipped."
    );
    let jobs: Vec<String> = installation(&missing).iter().map(ToString::to_string).collect();
    assert_eq!(
        jobs,
        [
            "DEBIAN_FRONTEND=noninteractive apt-get update",
            "DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends util-linux strace",
        ]
    );
}

#[test]
fn the_agents_suite_runs_only_where_it_is_asked_for() {
    let words = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    assert_eq!(suite(&words(&["-p", "ops"])), (Suite::Workspace, words(&["-p", "ops"])));
    assert_eq!(suite(&words(&["--agents", "claude"])), (Suite::Agents, words(&["claude"])));
    assert_eq!(suite(&words(&["--", "--agents"])), (Suite::Workspace, words(&["--", "--agents"])));
}
