//! Finds in one pass where rules can match at all: a text without a hint, and a line without one, is not searched.

use std::ops::Range;

use super::{ASSIGNMENT_TOKEN, CREDENTIAL_ASSIGNMENT, PRIVATE_KEY_BLOCK, RULES};

/// The last rule can only match where one of these words is, in any case.
pub(super) const CREDENTIAL_WORDS: &[&str] = &["key", "secret", "token", "passw", "pwd", "credential"];

/// No rule matches a shorter text.
const MATCH_BYTES_MIN: usize = 10;
/// What may stand between the name of a credential and the end of its line, if the value is on the next one.
const NAME_BYTES_MAX: usize = 64;

/// The longest that may follow one of the words in a name: `_key`.
const NAME_REST_MAX: usize = 4;

/// The digits of the proof in an assignment's token.
const PROOF_DIGITS: usize = 64;

/// A hint of a rule, at its place in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hint {
    rule: usize,
    at: usize,
}

/// A hint as it is looked for. Those that begin with the same two bytes are a list.
#[derive(Clone, Copy)]
struct HintPattern {
    text: &'static [u8],
    rule: usize,
    /// The next one of the list, counted from 1; 0 at its end.
    next: usize,
}

/// A word in any case begins with one of four pairs of bytes.
const CASES: usize = 4;
const WANTED: usize = wanted_count();
const LISTS: (Table, [HintPattern; WANTED]) = lists();
/// The first hint of the list of each pair of bytes, counted from 1; 0 where no hint begins so. Most pairs of a text are
/// such, and cost one look.
static FIRST: Table = LISTS.0;
static HINTS: [HintPattern; WANTED] = LISTS.1;

type Table = [u8; 1 << 14];

const fn slot(first: u8, second: u8) -> usize {
    (((first & 0x7f) as usize) << 7) | (second & 0x7f) as usize
}

const fn wanted_count() -> usize {
    let (mut count, mut rule) = (CASES * CREDENTIAL_WORDS.len(), 0);
    while rule < RULES.len() {
        count += RULES[rule].hints.len();
        rule += 1;
    }
    count
}

#[expect(clippy::cast_possible_truncation, reason = "there are fewer than 100 hints")]
const fn lists() -> (Table, [HintPattern; WANTED]) {
    let mut first = [0; 1 << 14];
    let mut all = [HintPattern { text: &[], rule: 0, next: 0 }; WANTED];
    let (mut count, mut rule) = (0, 0);
    while rule < RULES.len() {
        let mut hint = 0;
        while hint < RULES[rule].hints.len() {
            let text = RULES[rule].hints[hint].as_bytes();
            let place = slot(text[0], text[1]);
            all[count] = HintPattern { text, rule, next: first[place] as usize };
            count += 1;
            first[place] = count as u8;
            hint += 1;
        }
        rule += 1;
    }
    let mut word = 0;
    while word < CASES * CREDENTIAL_WORDS.len() {
        let text = CREDENTIAL_WORDS[word / CASES].as_bytes();
        let upper = word % CASES;
        let one = if upper & 1 == 0 { text[0] } else { text[0].to_ascii_uppercase() };
        let two = if upper & 2 == 0 { text[1] } else { text[1].to_ascii_uppercase() };
        let place = slot(one, two);
        all[count] = HintPattern { text, rule: CREDENTIAL_ASSIGNMENT, next: first[place] as usize };
        count += 1;
        first[place] = count as u8;
        word += 1;
    }
    (first, all)
}

/// Every hint in the text, in the order of their places.
pub(super) fn all(text: &str) -> Vec<Hint> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    if bytes.len() < MATCH_BYTES_MIN {
        return found;
    }
    for (at, pair) in bytes.windows(2).enumerate() {
        let mut next = usize::from(FIRST[slot(pair[0], pair[1])]);
        while next > 0 {
            let hint = &HINTS[next - 1];
            if begins(&bytes[at..], hint) && goes_on(text, at + hint.text.len(), hint.rule) {
                found.push(Hint { rule: hint.rule, at });
            }
            next = hint.next;
        }
    }
    found
}

/// Whether what follows a hint can be the rest of a match, for rules whose hints are ordinary text.
fn goes_on(text: &str, from: usize, rule: usize) -> bool {
    match rule {
        CREDENTIAL_ASSIGNMENT => is_assigned(&text[from..]),
        ASSIGNMENT_TOKEN => is_proof(&text.as_bytes()[from..]),
        _ => true,
    }
}

fn is_proof(rest: &[u8]) -> bool {
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    rest.get(..PROOF_DIGITS).is_some_and(|digits| digits.iter().all(is_hex))
}

/// Whether the rest of a name, a quote and blanks are followed by a sign: prose about tokens is not searched.
fn is_assigned(rest: &str) -> bool {
    let is_name = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let name: usize = rest.chars().take(NAME_REST_MAX).take_while(is_name).map(char::len_utf8).sum();
    let rest = &rest[name..];
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    rest.trim_start().starts_with([':', '='])
}

fn begins(rest: &[u8], hint: &HintPattern) -> bool {
    let Some(here) = rest.get(..hint.text.len()) else { return false };
    if hint.rule == CREDENTIAL_ASSIGNMENT { here.eq_ignore_ascii_case(hint.text) } else { here == hint.text }
}

/// The rules that have a hint, in their order.
pub(super) fn rules(hints: &[Hint]) -> impl Iterator<Item = usize> + use<> {
    let hinted = hints.iter().fold(0_u32, |hinted, hint| hinted | 1 << hint.rule);
    (0..RULES.len()).filter(move |rule| hinted & (1 << rule) != 0)
}

/// The lines of the text in which a rule can match.
pub(super) fn regions(text: &str, hints: &[Hint], rule: usize) -> Vec<Range<usize>> {
    if rule == PRIVATE_KEY_BLOCK {
        return std::iter::once(0..text.len()).collect();
    }
    let mut regions: Vec<Range<usize>> = Vec::new();
    // The line of the last hint: its other hints have the same place.
    let mut line = 0..0;
    for hint in hints.iter().filter(|hint| hint.rule == rule) {
        if hint.at >= line.end {
            let start = text[..hint.at].rfind('\n').map_or(0, |at| at + 1);
            line = start..line_end(text, hint.at);
        } else if rule != CREDENTIAL_ASSIGNMENT {
            continue;
        }
        let awaits_value = rule == CREDENTIAL_ASSIGNMENT && may_go_on(&text.as_bytes()[hint.at..line.end]);
        let end = if awaits_value { next_lines_end(text, line.end) } else { line.end };
        match regions.last_mut() {
            Some(last) if last.end > line.start => last.end = last.end.max(end),
            _ => regions.push(line.start..end),
        }
    }
    regions
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |length| from + length)
}

/// Whether nothing but the rest of a name, quotes and a sign follows in the line.
fn may_go_on(rest: &[u8]) -> bool {
    let is_open = |byte: &u8| byte.is_ascii_alphabetic() || b"_-\"':= \t\r\x0b\x0c".contains(byte);
    rest.len() <= NAME_BYTES_MAX && rest.iter().all(is_open)
}

/// The end of the second line behind this one that is not blank: sign and value may each be on a line of their own.
fn next_lines_end(text: &str, from: usize) -> usize {
    let mut end = from;
    for _ in 0..2 {
        let blank = text[end..].len() - text[end..].trim_start().len();
        end = line_end(text, end + blank);
    }
    end
}
