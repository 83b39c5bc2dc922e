//! A random plan. Its commands say which child the simulation has to start.

use contract::domain::check::{Check, Expects};
use contract::domain::executor::ExecutorName;
use contract::domain::money::MicroUsd;
use contract::domain::plan::{Budget, Plan, PlanTask};
use contract::domain::scope::Scope;
use contract::plan::order;

use crate::simulation::dice::Dice;

const SCOPES: [&str; 5] = ["src", "src/a", "src/b", "docs", "out"];
/// What one attempt of a task may spend, where the run has a budget.
const SHARE: i64 = 1_000_000;

/// A valid plan whose task names begin with `prefix`.
pub(super) fn random(dice: &mut Dice, prefix: &str) -> Plan {
    let tasks = 1 + usize::try_from(dice.below(3)).unwrap();
    // Sometimes less than the tasks may need, so that one of them is refused.
    let limit = i64::try_from(tasks).unwrap() * SHARE * if dice.one_in(3) { 1 } else { 4 };
    let has_budget = dice.one_in(4);
    let budget = if has_budget { share(limit) } else { Budget::default() };
    let mut plan = Plan {
        objective: format!("simulated {prefix}"),
        workspace: None,
        max_parallel: 1 + usize::try_from(dice.below(3)).unwrap(),
        budget,
        tasks: Vec::new(),
    };
    for number in 0..tasks {
        let mut task = random_task(dice, &format!("{prefix}{number}"));
        task.depends_on =
            plan.tasks.iter().filter(|_| dice.one_in(3)).map(|other| other.id.clone()).collect();
        if has_budget {
            task.budget = share(SHARE);
        }
        // Writes of tasks without an order must not overlap.
        let collides =
            |other: &PlanTask| other.writes.iter().any(|a| task.writes.iter().any(|b| a.overlaps(b)));
        let behind: Vec<String> =
            plan.tasks.iter().filter(|other| collides(other)).map(|o| o.id.clone()).collect();
        task.depends_on.extend(behind);
        task.depends_on.sort();
        task.depends_on.dedup();
        plan.tasks.push(task);
    }
    let mut findings = contract::finding::Findings::default();
    order::check(&plan, &mut findings);
    assert!(findings.is_empty(), "the simulation makes valid plans: {findings:?}");
    plan
}

fn share(amount: i64) -> Budget {
    Budget { cost: Some(MicroUsd(amount)), tokens: Some(amount) }
}

fn random_task(dice: &mut Dice, name: &str) -> PlanTask {
    let is_agent = dice.one_in(3);
    let checks = usize::try_from(dice.pick(&[0, 0, 1, 1, 2])).unwrap();
    let scope = |dice: &mut Dice| Scope::parse(dice.pick(&SCOPES), None).unwrap();
    let writes = if dice.one_in(2) { vec![scope(dice)] } else { Vec::new() };
    PlanTask {
        executor: if is_agent { ExecutorName::aop_stdio() } else { ExecutorName::shell() },
        prompt: is_agent.then(|| "Do it".to_owned()),
        command: vec!["work".to_owned(), name.to_owned()],
        timeout_ms: dice.pick(&[2_000, 5_000, 20_000]),
        retries: u32::try_from(dice.below(3)).unwrap(),
        backoff_ms: if dice.one_in(2) { vec![dice.pick(&[100, 3_000])] } else { Vec::new() },
        retry_safe: dice.one_in(2),
        checks: (0..checks).map(|index| random_check(dice, (name, &writes), index)).collect(),
        writes,
        ..PlanTask::minimal(name)
    }
}

fn random_check(dice: &mut Dice, (name, writes): (&str, &[Scope]), index: usize) -> Check {
    let kinds =
        [Expects::ExitCode0, Expects::ExitCode0, Expects::MatchFound, Expects::NoMatch, Expects::FileExists];
    let expects = dice.pick(&kinds);
    let command = match expects {
        Expects::FileExists => vec![super::world::artifact(name, writes)],
        Expects::ExitCode0 | Expects::MatchFound | Expects::NoMatch => {
            vec!["check".to_owned(), name.to_owned(), index.to_string(), expects.as_str().to_owned()]
        }
    };
    Check { command, shell: false, expects }
}
