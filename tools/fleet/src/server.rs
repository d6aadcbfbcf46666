//! Serves the protocol for all machines on one port. Each machine has its own address.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use tachograph_remote::{Agent, AgentError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::{TOKEN, address_of};

/// Maximum size of a request. The consumers are trusted; this finds mistakes.
const MAX_REQUEST: usize = 1 << 20;

/// One agent.
pub(crate) struct Machine {
    pub(crate) agent: Agent,
    pub(crate) acceptor: TlsAcceptor,
    /// Whether the agent does not answer collections.
    pub(crate) is_stalled: bool,
}

/// All agents.
pub(crate) struct Server {
    pub(crate) machines: Arc<Vec<Machine>>,
    pub(crate) port: u16,
}

impl Server {
    /// Serves until the process is ended. Calls `ready` when connections are accepted.
    pub(crate) fn run(self, ready: impl FnOnce()) -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, self.port)).await?;
            ready();
            loop {
                let (stream, _) = listener.accept().await?;
                let machines = Arc::clone(&self.machines);
                let IpAddr::V4(address) = stream.local_addr()?.ip() else { continue };
                let Some(index) = (0..machines.len()).find(|&index| address_of(index) == address) else {
                    continue;
                };
                tokio::spawn(async move {
                    // An error usually means that the consumer has closed the connection.
                    let _ = serve(&machines[index], stream).await;
                });
            }
        })
    }
}

async fn serve(machine: &Machine, stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = machine.acceptor.accept(stream).await?;
    let mut received = Vec::new();
    loop {
        let Some(request) = receive(&mut stream, &mut received).await? else { return Ok(()) };
        if machine.is_stalled && request.path.ends_with("/collect") {
            std::future::pending::<()>().await;
        }
        let (status, body) = answer(&machine.agent, &request);
        let mut response = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        response.extend_from_slice(&body);
        stream.write_all(&response).await?;
        stream.flush().await?;
    }
}

/// A request.
struct Request {
    method: String,
    path: String,
    has_token: bool,
    body: Vec<u8>,
}

/// Receives a request; `None` if the connection was closed.
async fn receive(stream: &mut TlsStream<TcpStream>, received: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let mut needed = 0;
    loop {
        if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            let header = std::str::from_utf8(&received[..end]).map_err(|_| invalid())?;
            let mut lines = header.split("\r\n");
            let mut first = lines.next().unwrap_or_default().split(' ');
            let (method, path) = first.next().zip(first.next()).ok_or_else(invalid)?;
            let mut request =
                Request { method: method.into(), path: path.into(), has_token: false, body: Vec::new() };
            let mut length = 0;
            for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.parse().map_err(|_| invalid())?,
                    "authorization" => request.has_token = value.strip_prefix("Bearer ") == Some(TOKEN),
                    _ => {}
                }
            }
            needed = end + 4 + length;
            if received.len() >= needed {
                request.body = received[end + 4..needed].to_vec();
                received.drain(..needed);
                return Ok(Some(request));
            }
        }
        if needed.max(received.len()) > MAX_REQUEST {
            return Err(invalid());
        }
        if stream.read_buf(received).await? == 0 {
            return Ok(None);
        }
    }
}

/// The HTTP status and the body of the answer.
fn answer(agent: &Agent, request: &Request) -> (u16, Vec<u8>) {
    if !request.has_token {
        return (401, Vec::new());
    }
    let client = "consumer";
    let query = |text: &str| u64::from_str_radix(text, 16).map_err(|_| AgentError::NoQuery);
    let parts: Vec<&str> = request.path.split('/').skip(3).collect();
    let outcome = match (request.method.as_str(), &parts[..]) {
        ("GET", []) => agent.greet(client),
        ("GET", ["sets"]) => agent.sets(client),
        ("POST", ["instances"]) => agent.instances(client, &request.body),
        ("POST", ["queries"]) => agent.open(client, &request.body),
        ("POST", ["queries", id, "collect"]) => {
            query(id).and_then(|id| agent.collect(client, id, &request.body))
        }
        ("DELETE", ["queries", id]) => query(id).and_then(|id| agent.close(client, id)).map(|()| Vec::new()),
        _ => Err(AgentError::NoQuery),
    };
    match outcome {
        Ok(body) => (200, body),
        Err(error) => (error.http_status(), error.to_string().into_bytes()),
    }
}
