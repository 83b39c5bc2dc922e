//! The test tools are tested like the product, because every other test depends on them.

mod agent;
mod aop;
mod runner;
mod time_and_ids;
