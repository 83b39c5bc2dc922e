use contract::digest;
use contract::domain::limits::LINE_BYTES_MAX;
use proptest::prelude::*;

use super::*;

fn plain() -> Hidden {
    Hidden::default()
}

fn hiding(value: &str) -> Hidden {
    let mut hidden = Hidden::default();
    hidden.add(value);
    hidden
}

/// Writes `input` to a new log and gives what is read back, neighbours joined.
fn kept(hidden: Hidden, input: &[(LogStream, &[u8])]) -> (Vec<Piece>, LogSummary) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut writer = LogWriter::create(&path, &hidden).unwrap();
    for (stream, bytes) in input {
        writer.write(*stream, bytes);
    }
    let summary = writer.finish();
    (joined(LogReader::open(&path).unwrap()), summary)
}

fn joined(reader: LogReader) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for piece in reader {
        match (piece.unwrap(), pieces.last_mut()) {
            (Piece::Output(stream, bytes), Some(Piece::Output(last, text))) if *last == stream => {
                text.extend(bytes);
            }
            (piece, _) => pieces.push(piece),
        }
    }
    pieces
}

fn out(text: &str) -> Piece {
    Piece::Output(LogStream::Stdout, text.as_bytes().to_vec())
}

fn err(text: &str) -> Piece {
    Piece::Output(LogStream::Stderr, text.as_bytes().to_vec())
}

#[test]
fn both_streams_are_read_in_the_order_of_their_lines() {
    let input: [(LogStream, &[u8]); 5] = [
        (LogStream::Stdout, b"one\ntw"),
        (LogStream::Stderr, b"warn\n"),
        (LogStream::Stdout, b"o\n"),
        (LogStream::Stderr, b"no newline"),
        (LogStream::Stdout, b""),
    ];
    let (pieces, summary) = kept(plain(), &input);
    assert_eq!(pieces, [out("one\n"), err("warn\n"), out("two\n"), err("no newline")]);
    let expected = LogSummary {
        stdout_digest: digest::of_bytes(b"one\ntwo\n"),
        stderr_digest: digest::of_bytes(b"warn\nno newline"),
        stdout_bytes: 8,
        stderr_bytes: 15,
        dropped_bytes: 0,
        fault: None,
    };
    assert_eq!(summary, expected);
}

#[test]
fn a_secret_is_scrubbed_even_when_it_comes_in_pieces() {
    let input: [(LogStream, &[u8]); 4] = [
        (LogStream::Stdout, b"it is: hun"),
        (LogStream::Stderr, b"hunter2\n"),
        (LogStream::Stdout, b"ter2\nplain\n"),
        (LogStream::Stdout, b"hunter2"),
    ];
    let (pieces, _) = kept(hiding("hunter2"), &input);
    let marker = "[REDACTED:env]";
    assert_eq!(pieces, [err(&format!("{marker}\n")), out(&format!("it is: {marker}\nplain\n{marker}"))]);
}

#[test]
fn a_private_key_over_many_lines_is_in_no_part_of_a_log() {
    let body = "MIIEpAIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz\n".repeat(12);
    let key =
        ["-----BEGIN RSA ", "PRIVATE KEY-----\n", &body, "-----END RSA ", "PRIVATE KEY-----\n"].concat();
    // As much before it as the head takes, so that the cut between head and tail is inside the key.
    let before = "x\n".repeat(LOG_HEAD_BYTES_MAX / 2 - 200);
    let whole = format!("{before}{key}{key}after\n");
    let input: Vec<(LogStream, &[u8])> =
        whole.as_bytes().chunks(37).map(|piece| (LogStream::Stdout, piece)).collect();
    let (pieces, _) = kept(plain(), &input);
    let text: Vec<u8> = pieces
        .into_iter()
        .flat_map(|piece| if let Piece::Output(_, bytes) = piece { bytes } else { Vec::new() })
        .collect();
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("MII") && !text.contains("0123"), "a part of the key is in the log");
    assert!(text.ends_with("[REDACTED:private_key_block]\nafter\n"), "{}", &text[text.len() - 80..]);
}

