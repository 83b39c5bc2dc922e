//! What a layer is: its signature, its place in the walk, and what it gets.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aee::Envelope;
use contract::aocl::payload::{Delegation, RunSummary, Verification};
use contract::aocl::{Bundle, Layer};
use contract::aop::needs::NeedsJudgment;
use contract::domain::attempt::Attempt;
use contract::domain::executor::ExecutorName;
use contract::domain::policy::Policy;
use contract::domain::run::NewRun;
use contract::domain::task::{PlanPart, Task};
use contract::domain::time::Timestamp;
use contract::json::Value;

use super::l6_shape::Shaped;
use super::l7_delegate::DelegateFacts;
use super::l8_verify::{AttemptVerdict, VerifyFacts};
use super::l9_assemble::{FinalAnswer, WalkEnd};
use super::{Executed, Outcome};

/// Every layer has this signature. It is pure: the same input gives the same outcome.
pub(crate) type LayerFn = fn(&LayerInput<'_>) -> Outcome;

/// A built-in layer. Its file declares it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerSpec {
    pub(crate) layer: Layer,
    pub(crate) stage: Stage,
    /// Whether the engine relies on it: a stack without it is refused.
    pub(crate) is_required: bool,
    /// Whether it runs again when a run is continued that has passed it.
    pub(crate) is_repeated: bool,
    pub(crate) run: LayerFn,
}

/// When a layer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Once for the run, before its tasks.
    Enter,
    /// For each attempt of a task, before its executor starts.
    Start,
    /// For each attempt, after its executor and its checks have ended.
    End,
    /// Once for the run, after its tasks.
    Leave,
}

impl LayerSpec {
    pub(super) const fn new(layer: Layer, stage: Stage, run: LayerFn) -> Self {
        Self { layer, stage, is_required: false, is_repeated: false, run }
    }

    pub(super) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    pub(super) const fn repeated(self) -> Self {
        Self { is_repeated: true, ..self }
    }
}

/// What every layer gets.
pub(crate) struct LayerInput<'i> {
    /// The name of the layer in this stack.
    pub(crate) id: &'i str,
    pub(crate) view: ContextView<'i>,
    pub(crate) fetched: &'i Fetched<'i>,
}

/// The context of the walk, and typed access to what layers read from it.
pub(crate) struct ContextView<'v> {
    pub(crate) bundle: &'v Bundle,
    /// What earlier layers of the same stage handed on.
    pub(crate) handed: &'v [Handed],
    /// The layers that have a record.
    pub(crate) executed: &'v [Executed],
    pub(crate) delegations: &'v [Delegation],
}

impl<'v> ContextView<'v> {
    /// The brief of the task that is about to start.
    pub(super) fn brief(&self) -> &'v str {
        let is_brief = |handed: &'v Handed| {
            if let Handed::Brief(brief) = handed { Some(brief.as_str()) } else { None }
        };
        self.handed.iter().rev().find_map(is_brief).unwrap_or("")
    }

    /// The lesson that the audit of an earlier walk left for the task with this number.
    pub(super) fn lesson(&self, number: i64) -> Option<&'v str> {
        self.bundle.get(&format!("C6.Audit.lessons.t{number}")).and_then(Value::as_str)
    }
}

/// What a layer hands to later steps beside the context: values that must not or need not be stored there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Handed {
    Nothing,
    /// The brief of an attempt.
    Brief(String),
    /// What an executor is given.
    Launch(Box<Shaped>),
    Judged(Box<Judgment>),
    /// The answer of the run.
    Answer(Box<FinalAnswer>),
    Summary(Box<RunSummary>),
}

impl Handed {
    pub(crate) fn into_launch(self) -> Option<Box<Shaped>> {
        if let Handed::Launch(launch) = self { Some(launch) } else { None }
    }

    pub(crate) fn into_judgment(self) -> Option<Box<Judgment>> {
        if let Handed::Judged(judgment) = self { Some(judgment) } else { None }
    }
}

