//! One task of the run: what is stored about it, what this engine holds for it, and what it does now.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};
use std::path::Path;

use contract::aop::task::Task as AopTask;
use contract::domain::attempt::{Attempt, has_failed};
use contract::domain::money::MicroUsd;
use contract::domain::plan::PlanTask;
use contract::domain::reason::Reason;
use contract::domain::run::Run;
use contract::domain::status::Status;
use contract::domain::task::{PlanPart, Task, TaskId};
use ops::Result;
use ops::run::journal::JournalEntry;

use super::engine_run::EngineRun;
use super::isolated::Isolated;
use super::live::Live;
use super::waiting::Waiting;
use super::watching::Watch;
use crate::progress_log::TaskProgressLog;

pub(crate) struct TaskWork {
    /// Its place in the run.
    pub(super) index: usize,
    pub(crate) task: Task,
    pub(crate) attempts: Vec<Attempt>,
    /// The submitted AOP TASK; `None` if the task comes from another document.
    asked: Option<Box<AopTask>>,
    /// The fencing token of its locks, while it holds them.
    pub(crate) grant: Option<i64>,
    /// Its clone, while this engine has it open.
    pub(super) clone: Option<Isolated>,
    /// Its changes are compared with its scope from its first attempt to its last.
    pub(super) watch: Option<Watch>,
    /// The progress that it reported.
    pub(super) progress: TaskProgressLog,
    pub(super) phase: TaskPhase,
}

/// What a task does in this engine.
#[derive(Default)]
pub(super) enum TaskPhase {
    /// It has not begun, is between two attempts, or has ended, as its status shows.
    #[default]
    Idle,
    /// It could start but for something that others have.
    Waiting(Waiting),
    /// An attempt is in the journal and has not ended.
    Live(Box<Live>),
}

impl TaskWork {
    pub(super) fn new(index: usize, task: Task, attempts: Vec<Attempt>) -> Self {
        let submitted = task.part.as_ref().and_then(|part| part.spec.aop.clone());
        let asked = submitted.and_then(|document| serde_json::from_value(document).ok());
        Self {
            index,
            task,
            attempts,
            asked,
            grant: None,
            clone: None,
            watch: None,
            progress: TaskProgressLog::default(),
            phase: TaskPhase::Idle,
        }
    }

    pub(crate) fn part(&self) -> &PlanPart {
        self.task.part.as_ref().expect("BUG: every task of a run is part of its plan")
    }

    pub(crate) fn spec(&self) -> &PlanTask {
        &self.part().spec
    }

    /// The id that its plan gives it.
    pub(crate) fn name(&self) -> &str {
        &self.spec().id
    }

    pub(super) fn asked(&self) -> Option<&AopTask> {
        self.asked.as_deref()
    }

    pub(crate) fn is_isolated(&self) -> bool {
        self.spec().worktree.is_some()
    }

    /// Where its processes work.
    pub(crate) fn directory<'w>(&'w self, run: &'w Run) -> &'w Path {
        self.clone.as_ref().map_or_else(|| Path::new(&run.asked.workspace), Isolated::tree)
    }

    /// What its author adds to the environment of its processes, and what its clone adds.
    pub(crate) fn task_env(&self) -> &BTreeMap<String, String> {
        self.clone.as_ref().map_or(&self.spec().env, Isolated::env)
    }

    pub(super) fn clone(&self) -> &Isolated {
        self.clone.as_ref().expect("BUG: only tasks with a clone are merged")
    }

    pub(super) fn clone_mut(&mut self) -> &mut Isolated {
        self.clone.as_mut().expect("BUG: only tasks with a clone are merged")
    }

    pub(super) fn live(&self) -> Option<&Live> {
        match &self.phase {
            TaskPhase::Live(live) => Some(live),
            TaskPhase::Idle | TaskPhase::Waiting(_) => None,
        }
    }

    pub(super) fn live_mut(&mut self) -> Option<&mut Live> {
        match &mut self.phase {
            TaskPhase::Live(live) => Some(live),
            TaskPhase::Idle | TaskPhase::Waiting(_) => None,
        }
    }

    /// Takes the attempt out, so that it and the task can be changed separately.
    pub(super) fn take_live(&mut self) -> Option<Box<Live>> {
        match std::mem::take(&mut self.phase) {
            TaskPhase::Live(live) => Some(live),
            other @ (TaskPhase::Idle | TaskPhase::Waiting(_)) => {
                self.phase = other;
                None
            }
        }
    }

