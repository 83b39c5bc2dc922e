//! Validates a bundle, regardless of its author.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{BundleFault, CarriedAssignment, CarriedResult, CarriedRow, HandoffBundle, TOKEN_MAX};
use crate::domain::check::Check;
use crate::domain::checkpoint::Checkpoint;
use crate::domain::crew::approval::ApprovalState;
use crate::domain::crew::budget::Amount;
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::crew::worklog::{WorklogLine, beginning, broken};
use crate::domain::limits;
use crate::domain::plan::PlanTask;
use crate::domain::scope::{Scope, ScopeFault};
use crate::domain::status::{Evidence, Status};
use crate::operator::Code;
use crate::operator::handoff::HandoffRow;

/// The longest name that a person or a program may give.
const NAME_BYTES_MAX: usize = 1024;

impl HandoffBundle {
    /// The first fault, in reading order.
    pub(super) fn judge(&self) -> Result<(), BundleFault> {
        self.judge_run()?;
        for (index, (row, carried)) in self.tasks().enumerate() {
            let path = format!("$.ledger[{index}]");
            judge_spec(&carried.x_spec, &format!("{path}.x_spec"))?;
            self.judge_evidence(row, carried, &path)?;
        }
        self.judge_tokens()?;
        self.judge_assignments()?;
        self.judge_results()?;
        self.judge_worklogs()?;
        self.judge_deltas()?;
        self.judge_money()?;
        self.judge_approvals()
    }

    fn judge_run(&self) -> Result<(), BundleFault> {
        let run = &self.carried.x_run;
        named(&run.corr, "$.x_run.corr")?;
        named(&run.document_digest, "$.x_run.document_digest")?;
        if run.state.is_terminal() {
            let message = format!("the run {} and cannot be continued", run.state.said());
            return Err(BundleFault::new(Code::InvalidTransition, "run_ended", "$.x_run.state", message));
        }
        if run.max_parallel > limits::PARALLEL_MAX {
            return Err(invalid("$.x_run.max_parallel", format!("is more than {}", limits::PARALLEL_MAX)));
        }
        Ok(())
    }

    /// A task that is done needs a result, and if its author wrote checks, checks that passed.
    fn judge_evidence(&self, row: &HandoffRow, carried: &CarriedRow, path: &str) -> Result<(), BundleFault> {
        let path = format!("{path}.x_evidence");
        let has_checks = !carried.x_spec.checks.is_empty();
        let is_expected = match (row.status, has_checks) {
            // It is only claimed if its evidence was withheld.
            (Status::Done, true) => carried.x_evidence.is_some(),
            (Status::Done, false) => carried.x_evidence == Some(Evidence::Claimed),
            (Status::Todo | Status::InProgress | Status::Blocked | Status::Failed | Status::Canceled, _) => {
                carried.x_evidence.is_none()
            }
        };
        if !is_expected {
            let message = format!("{} is {} and needs other evidence", row.task_id, row.status);
            return Err(BundleFault::new(Code::AcceptanceFailed, "no_evidence", path, message));
        }
        if row.status != Status::Done {
            return Ok(());
        }
        let good = |result: &&CarriedResult| {
            result.task_id == row.task_id && result.result["status"] == Status::Done.as_str()
        };
        let result = self.carried.x_results.iter().rev().find(good).map(|result| &result.checks);
        let accepted = carried.x_row.x_accepted.as_ref().map(|accepted| &accepted.checks);
        let Some(seen) = result.or(accepted) else {
            let message = format!("{} is done, but the bundle has no result of it", row.task_id);
            return Err(BundleFault::new(Code::AcceptanceFailed, "no_evidence", path, message));
        };
        let checks = &carried.x_spec.checks;
        let proves = |(asked, seen): (&Check, &crate::domain::check::CheckSeen)| {
            seen.passed && asked.command == seen.command && asked.expects == seen.expects
        };
        if has_checks && (seen.len() != checks.len() || !checks.iter().zip(seen).all(proves)) {
            let message = format!("{} was verified by checks that its author did not write", row.task_id);
            return Err(BundleFault::new(Code::AcceptanceFailed, "no_evidence", path, message));
        }
        Ok(())
    }

