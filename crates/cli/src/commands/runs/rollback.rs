//! Text about interrupted attempts: recovery, rolled back files, and files missing from the snapshot.

use contract::domain::attempt::Attempt;

use crate::output::one_line;

pub(super) fn text(attempt: &Attempt, indent: &str) -> String {
    let mut text = String::new();
    if let Some(recovery) = attempt.outcome.as_ref().and_then(|outcome| outcome.recovery.as_ref()) {
        text.push_str(&format!("{indent}{}: {}\n", recovery.decision, one_line(&recovery.reason)));
    }
    let taken = attempt.outcome.as_ref().and_then(|outcome| outcome.snapshot.as_ref());
    if let Some(taken) = taken {
        if let Some(why) = &taken.failed {
            text.push_str(&format!("{indent}no snapshot: {}\n", one_line(why)));
        }
        let count = taken.not_taken.len() as u64 + taken.not_taken_more;
        if let Some(first) = taken.not_taken.first() {
            let more = if count > 1 { format!(", and {} more", count - 1) } else { String::new() };
            text.push_str(&format!("{indent}not in the snapshot: {}{more}\n", one_line(first)));
        }
        for note in &taken.notes {
            text.push_str(&format!("{indent}snapshot: {}\n", one_line(note)));
        }
    }
    if let Some(rollback) = &attempt.rollback {
        text.push_str(&format!("{indent}{}\n", one_line(&rollback.told())));
        for left in &rollback.left {
            let reason = left.reason.as_deref().unwrap_or_default();
            text.push_str(&format!("{indent}  {}: {}\n", one_line(&left.path), one_line(reason)));
        }
    }
    text
}
