//! What a loop shows while an agent works: one line that changes on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use contract::domain::time::human_duration;
use engine::agent_program::AgentProgram;

use crate::output::{harmless, one_line, say};
use crate::persona::{self, Persona};
use crate::screen;

/// A longer line of the stream is cut; it is shown, not kept.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// How much of a line a person sees where lines are not bounded by a screen.
const SHOWN_CHARS_MAX: usize = 200;
/// How often the line on a terminal is drawn anew.
const REDRAW: Duration = Duration::from_millis(500);
/// The width of a terminal that does not tell.
const COLUMNS_DEFAULT: usize = 80;

pub(super) struct Progress {
    /// The task, as it is shown.
    task: String,
    program: Option<&'static AgentProgram>,
    screen: Screen,
    begun: Instant,
    drawn: Instant,
    /// Beginnings of lines, of standard output and of standard error.
    parts: [Vec<u8>; 2],
    last: String,
}

enum Screen {
    /// One line that is drawn over.
    Terminal,
    Lines,
    /// The agent contract's original passes the output on.
    Raw,
}

/// Where the agent printed something.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

impl Progress {
    pub(super) fn new(task: &str, program: Option<&'static AgentProgram>) -> Self {
        let screen = match persona::current() {
            Persona::Vybe => Screen::Raw,
            Persona::Writ if std::io::stderr().is_terminal() => Screen::Terminal,
            Persona::Writ => Screen::Lines,
        };
        let shown = Self { task: task.to_owned(), program, screen, ..Self::raw() };
        match shown.screen {
            Screen::Terminal => shown.draw(),
            Screen::Lines => say(&format!("{}\n", shown.task)),
            Screen::Raw => {}
        }
        shown
    }

    /// Passes everything on as it is.
    pub(super) fn raw() -> Self {
        let now = Instant::now();
        Self {
            task: String::new(),
            program: None,
            screen: Screen::Raw,
            begun: now,
            drawn: now,
            parts: [Vec::new(), Vec::new()],
            last: String::new(),
        }
    }

    /// The last line that the agent printed; empty if there was none.
    pub(super) fn last(&self) -> &str {
        &self.last
    }

    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if let Screen::Raw = self.screen {
            // Nobody can be told that standard error is gone.
            std::io::stderr().write_all(bytes).ok();
            return;
        }
        let mut part = std::mem::take(&mut self.parts[stream as usize]);
        for &byte in bytes {
            if byte == b'\n' {
                self.line(stream, &part);
                part.clear();
            } else if part.len() < LINE_BYTES_MAX {
                part.push(byte);
            }
        }
        self.parts[stream as usize] = part;
    }

    fn line(&mut self, stream: Stream, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let shown = match (stream, self.program) {
            (Stream::Stdout, Some(program)) => match serde_json::from_str(&text) {
                Ok(event) => (program.shown)(&event),
                // Programs also print lines that are no events.
                Err(_) => Some(text.into_owned()),
            },
            (Stream::Stdout | Stream::Stderr, _) => Some(text.into_owned()),
        };
        let Some(shown) = shown else { return };
        let Some(first) = shown.lines().map(str::trim).rfind(|line| !line.is_empty()) else { return };
        self.last = one_line(first).chars().take(SHOWN_CHARS_MAX).collect();
        match self.screen {
            Screen::Terminal => self.draw(),
            Screen::Lines => say(&format!("  {}\n", self.last)),
            Screen::Raw => {}
        }
    }

    /// Called now and then.
    pub(super) fn tick(&mut self) {
        if matches!(self.screen, Screen::Terminal) && self.drawn.elapsed() >= REDRAW {
            self.drawn = Instant::now();
            self.draw();
        }
    }

    fn draw(&self) {
        let elapsed = human_duration(Duration::from_secs(self.begun.elapsed().as_secs()));
        let line = format!("{}  {elapsed}  {}", self.task, self.last);
        let line = harmless(&line);
        let line = screen::fitting(&line, columns().saturating_sub(1));
        write_terminal(&format!("\r\x1b[2K{line}"));
    }

    /// Prints what is left and clears the line on a terminal.
    pub(super) fn end(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let part = std::mem::take(&mut self.parts[stream as usize]);
            if !part.is_empty() {
                self.line(stream, &part);
            }
        }
        if let Screen::Terminal = self.screen {
            write_terminal("\r\x1b[2K");
        }
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
