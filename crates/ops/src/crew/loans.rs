//! Money for the runs that a task starts: it comes out of the task's own share and goes back there.

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::budget::{Amount, BudgetFault, Delegated};
use contract::domain::plan::Budget;
use contract::domain::run::{Run, RunId};
use contract::domain::task::Task;
use contract::plan::choice::standing;
use store::{Reservation, Tx};

use super::admission::Obstacle;
use super::grants::ancestors;
use crate::error::Result;
use crate::record::EventWriter;

/// What the runs that a task started use.
pub(crate) fn delegated(tx: &Tx<'_>, task: &Task) -> Result<Delegated> {
    let Some(part) = &task.part else { return Ok(Delegated::default()) };
    let Some(run) = tx.run(&part.run_id)? else { return Ok(Delegated::default()) };
    Ok(tx.delegated(&run.asked.corr, &task.id)?)
}

/// What a task has left of its budget: without what its attempts and the runs that it started use.
pub(crate) fn left(tx: &Tx<'_>, task: &Task) -> Result<Budget> {
    let delegated = delegated(tx, task)?.used();
    Ok(own(tx, task)?.without(delegated))
}

/// Its budget without what its own attempts are known to have spent.
fn own(tx: &Tx<'_>, task: &Task) -> Result<Budget> {
    Ok(budget(task).without(known(tx, task)?))
}

fn known(tx: &Tx<'_>, task: &Task) -> Result<Amount> {
    let Some(part) = &task.part else { return Ok(Amount::default()) };
    let spent = standing(&part.spec, &tx.attempts_of_task(&task.id)?);
    Ok(Amount { cost: spent.cost, tokens: spent.tokens })
}

/// The part of its budget that is left for the runs it starts. A possible spending of an ended attempt is not lent; the
/// caller that starts another attempt accepts it.
fn lendable(tx: &Tx<'_>, task: &Task) -> Result<Budget> {
    let Some(part) = &task.part else { return Ok(Budget::default()) };
    if tx.has_open_attempt(&task.id)? {
        return own(tx, task);
    }
    Ok(part.spec.budget.without(known(tx, task)?.at_least(tx.booked(&part.run_id, &task.id)?)))
}

/// The tasks that started a run, from the inside out.
fn starters(tx: &Tx<'_>, run: &Run) -> Result<Vec<Task>> {
    let mut found = Vec::new();
    for id in ancestors(tx, run)? {
        found.extend(tx.task(&id)?);
    }
    Ok(found)
}

/// Whether a share fits in what each of the tasks that started the run has left. What its other runs hold may come back.
pub(super) fn fits(tx: &Tx<'_>, run: &Run, share: Amount) -> Result<std::result::Result<(), Obstacle>> {
    for task in starters(tx, run)? {
        let (own, delegated) = (lendable(tx, &task)?, delegated(tx, &task)?);
        let wanted = own.limited(share);
        // What is left, where it is too little.
        let short = |used| own.without(used).share().filter(|left| !wanted.fits_in(*left));
        if let Some(left) = short(delegated.used()) {
            let passes = short(delegated.gone()).is_none();
            return Ok(Err(Obstacle::Budget {
                fault: BudgetFault::Exhausted { share: wanted, left },
                passes,
            }));
        }
    }
    Ok(Ok(()))
}

/// Frees a share in the budget of `payer` where the tasks that started the run hold it. Says what they keep, which is not
/// released before the run has ended.
pub(super) fn take(
    work: &mut EventWriter<'_, '_>,
    run: &Run,
    payer: &RunId,
    share: Amount,
) -> Result<Amount> {
    let (mut missing, mut kept) = (share, Amount::default());
    for (task, held) in lenders(work.tx, run, payer)? {
        let taken = budget(&task).limited(missing).at_most(held.amount).at_least_nothing();
        missing = missing.minus(taken);
        let rest = held.amount.minus(taken);
        kept = kept.plus(rest);
        hold(work, &task, &held, rest)?;
    }
    Ok(kept)
}

/// Returns to the tasks that started the task's run what it did not use of a reservation.
pub(crate) fn give_back(
    work: &mut EventWriter<'_, '_>,
    task: &Task,
    payer: &RunId,
    unused: Amount,
) -> Result<()> {
    let Some(part) = &task.part else { return Ok(()) };
    if part.run_id == *payer {
        return Ok(());
    }
    let run = crate::run::required(work.tx, &part.run_id)?;
    let mut unused = unused;
    for (starter, held) in lenders(work.tx, &run, payer)? {
        // Work that cost more than its share uses up what they hold.
        let now = held.amount.plus(budget(&starter).limited(unused)).at_least_nothing();
        unused = unused.minus(now.minus(held.amount));
        hold(work, &starter, &held, now)?;
    }
    Ok(())
}

/// The tasks that started a run and work now, from the inside out, each with what it holds in the budget of `payer`.
fn lenders(tx: &Tx<'_>, run: &Run, payer: &RunId) -> Result<Vec<(Task, Reservation)>> {
    let mut found = Vec::new();
    for task in starters(tx, run)? {
        if tx.has_open_attempt(&task.id)? {
            let held = tx.open_reservations(&task.id)?.into_iter().find(|held| held.run_id == *payer);
            found.extend(held.map(|held| (task, held)));
        }
    }
    Ok(found)
}

fn budget(task: &Task) -> Budget {
    task.part.as_ref().map(|part| part.spec.budget).unwrap_or_default()
}

/// Changes what a task holds. What it gives up is free until the same transaction reserves it for another task.
fn hold(work: &mut EventWriter<'_, '_>, task: &Task, held: &Reservation, amount: Amount) -> Result<()> {
    if amount == held.amount {
        return Ok(());
    }
    let about = crate::task::about(work.tx, task)?;
    let released = CrewChange::BudgetBooked {
        token: held.token,
        run_id: held.run_id.clone(),
        task_id: task.id.clone(),
        reserved: held.amount,
        spent: Amount::default(),
        withheld: Amount::default(),
    };
    work.change(&about, "Reservation changed for a run that the task started", &Change::Crew(released))?;
    let reserved = CrewChange::BudgetReserved {
        token: work.tx.next_number("fencing")?,
        run_id: held.run_id.clone(),
        task_id: task.id.clone(),
        amount,
    };
    let message = format!("{} and {} tokens reserved", amount.cost, amount.tokens);
    work.change(&about, &message, &Change::Crew(reserved))?;
    Ok(())
}
