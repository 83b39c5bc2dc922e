//! Opens the ledger of a plan: its tasks are given out as assignments, and no engine works them.

use contract::domain::run::DocumentKind;

use crate::context::{Context, Key};
use crate::error::Result;
use crate::once::Given;
use crate::run::submit::{Answer, Request, submit};

/// The plan's author decides what is checked; orchestrators can only give the tasks out.
pub fn open(cx: &mut Context, key: &Key, request: &Request) -> Result<Given<Answer>> {
    submit(cx, key, &Request { kind: DocumentKind::Ledger, ..request.clone() })
}
