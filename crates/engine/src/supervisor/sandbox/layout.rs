//! Lays a sandbox out: the mounts now, everything else for the executor's process.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use contract::domain::confinement::NetworkUse;
use contract::domain::limits::SANDBOX_TMPFS_BYTES_MAX;
use rustix::thread::UnshareFlags;

use super::child::Barrier;
use super::devices::{self, Devices};
use super::files::{self, FileRuleInput};
use super::mounts::{self, MountCover};
use super::{Reach, Sandbox, SandboxInForce, SandboxPart, sockets, syscalls};

const TEMPORARY: &str = "/tmp";
const SHARED_MEMORY: &str = "/dev/shm";
/// What programs may write to whatever their scope is, if nothing else forbids it.
const ALWAYS_WRITABLE: [&str; 3] = ["/proc", TERMINALS, SHARED_MEMORY];
const TERMINALS: &str = "/dev/pts";
const TERMINAL_MAKER: &str = "/dev/ptmx";
const RESOLVER: &str = "/etc/resolv.conf";
/// Pids that the kernel does not give to processes of users once they have wrapped around.
const PIDS_RESERVED: u32 = 300;
/// The first kernel in which every pid namespace has a highest pid of its own. Before, it is the machine's.
const PID_MAX_SINCE: (u32, u32) = (6, 14);

/// What is hidden of the machine whatever the task is.
struct CommonMounts {
    /// Directories that are empty and only in memory.
    covered: Vec<PathBuf>,
    /// Whether all disks and terminals are hidden.
    devices: Result<(), String>,
}

impl CommonMounts {
    /// Covers directories that others use too, and hides disks and terminals.
    fn make(keeps: &[PathBuf], bytes_max: u64) -> Result<Self, String> {
        let mut covered = Vec::new();
        let mut cover = |directory: &Path, kind: MountCover| {
            cover(directory, kind, bytes_max, keeps)?;
            covered.push(directory.to_owned());
            Ok::<(), String>(())
        };
        for directory in sockets::DIRECTORIES.map(Path::new) {
            if is_own_directory(directory) {
                cover(directory, MountCover::Plain)?;
            }
        }
        mounts::make_veils().map_err(|error| format!("a file in /run: {error}"))?;
        if is_own_directory(Path::new(SHARED_MEMORY)) {
            cover(Path::new(SHARED_MEMORY), MountCover::Shared)?;
        }
        // Those of others could be read and written to.
        if is_own_directory(Path::new(TERMINALS)) && mounts::new_terminals(TERMINALS, TERMINAL_MAKER).is_err()
        {
            cover(Path::new(TERMINALS), MountCover::Veil)?;
        }
        // One that cannot be hidden is no reason to hide nothing else.
        let devices = hide_devices(&Devices::look());
        Ok(Self { covered, devices })
    }
}

/// Hides devices by a mount for each, or, where fewer others are left than are hidden, keeps those by a mount for each and lets
/// nobody open any other device.
fn hide_devices(devices: &Devices) -> Result<(), String> {
    let Devices { hidden, others } = devices;
    let directory = Path::new(devices::DIRECTORY);
    let is_closed = hidden.len() > others.len()
        && others.iter().try_for_each(|path| mounts::pin(path)).is_ok()
        && mounts::forbid_devices(directory).is_ok();
    // What is in a directory that was kept can still be opened.
    let is_open = |path: &&PathBuf| !is_closed || others.iter().any(|other| path.starts_with(other));
    hidden
        .iter()
        .filter(is_open)
        .try_for_each(|path| mounts::hide(path, &[]).map_err(|error| format!("{}: {error}", path.display())))
}

/// The system's own list of name servers is often in a directory that will be covered.
fn resolver() -> Option<PathBuf> {
    std::fs::canonicalize(RESOLVER).ok()
}

