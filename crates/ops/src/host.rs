//! What a verb may ask of the world, and what it has been told so far.
//!
//! A verb never asks while a transaction is open: others would wait for the disk or for a process. It judges what it
//! can, looks at the world, and decides again on what is true in the transaction that writes. Transactions see the
//! world through a [`HostView`]: where something is missing in it, the transaction is given up, the host is asked, and
//! the work starts again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use contract::domain::attempt::{AttemptId, Taken};
use contract::domain::check::{Check, CheckSeen};
use contract::domain::code::ErrorCode;
use contract::domain::confinement::Namespace;
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::{Attempt, Id};
use contract::domain::pins::Digests;
use contract::domain::plan::PlanTask;
use contract::domain::policy::Policy;
use contract::domain::principal::Action;
use contract::domain::process::{Remains, StoreFile};
use contract::domain::retention::Retention;
use contract::domain::rollback::{Direction, FileResult};
use contract::domain::run::{Owner, RunId};
use contract::domain::scope::{Links, Scope};
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use contract::domain::trust::ProjectCommands;
use contract::domain::worktree::{Loss, Standing, WorktreeRecord};
use contract::intake::Executors;
use contract::json::{Value, json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::run::Liveness;
use crate::run::logs::OutputStream;

/// The error of a call whose checks could not be started: that shows nothing about the task.
pub fn too_short_of(what: &str) -> Error {
    let message = format!("the checks were not run: this machine is short of {what}");
    Error::new(ErrorCode::Busy, message)
        .details(json!({"rule": "shortage"}))
        .hint("nothing was written; repeat the call with the same request id when it has more")
}

/// Files of an audit trail, and where they are written.
pub struct AuditBatch<'b> {
    /// It is made where it is missing.
    pub directory: &'b str,
    /// Where tasks may have made links, which are not followed.
    pub workspaces: &'b [String],
    /// Names and bytes.
    pub files: &'b [(String, Vec<u8>)],
    /// Whether a file that differs is replaced.
    pub replaces: bool,
}

/// Everything a verb may ask of the machine it runs on. The engine implements it; a door only hands it over.
pub trait Host: WorkspaceFiles + Processes + Archive + Clones + EngineAccess + Terminal {}

impl<T: WorkspaceFiles + Processes + Archive + Clones + EngineAccess + Terminal> Host for T {}

