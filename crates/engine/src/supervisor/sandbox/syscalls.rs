//! The seccomp filter: calls that no rule about files or namespaces covers.
//!
//! It is one short program, because the kernel translates it at each start and runs it for every number of a call.

#![expect(unsafe_code, reason = "seccomp has no safe form")]

use std::io;
use std::mem::offset_of;

use libc::{c_long, seccomp_data, sock_filter, sock_fprog};

use super::Reach;

/// Refused whatever their arguments are.
const REFUSED: &[c_long] = &[
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
    // Memory that no list of the process shows, so that no limit counts it.
    libc::SYS_memfd_secret,
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

/// The only kinds of sockets, besides those of the internet. Others reach past the network: raw frames, virtual machines,
/// the kernel's ciphers, Bluetooth, and TCP under other names.
const LOCAL_DOMAIN: i32 = libc::AF_UNIX;
/// Programs ask the kernel for their addresses with it.
const KERNEL_DOMAIN: i32 = libc::AF_NETLINK;
const INTERNET_DOMAINS: [i32; 2] = [libc::AF_INET, libc::AF_INET6];

/// The lower bits of a socket's type; the others are flags.
const TYPE_MASK: u32 = 0xf;
/// Calls of the x32 ABI have this bit, and numbers that no rule here knows.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// How the kernel names this processor. Calls of another one, as 32-bit programs make them, end the process.
#[cfg(target_arch = "x86_64")]
const PROCESSOR: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const PROCESSOR: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const PROCESSOR: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const PROCESSOR: Option<u32> = None;

/// Calls that are compared one by one.
const COMPARED_AT_ONCE: usize = 3;

/// A program for the kernel.
pub(super) struct Program(Vec<sock_filter>);

/// The program, or why there is none.
pub(super) fn program(reach: Reach) -> Result<Program, String> {
    let processor = PROCESSOR.ok_or("seccomp: this processor is not known")?;
    let mut code = vec![
        load(offset_of!(seccomp_data, arch)),
        if_equal(processor, 1),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(offset_of!(seccomp_data, nr)),
    ];
    #[cfg(target_arch = "x86_64")]
    code.extend([jump(libc::BPF_JGE, X32_BIT, 0, 1), answer(errno(libc::ENOSYS))]);
    // Its flags are behind a pointer. Everybody falls back to `clone`.
    code.extend([unless_equal(number(libc::SYS_clone3), 1), answer(errno(libc::ENOSYS))]);
    let has = |flag: i32, jt: u8, jf: u8| jump(libc::BPF_JSET, flag.cast_unsigned(), jt, jf);
    // A thread with a file table of its own could hide memory there.
    let unshare =
        vec![load(argument(0)), has(libc::CLONE_NEWUSER | libc::CLONE_FILES, 0, 1), denied(), allowed()];
    code.extend(of_call(libc::SYS_unshare, unshare));
    let clone = [has(libc::CLONE_NEWUSER, 2, 0), has(libc::CLONE_THREAD, 0, 2), has(libc::CLONE_FILES, 1, 0)];
    let clone = [&[load(argument(0))], &clone[..], &[denied(), allowed()]].concat();
    code.extend(of_call(libc::SYS_clone, clone));
    code.extend(of_call(libc::SYS_socket, sockets(reach)));
    let mut refused: Vec<u32> = REFUSED.iter().map(|call| number(*call)).collect();
    refused.sort_unstable();
    code.extend(unless_one_of(&refused));
    Ok(Program(code))
}

/// Refuses these calls and allows all others. The list is halved until a few are left: the kernel runs the program once for
/// each number there is before it takes it.
fn unless_one_of(calls: &[u32]) -> Vec<sock_filter> {
    let half = calls.len() / 2;
    if half < COMPARED_AT_ONCE {
        let count = u8::try_from(calls.len()).expect("BUG: less than twice a few");
        // Each jumps behind the last one, over the answer for the others.
        let compared = calls.iter().zip(0..).map(|(call, at)| if_equal(*call, count - at));
        return compared.chain([allowed(), denied()]).collect();
    }
    let (lower, upper) = (unless_one_of(&calls[..half]), unless_one_of(&calls[half..]));
    let skipped = u8::try_from(lower.len()).expect("BUG: there are a few dozen calls");
    let decision = jump(libc::BPF_JGE, calls[half], skipped, 0);
    std::iter::once(decision).chain(lower).chain(upper).collect()
}

/// What follows if it is this call.
fn of_call(call: c_long, block: Vec<sock_filter>) -> Vec<sock_filter> {
    let length = u8::try_from(block.len()).expect("BUG: a block is a few instructions");
    std::iter::once(unless_equal(number(call), length)).chain(block).collect()
}

fn sockets(reach: Reach) -> Vec<sock_filter> {
    let mut code = vec![load(argument(0)), unless_equal(LOCAL_DOMAIN.cast_unsigned(), 1), allowed()];
    // Of the kernel's own sockets those that list addresses, where the network is not open.
    let of_kernel = match reach {
        Reach::Open => vec![allowed()],
        Reach::Proxied | Reach::Closed => {
            let lists = unless_equal(libc::NETLINK_ROUTE.cast_unsigned(), 1);
            vec![load(argument(2)), lists, allowed(), denied()]
        }
    };
    let length = u8::try_from(of_kernel.len()).expect("BUG: a few instructions");
    code.push(unless_equal(KERNEL_DOMAIN.cast_unsigned(), length));
    code.extend(of_kernel);
    let [four, six] = INTERNET_DOMAINS.map(i32::cast_unsigned);
    let kind = [load(argument(1)), instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, TYPE_MASK)];
    match reach {
        Reach::Closed => code.push(denied()),
        Reach::Open => {
            code.extend([if_equal(four, 2), if_equal(six, 1), denied()]);
            code.extend(kind);
            code.extend([unless_equal(libc::SOCK_RAW.cast_unsigned(), 1), denied(), allowed()]);
        }
        Reach::Proxied => {
            code.extend([if_equal(four, 2), if_equal(six, 1), denied()]);
            code.extend(kind);
            code.extend([if_equal(libc::SOCK_STREAM.cast_unsigned(), 1), denied(), load(argument(2))]);
            // Streams of other protocols than the usual one are refused.
            code.extend([
                if_equal(0, 2),
                if_equal(libc::IPPROTO_TCP.cast_unsigned(), 1),
                denied(),
                allowed(),
            ]);
        }
    }
    code
}

