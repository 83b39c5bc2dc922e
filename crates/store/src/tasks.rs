//! Reading tasks. Every list is an index look-up with a limit.

use contract::domain::id::Id;
use contract::domain::process::Holder;
use contract::domain::run::RunId;
use contract::domain::status::{Evidence, Status};
use contract::domain::task::{Claim, PlanPart, Task, TaskId};
use contract::domain::time::{Lease, Now, Timestamp};
use rusqlite::{OptionalExtension, Row, params, params_from_iter};

use crate::Tx;
use crate::conditions::{Conditions, rows};
use crate::error::{Result, unreadable};
use crate::projection::json;

/// Which tasks to list. Every set field narrows.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    pub statuses: Vec<Status>,
    pub project_id: Option<String>,
    pub priority: Option<i64>,
    pub limit: usize,
}

impl TaskFilter {
    /// The states to look up one by one; `None` looks at all of them at once.
    fn states(&self) -> Vec<Option<Status>> {
        let mut states = match (self.statuses.as_slice(), &self.project_id) {
            ([], None) => return vec![None],
            ([], Some(_)) => Status::ALL.to_vec(),
            (some, _) => some.to_vec(),
        };
        states.sort_unstable();
        states.dedup();
        states.into_iter().map(Some).collect()
    }
}

/// The sort key of a task in a list; higher comes first.
fn place(task: &Task) -> (i64, Timestamp, &TaskId) {
    (task.priority, task.created_at, &task.id)
}

pub(crate) const COLUMNS: &str = "id, title, description, status, evidence, priority, project_id, blocked_reason, version, \
     claim_agent, claim_token, claim_boot_id, claim_until, run_id, number, spec, created_at, updated_at, claim_holder, \
     checks, claim_since, pinned";

