//! Runs the checks that decide whether a task is done, between the transaction that judges a request and the one that
//! commits it.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use contract::domain::change::Change;
use contract::domain::check::{Check, CheckSeen, first_failed};
use contract::domain::code::ErrorCode;
use contract::domain::confinement::Namespace;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::pins::{self, Digests, PinRole, WORK_BEGAN};
use contract::domain::plan::PlanTask;
use contract::domain::policy::{Policy, PolicyAction, PolicyResource, authorize};
use contract::domain::request::Agent;
use contract::domain::run::NewRun;
use contract::domain::scope::Scope;
use contract::domain::task::Task;
use contract::domain::text::counted;
use contract::domain::time::{Clock, Lease};
use contract::domain::trust::{Trust, TrustState};
use serde_json::json;
use store::{Store, Tx};

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::host::{CheckJob, too_short_of};
use crate::policy;
use crate::record::{EventWriter, scrubbed};

/// How often claims are renewed while checks run: well inside their lease.
const RENEWAL: Duration = Duration::from_secs(60);
/// The claim may have been renewed long ago, so the first time is soon.
const FIRST_RENEWAL: Duration = Duration::from_secs(1);

/// Said where checks failed that ran in the fixed environment.
const OLD_TASK: &str = "an older version stored these checks without their author's environment, so they ran with \
                        PATH=/usr/local/bin:/usr/bin:/bin; create the task again if they need more";

/// The checks that apply to a task.
pub(crate) struct CheckPlan {
    directory: String,
    checks: Vec<Check>,
    /// The environment of their author; `None` if it was not stored.
    author: Option<AuthorEnvironment>,
    env: BTreeMap<String, String>,
    /// What the task may write; empty for the whole directory.
    scopes: Vec<Scope>,
    /// Whether they get a pid namespace of their own, as their task does.
    namespace: Namespace,
    /// Their task in a plan.
    spec: Option<Box<PlanTask>>,
    pins: Pins,
    source: CheckAuthor,
}

