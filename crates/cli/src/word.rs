//! A value parser that lists words for help, completions and schemas, and lets the verb refuse any other word: the
//! agent contract has sentences of its own for that.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    shown: &'static [&'static str],
    hidden: &'static [&'static str],
}

impl Words {
    pub(crate) fn of(shown: &'static [&'static str]) -> Self {
        Self { shown, hidden: &[] }
    }

    /// Other spellings, which are accepted but not listed.
    pub(crate) fn also(self, hidden: &'static [&'static str]) -> Self {
        Self { hidden, ..self }
    }
}

impl TypedValueParser for Words {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let shown = self.shown.iter().map(PossibleValue::new);
        let hidden = self.hidden.iter().map(|word| PossibleValue::new(word).hide(true));
        Some(Box::new(shown.chain(hidden)))
    }
}
