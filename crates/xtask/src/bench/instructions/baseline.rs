//! The stored counts, and what counts as growth.

use serde_json::{Value, json};

use super::{Counts, commands, float, growth, percent};
use crate::Result;
use crate::job::{Job, root};

pub(super) const PATH: &str = "crates/xtask/instructions.json";

/// Growth that has to be accepted with `--bless`, in percent.
const GROWTH_MAX: f64 = 5.0;

/// What the counts depend on besides our code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Toolchain {
    pub(super) rustc: String,
    pub(super) valgrind: String,
    pub(super) sqlite3: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Baseline {
    pub(super) toolchain: Toolchain,
    pub(super) counts: Counts,
}

impl Toolchain {
    pub(super) fn installed() -> Result<Toolchain> {
        let version = |program: &str, words: &[&str]| {
            let text = Job::new(program, words).output()?;
            Ok::<String, String>(text.trim().to_owned())
        };
        let rustc = format!("{} on {}", version("rustc", &["--version"])?, std::env::consts::ARCH);
        let sqlite3 = version("sqlite3", &["--version"])?;
        let sqlite3 = sqlite3.split_whitespace().next().unwrap_or_default().to_owned();
        Ok(Toolchain { rustc, valgrind: version("valgrind", &["--version"])?, sqlite3 })
    }

    /// Why the counts of two toolchains cannot be compared.
    pub(super) fn difference(&self, other: &Toolchain) -> Option<String> {
        let pairs = [(&self.rustc, &other.rustc), (&self.valgrind, &other.valgrind)];
        let (stored, here) = pairs.into_iter().find(|(stored, here)| stored != here)?;
        Some(format!("the stored counts are from `{stored}`, this machine has `{here}`"))
    }
}

impl Baseline {
    pub(super) fn read() -> Result<Option<Baseline>> {
        match std::fs::read_to_string(root().join(PATH)) {
            Ok(text) => Baseline::parse(&text).map(Some).ok_or_else(|| format!("{PATH} is not readable")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("could not read {PATH}: {error}")),
        }
    }

    pub(super) fn parse(text: &str) -> Option<Baseline> {
        let value: Value = serde_json::from_str(text).ok()?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let toolchain =
            Toolchain { rustc: text("rustc")?, valgrind: text("valgrind")?, sqlite3: text("sqlite3")? };
        let counts = value["instructions"].as_object()?.iter();
        let counts =
            counts.map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect::<Option<_>>()?;
        Some(Baseline { toolchain, counts })
    }

    pub(super) fn print(&self) -> String {
        let Toolchain { rustc, valgrind, sqlite3 } = &self.toolchain;
        let value =
            json!({"rustc": rustc, "valgrind": valgrind, "sqlite3": sqlite3, "instructions": self.counts});
        format!("{value:#}\n")
    }

    pub(super) fn write(&self) -> Result {
        let written = std::fs::write(root().join(PATH), self.print());
        written.map_err(|error| format!("could not write {PATH}: {error}"))
    }

    /// One line for every command that grew too much or has no stored count.
    pub(super) fn grown(&self, counts: &Counts) -> Vec<String> {
        let mut found = Vec::new();
        for (name, stored) in self.counts.iter().filter(|(name, _)| *name != commands::INSERT) {
            // A command that cannot be counted on this machine was reported before.
            let Some(count) = counts.get(name) else { continue };
            let growth = percent(*count, *stored).min(self.growth_of_ratio(name, counts).unwrap_or(f64::MAX));
            if growth > GROWTH_MAX {
                found.push(format!(
                    "`{name}` takes {count} instructions, {growth:.1} % more than the stored {stored}; the limit is {GROWTH_MAX} %"
                ));
            }
        }
        let new = counts.keys().filter(|name| !self.counts.contains_key(*name));
        found.extend(new.map(|name| format!("`{name}` has no stored count")));
        found
    }

    /// Growth compared with `sqlite3`: where the C library changed, both counts move.
    fn growth_of_ratio(&self, name: &str, counts: &Counts) -> Option<f64> {
        let ratio = |counts: &Counts| Some(float(*counts.get(name)?) / float(*counts.get(commands::INSERT)?));
        Some(growth(ratio(counts)? / ratio(&self.counts)?))
    }
}
