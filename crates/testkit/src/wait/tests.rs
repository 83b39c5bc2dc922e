use super::*;

#[test]
fn a_wait_in_vain_ends_at_its_deadline_and_names_what_did_not_happen() {
    let vain = || found_within(Duration::from_millis(5), "rain in the desert", || None::<()>);
    let panic = std::panic::catch_unwind(vain).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "timed out after 5ms: rain in the desert");
}
