//! Who is at the other end of a connection on this machine: the user id of its socket.

use std::net::{IpAddr, SocketAddr};

/// The kernel's lists of connections, as this process sees them.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// States in which a socket still belongs to a process: established, closing on one side.
const OWNED_STATES: [&str; 4] = ["01", "04", "05", "08"];

/// The user id of the socket at `peer` that is connected to `here`. `None` if unknown.
pub(crate) fn user_of(peer: SocketAddr, here: SocketAddr) -> Option<u32> {
    TABLES
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .find_map(|table| find(&table, peer, here))
}

fn find(table: &str, peer: SocketAddr, here: SocketAddr) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (local, remote, state) = (words.next()?, words.next()?, words.next()?);
        let is_it = is_address(local, peer) && is_address(remote, here) && OWNED_STATES.contains(&state);
        // Queues, timer and retransmissions come before the user.
        if is_it { words.nth(3)?.parse().ok() } else { None }
    })
}

/// Whether `0100007F:1CFC` is this address. The kernel prints each group of four bytes as a number of this machine.
fn is_address(text: &str, address: SocketAddr) -> bool {
    let Some((host, port)) = text.split_once(':') else { return false };
    if u16::from_str_radix(port, 16) != Ok(address.port()) {
        return false;
    }
    let mut bytes = Vec::new();
    for group in host.as_bytes().chunks(8) {
        let group = std::str::from_utf8(group).ok().and_then(|group| u32::from_str_radix(group, 16).ok());
        let Some(group) = group else { return false };
        bytes.extend(group.to_ne_bytes());
    }
    let host = match (<[u8; 4]>::try_from(&*bytes), <[u8; 16]>::try_from(&*bytes)) {
        (Ok(bytes), _) => IpAddr::from(bytes),
        (_, Ok(bytes)) => IpAddr::from(bytes),
        _ => return false,
    };
    host.to_canonical() == address.ip().to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a machine with the usual order of bytes prints it.
    #[cfg(target_endian = "little")]
    #[test]
    fn the_user_of_a_connection_is_the_one_of_the_socket_at_its_other_end() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1CFC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1\n\
            1: 0100007F:1CFC 0100007F:D431 01 00000000:00000000 00:00000000 00000000     8        0 2 1\n\
            2: 0100007F:D431 0100007F:1CFC 01 00000000:00000000 00:00000000 00000000  1000        0 3 1\n\
            3: 0100007F:D432 0100007F:1CFC 06 00000000:00000000 03:00000000 00000000     0        0 0 3\n";
        let here: SocketAddr = "127.0.0.1:7420".parse().unwrap();
        let user = |port| find(table, SocketAddr::new("127.0.0.1".parse().unwrap(), port), here);
        assert_eq!(user(0xd431), Some(1000));
        assert_eq!(user(0xd432), None, "a connection that nobody holds has no user");
        assert_eq!(user(0xd433), None);
        let table6 = "head\n 0: 00000000000000000000000001000000:D431 00000000000000000000000001000000:1CFC 01 \
            00000000:00000000 00:00000000 00000000  1001        0 3 1\n";
        let (peer, here) = ("[::1]:54321".parse().unwrap(), "[::1]:7420".parse().unwrap());
        assert_eq!(find(table6, peer, here), Some(1001));
        assert_eq!(find("", peer, here), None);
    }
}
