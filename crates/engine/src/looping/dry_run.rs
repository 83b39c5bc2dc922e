//! What a loop would work on. Changes nothing, and makes no store.

use contract::domain::limits;
use ops::resume::peek;
use ops::{Context, Result};

use super::LoopSettings;
use super::tally::{LoopOutcome, LoopReport, LoopTally};

/// The tasks of a store that a loop would work on.
pub fn dry_run(job: &LoopSettings, cx: &mut Context) -> Result<LoopReport> {
    let mut tally = LoopTally::default();
    let agent = job.session.caller.agent.as_str().to_owned();
    let request = peek::Request { agent, project_dir: job.project.clone(), ..peek::Request::default() };
    let (peek, peek::Aside { project, .. }) = peek::look(cx, &job.session, &request)?;
    let now = cx.now();
    let ready = ops::task::ready::ready(cx, limits::LIST_ROWS_MAX)?;
    let open = ready.iter().filter(|task| {
        let held =
            task.live_claim(&now).is_some_and(|claim| claim.agent != job.session.caller.agent.as_str());
        task.part.is_none() && !held && (project.is_none() || task.project_id == project)
    });
    let first = peek.brief.task.map(|task| (task.id, task.title));
    let rest = open.map(|task| (task.id.to_string(), task.title.clone()));
    let rest = rest.filter(|(id, _)| first.as_ref().is_none_or(|(first, _)| first != id));
    let chosen: Vec<_> = first.clone().into_iter().chain(rest).take(job.bounds.tasks_max).collect();
    for (task_id, task_title) in chosen {
        // The agent contract's report has no such field.
        let is_original = job.command.is_original();
        let argv = if is_original { Vec::new() } else { job.command.planned(job, &task_id) };
        let duration = "0s".to_owned();
        tally.add(LoopOutcome { task_id, task_title, status: "dry_run", duration, argv, reason: None });
    }
    Ok(tally.report(0.0))
}
