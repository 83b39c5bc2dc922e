mod reference;

use super::*;
use contract::domain::attempt::{AttemptOutcome, AttemptState, NewAttempt};
use contract::domain::id::Id;
use contract::domain::run::Owner;
use contract::domain::time::Timestamp;
use proptest::prelude::*;

fn board(max_parallel: usize, tasks: &[(&str, &[usize], &[&str])]) -> Board {
    let slots: Vec<Slot> = tasks
        .iter()
        .map(|(name, needs, writes)| Slot {
            name: (*name).to_owned(),
            status: Status::Todo,
            needs: needs.to_vec(),
            writes: writes.iter().map(|path| scope(path)).collect(),
            ..Slot::default()
        })
        .collect();
    Board::new(slots, max_parallel)
}

fn scope(path: &str) -> Scope {
    Scope::parse(path, None).unwrap()
}

fn starts(board: &mut Board) -> String {
    let steps = board.steps(0);
    let names: Vec<String> = steps
        .iter()
        .map(|step| match step {
            BoardStep::Start(task) => board.slots()[*task].name.clone(),
            BoardStep::Skip { task, because } => {
                format!("{}-skipped-by-{}", board.slots()[*task].name, board.slots()[*because].name)
            }
        })
        .collect();
    names.join(" ")
}

#[test]
fn disjoint_scopes_run_together_and_overlapping_ones_one_after_the_other() {
    let mut board =
        board(4, &[("a", &[], &["src/a"]), ("b", &[], &["src/b"]), ("c", &[], &["src"]), ("d", &[], &[])]);
    assert_eq!(starts(&mut board), "a b d");
    (0..2).for_each(|task| board.set_status(task, Status::InProgress));
    board.set_status(3, Status::Done);
    assert_eq!(starts(&mut board), "");
    board.set_status(0, Status::Done);
    assert_eq!(starts(&mut board), "");
    board.set_status(1, Status::Done);
    assert_eq!(starts(&mut board), "c");
}

#[test]
fn the_offered_order_and_the_limit_decide_who_starts() {
    let mut board = board(2, &[("a", &[], &[]), ("b", &[], &[]), ("c", &[], &[])]);
    board.offer(&[2, 0, 1]);
    assert_eq!(starts(&mut board), "c a");
}

#[test]
fn what_needs_a_failed_task_is_skipped_and_what_needs_a_parked_one_waits() {
    let mut board = board(4, &[("a", &[], &[]), ("b", &[0], &[]), ("c", &[1], &[])]);
    board.set_status(0, Status::Failed);
    assert_eq!(starts(&mut board), "b-skipped-by-a");
    board.set_status(0, Status::Blocked);
    assert_eq!(starts(&mut board), "");
    assert!(board.is_settled(0));
}

#[test]
fn a_retry_waits_for_its_time() {
    let mut board = board(4, &[("a", &[], &[])]);
    board.set_not_before(0, 100);
    assert_eq!(
        (starts(&mut board), board.next_due_ms(0), board.is_settled(0)),
        (String::new(), Some(100), false)
    );
    assert_eq!(board.steps(100), [BoardStep::Start(0)]);
}

#[test]
fn a_repetition_waits_for_the_longer_of_the_plan_and_the_executor() {
    let failed = |retry_after_ms| Attempt {
        begun: NewAttempt {
            id: Id::from_bits(1),
            task_id: Id::from_bits(2),
            run_id: Id::from_bits(3),
            number: 1,
            executor: "aop-stdio".to_owned(),
            model: None,
            alternative: None,
            agent_session: None,
            owner: Owner {
                pid: 1,
                start_time: 1,
                boot_id: "b".to_owned(),
                within: Vec::new(),
                machine: String::new(),
                store: None,
            },
        },
        state: AttemptState::Failed,
        started_at: Timestamp::from_millis(0),
        ended_at: Some(Timestamp::from_millis(1)),
        outcome: Some(AttemptOutcome { retry_after_ms, ..AttemptOutcome::default() }),
        rollback: None,
    };
    let spec = PlanTask { retries: 2, backoff_ms: vec![100, 700], ..PlanTask::minimal("a") };
    let wait = |attempts: &[Attempt]| wait_after(&spec, attempts).as_millis();
    assert_eq!(wait(&[]), 0);
    assert_eq!(wait(&[failed(None)]), 100);
    assert_eq!(wait(&[failed(Some(50))]), 100);
    assert_eq!(wait(&[failed(Some(500))]), 500);
    assert_eq!(wait(&[failed(Some(500)), failed(None)]), 700, "only the last word counts");
    assert_eq!(wait(&[failed(Some(u64::MAX))]), limits::RETRY_AFTER_MAX.as_millis());
    assert_eq!(wait(&vec![failed(Some(500)); 3]), 0, "the plan would not repeat it, so a person asked");
    let interrupted = Attempt { state: AttemptState::Interrupted, ..failed(Some(500)) };
    assert_eq!(wait(&[interrupted]), 0);
}

