// What must hold for any bytes on the pipe between writ and its supervising process; replayed by crates/engine/tests.

use engine::supervisor::frame::{FromShim, Incoming, OUTPUT_BYTES_MAX, ToShim};

/// Frames are the same however the bytes arrive, and what was decoded encodes to what was read.
pub(crate) fn frames(bytes: &[u8]) {
    let whole = received(bytes, bytes.len());
    assert_eq!(whole, received(bytes, 1));
    assert_eq!(whole, received(bytes, 7));
}

fn received(bytes: &[u8], piece: usize) -> (Vec<String>, bool) {
    let mut incoming = Incoming::new(OUTPUT_BYTES_MAX);
    let mut messages = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        incoming.push(piece);
        loop {
            match incoming.next_frame() {
                Ok(Some(frame)) => messages.push(format!(
                    "{:?} {:?}",
                    FromShim::decode(frame).ok(),
                    ToShim::decode(frame).ok()
                )),
                Ok(None) => break,
                Err(_) => return (messages, false),
            }
        }
    }
    (messages, true)
}
