//! Rolls a task back, or reapplies what was taken back.

use contract::domain::code::ErrorCode;
use contract::domain::failure_code::FailureCode;
use contract::domain::rollback::{Direction, FileResult, Rollback, RollbackCounts, Stage, Trigger};
use contract::domain::run::{Owner, RunId};
use contract::domain::scope::Scope;
use contract::domain::task::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Witness;

use super::locks::{let_go, lock, release};
use super::{RollbackSubject, listed, record};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::host::{HostView, RollbackJob};
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Undo;

impl Verb for Undo {
    const NAME: &'static str = "rollback.undo";
    const COMMAND: &'static str = "rollback";
    const SUMMARY: &'static str = "Take back what a task changed, or redo it";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(undo);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task's id, a unique prefix of it, its id in a plan, or its `T-n`.
    pub task: String,
    /// Reapply what the last rollback took back.
    #[serde(default)]
    pub redo: bool,
}

impl Request {
    pub(super) fn direction(&self) -> Direction {
        if self.redo { Direction::Redo } else { Direction::Undo }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RollbackDone")]
pub struct Answer {
    pub run_id: RunId,
    pub task_id: TaskId,
    /// The task's id in its plan.
    pub name: String,
    pub direction: Direction,
    /// The numbers of the attempts, newest first.
    pub attempts: Vec<i64>,
    pub counts: RollbackCounts,
    /// `E_ROLLBACK_FAILED` if a path was left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Paths that were left as they are first.
    pub files: Vec<FileResult>,
    pub files_not_listed: u64,
    /// The task could commit in the workspace, and what it committed stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_commits: bool,
}

pub fn undo(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    // That it began confirms no time to its end.
    let before = cx.store.use_witness(Witness::Whole(None));
    let done = undo_all(cx, session, request);
    cx.store.use_witness(before);
    done
}

fn undo_all(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    // A repeated request gets the stored answer; no file is touched again.
    let done = if cx.was_answered(session)? { None } else { Some(carry_out(cx, session, request)?) };
    let ended = cx.once(session, Undo::NAME, request, |work| {
        let pruned = || Error::new(ErrorCode::Busy, "the stored answer was pruned meanwhile");
        let (subject, files) = done.as_ref().ok_or_else(pruned)?;
        end(work, subject, files)
    });
    if ended.is_err()
        && let Some((subject, _)) = &done
    {
        let_go(cx, &session.caller, &subject.task).ok();
    }
    ended
}

/// Journals the rollback with the locks of its scope, then changes the files.
fn carry_out(
    cx: &mut Context,
    session: &Session,
    request: &Request,
) -> Result<(RollbackSubject, Vec<FileResult>)> {
    let direction = request.direction();
    let id = cx.task_id(session, &request.task)?;
    let (subject, silent_since) = RollbackSubject::look(cx, &id, direction)?;
    let host = cx.host();
    let scopes = host.snapshot_scopes(&subject.ids())?;
    let owner = host.owner();
    let subject =
        cx.viewing(|cx, view| begin(cx, (session, view), &subject, (&scopes, &owner), direction))?;
    let rolled = host.roll_back(&RollbackJob {
        root: &subject.run.asked.workspace,
        attempts: &subject.ids(),
        direction,
        is_preview: false,
        is_repeated: subject.covered.unfinished.is_some(),
        silent_since,
    });
    match rolled {
        Ok(files) => Ok((subject, files)),
        Err(error) => {
            // The same command finishes it; until then no other process waits for this one.
            let_go(cx, &session.caller, &subject.task)?;
            Err(error)
        }
    }
}

/// Takes the locks and writes down that the rollback has begun. The subject is read again: it may have changed.
fn begin(
    cx: &mut Context,
    (session, view): (&Session, &HostView),
    judged: &RollbackSubject,
    (scopes, owner): (&[Scope], &Owner),
    direction: Direction,
) -> Result<RollbackSubject> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller: &session.caller, view };
    let subject = RollbackSubject::load(&tx, judged.task.id.as_str(), direction, (&now, view))?;
    if subject.covered != judged.covered {
        let message = "the task was changed meanwhile; nothing was rolled back";
        return Err(
            Error::new(ErrorCode::VersionConflict, message).hint("look at it again and repeat the command")
        );
    }
    lock(&mut work, &subject, scopes, owner)?;
    let newest = &subject.attempts[0];
    let begun = subject.covered.unfinished.clone().unwrap_or_else(|| Rollback {
        direction,
        stage: Stage::Started,
        trigger: Trigger::Manual,
        by: session.caller.entity.clone(),
        since: subject.covered.attempts.last().copied().unwrap_or(newest.begun.number),
        at: now.at,
        counts: RollbackCounts::default(),
        left: Vec::new(),
    });
    record(&mut work, &subject.task, &newest.begun.id, (&begun, &[]))?;
    tx.commit()?;
    Ok(subject)
}

/// Writes down the results, and releases the locks.
fn end(work: &mut EventWriter<'_, '_>, subject: &RollbackSubject, files: &[FileResult]) -> Result<Answer> {
    let newest = &subject.attempts[0];
    let attempts = work.tx.attempts_of_task(&subject.task.id)?;
    let begun = attempts.into_iter().find(|attempt| attempt.begun.id == newest.begun.id);
    let begun = begun.and_then(|attempt| attempt.rollback).filter(|begun| begun.stage == Stage::Started);
    let begun = begun
        .ok_or_else(|| Error::new(ErrorCode::VersionConflict, "the rollback was ended by somebody else"))?;
    let rollback = begun.ended(files);
    record(work, &subject.task, &newest.begun.id, (&rollback, files))?;
    release(work, &subject.task)?;
    let (files, files_not_listed) = listed(files.to_vec());
    Ok(Answer {
        run_id: subject.run.asked.id.clone(),
        task_id: subject.task.id.clone(),
        name: subject.name(),
        direction: rollback.direction,
        attempts: subject.covered.attempts.clone(),
        counts: rollback.counts,
        code: rollback.counts.is_partial().then(|| FailureCode::RollbackFailed.as_str().to_owned()),
        files,
        files_not_listed,
        keeps_commits: subject.keeps_commits(),
    })
}
