//! Starts every shim from one thread that ends only with the process.
//!
//! A shim in a namespace asks the kernel to be killed when its parent dies, and to the kernel the parent is the thread
//! that forked. A thread that ended earlier would take its shims with it.

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};

use super::mark::{Marker, SHIM_VARIABLE};
use super::shim_process::ShimProcess;
use super::{ShimProgram, namespaces, template};

type Job = (Command, SyncSender<io::Result<Child>>);

static SPAWNER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// A new shim: a copy of the template, or a process that starts the program.
pub(super) fn start(shim: &ShimProgram, marker: &Marker) -> io::Result<ShimProcess> {
    match template::copy(shim, marker) {
        Some(copied) => Ok(copied),
        None => ShimProcess::of(spawn(command(shim, marker))?),
    }
}

pub(super) fn spawn(command: Command) -> io::Result<Child> {
    let (answer, spawned) = mpsc::sync_channel(1);
    let gone = || io::Error::other("the thread that starts processes is gone");
    sender()?.send((command, answer)).map_err(|_| gone())?;
    spawned.recv().map_err(|_| gone())?
}

fn sender() -> io::Result<Sender<Job>> {
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*spawner {
        return Ok(sender.clone());
    }
    let (sender, jobs) = mpsc::channel::<Job>();
    // Never joined: it ends with the process, and that is what it is for.
    std::thread::Builder::new().name("spawner".to_owned()).spawn(move || {
        for (mut command, answer) in jobs {
            // The caller waits for the answer, so it is there to take it.
            answer.send(command.spawn()).ok();
        }
    })?;
    Ok(spawner.insert(sender).clone())
}

/// The program as a process of its own, with pipes.
#[expect(clippy::disallowed_methods, reason = "this is the place that starts processes")]
pub(super) fn command(shim: &ShimProgram, marker: &Marker) -> Command {
    let mut command = Command::new(&shim.program);
    // The mark is an argument too: the environment of a process that cannot be traced is readable for root alone.
    command.args(&shim.args).arg(format!("{SHIM_VARIABLE}={marker}"));
    // Without our environment: neither our secrets nor the mark of an executor that started us belong there.
    command.env_clear().env(SHIM_VARIABLE, marker.to_string());
    command.args(namespaces::outside_word());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
