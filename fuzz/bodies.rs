// What must hold for any bytes. Each function is the body of one fuzz target; the corpus of each is replayed as an
// ordinary test by crates/contract/tests.

use contract::continuity::push::{Push, metadata};
use contract::convert::ConvertContext;
use contract::domain::time::Timestamp;
use contract::intake::Executors;
use contract::json::canonical::canonical;
use contract::json::strict;
use contract::validate::{Kind, ValidateOptions, detect, validate};
use contract::{aee, aocl, aop, bridge, injection, intake, secrets};

/// Parse, print and parse again is the identity, and the canonical form is a fixed point.
pub(crate) fn json(bytes: &[u8]) {
    let Ok(value) = strict::parse(bytes) else { return };
    assert_eq!(strict::parse(value.to_string().as_bytes()).as_ref(), Ok(&value));
    let Ok(once) = canonical(&value) else { return };
    // A float of 2^53 or more prints as an integer, which is then refused; both are right.
    if let Ok(again) = strict::parse(&once) {
        assert_eq!(canonical(&again).ok(), Some(once));
    }
}

/// A push that is read prints as itself, and a memory that is taken is kept as it was written.
pub(crate) fn push(bytes: &[u8]) {
    let Ok(push) = Push::parse(bytes).and_then(Push::of) else { return };
    let printed = serde_json::to_value(&push).expect("a push can be printed");
    assert_eq!(Push::of(printed).as_ref(), Ok(&push));
    if let Some(event) = &push.event {
        metadata(&event.metadata);
    }
    for memory in push.memories() {
        let Ok(draft) = memory.draft() else { continue };
        if let Ok(written) = draft.written(None, 1, Timestamp::from_millis(0)) {
            assert_eq!((&written.key, &written.value), (&memory.key, &memory.value));
        }
    }
}

pub(crate) fn intake(bytes: &[u8]) {
    intake::read(bytes, &Executors::default()).ok();
    judged(Kind::Plan, bytes);
}

pub(crate) fn aop(bytes: &[u8]) {
    judged(Kind::Aop, bytes);
    judged(Kind::AopAudit, bytes);
    let _ = aop::detect(bytes);
    aop::parse_line(bytes, None).ok();
    if let Ok((task, _)) = aop::parse_task(bytes) {
        let printed = serde_json::to_vec(&task).expect("a TASK can be printed");
        // Printing adds spaces to nothing, but a message near the limit may grow by its defaults.
        if let Ok((again, _)) = aop::parse_task(&printed) {
            assert_eq!(again, task);
        }
    }
    if let Ok((event, _)) = aop::parse_event(bytes) {
        let printed = serde_json::to_vec(&event).expect("an EVENT can be printed");
        if let Ok((again, _)) = aop::parse_event(&printed) {
            assert_eq!(again, event);
        }
    }
}

/// Nothing of an envelope is lost on the way through, whatever fields it has.
pub(crate) fn aee(bytes: &[u8]) {
    judged(Kind::Aee, bytes);
    judged(Kind::Trace, bytes);
    let Ok(envelope) = aee::parse(bytes) else { return };
    let printed = serde_json::to_value(&envelope).expect("an envelope can be printed");
    let given = strict::parse(bytes).expect("it was read before");
    for (name, value) in given.as_object().expect("an envelope is an object") {
        assert_eq!(&printed[name.as_str()], value, "{name}");
    }
    assert_eq!(aee::parse(printed.to_string().as_bytes()).as_ref(), Ok(&envelope));
}

pub(crate) fn aocl(bytes: &[u8]) {
    judged(Kind::Stack, bytes);
    judged(Kind::Trace, bytes);
    if let Ok(stack) = aocl::stack::parse(bytes) {
        let printed = serde_json::to_vec(&stack).expect("a stack can be printed");
        assert_eq!(aocl::stack::parse(&printed).as_ref(), Ok(&stack));
    }
}

const OPERATOR: [Kind; 9] = [
    Kind::Assignment,
    Kind::Locks,
    Kind::Result,
    Kind::Worklog,
    Kind::Handoff,
    Kind::Orchestrator,
    Kind::Deltas,
    Kind::Reconcile,
    Kind::Watchdog,
];

/// The first byte says the kind.
pub(crate) fn operator(bytes: &[u8]) {
    by_kind(&OPERATOR, bytes);
}

const BRIDGE: [Kind; 11] = [
    Kind::Bridge,
    Kind::Candidate,
    Kind::Harvest,
    Kind::Learning,
    Kind::Pattern,
    Kind::Constraint,
    Kind::Stage1,
    Kind::Memrl,
    Kind::Council,
    Kind::Promise,
    Kind::Ratchet,
];

/// The first byte says the kind.
pub(crate) fn bridge(bytes: &[u8]) {
    by_kind(&BRIDGE, bytes);
    by_kind(&[Kind::Continuity], bytes);
}

pub(crate) fn frontmatter(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(document) = bridge::frontmatter::parse(text) {
        assert!(text.ends_with(document.body));
        if let Some(fields) = document.fields {
            let _ = fields.to_value();
        }
    }
    bridge::learning::parse("stem", bytes).ok();
}

/// Scrubbed once, a text has no secret left, and scrubbing it again changes nothing.
pub(crate) fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let scrubbed = secrets::scrub(&text);
    assert_eq!(secrets::find(&scrubbed), None);
    assert_eq!(secrets::scrub(&scrubbed), scrubbed);
    let _ = injection::find(&text);
    let _ = detect(bytes);
}

/// What comes out of a conversion is valid, which `convert` itself sees to; it must only never panic.
pub(crate) fn convert(bytes: &[u8]) {
    let context = ConvertContext { now: Timestamp::from_millis(0), root: None };
    for to in [Kind::Aop, Kind::Assignment, Kind::Result, Kind::Aee, Kind::Bridge, Kind::Stage1] {
        contract::convert::convert(bytes, to, &context).ok();
    }
}

fn by_kind(kinds: &[Kind], bytes: &[u8]) {
    if let Some((first, document)) = bytes.split_first() {
        judged(kinds[usize::from(*first) % kinds.len()], document);
    }
}

/// A verdict says what it means: allowed without findings, or denied with one.
fn judged(kind: Kind, bytes: &[u8]) {
    for strict in [false, true] {
        let verdict = validate(Some(kind), bytes, &ValidateOptions { strict, ..ValidateOptions::default() });
        assert_eq!(verdict.allow, verdict.code == "OK");
        assert_eq!(verdict.allow, verdict.details.findings.is_empty());
        serde_json::to_string(&verdict).expect("a verdict can be printed");
    }
}
