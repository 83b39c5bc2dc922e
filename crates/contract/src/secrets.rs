//! Finds and removes secrets. Named rules, our own expressions from public token formats, linear time.

mod hidden;
mod hints;
mod parts;
mod stream;
mod tail;
mod value;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

pub use self::hidden::Hidden;
use self::hints::Hint;
pub use self::stream::Scrubber;
pub use self::tail::Tail;
pub use self::value::{Secret, find_in, scrub_value};

/// What to do about a name that contains a secret.
pub const SECRET_HINT: &str = "nothing was written: names are never rewritten, so use one without the secret, and replace the secret if it is real";

struct SecretRule {
    name: &'static str,
    /// A cheap test: text without any of these cannot match.
    hints: &'static [&'static str],
    pattern: &'static str,
}

/// Lines of base64, the last of which may be short, with what stands between lines in files and in JSON.
macro_rules! key_body {
    () => {
        r#"(?:[A-Za-z0-9+/]{16,}={0,2}(?:[\s"',]|\\[nr])+)+(?:[A-Za-z0-9+/=]{1,15}(?:[\s"',]|\\[nr])+)?"#
    };
}
use key_body;

/// Specific formats come before the generic ones, so that a match has the most specific name.
///
/// A form with a telling beginning is recognized wherever it stands, also behind a letter or `_`. Those that look like the
/// end of a word (`task-…`) begin at its edge or behind `_`, and an AWS key not behind a capital or a digit.
///
/// No rule asks what comes behind a match, which takes all that is left of its last word, and only a key block goes across
/// a bracket. So a marker in its place creates no new match next to it, and one pass of each rule is enough.
const RULES: &[SecretRule] = &[
    SecretRule {
        name: "private_key_block",
        hints: &["-----BEGIN", "-----END "],
        // Whole, without its end, or without its beginning.
        pattern: concat!(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
            "|",
            key_body!(),
            "-----END [A-Z0-9 ]*PRIVATE KEY-----",
        ),
    },
    SecretRule {
        name: "aws_access_key_id",
        hints: &["AKIA", "ASIA", "ABIA", "ACCA", "A3T"],
        pattern: r"(?:\b|[\w--[A-Z0-9]])(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}[A-Za-z0-9_]*",
    },
    SecretRule {
        name: "writ_access_token",
        hints: &["writ_"],
        pattern: r"writ_[A-Za-z0-9]{1,64}_[0-9a-f]{64}[A-Za-z0-9_]*",
    },
    SecretRule {
        name: "writ_assignment_token",
        hints: &["0-", "1-", "2-", "3-", "4-", "5-", "6-", "7-", "8-", "9-"],
        pattern: r"\b[1-9][0-9]{0,18}-[0-9a-f]{64}[A-Za-z0-9_-]*",
    },
    SecretRule { name: "anthropic_api_key", hints: &["sk-ant-"], pattern: r"sk-ant-[A-Za-z0-9_-]{20,}" },
    SecretRule {
        name: "openai_api_key",
        hints: &["sk-"],
        pattern: r"(?:\b|_)sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}",
    },
    SecretRule {
        name: "github_token",
        hints: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        pattern: r"(?:gh[pousr]_[A-Za-z0-9]{36,}[A-Za-z0-9_]*|github_pat_[A-Za-z0-9_]{22,})",
    },
    SecretRule { name: "gitlab_pat", hints: &["glpat-"], pattern: r"glpat-[A-Za-z0-9_-]{20,}" },
    SecretRule {
        name: "slack_token",
        hints: &["xox", "xapp-"],
        pattern: r"xox[bpares]-[A-Za-z0-9-]{10,}|(?:\b|_)xapp-[0-9]-[A-Za-z0-9-]{10,}",
    },
    SecretRule {
        name: "slack_webhook",
        hints: &["hooks.slack.com"],
        pattern: r"hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}",
    },
    SecretRule {
        name: "stripe_key",
        hints: &["_test_", "_live_", "_prod_"],
        pattern: r"[sr]k_(?:test|live|prod)_[A-Za-z0-9]{10,}[A-Za-z0-9_]*",
    },
    SecretRule { name: "google_api_key", hints: &["AIza"], pattern: r"AIza[A-Za-z0-9_-]{35,}" },
    SecretRule { name: "npm_token", hints: &["npm_"], pattern: r"npm_[A-Za-z0-9]{36,}[A-Za-z0-9_]*" },
    SecretRule { name: "pypi_token", hints: &["pypi-"], pattern: r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}" },
    SecretRule { name: "huggingface_token", hints: &["hf_"], pattern: r"hf_[A-Za-z0-9]{34,}[A-Za-z0-9_]*" },
    SecretRule {
        name: "sendgrid_key",
        hints: &["SG."],
        pattern: r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,}",
    },
    SecretRule { name: "vault_token", hints: &["hvs."], pattern: r"hvs\.[A-Za-z0-9_-]{24,}" },
    SecretRule {
        name: "age_secret_key",
        hints: &["AGE-SECRET-KEY-1"],
        pattern: r"AGE-SECRET-KEY-1[A-Z0-9]{58}[A-Za-z0-9]*",
    },
    SecretRule {
        name: "jwt",
        hints: &[".ey"],
        pattern: r"ey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    },
    SecretRule {
        name: "bearer_token",
        hints: &["earer ", "asic ", "EARER ", "ASIC "],
        pattern: r"(?i)\b(?:bearer|basic) [A-Za-z0-9+/=._~-]{16,}",
    },
    SecretRule {
        name: "url_credentials",
        hints: &["://"],
        pattern: r"\b[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@\[]+:[^/\s@\[]{3,}@",
    },
    SecretRule {
        name: "credential_assignment",
        hints: &[],
        pattern: r#"(?i)\b(?:[a-z0-9]+[_-])*(?:api[_-]?key|secret(?:[_-]?key)?|access[_-]?key|access[_-]?token|auth[_-]?token|token|password|passwd|pwd|credentials?|private[_-]?key)["']?\s*(?::=|=|:)\s*["']?(?P<value>[^\s"'\[\]{}<>$]{6,})"#,
    },
];

