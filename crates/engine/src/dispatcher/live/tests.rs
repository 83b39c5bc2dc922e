use contract::domain::plan::policy::{HeartbeatPolicy, OnHeartbeatFailure};
use contract::secrets::Hidden;

use super::*;
use crate::dispatcher::samples::{executing, returned, working};

const MINUTE: Duration = Duration::from_mins(1);

fn beats(on_failure: OnHeartbeatFailure) -> Option<Beats> {
    Some(Beats::new(HeartbeatPolicy { interval_ms: 1000, missed_max: 1, on_failure }))
}

fn setup() -> Live {
    let process = RunningProcess { number: 7, deadline_ms: 60_000 };
    let watched = Box::new(CheckOutput::of_setup(&Hidden::default()));
    working(WorkStep::Setup { process, index: 0, watched }, None)
}

#[test]
fn an_attempt_waits_for_its_process_or_until_it_is_tried_again() {
    let process = RunningProcess { number: 1, deadline_ms: 60_000 };
    assert_eq!(executing(None).pending(), Pending::Process(process));
    assert_eq!(working(WorkStep::Parked { due_ms: 5 }, None).pending(), Pending::Parked(5));
    assert_eq!(working(WorkStep::Deciding, None).pending(), Pending::Nothing);
    assert_eq!(returned(ReturnStep::Landing { due_ms: 6 }).pending(), Pending::Conclusion(6));
    assert_eq!(returned(ReturnStep::Judging { deadline_ms: 7 }).pending(), Pending::Conclusion(7));
    assert_eq!((setup().process(), returned(ReturnStep::Deciding).process()), (Some(7), None));
}

#[test]
fn it_is_looked_at_when_its_deadline_or_its_silence_comes() {
    assert_eq!(executing(None).next_due_ms(), 60_000);
    assert_eq!(executing(beats(OnHeartbeatFailure::Warn)).next_due_ms(), 1001);
    assert_eq!(setup().next_due_ms(), 60_000);
    assert_eq!(returned(ReturnStep::Landing { due_ms: 6 }).next_due_ms(), 6);
}

#[test]
fn time_in_which_the_engine_was_stopped_moves_deadlines_but_not_the_next_try() {
    let mut live = executing(beats(OnHeartbeatFailure::Warn));
    live.late_since_ms = Some(10);
    live.postpone(500);
    assert_eq!((live.next_due_ms(), live.late_since_ms), (1501, Some(510)));
    let mut live = returned(ReturnStep::Judging { deadline_ms: 7 });
    live.postpone(500);
    assert_eq!(live.pending(), Pending::Conclusion(507));
    let mut live = working(WorkStep::Parked { due_ms: 5 }, None);
    live.postpone(500);
    assert_eq!(live.pending(), Pending::Parked(5));
}

#[test]
fn a_timeout_stops_an_executor_unless_it_may_be_late() {
    let mut spec = PlanTask::minimal("a");
    assert_eq!(executing(None).overdue(&spec, None, 59_999), Overdue::Nothing);
    assert_eq!(executing(None).overdue(&spec, None, 60_000), Overdue::Stop(Stopped::Timeout));
    spec.policy.may_be_late = true;
    let mut live = executing(None);
    assert_eq!(live.overdue(&spec, Some(MINUTE * 3), 60_000), Overdue::Late(MINUTE));
    assert_eq!(live.overdue(&spec, Some(MINUTE * 3), 61_000), Overdue::Nothing, "it is warned once");
    assert_eq!(live.late_ms(61_000), Some(1000));
    assert_eq!(live.overdue(&spec, Some(MINUTE * 3), 180_000), Overdue::Stop(Stopped::Timeout));
    let is_longest = executing(None).overdue(&spec, Some(MINUTE), 60_000);
    assert_eq!(is_longest, Overdue::Stop(Stopped::Timeout), "no attempt takes longer than any may");
}

#[test]
fn silence_is_warned_of_or_stops_the_executor() {
    let spec = PlanTask::minimal("a");
    let look = |on_failure| executing(beats(on_failure)).overdue(&spec, None, 1001);
    assert_eq!(look(OnHeartbeatFailure::Warn), Overdue::Silent(Duration::from_millis(1001)));
    assert_eq!(look(OnHeartbeatFailure::Abort), Overdue::Stop(Stopped::Silence));
    assert_eq!(look(OnHeartbeatFailure::Continue), Overdue::Nothing);
    let mut live = executing(beats(OnHeartbeatFailure::Abort));
    live.sign(1000);
    assert_eq!(live.overdue(&spec, None, 1001), Overdue::Nothing);
}

#[test]
fn a_setup_command_that_takes_too_long_is_killed() {
    let mut live = setup();
    assert_eq!(live.overdue(&PlanTask::minimal("a"), None, 60_000), Overdue::Kill(7));
    let WorkStep::Setup { watched, .. } = &live.phase.executor().step else { panic!("still set up") };
    assert_eq!(watched.problem.as_deref(), Some(TOOK_TOO_LONG));
}