impl Tx<'_> {
    pub fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1");
        let row = self.prepare(&sql)?.query_row([id.as_str()], |row| Ok(raw(row))).optional()?;
        row.map(|row| self.with_dependencies(row?)).transpose()
    }

    /// The state of the task with this id. Accepts any text as id.
    pub fn task_status(&self, id: &str) -> Result<Option<Status>> {
        let mut statement = self.prepare("SELECT status FROM tasks WHERE id = ?1")?;
        let word: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
        word.map(|word| Status::parse(&word).ok_or_else(|| unreadable("status", id, &word))).transpose()
    }

    /// Highest priority first, then newest.
    pub fn tasks(&self, filter: &TaskFilter) -> Result<Vec<Task>> {
        let mut tasks = Vec::new();
        // One look-up per state: the index orders the tasks of one state, but not of several.
        for status in filter.states() {
            tasks.extend(self.tasks_in(status, filter)?);
        }
        tasks.sort_by(|a, b| place(b).cmp(&place(a)));
        tasks.truncate(filter.limit);
        tasks.into_iter().map(|task| self.with_dependencies(task)).collect()
    }

    fn tasks_in(&self, status: Option<Status>, filter: &TaskFilter) -> Result<Vec<Task>> {
        let mut conditions = Conditions::default();
        if let Some(project) = &filter.project_id {
            conditions.and("project_id =", project.clone());
        }
        if let Some(status) = status {
            conditions.and("status =", status.as_str().to_owned());
        }
        if let Some(priority) = filter.priority {
            conditions.and("priority =", priority);
        }
        let select = format!("SELECT {COLUMNS} FROM tasks");
        let order = "priority DESC, created_at DESC, id DESC";
        let sql = conditions.statement(&select, order, filter.limit);
        self.bare_tasks(&sql, params_from_iter(conditions.values))
    }

    /// Tasks that could be started now: todo, with every dependency done. Highest priority first, then oldest.
    pub fn ready_tasks(&self, limit: usize) -> Result<Vec<Task>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks WHERE status = 'todo' AND open_dependencies = 0
             ORDER BY priority DESC, created_at, id LIMIT ?1"
        );
        self.task_list(&sql, params![rows(limit)])
    }

    /// The same of one project, without tasks of runs.
    pub fn ready_in_project(&self, project: &str, limit: usize) -> Result<Vec<Task>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks WHERE project_id = ?1 AND status = 'todo' AND open_dependencies = 0
             AND run_id IS NULL ORDER BY priority DESC, created_at, id LIMIT ?2"
        );
        self.task_list(&sql, params![project, rows(limit)])
    }

    /// A run's tasks in the order of its plan.
    pub fn tasks_of_run(&self, run: &RunId) -> Result<Vec<Task>> {
        let sql = format!("SELECT {COLUMNS} FROM tasks WHERE run_id = ?1 ORDER BY number");
        self.task_list(&sql, params![run.as_str()])
    }

    /// The tasks of runs that have ended whose ids end in one of these. Looks at the id of every task.
    pub fn ended_tasks_by_ends(&self, ends: &[String]) -> Result<Vec<TaskId>> {
        let sql = "SELECT tasks.id FROM tasks JOIN runs ON runs.id = tasks.run_id
             WHERE runs.state IN ('done', 'failed', 'canceled')";
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            if ends.iter().any(|end| id.ends_with(end)) {
                found.push(TaskId::parse(&id).map_err(|_| unreadable("id", &id, &id))?);
            }
        }
        Ok(found)
    }

    /// How urgent each task of a run is.
    pub fn priorities_of_run(&self, run: &RunId) -> Result<Vec<(String, i64)>> {
        let mut statement =
            self.prepare("SELECT id, priority FROM tasks WHERE run_id = ?1 ORDER BY number")?;
        let rows = statement.query_map([run.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Ids that start with `prefix`, at most `limit`.
    pub fn task_ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<String>> {
        let sql = "SELECT id FROM tasks WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
        self.ids_with_prefix(sql, prefix, limit)
    }

    pub(crate) fn ids_with_prefix(&self, sql: &str, prefix: &str, limit: usize) -> Result<Vec<String>> {
        // Ids are ASCII, so `~` sorts after all of them.
        let mut statement = self.prepare(sql)?;
        let keys = params![prefix, format!("{prefix}~"), rows(limit)];
        let ids = statement.query_map(keys, |row| row.get(0))?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    }

    /// The task of a run that its plan calls by this id.
    pub fn task_of_plan(&self, run: &str, name: &str) -> Result<Option<String>> {
        let mut statement = self.prepare("SELECT id FROM tasks WHERE run_id = ?1 AND name = ?2")?;
        Ok(statement.query_row([run, name], |row| row.get(0)).optional()?)
    }

    /// A run's tasks whose ids in the plan start with `prefix`, at most `limit`: the plan's id and the task's.
    pub fn tasks_of_plan_with_prefix(
        &self,
        run: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<(String, String)>> {
        let mut statement = self.prepare(
            "SELECT name, id FROM tasks WHERE run_id = ?1 AND name >= ?2 AND name < ?3 ORDER BY name LIMIT ?4",
        )?;
        // Ids in plans are ASCII, so `~` sorts after all of them.
        let keys = params![run, prefix, format!("{prefix}~"), rows(limit)];
        let found = statement.query_map(keys, |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Renews a claim; every call by the holder does this. A row update, not an event.
    pub fn renew_claim(&self, task: &TaskId, lease: &Lease) -> Result<()> {
        self.prepare(
            "UPDATE tasks SET claim_boot_id = ?2, claim_until = ?3 WHERE id = ?1 AND claim_agent IS NOT NULL",
        )?
        .execute(params![task.as_str(), lease.boot_id, lease.until_millis])?;
        Ok(())
    }

    /// Renews all claims that an agent holds at `now`. Expired claims stay expired. A known process of the agent
    /// becomes the claims' holder. A row update, not an event.
    pub fn renew_claims(&self, agent: &str, holder: Option<&Holder>, now: &Now, lease: &Lease) -> Result<()> {
        let holder = holder.map(json).transpose()?;
        self.prepare(
            "UPDATE tasks SET claim_until = ?4, claim_holder = coalesce(?5, claim_holder)
             WHERE claim_agent = ?1 AND claim_boot_id = ?2 AND claim_until > ?3",
        )?
        .execute(params![agent, now.boot.boot_id, now.boot.millis, lease.until_millis, holder])?;
        Ok(())
    }

    /// Tasks with a live claim, of one project or of all, those that expire first at the beginning.
    pub fn claimed_tasks(&self, project: Option<&str>, now: &Now, limit: usize) -> Result<Vec<Task>> {
        let narrowed = if project.is_some() { "AND project_id = ?4" } else { "" };
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks WHERE claim_token IS NOT NULL AND claim_boot_id = ?1
             AND claim_until > ?2 {narrowed} ORDER BY claim_until LIMIT ?3"
        );
        let (boot, millis, limit) = (&now.boot.boot_id, now.boot.millis, rows(limit));
        match project {
            Some(project) => self.task_list(&sql, params![boot, millis, limit, project]),
            None => self.task_list(&sql, params![boot, millis, limit]),
        }
    }

    /// The tasks of which an agent has a live claim.
    pub fn claimed_by(&self, agent: &str, now: &Now) -> Result<Vec<Task>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks WHERE claim_agent = ?1
             AND claim_boot_id = ?2 AND claim_until > ?3 ORDER BY id LIMIT 100"
        );
        self.task_list(&sql, params![agent, now.boot.boot_id, now.boot.millis])
    }

    pub(crate) fn task_list(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Task>> {
        let tasks = self.bare_tasks(sql, values)?;
        tasks.into_iter().map(|task| self.with_dependencies(task)).collect()
    }

    /// Tasks without their dependencies.
    fn bare_tasks(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Task>> {
        self.list(sql, values, raw)
    }

    fn with_dependencies(&self, mut task: Task) -> Result<Task> {
        task.depends_on = self.dependencies(&task.id)?;
        Ok(task)
    }
}

fn holder_of(task: &str, text: Option<String>) -> Result<Option<Holder>> {
    let read = |text: String| serde_json::from_str(&text).map_err(|_| unreadable("holder", task, &text));
    text.map(read).transpose()
}

fn raw(row: &Row<'_>) -> Result<Task> {
    let id: String = row.get(0)?;
    let bad = |what: &str, value: &str| unreadable(what, &id, value);
    let status: String = row.get(3)?;
    let evidence: Option<String> = row.get(4)?;
    let claim_agent: Option<String> = row.get(9)?;
    let claim = match claim_agent {
        Some(agent) => Some(Claim {
            agent,
            token: row.get(10)?,
            lease: Lease { boot_id: row.get(11)?, until_millis: row.get(12)? },
            holder: holder_of(&id, row.get(18)?)?,
            since: row.get::<_, Option<i64>>(20)?.map(Timestamp::from_millis),
        }),
        None => None,
    };
    let run_id: Option<String> = row.get(13)?;
    let spec: Option<String> = row.get(15)?;
    let part = match (run_id, spec) {
        (Some(run), Some(spec)) => Some(PlanPart {
            run_id: Id::parse(&run).map_err(|_| bad("run", &run))?,
            number: row.get(14)?,
            spec: serde_json::from_str(&spec).map_err(|_| bad("spec", &spec))?,
        }),
        _ => None,
    };
    let checks: Option<String> = row.get(19)?;
    let checks =
        checks.map(|text| serde_json::from_str(&text).map_err(|_| bad("checks", &text))).transpose()?;
    let reason: Option<String> = row.get(7)?;
    let pinned: Option<String> = row.get(21)?;
    let pinned =
        pinned.map(|text| serde_json::from_str(&text).map_err(|_| bad("pinned", &text))).transpose()?;
    Ok(Task {
        title: row.get(1)?,
        description: row.get(2)?,
        status: Status::parse(&status).ok_or_else(|| bad("status", &status))?,
        evidence: evidence
            .map(|word| Evidence::parse(&word).ok_or_else(|| bad("evidence", &word)))
            .transpose()?,
        priority: row.get(5)?,
        project_id: row.get(6)?,
        blocked_reason: reason
            .map(|text| serde_json::from_str(&text).map_err(|_| bad("reason", &text)))
            .transpose()?,
        version: row.get(8)?,
        claim,
        part,
        checks,
        pinned,
        depends_on: Vec::new(),
        created_at: Timestamp::from_millis(row.get(16)?),
        updated_at: Timestamp::from_millis(row.get(17)?),
        id: Id::parse(&id).map_err(|_| bad("id", &id))?,
    })
}
