//! What the runner fetches for the layers a run passes before its tasks.

use contract::aee::Envelope;
use contract::domain::policy::Policy;
use contract::domain::run::NewRun;
use contract::domain::time::Timestamp;

pub(crate) struct RunFacts<'f> {
    pub(crate) run: &'f NewRun,
    /// Whether the run's workspace is a directory on the disk.
    pub(crate) workspace_exists: bool,
    /// The envelope that an `aee.context.fetch` asks for, if the store has it.
    pub(crate) envelope: Option<Envelope>,
    pub(crate) is_healthy: bool,
    pub(crate) policy: &'f Policy,
    pub(crate) now: Timestamp,
}