    fn judge_tokens(&self) -> Result<(), BundleFault> {
        let most = self.carried.x_run.fencing;
        if !(0..=TOKEN_MAX).contains(&most) {
            return Err(invalid("$.x_run.fencing", format!("must be from 0 to {TOKEN_MAX}")));
        }
        if let Some(token) = self.tokens().find(|token| !(1..=most).contains(token)) {
            let message = format!("token {token} was never granted: the highest one is {most}");
            return Err(BundleFault::new(
                Code::LedgerInconsistent,
                "token_unknown",
                "$.x_run.fencing",
                message,
            ));
        }
        for (index, lock) in self.handoff.active_locks.iter().enumerate() {
            let path = format!("$.active_locks[{index}]");
            if lock.active && lock.x_fencing_token.is_none() {
                return Err(BundleFault::new(
                    Code::MissingRequiredInput,
                    "missing",
                    path,
                    "the lock needs a token",
                ));
            }
            if lock.active && lock.extra.get("x_timeout_ms").and_then(Value::as_u64).is_none() {
                let message = "the lock needs the timeout of its holder";
                return Err(BundleFault::new(Code::MissingRequiredInput, "missing", path, message));
            }
        }
        Ok(())
    }

    fn judge_assignments(&self) -> Result<(), BundleFault> {
        let given = &self.carried.x_assignments;
        unique(given.iter().map(|one| one.task_id.as_str()), "$.x_assignments")?;
        unique(given.iter().map(|one| one.token), "$.x_assignments")?;
        for (index, one) in given.iter().enumerate() {
            let path = format!("$.x_assignments[{index}]");
            let row = self.row(&one.task_id, &path)?;
            self.same_packet(one, &path)?;
            if one.ended.is_some() {
                continue;
            }
            if row.status != Status::InProgress {
                let message = format!("{} is {} and its assignment is open", one.task_id, row.status);
                return Err(BundleFault::new(Code::LedgerInconsistent, "open_assignment", path, message));
            }
            let token = u64::try_from(one.token).ok();
            let holds = self
                .handoff
                .active_locks
                .iter()
                .any(|lock| lock.active && lock.task_id == one.task_id && lock.x_fencing_token == token);
            if !holds {
                let message =
                    format!("{} is assigned with token {} but holds no lock", one.task_id, one.token);
                return Err(BundleFault::new(Code::LockConflict, "lock_missing", path, message));
            }
        }
        Ok(())
    }

    fn same_packet(&self, one: &CarriedAssignment, path: &str) -> Result<(), BundleFault> {
        let packet = &one.packet;
        let same = packet["run_id"].as_str() == Some(self.handoff.run_id.as_str())
            && packet["task"]["task_id"].as_str() == Some(one.task_id.as_str())
            && packet["x_fencing_token"].as_i64() == Some(one.token);
        if same { Ok(()) } else { Err(mismatch(format!("{path}.packet"))) }
    }

    fn judge_results(&self) -> Result<(), BundleFault> {
        let results = &self.carried.x_results;
        unique(results.iter().map(|one| one.token), "$.x_results")?;
        for (index, one) in results.iter().enumerate() {
            let path = format!("$.x_results[{index}]");
            self.row(&one.task_id, &path)?;
            let same = one.result["run_id"].as_str() == Some(self.handoff.run_id.as_str())
                && one.result["task_id"].as_str() == Some(one.task_id.as_str());
            if !same {
                return Err(mismatch(format!("{path}.result")));
            }
        }
        Ok(())
    }

