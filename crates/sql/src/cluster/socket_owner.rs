//! The user who owns the other end of a loopback connection, by the lists of sockets in /proc/net.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};

/// Maximum size of a list of sockets.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// The user id of the process that has the end `local` of the connection to `remote`; `None` if the connection is closed. Reads the
/// lists of all sockets, which takes a time that depends on their number.
pub(super) fn owner(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u32>> {
    // A socket for IPv6 can have a connection over IPv4.
    for (path, local, remote) in [
        ("/proc/net/tcp", entry(local), entry(remote)),
        ("/proc/net/tcp6", entry(mapped(local)), entry(mapped(remote))),
    ] {
        let mut list = String::new();
        match std::fs::File::open(path) {
            Ok(file) => file.take(MAX_LIST_BYTES).read_to_string(&mut list)?,
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if let Some(user) = owner_in(&list, &local, &remote) {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

/// Finds an open connection in a list of sockets; `None` if no process has its end any more.
fn owner_in(list: &str, local: &str, remote: &str) -> Option<u32> {
    const ESTABLISHED: &str = "01";
    list.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_found = words.next()? == local && words.next()? == remote && words.next()? == ESTABLISHED;
        // Three columns of queues and timers; after the user, a timer.
        let user = words.nth(3)?.parse().ok()?;
        let inode = words.nth(1)?;
        // The kernel reports root for a socket that its process has closed.
        (is_found && inode != "0").then_some(user)
    })
}

fn mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// An address as the kernel prints it: 32-bit words of the machine's byte order.
fn entry(address: SocketAddr) -> String {
    let mut text = String::new();
    let mut words = |bytes: &[u8]| {
        for word in bytes.as_chunks::<4>().0 {
            // Writing to a string never fails.
            let _ = write!(text, "{:08X}", u32::from_ne_bytes(*word));
        }
    };
    match address.ip() {
        IpAddr::V4(ip) => words(&ip.octets()),
        IpAddr::V6(ip) => words(&ip.octets()),
    }
    format!("{text}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const LIST: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
        0: 0100007F:C382 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1\n   \
        1: 0100007F:C383 0100007F:C382 06 00000000:00000000 00:00000000 00000000     0        0 0\n   \
        2: 0100007F:C384 0100007F:C382 01 00000000:00000000 00:00000000 00000000  1001        0 77 1 0\n   \
        3: 0100007F:C385 0100007F:C382 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0\n   \
        4: 0100007F:C386 0100007F:C382 01\n";

    #[test]
    fn the_owner_of_an_open_connection_is_found_in_a_list() {
        let server = "0100007F:C382";
        let owner_of = |client: &str| owner_in(LIST, client, server);
        assert_eq!(owner_of("0100007F:C384"), Some(1001));
        // A listening socket, a closed connection, one without a process, a cut line, no line.
        for other in ["0100007F:C382", "0100007F:C383", "0100007F:C385", "0100007F:C386", "0100007F:C387"] {
            assert_eq!(owner_of(other), None, "{other}");
        }
        assert_eq!(owner_in("", server, server), None);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn addresses_are_printed_as_the_kernel_does() {
        let entry = |text: &str| entry(text.parse().expect("an address"));
        assert_eq!(entry("127.0.0.1:50050"), "0100007F:C382");
        assert_eq!(entry("[::1]:80"), "00000000000000000000000001000000:0050");
        let mapped = mapped("127.0.0.1:1".parse().expect("an address"));
        assert_eq!(super::entry(mapped), "0000000000000000FFFF00000100007F:0001");
    }

    /// Over IPv4, over IPv6, and over IPv4 from a socket for IPv6.
    #[test]
    fn the_owner_of_own_connections_is_found() {
        let this_user = rustix::process::geteuid().as_raw();
        for (host, target) in
            [("127.0.0.1:0", None), ("[::1]:0", None), ("127.0.0.1:0", Some("::ffff:127.0.0.1"))]
        {
            // A machine without IPv6 has only the first.
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let server = listener.local_addr().expect("an address");
            let target = match target {
                Some(ip) => SocketAddr::new(ip.parse().expect("an address"), server.port()),
                None => server,
            };
            let Ok(client) = TcpStream::connect(target) else { continue };
            let (accepted, peer) = listener.accept().expect("accepted");
            for (local, remote) in [(peer, server), (server, peer)] {
                assert_eq!(owner(local, remote).expect("readable"), Some(this_user), "{host}");
            }
            drop(client);
            assert_eq!(owner(peer, server).expect("readable"), None, "{host}: closed");
            drop(accepted);
        }
    }
}