#[test]
fn among_what_could_start_the_set_that_unlocks_most_is_chosen() {
    let mut board = board(
        4,
        &[
            ("wide", &[], &["."]),
            ("left", &[], &["l"]),
            ("right", &[], &["r"]),
            ("x", &[1], &[]),
            ("y", &[2], &[]),
        ],
    );
    assert_eq!(starts(&mut board), "left right", "they unlock two, the wide one nothing");
    let mut slots = board.slots().to_vec();
    slots[0].priority = Priority::Critical;
    let mut urgent = Board::new(slots, 4);
    assert_eq!(starts(&mut urgent), "wide", "what is urgent comes before what unlocks");
}

#[test]
fn an_escalated_task_overtakes_those_that_wait_and_stops_none_that_runs() {
    let mut board = board(1, &[("a", &[], &[]), ("b", &[], &[]), ("c", &[], &[]), ("d", &[1], &[])]);
    board.set_status(0, Status::InProgress);
    board.set_priority(2, Priority::Critical);
    board.set_priority(3, Priority::Critical);
    assert_eq!(starts(&mut board), "", "nothing that runs gives way");
    board.set_status(0, Status::Done);
    assert_eq!(starts(&mut board), "c");
    board.set_priority(2, Priority::Low);
    assert_eq!(starts(&mut board), "b", "it can be moved back");
}

#[test]
fn what_others_hold_is_waited_for() {
    let mut board = board(4, &[("a", &[], &["src/a"]), ("b", &[], &["src/b"])]);
    board.set_taken(vec![scope("src/a")]);
    assert_eq!(starts(&mut board), "b");
    board.set_status(1, Status::Done);
    assert_eq!((starts(&mut board), board.is_settled(0)), (String::new(), false));
    board.set_taken(Vec::new());
    assert_eq!(starts(&mut board), "a");
}

#[test]
fn a_wide_task_gets_its_turn_however_many_narrow_ones_there_are() {
    let mut tasks: Vec<(String, String)> = vec![("wide".to_owned(), ".".to_owned())];
    tasks.extend((0..40).map(|number| (format!("n{number}"), format!("d{}", number % 4))));
    let slots = tasks.iter().map(|(name, path)| Slot {
        name: name.clone(),
        writes: vec![scope(path)],
        priority: if name == "wide" { Priority::Low } else { Priority::High },
        ..Slot::default()
    });
    let mut board = Board::new(slots.collect(), 4);
    let mut finished = 0;
    while board.slots()[0].status == Status::Todo {
        let steps = board.steps(0);
        board.note(&steps, 0);
        for step in steps {
            let BoardStep::Start(task) = step else { panic!("nothing is skipped here") };
            board.set_status(task, Status::InProgress);
        }
        // One at a time comes to its end, so that the four are never all free by themselves.
        let busy = board.busy().find(|task| *task != 0);
        if let Some(task) = busy {
            board.set_status(task, Status::Done);
            finished += 1;
        }
        assert!(finished < 20, "the wide task starves");
    }
}

/// One thing that happens to a board.
#[derive(Debug, Clone)]
enum Event {
    Moves(usize, Status),
    WaitsUntil(usize, i64),
    IsEscalated(usize, i64),
    OthersTake(usize),
    TimePasses(i64),
    Steps,
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0usize..12, prop::sample::select(Status::ALL.to_vec()))
            .prop_map(|(task, to)| Event::Moves(task, to)),
        (0usize..12, 0i64..40).prop_map(|(task, until)| Event::WaitsUntil(task, until)),
        (0usize..12, -1i64..12).prop_map(|(task, number)| Event::IsEscalated(task, number)),
        (0usize..5).prop_map(Event::OthersTake),
        (0i64..10).prop_map(Event::TimePasses),
        Just(Event::Steps),
        Just(Event::Steps),
    ]
}

