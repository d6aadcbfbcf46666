//! Checks that a scheduler can run queries, before a query is sent, because Ballista waits forever if it has no executors.
//! Watches whether the scheduler still runs.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{address, connections};
use crate::failure::Failure;

/// The path at which a scheduler says whether it has executors.
pub(super) const PATH: &str = "/readyz";

/// The header `Server` of a scheduler.
const SERVER: &str = concat!("tacho-sql/", env!("CARGO_PKG_VERSION"));

/// How long a scheduler may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two requests on a watched connection.
const REQUEST_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum size of the response.
const MAX_RESPONSE: usize = 16 << 10;

/// An open connection to a scheduler of this user. While it is open, the scheduler runs, and no other program can listen on
/// its port. When the connection has ended, a program that listens on the port must not be trusted.
#[derive(Debug)]
pub(super) struct Connection {
    scheduler: SocketAddr,
    stream: TcpStream,
    has_executors: bool,
}

impl Connection {
    /// Connects to the scheduler at an address.
    ///
    /// # Errors
    ///
    /// When there is no scheduler, it is of another version, or another user runs it.
    pub(super) async fn open(scheduler: SocketAddr) -> Result<Self, Failure> {
        let url = address::url(scheduler);
        match tokio::time::timeout(TIMEOUT, get(scheduler)).await {
            Ok(Ok((stream, response, owner))) => {
                let has_executors = parse_response(&url, &response).map_err(Failure::runtime)?;
                match owner {
                    Ok(()) => Ok(Self { scheduler, stream, has_executors }),
                    Err(error) => {
                        Err(Failure::runtime(format!("{url}: the scheduler is not trusted: {error}")))
                    }
                }
            }
            Ok(Err(error)) => Err(Failure::runtime(format!(
                "{url}: no scheduler answers: {}; start one with 'tacho-sql scheduler'",
                tachograph_logs::io_error_text(&error)
            ))),
            Err(_) => Err(Failure::runtime(format!(
                "{url}: the scheduler did not answer within {} s",
                TIMEOUT.as_secs()
            ))),
        }
    }

    /// Checks that the scheduler has executors.
    ///
    /// # Errors
    ///
    /// When it has none.
    pub(super) fn check_executors(&self) -> Result<(), Failure> {
        match self.has_executors {
            true => Ok(()),
            false => {
                let url = address::url(self.scheduler);
                Err(Failure::runtime(format!(
                    "{url}: the scheduler has no executors: start some with 'tacho-sql executor --scheduler {url}'"
                )))
            }
        }
    }

    /// Watches the connection on a thread of its own, which is never busy with tasks. The result resolves to the failure to
    /// report when the scheduler has ended.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub(super) fn watch(self) -> Result<impl Future<Output = Failure> + use<>, Failure> {
        let failed = |error: io::Error| Failure::runtime(format!("cannot watch the scheduler: {error}"));
        let Self { scheduler, stream, .. } = self;
        let stream = stream.into_std().map_err(failed)?;
        stream.set_nonblocking(false).map_err(failed)?;
        stream.set_read_timeout(Some(REQUEST_INTERVAL)).map_err(failed)?;
        let (ended, is_ended) = tokio::sync::oneshot::channel::<()>();
        let watch = move || {
            wait_for_end(&stream, scheduler);
            // The receiver is gone if this process is ending.
            let _ = ended.send(());
        };
        std::thread::Builder::new().name("scheduler".to_owned()).spawn(watch).map_err(failed)?;
        Ok(async move {
            let _ = is_ended.await;
            Failure::runtime(format!("{}: the scheduler has ended", address::url(scheduler)))
        })
    }
}

/// Waits until the other end closes the connection.
fn wait_for_end(mut stream: &std::net::TcpStream, scheduler: SocketAddr) {
    let mut response = [0; 4096];
    loop {
        match stream.read(&mut response) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Servers close connections without requests.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if stream.write_all(request(scheduler).as_bytes()).is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// The response of a scheduler.
pub(super) fn response(has_executors: bool) -> impl IntoResponse {
    let status = if has_executors { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::SERVER, SERVER)])
}

fn request(scheduler: SocketAddr) -> String {
    format!("GET {PATH} HTTP/1.1\r\nHost: {scheduler}\r\nConnection: keep-alive\r\n\r\n")
}

/// Requests the readiness. Returns the connection, the response, and an error if neither this user nor root owns the other
/// end of the connection.
async fn get(scheduler: SocketAddr) -> io::Result<(TcpStream, Vec<u8>, io::Result<()>)> {
    let mut connection = TcpStream::connect(scheduler).await?;
    connection.write_all(request(scheduler).as_bytes()).await?;
    let mut response = Vec::new();
    while !response.windows(4).any(|end| end == b"\r\n\r\n") && response.len() < MAX_RESPONSE {
        if connection.read_buf(&mut response).await? == 0 {
            break;
        }
    }
    // The server has accepted the connection, so its end can be found unless the server has closed it.
    let owner = connections::check_owner(scheduler, connection.local_addr()?).await;
    Ok((connection, response, owner))
}

/// Whether a scheduler that sent this response has executors.
fn parse_response(url: &str, response: &[u8]) -> Result<bool, String> {
    let text = String::from_utf8_lossy(response);
    let mut lines = text.lines();
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).and_then(|line| line.get(..3));
    let version = lines.take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_server = name.eq_ignore_ascii_case("server");
        is_server.then(|| value.trim().strip_prefix("tacho-sql/").map(str::to_owned))?
    });
    match (status, version) {
        (Some(_), Some(version)) if version != env!("CARGO_PKG_VERSION") => Err(format!(
            "{url}: the scheduler is tacho-sql {version}, but this is {}: use the same version for both",
            env!("CARGO_PKG_VERSION")
        )),
        (Some("200"), Some(_)) => Ok(true),
        (Some("503"), Some(_)) => Ok(false),
        _ => Err(format!("{url}: this is not a scheduler of tacho-sql")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_of_schedulers_are_recognized() {
        let response = |status: &str, server: &str| {
            let text = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nServer: {server}\r\n\r\nok");
            parse_response("http://x", text.as_bytes())
        };
        let ours = SERVER.to_owned();
        assert_eq!(response("200 OK", &ours), Ok(true));
        assert_eq!(response("503 Service Unavailable", &ours), Ok(false));
        for (status, server, expected) in [
            ("200 OK", "tacho-sql/99.0.1", "is tacho-sql 99.0.1, but this is"),
            ("200 OK", "ballista/55.0.0", "not a scheduler"),
            ("200 OK", "nginx/1.25", "not a scheduler"),
            ("404 Not Found", ours.as_str(), "not a scheduler"),
        ] {
            let error = response(status, server).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
        for other in [&b""[..], b"HTTP/1.1", b"HTTP/1.1 20", b"SSH-2.0-x\r\n", b"\xff\xfe\r\n\r\n"] {
            assert!(parse_response("http://x", other).expect_err("no response").contains("not a scheduler"));
        }
        let in_body = format!("HTTP/1.1 200 OK\r\n\r\nServer: {ours}");
        assert!(parse_response("http://x", in_body.as_bytes()).is_err());
    }
}
