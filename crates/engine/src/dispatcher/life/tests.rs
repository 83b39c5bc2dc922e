use contract::domain::attempt::AttemptState;
use contract::domain::check::{Check, CheckSeen};
use contract::domain::checkpoint::{Checkpoint, Recovery};
use contract::domain::failure_code::FailureCode;
use contract::domain::plan::PlanTask;
use contract::domain::reason::Reason;
use contract::domain::rollback::RollbackCounts;
use contract::domain::status::Status;
use contract::plan::choice::{Choice, GivenUp};
use ops::run::journal::JournalEntry;

use super::checks::after_check;
use super::conclusion::{Concluded, moves_after, stopped_end};
use super::*;
use crate::dispatcher::rollback::Rolled;
use crate::dispatcher::samples::{executing, returned, work, working};
use crate::executor::Stopped;
use crate::pipeline::l8_verify::AttemptVerdict;

#[test]
fn each_wait_is_longer_up_to_a_limit() {
    let waits: Vec<Duration> = (0..40).map(wait_after).collect();
    assert_eq!(waits[0], limits::SHORTAGE_WAIT_MIN);
    assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]), "{waits:?}");
    assert_eq!(waits[39], limits::SHORTAGE_WAIT_MAX);
}

#[test]
fn a_process_that_cannot_be_started_parks_its_attempt_only_for_a_shortage() {
    let shim =
        |errno| StartError::Shim { program: "writ".into(), source: std::io::Error::from_raw_os_error(errno) };
    let mut live = executing(None);
    assert!(matches!(unstarted(&mut live, &shim(libc::EMFILE)), AttemptStep::Park(_)));
    assert!(matches!(unstarted(&mut live, &shim(libc::EACCES)), AttemptStep::Return));
    assert!(live.phase.executor().ended.fault.is_some());
    let mut live = executing(None);
    live.stopped = Some(Stopped::Interrupted);
    let step = unstarted(&mut live, &shim(libc::EMFILE));
    assert!(matches!(step, AttemptStep::Return), "one that is to be ended is not parked");
}

#[test]
fn a_parked_attempt_goes_on_where_it_was_unless_it_was_stopped() {
    let mut live = working(WorkStep::Parked { due_ms: 5 }, None);
    assert!(matches!(unparked(&mut live), AttemptStep::Begin));
    live.stopped = Some(Stopped::Canceled);
    assert!(matches!(unparked(&mut live), AttemptStep::Return));
    let mut live = returned(ReturnStep::Deciding);
    live.stopped = Some(Stopped::Canceled);
    assert!(matches!(unparked(&mut live), AttemptStep::Conclude));
}

/// Three checks, the first two of one checkpoint.
fn checked(recovery: Recovery) -> PlanTask {
    let check = |name: &str| Check::of_arguments(vec![name.to_owned()]);
    let checkpoint = Checkpoint {
        id: "c".to_owned(),
        phase: "p".to_owned(),
        first: 0,
        count: 2,
        recovery,
        is_skipped: false,
    };
    let checks = ["one", "two", "three"].map(check).to_vec();
    PlanTask { checks, checkpoints: vec![checkpoint], ..PlanTask::minimal("a") }
}

#[test]
fn a_failed_check_ends_its_checkpoint_and_decides_the_attempt_as_its_author_wants() {
    let follow = |recovery, passed| {
        let spec = checked(recovery);
        let seen = CheckSeen { passed, ..CheckSeen::not_run(&spec.checks[0], "failed") };
        let after = after_check(&spec, 0, seen);
        let tolerated: Vec<bool> = after.seen.iter().map(|seen| seen.tolerated).collect();
        (tolerated, after.next)
    };
    assert_eq!(follow(Recovery::Retry, true), (vec![false], Some(1)));
    assert_eq!(follow(Recovery::Retry, false), (vec![false], None));
    assert_eq!(follow(Recovery::Abort, false), (vec![false], None));
    assert_eq!(follow(Recovery::Continue, false), (vec![true, true], Some(2)), "the second is not run");
    assert_eq!(follow(Recovery::Report, false), (vec![false, false], Some(2)));
}

