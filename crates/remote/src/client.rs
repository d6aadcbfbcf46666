//! The consumer's side: a link to one agent, and the counter sets that it provides.

mod answers;
mod descriptions;
mod exchanges;
mod http;
mod link;
mod machine;
mod provider;
mod tls;
mod transport;

pub use exchanges::ExchangePoll;
pub use http::HttpTransport;
pub use link::Link;
pub use machine::RemoteMachine;
pub use tls::{Fingerprint, Trust};
pub use transport::{ExchangeError, Method, Peer, Received, Response, Transport};