/// What is known of the files that the checks use.
enum Pins {
    /// Nothing is compared: their author allows changes, or an older version stored the task.
    Free,
    /// As they were before the work began, and what it is called that began.
    Known { before: Digests, since: &'static str },
    /// Nobody looked before the work began.
    Unknown(BTreeMap<String, PinRole>),
}

/// Who wrote the checks.
enum CheckAuthor {
    /// The author of the run's plan. The run's policy was settled with the plan.
    Plan(Box<NewRun>),
    /// The author of the task.
    Task { author: String },
    /// The project. A person trusts its commands while they have this digest.
    Project { digest: String, trusted_by: String },
}

/// The results of checks, and the author of the checks.
#[derive(Debug, Clone, Default)]
pub(crate) struct CheckResults {
    pub(crate) seen: Vec<CheckSeen>,
    /// Why done is only claimed although they passed.
    pub(crate) withheld: Option<String>,
    /// The directory and the digest of the project's commands, where its checks were run.
    trusted: Option<(String, String)>,
    /// Who answers for calling the task done.
    pub(crate) by: Option<Agent>,
}

impl CheckResults {
    /// Whether what was seen proves the task: every check was run and passed. An error if the trust in the project
    /// was revoked meanwhile.
    pub(crate) fn proves(&self, tx: &Tx<'_>, task: &Task) -> Result<bool> {
        if task.has_checks() {
            return Ok(all_passed(task, &self.seen));
        }
        let passed = self.seen.iter().all(|check| check.passed);
        let Some((directory, digest)) = &self.trusted else { return Ok(false) };
        let allowed = tx.trust(directory)?;
        let is_same = allowed.as_ref().is_some_and(|trust| trust.digest == *digest);
        let state = if is_same { TrustState::Trusted } else { TrustState::Untrusted };
        may_use(directory, state, allowed.as_ref()).map(|()| passed)
    }
}

/// Whether every check of the task was run and passed. False for a task without checks.
pub(crate) fn all_passed(task: &Task, seen: &[CheckSeen]) -> bool {
    let expected = task.checks().len();
    expected > 0 && seen.len() == expected && seen.iter().all(|check| check.passed)
}

/// The checks that apply to the task now: its own, its plan's, or those of its project. `None` if there are none. An
/// error if they are the project's and no person trusts them.
pub(crate) fn plan_for(cx: &mut Context, task: &Task) -> Result<Option<CheckPlan>> {
    if let Some(part) = &task.part {
        if part.spec.checks.is_empty() {
            return Ok(None);
        }
        let run = crate::run::required(&cx.store.read()?, &part.run_id)?.asked;
        return Ok(Some(CheckPlan {
            directory: run.workspace.clone(),
            checks: part.spec.checks.clone(),
            author: run.environment.clone(),
            env: part.spec.env.clone(),
            scopes: part.spec.writes.clone(),
            namespace: part.spec.namespace,
            spec: Some(Box::new(part.spec.clone())),
            pins: pins_of_plan(task, &part.spec, &run),
            source: CheckAuthor::Plan(Box::new(run)),
        }));
    }
    let project = project_directory(task.project_id.as_deref());
    if let Some(own) = &task.checks {
        let directory = own.directory.as_deref().or(project).unwrap_or(".").to_owned();
        return Ok(Some(CheckPlan {
            directory,
            checks: own.checks.clone(),
            author: own.environment.clone(),
            env: BTreeMap::new(),
            scopes: Vec::new(),
            namespace: Namespace::On,
            spec: None,
            pins: if own.may_change || own.environment.is_none() {
                Pins::Free
            } else {
                Pins::Known { before: own.pinned.clone(), since: "the task was created" }
            },
            source: CheckAuthor::Task { author: own.author.clone() },
        }));
    }
    project.map_or(Ok(None), |project| of_project(cx, project))
}

fn of_project(cx: &mut Context, project: &str) -> Result<Option<CheckPlan>> {
    let commands = cx.host().project_commands(project)?.filter(|commands| !commands.checks.is_empty());
    let directory = commands.as_ref().map_or(project, |commands| &commands.directory);
    let allowed = cx.store.read()?.trust(directory)?;
    may_use(directory, TrustState::of(commands.as_ref(), allowed.as_ref()), allowed.as_ref())?;
    let (Some(commands), Some(trust)) = (commands, allowed) else { return Ok(None) };
    Ok(Some(CheckPlan {
        source: CheckAuthor::Project { digest: commands.digest(), trusted_by: trust.trusted_by },
        directory: commands.directory,
        checks: commands.checks,
        pins: Pins::Known { before: trust.basis.pinned, since: "a person trusted it" },
        author: trust.basis.environment,
        env: BTreeMap::new(),
        scopes: Vec::new(),
        namespace: Namespace::On,
        spec: None,
    }))
}

fn pins_of_plan(task: &Task, spec: &PlanTask, run: &NewRun) -> Pins {
    match &task.pinned {
        _ if spec.checks_may_change || run.environment.is_none() => Pins::Free,
        Some(before) => Pins::Known { before: before.clone(), since: WORK_BEGAN },
        None => Pins::Unknown(pinnable(spec, run)),
    }
}

/// The paths that matter to the checks of a plan's task.
pub fn pinnable(spec: &PlanTask, run: &NewRun) -> BTreeMap<String, PinRole> {
    let author = run.environment.as_ref();
    let path = author.and_then(|author| author.values.get("PATH")).map(String::as_str);
    pins::candidates(&spec.checks, &spec.pins, path, &run.workspace)
}

/// Remembers the files that the checks of a task use. The first time counts: a later attempt may find them changed.
pub(crate) fn pin(work: &mut EventWriter<'_, '_>, task: &Task, files: &Digests) -> Result<()> {
    if task.pinned.is_none() {
        let about = crate::task::about(work.tx, task)?;
        let pinned = Change::TaskPinned { task_id: task.id.clone(), files: files.clone() };
        work.change(&about, &format!("{} that its checks use", counted(files.len(), "file")), &pinned)?;
    }
    Ok(())
}

/// Why evidence is withheld although the checks passed: what they use changed.
fn withheld(cx: &Context, plan: &CheckPlan) -> Option<String> {
    let look = |paths: Vec<&str>| {
        if paths.is_empty() { Digests::new() } else { cx.host().digests(&plan.directory, &paths) }
    };
    match &plan.pins {
        Pins::Free => None,
        Pins::Known { before, since } => {
            pins::withheld(before, &look(before.keys().map(String::as_str).collect()), since)
        }
        Pins::Unknown(paths) => pins::not_digested(paths, &look(paths.keys().map(String::as_str).collect())),
    }
}

/// The directory that a project's id names; `None` if the id is a plain word.
pub(crate) fn project_directory(project_id: Option<&str>) -> Option<&str> {
    project_id.filter(|id| id.starts_with('/'))
}

/// An error unless the commands of the project may run.
fn may_use(directory: &str, state: TrustState, allowed: Option<&Trust>) -> Result<()> {
    let principal = allowed.map_or("", |trust| &trust.trusted_by);
    let project = PolicyResource::Project { directory, trust: state, was_trusted: allowed.is_some() };
    let decision = authorize(principal, PolicyAction::UseCommands, &project, &Policy::default());
    let Some(denial) = decision.denial() else { return Ok(()) };
    let command = if state == TrustState::NoCommands { "writ trust --revoke" } else { "writ trust" };
    let rule = &denial.rule;
    let message = format!("the checks in {directory}/.writ/config.toml {rule}, so nothing was run");
    Err(Error::new(ErrorCode::Denied, message)
        .hint(format!("a person runs `{command} {directory}` in a terminal, then complete the task again"))
        .details(json!({"rule": rule.code(), "directory": directory, "state": state})))
}

/// What the task's checks showed here and now. Nothing where the task has none: then `done` is only claimed. What the
/// project's policy forbids is not run.
pub(crate) fn run_checks(cx: &mut Context, task: &Task) -> Result<CheckResults> {
    match plan_for(cx, task)? {
        Some(plan) => run(cx, &plan),
        None => Ok(CheckResults::default()),
    }
}

fn run(cx: &mut Context, plan: &CheckPlan) -> Result<CheckResults> {
    let host = cx.host();
    let policy = host.policy(&plan.directory)?;
    let decision = match &plan.source {
        CheckAuthor::Plan(run) => policy::of_run(run, &policy),
        CheckAuthor::Task { author } | CheckAuthor::Project { trusted_by: author, .. } => {
            policy::of_checks(author, &plan.checks, &policy)
        }
    };
    if let Some(denial) = decision.denial() {
        return Err(Error::new(ErrorCode::Denied, denial.text));
    }
    // Before the checks run: they may write, too.
    let withheld = withheld(cx, plan);
    let now = cx.now().at;
    let mark = mint(cx.ids(), now);
    let job = CheckJob {
        directory: &plan.directory,
        checks: &plan.checks,
        author: plan.author.as_ref(),
        env: &plan.env,
        scopes: &plan.scopes,
        namespace: plan.namespace,
        spec: plan.spec.as_deref(),
    };
    let trusted = match &plan.source {
        CheckAuthor::Project { digest, .. } => Some((plan.directory.clone(), digest.clone())),
        CheckAuthor::Plan(_) | CheckAuthor::Task { .. } => None,
    };
    Ok(CheckResults { seen: host.run_checks(&job, &mark)?, withheld, trusted, by: None })
}

/// The same where a failed check refuses the request. The agent keeps what it has claimed meanwhile.
pub(crate) fn passed_checks(cx: &mut Context, session: &Session, task: &Task) -> Result<CheckResults> {
    let Some(plan) = plan_for(cx, task)? else { return Ok(CheckResults::default()) };
    let by = Some(cx.author(session)?);
    let checked = CheckResults { by, ..keeping_claims(cx, &session.caller.agent, |cx| run(cx, &plan))? };
    let Some(failed) = first_failed(&checked.seen) else { return Ok(checked) };
    let details = json!({
        "rule": "check_failed",
        "command": failed.command.join(" "),
        "exit_code": failed.exit_code,
        "last_lines": failed.last_lines().join("\n"),
        "checks": checked.seen,
    });
    let hint = "finish the work; writ runs the checks again when you complete the task";
    let hint = if plan.author.is_some() { hint.to_owned() } else { format!("{hint}; {OLD_TASK}") };
    Err(Error::new(ErrorCode::CheckFailed, failed.fault()).hint(hint).details(scrubbed(details)))
}

/// Starts a thread beside the checks, which keeps a lease alive.
pub(crate) fn beside<'s, 'e>(
    scope: &'s std::thread::Scope<'s, 'e>,
    work: impl FnOnce() + Send + 's,
) -> Result<()> {
    let started = std::thread::Builder::new().spawn_scoped(scope, work);
    started.map(drop).map_err(|_| too_short_of("free processes or memory"))
}

/// Runs `work` while a thread renews the agent's claims: the agent waits for us, and must not lose its task because
/// its checks take long.
fn keeping_claims<A>(
    cx: &mut Context,
    agent: &Agent,
    work: impl FnOnce(&mut Context) -> Result<A>,
) -> Result<A> {
    let place = cx.place();
    std::thread::scope(|scope| {
        let (working, done) = mpsc::channel::<()>();
        beside(scope, move || {
            let mut wait = FIRST_RENEWAL;
            while done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = RENEWAL;
                let Ok(mut store) = place.open() else { continue };
                // A renewal that fails is tried again a minute later, long before the lease is over.
                renew(&mut store, agent, &*place.clock).ok();
            }
        })?;
        let answer = work(cx);
        drop(working);
        answer
    })
}

fn renew(store: &mut Store, agent: &Agent, clock: &dyn Clock) -> Result<()> {
    let tx = store.begin()?;
    let now = &clock.now();
    tx.renew_claims(agent.as_str(), None, now, &Lease::starting(now, limits::CLAIM_LEASE))?;
    Ok(tx.commit()?)
}