/// Where the entries lead, with the reason.
fn moves(entries: &[JournalEntry]) -> Vec<(Status, Option<Reason>)> {
    let moved = |entry: &JournalEntry| match entry {
        JournalEntry::MoveTask { to, reason, .. } => (*to, reason.clone()),
        JournalEntry::Finish { withheld, .. } => (Status::Done, withheld.clone()),
        other => panic!("not a move: {other:?}"),
    };
    entries.iter().map(moved).collect()
}

fn failed() -> AttemptVerdict {
    AttemptVerdict::Failed(Reason::coded(FailureCode::Timeout, "took long"))
}

fn after(
    verdict: &AttemptVerdict,
    choice: Option<&Choice>,
    rolled: Option<Rolled>,
) -> Vec<(Status, Option<Reason>)> {
    let work = work(PlanTask::minimal("a"), Vec::new());
    moves(&moves_after(&work, Concluded { verdict, choice, rolled, unmerged: None }))
}

#[test]
fn a_verdict_finishes_repeats_or_ends_the_task() {
    let why = || Some(Reason::coded(FailureCode::Timeout, "took long"));
    assert_eq!(after(&AttemptVerdict::Done { verified: true }, None, None), [(Status::Done, None)]);
    let withheld = AttemptVerdict::Withheld { checked: true, reason: "changed".to_owned() };
    assert_eq!(after(&withheld, None, None), [(Status::Done, Some("changed".into()))]);
    let again = [(Status::Blocked, why()), (Status::Todo, None)];
    assert_eq!(after(&failed(), Some(&Choice::Retry), None), again);
    assert_eq!(after(&failed(), Some(&Choice::Alternative(0)), None), again);
    let critical = after(&failed(), Some(&Choice::GiveUp(GivenUp::Critical)), None);
    assert_eq!(critical[0].0, Status::Canceled);
    let exhausted = after(&failed(), Some(&Choice::GiveUp(GivenUp::Exhausted)), None);
    assert_eq!(exhausted[0].0, Status::Failed);
}

#[test]
fn a_task_is_repeated_only_with_the_files_it_had() {
    let rolled = |is_whole| Rolled {
        told: "rolled back".to_owned(),
        entry: None,
        is_whole,
        is_whole_but_limits: is_whole,
        counts: RollbackCounts::default(),
        left: Vec::new(),
    };
    let told = Some(Reason::coded(FailureCode::Timeout, "took long; rolled back"));
    let clean = after(&failed(), Some(&Choice::Retry), Some(rolled(true)));
    assert_eq!(clean, [(Status::Blocked, told.clone()), (Status::Todo, None)]);
    assert_eq!(after(&failed(), Some(&Choice::Retry), Some(rolled(false))), [(Status::Failed, told)]);
}

#[test]
fn work_that_is_done_and_could_not_be_merged_is_left_to_a_person() {
    let work = work(PlanTask::minimal("a"), Vec::new());
    let verdict = AttemptVerdict::Done { verified: true };
    let unmerged = Some(Reason::new("conflict"));
    let concluded = Concluded { verdict: &verdict, choice: None, rolled: None, unmerged: unmerged.clone() };
    assert_eq!(moves(&moves_after(&work, concluded)), [(Status::Blocked, unmerged)]);
}

#[test]
fn an_attempt_that_writ_ended_is_canceled_continued_or_unknown() {
    let end = |why, is_unstarted| {
        let end = stopped_end(why, is_unstarted);
        (end.state, end.to)
    };
    assert_eq!(end(Stopped::Canceled, false), (AttemptState::Interrupted, Status::Canceled));
    assert_eq!(end(Stopped::Interrupted, false), (AttemptState::Interrupted, Status::Blocked));
    assert_eq!(end(Stopped::Fenced, false), (AttemptState::Unknown, Status::Blocked));
    let work = work(PlanTask::minimal("a"), Vec::new());
    let unstarted = stopped_end(Stopped::Interrupted, true).moves(&work, &"short".into());
    let short = Some(Reason::new("short"));
    assert_eq!(moves(&unstarted), [(Status::Blocked, short), (Status::Todo, None)], "nothing of it ran");
    assert_eq!(moves(&stopped_end(Stopped::Canceled, true).moves(&work, &"x".into())).len(), 1);
}

#[test]
fn a_task_that_another_process_moved_stays_there() {
    let mut work = work(PlanTask::minimal("a"), Vec::new());
    work.task.status = Status::Done;
    assert_eq!(stopped_end(Stopped::Canceled, false).moves(&work, &"x".into()).len(), 0);
}
