use super::*;
use crate::domain::check::{Check, Expects};
use crate::domain::time::BootTime;
use proptest::prelude::*;

fn now(boot_ms: i64) -> Now {
    Now { at: Timestamp::from_millis(boot_ms), boot: BootTime { boot_id: "b".to_owned(), millis: boot_ms } }
}

fn task(checks: usize) -> Task {
    let mut spec = PlanTask::minimal("a");
    spec.checks =
        vec![Check { command: vec!["true".to_owned()], shell: false, expects: Expects::ExitCode0 }; checks];
    Task {
        id: Id::from_bits(1),
        title: "t".to_owned(),
        description: String::new(),
        status: Status::Todo,
        evidence: None,
        priority: 0,
        project_id: None,
        blocked_reason: None,
        version: 1,
        claim: None,
        part: (checks > 0).then(|| PlanPart { run_id: Id::from_bits(2), number: 1, spec }),
        checks: None,
        pinned: None,
        depends_on: Vec::new(),
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
    }
}

fn wanted(agent: &str, token: i64) -> NewClaim {
    NewClaim { agent: Agent::parse(agent).unwrap(), holder: None, lease: Duration::from_mins(15), token }
}

/// Runs a script of commands on one task and prints the result of each.
fn run(checks: usize, script: &str) -> String {
    let mut task = task(checks);
    let mut time = 0;
    let mut token = 0;
    let mut lines = Vec::new();
    for step in script.split(';').map(str::trim) {
        let words: Vec<&str> = step.split(' ').collect();
        let command = match words.as_slice() {
            ["wait", minutes] => {
                time += minutes.parse::<i64>().unwrap() * 60_000;
                continue;
            }
            ["begin", agent] => {
                token += 1;
                Command::Begin(wanted(agent, token))
            }
            ["claim", agent] => {
                token += 1;
                Command::Claim(wanted(agent, token))
            }
            [agent, "moves", to] => Command::Move {
                to: Status::parse(to).unwrap(),
                reason: None,
                rules: TransitionRules::Continuity,
                verified: false,
                withheld: None,
                by: Some(Agent::parse(agent).unwrap()),
                author: None,
            },
            ["release", agent] => Command::Release { agent: Agent::parse(agent).unwrap() },
            ["evict"] => Command::Evict,
            [rules, to, rest @ ..] => Command::Move {
                to: Status::parse(to).unwrap(),
                reason: rest.first().filter(|w| **w != "verified").map(|w| Reason::new(*w)),
                rules: if *rules == "op" { TransitionRules::Operator } else { TransitionRules::Continuity },
                verified: rest.contains(&"verified"),
                withheld: None,
                by: None,
                author: None,
            },
            _ => panic!("{step}"),
        };
        match decide(&task, &command, &now(time)) {
            Ok(changes) => {
                for change in &changes {
                    apply(&mut task, change, now(time).at);
                }
                let holder = task.claim.as_ref().map(|c| format!(" held by {} with {}", c.agent, c.token));
                let evidence = task.evidence.map_or("", Evidence::as_str);
                let reason = task.blocked_reason.as_ref().map(|r| format!(" because {:?}", r.to_string()));
                lines.push(format!(
                    "{step}: {} {evidence}{}{}",
                    task.status,
                    holder.unwrap_or_default(),
                    reason.unwrap_or_default()
                ));
            }
            Err(refusal) => lines.push(format!("{step}: {} {refusal}", refusal.code)),
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_live_claim_excludes_others_until_its_lease_expires() {
    insta::assert_snapshot!(run(0, "begin ann; begin bob; wait 14; begin ann; wait 14; begin bob; wait 1; begin bob; release ann; release bob"), @r"
    begin ann: in_progress  held by ann with 1
    begin bob: HELD_BY_ANOTHER the task is held by `ann`
    begin ann: in_progress  held by ann with 3
    begin bob: HELD_BY_ANOTHER the task is held by `ann`
    begin bob: in_progress  held by bob with 5
    release ann: in_progress  held by bob with 5
    release bob: in_progress
    ");
}

#[test]
fn done_needs_verification_where_there_are_checks() {
    insta::assert_snapshot!(run(1, "op in_progress; op done; ct done; op done verified; op todo; ct todo"), @r"
    op in_progress: in_progress
    op done: CHECK_FAILED the task has checks that must pass before it is done
    ct done: CHECK_FAILED the task has checks that must pass before it is done
    op done verified: done verified
    op todo: WRONG_STATE a task that is done cannot become todo
    ct todo: todo
    ");
}

#[test]
fn done_without_checks_is_only_claimed() {
    insta::assert_snapshot!(run(0, "ct done verified; op done; op failed"), @r"
    ct done verified: done claimed
    op done: done claimed
    op failed: WRONG_STATE a task that is done cannot become failed
    ");
}

#[test]
fn a_reason_does_not_outlive_its_state() {
    insta::assert_snapshot!(run(0, "ct blocked waiting; ct in_progress; ct failed broken; ct canceled late; ct todo"), @r#"
    ct blocked waiting: blocked  because "waiting"
    ct in_progress: in_progress
    ct failed broken: failed  because "broken"
    ct canceled late: canceled  because "late"
    ct todo: todo
    "#);
}

fn any_command() -> impl Strategy<Value = Command> {
    let agent = prop_oneof![Just("ann"), Just("bob")].prop_map(|name| Agent::parse(name).unwrap());
    prop_oneof![
        (agent.clone(), 0i64..100).prop_map(|(agent, token)| Command::Begin(wanted(agent.as_str(), token))),
        agent.clone().prop_map(|agent| Command::Release { agent }),
        (agent.clone(), 0i64..100).prop_map(|(agent, token)| Command::Claim(wanted(agent.as_str(), token))),
        (prop::sample::select(Status::ALL), any::<bool>(), any::<bool>(), proptest::option::of(agent))
            .prop_map(|(to, operator, verified, by)| {
                let rules = if operator { TransitionRules::Operator } else { TransitionRules::Continuity };
                Command::Move {
                    to,
                    reason: Some("r".into()),
                    rules,
                    verified,
                    withheld: None,
                    by,
                    author: None,
                }
            }),
    ]
}

proptest! {
    #[test]
    fn no_sequence_of_commands_breaks_an_invariant(
        checks in 0usize..2,
        steps in prop::collection::vec((any_command(), 0i64..20), 0..30),
    ) {
        let mut task = task(checks);
        let mut time = 0;
        for (command, minutes) in steps {
            time += minutes * 60_000;
            let before = task.clone();
            let holder = task.live_claim(&now(time)).map(|claim| claim.agent.clone());
            match decide(&task, &command, &now(time)) {
                Ok(changes) => {
                    for change in &changes {
                        apply(&mut task, change, now(time).at);
                    }
                }
                Err(_) => prop_assert_eq!(&before, &task),
            }
            prop_assert_eq!(task.evidence.is_some(), task.status == Status::Done);
            prop_assert!(!(checks > 0 && task.evidence == Some(Evidence::Claimed)));
            prop_assert!(task.claim.is_none() || matches!(task.status, Status::Todo | Status::InProgress));
            prop_assert!(task.version >= before.version);
            if let (Some(holder), Command::Begin(NewClaim { agent, .. }) | Command::Claim(NewClaim { agent, .. })) = (&holder, &command) {
                prop_assert!(task.claim.as_ref().is_some_and(|claim| claim.agent == *holder) || agent.as_str() == holder);
            }
            if let (Some(holder), Command::Move { by: Some(agent), .. }) = (&holder, &command) {
                prop_assert!(agent.as_str() == holder || task == before, "moved by someone else");
            }
        }
    }
}

#[test]
fn checks_by_the_agent_that_completes_the_task_are_no_independent_evidence() {
    let done = |author: Option<&str>, verified, by: Option<&str>| {
        let own = |author: &str| TaskChecks {
            author: author.to_owned(),
            directory: None,
            checks: vec![Check::of_arguments(vec!["true".to_owned()])],
            ..TaskChecks::default()
        };
        let task = Task { checks: author.map(own), project_id: Some("/w".to_owned()), ..task(0) };
        let by = by.map(|name| Agent::parse(name).unwrap());
        let command = Command::Move {
            to: Status::Done,
            reason: None,
            rules: TransitionRules::Continuity,
            verified,
            withheld: None,
            by,
            author: None,
        };
        decide(&task, &command, &now(0)).map(|changes| match &changes[..] {
            [Change::TaskMoved { evidence, .. }] => *evidence,
            other => panic!("{other:?}"),
        })
    };
    for (author, verified, by, expected) in [
        (Some("ann"), true, Some("bob"), Some(Evidence::Verified)),
        (Some("ann"), true, Some("ann"), Some(Evidence::SelfChecked)),
        (Some("ann"), true, None, Some(Evidence::Verified)),
        // The checks of its project passed.
        (None, true, Some("ann"), Some(Evidence::Verified)),
        (None, false, Some("ann"), Some(Evidence::Claimed)),
    ] {
        assert_eq!(done(author, verified, by).unwrap(), expected, "{author:?} {verified} {by:?}");
    }
    assert_eq!(done(Some("ann"), false, Some("bob")).unwrap_err().code, ErrorCode::CheckFailed);
}
