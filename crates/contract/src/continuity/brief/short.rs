//! The brief of a subagent: the task, what failed, the rules, and how to report back.

use super::found::BriefMaterial;
use super::situation::Situation;
use super::{PARTS, TOKEN_BYTES, commands, prompt};

/// A subagent has little room, and its parent has the whole brief.
const SHORT_TOKENS: usize = 450;
const FAILURES_MAX: usize = 3;
const RULES_MAX: usize = 8;
const REJECTED_MAX: usize = 5;

/// A prompt of a few lines, built like the whole one.
pub fn short(situation: &Situation<'_>) -> String {
    let room = SHORT_TOKENS * TOKEN_BYTES;
    let most = room / PARTS;
    let found = BriefMaterial::in_situation(situation, most);
    let lines = |texts: &[String], max: usize| texts.iter().take(max).cloned().collect::<Vec<String>>();
    let rules = found.rules.iter().take(RULES_MAX).map(prompt::memory).collect();
    let sections = [
        (3, "LAST FAILED CHECK", prompt::failed_check(situation, most)),
        (3, "FAILED", lines(&found.failures, FAILURES_MAX)),
        (3, "RULES", rules),
        (2, "REJECTED, do not try again", lines(&found.rejected, REJECTED_MAX)),
    ];
    let text = prompt::PromptText {
        head: prompt::head(situation),
        about: prompt::about(situation, &found, most),
        sections: sections
            .into_iter()
            .map(|(weight, title, lines)| prompt::section(weight, title, lines, most)),
        commands: commands::for_subagent(situation),
    };
    text.fit(room)
}
