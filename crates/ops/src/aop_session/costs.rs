//! What the TASKs of a session cost.

use std::collections::BTreeMap;

use contract::aop::event::CostSummary;
use contract::domain::attempt::Attempt;
use contract::domain::money::MicroUsd;
use contract::domain::report::CostReport;

use super::delegated_costs::{plus, reported};
use super::node::SessionTask;

/// The cost of a TASK with all runs that it started; `None` if unknown.
pub(super) fn whole_cost(node: &SessionTask<'_>) -> Option<MicroUsd> {
    node.works().map(|work| plus(reported(work.attempts), work.delegated.all)).fold(None, plus)
}

/// The part of it that no other TASK of the session has: the costs of all TASKs are what the session cost.
fn cost(node: &SessionTask<'_>) -> Option<MicroUsd> {
    node.works().map(|work| plus(reported(work.attempts), work.delegated.outside)).fold(None, plus)
}

/// The cost of all TASKs together; `None` if unknown.
pub(super) fn total(nodes: &[SessionTask<'_>]) -> Option<MicroUsd> {
    nodes.iter().map(cost).fold(None, plus)
}

/// All costs together, those of each provider and agent, and what executors estimated.
pub(super) fn costs(nodes: &[SessionTask<'_>]) -> CostSummary {
    let (mut by_provider, mut by_agent) = (Sums::new(), Sums::new());
    for work in nodes.iter().flat_map(SessionTask::works) {
        let own = work.attempts.iter().map(|attempt| (work.used(attempt).0, reported([attempt])));
        // The models of the runs it started are unknown.
        let started = (work.last_used().0, work.delegated.outside);
        for (provider, cost) in own.chain([started]) {
            let Some(cost) = cost else { continue };
            add(&mut by_provider, provider.as_str(), cost);
            add(&mut by_agent, &work.message.target.agent_name, cost);
        }
    }
    CostSummary {
        estimated_cost_usd: reports(nodes).map(|it| it.estimated).fold(None, plus).map(MicroUsd::dollars),
        actual_cost_usd: total(nodes).map(MicroUsd::dollars),
        tokens_input: counted(reports(nodes).map(|it| it.tokens_input)),
        tokens_output: counted(reports(nodes).map(|it| it.tokens_output)),
        by_provider: dollars(by_provider),
        by_agent: dollars(by_agent),
        extensions: None,
    }
}

/// Exact until they are printed.
type Sums = BTreeMap<String, MicroUsd>;

fn add(sums: &mut Sums, name: &str, cost: MicroUsd) {
    let sum = sums.entry(name.to_owned()).or_default();
    sum.0 = sum.0.saturating_add(cost.0);
}

fn dollars(sums: Sums) -> BTreeMap<String, f64> {
    sums.into_iter().map(|(name, sum)| (name, sum.dollars())).collect()
}

/// What executors said about the costs of their attempts.
fn reports<'n>(nodes: &'n [SessionTask<'_>]) -> impl Iterator<Item = &'n CostReport> {
    let attempts = nodes.iter().flat_map(SessionTask::works).flat_map(|work| work.attempts);
    attempts.filter_map(|attempt: &Attempt| attempt.outcome.as_ref()?.report.as_ref()?.cost.as_ref())
}

/// The sum of the counts that are known; `None` if none is.
fn counted(counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    counts.flatten().reduce(u64::saturating_add)
}
