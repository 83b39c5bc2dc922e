//! The machine as verbs see it: its disk, its processes, and the engine itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::domain::attempt::AttemptId;
use contract::domain::check::CheckSeen;
use contract::domain::code::ErrorCode;
use contract::domain::confinement::SandboxMode;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::{Attempt, Id};
use contract::domain::pins::Digests;
use contract::domain::policy::Policy;
use contract::domain::principal::Action;
use contract::domain::process::{Remains, StoreFile};
use contract::domain::retention::Retention;
use contract::domain::rollback::{Direction, FileResult};
use contract::domain::run::{Owner, Run, RunId};
use contract::domain::scope::{Links, Scope};
use contract::domain::task::{Task, TaskId};
use contract::domain::trust::ProjectCommands;
use contract::domain::worktree::{Loss, Standing, WorktreeRecord};
use contract::intake::Executors;
use ops::host::{
    Archive, AuditBatch, CheckJob, Clones, Collected, Collection, EngineAccess, HowToWork, Installation,
    KeptSnapshot, KeptWorktree, LogPiece, Processes, ProgramQuestion, RollbackJob, Terminal, Transcript,
    Unrecorded, WatchEnd, WatchedScopes, WorkEnd, WorklogWrite, WorkspaceFiles, WorktreeLeftover,
    too_short_of,
};
use ops::run::Liveness;
use ops::run::logs::OutputStream;
use ops::{Context, Error, Result};

use crate::audit_files::Replace;
use crate::git::{Git, Runner};
use crate::index::{How, Index, Look};
use crate::launcher::{Launcher, RunError, ask};
use crate::observer::{Nobody, Observer};
use crate::sandbox::{SandboxRequest, SandboxSettings};
use crate::settings::Settings;
use crate::snapshots::{self, Between, Snapshots};
use crate::supervisor::logs::{LogReader, LogStream, Piece};
use crate::supervisor::{LaunchSpec, Marker, ProcessExit, Stdin};
use crate::verify::{CheckLocation, run_all};
use crate::worklog::{Followed, follow};
use crate::worktree::{self, Worktrees};
use crate::{DriveEnd, audit_files, disk, transcript, worklog};

/// What only the door knows: the user's configuration, and who watches a run.
pub trait Door {
    /// The policy that holds in a workspace.
    fn policy(&self, workspace: &Path) -> Result<Policy>;
    /// Which programs act for agents, as configured for documents of this directory.
    fn executors(&self, directory: &Path) -> Result<Executors>;
    /// What children inherit. Asked only where a child is started: most commands start none.
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        BTreeMap::new()
    }
    /// Where the output of attempts is kept.
    fn logs(&self) -> Result<PathBuf>;
    /// The index of workspaces.
    fn index(&self) -> Index {
        Index::default()
    }
    /// What the scopes of tasks were before and after them.
    fn snapshots(&self) -> Snapshots {
        Snapshots::default()
    }

    /// What the engine needs to confine its children.
    fn sandbox(&self) -> SandboxSettings {
        SandboxSettings::default()
    }

    /// The clones in which tasks work.
    fn worktrees(&self) -> Worktrees {
        Worktrees::default()
    }
    /// How an engine works a run in this workspace. Called before a run is accepted, and again to work it.
    fn settings(&self, workspace: &Path, how: &HowToWork) -> Result<Settings>;
    /// The observer of a run's progress.
    fn observer(&self, run: &Run, tasks: &[Task]) -> Box<dyn Observer>;
    /// The commands in the `.writ/` of the nearest project at or above this directory.
    fn project_commands(&self, _: &Path) -> Result<Option<ProjectCommands>> {
        Ok(None)
    }
    /// Shows an action to the person at the terminal, and returns what they typed.
    fn ask_person(&self, _: &Action) -> Result<String> {
        Err(Error::new(ErrorCode::Denied, "a person has to decide this, and there is no terminal here")
            .hint("run the command in a terminal"))
    }
    /// How this installation is set up around the store at this path.
    fn installation(&self, store: &Path) -> Installation {
        Installation {
            store_source: "default".to_owned(),
            store_bytes: std::fs::metadata(store).ok().map(|found| found.len()),
            hooks: contract::json::Value::Null,
            retention: Retention::default(),
            diagnostics: Vec::new(),
        }
    }
}

