//! What readers ask of a provider beyond its values, and the threads that answer.

mod socket;
mod thread;

use std::sync::Arc;

use tachograph_shm::Guid;
use tachograph_shm::control as message;

pub(crate) use thread::Control;

/// What a reader asks for.
///
/// Source: "ControlCallback callback function", Microsoft.
pub use tachograph_shm::control::Kind as RequestKind;

/// What is called at the requests of readers. It answers `Ok`, or a code of winerror.h.
///
/// The error of [`RequestKind::AddCounter`], [`RequestKind::EnumInstances`] and [`RequestKind::CollectStart`] reaches the
/// reader, that of the others nobody. A callback that panics has answered 574, `ERROR_UNHANDLED_EXCEPTION`.
pub type ControlCallback = Arc<dyn Fn(&Request<'_>) -> Result<(), u32> + Send + Sync>;

/// A request of a reader. Nothing of it was checked but the set: names and ids may be of things that are not there.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What is asked for.
    pub kind: RequestKind,
    /// The counter set.
    pub set: Guid,
    /// The counter; `u32::MAX` for all.
    pub counter_id: u32,
    /// The instance's id; `u32::MAX` for all.
    pub instance_id: u32,
    /// The instance's name or a pattern, and empty where it does not matter.
    pub instance: &'a str,
    /// The machine's name as the reader calls it.
    pub machine: &'a str,
}

impl<'a> Request<'a> {
    fn of(message: &'a message::Request) -> Self {
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
