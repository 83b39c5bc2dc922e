//! Reading what a crew was granted.

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
