use super::*;

#[test]
fn a_test_runs_its_usual_rounds_unless_another_number_is_asked_for() {
    assert_eq!(number(7, None), 7);
    assert_eq!(number(7, Some("20".as_ref())), 20);
    for wrong in ["", "0", "-1", "many"] {
        assert!(std::panic::catch_unwind(|| number(7, Some(wrong.as_ref()))).is_err(), "{wrong}");
    }
}

#[test]
fn a_storm_says_what_it_did_on_one_line() {
    let storm = Storm { rounds: 3, operations: 40, kills: 2, seed: Some(7) };
    assert_eq!(storm.line(), "storm: rounds=3 operations=40 kills=2 seed=7");
    assert_eq!(Storm::default().line(), "storm: rounds=0 operations=0 kills=0");
}
