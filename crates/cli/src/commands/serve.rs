//! `writ serve`

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::verb::Surface;
use ops::{Error, Result};

use crate::app::Globals;
use crate::local::LocalCommand;
use crate::output::{Output, say};
use crate::{exit, host};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::reads("serve", Surface::Writ)];

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ serve\n  writ serve --port 0")]
pub(crate) struct Args {
    /// The port; 0 for any free port
    #[arg(long, default_value_t = 7420)]
    port: u16,
    /// The address; only loopback addresses, because only there writ knows who asks
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if !args.address.is_loopback() {
        let message = format!("{} is not an address of this machine alone", args.address);
        return Err(Error::new(ErrorCode::Denied, message).hint("use 127.0.0.1 or ::1"));
    }
    let stop = host::stop_on_signals()?;
    let opened = globals.clone();
    let server = server::bind(SocketAddr::new(args.address, args.port), move || host::open(&opened))?;
    // Already opened, so it exists. Only its owner may read it here, whatever the file's mode is.
    let path = host::store_path(globals)?;
    let owner = std::fs::metadata(&path)
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not read {}: {error}", path.display())))?
        .uid();
    let code = output.text(&format!("listening on http://{}", server.address));
    let raised = stop.clone();
    server.serve(owner, move || raised.raised().is_some())?;
    match stop.raised() {
        Some(signal) => {
            say("stopped\n");
            Ok(exit::by_signal(signal))
        }
        None => Ok(code),
    }
}
