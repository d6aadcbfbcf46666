//! The counters of other machines: the agent's protocol, for consumers and for the agent that serves them.
//!
//! - [`message`] and [`frame`] are the messages, [`Agent`] answers them, and [`Link`] sends them. None of them does I/O:
//!   the caller passes requests to the agent, and the link uses a [`Transport`].
//! - [`HttpTransport`] is the transport over TCP and TLS. It blocks, with a deadline for every exchange. Its only
//!   thread is one that resolves a host name. [`ExchangePoll`] collects from many agents at the same time: it sends all
//!   requests, and then receives the answers as they arrive.
//! - [`Machines`] is the list of known machines (`machines.toml`), and the [`Connector`](tachograph_perflib::Connector)
//!   that connects to them.
//!
//! `docs/remote.md` describes the protocol. Each side checks everything that it receives; [`limits`] has the bounds.

#![forbid(unsafe_code)]

mod agent;
mod client;
mod client_trust;
mod descriptions;
pub mod difference;
mod fingerprint;
pub mod frame;
pub mod limits;
mod machines;
pub mod message;
mod secret_file;
mod token;
mod wire;

pub use agent::{Agent, AgentError, AgentOptions, RegistryNow};
pub use client::{
    ClientIdentity, ExchangeError, ExchangePoll, HttpTransport, Link, Method, Peer, Received, RemoteMachine,
    Response, Transport, Trust,
};
pub use client_trust::ClientTrust;
pub use fingerprint::Fingerprint;
pub use machines::{DEFAULT_PORT, Machine, Machines, MachinesError, check_name, split_address};
pub use secret_file::{SecretFileError, describe_pem_error, read_secret_file};
pub use token::Token;
pub use wire::MessageError;
