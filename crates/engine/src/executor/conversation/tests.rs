use super::*;

#[test]
fn the_cost_of_a_conversation_is_counted_once() {
    let said = |cost| AgentUsage { cost_usd: Some(cost), cost_is_total: true, ..AgentUsage::default() };
    let (first, total) = counted(&said(0.02), None);
    let (second, total) = counted(&said(0.05), total.as_ref());
    let spent = [first, second].map(|usage| usage.cost_usd.and_then(MicroUsd::from_dollars).unwrap().0);
    assert_eq!(spent, [20_000, 30_000]);
    assert_eq!(total.and_then(|total| total.cost), Some(MicroUsd(50_000)));
}

#[test]
fn a_total_that_is_smaller_than_before_is_this_calls_own() {
    let said = AgentUsage { cost_usd: Some(0.01), cost_is_total: true, ..AgentUsage::default() };
    let before = SessionTotal { cost: Some(MicroUsd(50_000)), ..SessionTotal::default() };
    let (own, _) = counted(&said, Some(&before));
    assert_eq!(own.cost_usd, Some(0.01));
    let negative = AgentUsage { cost_usd: Some(-1.0), ..said };
    assert_eq!(counted(&negative, None).0.cost_usd, None);
}

#[test]
fn tokens_of_a_conversation_are_counted_once() {
    let said =
        AgentUsage { input: Some(90), output: Some(9), tokens_are_total: true, ..AgentUsage::default() };
    let before = SessionTotal { tokens_input: Some(40), tokens_output: Some(4), ..SessionTotal::default() };
    let (own, total) = counted(&said, Some(&before));
    assert_eq!((own.input, own.output), (Some(50), Some(5)));
    assert_eq!(total.unwrap().tokens_input, Some(90));
}