/// A door without configuration that works no runs.
pub struct PlainDoor;

impl Door for PlainDoor {
    fn policy(&self, _: &Path) -> Result<Policy> {
        Ok(Policy::default())
    }

    fn executors(&self, _: &Path) -> Result<Executors> {
        Ok(Executors { known: crate::Executors::built_in().known(), ..Executors::default() })
    }

    fn logs(&self) -> Result<PathBuf> {
        Err(Error::new(ErrorCode::NotFound, "this door keeps no logs"))
    }

    fn settings(&self, _: &Path, _: &HowToWork) -> Result<Settings> {
        Err(Error::new(ErrorCode::Denied, "this door works no runs").hint("use `writ run --continue RUN`"))
    }

    fn observer(&self, _: &Run, _: &[Task]) -> Box<dyn Observer> {
        Box::new(Nobody)
    }
}

/// What is stored of an environment with what its owner submits.
pub fn author_environment(all: BTreeMap<OsString, OsString>) -> AuthorEnvironment {
    let text = |value: OsString| value.into_string().ok();
    AuthorEnvironment::of(
        all.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, text(value)))),
    )
}

/// A snapshot of more files is marked as partial.
const SNAPSHOT_FILES_MAX: usize = 2_000;

/// The machine this process runs on.
pub struct LocalHost {
    /// Starts processes, and knows which engines are alive.
    pub launcher: Arc<dyn Launcher>,
    pub door: Box<dyn Door>,
}

impl WorkspaceFiles for LocalHost {
    fn links(&self, root: &str, paths: &[&str]) -> Links {
        disk::links(root, paths)
    }

    fn folds_case(&self, root: &str) -> bool {
        disk::folds_case(root)
    }

    fn is_directory(&self, root: &str, path: &str) -> bool {
        Path::new(root).join(path).is_dir()
    }

    fn real_directory(&self, path: &str) -> String {
        real_name(Path::new(path)).to_str().map_or_else(|| path.to_owned(), str::to_owned)
    }

    fn make_directory(&self, path: &str) -> Result<()> {
        let io = |error| Error::new(ErrorCode::Io, format!("could not make the directory {path}: {error}"));
        std::fs::create_dir_all(path).map_err(io)
    }

    fn snapshot(&self, root: &str, scopes: &[Scope]) -> Snapshot {
        let look = self.door.index().look(Path::new(root), &How { always: scopes, ..How::default() });
        look.snapshot(scopes, SNAPSHOT_FILES_MAX)
    }

    fn snapshots(&self, root: &str, each: &[&[Scope]]) -> Vec<Snapshot> {
        let always = each.concat();
        let look = self.door.index().look(Path::new(root), &How { always: &always, ..How::default() });
        each.iter().map(|scopes| look.snapshot(scopes, SNAPSHOT_FILES_MAX)).collect()
    }

    fn begin_watch(&self, root: &str, name: &str, watched: &WatchedScopes) -> Snapshot {
        let (index, root) = (self.door.index(), Path::new(root));
        let always = always(watched);
        let look = index.look(root, &How { always: &always, never: &watched.scratch, ..How::default() });
        // A look that could not be stored is reported as missing at the end.
        index.keep(root, name, &look).ok();
        look.snapshot(&watched.scopes, SNAPSHOT_FILES_MAX)
    }

    fn end_watch(&self, root: &str, name: &str, watched: &WatchedScopes) -> WatchEnd {
        let (index, root) = (self.door.index(), Path::new(root));
        let before = index.kept(root, name);
        let always = always(watched);
        let rules = before.as_ref().map(Look::rules);
        let after =
            index.look(root, &How { always: &always, never: &watched.scratch, rules, ..How::default() });
        let files = after.snapshot(&watched.scopes, SNAPSHOT_FILES_MAX);
        let changed = before.as_ref().map(|before| after.changed_since(before)).unwrap_or_default();
        WatchEnd { files, changed, not_seen: not_seen(before.as_ref(), &after) }
    }

    fn forget_watch(&self, root: &str, name: &str) {
        self.door.index().forget(Path::new(root), name);
    }

    fn digests(&self, root: &str, paths: &[&str]) -> Digests {
        crate::verify::pinned::digests(&self.door.index(), Path::new(root), paths.iter().copied())
    }

