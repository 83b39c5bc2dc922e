//! Decides in one pass over a text which rules can match at all.

use super::{CREDENTIAL_ASSIGNMENT, RULES};

/// The last rule can only match where one of these words is, in any case.
pub(super) const CREDENTIAL_WORDS: &[&str] = &["key", "secret", "token", "passw", "pwd", "credential"];

/// No rule matches a shorter text.
const MATCH_BYTES_MIN: usize = 10;

/// Marks pairs of bytes that begin a hint. Most texts have few, so the hints themselves are rarely compared.
static BEGINNINGS: [bool; 1 << 14] = beginnings();

const fn slot(first: u8, second: u8) -> usize {
    (((first & 0x7f) as usize) << 7) | (second & 0x7f) as usize
}

const fn beginnings() -> [bool; 1 << 14] {
    let mut marked = [false; 1 << 14];
    let mut rule = 0;
    while rule < RULES.len() {
        let mut hint = 0;
        while hint < RULES[rule].hints.len() {
            let bytes = RULES[rule].hints[hint].as_bytes();
            marked[slot(bytes[0], bytes[1])] = true;
            hint += 1;
        }
        rule += 1;
    }
    let mut word = 0;
    while word < CREDENTIAL_WORDS.len() {
        let bytes = CREDENTIAL_WORDS[word].as_bytes();
        let (first, second) = (bytes[0], bytes[1]);
        marked[slot(first, second)] = true;
        marked[slot(first.to_ascii_uppercase(), second)] = true;
        marked[slot(first, second.to_ascii_uppercase())] = true;
        marked[slot(first.to_ascii_uppercase(), second.to_ascii_uppercase())] = true;
        word += 1;
    }
    marked
}

/// The rules that can match, one bit for each.
pub(super) fn rules_hinted(text: &str) -> u32 {
    let bytes = text.as_bytes();
    if bytes.len() < MATCH_BYTES_MIN {
        return 0;
    }
    let mut found = 0;
    for (at, pair) in bytes.windows(2).enumerate() {
        if BEGINNINGS[slot(pair[0], pair[1])] {
            found |= hinted_here(&bytes[at..]);
        }
    }
    let assigns = 1 << CREDENTIAL_ASSIGNMENT;
    if found & assigns != 0 && !bytes.iter().any(|byte| matches!(byte, b'=' | b':')) {
        found &= !assigns;
    }
    found
}

fn hinted_here(rest: &[u8]) -> u32 {
    let mut found = 0;
    for (index, rule) in RULES.iter().enumerate() {
        if rule.hints.iter().any(|hint| rest.starts_with(hint.as_bytes())) {
            found |= 1 << index;
        }
    }
    let begins =
        |word: &&str| rest.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word.as_bytes()));
    if CREDENTIAL_WORDS.iter().any(begins) {
        found |= 1 << CREDENTIAL_ASSIGNMENT;
    }
    found
}
