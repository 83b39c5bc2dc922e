//! The seccomp filter: calls that no rule about files or namespaces covers.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use super::Reach;

/// Refused whatever their arguments are.
const REFUSED: &[i64] = &[
    // These work around rules about files and sockets.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    // The layout of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    // Other processes, and what the kernel keeps for the user.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Kinds of sockets that reach past the network: raw frames, virtual machines, the kernel's ciphers, Bluetooth.
const REFUSED_DOMAINS: &[i32] = &[libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG, libc::AF_BLUETOOTH];

/// The lower bits of a socket's type; the others are flags.
const TYPE_MASK: u64 = 0xf;
/// Calls of the x32 ABI have this bit, and numbers that no rule here knows.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// The programs for the kernel, in the order in which they are loaded.
pub(super) fn programs(reach: Reach) -> Result<Vec<BpfProgram>, String> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    refused.insert(libc::SYS_socket, sockets(reach)?);
    let new_users = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
    for call in [libc::SYS_unshare, libc::SYS_clone] {
        let flagged = condition(0, SeccompCmpOp::MaskedEq(new_users), new_users)?;
        refused.insert(call, vec![rule(vec![flagged])?]);
    }
    let denied = filter(refused, libc::EACCES)?;
    // Its flags are behind a pointer. Everybody falls back to `clone`.
    let unknown = filter(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    Ok(vec![known_numbers_only(unknown), denied])
}

/// Loads a program for this process permanently.
pub(super) fn load(program: &BpfProgram) -> io::Result<()> {
    seccompiler::apply_filter(program).map_err(|_| io::Error::last_os_error())
}

fn sockets(reach: Reach) -> Result<Vec<SeccompRule>, String> {
    let domain = |domain: i32| condition(0, SeccompCmpOp::Eq, u64::from(domain.cast_unsigned()));
    let is_type = |kind: u64| condition(1, SeccompCmpOp::MaskedEq(TYPE_MASK), kind);
    let mut rules = Vec::new();
    for refused in REFUSED_DOMAINS {
        rules.push(rule(vec![domain(*refused)?])?);
    }
    for internet in [libc::AF_INET, libc::AF_INET6] {
        match reach {
            Reach::Open => {
                let raw = u64::from(libc::SOCK_RAW.cast_unsigned());
                rules.push(rule(vec![domain(internet)?, is_type(raw)?])?);
            }
            Reach::Proxied => {
                let stream = u64::from(libc::SOCK_STREAM.cast_unsigned());
                for kind in (0..=TYPE_MASK).filter(|kind| *kind != stream) {
                    rules.push(rule(vec![domain(internet)?, is_type(kind)?])?);
                }
                let not = |protocol: i32| condition(2, SeccompCmpOp::Ne, u64::from(protocol.cast_unsigned()));
                // Streams of other protocols than the usual one.
                rules.push(rule(vec![domain(internet)?, not(0)?, not(libc::IPPROTO_TCP)?])?);
            }
            Reach::Closed => rules.push(rule(vec![domain(internet)?])?),
        }
    }
    Ok(rules)
}

fn condition(argument: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value).map_err(told)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(told)
}

fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(told)?;
    let answer = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch).map_err(told)?;
    BpfProgram::try_from(filter).map_err(told)
}

/// The same program behind a door that refuses calls of another ABI of this processor.
#[cfg(target_arch = "x86_64")]
fn known_numbers_only(program: BpfProgram) -> BpfProgram {
    let refuse = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| sock_filter {
        code: u16::try_from(code).expect("BUG: codes have 16 bits"),
        jt,
        jf,
        k,
    };
    let door = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, refuse),
    ];
    door.into_iter().chain(program).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn known_numbers_only(program: BpfProgram) -> BpfProgram {
    program
}

fn told(error: impl std::fmt::Display) -> String {
    format!("seccomp: {error}")
}
