//! The HTTP door. Over TCP it only reads for now: a dashboard or a script can look, and nothing can be changed. Over a
//! socket of its own, the program of a sandboxed task calls the verbs that are open to it.

mod door;
mod http;
mod inside;
mod peer;
mod reader;
mod status;

pub use http::{REQUEST_ID, Server, bind};
pub use inside::{InsideJob, InsideRequest, OpenDoor, TaskDoorServer};
