//! Landlock: where files may be written, which processes get signals, and TCP.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};
use rustix::fs::{Mode, OFlags, ResolveFlags};

/// The first version with everything that is asked for: files, TCP, devices, signals and abstract sockets.
const WHOLE: ABI = ABI::V6;
/// The first version that also keeps files from being truncated. All of writing, nothing else.
const FILES_ONLY: ABI = ABI::V3;

/// Devices that every program may use.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// What the rules are made of.
pub(super) struct FileRuleInput<'w> {
    pub(super) writes: Option<&'w [OsString]>,
    pub(super) denies_tcp: bool,
    /// Ports to which a connection is possible all the same.
    pub(super) ports: &'w [u16],
    /// Whether fewer kinds of rules than asked for are worth having.
    pub(super) takes_less: bool,
}

/// Rules that are not in force yet.
pub(super) struct FileRules {
    created: RulesetCreated,
    /// Why signals, abstract sockets and TCP are not covered.
    pub(super) lacks: Option<String>,
}

/// The rules, or why the system has none.
pub(super) fn rules(wanted: &FileRuleInput<'_>) -> Result<FileRules, String> {
    match whole(wanted) {
        Ok(created) => Ok(FileRules { created, lacks: None }),
        Err(reason) if !wanted.takes_less => Err(reason),
        Err(reason) => {
            let writes = wanted.writes.ok_or_else(|| reason.clone())?;
            let created = with_writes(hard(), FILES_ONLY, writes)?;
            Ok(FileRules { created, lacks: Some(reason) })
        }
    }
}

fn whole(wanted: &FileRuleInput<'_>) -> Result<RulesetCreated, String> {
    let mut ruleset = hard().scope(Scope::from_all(WHOLE)).map_err(told)?;
    if wanted.denies_tcp {
        // Without a rule for any port but those below.
        ruleset = ruleset.handle_access(AccessNet::from_all(WHOLE)).map_err(told)?;
    }
    let mut created = match wanted.writes {
        Some(writes) => with_writes(ruleset, WHOLE, writes)?,
        None => ruleset.create().map_err(told)?,
    };
    for port in wanted.ports.iter().filter(|_| wanted.denies_tcp) {
        created = created.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)).map_err(told)?;
    }
    Ok(created)
}

/// What the kernel does not know is an error, and never left out in silence.
fn hard() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

fn with_writes(ruleset: Ruleset, abi: ABI, writes: &[OsString]) -> Result<RulesetCreated, String> {
    let all = AccessFs::from_all(abi);
    let mut created = ruleset.handle_access(all).map_err(told)?.create().map_err(told)?;
    let root = open(Path::new("/")).map_err(|error| format!("/: {error}"))?;
    created = created.add_rule(PathBeneath::new(root, AccessFs::from_read(abi))).map_err(told)?;
    // Device files cannot be made inside.
    let writing = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for path in writes {
        created = allow(created, Path::new(path), writing, abi)?;
    }
    // Where one is a link, it leads to another of them.
    let is_own = |device: &&Path| device.symlink_metadata().is_ok_and(|found| !found.is_symlink());
    for device in DEVICES.iter().map(Path::new).filter(is_own) {
        created = allow(created, device, writing, abi)?;
    }
    Ok(created)
}

fn allow(
    created: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<RulesetCreated, String> {
    let named = |error: io::Error| format!("{}: {error}", path.display());
    let file = open(path).map_err(named)?;
    let is_directory =
        rustix::fs::fstat(&file).map_err(|errno| named(errno.into()))?.st_mode & 0o170_000 == 0o040_000;
    let access = if is_directory { access } else { access & AccessFs::from_file(abi) };
    created.add_rule(PathBeneath::new(file, access)).map_err(told)
}

/// Somebody may have put a link where the path was looked at, so none is followed.
fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(rustix::fs::CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

impl FileRules {
    /// Puts the rules in force for this process permanently. An error if the kernel enforces less than all of them.
    pub(super) fn apply(&self) -> io::Result<()> {
        match self.created.try_clone()?.restrict_self() {
            Ok(RestrictionStatus { ruleset: RulesetStatus::FullyEnforced, no_new_privs: true, .. }) => Ok(()),
            Ok(_) => Err(io::ErrorKind::Unsupported.into()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

fn told(error: RulesetError) -> String {
    format!("Landlock: {error}")
}