/// The files of workspaces: paths, digests and looks.
pub trait WorkspaceFiles {
    /// The symbolic links on the way to these paths, seen from the root.
    fn links(&self, root: &str, paths: &[&str]) -> Links;
    /// Whether the file system treats names that differ only in case as one.
    fn folds_case(&self, root: &str) -> bool;
    /// Whether there is a directory at this path, seen from the root.
    fn is_directory(&self, root: &str, path: &str) -> bool;
    /// The directory's real name, with links resolved, also while its last parts do not exist.
    fn real_directory(&self, path: &str) -> String;
    /// Makes a directory and those above it; nothing where it exists.
    fn make_directory(&self, path: &str) -> Result<()>;
    /// Digests of the files in these scopes.
    fn snapshot(&self, root: &str, scopes: &[Scope]) -> Snapshot;
    /// The same for several lists of scopes, from one look at the workspace.
    fn snapshots(&self, root: &str, each: &[&[Scope]]) -> Vec<Snapshot>;
    /// Looks at the whole workspace before a worker begins and keeps it under a name, unless one is kept there. Returns
    /// the digests of the files in the scopes.
    fn begin_watch(&self, root: &str, name: &str, watched: &WatchedScopes) -> Snapshot;
    /// Looks at the workspace again, by the rules of the look that was kept.
    fn end_watch(&self, root: &str, name: &str, watched: &WatchedScopes) -> WatchEnd;
    /// Removes what was kept under a name.
    fn forget_watch(&self, root: &str, name: &str);
    /// Digests of the files and directories at these paths, seen from the root; `contract::domain::pins` says what
    /// stands where there is none.
    fn digests(&self, root: &str, paths: &[&str]) -> Digests;
    /// Files that git says differ from a revision, untracked ones included.
    fn changed_in_git(&self, root: &str, revision: &str, mark: &Id<Attempt>) -> Result<Vec<String>>;
    /// Brings a worklog's file to what `wanted` gives. `wanted` is called while nobody else writes the file.
    fn write_worklog(
        &self,
        root: &str,
        path: &str,
        wanted: &mut dyn FnMut() -> Result<Vec<u8>>,
    ) -> Result<WorklogWrite>;
    /// The bytes of a worklog's file; `None` where there is no file.
    fn read_worklog(&self, root: &str, path: &str) -> Result<Option<Vec<u8>>>;
    /// Writes files of an audit trail. Says how many.
    fn write_audit(&self, batch: &AuditBatch<'_>) -> Result<usize>;
}

/// Processes and who is alive.
pub trait Processes {
    /// Runs checks one after the other and stops at the first that fails.
    fn run_checks(&self, job: &CheckJob<'_>, mark: &Id<Attempt>) -> Result<Vec<CheckSeen>>;
    /// Runs a program of the caller's with this input, and returns what it printed.
    fn ask_program(&self, question: &ProgramQuestion, mark: &Id<Attempt>) -> Result<Vec<u8>>;
    /// Names the store that calls are about, which tells its processes from those of a copy.
    fn work_for(&self, _store: &StoreFile) {}
    /// Whether the process that owns a run or holds a claim is alive.
    fn liveness(&self, owner: &Owner) -> Liveness;
    /// Ends what a dead engine left behind, and says what is left of it. Nothing of a living one is touched.
    fn settle(&self, owner: &Owner) -> Remains;
    /// Ends an engine and everything that it started, where it can be seen, and says what is left of it.
    fn end_engine(&self, owner: &Owner) -> Remains;
    /// Living processes of writ, other than this one, that started something and have this store open.
    fn writers_of(&self, _store: &Path) -> Vec<Owner> {
        Vec::new()
    }
    /// The pid by which a process is known here: in a namespace it has another one. `None` where it is not there or
    /// cannot be seen.
    fn pid_here(&self, owner: &Owner) -> Option<u32> {
        Some(owner.pid)
    }
    /// This process, as the store records the owner of a run or the holder of a lock.
    fn owner(&self) -> Owner;
}

/// What is kept of attempts: snapshots, logs and private directories.
pub trait Archive {
    /// The scopes of these attempts, as their snapshots name them. An error if none of them has one.
    fn snapshot_scopes(&self, _: &[AttemptId]) -> Result<Vec<Scope>> {
        Err(no_snapshots())
    }
    /// Takes back what attempts changed, or reapplies it, or says what would be done. The caller holds the locks.
    fn roll_back(&self, _: &RollbackJob<'_>) -> Result<Vec<FileResult>> {
        Err(no_snapshots())
    }
    /// Records what an attempt left whose engine died. Says why that was not possible.
    fn record_left(&self, _: &Unrecorded) -> Option<String> {
        None
    }
    /// Every snapshot that is kept, oldest first.
    fn kept_snapshots(&self) -> Result<Vec<KeptSnapshot>> {
        Err(no_snapshots())
    }
    /// Removes old snapshots, and the contents that only they had.
    fn collect_snapshots(&self, _: &Collection) -> Result<Collected> {
        Err(no_snapshots())
    }
    /// The private directories of sandboxed tasks that there are, each named by the end of its task's id.
    fn private_directories(&self) -> Vec<String> {
        Vec::new()
    }
    /// Removes the private directories of a task.
    fn forget_private(&self, _: &TaskId) {}
    /// The logs of attempts at a task outside runs, oldest first.
    fn transcripts(&self, task: &TaskId) -> Result<Vec<Transcript>>;
    /// What an attempt printed, as far as it was kept.
    fn read_log(&self, file: &str) -> Result<Vec<LogPiece>>;
}

/// The clones in which isolated tasks work.
pub trait Clones {
    /// Every clone in which a task works or worked, compared with its workspace.
    fn worktrees(&self, _: &Id<Attempt>) -> Result<Vec<KeptWorktree>> {
        Ok(Vec::new())
    }
    /// Directories among the clones that are none: without a readable record, or left of a removal.
    fn worktree_leftovers(&self) -> Result<Vec<WorktreeLeftover>> {
        Ok(Vec::new())
    }
    /// Tries again to remove what removals left. What stays is listed.
    fn remove_worktree_leftovers(&self) {}
    /// Removes a clone, unless it has work that its workspace has not. Says whether it did.
    fn remove_worktree(&self, _: &WorktreeRecord, _: &Id<Attempt>) -> Result<bool> {
        Ok(false)
    }
    /// What would be lost with a clone. Refused while somebody makes or merges it.
    fn worktree_loss(&self, record: &WorktreeRecord, _: &Id<Attempt>) -> Result<(Standing, Loss)> {
        Err(no_clone(&record.name))
    }
    /// Takes a clone away with its work, if that is still as it was seen, and deletes it. Returns the bundle in which the
    /// work is kept. `unused` refuses a clone that somebody works in; it is called while nobody can enter it.
    fn discard_worktree(
        &self,
        record: &WorktreeRecord,
        _: (&Standing, &Loss),
        _: &Id<Attempt>,
        _: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<String>> {
        Err(no_clone(&record.name))
    }
    /// The bundle of a clone that was discarded under this mark.
    fn bundle_of(&self, _: &WorktreeRecord, _: &Id<Attempt>) -> Result<Option<String>> {
        Ok(None)
    }
}

/// How writ is set up for a directory, and the engine that works runs.
pub trait EngineAccess {
    /// The rules in force in this directory.
    fn policy(&self, directory: &str) -> Result<Policy>;
    /// The commands in the `.writ/` of the nearest project at or above this directory.
    fn project_commands(&self, directory: &str) -> Result<Option<ProjectCommands>>;
    /// Which programs act for agents, as configured for documents of this directory.
    fn executors(&self, directory: &str) -> Result<Executors>;
    /// How this installation is set up around the store at this path.
    fn installation(&self, store: &Path) -> Installation;
    /// Checks, before a run is accepted, that it can be worked here. From now on signals stop the run, not the process.
    fn prepare_to_work(&self, workspace: &str, how: &HowToWork) -> Result<()>;
    /// Works a run until it ends, stops or is interrupted, or waits for the engine that works it.
    fn work(&self, cx: &mut Context, run: &RunId, how: &HowToWork) -> Result<WorkEnd>;
}

/// The person at the terminal.
pub trait Terminal {
    /// Shows an action to the person at the terminal, with the digits that confirm it, and returns what they typed. An
    /// error where there is no terminal, or where an agent is asking.
    fn ask_person(&self, action: &Action) -> Result<String>;
}

fn no_snapshots() -> Error {
    Error::new(ErrorCode::NotFound, "no snapshots are kept here")
}

fn no_clone(name: &str) -> Error {
    Error::new(ErrorCode::NotFound, format!("there is no clone of `{name}`"))
}

/// A rollback of the files of some attempts.
#[derive(Debug, Clone, Copy)]
pub struct RollbackJob<'j> {
    pub root: &'j str,
    /// Newest first.
    pub attempts: &'j [AttemptId],
    pub direction: Direction,
    /// Only says what would be done.
    pub is_preview: bool,
    /// It was begun before and did not end.
    pub is_repeated: bool,
    /// From when on nothing of writ's wrote in the scope of the newest attempt, if its engine died: what was changed between
    /// that time and the record of what the attempt left stays.
    pub silent_since: Option<Timestamp>,
}

/// An attempt whose engine died before it recorded what the attempt left.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unrecorded {
    pub attempt: AttemptId,
    pub task: TaskId,
    pub run: RunId,
    /// The task's id in its plan.
    pub name: String,
    pub workspace: String,
    pub at: Timestamp,
}

/// A snapshot that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptSnapshot {
    pub attempt_id: AttemptId,
    pub task_id: TaskId,
    pub run_id: RunId,
    /// The task's id in its plan.
    pub name: String,
    pub workspace: String,
    pub scopes: Vec<Scope>,
    pub at: Timestamp,
    #[serde(flatten)]
    pub taken: Taken,
    /// Whether it is known what the attempt left.
    pub has_end: bool,
}

