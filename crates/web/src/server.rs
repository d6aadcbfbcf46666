//! The server: listening, accepting connections, shutting down.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::admission::Admission;
use crate::api::{self, Shared, Web};
use crate::options::{ReleaseMemory, ServeError, ServeOptions, Services};
use crate::{connection, tls};

/// Maximum number of connections; lower if the limit of open files is low.
const MAX_CONNECTIONS: usize = 1024;
/// Connections that take longer than this to close at shutdown are aborted.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);
/// How often to check for idle logs and exporters.
const IDLE_CHECK: Duration = Duration::from_secs(30);
/// Minimum time between two releases of memory.
const RELEASE_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum and maximum wait after a failed `accept`.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// A listening server; see [`run`](Self::run).
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    web: Web,
    release: Option<ReleaseMemory>,
    stop: watch::Sender<bool>,
}

/// Stops a server from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Stops the server: [`Server::run`] returns within a second.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Starts listening, and checks that the logs and folders in `options` exist.
    ///
    /// # Errors
    ///
    /// If the address is not available, if it is reachable from other machines while neither token nor TLS is set, or if a
    /// file cannot be read.
    pub fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let address = options.address;
        if !address.ip().is_loopback() && options.token.is_none() && options.tls.is_none() {
            return Err(ServeError::usage(format!(
                "{address} is reachable from other machines: --token-file admits only clients with the token, and --tls-cert \
                 with --tls-key encrypts the connections, but admits everyone; use both, or at least one of them"
            )));
        }
        if options.clients.is_some() && options.tls.is_none() {
            let what = "client certificates require TLS: --tls-cert and --tls-key";
            return Err(ServeError::usage(what));
        }
        let is_unprotected = options.token.is_none() && options.clients.is_none() || options.tls.is_none();
        if options.services == Services::Agent && !address.ip().is_loopback() && is_unprotected {
            return Err(ServeError::usage(format!(
                "{address} is reachable from other machines: an agent there needs a certificate and a token, which \
                 'tacho agent setup' creates"
            )));
        }
        let tls = options
            .tls
            .as_ref()
            .map(|(certificate, key)| tls::acceptor(certificate, key, options.clients.as_ref()));
        let tls = tls.transpose()?;
        let listen = || -> io::Result<(TcpListener, SocketAddr)> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = listen().map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                let option = match address.ip().is_loopback() && options.services == Services::All {
                    true => "--port",
                    false => "--listen ADDRESS:PORT",
                };
                ServeError::failure(format!(
                    "port {} is in use; choose another with {option}",
                    address.port()
                ))
            }
            _ => ServeError::io(address, &error),
        })?;
        let release = options.release.clone();
        let web = Shared::new(address.port(), tls.is_some(), options)?;
        Ok(Self { listener, address, tls, web, release, stop: watch::Sender::new(false) })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the page.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// A handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until the server is stopped.
    ///
    /// # Errors
    ///
    /// If the threads cannot be started, or if the runtime cannot use the listening socket.
    pub fn run(self) -> Result<(), ServeError> {
        // An agent serves few clients, and a thread switch costs more than an answer.
        let mut builder = match self.web.services {
            Services::Agent => tokio::runtime::Builder::new_current_thread(),
            Services::All => tokio::runtime::Builder::new_multi_thread(),
        };
        let runtime = builder
            .worker_threads(2)
            .max_blocking_threads(64)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(|error| ServeError::io("cannot start threads", &error))?;
        let web = self.web.clone();
        web.hub.set_runtime(runtime.handle().clone());
        let outcome = runtime.block_on(self.serve());
        web.close();
        // Threads that are still reading a log are abandoned.
        runtime.shutdown_timeout(Duration::from_millis(100));
        outcome
    }

    async fn serve(self) -> Result<(), ServeError> {
        let listener = tokio::net::TcpListener::from_std(self.listener)
            .map_err(|error| ServeError::io(self.address, &error))?;
        self.web.sources.read_named();
        if let Some(release) = self.release.clone() {
            tokio::spawn(release_memory(release, Arc::clone(&self.web.sources.workers.freed)));
        }
        let router = api::router(self.web.clone());
        let admission = Admission::new(max_connections());
        let mut stopping = self.stop.subscribe();
        let mut connections = JoinSet::new();
        let mut idle_check = tokio::time::interval(IDLE_CHECK);
        let mut wait = BACK_OFF.0;
        loop {
            let accepted = tokio::select! {
                _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
                accepted = listener.accept() => accepted,
                _ = idle_check.tick() => {
                    self.web.sources.close_idle();
                    self.web.exporters.remove_idle();
                    self.web.guard.remove_expired_sessions();
                    let web = self.web.clone();
                    // Closing queries can block on providers.
                    tokio::task::spawn_blocking(move || web.agent.close_idle());
                    continue;
                }
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, from)) => {
                    wait = BACK_OFF.0;
                    // A connection over a limit is closed immediately.
                    let Some(permit) = admission.admit(from.ip().into()) else { continue };
                    let (tls, router, stopping) = (self.tls.clone(), router.clone(), self.stop.subscribe());
                    connections.spawn(connection::serve(stream, permit, tls, router, stopping));
                }
                // Usually the limit of file descriptors is reached; pending connections stay in the kernel's queue.
                Err(_) => {
                    tokio::select! {
                        _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
                        () = tokio::time::sleep(wait) => wait = (wait * 2).min(BACK_OFF.1),
                    }
                }
            }
        }
        drop(listener);
        self.web.hub.stop();
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, all).await;
        Ok(())
    }
}

/// Returns memory to the system after log readers have freed some, at most once per [`RELEASE_INTERVAL`].
async fn release_memory(release: ReleaseMemory, freed: Arc<Notify>) {
    loop {
        freed.notified().await;
        tokio::time::sleep(RELEASE_INTERVAL).await;
        let release = Arc::clone(&release);
        // On a separate thread, because it takes milliseconds. A panic affects nothing else.
        let _ = tokio::task::spawn_blocking(move || release()).await;
    }
}

/// The maximum number of connections. If the limit on open files is low, half of the remaining descriptors are reserved
/// for logs and counters; otherwise idle connections could use them all.
fn max_connections() -> usize {
    let Some(files) = getrlimit(Resource::Nofile).current else { return MAX_CONNECTIONS };
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let left = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(open);
    (left / 2).clamp(1, MAX_CONNECTIONS)
}
