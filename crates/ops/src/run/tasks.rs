//! Creates the tasks of a run that was submitted.

use std::collections::{BTreeMap, BTreeSet};

use contract::domain::change::Change;
use contract::domain::id::{Id, Task, mint};
use contract::domain::plan::PlanTask;
use contract::domain::request::Agent;
use contract::domain::run::NewRun;
use contract::domain::task::PlanPart;

use crate::error::Result;
use crate::record::{About, EventWriter};

/// The task with the name of who wrote its checks.
fn authored(author: &Agent, spec: &PlanTask) -> PlanTask {
    let author = author.as_str().to_owned();
    PlanTask { checks_by: Some(author).filter(|_| !spec.checks.is_empty()), ..spec.clone() }
}

/// Creates the tasks of a run's plan. Returns their ids, in the order of the plan.
pub(super) fn create_tasks(
    work: &mut EventWriter<'_, '_>,
    about: &About,
    run: &NewRun,
    author: &Agent,
) -> Result<Vec<Id<Task>>> {
    let ids: Vec<Id<Task>> = run.plan.tasks.iter().map(|_| mint(work.ids, work.now.at)).collect();
    let positions: BTreeMap<&str, usize> =
        run.plan.tasks.iter().enumerate().map(|(index, task)| (task.id.as_str(), index)).collect();
    // Dependencies must exist before they are referred to, so tasks are made in an order that respects them.
    for index in contract::plan::order::sorted(&run.plan) {
        let spec = &run.plan.tasks[index];
        let position = |name: &String| positions.get(name.as_str()).copied();
        // A dependency that is listed twice counts once.
        let needed: BTreeSet<usize> = spec.depends_on.iter().filter_map(position).collect();
        let depends_on = needed.into_iter().map(|i| ids[i].clone()).collect();
        let number = i64::try_from(index + 1).expect("BUG: a plan is bounded");
        let created = Change::TaskCreated {
            task_id: ids[index].clone(),
            title: spec.title.clone(),
            description: spec.prompt.clone().unwrap_or_default(),
            priority: spec.priority.number(),
            project_id: None,
            part: Some(PlanPart { run_id: run.id.clone(), number, spec: authored(author, spec) }),
            depends_on,
            checks: None,
        };
        let about = About { task_id: Some(ids[index].clone()), priority: spec.priority, ..about.clone() };
        let message = format!("Task created: {}", spec.title);
        work.change(&about, &message, &created)?;
    }
    Ok(ids)
}
