//! The test tools are tested like the product: what everyone leans on must not be guessed.

mod agent;
mod aop;
mod runner;
mod time_and_ids;
