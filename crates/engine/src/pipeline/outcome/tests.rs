use serde_json::json;

use super::*;

#[test]
fn each_way_on_becomes_a_result_or_has_to_be_waited_for() {
    let decided = || Outcome::decided("A", "first").set("C0.Event.x", 1);
    let exit = |outcome: Outcome<u8>| outcome.settle(0).map(|result| result.exit).unwrap();
    assert_eq!(exit(decided().giving(7)), Exit::Continue(7));
    assert_eq!(exit(decided().answer(json!(1))), Exit::Answer(json!(1)));
    assert_eq!(exit(decided().refuse("no")), Exit::Refuse("no".to_owned()));
    let (earlier, work) =
        decided().wait(|_| Outcome::decided("B", "second").giving(7)).settle(0).unwrap_err();
    assert_eq!(earlier, decided());
    let whole = work.call(&GiveUp::default()).after(earlier);
    let codes: Vec<&str> = whole.decisions.iter().map(|decision| decision.code.as_str()).collect();
    assert_eq!((codes, whole.next), (vec!["A", "B"], Next::Continue(7)));
    assert_eq!(whole.delta["C0.Event.x"], 1);
}

#[test]
fn a_layer_of_a_task_cannot_answer_the_run() {
    assert_eq!(Exit::Continue(7).for_task(), Ok(7));
    assert_eq!(Exit::<u8>::Refuse("no".to_owned()).for_task(), Err("no".to_owned()));
    let answered = Exit::<u8>::Answer(json!(1));
    assert_eq!(answered.product(), None);
    assert_eq!(answered.for_task(), Err("a layer of a task tried to answer the run".to_owned()));
}
