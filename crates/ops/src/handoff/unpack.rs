//! Writes a bundle into the store, as events.

mod grants;
mod questions;
mod rows;
mod written;

use std::collections::BTreeMap;

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::{Event, mint};
use contract::domain::plan::{Budget, Plan};
use contract::domain::run::{DocumentKind, NewRun, RunId, RunState};
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use contract::operator::handoff::HandoffRow;
use contract::operator::handoff::bundle::HandoffBundle;
use contract::operator::{Code, Options, Tripwire};

use super::gather::own_constraints;
use super::import::Request;
use crate::crew::denial::deny;
use crate::error::Result;
use crate::host::HostView;
use crate::record::{About, EventWriter};

/// What every part of the import needs.
struct Unpacking<'b> {
    bundle: &'b HandoffBundle,
    about: About,
    run_id: RunId,
    view: &'b HostView,
    workspace: &'b str,
    tripwire: Tripwire,
    tasks: BTreeMap<TaskRef, TaskId>,
}

/// Writes the whole bundle. Its tokens are valid in this store.
pub(super) fn unpack(
    work: &mut EventWriter<'_, '_>,
    run_id: &RunId,
    bundle: &HandoffBundle,
    (request, digest): (&Request, &str),
    environment: &AuthorEnvironment,
) -> Result<()> {
    let view = work.view;
    let run = new_run(work, run_id, bundle, &request.workspace, environment)?;
    let about = crate::run::accept::announce(work, &run)?;
    let about = About { reply_to: Some(run.origin_id), ..about };
    let workspace = &request.workspace;
    let tasks = BTreeMap::new();
    let (run, tripwire) = (run_id.clone(), request.tripwire);
    let mut unpacking = Unpacking { bundle, about, run_id: run, view, workspace, tripwire, tasks };
    unpacking.rows(work)?;
    if let Some(purse) = bundle.carried.x_budget {
        let set = CrewChange::BudgetSet { run_id: run_id.clone(), limit: purse.limit };
        unpacking.say(work, None, "Budget imported", set)?;
    }
    unpacking.locks(work)?;
    unpacking.assignments(work)?;
    unpacking.withheld(work)?;
    unpacking.results(work)?;
    unpacking.blockers(work)?;
    unpacking.worklogs(work)?;
    unpacking.approvals(work)?;
    let taken = CrewChange::HandoffTaken {
        run_id: run_id.clone(),
        digest: digest.to_owned(),
        ledger_version: bundle.carried.x_run.version,
        fencing: bundle.carried.x_run.fencing,
        spent: bundle.carried.x_budget.map(|purse| purse.spent),
        deltas: bundle.carried.x_applied.clone(),
        constraints: Some(bundle.handoff.constraints.clone())
            .filter(|given| *given != own_constraints(bundle.carried.x_run.max_parallel)),
    };
    unpacking.say(work, None, &format!("Imported from {digest}"), taken)?;
    unpacking.run_state(work)
}

fn new_run(
    work: &mut EventWriter<'_, '_>,
    id: &RunId,
    bundle: &HandoffBundle,
    workspace: &str,
    environment: &AuthorEnvironment,
) -> Result<NewRun> {
    let run = &bundle.carried.x_run;
    let objective = bundle.handoff.objective.clone();
    Ok(NewRun {
        id: id.clone(),
        corr: run.corr.clone(),
        origin_id: mint::<Event>(work.ids, work.now.at).to_string(),
        kind: DocumentKind::Ledger,
        plan: Plan {
            objective: objective.clone(),
            workspace: None,
            max_parallel: run.max_parallel,
            // The limit is imported with what is reserved and spent of it.
            budget: Budget::default(),
            tasks: bundle.rows.iter().map(|row| row.x_spec.clone()).collect(),
        },
        plan_priority: None,
        objective,
        workspace: workspace.to_owned(),
        intent: run.intent.clone(),
        requested_by: work.caller.entity.clone(),
        depth: 1,
        parent_run: None,
        parent_task: None,
        document_digest: run.document_digest.clone(),
        // Another machine's would name nothing here: the checks run in the importer's environment.
        environment: Some(environment.clone()),
        session_id: None,
        warnings: Vec::new(),
    })
}

impl Unpacking<'_> {
    fn say(
        &self,
        work: &mut EventWriter<'_, '_>,
        task: Option<&TaskId>,
        message: &str,
        change: CrewChange,
    ) -> Result<()> {
        let about = About { task_id: task.cloned(), ..self.about.clone() };
        work.change(&about, message, &Change::Crew(change))?;
        Ok(())
    }

    fn options(&self) -> Options<'_> {
        Options { tripwire: self.tripwire, ..Options::default() }
    }

    fn task(&self, name: &TaskRef) -> Result<&TaskId> {
        self.tasks.get(name).ok_or_else(|| {
            deny(Code::LedgerInconsistent, "base_row_missing", format!("{name} is not in the ledger"))
        })
    }

    fn run_state(&self, work: &mut EventWriter<'_, '_>) -> Result<()> {
        let to = self.bundle.carried.x_run.state;
        if to == RunState::Submitted {
            return Ok(());
        }
        let run_id = self.run_id.clone();
        let moved = Change::RunMoved { run_id, from: RunState::Submitted, to, result: None };
        work.change(&self.about, &format!("Run is {}", to.as_str()), &moved)?;
        Ok(())
    }
}

fn heard(row: &HandoffRow) -> Option<Timestamp> {
    row.last_heartbeat_at.as_deref().and_then(Timestamp::parse_utc)
}
