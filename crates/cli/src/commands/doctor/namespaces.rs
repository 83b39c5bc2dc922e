//! Whether the processes of tasks get pid namespaces of their own here, found out by making one.

use engine::launcher::namespace_here;
use engine::supervisor::NamespaceInForce;

use super::DoctorFinding;
use crate::host;

pub(super) fn look() -> DoctorFinding {
    let shim = host::shim();
    let trial = host::program(vec![shim.program.clone().into(), "--version".into()]);
    // A refusal is not a problem: the shim and the marks do the work then.
    let (well, said) = match namespace_here(&shim, trial) {
        Ok(NamespaceInForce::On) => (true, works()),
        Ok(NamespaceInForce::Off) => (true, "this system has none".to_owned()),
        Ok(NamespaceInForce::Refused(reason)) => {
            return DoctorFinding { warns: true, ..DoctorFinding::new("namespaces", true, refused(&reason)) };
        }
        Err(error) => (false, format!("could not be tried: {error}")),
    };
    DoctorFinding::new("namespaces", well, said)
}

fn works() -> String {
    let not_inside = if rustix::process::geteuid().is_root() {
        "mounting devices, loading modules, changing the network or the clock, and starting containers"
    } else {
        "sudo and other setuid programs, chown to other users, and rootless containers"
    };
    format!(
        "a task's processes end with writ, however it ends; inside do not work: {not_inside} \
         (`namespace = \"off\"` for tasks that need them)"
    )
}

fn refused(reason: &str) -> String {
    format!(
        "refused ({reason}); if writ and the supervising process of a task are killed in one instant, \
         processes that cleared their environment go on, and sandboxes lack most of their parts; allow user \
         namespaces (in a container by its security options, on Ubuntu with \
         `sysctl kernel.apparmor_restrict_unprivileged_userns=0`)"
    )
}
