//! Walks along one stream and compares each row with the one before it.

use contract::chain;
use contract::domain::event_kind::is_own;
use contract::domain::retention::PRUNED;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::{Head, HeadRow, StoreFault, Verification};
use crate::error::{Error, Result};
use crate::events::{self, LoggedEvent, event_of};

/// The column behind those of an event. It follows from them, so the hash does not cover it.
const SUBSTANCE: usize = 23;
const IS_CHANGE: usize = 21;

pub(super) struct AuditWalk<'w> {
    stream: &'w str,
    known: &'w HeadRow,
    promised: Option<&'w Head>,
    /// The highest number that any event has.
    ever: i64,
    found: &'w mut Verification,
    last: Head,
    /// The hash that the last row should have, if it has another one.
    should_be: Option<String>,
    last_number: i64,
    /// Whether an event records that everything up to the anchor was removed.
    is_noted: bool,
}

impl<'w> AuditWalk<'w> {
    pub(super) fn new(
        stream: &'w str,
        known: &'w HeadRow,
        promised: Option<&'w Head>,
        ever: i64,
        found: &'w mut Verification,
    ) -> Self {
        let last = known.anchor.clone();
        Self { stream, known, promised, ever, found, last, should_be: None, last_number: 0, is_noted: false }
    }

    pub(super) fn step(&mut self, row: &Row<'_>) -> Result<()> {
        self.found.events += 1;
        let event = match event_of(row) {
            Ok(event) => event,
            Err(Error::Corrupt(message)) => {
                self.unreadable(row, &message);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if event.id <= self.last_number || event.id > self.ever {
            self.changed(&event, "has a number that does not match its position");
        }
        self.last_number = event.id;
        if event.seq <= self.known.anchor.seq {
            self.changed(&event, "is before the beginning of its stream");
            return Ok(());
        }
        if event.seq == self.last.seq + 1 {
            let substance = ValueRef::Integer(events::substance_of(&event.record).code());
            // Any other number reads as true as well.
            let is_change = ValueRef::Integer(i64::from(event.record.is_change));
            self.next(event, row.get_ref(SUBSTANCE)? == substance && row.get_ref(IS_CHANGE)? == is_change);
        } else {
            self.after_a_gap(event);
        }
        Ok(())
    }

    /// Reports what is missing at the end. Returns how many events the stream accounts for.
    pub(super) fn end(self) -> i64 {
        let AuditWalk { stream, known, last, found, .. } = self;
        let end = self.promised.map_or(0, |head| head.seq).max(known.head.seq);
        let fits = [Some(&last.hash), self.should_be.as_ref()].contains(&Some(&known.head.hash));
        if last.seq < end {
            let message = format!("the tail is missing: events {} to {end}", last.seq + 1);
            found.missing(stream, last.seq + 1, message);
        } else if last.seq > known.head.seq {
            let message =
                format!("events {} to {} are missing in the head table", known.head.seq + 1, last.seq);
            found.missing(stream, last.seq, message);
        } else if !fits {
            let message = "the head does not match the last event".to_owned();
            found.changed(StoreFault { stream: stream.to_owned(), seq: last.seq, event_id: None, message });
        }
        if known.anchor.seq > 0 && !self.is_noted {
            let message =
                format!("events 1 to {} are missing, and no event records their removal", known.anchor.seq);
            found.missing(stream, 1, message);
        }
        last.seq.max(known.head.seq)
    }

    fn next(&mut self, event: LoggedEvent, fits_substance: bool) {
        let right = self.link(event.seq, &self.last.hash, &event);
        let fits = |hash: Option<&String>| hash == Some(&event.hash);
        // If only the hash of the previous row was changed, this row still follows the hash it should have had.
        let follows = fits(right.as_ref())
            || self.should_be.as_ref().is_some_and(|hash| fits(self.link(event.seq, hash, &event).as_ref()));
        self.should_be = right.filter(|_| !follows);
        if !follows || !fits_substance {
            self.changed(&event, "was changed");
        }
        self.arrive(event);
    }

    fn after_a_gap(&mut self, event: LoggedEvent) {
        let expected = self.last.seq + 1;
        if self.link(expected, &self.last.hash, &event).as_ref() == Some(&event.hash) {
            self.changed(&event, &format!("was event {expected} of its stream"));
            self.arrive(LoggedEvent { seq: expected, ..event });
        } else if event.seq > self.known.head.seq.max(self.promised.map_or(0, |head| head.seq)) {
            self.changed(&event, "does not belong to its stream");
        } else {
            let message = format!("events {expected} to {} are missing", event.seq - 1);
            self.found.missing(self.stream, expected, message);
            // The previous row is missing, so this row cannot be checked.
            self.should_be = None;
            self.arrive(event);
        }
    }

    fn arrive(&mut self, event: LoggedEvent) {
        if let Some(token) = token_of(&event) {
            self.found.highest_token = self.found.highest_token.max(token);
        }
        self.is_noted |= anchor_noted_by(&event).as_ref() == Some(&self.known.anchor);
        if self.promised.is_some_and(|head| head.seq == event.seq && head.hash != event.hash) {
            self.changed(&event, "differs from the tip");
        }
        self.last = Head { seq: event.seq, hash: event.hash };
    }

    /// `None` for a record without a canonical form: writ cannot have written it.
    fn link(&self, seq: i64, previous: &str, event: &LoggedEvent) -> Option<String> {
        chain::link(self.stream, seq, previous, &event.record).ok()
    }

    fn changed(&mut self, event: &LoggedEvent, how: &str) {
        let message = format!("event {} (number {}) {how}", event.record.event_id, event.id);
        let event_id = Some(event.record.event_id.clone());
        self.found.changed(StoreFault { stream: self.stream.to_owned(), seq: event.seq, event_id, message });
    }

    fn unreadable(&mut self, row: &Row<'_>, why: &str) {
        let text = |column: usize| match row.get_ref(column) {
            Ok(ValueRef::Text(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        };
        let (seq, event_id) = (row.get(2).unwrap_or(self.last.seq + 1), text(4));
        let name = event_id.as_deref().unwrap_or("without an id");
        let message = format!("event {name} was changed: {why}");
        self.found.changed(StoreFault { stream: self.stream.to_owned(), seq, event_id, message });
        if seq == self.last.seq + 1 {
            self.last = Head { seq, hash: text(3).unwrap_or_default() };
            self.should_be = None;
        }
    }
}

/// Up to where this event says that a stream was removed, if writ wrote it.
pub(crate) fn anchor_noted_by(event: &LoggedEvent) -> Option<Head> {
    let record = &event.record;
    let is_note = record.kind == PRUNED && is_own(PRUNED, &record.intent);
    is_note.then(|| serde_json::from_value(record.payload["anchor"].clone()).ok()).flatten()
}

/// The token that a change gave or used.
fn token_of(event: &LoggedEvent) -> Option<i64> {
    if !event.record.is_change {
        return None;
    }
    let change = &event.record.payload;
    let token = change.get("token").or_else(|| change.get("claim").or(change.get("grant"))?.get("token"));
    token?.as_i64()
}
