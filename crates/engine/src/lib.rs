//! Makes the world match the store: starts, watches and ends the processes that do the work.

pub mod supervisor;
