//! What a person sees while a run is worked: a table on a terminal, plain lines elsewhere.

mod table;

use std::time::{Duration, Instant};

use contract::domain::money::MicroUsd;
use contract::domain::status::{Evidence, Status};
use contract::domain::task::Task;
use contract::domain::time::human_duration;
use engine::{Observer, TaskProgress};
use signal_hook::consts::SIGINT;

use crate::output::say;
use crate::persona::{self, Persona};
use crate::screen::{Leave, Screen, shown};
use table::{Table, TaskActivity, TaskRow};

/// How often the terminal is drawn at most.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct LiveView {
    entries: Vec<ViewedTask>,
    /// `None` where lines are printed instead.
    screen: Option<Screen>,
    drawn_at: Option<Instant>,
    leave: Leave,
}

/// One task, as far as it was reported.
struct ViewedTask {
    name: String,
    phase: TaskActivity,
    began: Option<Instant>,
    took: Option<Duration>,
    cost: Option<MicroUsd>,
    last: String,
    /// When what it waits for ends, where that is known.
    due: Option<Instant>,
}

impl LiveView {
    /// `leave` selects what remains on the terminal at the end; an interrupted run leaves its last state.
    pub(crate) fn new<'t>(tasks: impl Iterator<Item = &'t Task>, leave: Leave) -> Self {
        let entries: Vec<ViewedTask> = tasks.map(ViewedTask::of).collect();
        let is_shown = Screen::is_possible() && !entries.is_empty() && persona::current() == Persona::Writ;
        let screen = is_shown.then(|| Screen::open(entries.len()));
        Self { entries, screen, drawn_at: None, leave }
    }

    fn entry(&mut self, name: &str) -> Option<&mut ViewedTask> {
        self.entries.iter_mut().find(|entry| entry.name == name)
    }

    /// A line for those who read a log.
    fn plain(&self, line: &str) {
        if self.screen.is_none() {
            say(&format!("{line}\n"));
        }
    }

    /// A line for everybody.
    fn tell(&mut self, line: &str) {
        match &mut self.screen {
            Some(screen) => screen.print_above(line),
            None => say(&format!("{line}\n")),
        }
    }

    fn draw(&mut self) {
        let Some(screen) = &mut self.screen else { return };
        let rows: Vec<TaskRow> = self.entries.iter().map(ViewedTask::row).collect();
        screen.draw(Table(&rows));
        self.drawn_at = Some(Instant::now());
    }

    fn draw_if_due(&mut self) {
        if self.drawn_at.is_none_or(|at| at.elapsed() >= DRAW_INTERVAL) {
            self.draw();
        }
    }

    fn show_end(&mut self, task: &str, end: &TaskEnding<'_>) {
        let proof = end.evidence.map(|evidence| format!(", {}", evidence.as_str())).unwrap_or_default();
        let because = end.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let time = match end.status {
            Status::Canceled => String::new(),
            Status::Todo | Status::InProgress | Status::Blocked | Status::Done | Status::Failed => {
                format!(" after {}", human_duration(end.took))
            }
        };
        let cost = end.cost.map(|cost| format!(" for {cost}")).unwrap_or_default();
        self.plain(&format!("{task}: {}{proof}{time}{cost}{because}", end.status));
        if let Some(entry) = self.entry(task) {
            entry.phase = end.status.into();
            entry.due = None;
            entry.took = (end.status != Status::Canceled).then_some(end.took);
            entry.cost = end.cost.or(entry.cost);
            entry.last = end.reason.map_or_else(|| proof.trim_start_matches(", ").to_owned(), str::to_owned);
        }
    }

    fn show_start(&mut self, task: &str, attempt: i64) {
        let again = if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
        self.plain(&format!("{task}: started{again}"));
        if let Some(entry) = self.entry(task) {
            entry.phase = TaskActivity::Running;
            entry.began = Some(Instant::now());
            (entry.took, entry.due) = (None, None);
            entry.last = again.trim().to_owned();
        }
    }

    /// `left` is how long it takes at least, where that is known.
    fn show_wait(&mut self, task: &str, awaited: &str, left: Option<Duration>) {
        let told = left.map(|left| format!(", in {}", human_duration(left))).unwrap_or_default();
        self.plain(&format!("{task}: waiting for {awaited}{told}"));
        if let Some(entry) = self.entry(task) {
            entry.phase = TaskActivity::Waiting;
            entry.last = format!("for {awaited}");
            entry.due = left.and_then(|left| Instant::now().checked_add(left));
        }
    }

    fn show_retry(&mut self, task: &str, reason: &str, wait: Duration, cost: Option<MicroUsd>) {
        let after = if wait.is_zero() { String::new() } else { format!(" in {}", human_duration(wait)) };
        self.plain(&format!("{task}: failed, will be retried{after}: {reason}"));
        if let Some(entry) = self.entry(task) {
            entry.phase = TaskActivity::Waiting;
            (entry.began, entry.due) = (None, None);
            entry.cost = cost.or(entry.cost);
            entry.last = format!("retried{after}: {reason}");
        }
    }
}

