//! The HTTP door. For now it only reads: a dashboard or a script can look, and nothing can be changed over it.

mod door;
mod http;
mod peer;
mod reader;
mod status;

pub use http::{Server, bind};
