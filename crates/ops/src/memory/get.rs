//! Reads one memory.

use contract::continuity::MemoryView;

use super::Name;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Get;

impl Verb for Get {
    const NAME: &'static str = "memory.get";
    const COMMAND: &'static str = "memory get";
    const SUMMARY: &'static str = "Show a memory";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Name;
    type Answer = MemoryView;
    const FUNCTION: Function<Self> = Function::Reads(get);
}

pub fn get(cx: &mut Context, session: &Session, name: &Name) -> Result<MemoryView> {
    let (place, key) = name.checked()?;
    let place = cx.memory_place(session, place)?;
    let now = cx.now().at;
    let memory = super::living(&cx.store.read()?, &place, key, now)?;
    Ok(MemoryView::at(&memory, now))
}
