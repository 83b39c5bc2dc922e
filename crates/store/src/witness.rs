//! Two witnesses of the time: the clock of a call, and an event that was in the log before it. What is deleted for its age
//! must be old by both, so that one call with a wrong clock deletes nothing.

use std::cell::Cell;

use contract::domain::time::Timestamp;
use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::{Store, Tx};

/// Which events are earlier ones. Milliseconds; the inner value is `None` in an empty log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Witness {
    /// Each transaction is a call: all events before it count.
    #[default]
    EachTransaction,
    /// The whole use of the store is one call: only events before its first one count. `None` until that is known.
    Whole(Option<Option<i64>>),
}

/// The times of the last events, as one transaction sees them.
pub(crate) struct Times<'s> {
    witness: &'s Cell<Witness>,
    known: Cell<Option<KnownEvents>>,
}

#[derive(Debug, Clone, Copy)]
struct KnownEvents {
    /// Of the last event before this transaction.
    before: Option<i64>,
    /// Of the last event.
    last: Option<i64>,
}

impl<'s> Times<'s> {
    pub(crate) fn new(witness: &'s Cell<Witness>) -> Self {
        Self { witness, known: Cell::new(None) }
    }
}

impl Store {
    /// Changes which events confirm the time of later transactions. Returns what held before.
    pub fn use_witness(&self, witness: Witness) -> Witness {
        self.witness.replace(witness)
    }
}

impl Tx<'_> {
    /// The time that both `now` and an earlier event have reached. What expired before it may be deleted; what expired
    /// later is only hidden.
    pub fn confirmed(&self, now: Timestamp) -> Result<Timestamp> {
        let before = self.times()?.before;
        let earlier = match self.times.witness.get() {
            Witness::EachTransaction | Witness::Whole(None) => before,
            Witness::Whole(Some(first)) => first,
        };
        Ok(earlier.map_or(Timestamp::from_millis(0), |earlier| now.min(Timestamp::from_millis(earlier))))
    }

    /// By how much an event at this time would be before the last one.
    pub(crate) fn steps_back_ms(&self, at: i64) -> Result<Option<i64>> {
        let last = self.times()?.last.unwrap_or(at);
        Ok(Some(last.saturating_sub(at)).filter(|back| *back > 0))
    }

    /// Keeps in mind that an event was appended.
    pub(crate) fn event_happened(&self, at: i64) {
        if let Some(known) = self.times.known.get() {
            self.times.known.set(Some(KnownEvents { last: Some(at), ..known }));
        }
    }

    fn times(&self) -> Result<KnownEvents> {
        if let Some(known) = self.times.known.get() {
            return Ok(known);
        }
        let mut statement = self.prepare("SELECT at FROM events WHERE id = (SELECT max(id) FROM events)")?;
        let before = statement.query_row([], |row| row.get(0)).optional()?;
        let known = KnownEvents { before, last: before };
        self.times.known.set(Some(known));
        if self.times.witness.get() == Witness::Whole(None) {
            self.times.witness.set(Witness::Whole(Some(before)));
        }
        Ok(known)
    }
}
