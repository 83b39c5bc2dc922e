use contract::domain::plan::policy::FallbackTrigger;
use contract::plan::choice::GivenUp;

use super::*;

#[test]
fn the_next_attempt_uses_what_was_chosen_and_says_why_it_changed() {
    let other = Alternative {
        executor: ExecutorName::aop_stdio(),
        command: vec!["other".to_owned()],
        model: Some("m-2".to_owned()),
        trigger: FallbackTrigger::Timeout,
    };
    let spec = PlanTask { alternatives: vec![other], ..PlanTask::minimal("a") };
    let after = |alternative, choice| {
        let standing = TaskStanding { alternative, choice, ..TaskStanding::default() };
        let selected = next(&spec, &standing, Some("E_TIMEOUT"));
        (selected.told(), selected.alternative, selected.fallback)
    };
    let own = ("shell".to_owned(), None, None);
    assert_eq!(after(None, None), own);
    assert_eq!(after(None, Some(Choice::Retry)), own);
    let told = "m-2 with aop-stdio".to_owned();
    let because = "m-2 with aop-stdio after E_TIMEOUT, alternative 1 of 1, for TIMEOUT".to_owned();
    assert_eq!(after(None, Some(Choice::Alternative(0))), (told.clone(), Some(0), Some(because)));
    assert_eq!(after(Some(0), Some(Choice::Retry)), (told, Some(0), None));
    assert_eq!(after(Some(0), Some(Choice::GiveUp(GivenUp::Exhausted))), own);
}
