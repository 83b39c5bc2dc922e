//! Reads assignments, approvals, budgets, ledgers, locks and worklogs.

mod approvals;
mod assignments;
mod budgets;
mod ledger;
mod locks;
mod worklogs;

pub use assignments::{AssignmentRow, ResultRow};
pub use budgets::Reservation;
pub use ledger::{LastHeartbeat, LedgerRow};
pub use worklogs::WorklogEnd;
