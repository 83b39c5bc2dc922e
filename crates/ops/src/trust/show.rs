//! Shows the commands of a project and whether they may run.

use super::grant::Request;
use super::{View, look};
use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "trust.show";
    const COMMAND: &'static str = "trust --check";
    const SUMMARY: &'static str = "Show whether the commands in a project's .writ directory are trusted";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = View;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| show(cx, request));
}

pub fn show(cx: &mut Context, request: &Request) -> Result<View> {
    let (directory, commands) = look(cx, &request.directory)?;
    let trust = cx.store.read()?.trust(&directory)?;
    Ok(View::of(&directory, commands.as_ref(), trust))
}
