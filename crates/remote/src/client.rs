//! The consumer's side: a link to one agent, and the counter sets that it provides.

mod answers;
mod attempts;
mod connection;
mod dialer;
mod exchanges;
mod http;
mod link;
mod machine;
mod open_query;
mod provider;
mod session;
mod tls;
mod transport;

pub use exchanges::ExchangePoll;
pub use http::HttpTransport;
pub use link::Link;
pub use machine::RemoteMachine;
pub use tls::{ClientIdentity, Trust};
pub use transport::{ExchangeError, Method, Peer, Received, Response, Transport};
