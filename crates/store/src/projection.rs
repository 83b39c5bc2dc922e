//! Applies each change to the tables. No other code writes them, so a replay rebuilds them exactly.

mod crew;
mod dependencies;
mod epoch;
mod handoff;
mod limit_windows;
mod memory;

use contract::domain::artifact::NewArtifact;
use contract::domain::attempt::{AttemptId, AttemptState, NewAttempt};
use contract::domain::change::Change;
use contract::domain::pins::Digests;
use contract::domain::rollback::Rollback;
use contract::domain::run::{NewRun, RunState};
use contract::domain::status::{Evidence, Status};
use contract::domain::task::{Claim, PlanPart, TaskId};
use contract::domain::time::Timestamp;
use contract::domain::token::NewToken;
use contract::domain::trust::{NewTrust, TrustBasis};
use rusqlite::params;
use serde::Serialize;

use crate::Tx;
use crate::error::{Error, Result};

impl Tx<'_> {
    /// `number` is the number of the change's event.
    pub(crate) fn project(&self, change: &Change, at: Timestamp, number: i64) -> Result<()> {
        match change {
            Change::TaskCreated { .. } => self.task_created(change, at),
            Change::TaskMoved { .. } => self.task_moved(change, at),
            Change::TaskClaimed { task_id, claim } => self.task_claimed(task_id, Some(claim), at),
            Change::TaskReleased { task_id } => self.task_claimed(task_id, None, at),
            Change::TaskPrioritized { task_id, priority } => self.task_prioritized(task_id, *priority, at),
            Change::TaskPinned { task_id, files } => self.task_pinned(task_id, files, at),
            Change::DependencyAdded { task_id, depends_on } => self.dependency_added(task_id, depends_on, at),
            Change::DependencyRemoved { task_id, depends_on } => {
                self.dependency_removed(task_id, depends_on, at)
            }
            Change::TaskDeleted { task_id } => self.task_deleted(task_id),
            Change::AgentFocused { agent, task_id, project_id } => {
                self.agent_focused(agent, task_id.as_ref(), project_id.as_deref(), at)
            }
            Change::ProjectAdded { project_id, name } => self.change_one(
                "INSERT INTO projects (id, name, metadata, created_at) VALUES (?1, ?2, '', ?3)",
                params![project_id, name, at.millis()],
            ),
            Change::ProjectTrusted { trust } => self.project_trusted(trust, at),
            Change::ProjectTrustRevoked { directory } => {
                self.change_one("DELETE FROM trusted_projects WHERE directory = ?1", params![directory])
            }
            Change::TokenCreated { token } => self.token_created(token, at),
            Change::TokenRevoked { token_id } => self.change_one(
                "UPDATE access_tokens SET revoked_at = ?2 WHERE id = ?1",
                params![token_id.as_str(), at.millis()],
            ),
            Change::TokenUsed { token_id } => self.change_one(
                "UPDATE access_tokens SET last_used_at = ?2 WHERE id = ?1",
                params![token_id.as_str(), at.millis()],
            ),
            Change::MemorySet { memory } => self.memory_set(memory, at, number),
            Change::MemoryPinned { place, key, pinned } => self.memory_pinned(place, key, *pinned, at),
            Change::MemoryDeleted { place, key } => self.memory_deleted(place, key),
            Change::MemoryCollected { ids } => self.memory_collected(ids),
            Change::ArtifactAdded { artifact } => self.artifact_added(artifact, at, number),
            Change::RunSubmitted { run } => self.run_submitted(run, at),
            Change::RunOwned { run_id, owner } => self.change_one(
                "UPDATE runs SET owner = ?2 WHERE id = ?1",
                params![run_id.as_str(), json(owner)?],
            ),
            Change::RunCancelRequested { run_id, .. } => self
                .change_one("UPDATE runs SET cancel_requested = 1 WHERE id = ?1", params![run_id.as_str()]),
            Change::RunMoved { .. } => self.run_moved(change, at),
            Change::AttemptStarted { attempt, .. } => self.attempt_started(attempt, at),
            Change::Halted { .. }
            | Change::HaltLifted { .. }
            | Change::ProgramStarted { .. }
            | Change::ProgramEnded { .. } => self.project_epoch(change, at),
            Change::LimitWindowSet { .. }
            | Change::LimitWindowEnded { .. }
            | Change::TaskWaitsForLimit { .. }
            | Change::TaskLimitWaitEnded { .. } => self.project_limit(change, at),
            Change::Crew(change) => self.project_crew(change, at),
            Change::AttemptRolledBack { attempt_id, rollback, .. } => {
                self.attempt_rolled_back(attempt_id, rollback)
            }
            Change::AttemptNamed { attempt_id: id, agent_session } => self.attempt_named(id, agent_session),
            Change::AttemptEnded { attempt_id, state, outcome } => self.change_one(
                "UPDATE attempts SET state = ?2, outcome = ?3, ended_at = ?4 WHERE id = ?1",
                params![attempt_id.as_str(), state.as_str(), json(outcome)?, at.millis()],
            ),
        }
    }

    fn artifact_added(&self, artifact: &NewArtifact, at: Timestamp, number: i64) -> Result<()> {
        self.change_one(
            "INSERT INTO artifacts (id, number, task_id, event_id, project_id, file_path, content_type, created_at)
             VALUES (?1, ?2, ?3, ?2, ?4, ?5, ?6, ?7)",
            params![
                artifact.id.as_str(),
                number,
                artifact.task_id.as_str(),
                artifact.project_id,
                artifact.file_path,
                artifact.content_type,
                at.millis()
            ],
        )
    }

    fn attempt_rolled_back(&self, attempt_id: &AttemptId, rollback: &Rollback) -> Result<()> {
        let rollback = json(rollback)?;
        self.change_one(
            "UPDATE attempts SET rollback = ?2 WHERE id = ?1",
            params![attempt_id.as_str(), rollback],
        )
    }

    fn task_prioritized(&self, task_id: &TaskId, priority: i64, at: Timestamp) -> Result<()> {
        self.change_one(
            "UPDATE tasks SET priority = ?2, version = version + 1, updated_at = ?3 WHERE id = ?1",
            params![task_id.as_str(), priority, at.millis()],
        )
    }

    fn task_pinned(&self, task_id: &TaskId, files: &Digests, at: Timestamp) -> Result<()> {
        self.change_one(
            "UPDATE tasks SET pinned = ?2, version = version + 1, updated_at = ?3 WHERE id = ?1",
            params![task_id.as_str(), json(files)?, at.millis()],
        )
    }

    fn agent_focused(
        &self,
        agent: &str,
        task_id: Option<&TaskId>,
        project_id: Option<&str>,
        at: Timestamp,
    ) -> Result<()> {
        self.change_one(
            "INSERT INTO agents (name, focus_task_id, focus_project_id, last_active_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (name) DO UPDATE SET focus_task_id = excluded.focus_task_id,
             focus_project_id = excluded.focus_project_id, last_active_at = excluded.last_active_at,
             version = agents.version + 1",
            params![agent, task_id.map(TaskId::as_str), project_id, at.millis()],
        )
    }

    fn task_created(&self, change: &Change, at: Timestamp) -> Result<()> {
        let Change::TaskCreated {
            task_id,
            title,
            description,
            priority,
            project_id,
            part,
            depends_on,
            checks,
        } = change
        else {
            return Ok(());
        };
        let (run_id, number, name, spec) = match part {
            Some(PlanPart { run_id, number, spec }) => {
                (Some(run_id.as_str()), Some(*number), Some(spec.id.as_str()), Some(json(spec)?))
            }
            None => (None, None, None, None),
        };
        let checks = checks.as_ref().map(json).transpose()?;
        self.change_one(
            "INSERT INTO tasks (id, title, description, status, priority, project_id, version, run_id, number, name,
             spec, created_at, updated_at, checks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?10, ?11, ?11, ?12)",
            params![
                task_id.as_str(),
                title,
                description,
                Status::Todo.as_str(),
                priority,
                project_id,
                run_id,
                number,
                name,
                spec,
                at.millis(),
                checks
            ],
        )?;
        for needed in depends_on {
            self.change_one(
                "INSERT INTO task_dependencies (task_id, depends_on) VALUES (?1, ?2)",
                params![task_id.as_str(), needed.as_str()],
            )?;
        }
        self.count_dependencies(task_id)?;
        self.tally(task_id, Status::Todo, 1)
    }

    /// Adds `step` to the tally of the task's project and state.
    fn tally(&self, task_id: &TaskId, status: Status, step: i64) -> Result<()> {
        self.change_one(
            "INSERT INTO task_tallies (project_id, status, tasks)
             SELECT coalesce(project_id, ''), ?2, ?3 FROM tasks WHERE id = ?1
             ON CONFLICT (project_id, status) DO UPDATE SET tasks = task_tallies.tasks + excluded.tasks",
            params![task_id.as_str(), status.as_str(), step],
        )
    }

    fn token_created(&self, token: &NewToken, at: Timestamp) -> Result<()> {
        let NewToken { id, name, scope, hash, created_by, expires_at } = token;
        self.change_one(
            "INSERT INTO access_tokens (id, name, scope, hash, created_by, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                id.as_str(),
                name,
                scope.as_str(),
                hash,
                created_by,
                at.millis(),
                expires_at.map(Timestamp::millis)
            ],
        )
    }

    fn project_trusted(&self, trust: &NewTrust, at: Timestamp) -> Result<()> {
        // A decision of an older version has none, and its event is replayed to the same row.
        let basis = Some(&trust.basis).filter(|basis| **basis != TrustBasis::default());
        let basis = basis.map(json).transpose()?;
        self.change_one(
            "INSERT INTO trusted_projects (directory, digest, commands, trusted_by, trusted_at, basis)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (directory) DO UPDATE SET digest = excluded.digest, commands = excluded.commands,
             trusted_by = excluded.trusted_by, trusted_at = excluded.trusted_at, basis = excluded.basis",
            params![
                trust.directory,
                trust.digest,
                json(&trust.commands)?,
                trust.trusted_by,
                at.millis(),
                basis
            ],
        )
    }

    fn task_moved(&self, change: &Change, at: Timestamp) -> Result<()> {
        let Change::TaskMoved { task_id, from, to, evidence, reason } = change else { return Ok(()) };
        // A claim belongs to work in progress.
        let keeps_claim = i64::from(*to == Status::InProgress);
        // A task that is started anew is judged by what its checks use then.
        let starts_anew = i64::from(from.is_terminal() && !to.is_terminal());
        self.change_one(
            "UPDATE tasks SET status = ?3, evidence = ?4, blocked_reason = ?5, version = version + 1, updated_at = ?6,
             claim_agent = CASE WHEN ?7 = 1 THEN claim_agent END, claim_token = CASE WHEN ?7 = 1 THEN claim_token END,
             claim_boot_id = CASE WHEN ?7 = 1 THEN claim_boot_id END,
             claim_until = CASE WHEN ?7 = 1 THEN claim_until END,
             claim_holder = CASE WHEN ?7 = 1 THEN claim_holder END,
             claim_since = CASE WHEN ?7 = 1 THEN claim_since END,
             pinned = CASE WHEN ?8 = 0 THEN pinned END WHERE id = ?1 AND status = ?2",
            params![
                task_id.as_str(),
                from.as_str(),
                to.as_str(),
                evidence.map(Evidence::as_str),
                reason.as_ref().map(json).transpose()?,
                at.millis(),
                keeps_claim,
                starts_anew
            ],
        )?;
        self.tally(task_id, *from, -1)?;
        self.tally(task_id, *to, 1)?;
        let step = i64::from(*from == Status::Done) - i64::from(*to == Status::Done);
        if step == 0 { Ok(()) } else { self.dependents_wait(task_id, step) }
    }

    fn task_claimed(&self, task_id: &TaskId, claim: Option<&Claim>, at: Timestamp) -> Result<()> {
        let holder = claim.and_then(|claim| claim.holder.as_ref()).map(json).transpose()?;
        self.change_one(
            "UPDATE tasks SET claim_agent = ?2, claim_token = ?3, claim_boot_id = ?4, claim_until = ?5,
             claim_holder = ?7, claim_since = ?8, version = version + 1, updated_at = ?6 WHERE id = ?1",
            params![
                task_id.as_str(),
                claim.map(|c| c.agent.as_str()),
                claim.map(|c| c.token),
                claim.map(|c| c.lease.boot_id.as_str()),
                claim.map(|c| c.lease.until_millis),
                at.millis(),
                holder,
                claim.and_then(|c| c.since).map(Timestamp::millis)
            ],
        )
    }

    fn run_submitted(&self, run: &NewRun, at: Timestamp) -> Result<()> {
        let asked = json(run)?;
        self.change_one(
            "INSERT INTO runs (id, corr, state, asked, workspace, created_at, session_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                run.id.as_str(),
                run.corr,
                RunState::Submitted.as_str(),
                asked,
                run.workspace,
                at.millis(),
                run.session_id
            ],
        )
    }

    fn run_moved(&self, change: &Change, at: Timestamp) -> Result<()> {
        let Change::RunMoved { run_id, from, to, result } = change else { return Ok(()) };
        let result = result.as_ref().map(json).transpose()?;
        let ended = to.is_terminal().then(|| at.millis());
        // Only a running run has an owner; a run that starts again must not inherit an old cancel request.
        let keeps_owner = i64::from(*to == RunState::Running);
        self.change_one(
            "UPDATE runs SET state = ?3, result = ?4, ended_at = ?5, cancel_requested = 0,
             owner = CASE WHEN ?6 = 1 THEN owner END,
             lease_boot_id = CASE WHEN ?6 = 1 THEN lease_boot_id END,
             lease_until = CASE WHEN ?6 = 1 THEN lease_until END WHERE id = ?1 AND state = ?2",
            params![run_id.as_str(), from.as_str(), to.as_str(), result, ended, keeps_owner],
        )
    }

    fn attempt_started(&self, attempt: &NewAttempt, at: Timestamp) -> Result<()> {
        let begun = json(attempt)?;
        self.change_one(
            "INSERT INTO attempts (id, task_id, run_id, number, state, begun, started_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                attempt.id.as_str(),
                attempt.task_id.as_str(),
                attempt.run_id.as_str(),
                attempt.number,
                AttemptState::Started.as_str(),
                begun,
                at.millis()
            ],
        )
    }

    /// Changes exactly one row. Fails if there is none in the state that the change names: then the change was
    /// decided on stale data.
    pub(crate) fn change_one(&self, sql: &str, values: impl rusqlite::Params) -> Result<()> {
        match self.prepare(sql)?.execute(values)? {
            1 => Ok(()),
            rows => Err(Error::Unfit { rows }),
        }
    }
}

pub(crate) fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Corrupt(format!("a row has no JSON form: {error}")))
}
