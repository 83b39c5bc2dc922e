//! Reads one memory.

use contract::continuity::MemoryView;

use super::Name;
use crate::context::Context;
use crate::error::Result;

pub fn get(cx: &mut Context, name: &Name) -> Result<MemoryView> {
    let (place, key) = name.checked()?;
    let now = cx.now().at;
    let memory = super::living(&cx.store.read()?, &place, key, now)?;
    Ok(MemoryView::at(&memory, now))
}
