//! Carries what a vybe database holds into this store: tasks, memories, events, artifacts and what agents look at.

mod carry;
mod report;
mod tasks;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use store::Vybe;

use crate::context::{Context, Key};
use crate::error::Result;
use crate::once::Reply;
use carry::Carrier;
pub use report::{Carried, Report};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Its file, which is only read.
    pub file: PathBuf,
}

/// Carries everything in one transaction, once for this key. What is in the store already is left as it is.
pub fn import(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Report>> {
    let vybe = open(&request.file)?;
    cx.once(key, "store.import_vybe", request, |work| {
        let mut carrier = Carrier::new(work);
        carrier.projects(&vybe)?;
        carrier.tasks(&vybe)?;
        carrier.dependencies(&vybe)?;
        carrier.memories(&vybe)?;
        carrier.events(&vybe)?;
        carrier.artifacts(&vybe)?;
        carrier.agents(&vybe)?;
        let mut report = carrier.report;
        report.left(
            "request ids",
            vybe.count("idempotency")?,
            "vybe does not keep what was asked under them",
        );
        Ok(report)
    })
}

fn open(file: &Path) -> Result<Vybe> {
    Ok(Vybe::open(file)?)
}