    fn changed_in_git(&self, root: &str, revision: &str, mark: &Id<Attempt>) -> Result<Vec<String>> {
        let environment = self.door.environment();
        let runner = Runner { launcher: &*self.launcher, environment: &environment, mark: mark.clone() };
        let git = Git { runner, workspace: Path::new(root) };
        let tree = git.tree_of(revision).map_err(|problem| {
            Error::new(ErrorCode::InvalidInput, problem.to_string()).hint("name one commit, branch or tag")
        })?;
        git.changed(&tree).map_err(|problem| {
            Error::new(ErrorCode::Io, format!("could not ask git what changed: {problem}"))
                .hint("name the changed files instead of a revision")
        })
    }

    fn write_worklog(
        &self,
        root: &str,
        path: &str,
        wanted: &mut dyn FnMut() -> Result<Vec<u8>>,
    ) -> Result<WorklogWrite> {
        let written = follow(Path::new(root), path, || wanted().map_err(WorklogFileError::Ops));
        match written {
            Ok(Followed::Same) => Ok(WorklogWrite::Unchanged),
            Ok(Followed::Grown) => Ok(WorklogWrite::Appended),
            Ok(Followed::Renewed { set_aside }) => Ok(WorklogWrite::Replaced { set_aside }),
            Err(WorklogFileError::Ops(error)) => Err(error),
            Err(WorklogFileError::Io(error)) => {
                Err(Error::new(ErrorCode::Io, format!("could not write {path}: {error}")).hint(
                    "the store has the entry; repeat the call with the same request id to write the file",
                ))
            }
        }
    }

    fn read_worklog(&self, root: &str, path: &str) -> Result<Option<Vec<u8>>> {
        worklog::read(Path::new(root), path)
            .map_err(|error| Error::new(ErrorCode::Io, format!("could not read {path}: {error}")))
    }

    fn write_audit(&self, batch: &AuditBatch<'_>) -> Result<usize> {
        let AuditBatch { directory, workspaces, files, replaces } = batch;
        let failed = |error| {
            Error::new(ErrorCode::Io, format!("could not write audit files into {directory}: {error}"))
        };
        let replaced = if *replaces { Replace::Differing } else { Replace::Nothing };
        audit_files::named(Path::new(directory), workspaces)
            .and_then(|into| audit_files::write(&into, files, replaced))
            .map_err(failed)
    }
}

impl Processes for LocalHost {
    fn run_checks(&self, job: &CheckJob<'_>, mark: &Id<Attempt>) -> Result<Vec<CheckSeen>> {
        // A configuration that cannot be read was refused before; the strictest mode is the safe answer here.
        let policy = self
            .door
            .policy(Path::new(job.directory))
            .unwrap_or_else(|_| Policy { sandbox: Some(SandboxMode::Enforce), ..Policy::default() });
        let sandbox = self.door.sandbox();
        let location = CheckLocation {
            launcher: &*self.launcher,
            workspace: Path::new(job.directory),
            index: &self.door.index(),
            environment: &self.door.environment(),
            author: job.author,
            task_env: job.env,
            scopes: job.scopes,
            wanted: match job.spec {
                Some(spec) => SandboxRequest::of(spec, policy.sandbox),
                None => SandboxRequest::plain(job.scopes, policy.sandbox, job.namespace),
            },
            sandbox: &sandbox,
            task: mark.as_str(),
        };
        let seen = run_all(job.checks, &location, mark).map_err(|short_of| too_short_of(short_of.as_str()));
        sandbox.forget(mark.as_str());
        seen
    }

    fn ask_program(&self, question: &ProgramQuestion, mark: &Id<Attempt>) -> Result<Vec<u8>> {
        let argv: Vec<OsString> = question.argv.iter().map(OsString::from).collect();
        let marker = Marker { attempt: mark.clone(), owner: self.launcher.identity() };
        let mut spec = LaunchSpec::new(argv, std::path::PathBuf::from("."), marker);
        spec.env = self.door.environment();
        let input = |value: &contract::json::Value| Stdin::Bytes(format!("{value}\n").into_bytes());
        spec.stdin = question.input.as_ref().map_or(Stdin::Closed, input);
        // Without it orphans of a killed supervisor are found by their marks alone; the work can go on.
        crate::supervisor::become_subreaper().ok();
        let name = question.argv.join(" ");
        let answered = ask(&*self.launcher, spec, question.timeout).map_err(|error| {
            let code = if matches!(error, RunError::Timeout(_)) { ErrorCode::Timeout } else { ErrorCode::Io };
            Error::new(code, format!("`{name}` {error}"))
        })?;
        let end = match answered.exit {
            ProcessExit::Code(0) => return Ok(answered.printed),
            ProcessExit::Code(code) => format!("exited with {code}"),
            ProcessExit::Signal(signal) => format!("was killed by signal {signal}"),
        };
        Err(Error::new(ErrorCode::Io, format!("`{name}` {end}; its output is not used")))
    }

