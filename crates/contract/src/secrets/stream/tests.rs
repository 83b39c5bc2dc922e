use proptest::prelude::*;

use super::*;

/// What comes out if the text arrives in pieces of this many bytes.
fn scrubbed(hidden: &Hidden, text: &str, piece: usize) -> String {
    let mut scrubber = Scrubber::new(hidden.clone());
    let mut clean = String::new();
    for piece in text.as_bytes().chunks(piece) {
        scrubber.push(piece, |text| clean.push_str(text));
    }
    scrubber.finish(|text| clean.push_str(text));
    clean
}

fn key_block() -> String {
    let body = "MIIEpAIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz\n".repeat(24);
    ["-----BEGIN RSA ", "PRIVATE KEY-----\n", &body, "-----END RSA ", "PRIVATE KEY-----\n"].concat()
}

#[test]
fn a_private_key_over_many_lines_is_removed_whatever_the_pieces() {
    let text = format!("before\n{}after\n{}", key_block(), key_block());
    for piece in [1, 7, 64, 1000, text.len()] {
        let clean = scrubbed(&Hidden::default(), &text, piece);
        let marker = "[REDACTED:private_key_block]";
        assert_eq!(clean, format!("before\n{marker}\nafter\n{marker}\n"), "pieces of {piece}");
    }
}

#[test]
fn a_private_key_without_an_end_is_removed_and_does_not_hide_everything_behind_it() {
    let block = key_block();
    let (begun, _) = block.split_at(block.len() / 2);
    let clean = scrubbed(&Hidden::default(), &format!("before\n{begun}"), 100);
    assert_eq!(clean, "before\n[REDACTED:private_key_block]");
    let prose = "nothing to see here\n".repeat(8000);
    let clean = scrubbed(&Hidden::default(), &format!("-----BEGIN {}-----\n{prose}", "PRIVATE KEY"), 4096);
    assert!(clean.len() > prose.len() / 2, "{} bytes", clean.len());
}

#[test]
fn the_end_of_a_private_key_is_removed_whatever_came_before_it() {
    let block = key_block();
    let lines: Vec<&str> = block.split_inclusive('\n').collect();
    let begun = lines[..4].concat();
    let rest = lines[4..].concat();
    let noise = "#".repeat(3 * 1024 * 1024);
    for (text, clean) in [
        // The output begins in the middle of a key.
        (format!("{rest}after\n"), "[REDACTED:private_key_block]\nafter\n".to_owned()),
        (format!("before\n{rest}after\n"), "before\n[REDACTED:private_key_block]\nafter\n".to_owned()),
    ] {
        for piece in [1, 7, 64, 1000, text.len()] {
            assert_eq!(scrubbed(&Hidden::default(), &text, piece), clean, "pieces of {piece}");
        }
    }
    // What interrupts it is longer than any key.
    let clean = scrubbed(&Hidden::default(), &format!("{begun}{noise}\n{rest}after\n"), 8192);
    assert!(
        !clean.contains("MIIE") && clean.ends_with("\n[REDACTED:private_key_block]\nafter\n"),
        "{}",
        clean.len()
    );
}

