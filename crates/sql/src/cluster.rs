//! Queries on a cluster, with Ballista: `tacho-sql scheduler`, `tacho-sql executor` and `tacho sql --cluster`.
//!
//! The client plans a query and sends it to the scheduler, which divides it into tasks. Executors ask for tasks, read the
//! files themselves, and keep the results of their tasks for the next step and for the client. Files are sent as absolute
//! paths, and all processes run on one machine: connections are not encrypted, and only connections of the same user and of
//! root are accepted. Clients and executors end when the scheduler ends, because another user can then listen on its port.

mod address;
mod arguments;
mod client;
mod codec;
mod connections;
mod logging;
mod readiness;
mod scan;
mod server;
mod socket_owner;
mod table;
mod task_errors;

pub(crate) use client::Cluster;
pub(crate) use server::run;
pub(crate) use task_errors::message_in;

/// Maximum size of a message: the plan of a query, with the paths of its files.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
