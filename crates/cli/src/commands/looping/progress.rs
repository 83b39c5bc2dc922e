//! What a loop shows while an agent works: one line that changes on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use contract::domain::time::human_duration;
use engine::looping::LoopEvent;

use super::text;
use crate::output::{harmless, one_line, say};
use crate::persona::{self, Persona};
use crate::screen;

/// How often the line on a terminal is drawn anew.
const REDRAW: Duration = Duration::from_millis(500);
/// The width of a terminal that does not tell.
const COLUMNS_DEFAULT: usize = 80;

pub(super) struct LoopProgress {
    /// The task, as it is shown.
    task: String,
    screen: LoopScreen,
    begun: Instant,
    drawn: Instant,
    last: String,
}

enum LoopScreen {
    /// One line that is drawn over.
    Terminal,
    Lines,
    /// The agent contract's original passes the output on.
    Raw,
}

impl LoopProgress {
    pub(super) fn new() -> Self {
        let screen = match persona::current() {
            Persona::Vybe => LoopScreen::Raw,
            Persona::Writ | Persona::Ol | Persona::Ao if std::io::stderr().is_terminal() => {
                LoopScreen::Terminal
            }
            Persona::Writ | Persona::Ol | Persona::Ao => LoopScreen::Lines,
        };
        let now = Instant::now();
        Self { task: String::new(), screen, begun: now, drawn: now, last: String::new() }
    }

    pub(super) fn take(&mut self, event: LoopEvent<'_>) {
        match (event, &self.screen) {
            (LoopEvent::Started { task_id, title }, _) => {
                self.start(format!("{task_id}  {}", one_line(title)));
            }
            (LoopEvent::Line(line), _) => self.line(line),
            // A closed standard error cannot be reported anywhere.
            (LoopEvent::HookOutput(bytes), _) | (LoopEvent::Output(bytes), LoopScreen::Raw) => {
                std::io::stderr().write_all(bytes).ok();
            }
            (LoopEvent::Tick, LoopScreen::Terminal) if self.drawn.elapsed() >= REDRAW => {
                self.drawn = Instant::now();
                self.draw();
            }
            (LoopEvent::Ended, LoopScreen::Terminal) => write_terminal("\r\x1b[2K"),
            (LoopEvent::Output(_) | LoopEvent::Tick | LoopEvent::Ended, _) => {}
            (LoopEvent::Notice(line), _) => say(&format!("{line}\n")),
            (LoopEvent::TaskEnded(outcome), _) => say(&text::outcome(outcome)),
        }
    }

    fn start(&mut self, task: String) {
        let now = Instant::now();
        (self.task, self.begun, self.drawn, self.last) = (task, now, now, String::new());
        match self.screen {
            LoopScreen::Terminal => self.draw(),
            LoopScreen::Lines => say(&format!("{}\n", self.task)),
            LoopScreen::Raw => {}
        }
    }

    fn line(&mut self, line: &str) {
        self.last = one_line(line).into_owned();
        match self.screen {
            LoopScreen::Terminal => self.draw(),
            LoopScreen::Lines => say(&format!("  {}\n", self.last)),
            LoopScreen::Raw => {}
        }
    }

    fn draw(&self) {
        let elapsed = human_duration(Duration::from_secs(self.begun.elapsed().as_secs()));
        let line = format!("{}  {elapsed}  {}", self.task, self.last);
        let line = harmless(&line);
        let line = screen::fitting(&line, columns().saturating_sub(1));
        write_terminal(&format!("\r\x1b[2K{line}"));
    }
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS_DEFAULT)
}

fn write_terminal(text: &str) {
    let mut stderr = std::io::stderr();
    // Nobody can be told that standard error is gone.
    stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).ok();
}
