//! A part of the terminal that is drawn again and again, while everything above it stays: ratatui's inline viewport.

mod backend;

use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicU16, Ordering};

use ratatui::layout::{Position, Size};
use ratatui::widgets::{Paragraph, Widget};
use ratatui::{Terminal, TerminalOptions, Viewport};
use unicode_width::UnicodeWidthStr;

use crate::env;
use crate::output::{harmless, one_line};
use backend::RelativeBackend;

/// The size of a terminal that does not know its own.
const SIZE_DEFAULT: Size = Size { width: 80, height: 24 };

/// What remains on the terminal when a screen is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Nothing: what follows replaces it.
    Nothing,
    /// What was drawn last.
    LastDrawn,
}

/// A viewport on standard error. Between two drawings the cursor is at its top left corner: a terminal that is resized
/// moves the cursor with the text, so everything below the cursor is ours to erase, whatever the new size.
pub(crate) struct Screen {
    terminal: Option<Terminal<RelativeBackend>>,
    size: Size,
    /// How many rows its content has. It gets fewer where the terminal is smaller.
    rows: usize,
}

impl Screen {
    /// Whether standard error is a terminal that can move its cursor.
    pub(crate) fn is_possible() -> bool {
        io::stderr().is_terminal() && env::get("TERM").is_none_or(|name| name != "dumb")
    }

    pub(crate) fn open(rows: usize) -> Self {
        release_on_panic();
        let size = terminal_size();
        Self { terminal: viewport(size, rows), size, rows }
    }

    /// Draws the widget over the whole viewport, which follows the size of the terminal.
    pub(crate) fn draw(&mut self, widget: impl Widget) {
        let size = terminal_size();
        if size != self.size {
            self.erase();
            self.size = size;
            self.terminal = viewport(size, self.rows);
        }
        let Some(terminal) = &mut self.terminal else { return };
        // Drawing is for the eye; a terminal that went away is noticed elsewhere.
        drop(terminal.draw(|frame| {
            let area = frame.area();
            frame.render_widget(widget, area);
            frame.set_cursor_position(area.as_position());
        }));
    }

    /// Prints lines above the viewport. They scroll with the terminal, and the next drawing is a complete one.
    pub(crate) fn print_above(&mut self, text: &str) {
        let Some(terminal) = &mut self.terminal else { return };
        for line in text.lines() {
            let width = usize::from(self.size.width.max(2)) - 1;
            let text = wrapped(&harmless(line), width);
            let rows = u16::try_from(text.lines().count()).unwrap_or(1).clamp(1, SIZE_DEFAULT.height);
            let paragraph = Paragraph::new(text);
            drop(terminal.insert_before(rows, |buffer| paragraph.render(buffer.area, buffer)));
        }
    }

    /// Ends the viewport. The cursor is at the beginning of a line afterwards.
    pub(crate) fn close(mut self, leave: Leave) {
        match leave {
            Leave::Nothing => self.erase(),
            Leave::LastDrawn => step_below(),
        }
        self.terminal = None;
    }

    fn erase(&mut self) {
        if self.terminal.is_some() {
            HEIGHT.store(0, Ordering::Relaxed);
            write("\r\x1b[0m\x1b[J");
        }
    }
}

/// How many columns a text takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The beginning of a text that takes at most this many columns.
pub(crate) fn fitting(text: &str, width: usize) -> &str {
    let mut used = 0;
    let over = text.char_indices().find(|(_, c)| {
        used += columns(c.encode_utf8(&mut [0; 4]));
        used > width
    });
    over.map_or(text, |(end, _)| &text[..end])
}

/// What others wrote, as a part of one line that a terminal obeys nothing in.
pub(crate) fn shown(text: &str) -> String {
    harmless(&one_line(text)).into_owned()
}

/// Whether standard error may have colors: <https://no-color.org> and <https://bixense.com/clicolors>.
pub(crate) fn has_color() -> bool {
    let is_off = env::get("NO_COLOR").is_some() || env::get("CLICOLOR").is_some_and(|value| value == "0");
    let can = env::get("TERM").is_some_and(|name| name != "dumb");
    !is_off && can && io::stderr().is_terminal()
}

/// How high the open viewport is; 0 without one.
static HEIGHT: AtomicU16 = AtomicU16::new(0);

fn viewport(size: Size, rows: usize) -> Option<Terminal<RelativeBackend>> {
    // One row stays free, so that the line above the viewport is always seen.
    let screen = Size { width: size.width.max(1), height: size.height.saturating_sub(1).max(1) };
    let height = u16::try_from(rows).unwrap_or(u16::MAX).clamp(1, screen.height);
    let backend = RelativeBackend::new(screen, has_color());
    let options = TerminalOptions { viewport: Viewport::Inline(height) };
    let mut terminal = Terminal::with_options(backend, options).ok()?;
    HEIGHT.store(height, Ordering::Relaxed);
    let top = Position::new(0, screen.height - height);
    terminal.set_cursor_position(top).ok()?;
    Some(terminal)
}

/// The terminal's size. A terminal that reports none, as on a serial line, has the size of the environment.
fn terminal_size() -> Size {
    let known = rustix::termios::tcgetwinsize(io::stderr()).ok();
    let variable = |name| env::get(name).and_then(|text| text.parse::<u16>().ok()).filter(|&n| n > 0);
    let side = |known: Option<u16>, name, default| {
        known.filter(|&n| n > 0).or_else(|| variable(name)).unwrap_or(default)
    };
    Size {
        width: side(known.map(|size| size.ws_col), "COLUMNS", SIZE_DEFAULT.width),
        height: side(known.map(|size| size.ws_row), "LINES", SIZE_DEFAULT.height),
    }
}

/// Cuts a line into rows of at most this many columns.
fn wrapped(line: &str, width: usize) -> String {
    let mut rows = String::new();
    let mut used = 0;
    for c in line.chars() {
        let own = columns(c.encode_utf8(&mut [0; 4]));
        if used + own > width {
            rows.push('\n');
            used = 0;
        }
        rows.push(c);
        used += own;
    }
    rows
}

/// Moves the cursor from the viewport's top to the line below it.
fn step_below() {
    let height = HEIGHT.swap(0, Ordering::Relaxed);
    if height == 0 {
        return;
    }
    let down = if height > 1 { format!("\x1b[{}B", height - 1) } else { String::new() };
    write(&format!("\x1b[0m{down}\r\n"));
}

/// A panic message must not be drawn over the viewport. The terminal's modes are never changed, so there is nothing
/// else to restore.
fn release_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            step_below();
            before(info);
        }));
    });
}

fn write(text: &str) {
    // A terminal that went away is noticed elsewhere.
    io::stderr().write_all(text.as_bytes()).ok();
}