    fn judge_worklogs(&self) -> Result<(), BundleFault> {
        let logs = &self.carried.x_worklogs;
        unique(logs.iter().map(|log| log.task_id.as_str()), "$.x_worklogs")?;
        for (index, log) in logs.iter().enumerate() {
            let path = format!("$.x_worklogs[{index}].lines");
            self.row(&log.task_id, &path)?;
            if let Some(number) = log.lines.iter().position(|line| line.text.contains(['\n', '\r'])) {
                return Err(invalid(&format!("{path}[{number}].text"), "is more than one line"));
            }
            let begins = beginning(self.handoff.run_id.as_str(), log.task_id.as_str());
            let lines = self.lines(&log.task_id);
            let other_end = (lines.last().map(|line| &line.digest) != Some(&log.end)).then_some(lines.len());
            let other_end = other_end.and_then(|number| i64::try_from(number).ok());
            if let Some(number) = broken(&lines, &begins).or(other_end) {
                let message = format!("line {number} does not match the digest of the line before it");
                return Err(BundleFault::new(Code::LedgerInconsistent, "chain_broken", path, message));
            }
        }
        Ok(())
    }

    /// The worklog of a task as the store keeps it.
    pub fn lines(&self, task: &TaskRef) -> Vec<WorklogLine> {
        let log = self.carried.x_worklogs.iter().find(|log| log.task_id == *task);
        let line = |(at, text): (usize, &String)| WorklogLine {
            number: i64::try_from(at).unwrap_or(i64::MAX).saturating_add(1),
            text: text.clone(),
            digest: crate::digest::of_bytes(text.as_bytes()),
        };
        log.into_iter()
            .flat_map(|log| log.lines.iter().map(|line| &line.text))
            .enumerate()
            .map(line)
            .collect()
    }

    fn judge_deltas(&self) -> Result<(), BundleFault> {
        let deltas = &self.carried.x_applied;
        for (index, delta) in deltas.iter().enumerate() {
            let path = format!("$.x_applied[{index}]");
            if delta.delta_id.trim().is_empty() {
                return Err(invalid(&path, "`delta_id` must not be blank"));
            }
            if let Some(digest) = &delta.digest {
                named(digest, &path)?;
            }
        }
        unique(deltas.iter().map(|delta| delta.delta_id.as_str()), "$.x_applied")
    }

    fn judge_money(&self) -> Result<(), BundleFault> {
        let open = self.carried.x_assignments.iter().filter_map(|given| given.reserved);
        let set_aside = open.clone().fold(Amount::default(), Amount::plus);
        let path = "$.x_budget";
        let Some(purse) = &self.carried.x_budget else {
            return match open.clone().next() {
                Some(_) => Err(invalid(path, "amounts are reserved, but the run has no budget")),
                None if self.rows.iter().any(|row| !row.x_withheld.is_zero()) => {
                    Err(invalid(path, "amounts are withheld, but the run has no budget"))
                }
                None => Ok(()),
            };
        };
        let ended =
            self.carried.x_assignments.iter().any(|given| given.ended.is_some() && given.reserved.is_some());
        let negative =
            [purse.limit, purse.reserved, purse.spent].into_iter().chain(open).any(Amount::is_negative);
        let parts = self.rows.iter().map(|row| row.x_withheld);
        let withheld = parts.clone().fold(Amount::default(), Amount::plus);
        let is_wrong = parts.clone().any(Amount::is_negative) || withheld != purse.withheld;
        if negative || ended || is_wrong || purse.reserved != set_aside {
            let message = "the reserved amount differs from that of the open assignments, the withheld one from \
                           that of the tasks, or an amount is negative";
            return Err(BundleFault::new(Code::LedgerInconsistent, "budget", path, message));
        }
        Ok(())
    }

    fn judge_approvals(&self) -> Result<(), BundleFault> {
        for (index, asked) in self.carried.x_approvals.iter().enumerate() {
            let path = format!("$.x_approvals[{index}]");
            self.row(&asked.task_id, &path)?;
            named(&asked.requested_by, &path)?;
            named(&asked.action_digest, &path)?;
            if asked.action.len() > limits::DESCRIPTION_BYTES_MAX {
                return Err(invalid(&path, "the action is too long"));
            }
            let is_whole = match asked.state {
                ApprovalState::Pending => asked.decided_by.is_none() && asked.used_by.is_none(),
                ApprovalState::Denied => asked.decided_by.is_some() && asked.used_by.is_none(),
                ApprovalState::Used => asked.decided_by.is_some() && asked.used_by.is_some(),
                // An approval is valid only in the store in which it was requested.
                ApprovalState::Granted => false,
            };
            if !is_whole {
                let message =
                    format!("an approval that is {} cannot be imported in this form", asked.state.as_str());
                return Err(BundleFault::new(Code::NonCompliant, "approval", path, message));
            }
        }
        Ok(())
    }

