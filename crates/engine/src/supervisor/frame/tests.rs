use std::time::Duration;

use contract::domain::id::Id;
use contract::domain::network::Verdict;
use proptest::prelude::*;

use super::*;
use crate::supervisor::confinement::NamespaceInForce;
use crate::supervisor::launch::Stdin;
use crate::supervisor::mark::{Marker, OwnerIdentity};
use crate::supervisor::sandbox::{Sandbox, SandboxInForce};

fn spec() -> LaunchSpec {
    let owner = OwnerIdentity::process(7, 42, "b-1".to_owned());
    let marker = Marker { attempt: Id::from_bits(1), owner };
    let mut spec = LaunchSpec::new(vec!["sh".into(), "-c".into()], "/tmp/ä".into(), marker);
    spec.stdin = Stdin::Bytes((0..=255).collect());
    spec.env.insert("A".into(), "ü".into());
    spec.grace = Duration::from_millis(1500);
    let sandbox = Sandbox { writes: Some(vec!["/ä".into()]), ..Sandbox::default() };
    spec.confinement.sandbox = Some(Box::new(sandbox));
    spec
}

#[test]
fn a_grace_without_end_has_one() {
    let mut endless = spec();
    endless.grace = Duration::MAX;
    let read = LaunchSpec::from_json(&endless.to_json()).unwrap();
    assert_eq!(read.grace, contract::domain::limits::TASK_TIMEOUT_MAX);
}

fn all_from_shim() -> Vec<FromShim> {
    vec![
        FromShim::Ready,
        FromShim::Started { pid: 70_000, in_force: InForce::nothing() },
        FromShim::Started {
            pid: 1,
            in_force: InForce {
                namespace: NamespaceInForce::Refused("no ünit".to_owned()),
                sandbox: Some(Box::new(SandboxInForce::refused("no ünit"))),
            },
        },
        FromShim::Stdout(b"out\0\xff".to_vec()),
        FromShim::Stderr(Vec::new()),
        FromShim::Exceeded("more than 1 MiB".to_owned()),
        FromShim::Visited(Visit {
            to: "example.org:443".to_owned(),
            verdict: Verdict::Denied,
            connections: 2,
            sent_bytes: 0,
            received_bytes: u64::MAX,
            reason: Some("no".to_owned()),
        }),
        FromShim::Exited(ProcessExit::Code(-1)),
        FromShim::Exited(ProcessExit::Signal(9)),
        FromShim::Gone(Gone { killed: 3, survivors: 1 }),
        FromShim::Fault(StartFault { message: "no ünit".to_owned(), errno: Some(2) }),
        FromShim::Fault(StartFault { message: String::new(), errno: None }),
    ]
}

/// Feeds `bytes` in pieces and gives what came out.
fn received(bytes: &[u8], piece: usize) -> Result<Vec<FromShim>, FrameError> {
    let mut incoming = Incoming::new(OUTPUT_BYTES_MAX);
    let mut messages = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        incoming.push(piece);
        while let Some(frame) = incoming.next_frame()? {
            messages.push(FromShim::decode(frame)?);
        }
    }
    Ok(messages)
}

#[test]
fn what_is_sent_arrives_however_it_is_cut() {
    let mut bytes = Vec::new();
    for message in all_from_shim() {
        message.encode_into(&mut bytes);
    }
    for piece in 1..=bytes.len() {
        assert_eq!(received(&bytes, piece), Ok(all_from_shim()));
    }
    for order in [ToShim::Launch(Box::new(spec())), ToShim::Stop, ToShim::Kill] {
        let bytes = order.encode();
        let (frame, length) = split(&bytes, LAUNCH_BYTES_MAX).unwrap().unwrap();
        assert_eq!((ToShim::decode(frame), length), (Ok(order), bytes.len()));
    }
}

#[test]
fn a_length_over_the_limit_is_refused_before_its_payload_comes() {
    let mut bytes = header(kind::STDOUT, OUTPUT_BYTES_MAX + 1).to_vec();
    let too_long = FrameError::TooLong { length: OUTPUT_BYTES_MAX + 1, limit: OUTPUT_BYTES_MAX };
    assert_eq!(split(&bytes, OUTPUT_BYTES_MAX), Err(too_long));
    bytes[..].copy_from_slice(&header(kind::STDOUT, OUTPUT_BYTES_MAX));
    assert_eq!(split(&bytes, OUTPUT_BYTES_MAX), Ok(None));
}

#[test]
fn nonsense_is_named() {
    let decode = |kind, payload| FromShim::decode(ShimFrame { kind, payload });
    assert_eq!(decode(b'?', b""), Err(FrameError::UnknownKind(b'?')));
    assert_eq!(decode(kind::STARTED, b"123"), Err(FrameError::Damaged(kind::STARTED)));
    assert_eq!(decode(kind::EXITED, b"q1234"), Err(FrameError::Damaged(kind::EXITED)));
    assert_eq!(decode(kind::FAULT, b"12"), Err(FrameError::Damaged(kind::FAULT)));
    let order = |kind, payload| ToShim::decode(ShimFrame { kind, payload });
    assert_eq!(order(kind::STOP, b"x"), Err(FrameError::Damaged(kind::STOP)));
    assert_eq!(order(kind::LAUNCH, b"{}"), Err(FrameError::Damaged(kind::LAUNCH)));
    assert_eq!(order(kind::STDOUT, b""), Err(FrameError::UnknownKind(kind::STDOUT)));
}

#[test]
fn a_launch_does_not_show_its_secrets() {
    let shown = format!("{:?}", spec());
    assert!(
        shown.contains("variables: 1") && shown.contains("Bytes(256)") && !shown.contains('ü'),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn any_bytes_are_taken_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), piece in 1..50_usize) {
        // Cutting must not change the meaning either.
        prop_assert_eq!(received(&bytes, piece).ok(), received(&bytes, 1).ok());
        if let Ok(Some((frame, _))) = split(&bytes, LAUNCH_BYTES_MAX) {
            let again = ToShim::decode(frame).ok();
            prop_assert_eq!(again, ToShim::decode(frame).ok());
        }
    }

    #[test]
    fn any_known_frame_is_decoded_or_refused(kind in prop::sample::select(b"LSKsoexgf".as_slice()), payload: Vec<u8>) {
        let frame = ShimFrame { kind, payload: &payload };
        if let Ok(message) = FromShim::decode(frame) {
            let mut bytes = Vec::new();
            message.encode_into(&mut bytes);
            prop_assert_eq!(received(&bytes, 7), Ok(vec![message]));
        }
        ToShim::decode(frame).ok();
    }
}
