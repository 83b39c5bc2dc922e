//! Makes the world match the store: the control pipeline, the scheduler, supervised executors, recovery.

pub mod supervisor;
