use std::path::PathBuf;

use serde_json::json;

use super::storm::Outcome;
use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn tally(name: &str, rounds: &[u64]) -> Tally {
    let mut tally = Tally::new(name);
    for rounds in rounds {
        let call = Call { rounds: Some(*rounds), seed: 7, deadline: STORM_MAX };
        let took = Duration::from_secs(*rounds);
        tally.add(&call, Outcome { rounds: *rounds, took, ..Outcome::default() });
    }
    tally
}

#[test]
fn options_are_minutes_and_a_part_of_the_name() {
    assert_eq!(parse(&[]), Ok(Options { minutes: 10, only: None }));
    let both = parse(&words("--minutes 30 --only kill"));
    assert_eq!(both, Ok(Options { minutes: 30, only: Some("kill".to_owned()) }));
    for wrong in ["--minutes", "--minutes 0", "--minutes many", "--only", "--factor 3", "kill"] {
        assert!(parse(&words(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn every_storm_runs_once_then_forty_times_as_long_then_all_in_turn() {
    let (a, b) = ("cli::soak_a", "cli::soak_b");
    let turn = |tallies: &[Tally]| {
        let next = next(tallies);
        (next, rounds(&tallies[next]))
    };
    assert_eq!(turn(&[tally(a, &[5]), tally(b, &[])]), (1, None));
    assert_eq!(turn(&[tally(a, &[5, 80]), tally(b, &[3])]), (1, Some(48)));
    assert_eq!(turn(&[tally(a, &[5, 80, 110]), tally(b, &[3, 117])]), (0, Some(5)));
    assert_eq!(turn(&[tally(a, &[5, 195]), tally(b, &[3, 117])]), (1, None), "the one with the least time");
}

#[test]
fn a_run_of_many_tasks_gets_all_of_them_at_once() {
    let name = "cli::many::soak_a_run_of_many_tasks_ends_and_can_be_read";
    assert_eq!(rounds(&tally(name, &[])), None);
    assert_eq!(rounds(&tally(name, &[100])), Some(10_000));
    assert_eq!(rounds(&tally(name, &[100, 10_000])), None);
}

#[test]
fn what_a_storm_reports_is_added_up() {
    let text = "running 1 test\nstorm: rounds=3 operations=40 kills=2 seed=7\ntest x ... storm: rounds=1 operations=2 kills=0\n";
    let sum = storm::reported(text);
    assert_eq!((sum.rounds, sum.operations, sum.kills), (4, 42, 2));
    assert_eq!(storm::reported("nothing").rounds, 1);
}

#[test]
fn a_storm_is_known_by_the_name_of_its_test() {
    assert!(storm::is_storm("kill_nine::soak_a_run") && storm::is_storm("soak_a_run"));
    assert!(storm::is_storm("crash::kill_nine_loses_nothing_that_was_acknowledged"));
    assert!(!storm::is_storm("soak_module::a_test") && !storm::is_storm("a_test"));
}

#[test]
fn test_binaries_are_those_that_cargo_names() {
    let message = |test: bool| {
        json!({
            "reason": "compiler-artifact", "manifest_path": "/w/crates/cli/Cargo.toml",
            "profile": {"test": test}, "executable": "/w/target/debug/deps/it-1",
        })
    };
    let found = storm::binary(&message(true)).map(|binary| (binary.package, binary.path));
    assert_eq!(found, Some(("cli".to_owned(), PathBuf::from("/w/target/debug/deps/it-1"))));
    assert_eq!(storm::binary(&message(false)), None);
}

#[test]
fn a_storm_that_is_too_late_ends_with_everything_that_it_started() {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "sleep 600 & sleep 600"]).stdout(std::process::Stdio::piped());
    let mut child = std::os::unix::process::CommandExt::process_group(&mut command, 0).spawn().unwrap();
    storm::end_group(child.id()).unwrap();
    child.wait().unwrap();
    // The pipe ends when nobody holds its other end.
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut child.stdout.take().unwrap(), &mut rest).unwrap();
    assert!(rest.is_empty());
}

#[test]
fn a_storm_that_failed_or_was_skipped_does_not_hold_up_the_others() {
    let call = Call { rounds: Some(40), seed: 9, deadline: STORM_MAX };
    let mut failed = tally("a", &[5]);
    failed.add(&call, Outcome { failure: Some("a failed".to_owned()), ..Outcome::default() });
    assert_eq!((failed.rounds, failed.tried), (5, 45));
    let mut skipped = Tally::new("b");
    skipped.add(&call, Outcome { skipped: true, ..Outcome::default() });
    assert_eq!(next(&[skipped, failed]), 1);
}

#[test]
fn the_table_has_a_row_for_each_storm_and_one_for_all() {
    let mut failed = tally("b", &[2]);
    let call = Call { rounds: None, seed: 9, deadline: STORM_MAX };
    failed.add(&call, Outcome { failure: Some("b failed".to_owned()), ..Outcome::default() });
    let mut skipped = Tally::new("c");
    skipped.add(&call, storm::reported("storm: skipped: no namespaces\n"));
    let text = table::table(&[tally("a", &[1, 2]), failed, skipped]);
    let rows: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        rows,
        [
            "| a | 2 | 3 | 0 | 0 | 7 | 0 | 3 s |",
            "| b | 2 | 2 | 0 | 0 | 9 | 1 | 2 s |",
            "| c (skipped) | 1 | 0 | 0 | 0 | 9 | 0 | 0 s |",
            "| all | 5 | 5 | 0 | 0 |  | 1 | 5 s |"
        ]
    );
}
