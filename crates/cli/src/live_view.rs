//! What a person sees while a run is worked: a line a task on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use contract::domain::status::{Evidence, Status};
use contract::domain::task::Task;
use contract::domain::time::human_duration;
use engine::{Observer, Progress};

use crate::env;
use crate::output::{harmless, say};

/// How often the terminal is drawn at most.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);
/// With more tasks than this a screen is not a good list any more.
const ROWS_MAX: usize = 30;

pub(crate) struct LiveView {
    rows: Vec<Row>,
    screen: bool,
    drawn: usize,
    drawn_at: Option<Instant>,
    width: usize,
}

struct Row {
    name: String,
    state: String,
    began: Option<Instant>,
    took: Option<Duration>,
    last: String,
}

impl LiveView {
    pub(crate) fn new<'t>(tasks: impl Iterator<Item = &'t Task>) -> Self {
        let rows: Vec<Row> = tasks
            .map(|task| Row {
                name: task.part.as_ref().map(|part| part.spec.id.clone()).unwrap_or_default(),
                state: task.status.to_string(),
                began: None,
                took: None,
                last: String::new(),
            })
            .collect();
        let screen = io::stderr().is_terminal() && !rows.is_empty() && rows.len() <= ROWS_MAX;
        let width =
            env::get("COLUMNS").and_then(|text| text.parse().ok()).or_else(terminal_width).unwrap_or(80);
        Self { rows, screen, drawn: 0, drawn_at: None, width }
    }

    fn row(&mut self, name: &str) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.name == name)
    }

    /// A line for those who read a log.
    fn plain(&self, line: &str) {
        if !self.screen {
            say(&format!("{line}\n"));
        }
    }

    fn draw(&mut self) {
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        let name_width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        for row in &self.rows {
            let took = row.took.or_else(|| row.began.map(|began| began.elapsed())).map(human_duration);
            let line = format!(
                "{:<name_width$}  {:<12} {:>7}  {}",
                row.name,
                row.state,
                took.unwrap_or_default(),
                row.last
            );
            let cut: String = harmless(&line).chars().take(self.width.saturating_sub(1)).collect();
            text.push_str(&format!("\x1b[2K{cut}\n"));
        }
        // Drawing is for the eye; a terminal that went away is noticed elsewhere.
        io::stderr().write_all(text.as_bytes()).ok();
        self.drawn = self.rows.len();
        self.drawn_at = Some(Instant::now());
    }

    fn draw_if_due(&mut self) {
        let due = self.drawn_at.is_none_or(|at| at.elapsed() >= DRAW_INTERVAL);
        if self.screen && due {
            self.draw();
        }
    }
}

impl LiveView {
    fn show_end(
        &mut self,
        task: &str,
        (status, took): (Status, Duration),
        evidence: Option<Evidence>,
        reason: Option<&str>,
    ) {
        let proof = evidence.map(|evidence| format!(", {}", evidence.as_str())).unwrap_or_default();
        let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let time = match status {
            Status::Canceled => String::new(),
            Status::Todo | Status::InProgress | Status::Blocked | Status::Done | Status::Failed => {
                format!(" after {}", human_duration(took))
            }
        };
        self.plain(&format!("{task}: {status}{proof}{time}{because}"));
        if let Some(row) = self.row(task) {
            row.state = status.to_string();
            row.took = Some(took);
            row.last = reason.map_or_else(|| proof.trim_start_matches(", ").to_owned(), str::to_owned);
        }
    }
}

/// Draws the last state, which stays on the screen.
impl Drop for LiveView {
    fn drop(&mut self) {
        if self.screen && self.drawn > 0 {
            self.draw();
        }
    }
}

impl Observer for LiveView {
    fn report(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Started { task, attempt } => {
                let again = if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
                self.plain(&format!("{task}: started{again}"));
                if let Some(row) = self.row(task) {
                    row.state = "running".to_owned();
                    row.began = Some(Instant::now());
                    row.took = None;
                    row.last = again.trim().to_owned();
                }
            }
            Progress::Update { task, percentage, message } => {
                let text = percentage.map_or_else(|| message.to_owned(), |p| format!("{p}% {message}"));
                if percentage.is_some() {
                    self.plain(&format!("{task}: {text}"));
                }
                if let Some(row) = self.row(task) {
                    row.last = text.chars().filter(|c| !c.is_control()).collect();
                }
            }
            Progress::Checking { task, command } => {
                if let Some(row) = self.row(task) {
                    row.state = "checking".to_owned();
                    row.last = command.to_owned();
                }
            }
            Progress::Retrying { task, reason, wait } => {
                let after =
                    if wait.is_zero() { String::new() } else { format!(" in {}", human_duration(wait)) };
                self.plain(&format!("{task}: failed, will be retried{after}: {reason}"));
                if let Some(row) = self.row(task) {
                    row.state = "waiting".to_owned();
                    row.began = None;
                    row.last = reason.to_owned();
                }
            }
            Progress::Waiting { task, awaited } => {
                self.plain(&format!("{task}: waiting for {awaited}"));
                if let Some(row) = self.row(task) {
                    row.state = "waiting".to_owned();
                    row.last = format!("for {awaited}");
                }
            }
            Progress::Ended { task, status, evidence, reason, took } => {
                self.show_end(task, (status, took), evidence, reason);
            }
            Progress::Recovered { task, decision } => {
                self.plain(&format!("{task}: was interrupted, {decision}"));
            }
            Progress::Stopping { signal } => {
                let why = signal.map_or("canceled".to_owned(), |signal| format!("signal {signal}"));
                say(&format!("stopping ({why}); again to end everything at once\n"));
                self.drawn = 0;
            }
            Progress::Attached => say("another writ works this run; waiting for its answer\n"),
        }
        self.draw_if_due();
    }

    fn tick(&mut self) {
        self.draw_if_due();
    }
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}