    fn work_for(&self, store: &StoreFile) {
        self.launcher.work_for(store);
    }

    fn liveness(&self, owner: &Owner) -> Liveness {
        self.launcher.probe(owner)
    }

    fn settle(&self, owner: &Owner) -> Remains {
        self.launcher.settle(owner)
    }

    fn end_engine(&self, owner: &Owner) -> Remains {
        self.launcher.end_engine(owner)
    }

    fn writers_of(&self, store: &Path) -> Vec<Owner> {
        crate::supervisor::writers_of(store, self.launcher.store())
    }

    fn pid_here(&self, owner: &Owner) -> Option<u32> {
        self.launcher.pid_here(owner)
    }

    fn owner(&self) -> Owner {
        self.launcher.owner()
    }
}

impl Archive for LocalHost {
    fn snapshot_scopes(&self, attempts: &[AttemptId]) -> Result<Vec<Scope>> {
        self.door.snapshots().scopes(attempts).map_err(snapshot_error)
    }

    fn roll_back(&self, job: &RollbackJob<'_>) -> Result<Vec<FileResult>> {
        let RollbackJob { root, attempts, direction, is_preview, is_repeated, silent_since } = *job;
        let snapshots = self.door.snapshots();
        let recorded_at = attempts.first().and_then(|newest| snapshots.recorded_at(newest));
        let between = silent_since.zip(recorded_at).filter(|_| direction == Direction::Undo);
        let asked = snapshots::RestoreJob::new(Path::new(root), attempts, direction).repeated(is_repeated);
        let asked = asked.between(between.map(|(since, until)| Between { since, until }));
        let asked = if is_preview { asked.previewed() } else { asked };
        snapshots.roll_back(&self.door.index(), &asked).map_err(snapshot_error)
    }

    fn record_left(&self, unrecorded: &Unrecorded) -> Option<String> {
        let Unrecorded { attempt, task, run, name, workspace, at } = unrecorded;
        let root = Path::new(workspace);
        let subject = snapshots::SnapshotSubject { attempt, task, run, name, root, scopes: &[], at: *at };
        self.door.snapshots().record_left(&self.door.index(), &subject)
    }

    fn kept_snapshots(&self) -> Result<Vec<KeptSnapshot>> {
        self.door.snapshots().list().map_err(snapshot_error)
    }

    fn collect_snapshots(&self, collection: &Collection) -> Result<Collected> {
        self.door.snapshots().collect(collection).map_err(snapshot_error)
    }

    fn private_directories(&self) -> Vec<String> {
        self.door.sandbox().names()
    }

    fn forget_private(&self, task: &TaskId) {
        self.door.sandbox().forget(task.as_str());
    }

    fn transcripts(&self, task: &TaskId) -> Result<Vec<Transcript>> {
        Ok(transcript::of_task(&self.door.logs()?, task))
    }

    fn read_log(&self, file: &str) -> Result<Vec<LogPiece>> {
        let path = self.door.logs()?.join(file);
        let reader = LogReader::open(&path).map_err(|error| {
            Error::new(
                ErrorCode::NotFound,
                format!("the output of {} was not kept: {error}", file.split('.').next().unwrap_or(file)),
            )
        })?;
        let io = |error| Error::new(ErrorCode::Io, format!("could not read {}: {error}", path.display()));
        let piece = |piece: Piece| match piece {
            Piece::Output(LogStream::Stdout, bytes) => LogPiece::Printed(OutputStream::Stdout, bytes),
            Piece::Output(LogStream::Stderr, bytes) => LogPiece::Printed(OutputStream::Stderr, bytes),
            Piece::Dropped(bytes) => LogPiece::Dropped(bytes),
        };
        reader.map(|read| read.map(piece).map_err(io)).collect()
    }
}