/// Lays out what is asked for. `namespace` says why there is none; `bound` are the sockets of others, if all are known.
/// The error names the missing part.
pub(in crate::supervisor) fn lay_out(
    sandbox: &Sandbox,
    namespace: Result<(), String>,
    bound: Option<Vec<PathBuf>>,
) -> Result<(Barrier, SandboxInForce), String> {
    let mut writes = sandbox.writes.clone();
    let has_namespace = namespace.is_ok();
    let Mounted { rest, store, sockets, in_memory } = match &namespace {
        Ok(()) => lay_mounts(sandbox, &mut writes, bound),
        Err(reason) => Mounted::refused(reason),
    };
    let reach = match sandbox.reach() {
        // There is no network of its own in which a proxy could be the only way out.
        Reach::Proxied if !has_namespace => Reach::Open,
        reach => reach,
    };
    let doors = sandbox.reachable.doors();
    let ports: Vec<u16> =
        doors.iter().filter(|_| reach == Reach::Proxied).map(|door| door.at.port()).collect();
    let wanted = FileRuleInput {
        writes: writes.as_deref(),
        denies_tcp: sandbox.network == NetworkUse::None && reach != Reach::Open,
        ports: &ports,
        takes_less: !sandbox.is_demanded,
    };
    let rules = files::rules(&wanted);
    let program = syscalls::program(reach);
    let pid_max = pid_max(sandbox, has_namespace);
    let in_force = SandboxInForce {
        files: file_part(sandbox, &rules, &rest),
        store,
        sockets,
        signals: match &rules {
            Ok(rules) => rules.lacks.clone().map_or(SandboxPart::On, SandboxPart::Refused),
            Err(reason) => SandboxPart::Refused(reason.clone()),
        },
        syscalls: program.as_ref().err().cloned().map_or(SandboxPart::On, SandboxPart::Refused),
        network: network_part(sandbox, &namespace, program.is_ok()),
        limits: pid_max.as_ref().err().cloned().map_or(SandboxPart::On, SandboxPart::Refused),
        reachable: (reach == Reach::Proxied).then(|| sandbox.reachable.clone()),
    };
    let missing = in_force.missing();
    if sandbox.is_demanded && !missing.is_empty() {
        return Err(missing.join("; "));
    }
    // A network of its own takes the kernel as long as all the rest, and adds nothing where no socket can be made that
    // reaches a network, and no abstract one of others can be reached.
    let is_closed = in_force.signals == SandboxPart::On && in_force.syscalls == SandboxPart::On;
    let network = match reach {
        Reach::Proxied => UnshareFlags::NEWNET,
        Reach::Closed if !is_closed => UnshareFlags::NEWNET,
        Reach::Closed | Reach::Open => UnshareFlags::empty(),
    };
    let barrier = Barrier {
        rules: rules.ok(),
        program: program.ok(),
        // Shared memory and message queues have names that no rule about files covers.
        unshares: if has_namespace { UnshareFlags::NEWIPC | network } else { UnshareFlags::empty() },
        drops_capabilities: has_namespace,
        pid_max: pid_max.ok(),
        doors: None,
        in_memory,
    };
    Ok((barrier, in_force))
}

/// What is in files is held by the rules; what is about them, and what is read-only in open directories, by mounts.
fn file_part(sandbox: &Sandbox, rules: &Result<files::FileRules, String>, rest: &SandboxPart) -> SandboxPart {
    if let Some(lacks) = &sandbox.lacks {
        return SandboxPart::Refused(lacks.clone());
    }
    match (&sandbox.writes, rules, rest) {
        (None, _, _) => SandboxPart::Off("the task does not say what it writes".to_owned()),
        (Some(_), Err(reason), _) => SandboxPart::Refused(reason.clone()),
        (Some(_), Ok(_), SandboxPart::Refused(reason)) => SandboxPart::Refused(format!(
            "permissions, times and attributes of files elsewhere can be changed: {reason}"
        )),
        (Some(_), Ok(_), SandboxPart::On | SandboxPart::Off(_)) => SandboxPart::On,
    }
}

fn network_part(sandbox: &Sandbox, namespace: &Result<(), String>, has_filter: bool) -> SandboxPart {
    match (sandbox.reach(), namespace) {
        (Reach::Open, _) => SandboxPart::Off("the task may use the network".to_owned()),
        (Reach::Proxied, Err(reason)) => {
            SandboxPart::Refused(format!("a proxy that cannot be avoided needs a namespace: {reason}"))
        }
        (Reach::Proxied | Reach::Closed, _) if has_filter => SandboxPart::On,
        (Reach::Proxied | Reach::Closed, _) => SandboxPart::Refused("there is no seccomp filter".to_owned()),
    }
}

