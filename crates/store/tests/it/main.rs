//! Tests of the store on real files.

#![expect(clippy::unwrap_used, reason = "test helpers may panic like tests")]

mod chain;
mod child;
mod crash;
mod damage;
mod full;
mod identity;
mod numbers;
mod opening;
mod replay;
mod requests;
mod standing;
mod transfer;
mod writers;
