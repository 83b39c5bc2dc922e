//! What a loop would work on. Changes nothing, and makes no store.

use contract::domain::limits;
use ops::Result;
use ops::resume::peek;

use super::Loop;
use super::tally::{Outcome, Report, Tally};
use crate::app::Globals;
use crate::host;
use crate::persona::{self, Persona};

pub(super) fn report(job: &Loop<'_>, globals: &Globals) -> Result<Report> {
    let mut tally = Tally::default();
    if !job.store.exists() {
        return Ok(tally.report(0.0));
    }
    let mut cx = host::open(globals)?;
    let agent = job.caller.agent.as_str().to_owned();
    let request = peek::Request { agent, project_dir: job.project.clone(), ..peek::Request::default() };
    let (peek, peek::Aside { project, .. }) = peek::look(&mut cx, &job.session, &request)?;
    let now = cx.now();
    let ready = ops::task::ready::ready(&mut cx, limits::LIST_ROWS_MAX)?;
    let open = ready.iter().filter(|task| {
        let held = task.live_claim(&now).is_some_and(|claim| claim.agent != job.caller.agent.as_str());
        task.part.is_none() && !held && (project.is_none() || task.project_id == project)
    });
    let first = peek.brief.task.map(|task| (task.id, task.title));
    let rest = open.map(|task| (task.id.to_string(), task.title.clone()));
    let rest = rest.filter(|(id, _)| first.as_ref().is_none_or(|(first, _)| first != id));
    let chosen: Vec<_> = first.clone().into_iter().chain(rest).take(job.args.max_tasks).collect();
    for (task_id, task_title) in chosen {
        let argv = match persona::current() {
            Persona::Writ => job.command.planned(job, &task_id),
            // The agent contract's report has no such field.
            Persona::Vybe => Vec::new(),
        };
        let duration = "0s".to_owned();
        tally.add(Outcome { task_id, task_title, status: "dry_run", duration, argv, reason: None });
    }
    Ok(tally.report(0.0))
}