/// The rule for anything that is called a password, a token or a key. Its hints are words in any case.
const CREDENTIAL_ASSIGNMENT: usize = RULES.len() - 1;
/// The rule whose hints are in every date: what follows one is looked at, too.
const ASSIGNMENT_TOKEN: usize = 3;
/// The only other rule that goes across lines.
const PRIVATE_KEY_BLOCK: usize = 0;

/// Compiled when first needed: most texts contain no hint of any rule, and start-up must stay cheap.
static COMPILED: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];

fn compiled(index: usize) -> &'static Regex {
    COMPILED[index]
        .get_or_init(|| Regex::new(RULES[index].pattern).expect("BUG: the rule's expression is valid"))
}

/// The name of the first rule that finds a secret. The secret itself is never part of an answer.
pub fn find(text: &str) -> Option<&'static str> {
    let hints = hints::all(text);
    hints::rules(&hints).find(|&rule| !places(text, &hints, rule).is_empty()).map(|rule| RULES[rule].name)
}

/// The text with every secret replaced by `[REDACTED:<rule>]`. Doing it twice changes nothing more.
pub fn scrub(text: &str) -> Cow<'_, str> {
    let mut result = Cow::Borrowed(text);
    let mut hints = hints::all(text);
    for rule in hints::rules(&hints) {
        let mut rest = 0;
        let mut clean = String::new();
        for found in places(&result, &hints, rule) {
            clean.push_str(&result[rest..found.start]);
            clean.push_str("[REDACTED:");
            clean.push_str(RULES[rule].name);
            clean.push(']');
            rest = found.end;
        }
        if rest > 0 {
            clean.push_str(&result[rest..]);
            hints = hints::all(&clean);
            result = Cow::Owned(clean);
        }
    }
    result
}

/// The first secret that begins before `cut` and ends behind it.
fn spanning(text: &str, cut: usize) -> Option<(Range<usize>, &'static str)> {
    let hints = hints::all(text);
    hints::rules(&hints).find_map(|rule| {
        let found =
            places(text, &hints, rule).into_iter().find(|found| found.start < cut && found.end > cut)?;
        Some((found, RULES[rule].name))
    })
}

/// The places of a rule's secrets.
fn places(text: &str, hints: &[Hint], rule: usize) -> Vec<Range<usize>> {
    let regex = compiled(rule);
    let mut found = Vec::new();
    for region in hints::regions(text, hints, rule) {
        let part = &text[region.clone()];
        let place = |secret: regex::Match<'_>| region.start + secret.start()..region.start + secret.end();
        if rule == CREDENTIAL_ASSIGNMENT {
            // The value of a name may be the name of the next one, so the search goes on at a value that is none.
            let mut from = 0;
            while let Some(assigned) = regex.captures_at(part, from) {
                let whole = assigned.get(0).expect("BUG: group 0 is the match");
                let value = assigned.name("value").expect("BUG: the rule has this group");
                from = if is_telling(value.as_str()) { whole.end() } else { value.start() };
                if from == whole.end() {
                    found.push(place(whole));
                }
            }
        } else {
            found.extend(regex.find_iter(part).map(place));
        }
    }
    found
}

/// Prose such as `token: refreshed` is not an assignment: a value must be long, or contain a digit or a symbol.
fn is_telling(value: &str) -> bool {
    let refers = value.starts_with("env:") || value.starts_with("REDACTED");
    let odd =
        value.chars().any(|c| c.is_ascii_digit() || (c.is_ascii_punctuation() && !".,;:()/".contains(c)));
    !refers && (odd || value.len() >= 12)
}

#[cfg(test)]
mod tests;