#[test]
fn lines_that_may_be_of_a_key_are_given_out_when_the_next_line_is_not() {
    let dump = format!("{}\n", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo1".repeat(2)).repeat(1000);
    let mut scrubber = Scrubber::default();
    let mut clean = String::new();
    for line in dump.split_inclusive('\n') {
        scrubber.push(line.as_bytes(), |text| clean.push_str(text));
    }
    assert!(dump.len() - clean.len() <= KEY_BODY_BYTES_MAX + 100, "only so much is held back");
    scrubber.push(b"a line\n", |text| clean.push_str(text));
    assert_eq!(clean, format!("{dump}a line\n"));
}

#[test]
fn a_value_on_several_lines_is_removed_whatever_the_pieces() {
    let mut hidden = Hidden::default();
    let value = "first line of it\nsecond line of it\n\nlast";
    hidden.add(value);
    let text = format!("a {value} b\nfirst line of it\nother\n{value}");
    for piece in 1..text.len() {
        let clean = scrubbed(&hidden, &text, piece);
        assert_eq!(clean, "a [REDACTED:env] b\n[REDACTED:env]\nother\n[REDACTED:env]", "pieces of {piece}");
    }
}

#[test]
fn a_value_on_the_line_behind_its_name_is_removed() {
    for text in ["the password:\n  hunter2hunter2\nmore\n", "Password\n\n=\n\"hunter2hunter2\"\n"] {
        for piece in 1..text.len() {
            let clean = scrubbed(&Hidden::default(), text, piece);
            assert!(!clean.contains("hunter2"), "pieces of {piece}: {clean}");
        }
    }
    let text = "the key\nis lost: the token:\nrefreshed\n";
    assert_eq!(scrubbed(&Hidden::default(), text, 5), text);
}

#[test]
fn a_secret_at_the_cut_of_an_endless_line_is_removed() {
    let token = ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    for before in [0, 1, 20, 39, 40, SECRET_BYTES_MAX - 20, SECRET_BYTES_MAX, SECRET_BYTES_MAX + 20] {
        let filler = "/".repeat(LINE_BYTES_MAX - before);
        let text = format!("{filler}{token}/{}", "/".repeat(LINE_BYTES_MAX));
        let clean = scrubbed(&Hidden::default(), &text, 8192);
        assert!(!clean.contains("0123456789") && !clean.contains("012345"), "{before} before the limit");
        assert!(clean.contains("[REDACTED:github_token]"), "{before} before the limit");
    }
}

#[test]
fn a_secret_longer_than_any_line_is_removed_to_its_end() {
    let text = format!("sk-{}tail end\n", "a1B2".repeat(LINE_BYTES_MAX / 2));
    assert_eq!(scrubbed(&Hidden::default(), &text, 8192), "[REDACTED:openai_api_key] end\n");
}

#[test]
fn a_hidden_value_at_the_cut_of_an_endless_line_is_removed() {
    let mut hidden = Hidden::default();
    hidden.add("correct-horse-battery");
    for before in [0, 5, 10, SECRET_BYTES_MAX - 7, SECRET_BYTES_MAX, SECRET_BYTES_MAX + 7] {
        let text = format!(
            "{}correct-horse-battery{}",
            "/".repeat(LINE_BYTES_MAX - before),
            "/".repeat(LINE_BYTES_MAX)
        );
        let clean = scrubbed(&hidden, &text, 8192);
        assert!(!clean.contains("horse") && clean.contains("[REDACTED:env]"), "{before} before the limit");
    }
}

#[test]
fn lines_are_given_out_as_soon_as_they_are_whole() {
    let mut scrubber = Scrubber::default();
    let mut clean = Vec::new();
    for piece in ["one\ntw", "o\nthree\n", "fo"] {
        scrubber.push(piece.as_bytes(), |text| clean.push(text.to_owned()));
    }
    assert_eq!(clean, ["one\n", "two\nthree\n"]);
    scrubber.finish(|text| clean.push(text.to_owned()));
    assert_eq!(clean, ["one\n", "two\nthree\n", "fo"]);
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        lines in prop::collection::vec(prop_oneof![
            "[a-z =:]{0,30}", Just("password:".to_owned()), Just("hunter2hunter2".to_owned()),
            Just("first value".to_owned()), Just("second value".to_owned()),
            Just("MIIEpAIBAAKCAQEA7bq0".to_owned()), Just("x9A=".to_owned()),
            Just(["-----BEGIN PRIV", "ATE KEY-----"].concat()), Just(["-----END PRIV", "ATE KEY-----"].concat()),
        ], 0..20),
        piece in 1usize..40,
    ) {
        let mut hidden = Hidden::default();
        hidden.add("first value\nsecond value");
        let text = lines.join("\n");
        prop_assert_eq!(scrubbed(&hidden, &text, piece), hidden.clean(&text).into_owned());
    }
}

#[test]
fn a_secret_at_the_cut_of_a_long_line_that_is_not_text_is_removed() {
    let token = ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    for bad in [&b"\xff"[..], b"\xe2\x82-\xc3", b"-\xf0\x9f"] {
        for shift in (0..token.len() + 2).step_by(6) {
            let before = LINE_BYTES_MAX + 1 - SECRET_BYTES_MAX - shift - bad.len();
            let mut line = [bad, &b"-".repeat(before), token.as_bytes()].concat();
            line.resize(LINE_BYTES_MAX, b'-');
            let mut scrubber = Scrubber::default();
            let mut clean = String::new();
            for piece in [&line[..], b"-", b"\xc3\xbc end\n"] {
                scrubber.push(piece, |text| clean.push_str(text));
            }
            scrubber.finish(|text| clean.push_str(text));
            assert!(clean.contains("[REDACTED:github_token]"), "{bad:?} {shift}");
            assert!(!clean.contains("ABCDE") && !clean.contains("ghp"), "{bad:?} {shift}");
            assert!(clean.starts_with(&*String::from_utf8_lossy(bad)) && clean.ends_with("-\u{fc} end\n"));
        }
    }
}

#[test]
fn a_character_that_has_only_begun_at_the_cut_is_not_replaced() {
    let mut scrubber = Scrubber::default();
    let mut clean = String::new();
    let line = [&b"\xff"[..], &b"-".repeat(LINE_BYTES_MAX - 1), b"\xc3"].concat();
    for piece in [&line[..LINE_BYTES_MAX], &line[LINE_BYTES_MAX..], b"\xbc\n"] {
        scrubber.push(piece, |text| clean.push_str(text));
    }
    assert!(clean.ends_with("-\u{fc}\n") && clean.matches('\u{fffd}').count() == 1);
}

#[test]
fn a_line_in_small_pieces_is_searched_once() {
    // Half a million pieces of one byte: searching all of them for every one would take minutes.
    let mut scrubber = Scrubber::default();
    let mut clean = String::new();
    for _ in 0..LINE_BYTES_MAX - 1 {
        scrubber.push(b"x", |text| clean.push_str(text));
    }
    assert_eq!((clean.len(), scrubber.lines, scrubber.is_fresh), (0, 0, false));
    scrubber.push(b"\nsecond", |text| clean.push_str(text));
    assert_eq!((clean.len(), scrubber.lines), (LINE_BYTES_MAX, 0));
}

#[test]
fn debug_output_does_not_show_the_text() {
    let mut hidden = Hidden::default();
    hidden.add("correct horse");
    let mut scrubber = Scrubber::new(hidden);
    scrubber.push(b"correct ho", |_| {});
    assert_eq!(format!("{scrubber:?}"), "Scrubber(Hidden(1 values), 10 bytes, Nothing)");
}
