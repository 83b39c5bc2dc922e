//! L3: refuses what the user's policy forbids. A repository's rules can only add to it.

use contract::aocl::Layer;
use contract::domain::confinement::{NetworkUse, SandboxMode};
use contract::domain::plan::PlanTask;
use contract::domain::policy::Denial;
use contract::domain::time::human_duration;

use super::Outcome;
use super::layer::{LayerInput, LayerSpec, RunFacts, Stage};

/// Tasks that are named in one line.
const NAMES_MAX: usize = 5;

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Policy, Stage::Enter, run).repeated();

fn run(input: &LayerInput<'_>) -> Outcome {
    let facts = input.enter();
    let decision = ops::policy::of_run(facts.run, facts.policy);
    let code = decision.code();
    if let Some(Denial { rule, text }) = decision.denial() {
        return Outcome::decided(code, &text).set("C4.Policy.denied_by", rule.to_string()).refuse(text);
    }
    let asked = facts.run.plan.tasks.iter().map(|task| task.sandbox).max().flatten();
    let sandbox = match SandboxMode::effective(facts.policy.sandbox, asked) {
        SandboxMode::Off => "none",
        mode => mode.as_str(),
    };
    let allowed = Outcome::decided(code, "no rule forbids it").set("C4.Policy.sandbox", sandbox);
    let allowed = match unlimited(facts, |task| task.network != NetworkUse::Full) {
        Some(names) => allowed
            .and("NETWORK_NOT_LIMITED", format!("no sandbox is on, so `network` has no effect for {names}")),
        None => allowed,
    };
    let allowed = match unlimited(facts, |task| task.files.reads.is_some()) {
        Some(names) => {
            let reason = format!("no sandbox is on, so read paths have no effect for {names}");
            allowed.and("READS_NOT_LIMITED", reason)
        }
        None => allowed,
    };
    match facts.policy.timeout_max {
        Some(max) => allowed
            .and("TIMEOUT_CAPPED", format!("no attempt may take longer than {}", human_duration(max)))
            .set("C4.Policy.timeout_max_ms", u64::try_from(max.as_millis()).unwrap_or(u64::MAX)),
        None => allowed,
    }
}

/// Which tasks ask for a limit and have no sandbox that would see to it.
fn unlimited(facts: &RunFacts<'_>, asks: impl Fn(&PlanTask) -> bool) -> Option<String> {
    let is_off = |task: &&PlanTask| {
        SandboxMode::effective(facts.policy.sandbox, task.sandbox) == SandboxMode::Off && asks(task)
    };
    let names: Vec<&str> = facts.run.plan.tasks.iter().filter(is_off).map(|task| task.id.as_str()).collect();
    let more = match names.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = names[..names.len().min(NAMES_MAX)].join(", ");
    (!names.is_empty()).then(|| format!("{named}{more}"))
}

#[cfg(test)]
mod tests;
