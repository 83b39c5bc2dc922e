//! The vocabulary of writ: types, validation and pure decisions. No files, no clock, no network, no randomness.

pub mod domain;
pub mod json;
mod json_schema;

pub mod chain;
pub mod command_line;
pub mod digest;
pub mod fence;
pub mod finding;
pub mod injection;
pub mod secrets;
pub mod shape;
pub mod verdict;

pub mod aee;
pub mod aocl;
pub mod aop;
pub mod bridge;
pub mod conformance;
pub mod continuity;
pub mod convert;
pub mod intake;
pub mod operator;
pub mod plan;
pub mod validate;
