//! Requests from consumers to a provider, and the threads that answer them.

mod socket;
mod thread;

use std::sync::Arc;

use tachograph_shm::Guid;
use tachograph_shm::control as message;

pub(crate) use thread::Control;

/// The kind of a consumer's request.
///
/// Source: "ControlCallback callback function", Microsoft.
pub use tachograph_shm::control::Kind as RequestKind;

/// The callback for requests from consumers. It returns `Ok`, or a code of winerror.h.
///
/// Consumers receive the errors of [`RequestKind::AddCounter`], [`RequestKind::EnumInstances`] and
/// [`RequestKind::CollectStart`]; errors of other requests are ignored. If the callback panics, the error is 574,
/// `ERROR_UNHANDLED_EXCEPTION`.
pub type ControlCallback = Arc<dyn Fn(&Request<'_>) -> Result<(), u32> + Send + Sync>;

/// A request from a consumer. Only the set has been checked: there might be no counter or instance with these ids and
/// names.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The kind of the request.
    pub kind: RequestKind,
    /// The counter set.
    pub set: Guid,
    /// The counter; `u32::MAX` for all.
    pub counter_id: u32,
    /// The instance's id; `u32::MAX` for all.
    pub instance_id: u32,
    /// The name of the instance, or a pattern; empty if the request does not concern instances.
    pub instance: &'a str,
    /// The name that the consumer uses for the machine.
    pub machine: &'a str,
}

impl<'a> Request<'a> {
    fn from_message(message: &'a message::Request) -> Self {
        Self {
            kind: message.kind,
            set: message.set,
            counter_id: message.counter_id,
            instance_id: message.instance_id,
            instance: &message.instance,
            machine: &message.machine,
        }
    }
}
