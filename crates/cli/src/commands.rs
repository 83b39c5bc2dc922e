//! One file per command: its arguments and what it does.

pub(crate) mod ao;
pub(crate) mod approval;
pub(crate) mod artifacts;
pub(crate) mod assignment;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod budget;
pub(crate) mod cancel;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod conformance;
pub(crate) mod convert;
pub(crate) mod crew;
pub(crate) mod doctor;
pub(crate) mod escalate;
pub(crate) mod events;
pub(crate) mod executors;
pub(crate) mod export;
pub(crate) mod gc;
pub(crate) mod halt;
pub(crate) mod handoff;
pub(crate) mod heartbeat;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod ledger;
pub(crate) mod limits;
pub(crate) mod lock;
pub(crate) mod logs;
pub(crate) mod looping;
pub(crate) mod memory;
pub(crate) mod ol;
pub(crate) mod orchestrate;
pub(crate) mod personality;
pub(crate) mod plan;
pub(crate) mod push;
pub(crate) mod ready;
pub(crate) mod result;
pub(crate) mod resume;
pub(crate) mod resume_all;
pub(crate) mod retry;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod salvage;
pub(crate) mod sandbox;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod snapshots;
pub(crate) mod status;
pub(crate) mod task;
pub(crate) mod token;
pub(crate) mod trace;
pub(crate) mod trust;
pub(crate) mod uninstall;
pub(crate) mod upgrade;
pub(crate) mod validate;
pub(crate) mod watchdog;
pub(crate) mod worker;
pub(crate) mod worklog;
pub(crate) mod worktree;

use std::process::ExitCode;

use ops::Result;

use crate::app::{Command, Globals};
use crate::local::LocalCommand;
use crate::output::Output;

/// Every command that is not a verb, declared beside its definition.
pub(crate) const LOCAL: &[&[LocalCommand]] = &[
    init::LOCAL,
    looping::LOCAL,
    worker::LOCAL,
    hook::LOCAL,
    serve::LOCAL,
    doctor::LOCAL,
    executors::LOCAL,
    sandbox::LOCAL,
    salvage::LOCAL,
    config::LOCAL,
    completions::LOCAL,
    personality::LOCAL,
    uninstall::LOCAL,
    schema::LOCAL,
    conformance::LOCAL,
    approval::LOCAL,
];

pub(crate) fn run_command(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Init(args) => init::run(args, globals, output),
        Command::Run(args) => run::run(args, globals, output),
        Command::Plan(group) => plan::run(&group.command, output),
        Command::Runs(group) => runs::run(&group.command, globals, output),
        Command::Logs(args) => logs::run(args, globals, output),
        Command::Retry(args) => retry::run(args, globals, output),
        Command::Rollback(args) => rollback::run(args, globals, output),
        Command::Session(group) => session::run(&group.command, globals, output),
        Command::Snapshots(group) => snapshots::run(&group.command, globals, output),
        Command::Limits(group) => limits::run(&group.command, globals, output),
        Command::Cancel(args) => cancel::run(args, globals, output),
        Command::Escalate(args) => escalate::run(args, globals, output),
        Command::Halt(args) => halt::run(args, globals, output),
        Command::ResumeAll(args) => resume_all::run(args, globals, output),
        Command::Ready(args) => ready::run(args, globals, output),
        Command::Trace(args) => trace::run(args, globals, output),
        Command::Resume(args) => resume::run(args, globals, output),
        Command::Task(group) => task::run(&group.command, globals, output),
        Command::Memory(group) => memory::run(&group.command, globals, output),
        Command::Push(args) => push::run(args, globals, output),
        Command::Artifacts(group) => artifacts::run(&group.command, globals, output),
        Command::Events(group) => events::run(&group.command, globals, output),
        Command::Loop(args) => looping::run(args, globals, output),
        Command::Hook(group) => hook::run(&group.command, globals, output),
        Command::Status(args) => status::run(args, globals, output),
        Command::Upgrade(args) => upgrade::run(args, globals, output),
        Command::Backup(args) => backup::run(args, globals, output),
        Command::Salvage(args) => salvage::run(args, output),
        Command::Export(args) => export::run(args, globals, output),
        Command::Import(args) => import::run(args, globals, output),
        Command::Gc(args) => gc::run(args, globals, output),
        Command::Audit(group) => audit::run(&group.command, globals, output),
        Command::Ledger(group) => ledger::run(&group.command, globals, output),
        Command::Assignment(group) => assignment::run(&group.command, globals, output),
        Command::Worker(group) => worker::run(&group.command, globals, output),
        Command::Result(group) => result::run(&group.command, globals, output),
        Command::Heartbeat(args) => heartbeat::run(args, globals, output),
        Command::Watchdog(group) => watchdog::run(&group.command, globals, output),
        Command::Orchestrate(group) => orchestrate::run(&group.command, globals, output),
        Command::Budget(group) => budget::run(&group.command, globals, output),
        Command::Approval(group) => approval::run(&group.command, globals, output),
        Command::Lock(group) => lock::run(&group.command, globals, output),
        Command::Token(group) => token::run(&group.command, globals, output),
        Command::Trust(args) => trust::run(args, globals, output),
        Command::Config(group) => config::run(&group.command, globals, output),
        Command::Worklog(group) => worklog::run(&group.command, globals, output),
        Command::Worktree(group) => worktree::run(&group.command, globals, output),
        Command::Handoff(group) => handoff::run(&group.command, globals, output),
        Command::Doctor(args) => doctor::run(args, globals, output),
        Command::Executors(group) => executors::run(&group.command, globals, output),
        Command::Sandbox(group) => sandbox::run(&group.command, globals, output),
        Command::Validate(args) => Ok(validate::run(args, output)),
        Command::Convert(args) => Ok(convert::run(args, output)),
        Command::Schema(group) => schema::run(&group.command, output),
        Command::Conformance(group) => conformance::run(&group.command, output),
        Command::Serve(args) => serve::run(args, globals, output),
        Command::Uninstall(args) => uninstall::run(args, globals, output),
        Command::Personality(group) => personality::run(&group.command, output),
        Command::Completions(args) => completions::run(args, output),
    }
}
