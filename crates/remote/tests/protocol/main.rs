//! The protocol between an agent and consumers, without sockets.

mod ahead;
mod busy;
mod closing;
mod fixture;
mod hostile;
mod restarts;
mod values;

#[path = "../../../../fuzz/remote_checks.rs"]
mod remote_checks;
