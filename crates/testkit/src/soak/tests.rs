use super::*;

#[test]
fn a_test_runs_its_usual_rounds_unless_more_are_requested() {
    assert_eq!(factor(None), 1);
    assert_eq!(factor(Some("20".as_ref())), 20);
    for wrong in ["", "0", "-1", "many"] {
        assert!(std::panic::catch_unwind(|| factor(Some(wrong.as_ref()))).is_err(), "{wrong}");
    }
}
