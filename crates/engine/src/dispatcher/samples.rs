//! Values that the tests of the dispatcher share.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::event::Body;
use contract::domain::attempt::{Attempt, AttemptState};
use contract::domain::plan::PlanTask;
use contract::domain::status::Status;
use contract::secrets::Hidden;

use super::live::{AttemptPhase, AttemptReturn, AttemptStart, ExecutorRun, Live, ReturnStep, WorkStep};
use super::processes::RunningProcess;
use super::task_work::TaskWork;
use crate::beats::Beats;
use crate::executor::{ChildEnd, Claims, LineBuffer, OutputLine, Reader, ResponseReport, Returned, Stdout};
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::pipeline::samples;
use crate::sandbox::Denials;
use crate::supervisor::{LaunchSpec, Marker, OwnerIdentity};

/// A task in progress.
pub(super) fn work(spec: PlanTask, attempts: Vec<Attempt>) -> TaskWork {
    let mut task = samples::task(1, spec);
    task.status = Status::InProgress;
    TaskWork::new(0, task, attempts)
}

/// An attempt with a minute of time. Its executor runs as process 1 since time 0.
pub(super) fn executing(beats: Option<Beats>) -> Live {
    let process = RunningProcess { number: 1, deadline_ms: 60_000 };
    working(WorkStep::Executing { process, last_sign_ms: 0 }, beats)
}

pub(super) fn working(step: WorkStep, beats: Option<Beats>) -> Live {
    let attempt = samples::attempt(AttemptState::Started, "").begun;
    let owner = OwnerIdentity::process(1, 1, "boot".to_owned());
    let marker = Marker { attempt: attempt.id.clone(), owner };
    let executor = ExecutorRun {
        step,
        launch: LaunchSpec::new(vec!["true".into()], "/".into(), marker),
        reader: Box::new(Silent),
        stdout: Stdout::Text,
        lines: LineBuffer::default(),
        beats,
        heartbeat: None,
        denials: Denials::of_aop(false),
        log: None,
        door: None,
        ended: ChildEnd::default(),
    };
    let start = AttemptStart {
        attempt,
        started_at: samples::now(),
        timeout: Duration::from_mins(1),
        hidden: Hidden::default(),
        inputs: BTreeMap::new(),
        took_over: None,
        snapshot: None,
        writable: None,
        inside: None,
        overruled: BTreeMap::new(),
    };
    let phase = AttemptPhase::Working(Box::new(executor));
    Live { start, stopped: None, parkings: 0, late_since_ms: None, warnings: Vec::new(), phase }
}

/// An attempt that claims success and is at this step.
pub(super) fn returned(step: ReturnStep) -> Live {
    let mut live = executing(None);
    live.phase = AttemptPhase::Returned(Box::new(AttemptReturn {
        step,
        ended: ChildEnd::default(),
        digests: None,
        claim: ExecutorClaim::Success,
        claims: Claims::default(),
        reported: ResponseReport::default(),
        cost_basis: None,
        agent_session: None,
        session_total: None,
        limited: None,
        silences: None,
        outside: None,
        withheld: Vec::new(),
        seen: Vec::new(),
    }));
    live
}

struct Silent;

impl Reader for Silent {
    fn line(&mut self, _: OutputLine<'_>) -> Vec<Body> {
        Vec::new()
    }

    fn end(&mut self, _: &ChildEnd) -> Returned {
        Returned::plain(ExecutorClaim::Success)
    }
}
