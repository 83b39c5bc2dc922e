//! A loop: runs an agent program on one task after another, until none is left or too many failed.

mod call;
mod dry_run;
mod lines;
mod post_hook;
mod prompt;
mod tally;
mod turn;
mod verdict;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::request::RequestId;
use ops::event::note::Request as Note;
use ops::{Context, Error, Result, Session};
use serde_json::json;

use crate::program::ProgramSettings;
use post_hook::PostHook;

pub use call::{AgentCommand, LoopStyle, unstartable};
pub use dry_run::dry_run;
pub use tally::{LoopOutcome, LoopReport, LoopTally, rounded};

/// What a loop works on, and with which program.
pub struct LoopSettings {
    pub programs: ProgramSettings,
    pub command: AgentCommand,
    /// The loop as a caller.
    pub session: Session,
    pub project: Option<String>,
    pub directory: PathBuf,
    /// The prefix of the request ids of this loop.
    pub name: String,
    pub bounds: LoopBounds,
    /// Whether the program is started without its hooks.
    pub without_hooks: bool,
    /// A shell command that gets the results on standard input.
    pub post_hook: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct LoopBounds {
    /// Completed tasks.
    pub tasks_max: usize,
    /// Failures in a row; 0 for any number.
    pub fails_max: u32,
    pub task_timeout: Duration,
    /// The wait between two tasks.
    pub cooldown: Duration,
    /// Starts of the program for a task with failing checks.
    pub attempts_max: u32,
}

/// What happens in a loop.
#[derive(Debug)]
pub enum LoopEvent<'e> {
    /// The program is started for a task.
    Started {
        task_id: &'e str,
        title: &'e str,
    },
    /// A line of the program for people.
    Line(&'e str),
    /// What the program printed, as it is.
    Output(&'e [u8]),
    /// What the post-hook printed.
    HookOutput(&'e [u8]),
    /// Time passed.
    Tick,
    /// The program has ended.
    Ended,
    /// A line about the loop itself.
    Notice(String),
    TaskEnded(&'e LoopOutcome),
}

/// Takes the events of a loop.
pub type LoopObserver<'o> = dyn FnMut(LoopEvent<'_>) + 'o;

impl LoopSettings {
    fn key(&self, step: &str) -> Result<Session> {
        let request_id = RequestId::parse(&format!("{}_{step}", self.name))
            .map_err(|error| Error::new(ErrorCode::Bug, error.to_string()))?;
        Ok(self.session.under(request_id))
    }
}

/// Works until no task is left, a limit is reached, or a stop is requested. Then calls the post-hook.
pub fn run(
    settings: &LoopSettings,
    mut cx: Context,
    observe: &mut LoopObserver<'_>,
) -> (LoopReport, Result<()>) {
    // Without it orphans of a killed supervising process are found by their marks alone; the work can go on.
    crate::supervisor::become_subreaper().ok();
    let begun = Instant::now();
    let mut tally = LoopTally::default();
    let worked = ops::epoch::program::enter(&mut cx, &settings.session.caller, "loop");
    if let Err(error) = worked {
        return (tally.report(0.0), Err(error));
    }
    let worked = work(settings, &mut cx, &mut tally, observe);
    let report = tally.report(begun.elapsed().as_secs_f64());
    // A store that failed is not asked again.
    let noted = if worked.is_ok() { note(settings, &mut cx, &report) } else { Ok(()) };
    // A row that stays is removed by the next program.
    ops::epoch::program::leave(&mut cx, &settings.session.caller).ok();
    let now = cx.now().at;
    let hook = settings.post_hook.as_ref().map(|line| PostHook { line, mark: mint(cx.ids(), now) });
    drop(cx);
    if let Some(hook) = hook {
        post_hook::run(settings, &hook, &report, observe);
    }
    (report, worked.and(noted))
}

fn work(
    settings: &LoopSettings,
    cx: &mut Context,
    tally: &mut LoopTally,
    observe: &mut LoopObserver<'_>,
) -> Result<()> {
    let (bounds, programs) = (&settings.bounds, &settings.programs);
    let mut number = 0;
    while !tally.is_enough(bounds.tasks_max, bounds.fails_max) && programs.stop.raised().is_none() {
        if number > 0 && turn::is_ready(settings, cx)? {
            programs.pause(bounds.cooldown);
            if programs.stop.raised().is_some() {
                break;
            }
        }
        number += 1;
        let Some(outcome) = turn::take(settings, cx, number, observe)? else { break };
        observe(LoopEvent::TaskEnded(&outcome));
        tally.add(outcome);
    }
    Ok(())
}

fn note(settings: &LoopSettings, cx: &mut Context, report: &LoopReport) -> Result<()> {
    let request = Note {
        kind: "run_completed".to_owned(),
        message: format!("{} completed, {} failed", report.completed, report.failed),
        metadata: json!({
            "completed": report.completed,
            "failed": report.failed,
            "total": report.total,
            "duration_sec": report.duration_sec,
        }),
        project_id: settings.project.clone(),
        task_id: None,
    };
    ops::event::note::note(cx, &settings.key("done")?, &request).map(|_| ())
}
