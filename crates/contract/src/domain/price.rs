//! What models cost, as the user's configuration says it.

use std::collections::BTreeMap;

use super::money::MicroUsd;

/// The prices of models, by their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices(BTreeMap<String, Price>);

/// The price of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// For a million tokens.
    pub input: MicroUsd,
    pub output: MicroUsd,
    /// For input that was in the provider's cache; as other input if there is none.
    pub cached_input: Option<MicroUsd>,
    /// The day from which it is known, such as `2026-11-01`.
    pub as_of: String,
}

/// The tokens of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    /// The part of the input that was in the provider's cache.
    pub cached_input: u64,
}

impl Tokens {
    pub fn total(&self) -> i64 {
        i64::try_from(self.input.saturating_add(self.output)).unwrap_or(i64::MAX)
    }
}

impl Prices {
    pub fn set(&mut self, model: &str, price: Price) {
        self.0.insert(model.to_owned(), price);
    }

    pub fn get(&self, model: &str) -> Option<&Price> {
        self.0.get(model)
    }
}

impl Price {
    /// What these tokens cost. A fraction of a micro-dollar counts as a whole one.
    pub fn of(&self, tokens: &Tokens) -> MicroUsd {
        let cached = tokens.cached_input.min(tokens.input);
        let parts = [
            (tokens.input - cached, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (tokens.output, self.output),
        ];
        let sum: i128 = parts.iter().map(|(tokens, price)| i128::from(*tokens) * i128::from(price.0)).sum();
        let micros = (sum + 999_999) / 1_000_000;
        MicroUsd(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cost_what_the_table_says_rounded_up() {
        let price = Price {
            input: MicroUsd(3_000_000),
            output: MicroUsd(15_000_000),
            cached_input: Some(MicroUsd(300_000)),
            as_of: "2026-11-01".to_owned(),
        };
        let cost = |input, cached_input, output| price.of(&Tokens { input, output, cached_input }).0;
        assert_eq!(cost(1_000_000, 0, 0), 3_000_000);
        assert_eq!(cost(1000, 0, 100), 3000 + 1500);
        assert_eq!(cost(1000, 1000, 0), 300);
        assert_eq!(cost(1000, 9999, 0), 300, "no more can be cached than was read");
        assert_eq!(cost(0, 0, 0), 0);
        assert_eq!(
            Price { input: MicroUsd(1), ..price.clone() }.of(&Tokens { input: 1, ..Tokens::default() }).0,
            1
        );
        assert_eq!(cost(u64::MAX, 0, u64::MAX), i64::MAX);
        let uncached = Price { cached_input: None, ..price };
        assert_eq!(uncached.of(&Tokens { input: 1000, output: 0, cached_input: 500 }).0, 3000);
    }
}