proptest! {
    /// Whatever the plan and whatever the outcomes, no two running tasks ever overlap, the limit holds, nothing
    /// starts before what it needs, and the board always settles.
    #[test]
    fn every_schedule_is_safe_and_ends(
        tasks in prop::collection::vec((prop::collection::vec(0usize..20, 0..3), 0usize..4, any::<u8>()), 1..20),
        max_parallel in 1usize..5,
    ) {
        let scopes = ["a", "a/b", "c", "."];
        let slots = tasks.iter().enumerate().map(|(i, (needs, scope, _))| Slot {
                name: i.to_string(),
                status: Status::Todo,
                needs: needs.iter().copied().filter(|&n| n < i).collect(),
                writes: vec![Scope::parse(scopes[*scope], None).unwrap()],
                ..Slot::default()
            }).collect();
        let mut board = Board::new(slots, max_parallel);
        board.offer(&(0..tasks.len()).rev().collect::<Vec<_>>());
        let mut running: Vec<usize> = Vec::new();
        for _ in 0..200 {
            let steps = board.steps(0);
            board.note(&steps, 0);
            for step in &steps {
                match *step {
                    BoardStep::Start(task) => {
                        prop_assert!(board.slots()[task].needs.iter().all(|&n| board.slots()[n].status == Status::Done));
                        prop_assert!(
                            running.iter().all(|&r| !overlap(&board.slots()[r].writes, &board.slots()[task].writes))
                        );
                        board.set_status(task, Status::InProgress);
                        running.push(task);
                        prop_assert!(running.len() <= max_parallel);
                    }
                    BoardStep::Skip { task, .. } => board.set_status(task, Status::Canceled),
                }
            }
            match running.pop() {
                Some(task) => {
                    let end = if tasks[task].2 % 4 == 0 { Status::Failed } else { Status::Done };
                    board.set_status(task, end);
                }
                // A skipped task makes others skippable, so it ends only when there is nothing to do.
                None if steps.is_empty() => break,
                None => {}
            }
        }
        prop_assert!(board.is_settled(0));
        prop_assert!(board.slots().iter().all(|slot| slot.status.is_terminal()));
    }

    /// What the board keeps in step is what looking at all of its tasks gives.
    #[test]
    fn the_board_does_what_looking_at_every_task_would(
        tasks in prop::collection::vec((prop::collection::vec(0usize..12, 0..3), 0usize..4, 0i64..12), 12),
        events in prop::collection::vec(any_event(), 1..60),
        order in Just((0usize..12).collect::<Vec<_>>()).prop_shuffle(),
        max_parallel in 1usize..5,
    ) {
        let scopes = ["a", "a/b", "c", "."].map(scope);
        let slot = |(i, (needs, place, priority)): (usize, &(Vec<usize>, usize, i64))| Slot {
            name: i.to_string(),
            needs: needs.iter().copied().filter(|&n| n < i).collect(),
            writes: if *priority % 3 == 0 { Vec::new() } else { vec![scopes[*place].clone()] },
            priority: Priority::from_number(*priority - 1),
            ..Slot::default()
        };
        let mut board = Board::new(tasks.iter().enumerate().map(slot).collect(), max_parallel);
        board.offer(&order);
        let mut now_ms = 0;
        for event in events {
            match event {
                Event::Moves(task, to) => board.set_status(task, to),
                Event::WaitsUntil(task, until) => board.set_not_before(task, until),
                Event::IsEscalated(task, number) => board.set_priority(task, Priority::from_number(number)),
                Event::OthersTake(place) => board.set_taken(scopes.get(place).cloned().into_iter().collect()),
                Event::TimePasses(ms) => now_ms += ms,
                Event::Steps => {}
            }
            let naive = reference::Naive::of(&board, &order);
            let steps = board.steps(now_ms);
            prop_assert_eq!(&steps, &naive.steps(now_ms));
            prop_assert_eq!(board.next_due_ms(now_ms), naive.next_due_ms(now_ms));
            prop_assert_eq!(board.is_settled(now_ms), naive.is_settled(now_ms));
            prop_assert_eq!(board.waiting(now_ms), naive.waiting(now_ms));
            board.note(&steps, now_ms);
            let passed: Vec<u32> = board.slots().iter().map(|slot| slot.passed_over).collect();
            prop_assert_eq!(passed, naive.passed_over_after(&steps, now_ms));
            for step in steps {
                match step {
                    BoardStep::Start(task) => board.set_status(task, Status::InProgress),
                    BoardStep::Skip { task, .. } => board.set_status(task, Status::Canceled),
                }
            }
        }
    }
}
