//! How a child ended, and the failures that no executor decides about.

use std::time::Duration;

use contract::domain::failure_code::FailureCode;
use contract::domain::network::{Verdict, Visit};
use contract::domain::time::{Timestamp, human_duration};
use contract::secrets::Hidden;

use super::failure;
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::supervisor::{InForce, NOT_LISTED};

/// Denied hosts that a failure names.
const HOSTS_NAMED_MAX: usize = 3;

/// Why writ ended a child that had not ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    Timeout,
    Silence,
    Canceled,
    Interrupted,
    /// Its locks were taken back, so others may write there by now.
    Fenced,
}

/// How a child ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChildEnd {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// It could not be started, or its supervisor was lost.
    pub(crate) fault: Option<String>,
    /// That is so because there is no such program.
    pub(crate) is_missing: bool,
    /// It was not started, because what it changes could not be taken back.
    pub(crate) no_snapshot: Option<String>,
    pub(crate) stopped: Option<Stopped>,
    /// What a provider asked to wait for counts from here.
    pub(crate) at: Option<Timestamp>,
    pub(crate) leftovers_killed: u32,
    pub(crate) survivors: u32,
    /// How it was confined. Unknown if it was never started.
    pub(crate) in_force: Option<InForce>,
    /// What its processes used too much of.
    pub(crate) exceeded: Option<String>,
    /// What it was denied, as its output and its proxy say, where it was in a sandbox.
    pub(crate) denied: Option<String>,
    /// What it reached or tried to reach through the proxy of its sandbox.
    pub(crate) network: Vec<Visit>,
}

impl ChildEnd {
    /// The exit code or the signal in words.
    pub(crate) fn how(&self) -> String {
        match (self.exit_code, self.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended without an exit code".to_owned(),
        }
    }

    /// The newest numbers about one destination, without values that are hidden: a child may have put them into a name.
    pub(crate) fn note_visit(&mut self, visit: &Visit, hidden: &Hidden) {
        let visit = Visit {
            to: hidden.clean_lower(&visit.to),
            reason: visit.reason.as_ref().map(|reason| hidden.clean_lower(reason)),
            ..visit.clone()
        };
        let is_same = |known: &&mut Visit| known.to == visit.to && known.verdict == visit.verdict;
        match self.network.iter_mut().find(is_same) {
            Some(known) => *known = visit,
            None => self.network.push(visit),
        }
    }

    /// Adds the proxy's denials to those of the output.
    pub(crate) fn note_denied(&mut self, printed: Option<String>) {
        let denied = self.network.iter().filter(|visit| visit.verdict == Verdict::Denied);
        let (listed, elsewhere): (Vec<&Visit>, Vec<&Visit>) = denied.partition(|visit| is_unlisted(visit));
        let by_list = named(&listed, |visit| format!("`{}`", visit.to));
        let by_list = by_list.map(|hosts| format!("the network allow-list of the sandbox denied {hosts}"));
        let by_address = named(&elsewhere, with_reason);
        let by_address = by_address.map(|hosts| format!("the network proxy of the sandbox denied {hosts}"));
        let all: Vec<String> = printed.into_iter().chain(by_list).chain(by_address).collect();
        self.denied = (!all.is_empty()).then(|| all.join("; "));
    }

    /// The first host that was denied because it is not in the allow-list.
    pub(crate) fn unlisted_host(&self) -> Option<&str> {
        let is_denied = |visit: &&Visit| visit.verdict == Verdict::Denied && is_unlisted(visit);
        self.network.iter().find(is_denied).map(|visit| visit.to.as_str())
    }

    /// Hosts that may be reached and could not be.
    fn unreached(&self) -> Option<String> {
        let failed = self.network.iter().filter(|visit| visit.verdict == Verdict::Failed);
        let hosts = named(&failed.collect::<Vec<_>>(), with_reason)?;
        Some(format!("the network proxy of the sandbox could not reach {hosts}"))
    }
}

fn is_unlisted(visit: &Visit) -> bool {
    visit.reason.as_deref().is_none_or(|reason| reason == NOT_LISTED)
}

fn with_reason(visit: &Visit) -> String {
    let reason = visit.reason.as_ref().map(|reason| format!(" ({reason})"));
    format!("`{}`{}", visit.to, reason.unwrap_or_default())
}

/// The first of them, and how many there are more. `None` if there are none.
fn named(visits: &[&Visit], told: impl Fn(&Visit) -> String) -> Option<String> {
    let first: Vec<String> = visits.iter().take(HOSTS_NAMED_MAX).map(|visit| told(visit)).collect();
    let more = match visits.len().saturating_sub(HOSTS_NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!first.is_empty()).then(|| format!("{}{more}", first.join(", ")))
}

