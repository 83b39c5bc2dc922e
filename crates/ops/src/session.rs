//! An agent's session: what is kept of it while it goes on.

pub mod checkpoint;