/// Which snapshots are removed.
#[derive(Debug, Clone)]
pub struct Collection {
    /// Attempts whose snapshots were listed. Others are newer than the question who needs them, and stay.
    pub listed: BTreeSet<AttemptId>,
    /// Attempts whose snapshots stay, however old they are.
    pub held: BTreeSet<AttemptId>,
    /// Older ones go.
    pub cutoff: Timestamp,
    /// The oldest go until the rest takes no more than this.
    pub bytes_max: u64,
    /// Only says what would be removed.
    pub is_preview: bool,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Collected {
    pub snapshots: u64,
    /// Contents that no other snapshot has.
    pub contents: u64,
    pub before_bytes: u64,
    pub left_bytes: u64,
    /// Snapshots that stay because their tasks have not ended, or a rollback has not.
    pub held: u64,
}

/// A clone of a workspace in which a task works or worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptWorktree {
    pub worktree: WorktreeRecord,
    /// Where its files are.
    pub directory: String,
    pub standing: Standing,
}

/// A directory among the clones that is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeLeftover {
    pub directory: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What is looked at while a worker works, whatever the workspace ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchedScopes {
    pub scopes: Vec<Scope>,
    pub forbidden: Vec<Scope>,
    /// Not looked at.
    pub scratch: Vec<Scope>,
}

