//! Exchanging messages with many machines at once.

use std::time::Instant;

/// Sends requests to many machines and receives their answers, without a thread for each.
///
/// An exchange is one request to a machine and the machine's answer. A machine is identified by its index. An exchange is begun
/// only if the machine is connected and its next request is the same as its last one. Everything else, such as connecting, is
/// done by the machine's [`LiveSource`](super::LiveSource) on a thread.
pub trait Exchanges: Send {
    /// Sends the request for the next sample of a machine. Returns false if that would block.
    fn begin(&mut self, machine: usize) -> bool;

    /// Waits until answers arrive, at most until `until`, and adds them to `arrived`.
    fn wait(&mut self, until: Instant, arrived: &mut Vec<Arrival>);
}

/// An answer that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The index of the machine.
    pub machine: usize,
    /// Whether the answer is complete, so that taking the sample does not block. Otherwise the machine has closed the connection
    /// or refused the request.
    pub is_complete: bool,
}
