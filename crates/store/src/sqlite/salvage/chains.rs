//! Of each stream, the longest part whose events follow each other without a gap.

use std::collections::BTreeMap;

use contract::chain;

use super::Salvaged;
use crate::audit::{Head, anchor_noted_by};
use crate::events::{LoggedEvent, Stream};

/// Where a stream of the damaged store begins, and how far it is archived.
pub(super) struct Anchor {
    pub(super) seq: i64,
    pub(super) hash: String,
    pub(super) archived_seq: i64,
}

/// The kept part of a stream.
pub(super) struct Chain {
    pub(super) stream: String,
    /// The event before the first one.
    pub(super) anchor_seq: i64,
    pub(super) anchor_hash: String,
    pub(super) archived_seq: i64,
    pub(super) events: Vec<LoggedEvent>,
}

impl Chain {
    /// The number and the hash of the last event.
    pub(super) fn end(&self) -> (i64, &str) {
        self.events.last().map_or((self.anchor_seq, self.anchor_hash.as_str()), |last| (last.seq, &last.hash))
    }

    /// Whether an event records the removal of what was before the anchor.
    pub(super) fn is_noted(&self) -> bool {
        let anchor = Head { seq: self.anchor_seq, hash: self.anchor_hash.clone() };
        self.events.iter().any(|event| anchor_noted_by(event).as_ref() == Some(&anchor))
    }
}

/// The chains, and the events that are in none.
pub(super) fn longest(
    events: Vec<LoggedEvent>,
    anchors: &BTreeMap<String, Anchor>,
    found: &mut Salvaged,
) -> (Vec<Chain>, Vec<LoggedEvent>) {
    let mut streams: BTreeMap<String, Vec<LoggedEvent>> = BTreeMap::new();
    for event in events {
        streams.entry(event.stream.clone()).or_default().push(event);
    }
    let (mut chains, mut unchained) = (Vec::new(), Vec::new());
    for (stream, mut events) in streams {
        if Stream::named(&stream).is_none() {
            found.lose(format!("{} events of a stream that writ does not have: {stream:?}", events.len()));
            unchained.extend(events);
            continue;
        }
        events.sort_by_key(|event| event.seq);
        let (chain, rest) = longest_of(stream, events, anchors);
        if let Some(chain) = chain {
            report(&chain, &rest, found);
            chains.push(chain);
        }
        unchained.extend(rest);
    }
    unchained.sort_by_key(|event| event.id);
    (chains, unchained)
}

fn report(chain: &Chain, rest: &[LoggedEvent], found: &mut Salvaged) {
    if !rest.is_empty() {
        let (from, to) = (chain.anchor_seq + 1, chain.end().0);
        let stream = &chain.stream;
        found.lose(format!("{} events of {stream} that do not follow on events {from} to {to}", rest.len()));
    }
}

fn longest_of(
    stream: String,
    events: Vec<LoggedEvent>,
    anchors: &BTreeMap<String, Anchor>,
) -> (Option<Chain>, Vec<LoggedEvent>) {
    let anchor = anchors.get(&stream);
    let archived_seq = anchor.map_or(0, |anchor| anchor.archived_seq);
    let known = anchor.map_or((0, chain::GENESIS.to_owned()), |anchor| (anchor.seq, anchor.hash.clone()));
    let mut runs: Vec<Chain> = Vec::new();
    let mut rest = Vec::new();
    for event in events {
        let follows = |seq: i64, hash: &str| {
            event.seq == seq + 1
                && chain::link(&stream, event.seq, hash, &event.record).is_ok_and(|link| link == event.hash)
        };
        if let Some(run) = runs.last_mut()
            && follows(run.end().0, run.end().1)
        {
            run.events.push(event);
        } else if follows(known.0, &known.1) || follows(0, chain::GENESIS) {
            let (anchor_seq, anchor_hash) =
                if event.seq == 1 { (0, chain::GENESIS.to_owned()) } else { known.clone() };
            runs.push(Chain {
                stream: stream.clone(),
                anchor_seq,
                anchor_hash,
                archived_seq,
                events: vec![event],
            });
        } else {
            // What it follows is lost, so it cannot be checked itself; the next one can be checked against it.
            let (anchor_seq, anchor_hash) = (event.seq, event.hash.clone());
            runs.push(Chain {
                stream: stream.clone(),
                anchor_seq,
                anchor_hash,
                archived_seq,
                events: Vec::new(),
            });
            rest.push(event);
        }
    }
    // The first of the longest ones, because it begins earlier.
    let best = (0..runs.len()).rev().max_by_key(|at| runs[*at].events.len());
    let mut best_run = None;
    for (at, run) in runs.into_iter().enumerate() {
        if Some(at) == best && !run.events.is_empty() {
            best_run = Some(run);
        } else {
            rest.extend(run.events);
        }
    }
    (best_run, rest)
}
