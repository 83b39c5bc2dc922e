//! A host that answers from what a test wrote down, and fails the test when it is asked inside a transaction.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use contract::domain::attempt::AttemptId;
use contract::domain::check::{Check, CheckSeen};
use contract::domain::crew::snapshot::Snapshot;
use contract::domain::id::{Attempt, Id};
use contract::domain::pins::{ABSENT, Digests};
use contract::domain::policy::Policy;
use contract::domain::principal::Action;
use contract::domain::process::Remains;
use contract::domain::retention::Retention;
use contract::domain::rollback::{FileAction, FileResult, FileStatus};
use contract::domain::run::{Owner, RunId};
use contract::domain::scope::{Links, Scope};
use contract::domain::task::TaskId;
use contract::domain::trust::ProjectCommands;
use contract::domain::worktree::{Loss, Standing, WorktreeRecord};
use contract::intake::Executors;
use contract::plan::upgrade::Upgrades;
use ops::context::SharedClock;
use ops::host::{
    Archive, AuditBatch, CheckJob, Clones, Collected, Collection, EngineAccess, HowToWork, Installation,
    KeptSnapshot, KeptWorktree, LogPiece, Processes, ProgramQuestion, RollbackJob, Terminal, Transcript,
    WatchEnd, WatchedScopes, WorkEnd, WorklogWrite, WorkspaceFiles,
};
use ops::run::Liveness;
use ops::run::logs::OutputStream;
use ops::{Context, Result};
use store::OpenTransactions;
use testkit::SeededIds;

/// What the test's machine looks like.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own that a test sets")]
pub(crate) struct Paper {
    pub(crate) links: Links,
    pub(crate) fold: bool,
    pub(crate) directories: Vec<String>,
    /// What checks show; where it is `None`, every check passes.
    pub(crate) checks: Option<Vec<CheckSeen>>,
    /// No process can be started.
    pub(crate) is_short: bool,
    pub(crate) files: Snapshot,
    pub(crate) worklog: Option<Vec<u8>>,
    pub(crate) changed: Vec<String>,
    /// What changed since a watch began, and why not all of it is known.
    pub(crate) outside: Vec<String>,
    pub(crate) not_seen: Option<String>,
    pub(crate) policy: Policy,
    pub(crate) printed: Vec<u8>,
    /// The commands of the project that is asked about.
    pub(crate) project: Option<ProjectCommands>,
    pub(crate) person_says_no: bool,
    /// The process ends as soon as a clone is gone.
    pub(crate) dies_with_clone: bool,
    /// What became of each path in a rollback; where it is empty, one path was restored.
    pub(crate) rolled: Vec<FileResult>,
    /// Digests of files that checks use; others do not exist.
    pub(crate) pinned: Digests,
    /// Models for escalated tasks.
    pub(crate) upgrades: Upgrades,
    /// The only clone.
    pub(crate) clone: Option<WorktreeRecord>,
    /// The signal that interrupts the engine of a run.
    pub(crate) signal: Option<i32>,
}

pub(crate) struct TestHost {
    pub(crate) paper: RefCell<Paper>,
    pub(crate) liveness: Cell<Liveness>,
    /// Processes that differ from the others.
    pub(crate) processes: RefCell<BTreeMap<u32, Liveness>>,
    /// This process.
    pub(crate) process: Cell<u32>,
    open: RefCell<OpenTransactions>,
    asked: Cell<u32>,
    /// What a person was asked last.
    pub(crate) question: RefCell<String>,
    /// Where checks were run last.
    pub(crate) checked_in: RefCell<Option<String>>,
    /// What happens in the world the next time the host is asked.
    pub(crate) meanwhile: RefCell<Option<Box<dyn FnOnce()>>>,
    /// What happens while a person thinks about a question.
    pub(crate) while_asking: RefCell<Option<Box<dyn FnOnce()>>>,
    /// Happens before a clone is discarded.
    pub(crate) while_discarding: RefCell<Option<Box<dyn FnOnce()>>>,
    /// The engines that were ended.
    pub(crate) ended: RefCell<Vec<u32>>,
    /// The process ends when the host is asked for this.
    pub(crate) stop_at: Cell<Option<&'static str>>,
}

impl TestHost {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self {
            paper: RefCell::default(),
            liveness: Cell::new(Liveness::Dead),
            processes: RefCell::default(),
            process: Cell::new(9),
            open: RefCell::default(),
            asked: Cell::new(0),
            question: RefCell::default(),
            checked_in: RefCell::default(),
            meanwhile: RefCell::default(),
            while_asking: RefCell::default(),
            while_discarding: RefCell::default(),
            ended: RefCell::default(),
            stop_at: Cell::default(),
        })
    }

    /// A context on this host. From here on the host knows when a transaction is open.
    pub(crate) fn open(self: &Rc<Self>, path: &Path, clock: SharedClock, seed: u64) -> Context {
        let cx = Context::open(path, clock, Box::new(SeededIds::new(seed)), self.clone()).unwrap();
        *self.open.borrow_mut() = cx.open_transactions();
        cx
    }

    /// How often it was asked anything.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.get()
    }

    fn note(&self, what: &str) {
        self.asked.set(self.asked.get() + 1);
        assert_eq!(self.open.borrow().count(), 0, "the host was asked for {what} inside a transaction");
        if self.stop_at.get() == Some(what) {
            self.stop_at.set(None);
            panic!("the process ends here");
        }
        if let Some(happens) = self.meanwhile.take() {
            happens();
        }
    }
}

