//! Keeps one stream small: summarizes a long one, and removes its old events.

use std::collections::BTreeMap;

use contract::domain::priority::Priority;
use contract::domain::retention::{Outline, PRUNED, Retention, SUMMARY, StreamExtent, prune_to};
use contract::domain::text::counted;
use contract::domain::time::Timestamp;
use serde_json::{Value, json};
use store::Stream;

use super::Answer;
use crate::error::Result;
use crate::record::{About, EventBody, EventWriter};
use crate::run;

/// Events that are read at once.
const PAGE: usize = 500;

pub(super) fn keep_small(
    work: &mut EventWriter<'_, '_>,
    stream: &Stream,
    extent: StreamExtent,
    retention: &Retention,
    (answer, budget): (&mut Answer, &mut usize),
) -> Result<()> {
    answer.streams += 1;
    let (about, is_open) = about(work, stream)?;
    if is_open {
        let old = work.tx.outlines(&stream.name(), extent.anchor_seq, 1)?;
        let cutoff = retention.cutoff(work.tx.confirmed(work.now.at)?);
        if old.first().is_some_and(|event| event.at < cutoff) {
            answer.hold(&stream.name(), "a run that has not ended".to_owned());
        }
        return Ok(());
    }
    if let Some(to) = retention.archive_to(&extent) {
        let from = extent.archived_seq.max(extent.anchor_seq);
        archive(work, stream, &about, (from, to))?;
        answer.archived += u64::try_from(to - from).unwrap_or(0);
        answer.summaries += 1;
    }
    let gone = prune(work, stream, &about, &extent, (retention, *budget, answer))?;
    answer.pruned += gone as u64;
    *budget -= gone.min(*budget);
    Ok(())
}

/// Where notes about the stream go, and whether it belongs to a run that has not ended.
fn about(work: &EventWriter<'_, '_>, stream: &Stream) -> Result<(About, bool)> {
    let of = |project_id: Option<String>| About {
        stream: stream.clone(),
        corr: stream.name(),
        reply_to: None,
        priority: Priority::default(),
        project_id,
        task_id: None,
        run_id: None,
    };
    Ok(match stream {
        Stream::Store => (of(None), false),
        Stream::Project(id) => (of(Some(id.clone())), false),
        Stream::Run(id) => match work.tx.run(id)? {
            Some(run) => (run::about(&run), !run.state.is_terminal()),
            None => (of(None), false),
        },
    })
}

/// Counts what the summary stands for, appends it, and archives.
fn archive(
    work: &mut EventWriter<'_, '_>,
    stream: &Stream,
    about: &About,
    (from, to): (i64, i64),
) -> Result<()> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let mut span = EventSpan::default();
    let mut last = from;
    while last < to {
        let page = work.tx.outlines(&stream.name(), last, PAGE)?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        for event in page.into_iter().filter(|event| event.seq <= to) {
            span.take(&event);
            *kinds.entry(event.kind).or_default() += 1;
        }
    }
    work.tx.archive(&stream.name(), to)?;
    let said = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ");
    let message = format!("{} events archived: {said}", span.events);
    let payload = json!({"from_seq": from + 1, "to_seq": to, "kinds": kinds, "span": span.value()});
    work.say(about, EventBody::event(SUMMARY, message, payload))?;
    Ok(())
}

/// Removes a part of the beginning, not more than `budget`, and leaves a note. Returns how many events went.
fn prune(
    work: &mut EventWriter<'_, '_>,
    stream: &Stream,
    about: &About,
    extent: &StreamExtent,
    (retention, budget, answer): (&Retention, usize, &mut Answer),
) -> Result<usize> {
    let cutoff = retention.cutoff(work.tx.confirmed(work.now.at)?);
    let by_clock = retention.cutoff(work.now.at);
    let beginning = work.tx.outlines(&stream.name(), extent.anchor_seq, budget)?;
    let mut open_tasks = OpenTasks::default();
    for event in beginning.iter().take_while(|event| event.at < by_clock) {
        open_tasks.learn(work, event)?;
    }
    let end = |cutoff| prune_to(&beginning, cutoff, |event| open_tasks.has(event));
    let (confirmed, unconfirmed) = (end(cutoff), end(by_clock));
    let kept = unconfirmed.map_or(0, |to| to - confirmed.unwrap_or(extent.anchor_seq));
    answer.waiting += u64::try_from(kept).unwrap_or(0);
    let Some(to) = confirmed else {
        if let Some(task) = beginning.first().filter(|event| event.at < cutoff && open_tasks.has(event)) {
            answer.hold(&stream.name(), task.task_id.clone().unwrap_or_default());
        }
        return Ok(0);
    };
    if let Some(next) = beginning.iter().find(|event| event.seq == to + 1 && event.at < cutoff)
        && open_tasks.has(next)
    {
        answer.hold(&stream.name(), next.task_id.clone().unwrap_or_default());
    }
    let mut span = EventSpan::default();
    beginning.iter().filter(|event| event.seq <= to).for_each(|event| span.take(event));
    let (hash, gone) = work.tx.prune(&stream.name(), to)?;
    let message = format!("{} removed, up to number {to} of this stream", counted(gone, "event"));
    let payload = json!({"anchor": {"seq": to, "hash": hash}, "span": span.value()});
    work.say(about, EventBody::event(PRUNED, message, payload))?;
    Ok(gone)
}

/// Which of the events' tasks are not finished. One that was deleted is.
#[derive(Default)]
struct OpenTasks(BTreeMap<String, bool>);

impl OpenTasks {
    fn learn(&mut self, work: &EventWriter<'_, '_>, event: &Outline) -> Result<()> {
        if let Some(id) = event.task_id.as_ref().filter(|id| !self.0.contains_key(*id)) {
            let status = work.tx.task_status(id)?;
            self.0.insert(id.clone(), status.is_some_and(|status| !status.is_terminal()));
        }
        Ok(())
    }

    fn has(&self, event: &Outline) -> bool {
        event.task_id.as_ref().and_then(|id| self.0.get(id)).copied().unwrap_or(false)
    }
}

/// How many events, and from when to when.
#[derive(Default)]
struct EventSpan {
    events: u64,
    times: Option<(Timestamp, Timestamp)>,
}

impl EventSpan {
    fn take(&mut self, event: &Outline) {
        self.events += 1;
        let (first, last) = self.times.unwrap_or((event.at, event.at));
        self.times = Some((first.min(event.at), last.max(event.at)));
    }

    fn value(&self) -> Value {
        let (first, last) = self.times.unzip();
        json!({"events": self.events, "first_at": first, "last_at": last})
    }
}
