//! The reasons of the agent contract, in which a prefix marks a blocked task as failed or canceled.

use crate::domain::reason::Reason;
use crate::domain::status::Status;

const FAILURE: &str = "failure:";
const CANCELED: &str = "canceled:";

/// The contract's reason of a task in this state.
pub fn printed(status: Status, reason: Option<&Reason>) -> Option<String> {
    let text = reason.map(ToString::to_string);
    match status {
        Status::Failed => Some(failure(&text.unwrap_or_default())),
        Status::Canceled => Some(format!("{CANCELED}{}", text.unwrap_or_default())),
        Status::Blocked => text,
        Status::Todo | Status::InProgress | Status::Done => None,
    }
}

/// The reason with which a caller of the contract reports a failure.
pub fn failure(text: &str) -> String {
    format!("{FAILURE}{text}")
}

/// The state that a reason of the contract marks.
pub fn marked(reason: &str) -> Option<Status> {
    if reason.starts_with(FAILURE) {
        return Some(Status::Failed);
    }
    reason.starts_with(CANCELED).then_some(Status::Canceled)
}

/// The reason without the mark of a failure.
pub fn without_failure(reason: &str) -> &str {
    reason.strip_prefix(FAILURE).unwrap_or(reason)
}

/// The reason that a caller of the contract gives. Only its word for waiting has a rule.
pub fn read(text: &str) -> Reason {
    let dependency = Reason::dependency();
    if text == dependency.text { dependency } else { Reason::new(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::failure_code::FailureCode;

    #[test]
    fn a_prefix_is_written_for_failed_and_canceled_tasks_and_read_again() {
        let reason = Reason::coded(FailureCode::Timeout, "took longer than 1s");
        let printed = |status| printed(status, Some(&reason));
        assert_eq!(printed(Status::Failed).as_deref(), Some("failure:E_TIMEOUT: took longer than 1s"));
        assert_eq!(printed(Status::Canceled).as_deref(), Some("canceled:E_TIMEOUT: took longer than 1s"));
        assert_eq!(printed(Status::Blocked).as_deref(), Some("E_TIMEOUT: took longer than 1s"));
        assert_eq!(printed(Status::Done), None);
        assert_eq!(super::printed(Status::Failed, None).as_deref(), Some("failure:"));
        for status in [Status::Failed, Status::Canceled] {
            assert_eq!(printed(status).as_deref().and_then(marked), Some(status));
        }
        assert_eq!(marked("waits"), None);
        assert_eq!(without_failure(&failure("x")), "x");
    }

    #[test]
    fn only_the_word_of_the_contract_for_waiting_has_a_rule() {
        assert_eq!(read("dependency"), Reason::dependency());
        assert_eq!(read("E_TIMEOUT: x"), Reason::new("E_TIMEOUT: x"));
    }
}