/// Loads a program for this process permanently. It must have given up new privileges before.
pub(super) fn put_in_force(program: &Program) -> io::Result<()> {
    let length = u16::try_from(program.0.len()).map_err(|_| io::ErrorKind::InvalidData)?;
    let whole = sock_fprog { len: length, filter: program.0.as_ptr().cast_mut() };
    // SAFETY: the kernel reads the program, which outlives the call, and writes nothing.
    let done =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const whole) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn number(call: c_long) -> u32 {
    u32::try_from(call).expect("BUG: calls have small numbers")
}

/// Where the lower half of an argument is. All processors here have it first.
fn argument(index: usize) -> usize {
    offset_of!(seccomp_data, args) + index * size_of::<u64>()
}

fn load(offset: usize) -> sock_filter {
    let offset = u32::try_from(offset).expect("BUG: a small structure");
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

/// Leaves out so many instructions if the value is this one.
fn if_equal(value: u32, skipped: u8) -> sock_filter {
    jump(libc::BPF_JEQ, value, skipped, 0)
}

fn unless_equal(value: u32, skipped: u8) -> sock_filter {
    jump(libc::BPF_JEQ, value, 0, skipped)
}

fn jump(how: u32, value: u32, if_so: u8, if_not: u8) -> sock_filter {
    instruction(libc::BPF_JMP | how | libc::BPF_K, if_so, if_not, value)
}

fn denied() -> sock_filter {
    answer(errno(libc::EACCES))
}

fn allowed() -> sock_filter {
    answer(libc::SECCOMP_RET_ALLOW)
}

fn errno(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

fn answer(answer: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, answer)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: u16::try_from(code).expect("BUG: codes have 16 bits"), jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Above every number of a call.
    const CALLS_MAX: u32 = 1024;

    /// What the list answers for a call, run as the kernel does.
    fn answer_for(code: &[sock_filter], call: u32) -> u32 {
        let mut at = 0;
        loop {
            let one = code[at];
            at += 1;
            let jumps = match u32::from(one.code) {
                code if code == libc::BPF_RET | libc::BPF_K => return one.k,
                code if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => call == one.k,
                code if code == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => call >= one.k,
                other => panic!("{other} is not part of the list"),
            };
            at += usize::from(if jumps { one.jt } else { one.jf });
        }
    }

    #[test]
    fn exactly_the_listed_calls_are_refused_however_many_there_are() {
        let all: Vec<u32> = (0..60).map(|number| number * 7).collect();
        for count in 0..all.len() {
            let code = unless_one_of(&all[..count]);
            for call in 0..CALLS_MAX {
                let expected =
                    if all[..count].contains(&call) { errno(libc::EACCES) } else { libc::SECCOMP_RET_ALLOW };
                assert_eq!(answer_for(&code, call), expected, "{call} of {count}");
            }
        }
    }
}
