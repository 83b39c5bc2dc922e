use super::*;
use crate::domain::attempt::{AttemptState, NewAttempt};
use crate::domain::id::Id;
use crate::domain::run::Owner;

fn file(content: u8) -> TreeNode {
    TreeNode::File { mode: 0o644, size: 1, digest: [content; 32] }
}

fn tree(files: &[(&str, u8)]) -> Tree {
    files.iter().map(|(path, content)| (path.as_bytes().to_vec(), file(*content))).collect()
}

/// The decision for a path that was `before`, was left as `after` and is `now` like this. 0 is nothing.
fn decided(before: u8, after: u8, now: u8) -> Option<(FileAction, FileStatus)> {
    let node = |content: u8| (content > 0).then(|| file(content));
    let one = |content: u8| node(content).map(|node| (b"f".to_vec(), node)).into_iter().collect::<Tree>();
    let (before, after) = (one(before), one(after));
    let changes = changes(&[ScopeSpan { before: &before, after: &after }]);
    let change = changes.get(&b"f"[..])?;
    let PathDecision { action, status } = decide(change, node(now).as_ref());
    Some((action, status))
}

#[test]
fn only_what_the_task_left_is_taken_back() {
    use FileAction::{Create, Remove, Restore};
    use FileStatus::{Conflict, Planned, Unchanged};
    assert_eq!(decided(1, 1, 2), None, "the task did not change it, so a later change is not looked at");
    assert_eq!(decided(1, 2, 2), Some((Restore, Planned)));
    assert_eq!(decided(1, 2, 1), Some((Restore, Unchanged)));
    assert_eq!(decided(1, 2, 3), Some((Restore, Conflict)));
    assert_eq!(decided(1, 2, 0), Some((Restore, Conflict)), "somebody deleted it since");
    assert_eq!(decided(0, 2, 2), Some((Remove, Planned)));
    assert_eq!(decided(0, 2, 3), Some((Remove, Conflict)));
    assert_eq!(decided(0, 2, 0), Some((Remove, Unchanged)));
    assert_eq!(decided(1, 0, 0), Some((Create, Planned)));
    assert_eq!(decided(1, 0, 3), Some((Create, Conflict)));
}

#[test]
fn several_attempts_are_taken_back_together() {
    let (one, two, three) = (tree(&[("a", 1)]), tree(&[("a", 2)]), tree(&[("a", 3), ("b", 1)]));
    let newest_first = [ScopeSpan { before: &two, after: &three }, ScopeSpan { before: &one, after: &two }];
    let all = changes(&newest_first);
    assert_eq!(all[&b"a"[..]], PathChange { before: Some(file(1)), after: Some(file(3)), is_broken: false });
    assert_eq!(all[&b"b"[..]], PathChange { before: None, after: Some(file(1)), is_broken: false });
    // The second attempt undid what the first one did.
    let back = [ScopeSpan { before: &two, after: &one }, ScopeSpan { before: &one, after: &two }];
    assert_eq!(changes(&back).len(), 0);
    // Somebody else wrote 7 between the attempts: that stays.
    let (seven, eight) = (tree(&[("a", 7)]), tree(&[("a", 8)]));
    let broken = [ScopeSpan { before: &seven, after: &eight }, ScopeSpan { before: &one, after: &two }];
    assert_eq!(
        changes(&broken)[&b"a"[..]],
        PathChange { before: Some(file(7)), after: Some(file(8)), is_broken: true }
    );
}

fn attempt(number: i64, rollback: Option<(Direction, Stage)>) -> Attempt {
    Attempt {
        begun: NewAttempt {
            id: Id::parse("attempt_01m7j9vk6yfy8vdmecsatkwc5c").unwrap(),
            task_id: Id::parse("task_01m7j9vk6yfy8vdmecsatkwc5c").unwrap(),
            run_id: Id::from_uuid("3f5626fe-3b5a-4a0c-8a1d-6d1f3b0c9a11").unwrap(),
            number,
            executor: "shell".to_owned(),
            model: None,
            alternative: None,
            agent_session: None,
            owner: Owner {
                pid: 7,
                start_time: 1,
                boot_id: "boot".to_owned(),
                within: Vec::new(),
                machine: String::new(),
                store: None,
            },
        },
        state: AttemptState::Failed,
        started_at: Timestamp::from_millis(0),
        ended_at: None,
        outcome: None,
        rollback: rollback.map(|(direction, stage)| Rollback {
            direction,
            stage,
            trigger: Trigger::Manual,
            by: "human.ann".to_owned(),
            since: number,
            at: Timestamp::from_millis(0),
            counts: RollbackCounts::default(),
            left: Vec::new(),
        }),
    }
}

#[test]
fn a_rollback_covers_what_was_not_taken_back_yet() {
    use Direction::{Redo, Undo};
    use Stage::{Ended, Started};
    let numbers = |attempts: &[Attempt], direction| covered(attempts, direction).map(|found| found.attempts);
    assert_eq!(numbers(&[], Undo), Err(NotCovered::NoAttempt));
    assert_eq!(numbers(&[attempt(1, None), attempt(2, None)], Undo), Ok(vec![2, 1]));
    assert_eq!(numbers(&[attempt(1, None)], Redo), Err(NotCovered::NotRolledBack));
    // The first attempt failed and was rolled back by itself.
    let after_a_failure = [attempt(1, Some((Undo, Ended))), attempt(2, None), attempt(3, None)];
    assert_eq!(numbers(&after_a_failure, Undo), Ok(vec![3, 2]));
    let back = [attempt(1, Some((Undo, Ended)))];
    assert_eq!(numbers(&back, Undo), Err(NotCovered::RolledBack));
    assert_eq!(numbers(&back, Redo), Ok(vec![1]));
    let killed = [attempt(1, Some((Undo, Started)))];
    assert!(covered(&killed, Undo).unwrap().unfinished.is_some());
    assert_eq!(numbers(&killed, Redo), Err(NotCovered::UndoUnfinished));
    let again = [attempt(1, Some((Redo, Ended)))];
    assert_eq!(numbers(&again, Undo), Ok(vec![1]));
    assert_eq!(numbers(&again, Redo), Err(NotCovered::NotRolledBack));
    let killed = [attempt(1, Some((Redo, Started)))];
    assert_eq!(numbers(&killed, Undo), Err(NotCovered::RedoUnfinished));
}

/// Somebody retried a task whose rollback had been killed.
#[test]
fn an_attempt_whose_rollback_did_not_end_is_taken_back_with_the_next_one() {
    use Direction::Undo;
    use Stage::{Ended, Started};
    let numbers = |attempts: &[Attempt]| covered(attempts, Undo).map(|found| found.attempts);
    let mut attempts = [attempt(1, None), attempt(2, Some((Undo, Started))), attempt(3, None)];
    assert_eq!(numbers(&attempts), Ok(vec![3, 2]));
    assert!(is_open(&attempts));
    attempts[1].rollback.as_mut().unwrap().since = 1;
    assert_eq!(numbers(&attempts), Ok(vec![3, 2, 1]));
    attempts[2] = attempt(3, Some((Undo, Ended)));
    assert!(is_open(&attempts), "it covered only the last one");
    attempts[2].rollback.as_mut().unwrap().since = 1;
    assert!(!is_open(&attempts));
}
