//! Connections of processes of one user.
//!
//! Every user of the machine can connect to a loopback address, and a query reads files with the rights of an executor. So
//! only connections of the same user, or of root, are accepted. The kernel reports the user who owns the other end.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures::{Stream, stream};
use tokio::net::{TcpListener, TcpStream};

/// How long to wait after an error of accepting, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum size of a table of sockets in /proc.
const MAX_TABLE_BYTES: u64 = 64 << 20;

/// The accepted connections of this user and of root. Others are closed.
pub(super) fn accept_from_this_user(
    listener: TcpListener,
) -> impl Stream<Item = io::Result<TcpStream>> + Send {
    stream::unfold(listener, |listener| async move {
        loop {
            match listener.accept().await {
                Ok((connection, peer)) => match check(&connection, peer) {
                    Ok(()) => return Some((Ok(connection), listener)),
                    Err(error) => log::error!("a connection from {peer} was refused: {error}"),
                },
                Err(error) => {
                    log::error!("cannot accept connections: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    })
}

fn check(connection: &TcpStream, peer: SocketAddr) -> io::Result<()> {
    connection.set_nodelay(true)?;
    check_owner(peer, connection.local_addr()?)
}

/// Checks that this user or root owns the end `local` of the connection to `remote`.
///
/// # Errors
///
/// When another user owns it, or the connection is closed.
pub(super) fn check_owner(local: SocketAddr, remote: SocketAddr) -> io::Result<()> {
    let this_user = rustix::process::geteuid().as_raw();
    match owner(local, remote)? {
        Some(user) if user == this_user || user == 0 => Ok(()),
        Some(user) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("it is from user id {user}, not from {this_user}"),
        )),
        None => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "its user is unknown")),
    }
}

/// The user id of the process that has the end `local` of the connection to `remote`.
fn owner(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u32>> {
    // A socket for IPv6 can have a connection over IPv4.
    for (path, local, remote) in [
        ("/proc/net/tcp", entry(local), entry(remote)),
        ("/proc/net/tcp6", entry(mapped(local)), entry(mapped(remote))),
    ] {
        let mut table = String::new();
        match std::fs::File::open(path) {
            Ok(file) => file.take(MAX_TABLE_BYTES).read_to_string(&mut table)?,
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if let Some(user) = owner_in(&table, &local, &remote) {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

/// Finds an established connection in a table of sockets; `None` if no process has its end any more.
fn owner_in(table: &str, local: &str, remote: &str) -> Option<u32> {
    const ESTABLISHED: &str = "01";
    table.lines().skip(1).find_map(|line| {
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
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
        0: 0100007F:C382 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1\n   \
        1: 0100007F:C383 0100007F:C382 06 00000000:00000000 00:00000000 00000000     0        0 0\n   \
        2: 0100007F:C384 0100007F:C382 01 00000000:00000000 00:00000000 00000000  1001        0 77 1 0\n   \
        3: 0100007F:C385 0100007F:C382 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0\n   \
        4: 0100007F:C386 0100007F:C382 01\n";

    #[test]
    fn the_owner_of_an_open_connection_is_found() {
        let server = "0100007F:C382";
        let owner_of = |client: &str| owner_in(TABLE, client, server);
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

    #[test]
    fn own_connections_are_accepted() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A machine without IPv6 has no second address.
            let Ok(listener) = std::net::TcpListener::bind(host) else { continue };
            let server = listener.local_addr().expect("an address");
            let client = std::net::TcpStream::connect(server).expect("connected");
            let (accepted, peer) = listener.accept().expect("accepted");
            check_owner(peer, server).expect("the client is this process");
            check_owner(server, peer).expect("the server is this process");
            drop((client, accepted));
            assert!(check_owner(peer, server).is_err(), "the connection is closed");
        }
    }
}
