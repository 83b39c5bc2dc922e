//! Prepares the options of the operator's validators.

use super::{Kind, ValidateOptions, could_not_work};
use crate::operator::{self, Outcome, recall_assignment};
use crate::verdict::Verdict;

type Validator = fn(&[u8], &operator::Options) -> Verdict;

/// Validates an operator document. An unusable assignment or outcome is not a fault of the document, but
/// the document cannot be validated without it.
pub(super) fn validate(kind: Kind, judge: Validator, bytes: &[u8], options: &ValidateOptions) -> Verdict {
    let plain = plain_options(options);
    let outcome = match options.outcome.map(|word| Outcome::parse(word).ok_or(word)).transpose() {
        Ok(outcome) => outcome,
        Err(word) => {
            let message = format!("the outcome must be one of {}, is `{word}`", Outcome::WORDS.join(", "));
            return could_not_work(Some(kind), "usage", message);
        }
    };
    let assignment = match options.assignment.map(recall_assignment).transpose() {
        Ok(assignment) => assignment,
        Err(refusal) => {
            let message = format!("the assignment is invalid: {}", refusal.reason);
            return could_not_work(Some(kind), "assignment", message);
        }
    };
    judge(bytes, &operator::Options { outcome, assignment: assignment.as_ref(), ..plain })
}

/// The options that need no parsing.
pub(crate) fn plain_options<'a>(options: &ValidateOptions<'a>) -> operator::Options<'a> {
    operator::Options {
        strict: options.strict,
        root: options.root,
        links: options.links,
        fold: options.fold,
        now: options.now,
        prior: options.prior,
        tripwire: options.tripwire,
        allow_stale: options.allow_stale,
        check_locks: options.check_locks,
        ..operator::Options::default()
    }
}
