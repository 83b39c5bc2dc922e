//! Which hosts a task may reach: the plan's list, or its own.

use crate::domain::confinement::NetworkUse;
use crate::domain::network::HostRule;
use crate::finding::Findings;
use crate::plan::shapes::{RawPlan, RawTask};

/// What the plan says for tasks that do not say it.
pub(super) struct NetworkDefaults {
    allow: Option<Vec<String>>,
}

impl NetworkDefaults {
    pub(super) fn of(plan: &RawPlan, findings: &mut Findings) -> Self {
        let mut uses = plan.task.iter().map(|task| task.network.or(plan.network));
        let is_used = uses.any(|network| network == Some(NetworkUse::Restricted));
        // Once for the plan, and not again for each task.
        let sound = plan.network_allow.clone().filter(|words| {
            let mut own = Findings::default();
            rules(words, "$.network_allow", &mut own);
            let is_sound = own.is_empty();
            own.sorted().into_iter().for_each(|finding| {
                findings.push(finding.path, finding.rule, finding.message);
            });
            is_sound
        });
        if plan.network_allow.is_some() && !is_used {
            refuse("$", findings);
        }
        Self { allow: sound }
    }

    pub(super) fn fill(&self, task: RawTask) -> RawTask {
        let default = || self.allow.clone().filter(|_| task.network == Some(NetworkUse::Restricted));
        let network_allow = task.network_allow.clone().or_else(default);
        RawTask { network_allow, ..task }
    }
}

/// The hosts of one task.
pub(super) fn allowed(
    network: Option<NetworkUse>,
    words: Option<Vec<String>>,
    at: &str,
    findings: &mut Findings,
) -> Vec<HostRule> {
    if words.is_some() && network != Some(NetworkUse::Restricted) {
        refuse(at, findings);
    }
    words.map(|words| rules(&words, &format!("{at}.network_allow"), findings)).unwrap_or_default()
}

/// The rules of a list of texts. Each fault is a finding.
pub(crate) fn rules(words: &[String], at: &str, findings: &mut Findings) -> Vec<HostRule> {
    let mut rules = Vec::new();
    for (index, word) in words.iter().enumerate() {
        match HostRule::parse(word) {
            Ok(rule) => rules.push(rule),
            Err(fault) => {
                findings.push(format!("{at}[{index}]"), fault.rule(), format!("`{word}`: {fault}"));
            }
        }
    }
    rules
}

fn refuse(at: &str, findings: &mut Findings) {
    let message = "has no effect without `network = \"restricted\"`";
    findings.push(format!("{at}.network_allow"), "not_restricted", message);
}
