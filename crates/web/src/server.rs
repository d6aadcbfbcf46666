//! The server: where it listens, and how it ends.

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
use crate::options::{ReleaseMemory, ServeError, ServeOptions};
use crate::{connection, tls};

/// Most connections at a time.
const MAX_CONNECTIONS: usize = 1024;
/// How long the end may take.
const END_TIME: Duration = Duration::from_millis(700);
/// How often it is looked for logs that nobody looks at.
const IDLE_CHECK: Duration = Duration::from_secs(30);
/// From one time that memory is given back to the next.
const RELEASE_INTERVAL: Duration = Duration::from_secs(1);
/// The wait after a connection could not be taken.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// A server that listens and can be run.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    web: Web,
    release: Option<ReleaseMemory>,
    stop: watch::Sender<bool>,
}

/// Ends a server from elsewhere.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Ends the server: [`Server::run`] comes back within a second.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Listens, and looks at the logs and folders that were named.
    ///
    /// # Errors
    ///
    /// When the address is not to be had, asks for more safety than was given (an address of others than this machine
    /// without token and without TLS), or a file cannot be read.
    pub fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let address = options.address;
        if !address.ip().is_loopback() && options.token.is_none() && options.tls.is_none() {
            return Err(ServeError::usage(format!(
                "{address} can be reached from other machines: that needs --token-file, or --tls-cert with --tls-key"
            )));
        }
        let tls =
            options.tls.as_ref().map(|(certificate, key)| tls::acceptor(certificate, key)).transpose()?;
        let listen = || -> io::Result<(TcpListener, SocketAddr)> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = listen().map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                ServeError::work(format!("port {} is in use; --port takes another one", address.port()))
            }
            _ => ServeError::work(format!("{address}: {error}")),
        })?;
        let release = options.release.clone();
        let web = Shared::new(address.port(), tls.is_some(), options)?;
        Ok(Self { listener, address, tls, web, release, stop: watch::Sender::new(false) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open in a browser.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// Ends it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until it is stopped.
    ///
    /// # Errors
    ///
    /// When the threads that it needs are not to be had.
    pub fn run(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(64)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(|error| ServeError::work(format!("no threads can be had: {error}")))?;
        let web = self.web.clone();
        let outcome = runtime.block_on(self.serve());
        web.close();
        // Threads that still read a log end with the process.
        runtime.shutdown_timeout(Duration::from_millis(100));
        outcome
    }

    async fn serve(self) -> Result<(), ServeError> {
        let listener = tokio::net::TcpListener::from_std(self.listener)
            .map_err(|error| ServeError::work(format!("{}: {error}", self.address)))?;
        self.web.sources.read_named();
        if let Some(release) = self.release.clone() {
            tokio::spawn(release_memory(release, Arc::clone(&self.web.sources.work.freed)));
        }
        let router = api::router(self.web.clone());
        let admission = Admission::new(places());
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
                    self.web.exporters.forget_idle();
                    continue;
                }
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((stream, from)) => {
                    wait = BACK_OFF.0;
                    // One that comes when all places are taken is closed at once.
                    let Some(seat) = admission.enter(from.ip().into()) else { continue };
                    let (tls, router, stopping) = (self.tls.clone(), router.clone(), self.stop.subscribe());
                    connections.spawn(connection::serve(stream, seat, tls, router, stopping));
                }
                // No more file descriptors, mostly. The queue of the kernel waits as well.
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
        // Whoever takes longer is cut off.
        let _ = tokio::time::timeout(END_TIME, all).await;
        Ok(())
    }
}

/// Gives memory back when work with logs has freed some, at most every [`RELEASE_INTERVAL`].
async fn release_memory(release: ReleaseMemory, freed: Arc<Notify>) {
    loop {
        freed.notified().await;
        // What is freed meanwhile comes along.
        tokio::time::sleep(RELEASE_INTERVAL).await;
        let release = Arc::clone(&release);
        // It takes milliseconds; a panic of it would end nothing else.
        let _ = tokio::task::spawn_blocking(move || release()).await;
    }
}

/// How many connections there may be. Where few files may be open beside those that are, half of them are left to logs and
/// counters: otherwise idle connections would keep those that are there from being answered.
fn places() -> usize {
    let Some(files) = getrlimit(Resource::Nofile).current else { return MAX_CONNECTIONS };
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let left = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(open);
    (left / 2).clamp(1, MAX_CONNECTIONS)
}