fn pid_max(sandbox: &Sandbox, has_namespace: bool) -> Result<u32, String> {
    if !has_namespace {
        return Err("without a namespace its processes are not counted".to_owned());
    }
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    if version(&release).is_none_or(|version| version < PID_MAX_SINCE) {
        return Err(format!("this kernel ({release}) has no pid_max for a namespace"));
    }
    Ok(sandbox.limits.processes_max.saturating_add(PIDS_RESERVED))
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// What the mounts achieve.
struct Mounted {
    /// Everything is read-only but what can be written.
    rest: SandboxPart,
    /// What must be hidden is hidden.
    store: SandboxPart,
    /// So are sockets of others.
    sockets: SandboxPart,
    /// Directories that are empty and only in memory.
    in_memory: Vec<PathBuf>,
}

impl Mounted {
    fn refused(reason: &str) -> Self {
        let part = || SandboxPart::Refused(reason.to_owned());
        Self { rest: part(), store: part(), sockets: part(), in_memory: Vec::new() }
    }
}

fn lay_mounts(sandbox: &Sandbox, writes: &mut Option<Vec<OsString>>, bound: Option<Vec<PathBuf>>) -> Mounted {
    let mut keeps: Vec<PathBuf> = sandbox.keeps.iter().map(PathBuf::from).collect();
    keeps.extend(resolver());
    // An outer path first, because it brings the inner ones along.
    keeps.sort();
    let bytes_max = sandbox.limits.memory_bytes_max.min(SANDBOX_TMPFS_BYTES_MAX);
    let covered = CommonMounts::make(&keeps, bytes_max).and_then(|CommonMounts { covered, devices }| {
        cover_temporary(covered, &keeps, writes, bytes_max).map(|in_memory| (in_memory, devices))
    });
    let (in_memory, devices) = match covered {
        Ok(covered) => covered,
        Err(reason) => return Mounted::refused(&reason),
    };
    let part = |done: Result<(), String>| done.err().map_or(SandboxPart::On, SandboxPart::Refused);
    let store = part(hide_all(sandbox, &keeps).and(devices));
    let sockets = part(match bound {
        None => Err("too many sockets are open on this machine".to_owned()),
        Some(bound) => {
            let is_own =
                |path: &&PathBuf| sandbox.socket.as_deref().is_some_and(|own| path.as_os_str() == own);
            let others = bound.iter().filter(|path| !is_own(path));
            others.map(PathBuf::as_path).try_for_each(hide_socket)
        }
    });
    // At last, because it moves what was mounted before.
    let rest = match (writes, &store) {
        (None, _) => SandboxPart::On,
        (Some(_), SandboxPart::Refused(reason)) => SandboxPart::Refused(reason.clone()),
        (Some(writes), SandboxPart::On | SandboxPart::Off(_)) => part(leave_writable(writes)),
    };
    Mounted { rest, store, sockets, in_memory }
}

fn leave_writable(writes: &[OsString]) -> Result<(), String> {
    let always = ALWAYS_WRITABLE.map(PathBuf::from).into_iter().filter(|path| is_own_directory(path));
    let open: Vec<PathBuf> = writes.iter().map(PathBuf::from).chain(always).collect();
    mounts::leave_writable(&open).map_err(|error| format!("a read-only mount of everything else: {error}"))
}

/// Covers the directory for temporary files too, if writing is confined: where it is not, files there are the task's result
/// as any others. Returns all in which the child finds room, so many bytes in each.
fn cover_temporary(
    mut covered: Vec<PathBuf>,
    keeps: &[PathBuf],
    writes: &mut Option<Vec<OsString>>,
    bytes_max: u64,
) -> Result<Vec<PathBuf>, String> {
    let Some(writes) = writes else { return Ok(covered) };
    let temporary = Path::new(TEMPORARY);
    cover(temporary, MountCover::Shared, bytes_max, keeps)?;
    covered.push(temporary.to_owned());
    // Rules hold for everything inside, so that one for this directory would open what is kept there too.
    if !keeps.iter().any(|keep| keep.starts_with(temporary)) {
        writes.push(TEMPORARY.into());
    }
    Ok(covered)
}

fn cover(directory: &Path, kind: MountCover, bytes_max: u64, keeps: &[PathBuf]) -> Result<(), String> {
    let named = |error: io::Error| format!("an empty {}: {error}", directory.display());
    if let Some(needed) = keeps.iter().find(|keep| directory.starts_with(keep)) {
        let (directory, needed) = (directory.display(), needed.display());
        return Err(format!("{directory} cannot be hidden, because the task needs all of {needed}"));
    }
    mounts::cover(directory, kind, bytes_max, keeps).map_err(named)
}

fn hide_all(sandbox: &Sandbox, keeps: &[PathBuf]) -> Result<(), String> {
    let named = |path: &OsString, error: io::Error| format!("{}: {error}", Path::new(path).display());
    for path in &sandbox.hidden {
        mounts::hide(Path::new(path), keeps).map_err(|error| named(path, error))?;
    }
    for path in &sandbox.pinned {
        mounts::pin(Path::new(path)).map_err(|error| named(path, error))?;
    }
    for path in sandbox.read_only.iter().filter(|path| Path::new(path).exists()) {
        mounts::protect(Path::new(path)).map_err(|error| named(path, error))?;
    }
    Ok(())
}

/// A path in the kernel's list may be one of another mount namespace, and mean nothing or something else here.
fn hide_socket(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::FileTypeExt;
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        return mounts::hide_file(path).map_err(|error| format!("{}: {error}", path.display()));
    }
    Ok(())
}

/// Whether it is a directory and not a link to another one.
fn is_own_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_kernels_are_compared_by_number() {
        assert_eq!(version("6.18.44-fc-v445"), Some((6, 18)));
        assert_eq!(version("6.9.0"), Some((6, 9)));
        assert!(version("6.9.0") < Some(PID_MAX_SINCE));
        assert_eq!(version("unknown"), None);
    }
}
