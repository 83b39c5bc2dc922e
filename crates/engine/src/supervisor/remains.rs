//! What is left of an engine. Others get nothing of what it holds before nothing is left.

use std::time::{Duration, Instant};

use contract::digest;
use contract::domain::limits::KILL_DEADLINE;
use contract::domain::process::{ProcessIdentity, Remains};
use rustix::process::Signal;

use super::mark::OwnerIdentity;
use super::marked::Trace;
use super::process_table::{self, Process};
use super::{marked, namespaces, reap};

/// How long an ending process, which has lost its mark, may take to be gone.
const ENDING_DEADLINE: Duration = Duration::from_secs(2);
/// Between two looks at them.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// Of the name of a machine that is kept.
const MACHINE_CHARS: usize = 16;

/// Ends the processes of a dead engine and returns what is left. A live engine is not touched.
pub fn settle(engine: &ProcessIdentity) -> Remains {
    judge(engine, end_all_of)
}

/// The same without ending anything: a dead engine counts as gone.
pub fn look_at(engine: &ProcessIdentity) -> Remains {
    judge(engine, |_| Remains::Gone)
}

/// `when_dead` returns what is left of a dead engine.
fn judge(engine: &ProcessIdentity, when_dead: impl Fn(&OwnerIdentity) -> Remains) -> Remains {
    let own = reap::own_identity();
    if engine.boot_id == whereabouts(&own) {
        let identity = OwnerIdentity::process(engine.pid, engine.start_time, own.boot_id);
        return standing(&identity).unwrap_or_else(|| when_dead(&identity));
    }
    if let Some((boot_id, namespace)) = engine.boot_id.split_once(' ')
        && boot_id == own.boot_id
    {
        return namespaces::remains_inside(engine, namespace);
    }
    // Nothing outlives a restart of the machine. Another machine may well be running.
    let is_here = !engine.machine.is_empty() && engine.machine == machine();
    if is_here { Remains::Gone } else { Remains::Unseen }
}

/// Ends an engine and all visible processes that it started, and returns what is left.
#[expect(clippy::disallowed_methods, reason = "other people's children tell nobody here when they end")]
pub fn end_engine(engine: &ProcessIdentity) -> Remains {
    let own = reap::own_identity();
    let is_own = engine.pid == own.pid && engine.start_time == own.start_time;
    if engine.boot_id == whereabouts(&own) && is_own {
        return settle(engine);
    }
    let deadline = Instant::now() + KILL_DEADLINE;
    while let Some(process) = seen(engine)
        && Instant::now() < deadline
    {
        process_table::signal(&process, Signal::KILL);
        std::thread::sleep(LOOK_INTERVAL);
    }
    match settle(engine) {
        // Its namespace is the one of a task that goes on, and has others in it.
        Remains::Left if engine.boot_id != whereabouts(&own) => end_marked(engine, own.boot_id),
        remains => remains,
    }
}

/// The pid by which an engine is known here: in a namespace of writ it has another one. `None` where it is not there.
pub fn pid_here(engine: &ProcessIdentity) -> Option<u32> {
    seen(engine).map(|process| process.pid)
}

/// The engine's process, if it is there and can be seen from here.
fn seen(engine: &ProcessIdentity) -> Option<Process> {
    let own = reap::own_identity();
    if engine.boot_id == whereabouts(&own) {
        return process_table::read(engine.pid).filter(|found| is_it(found, engine));
    }
    let (boot_id, namespace) = engine.boot_id.split_once(' ')?;
    let outside = marked::own_pid_namespace()?;
    let is_below = boot_id == own.boot_id && engine.within.iter().any(|init| init.outside == outside);
    is_below.then(|| namespaces::find_inside(engine, namespace)).flatten()
}

