//! A program on a pseudo-terminal, as a person would run it.

use std::fs::File;
use std::io::{Read, Write};
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{Cli, PATIENCE, wait};

/// Killed if the test ends first.
#[must_use = "wait for it"]
pub struct OnTerminal<'a> {
    runner: PhantomData<&'a Cli>,
    child: Child,
    terminal: File,
    printed: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl<'a> OnTerminal<'a> {
    #[track_caller]
    pub(crate) fn start(_runner: &'a Cli, mut command: Command, columns: u16, rows: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let terminal = openpt(flags).expect("a pseudo-terminal");
        grantpt(&terminal).expect("the terminal is ours");
        unlockpt(&terminal).expect("the terminal is ours");
        set_size(&terminal, columns, rows);
        let other_end = || -> OwnedFd { ioctl_tiocgptpeer(&terminal, flags).expect("its other end") };
        command.stdin(other_end()).stdout(other_end()).stderr(other_end());
        let child = command.spawn().expect("the program starts");
        // The command holds ends of the terminal, which would never be at its end of file.
        drop(command);
        let terminal = File::from(terminal);
        let printed = Arc::new(Mutex::new(Vec::new()));
        let (mut source, sink) = (terminal.try_clone().expect("one more descriptor"), Arc::clone(&printed));
        // Ends with an error once every process has closed the terminal.
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(bytes @ 1..) = source.read(&mut piece) {
                sink.lock().expect("no reader panics").extend_from_slice(&piece[..bytes]);
            }
        });
        Self { runner: PhantomData, child, terminal, printed, reader }
    }

    /// The process that runs the program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything that was printed so far, as the terminal got it.
    pub fn printed(&self) -> Vec<u8> {
        self.printed.lock().expect("no reader panics").clone()
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        set_size(&self.terminal, columns, rows);
    }

    /// Types keys; `\u{3}` is Ctrl-C.
    #[track_caller]
    pub fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).expect("the terminal is open");
    }

    /// Waits for the end of the program, and of what it printed.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let ended = wait::within(PATIENCE, || self.child.try_wait().expect("the child is ours to wait for"));
        let Some(status) = ended else {
            let printed = self.printed();
            panic!("it did not end within {PATIENCE:?}:\n{}", String::from_utf8_lossy(&printed));
        };
        // The last bytes may still be on their way through the terminal.
        wait::within(PATIENCE, || self.reader.is_finished().then_some(()));
        status
    }
}

impl Drop for OnTerminal<'_> {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn set_size(terminal: impl std::os::fd::AsFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a terminal has a size");
}
