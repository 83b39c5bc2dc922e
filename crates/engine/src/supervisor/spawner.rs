//! Starts every shim from one thread that ends only with the process.
//!
//! A shim in a namespace asks the kernel to be killed when its parent dies, and to the kernel the parent is the thread
//! that forked. A thread that ended earlier would take its shims with it.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};

type Job = (Command, SyncSender<io::Result<Child>>);

static SPAWNER: Mutex<Option<Sender<Job>>> = Mutex::new(None);

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