/// A workspace after a worker has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchEnd {
    /// The digests of the files in the scopes.
    pub files: Snapshot,
    /// Every path of the workspace that changed.
    pub changed: Vec<String>,
    /// Why not all changes are known.
    pub not_seen: Option<String>,
}

/// Checks, and where they run.
#[derive(Debug, Clone, Copy)]
pub struct CheckJob<'j> {
    pub directory: &'j str,
    pub checks: &'j [Check],
    /// The environment of their author; `None` if it was not stored.
    pub author: Option<&'j AuthorEnvironment>,
    /// What the task's author adds to the environment.
    pub env: &'j BTreeMap<String, String>,
    /// What the task may write; empty for the whole directory.
    pub scopes: &'j [Scope],
    /// Whether they get a pid namespace of their own.
    pub namespace: Namespace,
    /// Their task in a plan, which also says how they are confined.
    pub spec: Option<&'j PlanTask>,
}

/// What a machine knows about an installation besides what is in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Installation {
    /// What decided where the store is: a flag, a variable or the default.
    pub store_source: String,
    /// The store's file; `None` where there is none.
    pub store_bytes: Option<u64>,
    /// Which agent programs call writ.
    pub hooks: Value,
    pub retention: Retention,
    /// Something worth knowing.
    pub diagnostics: Vec<Diagnostic>,
}

/// One thing that deserves attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// `info`, `warning` or `error`.
    pub level: String,
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_action: Option<String>,
}

/// What was done to a worklog's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorklogWrite {
    /// It was complete already.
    Unchanged,
    /// The missing lines were appended.
    Appended,
    /// It held something else, which was moved to `set_aside`; the file is new.
    Replaced { set_aside: String },
}

/// A program to run, and what it reads.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramQuestion {
    pub argv: Vec<String>,
    pub input: Option<Value>,
    pub timeout: std::time::Duration,
}

/// How a run is worked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HowToWork {
    /// Run parked tasks again although the plan does not call that safe.
    pub rerun_parked: bool,
    /// How long a task waits for locks of other runs; the host's default where it is `None`.
    pub lock_wait: Option<std::time::Duration>,
    /// How long a task waits for a reset time of its provider; the host's default where it is `None`.
    pub limit_wait: Option<std::time::Duration>,
    /// Where the document was found: the policy of that project holds too.
    pub directory: Option<String>,
}

/// The log of an attempt outside any run: of a loop or a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    pub attempt: AttemptId,
    /// Of the task's transcripts, from 1.
    pub number: i64,
    /// The name of its file among the logs.
    pub file: String,
}

/// A part of an attempt's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPiece {
    Printed(OutputStream, Vec<u8>),
    /// So many bytes were not kept.
    Dropped(u64),
}

/// Why the host stopped working a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    /// The run has its result.
    Ended,
    /// It waits for a person, or to be continued.
    Stopped,
    /// This process was told to stop by a signal. The run can be continued.
    Interrupted(i32),
}

/// One thing that a transaction wants to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    Links { root: String, path: String },
    FoldsCase { root: String },
    IsDirectory { root: String, path: String },
    Liveness(Owner),
    Remains(Owner),
    Left(Unrecorded),
}