impl Clones for LocalHost {
    fn worktrees(&self, mark: &Id<Attempt>) -> Result<Vec<KeptWorktree>> {
        let environment = self.door.environment();
        let runner = Runner { launcher: &*self.launcher, environment: &environment, mark: mark.clone() };
        let all = self.door.worktrees().list().map_err(worktree_error)?;
        let kept = all.into_iter().map(|clone| KeptWorktree {
            directory: clone.tree().to_string_lossy().into_owned(),
            standing: clone.standing(&runner),
            worktree: clone.record,
        });
        Ok(kept.collect())
    }

    fn worktree_leftovers(&self) -> Result<Vec<WorktreeLeftover>> {
        let left = self.door.worktrees().leftovers().map_err(worktree_error)?;
        let shown = |(directory, reason): (PathBuf, String)| WorktreeLeftover {
            directory: directory.to_string_lossy().into_owned(),
            reason,
        };
        Ok(left.into_iter().map(shown).collect())
    }

    fn remove_worktree_leftovers(&self) {
        self.door.worktrees().empty_trash();
    }

    fn remove_worktree(&self, record: &WorktreeRecord, mark: &Id<Attempt>) -> Result<bool> {
        let environment = self.door.environment();
        let runner = Runner { launcher: &*self.launcher, environment: &environment, mark: mark.clone() };
        let clones = self.door.worktrees();
        let all = clones.list().map_err(worktree_error)?;
        match all.iter().find(|clone| clone.record.task_id == record.task_id) {
            Some(clone) => clones.remove(&runner, clone).map_err(worktree_error),
            None => Ok(false),
        }
    }

    fn worktree_loss(&self, record: &WorktreeRecord, mark: &Id<Attempt>) -> Result<(Standing, Loss)> {
        let environment = self.door.environment();
        let runner = Runner { launcher: &*self.launcher, environment: &environment, mark: mark.clone() };
        let clones = self.door.worktrees();
        let clone = clones.of_task(record).map_err(worktree_error)?;
        clones.loss(&runner, &clone).map_err(worktree_error)
    }

    fn discard_worktree(
        &self,
        record: &WorktreeRecord,
        seen: (&Standing, &Loss),
        mark: &Id<Attempt>,
        unused: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<String>> {
        let environment = self.door.environment();
        let runner = Runner { launcher: &*self.launcher, environment: &environment, mark: mark.clone() };
        let clones = self.door.worktrees();
        let clone = clones.of_task(record).map_err(worktree_error)?;
        let unused = || unused().map_err(|error| worktree::WorktreeError::Refused(Box::new(error)));
        let bundle = clones.discard_with_work(&runner, &clone, seen, unused).map_err(worktree_error)?;
        Ok(bundle.map(|path| path.to_string_lossy().into_owned()))
    }

    fn bundle_of(&self, record: &WorktreeRecord, mark: &Id<Attempt>) -> Result<Option<String>> {
        let bundle = self.door.worktrees().bundle_of(record, mark).map_err(worktree_error)?;
        Ok(bundle.map(|path| path.to_string_lossy().into_owned()))
    }
}

impl EngineAccess for LocalHost {
    fn policy(&self, directory: &str) -> Result<Policy> {
        self.door.policy(Path::new(directory))
    }

    fn project_commands(&self, directory: &str) -> Result<Option<ProjectCommands>> {
        self.door.project_commands(Path::new(directory))
    }

    fn executors(&self, directory: &str) -> Result<Executors> {
        self.door.executors(Path::new(directory))
    }

    fn installation(&self, store: &Path) -> Installation {
        self.door.installation(store)
    }

    fn prepare_to_work(&self, workspace: &str, how: &HowToWork) -> Result<()> {
        self.door.settings(Path::new(workspace), how).map(drop)
    }

