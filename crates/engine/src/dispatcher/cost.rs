//! What an attempt cost: as reported, computed from its tokens, nothing, or unknown.

use contract::domain::attempt::{CostBasis, NewAttempt};
use contract::domain::executor::ExecutorName;
use contract::domain::money::MicroUsd;
use contract::domain::price::Prices;

use crate::executor::{ChildEnd, Executor, ResponseReport};
use crate::settings::Settings;

/// Puts the cost of an attempt that has ended into its report. Returns how it is known; `None` if it is not.
pub(super) fn find(
    settings: &Settings,
    attempt: &NewAttempt,
    ended: &ChildEnd,
    reported: &mut ResponseReport,
) -> Option<CostBasis> {
    let name = ExecutorName::parse(&attempt.executor).ok();
    let executor = name.and_then(|name| settings.executors.find(&name));
    let known = if ended.in_force.is_none() {
        Some((reported.cost, CostBasis::NotStarted))
    } else if reported.cost.is_none() && executor.is_some_and(Executor::is_model_free) {
        Some((None, CostBasis::NoModel))
    } else {
        cost(reported, attempt.model.as_deref(), &settings.models.prices)
    };
    let (cost, basis) = known.unzip();
    reported.cost = cost.flatten();
    basis
}

/// The cost of an attempt and how it is known. `None` if it is not: no report never means free.
fn cost(
    reported: &ResponseReport,
    asked: Option<&str>,
    prices: &Prices,
) -> Option<(Option<MicroUsd>, CostBasis)> {
    if reported.cost.is_some() {
        return Some((reported.cost, CostBasis::Reported));
    }
    let used = reported.used?;
    let names = [asked, reported.model.as_deref()];
    let (model, price) = names.into_iter().flatten().find_map(|model| Some((model, prices.get(model)?)))?;
    let basis = CostBasis::Computed { model: model.to_owned(), as_of: price.as_of.clone() };
    Some((Some(price.of(&used)), basis))
}

#[cfg(test)]
mod tests {
    use contract::domain::price::{Price, Tokens};

    use super::*;

    #[test]
    fn a_cost_is_reported_or_computed_and_else_unknown() {
        let mut prices = Prices::default();
        let price = Price {
            input: MicroUsd(1_000_000),
            output: MicroUsd(2_000_000),
            cached_input: None,
            as_of: "2026-11-01".to_owned(),
        };
        prices.set("m", price);
        let used = Some(Tokens { input: 10, output: 5, cached_input: 0 });
        let counted = ResponseReport { used, ..ResponseReport::default() };
        let computed = CostBasis::Computed { model: "m".to_owned(), as_of: "2026-11-01".to_owned() };
        assert_eq!(cost(&counted, Some("m"), &prices), Some((Some(MicroUsd(20)), computed.clone())));
        let named = ResponseReport { model: Some("m".to_owned()), ..counted.clone() };
        assert_eq!(cost(&named, Some("other"), &prices), Some((Some(MicroUsd(20)), computed)));
        assert_eq!(cost(&counted, Some("other"), &prices), None);
        assert_eq!(cost(&ResponseReport::default(), Some("m"), &prices), None);
        let reported = ResponseReport { cost: Some(MicroUsd(7)), ..counted };
        assert_eq!(cost(&reported, Some("m"), &prices), Some((Some(MicroUsd(7)), CostBasis::Reported)));
    }
}