/// What the host has answered so far.
#[derive(Debug, Default)]
pub struct HostView {
    links: BTreeMap<String, Links>,
    asked_links: BTreeSet<(String, String)>,
    folds_case: BTreeMap<String, bool>,
    directories: BTreeMap<(String, String), bool>,
    owners: BTreeMap<Owner, Liveness>,
    /// With the pid by which the engine is known here.
    remains: BTreeMap<Owner, (Remains, Option<u32>)>,
    left: BTreeMap<AttemptId, Option<String>>,
    missing: RefCell<BTreeSet<Question>>,
}

impl HostView {
    pub fn links(&self, root: &str, paths: &[&str]) -> Result<&Links> {
        static NONE: Links = Links::new();
        let unknown: Vec<Question> = paths
            .iter()
            .map(|path| (root.to_owned(), (*path).to_owned()))
            .filter(|asked| !self.asked_links.contains(asked))
            .map(|(root, path)| Question::Links { root, path })
            .collect();
        if unknown.is_empty() { Ok(self.links.get(root).unwrap_or(&NONE)) } else { Err(self.want(unknown)) }
    }

    pub fn folds_case(&self, root: &str) -> Result<bool> {
        let known = self.folds_case.get(root).copied();
        known.ok_or_else(|| self.want([Question::FoldsCase { root: root.to_owned() }]))
    }

    pub fn is_directory(&self, root: &str, path: &str) -> Result<bool> {
        let asked = (root.to_owned(), path.to_owned());
        let known = self.directories.get(&asked).copied();
        known.ok_or_else(|| self.want([Question::IsDirectory { root: asked.0, path: asked.1 }]))
    }

    pub fn liveness(&self, owner: &Owner) -> Result<Liveness> {
        let known = self.owners.get(owner).copied();
        known.ok_or_else(|| self.want([Question::Liveness(owner.clone())]))
    }

    /// What is left of an engine. The host ends what a dead one left behind before it answers.
    pub fn remains(&self, owner: &Owner) -> Result<Remains> {
        let known = self.remains.get(owner).map(|(remains, _)| *remains);
        known.ok_or_else(|| self.want([Question::Remains(owner.clone())]))
    }

    /// The pid by which an engine is known here, where [`HostView::remains`] was asked; else its own.
    pub fn pid_here(&self, owner: &Owner) -> u32 {
        self.remains.get(owner).and_then(|(_, pid)| *pid).unwrap_or(owner.pid)
    }

    /// Why it could not be recorded what an attempt left. The host records it before it answers.
    pub fn left(&self, unrecorded: Unrecorded) -> Result<Option<&str>> {
        match self.left.get(&unrecorded.attempt) {
            Some(known) => Ok(known.as_deref()),
            None => Err(self.want([Question::Left(unrecorded)])),
        }
    }

    /// Remembers what to ask. The error only ends the transaction; callers of the verb never see it.
    fn want(&self, questions: impl IntoIterator<Item = Question>) -> Error {
        self.missing.borrow_mut().extend(questions);
        Error::new(ErrorCode::Bug, "the host was not asked before the transaction")
    }

    /// Whether a transaction found something missing.
    pub(crate) fn is_incomplete(&self) -> bool {
        !self.missing.borrow().is_empty()
    }

    /// Asks the host everything that was missing.
    pub(crate) fn look(&mut self, host: &dyn Host) {
        for question in self.missing.take() {
            match question {
                Question::Links { root, path } => {
                    let found = host.links(&root, &[&path]);
                    self.links.entry(root.clone()).or_default().extend(found);
                    self.asked_links.insert((root, path));
                }
                Question::FoldsCase { root } => {
                    let folds = host.folds_case(&root);
                    self.folds_case.insert(root, folds);
                }
                Question::IsDirectory { root, path } => {
                    let is = host.is_directory(&root, &path);
                    self.directories.insert((root, path), is);
                }
                Question::Liveness(owner) => {
                    let liveness = host.liveness(&owner);
                    self.owners.insert(owner, liveness);
                }
                Question::Left(unrecorded) => {
                    let left = host.record_left(&unrecorded);
                    self.left.insert(unrecorded.attempt, left);
                }
                Question::Remains(owner) => {
                    let remains = (host.settle(&owner), host.pid_here(&owner));
                    self.remains.insert(owner, remains);
                }
            }
        }
    }
}
