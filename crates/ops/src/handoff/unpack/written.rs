//! Imports results, blockers and worklogs.

use contract::domain::crew::CrewChange;
use contract::json::Value;
use contract::operator::{Code, read_result, validate_worklog};

use super::Unpacking;
use crate::crew::denial::{denied, deny};
use crate::error::Result;
use crate::record::EventWriter;

impl Unpacking<'_> {
    pub(super) fn results(&self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        for accepted in &self.bundle.carried.x_results {
            let bytes = accepted.result.to_string();
            let read = read_result(bytes.as_bytes(), &self.options());
            let (result, _) = read.map_err(|refusal| denied(&refusal))?;
            let task_id = self.task(&accepted.task_id)?;
            let change = CrewChange::ResultAccepted {
                token: accepted.token,
                run_id: self.run_id.clone(),
                task_id: task_id.clone(),
                status: result.status.as_str().to_owned(),
                result: accepted.result.clone(),
                checks: accepted.checks.clone(),
                changes: accepted.changes.clone(),
            };
            let message = format!("{} reported {}", accepted.task_id, result.status);
            self.say(work, Some(task_id), &message, change)?;
        }
        Ok(())
    }

    pub(super) fn blockers(&self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        for blocker in &self.bundle.handoff.open_blockers {
            let task_id = self.task(&blocker.task_id)?;
            let run_id = self.run_id.clone();
            let message = format!("{} is blocked: {}", blocker.task_id, blocker.code);
            let raised = CrewChange::BlockerRaised {
                run_id,
                task_id: task_id.clone(),
                blocker: blocker.clone().into(),
            };
            self.say(work, Some(task_id), &message, raised)?;
        }
        Ok(())
    }

    pub(super) fn worklogs(&self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        for log in &self.bundle.carried.x_worklogs {
            let lines = self.bundle.lines(&log.task_id);
            let file = contract::domain::crew::worklog::file_of(&lines);
            let judged = validate_worklog(&file, &self.options());
            if !judged.allow {
                return Err(denied(&judged));
            }
            let task_id = self.task(&log.task_id)?;
            for (line, carried) in lines.into_iter().zip(&log.lines) {
                let entry: Value = serde_json::from_str(&line.text).unwrap_or_default();
                if entry["task_id"] != log.task_id.as_str() {
                    let message = format!("line {} of {} belongs to another task", line.number, log.task_id);
                    return Err(deny(Code::NonCompliant, "identity_mismatch", message));
                }
                let message = format!("{} line {} imported", log.task_id, line.number);
                let (run_id, token) = (self.run_id.clone(), carried.token);
                let appended = CrewChange::WorklogAppended { run_id, task_id: task_id.clone(), token, line };
                self.say(work, Some(task_id), &message, appended)?;
            }
        }
        Ok(())
    }
}