    fn row(&self, task: &TaskRef, path: &str) -> Result<&HandoffRow, BundleFault> {
        self.handoff.ledger.iter().find(|row| row.task_id == *task).ok_or_else(|| {
            let message = format!("{task} is not in the ledger");
            BundleFault::new(Code::LedgerInconsistent, "base_row_missing", path, message)
        })
    }
}

/// The limits of a plan apply here too.
fn judge_spec(spec: &PlanTask, path: &str) -> Result<(), BundleFault> {
    let title = spec.title.chars().count();
    if spec.title.trim().is_empty() || title > limits::TITLE_CHARS_MAX || spec.id.len() > NAME_BYTES_MAX {
        return Err(invalid(&format!("{path}.title"), "is empty or too long"));
    }
    let none = Vec::new();
    let readable = spec.files.reads.as_ref().unwrap_or(&none);
    let scopes = [&spec.writes, &spec.reads, &spec.scratch, readable];
    if scopes.iter().any(|list| list.len() > limits::SCOPES_PER_TASK_MAX) {
        return Err(invalid(path, format!("more than {} scopes", limits::SCOPES_PER_TASK_MAX)));
    }
    for scope in scopes.into_iter().flatten() {
        judge_scope(scope, path)?;
    }
    if spec.retries > limits::RETRIES_MAX || spec.timeout() > limits::TASK_TIMEOUT_MAX {
        return Err(invalid(path, "more retries, or a longer timeout, than a plan may have"));
    }
    let is_outside = |point: &Checkpoint| point.end() > spec.checks.len();
    if spec.checkpoints.len() > limits::CHECKPOINTS_PER_TASK_MAX || spec.checkpoints.iter().any(is_outside) {
        return Err(invalid(path, "checkpoints of checks that the task does not have, or too many"));
    }
    if spec.checks.len() > limits::CHECKS_PER_TASK_MAX {
        return Err(invalid(path, format!("more than {} checks", limits::CHECKS_PER_TASK_MAX)));
    }
    let fault = |(index, check): (usize, &Check)| Some((index, check.fault()?));
    match spec.checks.iter().enumerate().find_map(fault) {
        Some((index, fault)) => Err(invalid(&format!("{path}.checks[{index}]"), fault)),
        None => Ok(()),
    }
}

fn judge_scope(scope: &Scope, path: &str) -> Result<(), BundleFault> {
    let read = Scope::parse(scope.as_str(), None);
    let fault = match &read {
        Ok(read) if read.is_absolute() => Some(ScopeFault::Escape),
        Ok(read) if read != scope => return Err(invalid(path, format!("must be written `{read}`"))),
        Ok(_) => None,
        Err(fault) => Some(*fault),
    };
    let Some(fault) = fault else { return Ok(()) };
    let code = if fault == ScopeFault::Escape { Code::ScopeViolation } else { Code::SchemaInvalid };
    Err(BundleFault::new(code, fault.rule(), path, format!("a scope {fault}")))
}

fn named(text: &str, path: &str) -> Result<(), BundleFault> {
    let is_name =
        !text.trim().is_empty() && text.len() <= NAME_BYTES_MAX && !text.chars().any(char::is_control);
    if is_name { Ok(()) } else { Err(invalid(path, "must be one short line")) }
}

fn unique<T: Ord>(names: impl Iterator<Item = T>, path: &str) -> Result<(), BundleFault> {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            let path = format!("{path}[{index}]");
            return Err(BundleFault::new(Code::LedgerInconsistent, "duplicate", path, "appears twice"));
        }
    }
    Ok(())
}

fn invalid(path: &str, message: impl Into<String>) -> BundleFault {
    BundleFault::new(Code::SchemaInvalid, "type", path, message)
}

fn mismatch(path: String) -> BundleFault {
    BundleFault::new(Code::NonCompliant, "identity_mismatch", path, "belongs to another run, task or token")
}