pub(crate) fn passed(check: &Check) -> CheckSeen {
    CheckSeen {
        command: check.command.clone(),
        expects: check.expects,
        passed: true,
        exit_code: Some(0),
        output_digest: "sha256:0".to_owned(),
        output_tail: String::new(),
        problem: None,
        ran: None,
        tolerated: false,
    }
}

impl WorkspaceFiles for TestHost {
    fn links(&self, _: &str, _: &[&str]) -> Links {
        self.note("links");
        self.paper.borrow().links.clone()
    }

    fn folds_case(&self, _: &str) -> bool {
        self.note("case folding");
        self.paper.borrow().fold
    }

    fn is_directory(&self, _: &str, path: &str) -> bool {
        self.note("a directory");
        // The workspace itself is always there.
        path == "." || self.paper.borrow().directories.iter().any(|directory| directory == path)
    }

    fn real_directory(&self, path: &str) -> String {
        self.note("a real name");
        path.to_owned()
    }

    fn make_directory(&self, _: &str) -> Result<()> {
        self.note("a new directory");
        Ok(())
    }

    fn snapshot(&self, _: &str, _: &[Scope]) -> Snapshot {
        self.note("a snapshot");
        self.paper.borrow().files.clone()
    }

    fn snapshots(&self, _: &str, each: &[&[Scope]]) -> Vec<Snapshot> {
        self.note("snapshots");
        each.iter().map(|_| self.paper.borrow().files.clone()).collect()
    }

    fn begin_watch(&self, root: &str, _: &str, watched: &WatchedScopes) -> Snapshot {
        self.snapshot(root, &watched.scopes)
    }

    fn end_watch(&self, root: &str, _: &str, watched: &WatchedScopes) -> WatchEnd {
        let files = self.snapshot(root, &watched.scopes);
        let paper = self.paper.borrow();
        WatchEnd { files, changed: paper.outside.clone(), not_seen: paper.not_seen.clone() }
    }

    fn forget_watch(&self, _: &str, _: &str) {}

    fn digests(&self, _: &str, paths: &[&str]) -> Digests {
        self.note("digests");
        let files = self.paper.borrow().pinned.clone();
        let digest = |path: &str| files.get(path).cloned().unwrap_or_else(|| ABSENT.to_owned());
        paths.iter().map(|path| ((*path).to_owned(), digest(path))).collect()
    }

    fn changed_in_git(&self, _: &str, _: &str, _: &Id<Attempt>) -> Result<Vec<String>> {
        self.note("changes in git");
        Ok(self.paper.borrow().changed.clone())
    }

    fn write_worklog(
        &self,
        _: &str,
        _: &str,
        wanted: &mut dyn FnMut() -> Result<Vec<u8>>,
    ) -> Result<WorklogWrite> {
        self.note("a worklog to be written");
        let bytes = wanted()?;
        self.paper.borrow_mut().worklog = Some(bytes);
        Ok(WorklogWrite::Appended)
    }

    fn read_worklog(&self, _: &str, _: &str) -> Result<Option<Vec<u8>>> {
        self.note("a worklog");
        Ok(self.paper.borrow().worklog.clone())
    }

    fn write_audit(&self, batch: &AuditBatch<'_>) -> Result<usize> {
        self.note("audit files to be written");
        Ok(batch.files.len())
    }
}

impl Processes for TestHost {
    fn run_checks(&self, job: &CheckJob<'_>, _: &Id<Attempt>) -> Result<Vec<CheckSeen>> {
        self.note("checks");
        self.checked_in.replace(Some(job.directory.to_owned()));
        if self.paper.borrow().is_short {
            return Err(ops::host::too_short_of("free processes"));
        }
        let given = self.paper.borrow().checks.clone();
        Ok(given.unwrap_or_else(|| job.checks.iter().map(passed).collect()))
    }

    fn ask_program(&self, _: &ProgramQuestion, _: &Id<Attempt>) -> Result<Vec<u8>> {
        self.note("a program");
        Ok(self.paper.borrow().printed.clone())
    }

    fn liveness(&self, owner: &Owner) -> Liveness {
        self.note("a process");
        self.processes.borrow().get(&owner.pid).copied().unwrap_or(self.liveness.get())
    }

    fn settle(&self, owner: &Owner) -> Remains {
        match self.liveness(owner) {
            Liveness::Alive => Remains::Running,
            Liveness::Dead => Remains::Gone,
            Liveness::Unseen => Remains::Unseen,
        }
    }

    fn end_engine(&self, owner: &Owner) -> Remains {
        self.ended.borrow_mut().push(owner.pid);
        match self.liveness(owner) {
            Liveness::Alive | Liveness::Dead => Remains::Gone,
            Liveness::Unseen => Remains::Unseen,
        }
    }