/// The failure that follows from how the child ended, whatever it claims itself.
pub(crate) fn forced_failure(ended: &ChildEnd, timeout: Duration) -> Option<ExecutorClaim> {
    if let Some(why) = &ended.no_snapshot {
        return Some(failure("E_ROLLBACK_FAILED", why.clone()));
    }
    if let Some(fault) = &ended.fault {
        let code = if ended.is_missing { "E_AGENT_NOT_FOUND" } else { "E_PROCESS_CRASH" };
        return Some(failure(code, fault.clone()));
    }
    if let Some(exceeded) = &ended.exceeded {
        return Some(failure(
            "E_PROCESS_CRASH",
            format!("its processes used {exceeded}, so they were ended"),
        ));
    }
    if ended.survivors > 0 {
        let message = format!("{} processes could not be ended", ended.survivors);
        return Some(failure("E_PROCESS_CRASH", message));
    }
    Some(match ended.stopped? {
        Stopped::Timeout => failure("E_TIMEOUT", format!("took longer than {}", human_duration(timeout))),
        Stopped::Silence => failure("E_HEARTBEAT_FAILURE", "sent no sign of life"),
        Stopped::Canceled => failure("E_UNKNOWN", "canceled"),
        Stopped::Interrupted => failure("E_UNKNOWN", "interrupted"),
        Stopped::Fenced => failure("E_UNKNOWN", "its locks were taken back"),
    })
}

/// The same claim, or that a failure comes from the sandbox. An executor that names another reason knows better.
pub(crate) fn with_denial(claim: ExecutorClaim, ended: &ChildEnd) -> ExecutorClaim {
    let claim = match (claim, ended.unreached()) {
        (ExecutorClaim::Failure { code, message }, Some(unreached)) => {
            ExecutorClaim::Failure { code, message: format!("{message}; {unreached}") }
        }
        (claim, _) => claim,
    };
    match (claim, &ended.denied) {
        (
            ExecutorClaim::Failure { code: FailureCode::ProcessCrash | FailureCode::Unknown, message },
            Some(denied),
        ) => failure("E_PERMISSION_DENIED", format!("{message}; {denied}")),
        (claim, _) => claim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(to: &str, verdict: Verdict, connections: u64) -> Visit {
        Visit { to: to.to_owned(), verdict, connections, sent_bytes: 0, received_bytes: 0, reason: None }
    }

    #[test]
    fn the_newest_numbers_of_a_destination_replace_the_older_ones() {
        let mut ended = ChildEnd::default();
        for (to, verdict, connections) in
            [("a:1", Verdict::Allowed, 1), ("a:1", Verdict::Denied, 1), ("a:1", Verdict::Allowed, 7)]
        {
            ended.note_visit(&visit(to, verdict, connections), &Hidden::default());
        }
        let expected = [visit("a:1", Verdict::Allowed, 7), visit("a:1", Verdict::Denied, 1)];
        assert_eq!(ended.network, expected);
    }

    #[test]
    fn a_secret_in_the_name_of_a_host_is_not_kept() {
        let mut hidden = Hidden::default();
        hidden.add("Correct-Horse-7");
        let mut ended = ChildEnd::default();
        let reason = Some("a request to `correct-horse-7.test:80`".to_owned());
        ended.note_visit(&Visit { reason, ..visit("correct-horse-7.test:80", Verdict::Denied, 1) }, &hidden);
        assert!(!format!("{:?}", ended.network).contains("horse"), "{:?}", ended.network);
    }

    #[test]
    fn a_failure_after_a_denied_host_is_a_denial_that_names_it() {
        let mut ended = ChildEnd::default();
        ended.note_denied(None);
        assert_eq!(ended.denied, None);
        let hidden = Hidden::default();
        ended.note_visit(&visit("fine:1", Verdict::Allowed, 1), &hidden);
        for number in 1..=5 {
            ended.note_visit(&visit(&format!("h{number}:443"), Verdict::Denied, 1), &hidden);
        }
        ended.note_denied(Some("access was denied in the sandbox: `/x`".to_owned()));
        let expected = "access was denied in the sandbox: `/x`; the network allow-list of the sandbox denied \
                        `h1:443`, `h2:443`, `h3:443` and 2 more";
        assert_eq!(ended.denied.as_deref(), Some(expected));
        let claim = with_denial(failure("E_PROCESS_CRASH", "exit 1"), &ended);
        assert_eq!(claim, failure("E_PERMISSION_DENIED", format!("exit 1; {expected}")));
        assert_eq!(with_denial(ExecutorClaim::Success, &ended), ExecutorClaim::Success);
    }

    #[test]
    fn a_failure_after_a_host_that_leads_elsewhere_or_nowhere_says_why() {
        let mut ended = ChildEnd::default();
        let hidden = Hidden::default();
        let because = |reason: &str, visit| Visit { reason: Some(reason.to_owned()), ..visit };
        ended.note_visit(&because("it leads to 127.0.1.1", visit("vm:80", Verdict::Denied, 1)), &hidden);
        ended.note_visit(&because("no address", visit("gone:80", Verdict::Failed, 1)), &hidden);
        ended.note_denied(None);
        let expected = "the network proxy of the sandbox denied `vm:80` (it leads to 127.0.1.1)";
        assert_eq!(ended.denied.as_deref(), Some(expected));
        let unreached = "the network proxy of the sandbox could not reach `gone:80` (no address)";
        let claim = with_denial(failure("E_PROCESS_CRASH", "exit 1"), &ended);
        assert_eq!(claim, failure("E_PERMISSION_DENIED", format!("exit 1; {unreached}; {expected}")));
    }
}
