//! Reading what a crew was granted.

mod approvals;
mod assignments;
mod budgets;
mod ledger;
mod locks;

pub use assignments::{Accepted, Issued};
pub use budgets::Reservation;
pub use ledger::{Heard, LedgerRow};
