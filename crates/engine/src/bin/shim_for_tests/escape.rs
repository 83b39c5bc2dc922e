//! Tries one way out of a sandbox, for the calls that no ordinary command makes.

#![expect(unsafe_code, reason = "these calls have no safe form, which is why they are tried")]

use std::fs::File;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::ExitCode;
use std::time::Duration;

/// `escape WAY WORD`: exit code 0 if it worked, 1 with the system's error if it was stopped.
pub(crate) fn escape(way: &str, word: &str) -> ExitCode {
    let tried = match way {
        "tcp" => TcpStream::connect(word).map(drop),
        "ask" => ask(word),
        "own server" => own_server(),
        "udp" => UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"x", word)).map(drop),
        "raw" => call(libc::SYS_socket, [libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP]),
        "packet" => call(libc::SYS_socket, [libc::AF_PACKET, libc::SOCK_RAW, 0]),
        "sockets" => tell_sockets(),
        "abstract" => {
            SocketAddr::from_abstract_name(word).and_then(|at| UnixStream::connect_addr(&at)).map(drop)
        }
        "path" => UnixStream::connect(word).map(drop),
        "signal" => call(libc::SYS_kill, [number(word), 0, 0]),
        "trace" => call(libc::SYS_ptrace, [i32::try_from(libc::PTRACE_ATTACH).unwrap_or(0), number(word), 0]),
        "io_uring" => call(libc::SYS_io_uring_setup, [1, 0, 0]),
        "keys" => call(libc::SYS_keyctl, [0, -3, 0]),
        "bpf" => call(libc::SYS_bpf, [0, 0, 0]),
        "secret memory" => call(libc::SYS_memfd_secret, [0, 0, 0]),
        "users" => call(libc::SYS_unshare, [libc::CLONE_NEWUSER, 0, 0]),
        "clone" => call(libc::SYS_clone, [libc::CLONE_NEWUSER, 0, 0]),
        "clone3" => call(libc::SYS_clone3, [0, 0, 0]),
        "other_abi" => call(libc::SYS_getpid | 0x4000_0000, [0, 0, 0]),
        "descriptor" => write_to(number(word)),
        "memory" => use_memory(),
        "memory file" => rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC)
            .map_err(io::Error::from)
            .and_then(|file| fill(File::from(file), word)),
        "memory directory" => File::create(format!("{word}/file")).and_then(|file| fill(file, "stay")),
        "segment" => use_segment(),
        "files of a thread" => call(libc::SYS_unshare, [libc::CLONE_FILES, 0, 0]),
        "processes" => use_processes(),
        _ => Err(io::Error::other("no such way")),
    };
    match tried {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(io::stdout(), "{way}: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

/// `ADDRESS TEXT`: sends the text there, in which `|` ends a line, and prints the answer.
fn ask(word: &str) -> io::Result<()> {
    let (address, text) = word.split_once(' ').unwrap_or((word, ""));
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(text.replace('|', "\r\n").as_bytes())?;
    io::copy(&mut stream, &mut io::stdout()).map(drop)
}

/// A server and its client, both inside.
fn own_server() -> io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    TcpStream::connect(server.local_addr()?).map(drop)
}

fn number(word: &str) -> i32 {
    word.parse().expect("a number")
}

fn call(number: i64, arguments: [i32; 3]) -> io::Result<()> {
    let [first, second, third] = arguments.map(i64::from);
    // SAFETY: none of these calls writes to memory of this process with these arguments.
    let answer = unsafe { libc::syscall(number, first, second, third, 0, 0) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Prints the domains of which a socket could be made if the system had them, and the kernel's own kinds of sockets.
fn tell_sockets() -> io::Result<()> {
    let is_open = |domain: i32, protocol: i32| {
        let made = call(libc::SYS_socket, [domain, libc::SOCK_DGRAM, protocol]);
        made.err().and_then(|error| error.raw_os_error()) != Some(libc::EACCES)
    };
    let domains: Vec<String> = (0..64).filter(|domain| is_open(*domain, 0)).map(|n| n.to_string()).collect();
    let kernel = (0..32).filter(|protocol| is_open(libc::AF_NETLINK, *protocol)).count();
    writeln!(io::stdout(), "{}, {kernel} of {}", domains.join(" "), libc::AF_NETLINK)
}

fn write_to(descriptor: i32) -> io::Result<()> {
    // SAFETY: reads one byte of a constant.
    let written = unsafe { libc::write(descriptor, c"x".as_ptr().cast(), 1) };
    if written == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes more and more memory, slowly enough to be seen.
fn use_memory() -> io::Result<()> {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        taken.push(vec![1; 8 * 1024 * 1024]);
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// So much is put where no process maps it.
const FILLED_MIB: usize = 300;

/// Writes to a file that is only in memory, and stays. With `thread`, another thread does, and the first one ends.
fn fill(mut file: File, how: &str) -> io::Result<()> {
    let mut work = move || {
        let chunk = vec![1; 1024 * 1024];
        // A full directory keeps what is in it.
        let filled = (0..FILLED_MIB).try_for_each(|_| file.write_all(&chunk));
        writeln!(io::stdout(), "filled: {}", filled.is_ok()).ok();
        loop {
            std::thread::park();
        }
    };
    if how != "thread" {
        work();
    }
    std::thread::spawn(work);
    // SAFETY: ends this thread alone; nothing of it is used afterwards.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    Ok(())
}

/// Fills a shared segment and detaches it, so that no process has it.
fn use_segment() -> io::Result<()> {
    let length = FILLED_MIB * 1024 * 1024;
    // SAFETY: the segment is attached at the kernel's address, and is written within its length.
    unsafe {
        let id = libc::shmget(libc::IPC_PRIVATE, length, libc::IPC_CREAT | 0o600);
        if id == -1 {
            return Err(io::Error::last_os_error());
        }
        let place = libc::shmat(id, std::ptr::null(), 0);
        if place as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        std::ptr::write_bytes(place.cast::<u8>(), 1, length);
        libc::shmdt(place);
    }
    loop {
        std::thread::park();
    }
}

/// Starts itself again and again.
fn use_processes() -> io::Result<()> {
    loop {
        // SAFETY: this process has one thread.
        if unsafe { libc::fork() } == -1 {
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}
