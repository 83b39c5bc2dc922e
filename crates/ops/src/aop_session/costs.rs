//! What the TASKs of a session cost.

use contract::aop::effective;
use contract::aop::event::CostSummary;
use contract::domain::money::MicroUsd;

use super::final_report::Node;

/// What all attempts cost together; `None` if none said.
pub(super) fn cost(node: &Node<'_>) -> Option<MicroUsd> {
    let costs = node.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()?.cost);
    costs.reduce(|sum, one| MicroUsd(sum.0.saturating_add(one.0)))
}

/// All costs together, and those of each provider and agent.
pub(super) fn costs(nodes: &[Node<'_>]) -> CostSummary {
    let mut summary = CostSummary::default();
    let (mut actual, mut estimated) = (None::<MicroUsd>, None::<MicroUsd>);
    let plus = |sum: Option<MicroUsd>, one: MicroUsd| {
        Some(MicroUsd(sum.unwrap_or_default().0.saturating_add(one.0)))
    };
    for node in nodes {
        // What its author expects to be spent at most.
        if let Some(most) = effective::budget(&node.message).cost_max {
            estimated = plus(estimated, most);
        }
        let Some(cost) = cost(node) else { continue };
        actual = plus(actual, cost);
        let target = &node.message.target;
        *summary.by_provider.entry(target.provider.as_str().to_owned()).or_default() += cost.dollars();
        *summary.by_agent.entry(target.agent_name.clone()).or_default() += cost.dollars();
    }
    summary.actual_cost_usd = actual.map(MicroUsd::dollars);
    summary.estimated_cost_usd = estimated.map(MicroUsd::dollars);
    summary
}
