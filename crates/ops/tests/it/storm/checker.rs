//! Reads the whole log and believes nothing: what must never have happened is looked for event by event.

use std::collections::BTreeMap;
use std::path::Path;

use contract::domain::change::Change;
use contract::domain::crew::budget::{Amount, Purse};
use contract::domain::crew::lock::{Grant, LockMode, place};
use contract::domain::crew::{CrewChange, Ended};
use contract::domain::scope::Scope;
use contract::domain::status::{Evidence, Status};
use contract::domain::task::TaskId;
use contract::domain::time::Clock;
use ops::ledger;
use store::{EventFilter, LoggedEvent, Store};

use super::{FastClock, open};
use crate::crew_world::purse;

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) grants: u32,
    pub(super) results: u32,
    pub(super) verified: u32,
    pub(super) timeouts: u32,
    /// Grants that were over before their holder came back.
    pub(super) stale: u32,
}

#[derive(Default)]
struct Checker {
    told: Told,
    last_token: i64,
    live: BTreeMap<i64, Live>,
    /// The open assignment of each task.
    out: BTreeMap<TaskId, i64>,
    /// What was shown for a task and not yet used for a done.
    shown: BTreeMap<TaskId, bool>,
    purse: Purse,
    reserved: BTreeMap<i64, Amount>,
}

struct Live {
    task_id: TaskId,
    places: Vec<(Scope, LockMode)>,
}

pub(super) fn check(directory: &Path, run: &str) -> Told {
    let mut store = Store::open(&directory.join("writ.db"), FastClock.now().at).unwrap();
    let mut checker = Checker::default();
    let tx = store.read().unwrap();
    let mut after_id = 0;
    loop {
        let filter = EventFilter { after_id, oldest_first: true, limit: 500, ..EventFilter::default() };
        let page = tx.events(&filter).unwrap();
        let Some(last) = page.last() else { break };
        after_id = last.id;
        for event in page {
            checker.take(&event);
        }
    }
    assert!(tx.verify(None).unwrap().is_clean());
    drop(tx);
    let mut cx = open(directory, 999);
    assert_eq!(ops::audit::replay_differences(&mut cx).unwrap(), Vec::<String>::new());
    assert_eq!(purse(&mut cx, run), checker.purse, "the books are what the log says");
    let held: Vec<i64> = checker.live.keys().copied().collect();
    let shown = ledger::show::show(&mut cx, &ledger::show::Request { run: run.to_owned() }).unwrap();
    let mut listed: Vec<i64> =
        shown.active_locks.iter().map(|lock| lock["x_fencing_token"].as_i64().unwrap()).collect();
    listed.dedup();
    assert_eq!(listed, held, "what is held is what the log says");
    checker.told
}

impl Checker {
    fn take(&mut self, event: &LoggedEvent) {
        if !event.record.is_change {
            return;
        }
        let at = event.id;
        let change: Change = serde_json::from_value(event.record.payload.clone()).unwrap();
        match change {
            Change::TaskMoved { task_id, to, evidence, .. } => self.moved(at, &task_id, to, evidence),
            Change::Crew(change) => self.crew(at, change),
            _ => {}
        }
    }

    fn crew(&mut self, at: i64, change: CrewChange) {
        match change {
            CrewChange::LocksGranted { grant } => self.granted(at, &grant),
            CrewChange::LocksReleased { token, task_id, .. } => {
                let live =
                    self.live.remove(&token).unwrap_or_else(|| panic!("event {at}: {token} is not held"));
                assert_eq!(live.task_id, task_id, "event {at}");
            }
            CrewChange::AssignmentIssued { token, task_id, .. } => {
                assert!(self.live.contains_key(&token), "event {at}: given out without its locks");
                let before = self.out.insert(task_id, token);
                assert_eq!(before, None, "event {at}: given out twice");
            }
            CrewChange::AssignmentEnded { token, task_id, ended, .. } => {
                assert_eq!(self.out.remove(&task_id), Some(token), "event {at}");
                self.told.timeouts += u32::from(ended == Ended::TimedOut);
                self.told.stale += u32::from(ended != Ended::Submitted);
            }
            CrewChange::ResultAccepted { token, task_id, status, checks, .. } => {
                assert_eq!(self.out.get(&task_id), Some(&token), "event {at}: a stale token was accepted");
                assert!(self.live.contains_key(&token), "event {at}: its locks were gone");
                self.told.results += 1;
                let proven =
                    status == "done" && !checks.is_empty() && checks.iter().all(|check| check.passed);
                self.shown.insert(task_id, proven);
            }
            CrewChange::BudgetSet { limit, .. } => self.purse.limit = limit,
            CrewChange::BudgetReserved { token, amount, .. } => {
                assert!(amount.fits_in(self.purse.free()), "event {at}: more than there was");
                self.purse.reserved = self.purse.reserved.plus(amount);
                assert_eq!(self.reserved.insert(token, amount), None, "event {at}");
            }
            CrewChange::BudgetBooked { token, reserved, spent, withheld, .. } => {
                assert_eq!(
                    self.reserved.remove(&token),
                    Some(reserved),
                    "event {at}: booked what was not reserved"
                );
                assert!(spent.plus(withheld).fits_in(reserved), "event {at}");
                self.purse.reserved = self.purse.reserved.minus(reserved);
                self.purse.spent = self.purse.spent.plus(spent);
                self.purse.withheld = self.purse.withheld.plus(withheld);
            }
            CrewChange::BudgetSettled { withheld, spent, .. } => {
                assert!(spent.fits_in(withheld), "event {at}: more than was withheld");
                self.purse.withheld = self.purse.withheld.minus(withheld);
                self.purse.spent = self.purse.spent.plus(spent);
            }
            _ => {}
        }
        let purse = &self.purse;
        let in_use = purse.reserved.plus(purse.spent).plus(purse.withheld);
        assert_eq!(purse.free().plus(in_use), purse.limit, "event {at}");
        assert!(!purse.withheld.is_negative(), "event {at}");
    }

    fn granted(&mut self, at: i64, grant: &Grant) {
        self.told.grants += 1;
        assert!(grant.token > self.last_token, "event {at}: tokens only grow");
        self.last_token = grant.token;
        let places: Vec<(Scope, LockMode)> = grant
            .scopes
            .iter()
            .map(|wanted| (place(&grant.workspace, &wanted.scope).unwrap(), wanted.mode))
            .collect();
        for (token, live) in self.live.iter().filter(|(_, live)| live.task_id != grant.task_id) {
            for (held, held_mode) in &live.places {
                for (wanted, mode) in &places {
                    let shared = *mode == LockMode::Shared && *held_mode == LockMode::Shared;
                    let apart = shared || !held.overlaps(wanted);
                    assert!(apart, "event {at}: {wanted} was granted while {token} held {held}");
                }
            }
        }
        self.live.insert(grant.token, Live { task_id: grant.task_id.clone(), places });
    }

    fn moved(&mut self, at: i64, task_id: &TaskId, to: Status, evidence: Option<Evidence>) {
        if to != Status::Done {
            return;
        }
        assert_eq!(evidence, Some(Evidence::Verified), "event {at}: the task has a check");
        assert_eq!(self.shown.remove(task_id), Some(true), "event {at}: done without its evidence");
        self.told.verified += 1;
    }
}