/// How a task ended.
struct TaskEnding<'t> {
    status: Status,
    evidence: Option<Evidence>,
    reason: Option<&'t str>,
    took: Duration,
    cost: Option<MicroUsd>,
}

impl ViewedTask {
    fn of(task: &Task) -> Self {
        Self {
            name: task.part.as_ref().map(|part| part.spec.id.clone()).unwrap_or_default(),
            phase: task.status.into(),
            began: None,
            took: None,
            cost: None,
            last: task.evidence.map(|evidence| evidence.as_str().to_owned()).unwrap_or_default(),
            due: None,
        }
    }

    fn row(&self) -> TaskRow {
        let left = self.due.map(|due| due.saturating_duration_since(Instant::now()));
        let left = left.map(|left| format!(", {} left", human_duration(left))).unwrap_or_default();
        TaskRow {
            name: shown(&self.name),
            phase: self.phase,
            elapsed: self.took.or_else(|| self.began.map(|began| began.elapsed())),
            cost: self.cost,
            last: shown(&format!("{}{left}", self.last)),
        }
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.draw();
        if let Some(screen) = self.screen.take() {
            screen.close(self.leave);
        }
    }
}

impl Observer for LiveView {
    fn report(&mut self, progress: TaskProgress<'_>) {
        match progress {
            TaskProgress::Started { task, attempt } => self.show_start(task, attempt),
            TaskProgress::Update { task, percentage, message } => {
                let text = percentage.map_or_else(|| message.to_owned(), |p| format!("{p}% {message}"));
                if percentage.is_some() {
                    self.plain(&format!("{task}: {text}"));
                }
                if let Some(entry) = self.entry(task) {
                    entry.last = text;
                }
            }
            TaskProgress::Checking { task, command } => {
                if let Some(entry) = self.entry(task) {
                    entry.phase = TaskActivity::Checking;
                    entry.last = command.to_owned();
                }
            }
            TaskProgress::Retrying { task, reason, wait, cost } => self.show_retry(task, reason, wait, cost),
            TaskProgress::Waiting { task, awaited } => self.show_wait(task, awaited, None),
            TaskProgress::WaitsForLimit { task, awaited, left } => self.show_wait(task, awaited, Some(left)),
            TaskProgress::Ended { task, status, evidence, reason, took, cost } => {
                self.show_end(task, &TaskEnding { status, evidence, reason, took, cost });
            }
            TaskProgress::Recovered { task, told } => self.tell(&format!("{task}: {told}")),
            TaskProgress::Stopping { signal } => {
                if signal.is_some() {
                    self.leave = Leave::LastDrawn;
                }
                self.tell(match signal {
                    Some(SIGINT) => "stopping; press Ctrl-C again to end everything at once",
                    Some(_) => "stopping, because a signal asked for it",
                    None => "stopping, because the run was canceled",
                });
            }
            TaskProgress::StoreBusy => {
                self.tell(
                    "another process holds the store's write lock; the tasks go on, and the run waits for it",
                );
            }
            TaskProgress::TookOver { task, told }
            | TaskProgress::Warned { task, told }
            | TaskProgress::BeginsWithout { task, told } => {
                self.tell(&format!("{task}: {told}"));
            }
            TaskProgress::Attached { process } => {
                // Nothing is reported about the tasks of another process.
                if let Some(screen) = self.screen.take() {
                    screen.close(Leave::Nothing);
                }
                self.tell(&format!("another writ works this run; waiting for its answer ({process})"));
            }
        }
        self.draw_if_due();
    }

    fn tick(&mut self) {
        self.draw_if_due();
    }
}
