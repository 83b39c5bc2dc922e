use super::*;
use crate::domain::time::Timestamp;
use proptest::prelude::*;

struct Fixed(u128);
impl Minter for Fixed {
    fn random_bits(&mut self) -> u128 {
        self.0
    }
}

proptest! {
    #[test]
    fn bits_survive_printing_and_parsing(bits: u128) {
        let id = Id::<Task>::from_bits(bits);
        prop_assert_eq!(Id::<Task>::parse(id.as_str()).unwrap().bits(), Some(bits));
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,80}") {
        Id::<Task>::parse(&text).ok();
    }
}

#[test]
fn an_id_of_another_kind_is_refused() {
    let run = mint_run(&mut Fixed(7));
    assert_eq!(Id::<Task>::parse(run.as_str()), Err(InvalidId { kind: "task" }));
}

#[test]
fn an_imported_id_is_kept_unchanged() {
    let id = Id::<Task>::parse("task_1739373000123456789_a19f2c0b1d2e").unwrap();
    assert_eq!(id.to_string(), "task_1739373000123456789_a19f2c0b1d2e");
    assert_eq!(id.bits(), None);
}

#[test]
fn a_run_id_is_a_uuid_of_version_4() {
    let uuid = mint_run(&mut Fixed(u128::MAX)).uuid().unwrap();
    assert_eq!(uuid, "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

#[test]
fn ids_minted_later_sort_later() {
    let mut minter = Fixed(u128::MAX);
    let early: Id<Task> = mint(&mut minter, Timestamp::from_millis(1_000));
    minter.0 = 0;
    let late: Id<Task> = mint(&mut minter, Timestamp::from_millis(1_001));
    assert!(early < late);
}

#[test]
fn faulty_ids_are_refused() {
    for text in
        ["", "task", "task_", "task_A", "task_a b", "task_é", "run_1", &format!("task_{}", "a".repeat(65))]
    {
        assert!(Id::<Task>::parse(text).is_err(), "{text:?}");
    }
}
