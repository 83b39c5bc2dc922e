//! What the TASKs of a session cost.

use contract::aop::effective;
use contract::aop::event::CostSummary;
use contract::domain::money::MicroUsd;

use super::delegated_costs::{plus, reported};
use super::final_report::Node;

/// What a TASK cost with all runs that it started; `None` if nobody said.
pub(super) fn whole_cost(node: &Node<'_>) -> Option<MicroUsd> {
    plus(reported(node.attempts), node.delegated.all)
}

/// The part of it that no other TASK of the session has: the costs of all TASKs are what the session cost.
pub(super) fn cost(node: &Node<'_>) -> Option<MicroUsd> {
    plus(reported(node.attempts), node.delegated.outside)
}

/// All costs together, and those of each provider and agent.
pub(super) fn costs(nodes: &[Node<'_>]) -> CostSummary {
    let mut summary = CostSummary::default();
    let (mut actual, mut estimated) = (None::<MicroUsd>, None::<MicroUsd>);
    for node in nodes {
        // What its author expects to be spent at most.
        if let Some(most) = effective::budget(&node.message).cost_max {
            estimated = plus(estimated, Some(most));
        }
        let Some(cost) = cost(node) else { continue };
        actual = plus(actual, Some(cost));
        let target = &node.message.target;
        *summary.by_provider.entry(target.provider.as_str().to_owned()).or_default() += cost.dollars();
        *summary.by_agent.entry(target.agent_name.clone()).or_default() += cost.dollars();
    }
    summary.actual_cost_usd = actual.map(MicroUsd::dollars);
    summary.estimated_cost_usd = estimated.map(MicroUsd::dollars);
    summary
}
