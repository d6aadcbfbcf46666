//! Connections of processes of one user.
//!
//! Every user of the machine can connect to a loopback address, and a query reads files with the rights of an executor. So
//! only connections of the same user, or of root, are accepted. The kernel reports the user who owns the other end.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::{Stream, stream};
use tokio::net::{TcpListener, TcpStream};

use super::socket_owner::owner;

/// How long to wait after an error of accepting, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The shortest time between two lines about connections that were not accepted.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// The accepted connections of this user and of root. Others are closed.
pub(super) fn accept_from_this_user(
    listener: TcpListener,
) -> impl Stream<Item = io::Result<TcpStream>> + Send {
    stream::unfold((listener, Failures::default()), |(listener, mut failures)| async move {
        loop {
            let line = match listener.accept().await {
                Ok((connection, peer)) => match check(&connection, peer).await {
                    Ok(()) => return Some((Ok(connection), (listener, failures))),
                    Err(error) => failures
                        .line(Instant::now(), format_args!("a connection from {peer} was refused: {error}")),
                },
                Err(error) => {
                    tokio::time::sleep(PAUSE).await;
                    failures.line(Instant::now(), format_args!("cannot accept connections: {error}"))
                }
            };
            if let Some(line) = line {
                log::error!("{line}");
            }
        }
    })
}

/// Limits the lines about connections that were not accepted: any user can cause them.
#[derive(Debug, Default)]
struct Failures {
    reported: Option<Instant>,
    /// Number of failures since the last line.
    omitted: u64,
}

impl Failures {
    /// The line to write about a failure now; `None` if the last one was written less than a minute ago.
    fn line(&mut self, now: Instant, failure: impl fmt::Display) -> Option<String> {
        if self.reported.is_some_and(|at| now.saturating_duration_since(at) < REPORT_INTERVAL) {
            self.omitted += 1;
            return None;
        }
        self.reported = Some(now);
        Some(match std::mem::take(&mut self.omitted) {
            0 => failure.to_string(),
            1 => format!("{failure} (and one more before)"),
            omitted => format!("{failure} (and {omitted} more before)"),
        })
    }
}

async fn check(connection: &TcpStream, peer: SocketAddr) -> io::Result<()> {
    connection.set_nodelay(true)?;
    check_owner(peer, connection.local_addr()?).await
}

/// Checks that this user or root owns the end `local` of the connection to `remote`. This process has the end `remote`.
///
/// # Errors
///
/// When another user owns it, or the connection is closed.
pub(super) async fn check_owner(local: SocketAddr, remote: SocketAddr) -> io::Result<()> {
    // Reading the lists of all sockets must not delay the requests of others.
    let owner = tokio::task::spawn_blocking(move || owner(local, remote)).await.map_err(io::Error::other)?;
    let this_user = rustix::process::geteuid().as_raw();
    match owner? {
        Some(user) if user == this_user || user == 0 => Ok(()),
        Some(user) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("it is from user id {user}, not from {this_user}"),
        )),
        None => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "its user is unknown")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_reported_once_a_minute() {
        let mut failures = Failures::default();
        let start = Instant::now();
        let mut line = |seconds: u64| failures.line(start + Duration::from_secs(seconds), "refused");
        assert_eq!(line(0).as_deref(), Some("refused"));
        assert_eq!([line(0), line(59)], [None, None]);
        assert_eq!(line(60).as_deref(), Some("refused (and 2 more before)"));
        assert_eq!(line(61), None);
        assert_eq!(line(500).as_deref(), Some("refused (and one more before)"));
        assert_eq!(line(600).as_deref(), Some("refused"));
    }

    #[test]
    fn own_connections_are_accepted() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let server = listener.local_addr().expect("an address");
            let client = TcpStream::connect(server).await.expect("connected");
            let (accepted, peer) = listener.accept().await.expect("accepted");
            check(&accepted, peer).await.expect("the client is this process");
            check_owner(server, peer).await.expect("the server is this process");
            drop(client);
            assert!(check(&accepted, peer).await.is_err(), "the connection is closed");
        });
    }
}