    pub(super) fn waiting(&self) -> Option<&Waiting> {
        match &self.phase {
            TaskPhase::Waiting(waiting) => Some(waiting),
            TaskPhase::Idle | TaskPhase::Live(_) => None,
        }
    }

    /// Clears the task's wait, and returns what it waited for.
    pub(crate) fn clear_wait(&mut self) -> Option<Waiting> {
        match std::mem::take(&mut self.phase) {
            TaskPhase::Waiting(waiting) => Some(waiting),
            other @ (TaskPhase::Idle | TaskPhase::Live(_)) => {
                self.phase = other;
                None
            }
        }
    }

    /// Moves the deadlines of its attempt or its wait.
    pub(super) fn postpone(&mut self, longer_ms: i64) {
        match &mut self.phase {
            TaskPhase::Idle => {}
            TaskPhase::Waiting(waiting) => waiting.postpone(longer_ms),
            TaskPhase::Live(live) => live.postpone(longer_ms),
        }
    }

    /// Reads the task again.
    pub(super) fn refresh(&mut self, engine: &mut EngineRun<'_>) -> Result<()> {
        self.task = ops::task::get::by_id(engine.cx, self.task.id.as_str())?;
        Ok(())
    }

    /// Reads the task and its attempts again.
    pub(super) fn reload(&mut self, engine: &mut EngineRun<'_>) -> Result<()> {
        self.refresh(engine)?;
        self.attempts = ops::task::get::attempts(engine.cx, &self.task.id)?;
        Ok(())
    }

    /// The journal entry that moves the task.
    pub(crate) fn move_to(&self, to: Status, reason: Option<Reason>) -> JournalEntry {
        JournalEntry::MoveTask { task_id: self.task.id.clone(), to, reason }
    }

    pub(super) fn has_failed(&self) -> bool {
        has_failed(self.task.status, self.attempts.last().map(|last| last.state))
    }

    /// What the attempts reported as their cost; `None` if none of them did.
    pub(super) fn cost(&self) -> Option<MicroUsd> {
        let outcomes = self.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref());
        outcomes.filter_map(|outcome| outcome.cost).reduce(|sum, cost| MicroUsd(sum.0.saturating_add(cost.0)))
    }
}

/// All tasks of the run, in the order of its plan.
pub(crate) struct TaskSet {
    all: Vec<TaskWork>,
    /// Tasks with a live attempt. A run may have thousands of tasks, and few of them are live.
    live: BTreeSet<usize>,
}

impl TaskSet {
    pub(super) fn new(tasks: Vec<(Task, Vec<Attempt>)>) -> Self {
        let tasks = tasks.into_iter().enumerate();
        let all = tasks.map(|(index, (task, attempts))| TaskWork::new(index, task, attempts)).collect();
        Self { all, live: BTreeSet::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TaskWork> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut TaskWork> {
        self.all.iter_mut()
    }

    pub(super) fn position(&self, id: &TaskId) -> Option<usize> {
        self.all.iter().position(|work| work.task.id == *id)
    }

    /// Notes whether the task has a live attempt.
    pub(super) fn follow(&mut self, task: usize) {
        if self.all[task].live().is_some() {
            self.live.insert(task);
        } else {
            self.live.remove(&task);
        }
    }

    pub(super) fn is_any_live(&self) -> bool {
        !self.live.is_empty()
    }

    pub(super) fn live(&self) -> impl Iterator<Item = (usize, &Live)> {
        self.live.iter().filter_map(|&task| Some((task, self.all[task].live()?)))
    }

    /// Live tasks for which this holds.
    pub(super) fn live_where(&self, holds: impl Fn(&Live) -> bool) -> Vec<usize> {
        self.live().filter(|(_, live)| holds(live)).map(|(task, _)| task).collect()
    }

    pub(super) fn for_each_live(&mut self, mut change: impl FnMut(&mut Live)) {
        for &task in &self.live {
            if let Some(live) = self.all[task].live_mut() {
                change(live);
            }
        }
    }
}

impl Index<usize> for TaskSet {
    type Output = TaskWork;

    fn index(&self, task: usize) -> &TaskWork {
        &self.all[task]
    }
}

impl IndexMut<usize> for TaskSet {
    fn index_mut(&mut self, task: usize) -> &mut TaskWork {
        &mut self.all[task]
    }
}
