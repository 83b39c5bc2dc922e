//! The epoch of a store. A halt begins a new one, and whatever began before can write nothing any more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::process::ProcessIdentity;
use super::time::Timestamp;

/// The epoch that a store is in. A store that was never halted is in epoch 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Epoch {
    pub number: i64,
    /// `None` unless the store is halted.
    pub halt: Option<Halt>,
}

/// A halt that was not lifted yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Halt {
    /// The epoch that it began.
    pub epoch: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The person, or the token of a person.
    pub by: String,
    pub at: Timestamp,
}

/// Why a transaction is not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdmitted {
    /// The store is halted.
    Halted,
    /// The store was halted after the process had opened it.
    Outlived,
}

impl Epoch {
    /// Whether a process that opened the store in the epoch `seen` may write now. `is_permitted` is what stays possible
    /// while the store is halted.
    pub fn admits(&self, seen: i64, is_permitted: bool) -> Result<(), NotAdmitted> {
        if self.number != seen {
            return Err(NotAdmitted::Outlived);
        }
        if self.halt.is_some() && !is_permitted {
            return Err(NotAdmitted::Halted);
        }
        Ok(())
    }
}

/// A program of writ that works for long without a run of its own, such as `writ loop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WritProgram {
    pub process: ProcessIdentity,
    /// The command: `loop`, `worker run`.
    pub command: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_of_the_current_epoch_write_and_while_it_is_halted_only_what_is_permitted() {
        let halt = Halt { epoch: 3, reason: None, by: "human.ada".to_owned(), at: Timestamp::from_millis(0) };
        let (open, halted) = (Epoch { number: 3, halt: None }, Epoch { number: 3, halt: Some(halt) });
        assert_eq!(open.admits(3, false), Ok(()));
        assert_eq!(open.admits(2, true), Err(NotAdmitted::Outlived));
        assert_eq!(halted.admits(3, true), Ok(()));
        assert_eq!(halted.admits(3, false), Err(NotAdmitted::Halted));
        assert_eq!(halted.admits(2, true), Err(NotAdmitted::Outlived));
        assert_eq!(Epoch::default().admits(0, false), Ok(()));
    }
}
