//! What was reached and denied, each destination once.

use std::io::PipeWriter;
use std::sync::{Mutex, MutexGuard, PoisonError};

use contract::domain::limits::NETWORK_VISITS_MAX;
use contract::domain::network::{Verdict, Visit};

/// The destination under which the rest is counted.
const OTHERS: &str = "other hosts";

pub(super) struct ConnectionLedger {
    pages: Mutex<Pages>,
    /// Gets a byte for each new destination.
    teller: PipeWriter,
}

#[derive(Default)]
struct Pages {
    visits: Vec<Visit>,
    /// How many of them were reported.
    told: usize,
}

/// Which visit a connection belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry(usize);

impl ConnectionLedger {
    pub(super) fn new(teller: PipeWriter) -> Self {
        Self { pages: Mutex::default(), teller }
    }

    /// Counts one connection.
    pub(super) fn note(&self, to: &str, verdict: Verdict, reason: Option<String>) -> Entry {
        let mut pages = self.pages();
        let is_full = pages.visits.len() >= NETWORK_VISITS_MAX;
        let find = |pages: &Pages, to: &str| {
            pages.visits.iter().position(|visit| visit.to == to && visit.verdict == verdict)
        };
        let to = if is_full && find(&pages, to).is_none() { OTHERS } else { to };
        if let Some(index) = find(&pages, to) {
            pages.visits[index].connections += 1;
            return Entry(index);
        }
        pages.visits.push(Visit {
            to: to.to_owned(),
            verdict,
            connections: 1,
            sent_bytes: 0,
            received_bytes: 0,
            reason,
        });
        // A pipe that is full has news enough.
        rustix::io::write(&self.teller, b"n").ok();
        Entry(pages.visits.len() - 1)
    }

    /// Counts bytes of a connection, before they are passed on: who got them finds them counted.
    pub(super) fn count(&self, entry: Entry, sent: usize, received: usize) {
        if let Some(visit) = self.pages().visits.get_mut(entry.0) {
            visit.sent_bytes = visit.sent_bytes.saturating_add(sent as u64);
            visit.received_bytes = visit.received_bytes.saturating_add(received as u64);
        }
    }

    /// Unreported entries.
    pub(super) fn news(&self) -> Vec<Visit> {
        let mut pages = self.pages();
        let news = pages.visits.get(pages.told..).unwrap_or_default().to_vec();
        pages.told = pages.visits.len();
        news
    }

    pub(super) fn all(&self) -> Vec<Visit> {
        self.pages().visits.clone()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_of_one_destination_are_counted_together_and_their_number_is_bounded() {
        let (_news, teller) = std::io::pipe().unwrap();
        let ledger = ConnectionLedger::new(teller);
        let first = ledger.note("a:1", Verdict::Allowed, None);
        ledger.count(first, 3, 4);
        assert_eq!(ledger.news().len(), 1);
        let again = ledger.note("a:1", Verdict::Allowed, None);
        ledger.count(again, 1, 1);
        ledger.note("a:1", Verdict::Denied, Some("no".to_owned()));
        assert_eq!(ledger.news().len(), 1);
        let visit = &ledger.all()[0];
        assert_eq!((visit.connections, visit.sent_bytes, visit.received_bytes), (2, 4, 5));
        for number in 0..10 * NETWORK_VISITS_MAX {
            ledger.note(&format!("h{number}:1"), Verdict::Denied, None);
        }
        let all = ledger.all();
        assert_eq!(all.len(), NETWORK_VISITS_MAX + 1);
        assert_eq!(
            (all.last().unwrap().to.as_str(), all.iter().map(|visit| visit.connections).sum::<u64>()),
            (OTHERS, 1003)
        );
    }
}
