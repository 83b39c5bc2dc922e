use super::*;

#[test]
fn the_closing_line_counts_failures_and_every_step_has_its_time() {
    let second = Duration::from_secs(1);
    let done = [
        ("fmt", second, Outcome::Passed),
        ("tidy", second * 2, Outcome::Failed("x".to_owned())),
        ("conformance", Duration::ZERO, Outcome::Skipped("no vectors".to_owned())),
    ];
    let expected = "\
fmt              1.0 s  ok
tidy             2.0 s  FAILED
conformance      0.0 s  not run: no vectors
ci: 1 failed in 3.0 s";
    assert_eq!(summary(&done), expected);
}
