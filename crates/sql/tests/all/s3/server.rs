//! A server of S3 on loopback: moto, with the Python of `TACHO_ARCHIVE_PYTHON`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Prints the port, and ends when its standard input is closed.
const PROGRAM: &str = "
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
";

/// Only a request that names a key can replace an object. The server does not check the signature.
const AUTHORIZATION: &str =
    "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// A running server.
pub(super) struct Server {
    /// Its standard input keeps the server running.
    _process: Child,
    pub(super) address: SocketAddr,
}

/// The server that tests share; each test has its own bucket. `None` if there is no Python with moto.
pub(super) fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(&[])).as_ref()
}

impl Server {
    /// Starts a server with these environment variables.
    pub(super) fn start(variables: &[(&str, &str)]) -> Option<Self> {
        let Some(python) = std::env::var_os("TACHO_ARCHIVE_PYTHON") else {
            eprintln!("skipped: TACHO_ARCHIVE_PYTHON does not name a Python with moto");
            return None;
        };
        let mut process = Command::new(python)
            .args(["-c", PROGRAM])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the Python of TACHO_ARCHIVE_PYTHON starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("an output");
        BufReader::new(stdout).read_line(&mut line).expect("an output that can be read");
        let port: u16 = line.trim().parse().expect("the Python of TACHO_ARCHIVE_PYTHON has moto");
        Some(Self { _process: process, address: SocketAddr::from(([127, 0, 0, 1], port)) })
    }

    /// Sends a request that must succeed. Returns the body of the answer.
    #[track_caller]
    pub(super) fn request(&self, method: &str, target: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nAuthorization: {AUTHORIZATION}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.address,
            body.len()
        );
        let answer = exchange(self.address, head.as_bytes(), body);
        let (head, body) = split_head(&answer);
        assert!(head.starts_with("HTTP/1.1 20"), "{method} {target}: {head}");
        body.to_vec()
    }

    /// Creates a bucket.
    pub(super) fn create(&self, bucket: &str) {
        self.request("PUT", &format!("/{bucket}"), b"");
    }

    /// Uploads an object.
    pub(super) fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        self.request("PUT", &format!("/{bucket}/{}", key.replace('%', "%25")), bytes);
    }

    /// Uploads the files of a folder.
    pub(super) fn put_folder(&self, bucket: &str, prefix: &str, folder: &Path) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a UTF-8 name");
            let key = format!("{prefix}{name}");
            match path.is_dir() {
                true => self.put_folder(bucket, &format!("{key}/"), &path),
                false => self.put(bucket, &key, &std::fs::read(&path).expect("a file")),
            }
        }
    }
}

/// Sends a request with `Connection: close`, and returns the whole answer.
pub(super) fn exchange(address: SocketAddr, head: &[u8], body: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("a connection to the server");
    stream.write_all(head).expect("a request that can be sent");
    stream.write_all(body).expect("a request that can be sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    answer
}

/// Splits a message into its head and its body.
pub(super) fn split_head(message: &[u8]) -> (String, &[u8]) {
    let end = message.windows(4).position(|window| window == b"\r\n\r\n").expect("the end of the head") + 4;
    (String::from_utf8_lossy(&message[..end]).into_owned(), &message[end..])
}