/// Ends what a dead engine left in a namespace that stays. Its marks have the pid that it had inside.
#[expect(clippy::disallowed_methods, reason = "other people's children tell nobody here when they end")]
fn end_marked(engine: &ProcessIdentity, boot_id: String) -> Remains {
    let identity = OwnerIdentity::process(engine.pid, engine.start_time, boot_id);
    let deadline = Instant::now() + KILL_DEADLINE;
    while look(&identity).is_none() && Instant::now() < deadline {
        for process in process_table::snapshot() {
            if marked::trace_of(&process, &identity) == Trace::Marked {
                process_table::signal(&process, Signal::KILL);
            }
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    if has_nothing_left(&identity) { Remains::Gone } else { Remains::Left }
}

/// The machine's own name, whatever its boot: only a digest of it. Empty where
/// it has none.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
    let id = read("/etc/machine-id").ok().filter(|id| !id.is_empty());
    let id = id.or_else(|| read("/proc/sys/kernel/hostname").ok()).unwrap_or_default();
    if id.is_empty() {
        return String::new();
    }
    let digest = digest::of_bytes(format!("writ machine {id}").as_bytes());
    digest.rsplit(':').next().unwrap_or_default().chars().take(MACHINE_CHARS).collect()
}

/// Where a pid means the same process: on one boot, and in one pid namespace. Two containers share only the first,
/// and a living engine in one must not look dead from the other.
pub fn whereabouts(own: &OwnerIdentity) -> String {
    let namespace = marked::own_pid_namespace().unwrap_or_default();
    format!("{} {namespace}", own.boot_id).trim_end().to_owned()
}

fn is_it(process: &Process, engine: &ProcessIdentity) -> bool {
    process.start_time == engine.start_time && !process.is_zombie
}

/// A process that is or may be alive. `None` if it is certainly dead.
fn standing(engine: &OwnerIdentity) -> Option<Remains> {
    if cfg!(not(target_os = "linux")) {
        return reap::is_alive(engine).then_some(Remains::Running);
    }
    // Where this process cannot see itself, it cannot tell who is missing.
    if process_table::read(std::process::id()).is_none() {
        return Some(Remains::Unseen);
    }
    match process_table::look(engine.pid) {
        Ok(Some(process)) if process.start_time == engine.start_time && !process.is_zombie => {
            Some(if process.is_stopped { Remains::Stopped } else { Remains::Running })
        }
        Ok(_) => None,
        Err(_) => Some(Remains::Running),
    }
}

fn end_all_of(engine: &OwnerIdentity) -> Remains {
    let reaped = reap::reap_leftovers(|marker| marker.owner.is(engine));
    if reaped.survivors == 0 && has_nothing_left(engine) { Remains::Gone } else { Remains::Left }
}

/// Whether no process carries the engine's mark, at any depth of namespaces, and none is just ending that may have
/// carried it: the first process of a namespace loses its mark before the others in it are dead.
#[expect(clippy::disallowed_methods, reason = "other people's children tell nobody here when they end")]
fn has_nothing_left(engine: &OwnerIdentity) -> bool {
    let deadline = Instant::now() + ENDING_DEADLINE;
    // A process that begins to end after the look in which nobody had a mark had none before either.
    let mut ending: Option<Vec<Process>> = None;
    loop {
        ending = match ending {
            Some(mut known) => {
                known.retain(|process| {
                    process_table::read(process.pid)
                        .is_some_and(|now| now.key() == process.key() && !now.is_zombie)
                });
                Some(known)
            }
            None => look(engine),
        };
        if ending.as_ref().is_some_and(Vec::is_empty) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Ending processes, which have lost their marks; `None` while one has a mark of the engine.
fn look(engine: &OwnerIdentity) -> Option<Vec<Process>> {
    let mut ending = Vec::new();
    let table = process_table::snapshot();
    for process in table.iter().filter(|process| process.start_time >= engine.start_time) {
        match marked::trace_of(process, engine) {
            Trace::Marked => return None,
            Trace::Ending => ending.push(*process),
            Trace::None => {}
        }
    }
    Some(ending)
}

#[cfg(test)]
mod tests;
