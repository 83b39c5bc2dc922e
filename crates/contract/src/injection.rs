//! Detects text that tries to give instructions (prompt injection). This is a heuristic: the real protection is that
//! text is never executed. Named rules, linear time.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::json::strict;

/// A JSON packet or a verdict hidden in a text.
pub const CONTROL_PLANE_FIELDS: &str = "control_plane_fields";
/// Words that would change a role, a scope, a check or the conversation itself.
pub const INSTRUCTION_OVERRIDE: &str = "instruction_override";

/// The rule that a text broke. The text itself is never part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injection {
    pub rule: &'static str,
    /// Completes the sentence "the text …".
    pub sign: &'static str,
}

/// The first rule that the text breaks.
pub fn find(text: &str) -> Option<Injection> {
    // Most texts are names and plain paths, and an instruction has more than one word or a mark.
    let may_speak = |byte: u8| {
        !byte.is_ascii()
            || byte.is_ascii_whitespace()
            || matches!(byte, b'<' | b'[' | b':' | b'=' | b'"' | b'\'')
    };
    if !text.bytes().any(may_speak) {
        return None;
    }
    let text = plain(text);
    find_control_plane(&text).or_else(|| find_override(&text))
}

/// Field names that only our own code writes.
const CONTROL_KEYS: &[&str] = &[
    "acceptance_check",
    "acceptance_criteria",
    "acceptance_targets",
    "active_locks",
    "allow",
    "assignments",
    "blockers",
    "context_package",
    "delta_id",
    "depends_on_task_id",
    "forbidden_scope",
    "global_objective",
    "heartbeat_interval_seconds",
    "last_heartbeat_at",
    "ledger",
    "ledger_delta",
    "lock_scope",
    "next_actions",
    "notes_for_orchestrator",
    "open_blockers",
    PACKET_TYPE,
    "required_output_schema",
    "run_id",
    "schema_version",
    "task_id",
    "timed_out",
    "timeout_seconds",
    "worklog_path",
    "x_expected_version",
    "x_fencing_token",
    "x_intent",
];

/// The one key that is enough alone.
const PACKET_TYPE: &str = "packet_type";

/// Common names. Together with one of our fields they count too: `allow` and `code` are a verdict.
const COMMON_KEYS: &[&str] =
    &["active", "changes", "code", "details", "owner", "priority", "reason", "resource", "status"];

fn find_control_plane(text: &str) -> Option<Injection> {
    let mut keys = BTreeSet::new();
    if text.contains(['"', '\'']) && CONTROL_KEYS.iter().any(|key| text.contains(key)) {
        let names = QUOTED_KEY.captures_iter(text).filter_map(|found| found.get(1));
        keys.extend(names.map(|name| name.as_str().to_owned()));
    }
    // Keys may be written with escapes, which only a parser sees.
    let may_escape = text.contains("\\u") && text.trim_start().starts_with(['{', '[']);
    if may_escape && let Ok(value) = strict::parse(text.trim().as_bytes()) {
        collect_keys(&value, &mut keys);
    }
    let bare = || text.contains(PACKET_TYPE) && BARE_PACKET_TYPE.is_match(text);
    let packet = keys.contains(PACKET_TYPE) || bare();
    let is_ours = |key: &String| CONTROL_KEYS.contains(&key.as_str());
    (packet || (keys.len() >= 2 && keys.iter().any(is_ours)))
        .then_some(Injection { rule: CONTROL_PLANE_FIELDS, sign: "carries fields of the control plane" })
}

fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        Value::Object(fields) => {
            for (name, value) in fields {
                if CONTROL_KEYS.iter().chain(COMMON_KEYS).any(|key| key == name) {
                    keys.insert(name.clone());
                }
                collect_keys(value, keys);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

static QUOTED_KEY: LazyLock<Regex> = LazyLock::new(|| {
    let keys = [CONTROL_KEYS, COMMON_KEYS].concat().join("|");
    expression(&format!(r#"\\?["']({keys})\\?["']\s*:"#))
});

static BARE_PACKET_TYPE: LazyLock<Regex> =
    LazyLock::new(|| expression(r"\bpacket_type\s*[:=]\s*assignment\b"));

struct InjectionOrder {
    sign: &'static str,
    /// A cheap test: without a word of each of these lists, in lower case, a text cannot match.
    hints: &'static [&'static [&'static str]],
    /// A group named `not` marks the opposite of an instruction: "do not skip validation".
    pattern: &'static str,
}

/// Allowed filler words inside an instruction, so that `skip form validation` stays a normal task.
macro_rules! order {
    ($verbs:literal, $fillers:literal, $objects:literal) => {
        concat!(
            r"(?i)(?P<not>\b(?:not|never|n't|n’t|cannot|without)\s+(?:ever\s+)?)?\b(?:",
            $verbs,
            r")\s+(?:(?:",
            $fillers,
            r")\s+){0,4}(?:",
            $objects,
            r")\b"
        )
    };
}

const DROPPING: &[&str] =
    &["ignor", "disregard", "forget", "overrid", "overrul", "bypass", "discard", "abandon", "follow", "obey"];

const ORDERS: &[InjectionOrder] = &[
    InjectionOrder {
        sign: "tells its reader to ignore earlier instructions",
        hints: &[
            DROPPING,
            &[
                "previous",
                "prior",
                "above",
                "earlier",
                "preceding",
                "foregoing",
                "former",
                "initial",
                "original",
                "system",
            ],
        ],
        pattern: order!(
            "ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|overrul(?:e|ing)|bypass(?:ing)?|discard(?:ing)?|abandon(?:ing)?|(?:follow|obey)(?:ing)?\\s+none\\s+of|stop\\s+(?:following|obeying)|(?:do\\s+not|don't|don’t)\\s+(?:follow|obey)",
            "all|any|every|each|of|the|your|these|those|that|my|our|and",
            "(?:previous|prior|above|earlier|preceding|foregoing|former|initial|original|system)(?:ly)?(?:\\s+(?:given|stated|system|and|developer|user|task|safety)){0,3}\\s+(?:instruction|rule|prompt|directive|direction|guideline|order|command|polic(?:y|ies)|mandate|constraint|message|conversation|context)s?"
        ),
    },
    InjectionOrder {
        sign: "tells its reader to drop its role",
        hints: &[DROPPING, &["your", "agent's", "above", "before", "role"]],
        pattern: order!(
            "ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|overrul(?:e|ing)|abandon(?:ing)?",
            "all|any|of",
            "(?:your|the\\s+agent's)\\s+(?:own\\s+)?(?:instruction|rule|role|prompt|directive|guideline|mandate|training)s?|(?:everything|anything|all)\\s+(?:that\\s+was\\s+)?(?:above|before\\s+this|said\\s+before)|role\\s+mandates?"
        ),
    },
    InjectionOrder {
        sign: "asks for more rights than were granted",
        hints: &[&["lock", "forbidden", "required_output_schema"]],
        pattern: order!(
            "widen(?:ing)?|expand(?:ing)?|extend(?:ing)?|enlarg(?:e|ing)|broaden(?:ing)?|increas(?:e|ing)|relax(?:ing)?|remov(?:e|ing)|drop(?:ping)?|clear(?:ing)?|chang(?:e|ing)|modify(?:ing)?|overrid(?:e|ing)|ignor(?:e|ing)|bypass(?:ing)?|replac(?:e|ing)|set(?:ting)?|escap(?:e|ing)",
            "the|your|its|this|task's|current|own|whole|assigned|all",
            "lock[_ -]?scopes?|forbidden[_ -]?scopes?|required_output_schema"
        ),
    },
    InjectionOrder {
        sign: "asks to skip a check",
        hints: &[&["validat", "acceptance", "lock", "reconciliation"]],
        pattern: order!(
            "skip(?:ping)?|bypass(?:ing)?|disabl(?:e|ing)|circumvent(?:ing)?|omit(?:ting)?|ignor(?:e|ing)|turn(?:ing)?\\s+off|avoid(?:ing)?",
            "the|all|any|every|this|its|your|further|packet|result|schema|contract|ledger|lock|overlap|acceptance|orchestrator",
            "validat(?:ion|or)s?|acceptance\\s+(?:check|criteri(?:a|on)|test)s?|lock\\s+(?:check|overlap)s?|reconciliation"
        ),
    },
    InjectionOrder {
        sign: "imitates the markup of a conversation",
        hints: &[
            &["<", "["],
            &[
                "system",
                "assistant",
                "developer",
                "subagent",
                "assignment",
                "orchestrator",
                "|>",
                "sys",
                "inst",
            ],
        ],
        pattern: r"(?i)(?:^|[^A-Za-z0-9_])(?:<\s*/?\s*(?:system(?:[-_ ](?:prompt|message|reminder))?|assistant|developer|subagent[-_]result|assignment[-_]packet|orchestrator)(?:\s[^<>]{0,200})?/?>|<\|[^|<>]{1,40}\|>|<<\s*/?\s*sys\s*>>|\[\s*/?\s*(?:assignment[ _-]packet|subagent[ _-]result|system[ _-](?:prompt|message)|inst)\s*\])",
    },
    InjectionOrder {
        sign: "gives its reader another role",
        hints: &[
            &["you", "act", "behave", "pretend"],
            &["orchestrator", "operator", "admin", "root", "system", "developer", "unrestricted", "dan"],
        ],
        pattern: r"(?i)\b(?:you\s+are\s+now|act\s+as|behave\s+as|pretend\s+to\s+be)\s+(?:the\s+|an?\s+)?(?:orchestrator|operator|administrator|admin|root|system|developer\s+mode|in\s+developer\s+mode|unrestricted|dan)\b",
    },
    InjectionOrder {
        sign: "asks for the prompt of its reader",
        hints: &[&["system"], &["prompt"]],
        pattern: r"(?i)\b(?:reveal|print|show|repeat|output|leak)\s+(?:me\s+)?(?:your|the)\s+(?:hidden\s+|full\s+|initial\s+)?system\s+prompt\b",
    },
];

/// Compiled when first needed: most texts contain no hint of an instruction.
static COMPILED: [OnceLock<Regex>; ORDERS.len()] = [const { OnceLock::new() }; ORDERS.len()];

fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).expect("BUG: the rule's expression is valid")
}

fn find_override(text: &str) -> Option<Injection> {
    let lower = text.to_ascii_lowercase();
    let hinted = |order: &InjectionOrder| {
        order.hints.iter().all(|words| words.iter().any(|word| lower.contains(word)))
    };
    let given = |regex: &Regex| regex.captures_iter(text).any(|found| found.name("not").is_none());
    let compiled = COMPILED.iter().zip(ORDERS).filter(|(_, order)| hinted(order));
    let mut orders = compiled.map(|(cell, order)| (cell.get_or_init(|| expression(order.pattern)), order));
    let (_, order) = orders.find(|(regex, _)| given(regex))?;
    Some(Injection { rule: INSTRUCTION_OVERRIDE, sign: order.sign })
}

/// The text as a reader sees it: compatible letters are unified, and invisible characters removed.
fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    text.nfkc().filter(|c| !is_unseen(*c)).collect::<String>().into()
}

fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
