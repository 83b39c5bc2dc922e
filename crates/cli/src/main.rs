//! The binary `writ`: reads words and the environment, calls one operation, prints, exits.

mod app;
mod bridge_line;
mod clock;
mod commands;
mod config;
mod confined;
mod crash;
mod env;
mod exit;
mod failed_check;
mod hooks;
mod host;
mod identity;
mod inside;
mod live_view;
mod local;
mod minter;
mod original;
mod output;
mod pager;
mod person;
mod persona;
mod project;
mod screen;
mod visible;
mod word;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The supervising process in the middle is this program again; it must not pay for anything else.
    if std::env::args_os().nth(1).is_some_and(|word| word == host::SHIM_WORD) {
        return engine::supervisor::shim_main();
    }
    crash::scrub_reports();
    crash::survive_file_size_limit();
    app::run(std::env::args_os().collect())
}