    fn work(&self, cx: &mut Context, run: &RunId, how: &HowToWork) -> Result<WorkEnd> {
        let state = ops::run::show::state(cx, run)?;
        let settings = self.door.settings(Path::new(&state.asked.workspace), how)?;
        let tasks = ops::run::show::tasks(cx, run)?;
        let mut observer = self.door.observer(&state, &tasks);
        let ending = crate::drive(cx, &settings, run, &mut *observer)?;
        if settings.archive.snapshots.is_collection_due(cx.now().at) {
            // While others use the snapshots, they stay until a later run has ended.
            ops::snapshots::gc::collect(cx, false).ok();
        }
        Ok(match ending {
            DriveEnd::Ended(_) => WorkEnd::Ended,
            DriveEnd::Stopped(_) => WorkEnd::Stopped,
            DriveEnd::Interrupted { signal, .. } => WorkEnd::Interrupted(signal),
        })
    }
}

impl Terminal for LocalHost {
    fn ask_person(&self, action: &Action) -> Result<String> {
        self.door.ask_person(action)
    }
}

/// What a failure of the snapshots means to a caller.
fn snapshot_error(fault: snapshots::SnapshotError) -> Error {
    use snapshots::SnapshotError;
    let message = crate::launcher::with_causes(&fault);
    match fault {
        SnapshotError::Nowhere | SnapshotError::Missing => Error::new(ErrorCode::NotFound, message).hint(
            "a snapshot is taken before each attempt of a task with `writes`; `writ snapshots list` shows those that are kept",
        ),
        SnapshotError::EndUnknown(_) => Error::new(ErrorCode::WrongState, message)
            .hint("continue the run, which looks at what the attempt left: `writ run --continue RUN`"),
        SnapshotError::Damaged(_) => Error::new(ErrorCode::Corrupt, message).hint("restore the files from git or a backup"),
        SnapshotError::OtherVersion(_) => Error::new(ErrorCode::Corrupt, message).hint("use the version of writ that wrote it"),
        SnapshotError::InUse => Error::new(ErrorCode::Busy, message).hint("try again"),
        SnapshotError::Partial(_) => Error::new(ErrorCode::TooLarge, message).hint("name smaller directories in `writes`"),
        SnapshotError::Repository(_) => Error::new(ErrorCode::InvalidInput, message).hint("name other paths in `writes`"),
        SnapshotError::Stopped => Error::new(ErrorCode::Bug, message),
        SnapshotError::Io { .. } => Error::new(ErrorCode::Io, message),
    }
}

/// What a failure of the clones means to a caller.
fn worktree_error(fault: worktree::WorktreeError) -> Error {
    let message = crate::launcher::with_causes(&fault);
    match fault {
        worktree::WorktreeError::Busy(_) => Error::new(ErrorCode::Busy, message).hint("try again"),
        worktree::WorktreeError::Damaged(_) => Error::new(ErrorCode::Corrupt, message),
        worktree::WorktreeError::Gone(_) => Error::new(ErrorCode::NotFound, message),
        worktree::WorktreeError::Changed => Error::new(ErrorCode::VersionConflict, message)
            .hint("repeat the command; it shows what is there now"),
        worktree::WorktreeError::Refused(error) => *error,
        worktree::WorktreeError::Underway(_)
        | worktree::WorktreeError::BeingMade
        | worktree::WorktreeError::InUse => Error::new(ErrorCode::WrongState, message),
        worktree::WorktreeError::TooManyDiscarded(_) => Error::new(ErrorCode::TooLarge, message),
        _ => Error::new(ErrorCode::Io, message),
    }
}

fn always(watched: &WatchedScopes) -> Vec<Scope> {
    watched.scopes.iter().chain(&watched.forbidden).cloned().collect()
}

/// Why a comparison does not show every change.
pub(crate) fn not_seen(before: Option<&Look>, after: &Look) -> Option<String> {
    let Some(before) = before else {
        let missing = after.partial().map_or_else(
            || "what it was before the task is not kept".to_owned(),
            |partial| partial.to_string(),
        );
        return Some(format!("changes outside the scope were not seen: {missing}"));
    };
    let partial = before.partial().or(after.partial())?;
    Some(format!("not all changes outside the scope were seen: {partial}"))
}

/// A path without links: the part that exists under its real name, and the rest behind it.
fn real_name(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let name = match existing {
        Some((part, real)) => path.strip_prefix(part).map_or(real.clone(), |rest| real.join(rest)),
        None => path.to_owned(),
    };
    // Joining nothing leaves a separator at the end.
    name.components().collect()
}

/// Why a worklog's file could not be written.
enum WorklogFileError {
    Ops(Error),
    Io(std::io::Error),
}

impl From<std::io::Error> for WorklogFileError {
    fn from(error: std::io::Error) -> Self {
        WorklogFileError::Io(error)
    }
}
