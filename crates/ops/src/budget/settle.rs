//! Settles what is withheld for a task that never reported what it spent.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::CrewChange;
use contract::domain::crew::budget::{Amount, SettleFault, Settled, Spent};
use contract::domain::money::MicroUsd;
use contract::domain::principal::Action;
use contract::domain::task::Task;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Reservation, Tx};

use super::Shares;
use crate::context::{Context, Session};
use crate::crew::denial::deny;
use crate::crew::ledger_state::{find_run, uuid};
use crate::crew::loans;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Settle;

impl Verb for Settle {
    const NAME: &'static str = "budget.settle";
    const COMMAND: &'static str = "budget settle";
    const SUMMARY: &'static str = "Say what a task spent that did not report it";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Shares;
    const FUNCTION: Function<Self> = Function::Once(settle);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run's id, a unique prefix of it, its correlation id, or `@last` for the newest.
    pub run: String,
    /// The task: its id in the plan, its `T-n`, its id, or a unique prefix of it.
    pub task: String,
    /// What all of its attempts without a report cost together, in micro-USD. A missing amount stays withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
}

/// Turns what is withheld for the task into spent and free money, in the budgets of its run and of the runs that
/// started it. Refuses more than what is withheld.
pub fn settle(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Shares>> {
    if request.cost.is_none() && request.tokens.is_none() {
        return Err(Error::new(ErrorCode::Usage, "cost or tokens is required")
            .hint("say what the task cost, how many tokens it used, or both"));
    }
    let run = cx.run_id_once(session, &request.run)?;
    let prepare = |cx: &mut Context| {
        let action = judge(&cx.store.read()?, &run, request)?;
        cx.decision(session, action)
    };
    cx.decide_once(session, (Settle::NAME, request), prepare, |work, decision| {
        let action = judge(work.tx, &run, request)?;
        let work = &mut decision.act(work, &action)?;
        let run = find_run(work.tx, &run)?;
        let task = crate::names::task_of_run(work.tx, &run.asked.id, &request.task)?;
        let withheld = withheld(work.tx, &task)?;
        for payer in payers(&withheld) {
            let of_payer: Vec<&Reservation> = payer.collect();
            settle_one(work, &task, &of_payer, request)?;
        }
        let purse = work.tx.purse(&run.asked.id)?.unwrap_or_default();
        Ok(Shares::of(uuid(&run)?, purse))
    })
}

/// What a person decides. Nobody is asked about what would be refused.
fn judge(tx: &Tx<'_>, run: &str, request: &Request) -> Result<Action> {
    let run = find_run(tx, run)?;
    let task = crate::names::task_of_run(tx, &run.asked.id, &request.task)?;
    let withheld = withheld(tx, &task)?;
    for payer in payers(&withheld) {
        settled(&task, &payer.collect::<Vec<_>>(), request)?;
    }
    // Every payer withholds the same parts, so those of one are what the task has.
    let mut of_task = Amount::default();
    for part in payers(&withheld).next().into_iter().flatten() {
        of_task = of_task.plus(part.amount);
    }
    let cost = request.cost.map_or_else(|| "an unknown amount".to_owned(), |cost| cost.to_string());
    let tokens =
        request.tokens.map_or_else(|| "an unknown number of".to_owned(), |tokens| tokens.to_string());
    let question = format!(
        "Settle the budget of {} ({}) of {}: of {} and {} tokens that are withheld it spent {cost} and {tokens} tokens, \
         and the rest is free again",
        task.id, task.title, run.asked.id, of_task.cost, of_task.tokens
    );
    Ok(Action::new(Settle::NAME, question))
}

fn withheld(tx: &Tx<'_>, task: &Task) -> Result<Vec<Reservation>> {
    let withheld = tx.withheld_reservations(&task.id)?;
    if withheld.is_empty() {
        return Err(refused(task, SettleFault::NothingWithheld, Amount::default()));
    }
    Ok(withheld)
}

/// The withheld parts, by the run that owns the budget.
fn payers(withheld: &[Reservation]) -> impl Iterator<Item = impl Iterator<Item = &Reservation>> {
    let mut runs = Vec::new();
    for part in withheld {
        if !runs.contains(&&part.run_id) {
            runs.push(&part.run_id);
        }
    }
    runs.into_iter().map(|run| withheld.iter().filter(move |part| part.run_id == *run))
}

fn settle_one(
    work: &mut EventWriter<'_, '_>,
    task: &Task,
    withheld: &[&Reservation],
    request: &Request,
) -> Result<()> {
    for (part, Settled { withheld, spent }) in withheld.iter().zip(settled(task, withheld, request)?) {
        let change = CrewChange::BudgetSettled {
            token: part.token,
            run_id: part.run_id.clone(),
            task_id: task.id.clone(),
            withheld,
            spent,
        };
        let message = format!("Budget settled: {} and {} tokens were spent", spent.cost, spent.tokens);
        let about = crate::task::about(work.tx, task)?;
        work.change(&about, &message, &Change::Crew(change))?;
        loans::give_back(work, task, &part.run_id, withheld.minus(spent))?;
    }
    Ok(())
}

fn settled(task: &Task, withheld: &[&Reservation], request: &Request) -> Result<Vec<Settled>> {
    let amounts: Vec<Amount> = withheld.iter().map(|part| part.amount).collect();
    let total = Spent { cost: request.cost, tokens: request.tokens };
    let sum = amounts.iter().copied().fold(Amount::default(), Amount::plus);
    contract::domain::crew::budget::settle(&amounts, total).map_err(|fault| refused(task, fault, sum))
}

fn refused(task: &Task, fault: SettleFault, withheld: Amount) -> Error {
    let name = task.part.as_ref().map_or_else(|| task.id.to_string(), |part| part.spec.id.clone());
    let message = match fault {
        SettleFault::NothingWithheld => format!("nothing of this kind is withheld for `{name}`"),
        SettleFault::AboveWithheld => {
            format!(
                "{} and {} tokens are withheld for `{name}`; it cannot have spent {fault}",
                withheld.cost, withheld.tokens
            )
        }
        SettleFault::Negative => fault.to_string(),
    };
    deny(Code::NonCompliant, fault.rule(), message)
}