/// The verdict about an attempt, and how it is published.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgment {
    pub(crate) verdict: AttemptVerdict,
    pub(crate) verification: Verification,
}

/// What the runner fetched for the layers of a stage.
pub(crate) enum Fetched<'f> {
    Enter(RunFacts<'f>),
    Start(StartFacts<'f>),
    End(EndFacts<'f>),
    Leave(LeaveFacts<'f>),
}

/// About a run that enters the walk.
pub(crate) struct RunFacts<'f> {
    pub(crate) run: &'f NewRun,
    /// Whether the run's workspace is a directory on the disk.
    pub(crate) workspace_exists: bool,
    /// The envelope that an `aee.context.fetch` asks for, if the store has it.
    pub(crate) envelope: Option<Envelope>,
    pub(crate) is_healthy: bool,
    pub(crate) policy: &'f Policy,
    pub(crate) now: Timestamp,
}

/// About an attempt that is about to start.
pub(crate) struct StartFacts<'f> {
    pub(crate) run: &'f NewRun,
    pub(crate) task: &'f Task,
    pub(crate) part: &'f PlanPart,
    pub(crate) dependencies: Vec<&'f Task>,
    pub(crate) attempts: &'f [Attempt],
    pub(crate) attempt_number: i64,
    pub(crate) choice: AttemptChoice<'f>,
    pub(crate) timeout_max: Option<Duration>,
    /// What the user configured for the executor. The task's own win.
    pub(crate) executor_env: &'f BTreeMap<String, String>,
    /// The execution profile that the TASK asks for, and whether its executor has such a setting.
    pub(crate) profile: Option<(&'static str, bool)>,
    /// The model of a TASK that its executor has no setting for.
    pub(crate) unused_model: Option<&'f str>,
    /// Looks up writ's own environment, for `env:NAME`.
    pub(crate) lookup: &'f dyn Fn(&str) -> Option<String>,
    /// Whether this machine has what the TASK needs.
    pub(crate) needs: &'f NeedsJudgment,
}

/// What an attempt is made with.
#[derive(Clone, Copy)]
pub(crate) struct AttemptChoice<'f> {
    pub(crate) executor: &'f ExecutorName,
    pub(crate) model: Option<&'f str>,
    /// Why that is not the same as before.
    pub(crate) fallback: Option<&'f str>,
    /// Why it is not the model that the task names.
    pub(crate) escalated: Option<&'f str>,
}

/// About an attempt that has ended.
pub(crate) struct EndFacts<'f> {
    pub(crate) returned: DelegateFacts<'f>,
    pub(crate) verify: VerifyFacts<'f>,
}

/// About a run that leaves the walk.
pub(crate) struct LeaveFacts<'f> {
    pub(crate) run: &'f NewRun,
    pub(crate) tasks: &'f [(Task, Vec<Attempt>)],
    pub(crate) end: &'f WalkEnd,
    pub(crate) stack_id: &'f str,
    pub(crate) branch: Option<String>,
    pub(crate) total_ms: u64,
}

const WRONG_STAGE: &str = "BUG: a layer reads what was fetched for another stage";

impl<'i> LayerInput<'i> {
    pub(super) fn enter(&self) -> &'i RunFacts<'i> {
        let Fetched::Enter(facts) = self.fetched else { unreachable!("{WRONG_STAGE}") };
        facts
    }

    pub(super) fn start(&self) -> &'i StartFacts<'i> {
        let Fetched::Start(facts) = self.fetched else { unreachable!("{WRONG_STAGE}") };
        facts
    }

    pub(super) fn end(&self) -> &'i EndFacts<'i> {
        let Fetched::End(facts) = self.fetched else { unreachable!("{WRONG_STAGE}") };
        facts
    }

    pub(super) fn leave(&self) -> &'i LeaveFacts<'i> {
        let Fetched::Leave(facts) = self.fetched else { unreachable!("{WRONG_STAGE}") };
        facts
    }
}
