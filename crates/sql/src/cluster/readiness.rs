//! Checks that a scheduler can run queries, before a query is sent, because Ballista waits forever if it has no executors.

use std::io;
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

/// Maximum size of the response.
const MAX_RESPONSE: usize = 16 << 10;

/// Checks that the scheduler at an address has executors.
///
/// # Errors
///
/// When there is no scheduler, it is of another version, or it has no executors.
pub(super) async fn check(scheduler: SocketAddr) -> Result<(), Failure> {
    match has_executors(scheduler).await? {
        true => Ok(()),
        false => {
            let url = address::url(scheduler);
            Err(Failure::runtime(format!(
                "{url}: the scheduler has no executors: start some with 'tacho-sql executor --scheduler {url}'"
            )))
        }
    }
}

/// Whether the scheduler at an address has executors.
///
/// # Errors
///
/// When there is no scheduler, or it is of another version.
pub(super) async fn has_executors(scheduler: SocketAddr) -> Result<bool, Failure> {
    let url = address::url(scheduler);
    match tokio::time::timeout(TIMEOUT, get(scheduler)).await {
        Ok(Ok((response, owner))) => {
            let has_executors = parse_response(&url, &response).map_err(Failure::runtime)?;
            match owner {
                Ok(()) => Ok(has_executors),
                Err(error) => Err(Failure::runtime(format!("{url}: the scheduler is not trusted: {error}"))),
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

/// The response of a scheduler.
pub(super) fn response(has_executors: bool) -> impl IntoResponse {
    let status = if has_executors { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::SERVER, SERVER)])
}

/// Requests the readiness. Returns the response, and an error if neither this user nor root owns the other end of the connection.
async fn get(scheduler: SocketAddr) -> io::Result<(Vec<u8>, io::Result<()>)> {
    let mut connection = TcpStream::connect(scheduler).await?;
    let request = format!("GET {PATH} HTTP/1.1\r\nHost: {scheduler}\r\nConnection: keep-alive\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    while !response.windows(4).any(|end| end == b"\r\n\r\n") && response.len() < MAX_RESPONSE {
        if connection.read_buf(&mut response).await? == 0 {
            break;
        }
    }
    // The server has accepted the connection, so its end can be found unless the server has closed it.
    let owner = connections::check_owner(scheduler, connection.local_addr()?);
    Ok((response, owner))
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