#[test]
fn a_flood_keeps_its_beginning_and_its_end() {
    let lines: Vec<String> = (0..100_000).map(|number| format!("line {number}\n")).collect();
    let input: Vec<(LogStream, &[u8])> =
        lines.iter().map(|line| (LogStream::Stdout, line.as_bytes())).collect();
    let (pieces, summary) = kept(plain(), &input);
    let [Piece::Output(_, head), Piece::Dropped(dropped), Piece::Output(_, tail)] = &pieces[..] else {
        panic!("{} pieces", pieces.len())
    };
    assert!(head.starts_with(b"line 0\n") && tail.ends_with(b"line 99999\n"));
    assert_eq!(head.len() as u64 + dropped + tail.len() as u64, summary.stdout_bytes);
    assert_eq!(*dropped, summary.dropped_bytes);
    assert!(head.len() <= LOG_HEAD_BYTES_MAX && tail.len() <= LOG_TAIL_BYTES_MAX);
    assert!(head.len() > LOG_HEAD_BYTES_MAX / 2 && tail.len() > LOG_TAIL_BYTES_MAX / 2);
}

#[test]
fn a_line_without_an_end_is_cut_between_words() {
    let word = "secret-of-some-length ";
    let line = word.repeat(3 * LINE_BYTES_MAX / word.len());
    let (pieces, _) = kept(hiding(word.trim()), &[(LogStream::Stdout, line.as_bytes())]);
    let clean = "[REDACTED:env] ".repeat(3 * LINE_BYTES_MAX / word.len());
    let whole = |piece: &Piece| match piece {
        Piece::Output(_, bytes) => String::from_utf8(bytes.clone()).unwrap(),
        Piece::Dropped(_) => panic!("everything fits into head and tail"),
    };
    assert!(pieces.len() > 1 || whole(&pieces[0]) == clean);
    assert!(
        pieces.iter().all(
            |piece| !matches!(piece, Piece::Output(_, bytes) if bytes.windows(6).any(|w| w == b"secret"))
        )
    );
}

#[test]
fn a_line_without_words_is_cut_between_characters() {
    for shift in 0..4 {
        let line = "x".repeat(shift) + &"\u{1F600}".repeat(LINE_BYTES_MAX / 4 + 10);
        let (pieces, summary) = kept(plain(), &[(LogStream::Stdout, line.as_bytes())]);
        let length_of =
            |piece: &Piece| if let Piece::Output(_, bytes) = piece { bytes.len() as u64 } else { 0 };
        // A character cut in two would be stored as two replacement characters, which are longer.
        let kept: u64 = pieces.iter().map(length_of).sum();
        assert_eq!(kept + summary.dropped_bytes, summary.stdout_bytes);
    }
}

#[test]
fn a_torn_log_is_read_up_to_the_tear() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut writer = LogWriter::create(&path, &plain()).unwrap();
    writer.write(LogStream::Stdout, b"first\n");
    writer.write(LogStream::Stderr, b"second\n");
    drop(writer);
    let whole = std::fs::read(&path).unwrap();
    let first = HEADER_BYTES + 6;
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let expected = if length < first { vec![] } else { vec![out("first\n")] };
        assert_eq!(joined(LogReader::open(&path).unwrap()), expected, "cut at {length}");
    }
    // Damage is a tear as well, and a kind that is not known yet is passed over.
    std::fs::write(&path, [whole.as_slice(), &frame::header(b'n', 0), &[0xff; 40]].concat()).unwrap();
    assert_eq!(joined(LogReader::open(&path).unwrap()), [out("first\n"), err("second\n")]);
}

#[test]
fn a_log_is_private_and_never_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    LogWriter::create(&path, &plain()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(LogWriter::create(&path, &plain()).is_err());
}

#[test]
fn a_full_disk_is_told_and_the_digest_is_whole() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut writer = LogWriter::onto(full, &plain());
    writer.write(LogStream::Stdout, b"one\n");
    writer.write(LogStream::Stdout, b"two\n");
    let summary = writer.finish();
    assert_eq!(summary.stdout_digest, digest::of_bytes(b"one\ntwo\n"));
    assert_eq!(summary.fault.as_deref(), Some("No space left on device (os error 28)"));
}

proptest! {
    #[test]
    fn what_fits_is_kept_byte_for_byte(pieces in proptest::collection::vec("[a-z\n]{0,40}", 0..40)) {
        let input: Vec<(LogStream, &[u8])> = pieces.iter().map(|piece| (LogStream::Stderr, piece.as_bytes())).collect();
        let whole = pieces.concat();
        let expected = if whole.is_empty() { vec![] } else { vec![err(&whole)] };
        prop_assert_eq!(kept(plain(), &input).0, expected);
    }
}
