//! The kinds of document, and the validator of each.

use super::operator::validate as judge;
use super::{ValidateOptions, plan};
use crate::operator as contract;
use crate::shape::words;
use crate::verdict::Verdict;
use crate::{aee, aocl, aop, bridge, continuity};

words! {
    /// The kind of a document, as named on the command line.
    Kind {
        Assignment = "assignment",
        Locks = "locks",
        Result = "result",
        Worklog = "worklog",
        WorklogEntry = "worklog-entry",
        Handoff = "handoff",
        Orchestrator = "orchestrator",
        Deltas = "deltas",
        Reconcile = "reconcile",
        Watchdog = "watchdog",
        Aop = "aop",
        AopAudit = "aop-audit",
        Aee = "aee",
        Stack = "stack",
        Trace = "trace",
        Bridge = "bridge",
        Candidate = "candidate",
        Harvest = "harvest",
        Learning = "learning",
        Pattern = "pattern",
        Constraint = "constraint",
        Stage1 = "stage1",
        Memrl = "memrl",
        Council = "council",
        Promise = "promise",
        Ratchet = "ratchet",
        Continuity = "continuity",
        Plan = "plan",
    }
}

/// Validates the bytes of one kind of document.
pub(super) type Validator = fn(&[u8], &ValidateOptions) -> Verdict;

impl Kind {
    /// The kind with this name, or with this name in a contract's own vectors.
    pub fn named(word: &str) -> Option<Kind> {
        Kind::parse(word).or(match word {
            "worklog_entry" => Some(Kind::WorklogEntry),
            "envelope" => Some(Kind::Orchestrator),
            "aocl_stack" => Some(Kind::Stack),
            "aocl_trace" => Some(Kind::Trace),
            "bridge_envelope" => Some(Kind::Bridge),
            "harvest_candidate" => Some(Kind::Harvest),
            "memrl_policy" => Some(Kind::Memrl),
            "quarantine" => Some(Kind::Constraint),
            "ratchet_chain" => Some(Kind::Ratchet),
            _ => None,
        })
    }

    pub fn about(self) -> &'static str {
        match self {
            Kind::Assignment => "an operator's assignment packet",
            Kind::Locks => "a table of locks",
            Kind::Result => "a subagent's result",
            Kind::Worklog => "a task's worklog, one entry per line",
            Kind::WorklogEntry => "a single worklog entry",
            Kind::Handoff => "a handoff bundle",
            Kind::Orchestrator => "an orchestrator's output",
            Kind::Deltas => "ledger deltas and the ledger they are applied to",
            Kind::Reconcile => "a ledger with its locks and events",
            Kind::Watchdog => "tasks and their heartbeats",
            Kind::Aop => "an AOP v2 TASK, RESPONSE or EVENT",
            Kind::AopAudit => "an AOP audit record",
            Kind::Aee => "an AEE envelope",
            Kind::Stack => "an AOCL stack file",
            Kind::Trace => "the AEE envelopes of one work item, one per line",
            Kind::Bridge => "a bridge envelope",
            Kind::Candidate => "a candidate of the knowledge pool",
            Kind::Harvest => "a harvest candidate",
            Kind::Learning => "a learning file",
            Kind::Pattern => "a pattern file",
            Kind::Constraint => "a quarantine file of constraints",
            Kind::Stage1 => "a stage-1 result",
            Kind::Memrl => "a retry policy",
            Kind::Council => "a council's report, or one judge's verdict",
            Kind::Promise => "a text that ends with a promise tag",
            Kind::Ratchet => "a ratchet chain, one entry per line",
            Kind::Continuity => "an answer of the agent contract",
            Kind::Plan => "a plan, in TOML or JSON",
        }
    }

    pub(super) fn validator(self) -> Validator {
        match self {
            Kind::Assignment => {
                |bytes, options| judge(Kind::Assignment, contract::validate_assignment, bytes, options)
            }
            Kind::Locks => |bytes, options| judge(Kind::Locks, contract::validate_locks, bytes, options),
            Kind::Result => |bytes, options| judge(Kind::Result, contract::validate_result, bytes, options),
            Kind::Worklog => {
                |bytes, options| judge(Kind::Worklog, contract::validate_worklog, bytes, options)
            }
            Kind::WorklogEntry => {
                |bytes, options| judge(Kind::WorklogEntry, contract::validate_worklog_entry, bytes, options)
            }
            Kind::Handoff => {
                |bytes, options| judge(Kind::Handoff, contract::validate_handoff, bytes, options)
            }
            Kind::Orchestrator => {
                |bytes, options| judge(Kind::Orchestrator, contract::validate_envelope, bytes, options)
            }
            Kind::Deltas => |bytes, options| judge(Kind::Deltas, contract::validate_deltas, bytes, options),
            Kind::Reconcile => {
                |bytes, options| judge(Kind::Reconcile, contract::validate_reconcile, bytes, options)
            }
            Kind::Watchdog => {
                |bytes, options| judge(Kind::Watchdog, contract::validate_watchdog, bytes, options)
            }
            Kind::Aop => |bytes, options| aop::validate(bytes, options.strict),
            Kind::AopAudit => |bytes, _| aop::audit::validate(bytes),
            Kind::Aee => |bytes, options| aee::validate(bytes, options.strict),
            Kind::Stack => |bytes, options| aocl::stack::validate(bytes, options.strict),
            Kind::Trace => |bytes, _| aocl::trace::validate(bytes),
            Kind::Bridge => |bytes, options| bridge::envelope::validate(bytes, options.strict),
            Kind::Candidate => |bytes, options| bridge::candidate::validate(bytes, options.strict),
            Kind::Harvest => |bytes, options| bridge::harvest::validate(bytes, options.strict),
            Kind::Learning => |bytes, options| bridge::learning::validate(bytes, options.strict),
            Kind::Pattern => |bytes, options| bridge::pattern::validate(bytes, options.strict),
            Kind::Constraint => |bytes, options| bridge::constraint::validate(bytes, options.strict),
            Kind::Stage1 => |bytes, options| bridge::stage1::validate(bytes, options.strict),
            Kind::Memrl => |bytes, options| bridge::memrl::validate(bytes, options.strict),
            Kind::Council => |bytes, options| bridge::council::validate(bytes, options.strict),
            Kind::Promise => |bytes, _| bridge::promise::validate(bytes),
            Kind::Ratchet => |bytes, options| bridge::ratchet::validate(bytes, options.strict),
            Kind::Continuity => |bytes, options| continuity::envelope::validate(bytes, options.strict),
            Kind::Plan => |bytes, options| plan::validate(bytes, options.executors),
        }
    }
}
