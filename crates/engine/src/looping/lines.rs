//! The lines of an agent program for people: those of its stream that say something, and everything else it prints.

use contract::domain::text::cut;
use contract::secrets::Hidden;

use crate::agent_program::AgentProgram;
use crate::executor::{LineBuffer, OutputLine};
use crate::supervisor::logs::LogStream;

/// Characters of a line that are shown.
const SHOWN_CHARS_MAX: usize = 200;

pub(super) struct AgentLines {
    program: Option<&'static AgentProgram>,
    parts: [LineBuffer; 2],
    /// The last line; empty before the first.
    pub(super) last: String,
}

impl AgentLines {
    pub(super) fn new(program: Option<&'static AgentProgram>) -> Self {
        Self { program, parts: Default::default(), last: String::new() }
    }

    /// Calls `each` with every line that is complete now.
    pub(super) fn push(&mut self, stream: LogStream, bytes: &[u8], mut each: impl FnMut(&str)) {
        let Self { program, parts, last } = self;
        let program = program.filter(|_| stream == LogStream::Stdout);
        parts[stream as usize].push(bytes, |line| take(program, line, last, &mut each));
    }

    /// Calls `each` with the last lines, if they have no newline.
    pub(super) fn finish(&mut self, mut each: impl FnMut(&str)) {
        let Self { program, parts: [stdout, stderr], last } = self;
        stdout.finish(|line| take(*program, line, last, &mut each));
        stderr.finish(|line| take(None, line, last, &mut each));
    }
}

fn take(
    program: Option<&'static AgentProgram>,
    line: OutputLine<'_>,
    last: &mut String,
    each: &mut dyn FnMut(&str),
) {
    let OutputLine::Whole(bytes) = line else { return };
    let text = String::from_utf8_lossy(bytes);
    let shown = match program.map(|program| (program, serde_json::from_str(&text))) {
        Some((program, Ok(event))) => (program.shown)(&event),
        // Programs also print lines that are not events.
        Some((_, Err(_))) | None => Some(text.into_owned()),
    };
    let Some(shown) = shown else { return };
    let Some(line) = shown.lines().map(str::trim).rfind(|line| !line.is_empty()) else { return };
    *last = cut(&Hidden::default().one_line(line), SHOWN_CHARS_MAX);
    each(last);
}
