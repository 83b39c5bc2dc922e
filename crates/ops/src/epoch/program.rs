//! Programs of writ that work without a run of their own register, so that a halt finds them.

use contract::domain::change::Change;
use contract::domain::epoch::WritProgram;
use contract::domain::limits;
use contract::domain::process::ProcessIdentity;

use crate::context::{Caller, Context};
use crate::decision::about_id;
use crate::error::Result;
use crate::host::HostView;
use crate::record::{About, EventWriter};
use crate::run::Liveness;

/// Registers this process, and forgets those that died without saying so.
pub fn enter(cx: &mut Context, caller: &Caller, command: &str) -> Result<()> {
    let host = cx.host();
    let known = cx.store.read()?.programs(limits::PROGRAMS_MAX)?;
    let is_dead = |program: &&WritProgram| host.liveness(&program.process) == Liveness::Dead;
    let dead: Vec<ProcessIdentity> = known.iter().filter(is_dead).map(|dead| dead.process.clone()).collect();
    let program = WritProgram { process: host.owner(), command: command.to_owned() };
    change(cx, caller, |work| {
        end_all(work, &dead)?;
        if is_known(work, &program.process)? {
            return Ok(());
        }
        let message = format!("writ {command} began to work as process {}", program.process.pid);
        work.change(&about(&program.process), &message, &Change::ProgramStarted { program })?;
        Ok(())
    })
}

/// Forgets this process, which has nothing left to do.
pub fn leave(cx: &mut Context, caller: &Caller) -> Result<()> {
    let own = cx.host().owner();
    forget(cx, caller, &[own])
}

pub(crate) fn forget(cx: &mut Context, caller: &Caller, gone: &[ProcessIdentity]) -> Result<()> {
    let known = cx.store.read()?.programs(limits::PROGRAMS_MAX)?;
    if !known.iter().any(|program| gone.contains(&program.process)) {
        return Ok(());
    }
    change(cx, caller, |work| end_all(work, gone))
}

fn end_all(work: &mut EventWriter<'_, '_>, gone: &[ProcessIdentity]) -> Result<()> {
    for process in gone {
        if is_known(work, process)? {
            let message = format!("process {} works no longer", process.pid);
            work.change(&about(process), &message, &Change::ProgramEnded { process: process.clone() })?;
        }
    }
    Ok(())
}

fn is_known(work: &EventWriter<'_, '_>, process: &ProcessIdentity) -> Result<bool> {
    let known = work.tx.programs(limits::PROGRAMS_MAX)?;
    Ok(known.iter().any(|program| program.process == *process))
}

fn change(
    cx: &mut Context,
    caller: &Caller,
    act: impl FnOnce(&mut EventWriter<'_, '_>) -> Result<()>,
) -> Result<()> {
    let tx = cx.store.begin()?;
    let (now, view) = (cx.clock.now(), HostView::default());
    act(&mut EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view: &view })?;
    Ok(tx.commit()?)
}

fn about(process: &ProcessIdentity) -> About {
    about_id(&format!("process {}", process.pid))
}
