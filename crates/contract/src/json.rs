//! JSON the way this project takes it: strict on the way in, canonical where it is hashed.

pub mod canonical;
pub mod strict;

pub use serde_json::{Map, Value, json};