    fn owner(&self) -> Owner {
        self.note("its process");
        crate::world::owner(self.process.get())
    }
}

impl Archive for TestHost {
    fn snapshot_scopes(&self, _: &[AttemptId]) -> Result<Vec<Scope>> {
        self.note("the scopes of snapshots");
        Ok(vec![Scope::parse("src", None).unwrap()])
    }

    fn roll_back(&self, job: &RollbackJob<'_>) -> Result<Vec<FileResult>> {
        self.note("a rollback");
        let rolled = self.paper.borrow().rolled.clone();
        if !rolled.is_empty() {
            return Ok(rolled);
        }
        let status = if job.is_preview { FileStatus::Planned } else { FileStatus::Done };
        Ok(vec![FileResult { path: "src/a".to_owned(), action: FileAction::Restore, status, reason: None }])
    }

    fn kept_snapshots(&self) -> Result<Vec<KeptSnapshot>> {
        self.note("the snapshots");
        Ok(Vec::new())
    }

    fn collect_snapshots(&self, _: &Collection) -> Result<Collected> {
        self.note("a collection");
        Ok(Collected::default())
    }

    fn transcripts(&self, _: &TaskId) -> Result<Vec<Transcript>> {
        Ok(Vec::new())
    }

    fn read_log(&self, _: &str) -> Result<Vec<LogPiece>> {
        self.note("a log");
        Ok(vec![LogPiece::Printed(OutputStream::Stdout, b"printed".to_vec()), LogPiece::Dropped(7)])
    }
}

impl Clones for TestHost {
    fn worktrees(&self, _: &Id<Attempt>) -> Result<Vec<KeptWorktree>> {
        self.note("clones");
        let standing = Standing::Unmerged { commit: "c".to_owned() };
        let kept = |worktree: &WorktreeRecord| KeptWorktree {
            worktree: worktree.clone(),
            directory: "/clones/one".to_owned(),
            standing: standing.clone(),
        };
        Ok(self.paper.borrow().clone.iter().map(kept).collect())
    }

    fn worktree_loss(&self, _: &WorktreeRecord, _: &Id<Attempt>) -> Result<(Standing, Loss)> {
        self.note("a loss");
        let files = vec!["file".to_owned()];
        let loss = Loss { tree: Some("t".to_owned()), files, all_files: 1, ..Loss::default() };
        Ok((Standing::Unmerged { commit: "c".to_owned() }, loss))
    }

    fn discard_worktree(
        &self,
        _: &WorktreeRecord,
        _: (&Standing, &Loss),
        _: &Id<Attempt>,
        unused: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<String>> {
        self.note("a discarded clone");
        if let Some(happens) = self.while_discarding.take() {
            happens();
        }
        unused()?;
        self.paper.borrow_mut().clone = None;
        if self.paper.borrow().dies_with_clone {
            return Err(ops::Error::new(contract::domain::code::ErrorCode::Io, "died here"));
        }
        Ok(Some("/clones/one.1.bundle".to_owned()))
    }

    fn bundle_of(&self, _: &WorktreeRecord, _: &Id<Attempt>) -> Result<Option<String>> {
        self.note("a bundle");
        Ok(Some("/clones/one.1.bundle".to_owned()))
    }
}

impl EngineAccess for TestHost {
    fn policy(&self, _: &str) -> Result<Policy> {
        self.note("the policy");
        Ok(self.paper.borrow().policy.clone())
    }

    fn project_commands(&self, directory: &str) -> Result<Option<ProjectCommands>> {
        self.note("a project's commands");
        let found = self.paper.borrow().project.clone();
        Ok(found.map(|commands| ProjectCommands { directory: directory.to_owned(), ..commands }))
    }

    fn executors(&self, _: &str) -> Result<Executors> {
        self.note("executors");
        Ok(Executors { upgrades: self.paper.borrow().upgrades.clone(), ..Executors::default() })
    }

    fn installation(&self, _: &Path) -> Installation {
        self.note("the installation");
        Installation {
            store_source: "default".to_owned(),
            store_bytes: None,
            hooks: serde_json::Value::Null,
            retention: Retention::default(),
            diagnostics: Vec::new(),
        }
    }

    fn prepare_to_work(&self, _: &str, _: &HowToWork) -> Result<()> {
        self.note("what a run needs");
        Ok(())
    }

    fn work(&self, _: &mut Context, _: &RunId, _: &HowToWork) -> Result<WorkEnd> {
        self.note("a run");
        Ok(self.paper.borrow().signal.map_or(WorkEnd::Stopped, WorkEnd::Interrupted))
    }
}

impl Terminal for TestHost {
    fn ask_person(&self, action: &Action) -> Result<String> {
        self.note("a person");
        self.question.replace(action.question().to_owned());
        if let Some(happens) = self.while_asking.take() {
            happens();
        }
        let typed = if self.paper.borrow().person_says_no { "no" } else { action.digits() };
        Ok(typed.to_owned())
    }
}
