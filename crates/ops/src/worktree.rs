//! The clones beside a store: which there are, and which can go.

pub mod discard;
pub mod gc;
pub mod list;
