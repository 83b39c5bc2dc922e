use super::super::edits::{apply, reversed};
use super::*;

#[track_caller]
fn turned(before: &str, after: &str) -> Vec<Edit> {
    let edits = edits(before, after).unwrap();
    assert_eq!(apply(before, &edits).as_deref(), Some(after), "{before:?}");
    assert_eq!(apply(after, &reversed(&edits)).as_deref(), Some(before), "{after:?}");
    edits
}

#[test]
fn only_what_differs_is_in_the_edits() {
    let edits = turned("{\"secret\": 1 // mine\n}", "{\"secret\": 1, // mine\n  \"hooks\": {}\n}");
    let inserted: Vec<&str> = edits.iter().map(|edit| edit.inserted.as_str()).collect();
    assert_eq!(inserted, [",", "\n  \"hooks\": {}"]);
    assert!(edits.iter().all(|edit| edit.removed.is_empty()));
    assert_eq!(turned("same", "same"), []);
}

#[test]
fn any_two_texts_are_turned_into_each_other() {
    let texts =
        ["", "a", "a b", "b a", "{}", "{ }\n", "a\r\nb\tc", "ä, ö: [ü]", "a b c a b b a", "c b a b a c"];
    for before in texts {
        for after in texts {
            turned(before, after);
        }
    }
    // A small generator: the same texts on every run.
    let mut state = 1_u32;
    let mut text = |length: usize| -> String {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ["a", "b", " ", ",", "\n", "é"][(state >> 24) as usize % 6]
        };
        (0..length).map(|_| next()).collect()
    };
    for round in 0..300 {
        let (before, after) = (text(round % 40), text(round % 37));
        turned(&before, &after);
    }
}

#[test]
fn texts_that_differ_everywhere_are_not_compared_forever() {
    let [before, after] = ["a,", "b:"].map(|text| text.repeat(10_000));
    assert_eq!(edits(&before, &after), None);
}
