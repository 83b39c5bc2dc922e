//! `writ sandbox`

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{GitUse, Namespace, NetworkUse, SandboxMode};
use contract::domain::network::HostRule;
use contract::domain::plan::PlanTask;
use contract::domain::scope::Scope;
use engine::launcher::Launcher;
use engine::sandbox::{SandboxRequest, of_child};
use engine::supervisor::{ChildReport, InForce, ProcessExit, SandboxPart};
use ops::verb::Surface;
use ops::{Error, Result};

use super::run::read_document;
use crate::app::Globals;
use crate::local::LocalCommand;
use crate::output::{Output, one_line, say};
use crate::{config, exit, host};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::reads("sandbox test", Surface::Writ)];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Run a command as a sandboxed task would, and say what is enforced
    #[command(after_help = "Without a plan, the command may write to the current directory.\n\n\
        Examples:\n  writ sandbox test -- touch /etc/x\n  writ sandbox test --plan plan.toml --task build -- make")]
    Test(Args),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan whose task is meant
    #[arg(long, value_name = "FILE", requires = "task")]
    plan: Option<PathBuf>,
    /// The task whose permissions are used
    #[arg(long, value_name = "TASK", requires = "plan")]
    task: Option<String>,
    /// Reach no network, whatever the plan says
    #[arg(long)]
    no_network: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(Command::Test(args): &Command, globals: &Globals, _: &Output) -> Result<ExitCode> {
    let here = host::absolute(".".into());
    let config = config::load(&here)?;
    let (mut task, workspace) = task_of(args, &config, &here)?;
    if args.no_network {
        task.network = NetworkUse::None;
    }
    let settings = host::sandbox_settings(&host::absolute(host::store_path(globals)?), &config.sandbox);
    let asked = SandboxMode::effective(config.policy.sandbox, task.sandbox);
    if asked == SandboxMode::Off && args.plan.is_some() {
        say(
            "note: this task runs without a sandbox; set `sandbox = \"prefer\"` or `\"enforce\"` in its plan\n",
        );
    }
    if args.plan.is_some() && (task.worktree.is_some() || task.namespace == Namespace::Off) {
        say(
            "note: the task itself runs in a clone, or without a namespace; this is the sandbox of the workspace\n",
        );
    }
    // What is shown is worth having also where not all of it can be enforced.
    let mode = asked.max(SandboxMode::Prefer);
    let wanted = SandboxRequest { mode, namespace: Namespace::On, ..SandboxRequest::of(&task, None) };
    if let Some(reason) = wanted.refusal(&workspace) {
        return Err(Error::new(ErrorCode::Denied, format!("cannot set up the sandbox: {reason}")));
    }
    let mut spec = host::program(args.command.clone());
    let name = format!("test-{}", std::process::id());
    let private = settings.private_of_attempt(&name, "1");
    spec.cwd = workspace.clone();
    let confined = of_child(&settings, &wanted, (&workspace, &private), (&spec.argv, &mut spec.env));
    let ended = confined
        .map_err(|reason| Error::new(ErrorCode::Denied, format!("cannot set up the sandbox: {reason}")));
    let ended = ended.and_then(|confined| {
        spec.confinement.sandbox = confined.map(|confined| confined.sandbox);
        show(spec)
    });
    settings.forget(&name);
    ended
}

/// The task that supplies the permissions, and its directory.
fn task_of(args: &Args, config: &config::Config, here: &Path) -> Result<(PlanTask, PathBuf)> {
    let (Some(file), Some(name)) = (&args.plan, &args.task) else {
        let writes = vec![Scope::everything()];
        let git = GitUse::Read;
        return Ok((PlanTask { writes, git, ..PlanTask::minimal("test") }, here.to_owned()));
    };
    let understood = read_document(file, config)?;
    let workspace = PathBuf::from(&understood.workspace);
    let missing = || {
        Error::new(ErrorCode::NotFound, format!("there is no task `{name}` in {}", file.display()))
            .hint("`writ plan check FILE` lists the tasks")
    };
    let task = understood.intake.plan.tasks.into_iter().find(|task| task.id == *name).ok_or_else(missing)?;
    Ok((task, workspace))
}

/// Runs the command, and passes on what it prints and how it ends.
fn show(spec: engine::supervisor::LaunchSpec) -> Result<ExitCode> {
    let mut children = host::shim().children();
    let failed = |message: String| Error::new(ErrorCode::Denied, message);
    children.start(0, spec).map_err(|error| failed(error.to_string()))?;
    let mut code = ExitCode::FAILURE;
    let mut shown: Vec<String> = Vec::new();
    loop {
        let Some((_, report)) = children.next(contract::domain::limits::POLL_INTERVAL) else { continue };
        match report {
            ChildReport::Started { in_force, .. } => say(&told(&in_force)),
            // A closed pipe is the reader's wish.
            ChildReport::Stdout(bytes) => drop(std::io::stdout().write_all(&bytes)),
            ChildReport::Stderr(bytes) => drop(std::io::stderr().write_all(&bytes)),
            ChildReport::Visited(visit) if !shown.contains(&visit.to) => {
                let why = visit.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                say(&format!(
                    "sandbox network: {} {}{}\n",
                    one_line(&visit.to),
                    visit.verdict,
                    one_line(&why)
                ));
                shown.push(visit.to);
            }
            // The sums at the end.
            ChildReport::Visited(_) => {}
            ChildReport::Exceeded(what) => say(&format!("its processes used {what}, so they were ended\n")),
            ChildReport::Exited(ProcessExit::Code(number)) => {
                code = ExitCode::from(u8::try_from(number).unwrap_or(1));
            }
            ChildReport::Exited(ProcessExit::Signal(signal)) => {
                say(&format!("ended by signal {signal}\n"));
                code = exit::by_signal(signal);
            }
            ChildReport::Gone(_) => return Ok(code),
            ChildReport::Fault(fault) => return Err(failed(fault.message)),
            ChildReport::Lost(lost) => return Err(failed(lost.message)),
        }
    }
}

/// One part for people, who would read `network: on` as a network that can be used.
fn line_of(name: &str, part: &SandboxPart, in_force: &InForce) -> String {
    let said = match (name, part) {
        ("network", SandboxPart::On) if in_force.is_proxied() => "allow-list".to_owned(),
        ("network", SandboxPart::On) => "blocked".to_owned(),
        ("network", SandboxPart::Off(_)) => "unrestricted".to_owned(),
        (_, SandboxPart::Refused(reason)) => format!("not enforced: {reason}"),
        (_, SandboxPart::On | SandboxPart::Off(_)) => part.to_string(),
    };
    format!("sandbox {name}: {said}\n")
}

fn told(in_force: &InForce) -> String {
    let parts = in_force.sandbox.iter().flat_map(|sandbox| sandbox.parts());
    let parts: String = parts.map(|(name, part)| line_of(name, part, in_force)).collect();
    let reachable = in_force.sandbox.as_ref().and_then(|sandbox| sandbox.reachable.as_ref());
    let line = |(about, rules): (&str, &Vec<HostRule>)| {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        format!("sandbox network: only {} ({about})\n", rules.join(", "))
    };
    let lists = reachable.map(|found| [("the plan", &found.allow), ("endpoints", &found.endpoints)]);
    let lists = lists.into_iter().flatten().filter(|(_, rules)| !rules.is_empty());
    parts + &lists.map(line).collect::<String>()
}
