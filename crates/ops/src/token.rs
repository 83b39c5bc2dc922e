//! Access tokens: they let a program decide for a person where there is no terminal.

pub mod create;
pub mod list;
pub mod revoke;
