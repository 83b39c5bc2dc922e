use serde_json::json;

use super::*;

#[test]
fn each_way_on_becomes_a_result_or_has_to_be_waited_for() {
    let decided = || Outcome::decided("A", "first").set("C0.Event.x", 1);
    let exit = |outcome: Outcome| outcome.settle(0).map(|result| result.exit).unwrap();
    let brief = || Handed::Brief("b".to_owned());
    assert_eq!(exit(decided().giving(brief())), LayerEnd::Continue(brief()));
    assert_eq!(exit(decided().answer(json!(1))), LayerEnd::Answer(json!(1)));
    assert_eq!(exit(decided().refuse("no")), LayerEnd::Refuse("no".into()));
    assert_eq!(exit(decided().park("ask")), LayerEnd::Park("ask".to_owned()));
    let slow = decided().wait(|_| Outcome::decided("B", "second").giving(Handed::Brief("b".to_owned())));
    let Unsettled { earlier, work } = *slow.settle(0).unwrap_err();
    assert_eq!(earlier, decided());
    let whole = work.call(&GiveUp::default()).after(earlier);
    let codes: Vec<&str> = whole.decisions.iter().map(|decision| decision.code.as_str()).collect();
    assert_eq!((codes, whole.next), (vec!["A", "B"], Next::Continue(brief())));
    assert_eq!(whole.delta["C0.Event.x"], 1);
}

#[test]
fn the_time_of_the_work_comes_before_the_time_of_the_layer() {
    let timing_ms = |outcome: Outcome| outcome.settle(3).unwrap().timing_ms;
    assert_eq!(timing_ms(Outcome::new()), 3);
    assert_eq!(timing_ms(Outcome::new().taking(Duration::from_secs(2))), 2_000);
}
