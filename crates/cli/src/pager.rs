//! Shows long text a screen at a time, through the pager that the user chose.

use std::io::{IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::{env, screen};

/// The options that `less` gets where the user sets none: end when it fits on a screen, show colors, and leave the text
/// on the screen.
const LESS: &str = "FRX";

/// Shows the text through a pager. `false` if there is none or it could not be started: then nothing was shown.
pub(crate) fn show(text: &str) -> bool {
    let Some(program) = program() else { return false };
    // Ctrl-C is for the pager; this process must not end before it.
    let interrupted = Arc::new(AtomicBool::new(false));
    let guard = signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted).ok();
    let shown = start(&program).is_some_and(|child| feed(child, text));
    if let Some(guard) = guard {
        signal_hook::low_level::unregister(guard);
    }
    shown
}

/// Whether the text is longer than the terminal on standard output is high.
pub(crate) fn is_long(text: &str) -> bool {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return false;
    }
    let Ok(size) = rustix::termios::tcgetwinsize(&stdout) else { return false };
    let (rows, columns) = (usize::from(size.ws_row), usize::from(size.ws_col).max(1));
    let rows_of = |line: &str| screen::columns(line).div_ceil(columns).max(1);
    // A terminal that does not know its size is not paged.
    rows > 0 && text.lines().map(rows_of).sum::<usize>() >= rows
}

/// The user's pager: `WRIT_PAGER`, else `PAGER`, else `less`. Empty or `cat` means none.
fn program() -> Option<String> {
    let chosen = env::given("WRIT_PAGER").or_else(|| env::given("PAGER"));
    let program = match chosen {
        Some(program) => program.trim().to_owned(),
        None if env::can_start("less", std::path::Path::new(".")) => "less".to_owned(),
        None => return None,
    };
    (!program.is_empty() && program != "cat").then_some(program)
}

/// The value is a command line of the user's, as it is for `git` and `man`.
#[expect(
    clippy::disallowed_methods,
    reason = "a pager needs the terminal and no supervision: it ends when its input does, and we wait for it"
)]
fn start(program: &str) -> Option<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", program]).stdin(Stdio::piped());
    if env::given("LESS").is_none() {
        command.env("LESS", LESS);
    }
    command.spawn().ok()
}

/// Writes the text to the pager and waits for its end. A pager that quits early has shown enough.
fn feed(mut child: Child, text: &str) -> bool {
    // Exit codes of a shell that cannot find or start a program.
    const NOT_STARTED: [i32; 2] = [126, 127];
    if let Some(mut input) = child.stdin.take() {
        // The reader may have had enough.
        input.write_all(text.as_bytes()).ok();
    }
    let status = child.wait();
    !status.is_ok_and(|status| status.code().is_some_and(|code| NOT_STARTED.contains(&code)))
}
