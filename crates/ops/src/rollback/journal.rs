//! Writes down a rollback: the change of the attempt, and the AOP event with a result for each path.

use contract::aop::event::{Body, RollbackInitiated, RolledBack};
use contract::domain::attempt::AttemptId;
use contract::domain::change::Change;
use contract::domain::failure_code::FailureCode;
use contract::domain::rollback::{FileResult, FileStatus, Rollback, Stage};
use contract::domain::task::Task;
use serde_json::json;

use crate::aop_event::{self, AopEvent};
use crate::error::Result;
use crate::record::EventWriter;

/// Records the state of a rollback; where it has ended, also the event.
pub(crate) fn record(
    work: &mut EventWriter<'_, '_>,
    task: &Task,
    attempt: &AttemptId,
    (rollback, files): (&Rollback, &[FileResult]),
) -> Result<()> {
    let about = crate::task::about(work.tx, task)?;
    let change = Change::AttemptRolledBack {
        task_id: task.id.clone(),
        attempt_id: attempt.clone(),
        rollback: without_secrets(rollback),
    };
    let message = match rollback.stage {
        Stage::Started => format!("{}: {} began", task.title, rollback.direction.as_str()),
        Stage::Ended => format!("{}: {}", task.title, rollback.told()),
    };
    work.change(&about, &message, &change)?;
    if rollback.stage == Stage::Started {
        return Ok(());
    }
    let (listed, more) = super::listed(files.to_vec());
    let restored = |file: FileResult| RolledBack {
        restored_from: format!("snapshot of {attempt}"),
        status: if is_left(&file) { "FAILED".to_owned() } else { "SUCCESS".to_owned() },
        path: file.path,
        extensions: file.reason.map(|reason| {
            [("x_reason".to_owned(), json!(reason)), ("x_status".to_owned(), json!(file.status))]
                .into_iter()
                .collect()
        }),
    };
    let body = Body::RollbackInitiated(RollbackInitiated {
        trigger: rollback.trigger.as_str().to_owned(),
        artifacts_rolled_back: listed.into_iter().map(restored).collect(),
    });
    let more = json!({
        "direction": rollback.direction,
        "counts": rollback.counts,
        "not_listed": more,
        "code": rollback.counts.is_partial().then(|| FailureCode::RollbackFailed.as_str()),
    });
    aop_event::say(work, task, AopEvent { body, told: rollback.told(), more })
}

fn is_left(file: &FileResult) -> bool {
    matches!(file.status, FileStatus::Conflict | FileStatus::Failed)
}

/// A name that a child chose must not keep its rollback from being recorded.
fn without_secrets(rollback: &Rollback) -> Rollback {
    let scrubbed = |text: &str| contract::secrets::scrub(text).into_owned();
    let mut clean = rollback.clone();
    for file in &mut clean.left {
        file.path = scrubbed(&file.path);
        file.reason = file.reason.as_deref().map(scrubbed);
    }
    clean
}
