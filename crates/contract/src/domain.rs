//! The domain model, independent of the published contracts.

pub mod artifact;
pub mod attempt;
pub mod change;
pub mod check;
pub mod code;
pub mod confinement;
pub mod crew;
pub mod id;
pub mod ignore;
pub mod limits;
pub mod memory;
pub mod money;
pub mod outside;
pub mod priority;
pub mod process;
pub mod request;
pub mod retention;
pub mod run;
pub mod scope;
pub mod status;
pub mod task;
pub mod text;
pub mod time;
pub mod trust;
pub(crate) mod words;
pub mod workspace;
