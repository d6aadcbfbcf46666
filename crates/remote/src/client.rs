//! The consumer's side: a link to one agent, and the counter sets that it provides.

mod connection;
mod dialer;
mod exchange_poll;
mod http;
mod link;
mod machine;
mod open_query;
mod provider;
mod recent_collections;
mod session;
mod shared_attempts;
mod stream;
mod tls;
mod transport;

pub use exchange_poll::ExchangePoll;
pub use http::HttpTransport;
pub use link::Link;
pub use machine::RemoteMachine;
pub use tls::{ClientIdentity, Trust};
pub use transport::{ExchangeError, Method, Peer, Received, Response, Transport};
