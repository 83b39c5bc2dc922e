//! Imports approvals.

use contract::domain::crew::CrewChange;
use contract::domain::crew::approval::{Approval, ApprovalState};
use contract::domain::id::mint;
use contract::domain::task::TaskId;
use contract::domain::time::Lease;
use contract::operator::handoff::bundle::CarriedApproval;

use super::Unpacking;
use crate::error::Result;
use crate::record::EventWriter;

impl Unpacking<'_> {
    /// Open approvals are requested again, under ids of this store; decided ones stay decided.
    pub(super) fn approvals(&self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        for asked in &self.bundle.carried.x_approvals {
            let task_id = self.task(&asked.task_id)?.clone();
            let approval = self.approval(work, asked, &task_id);
            let id = approval.id.clone();
            let message = format!("Approval requested: {}", asked.action);
            self.say(work, Some(&task_id), &message, CrewChange::ApprovalRequested { approval })?;
            if let Some(by) = asked.decided_by.clone() {
                let decided = CrewChange::ApprovalDecided {
                    id: id.clone(),
                    run_id: self.run_id.clone(),
                    task_id: task_id.clone(),
                    granted: asked.state == ApprovalState::Used,
                    by,
                    reason: asked.reason.clone(),
                };
                self.say(work, Some(&task_id), "Approval decided", decided)?;
            }
            if let Some(token) = asked.used_by {
                let run_id = self.run_id.clone();
                let used = CrewChange::ApprovalUsed { id, run_id, task_id: task_id.clone(), token };
                self.say(work, Some(&task_id), "Approval used", used)?;
            }
        }
        Ok(())
    }

    fn approval(
        &self,
        work: &mut EventWriter<'_, '_>,
        asked: &CarriedApproval,
        task_id: &TaskId,
    ) -> Approval {
        Approval {
            id: mint(work.ids, work.now.at),
            run_id: self.run_id.clone(),
            task_id: task_id.clone(),
            action: asked.action.clone(),
            action_digest: asked.action_digest.clone(),
            requested_by: asked.requested_by.clone(),
            deadline: asked.deadline,
            lease: Lease::starting(work.now, asked.deadline.since(work.now.at)),
        }
    }
}
