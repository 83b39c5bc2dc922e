//! One round of an orchestrator: its deltas are applied, the ledger is reconciled, its assignments go out. Or nothing.

use contract::domain::limits;
use contract::domain::money::MicroUsd;
use contract::domain::status::Status;
use contract::fence;
use contract::operator::{Assignment, Code, OrchestratorOutput, untrusted};
use contract::plan::Budget;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::assignment::issue::{self, settled};
use crate::context::{Context, Key};
use crate::crew::denial::deny;
use crate::crew::packet::{Draft, give_out};
use crate::crew::sheet::{self, Sheet};
use crate::error::Result;
use crate::host::HostView;
use crate::ledger::apply::{self, Request};
use crate::once::Reply;
use crate::record::EventWriter;
use crate::watchdog;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub run_id: String,
    pub created: bool,
    pub version: u64,
    pub ignored: Vec<Value>,
    /// What went out, each with its token.
    pub assignments: Vec<issue::Answer>,
    pub swept: watchdog::Answer,
    pub reconcile: Value,
    /// Why tasks do not go on.
    pub blockers: Vec<Value>,
    /// What could be done now, and what the orchestrator said itself.
    pub next_actions: Vec<String>,
    /// Which fields others wrote: they are data.
    #[serde(default)]
    pub x_untrusted: Value,
}

/// Silent workers are swept first, so that the round sees the ledger as it is. What a sweep finds stands only if the
/// round does.
pub fn step(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let envelope = apply::read(&request.document, request.workspace.as_deref(), request.strict)?;
    cx.once_viewing(key, "orchestrate.step", request, |work| {
        let view = work.view;
        let (mut sheet, created) = apply::sheet(work, &envelope, request)?;
        let mut swept = watchdog::Answer::default();
        watchdog::sweep_run(work, &mut sheet, &mut swept)?;
        let ignored = apply::take(work, &mut sheet, &envelope, request.strict)?;
        let mut assignments = Vec::new();
        for packet in &envelope.assignments {
            assignments.push(send(work, &mut sheet, packet, view)?);
        }
        settled(work.tx, &sheet, work.now, view)?;
        let fold = view.folds_case(&sheet.run.asked.workspace)?;
        let reconcile = sheet.reconcile(work.tx, work.now, fold)?;
        let blockers = work.tx.blockers_of_run(&sheet.run.asked.id)?;
        Ok(Answer {
            run_id: sheet.run_uuid()?,
            created,
            version: sheet.ledger.version,
            ignored: ignored.iter().map(|ignored| json!(ignored)).collect(),
            assignments,
            swept,
            reconcile: json!(reconcile),
            blockers: blockers.into_iter().map(|(_, blocker)| json!(blocker)).collect(),
            next_actions: next_actions(&sheet, &envelope),
            x_untrusted: untrusted(&["$.blockers[*].reason", "$.blockers[*].details"]),
        })
    })
}

/// Refuses what an orchestrator that was asked about one run says of another.
pub fn refuse_other_run(cx: &mut Context, run: &str, document: &Value) -> Result<()> {
    let tx = cx.store.read()?;
    let asked = sheet::uuid(&sheet::find_run(&tx, run)?)?;
    // One that names no run at all is refused as a document.
    match document["run_id"].as_str().filter(|said| !said.eq_ignore_ascii_case(&asked)) {
        None => Ok(()),
        Some(_) => {
            let message = format!("$.run_id is another run's; the orchestrator was asked about {asked}");
            Err(deny(Code::NonCompliant, "identity_mismatch", message)
                .hint("answer with the run_id of the ledger that came on standard input"))
        }
    }
}

fn send(
    work: &mut EventWriter<'_, '_>,
    sheet: &mut Sheet,
    packet: &Assignment,
    view: &HostView,
) -> Result<issue::Answer> {
    let name = packet.task.task_id.clone();
    let row = sheet.row(&name)?;
    let said = packet.extra.get("x_owner").and_then(Value::as_str).filter(|owner| !owner.trim().is_empty());
    let known = Some(row.owner.as_str()).filter(|owner| !owner.trim().is_empty());
    let owner = said.or(known).unwrap_or(work.caller.agent.as_str()).to_owned();
    let number = |name: &str| packet.extra.get(name).and_then(Value::as_i64);
    let planned = sheet.task(&name)?.part.as_ref().map(|part| part.spec.budget).unwrap_or_default();
    let cost = number("x_cost_micro_usd").map(MicroUsd).or(planned.cost);
    let tokens = number("x_tokens").or(planned.tokens);
    let share = Budget { cost, tokens }.share();
    let draft = Draft { reference: name.clone(), packet: json!(packet), owner, share };
    let given = give_out(work, sheet, view, draft)?;
    issue::answer(sheet, &name, given)
}

/// What is ready to be given out, what waits for somebody, and then the orchestrator's own words.
fn next_actions(sheet: &Sheet, envelope: &OrchestratorOutput) -> Vec<String> {
    let mut actions = Vec::new();
    let status = |name| sheet.ledger.rows.get(name).map(|row| row.status);
    for (name, row) in &sheet.ledger.rows {
        let free = row.dependencies().iter().all(|needed| status(needed) == Some(Status::Done));
        match row.status {
            Status::Todo if free => actions.push(format!("give out {name}")),
            Status::Blocked => {
                actions.push(format!("unblock {name}; why, as {}", fence::quoted(&row.reason)));
            }
            Status::InProgress => actions.push(format!("wait for {name}")),
            Status::Todo | Status::Done | Status::Failed | Status::Canceled => {}
        }
    }
    let said = envelope.next_actions.iter();
    actions.extend(said.map(|text| format!("the orchestrator said, as {}", fence::quoted(text))));
    actions.truncate(limits::LIST_ROWS_MAX);
    actions
}
