//! Files that several counter sets are told from: read once a moment.

use std::sync::{Arc, Mutex, PoisonError};

use tachograph_perflib::{Failure, Moments};

/// What is read from the machine.
pub(crate) trait Reading: Send {
    /// Reads it as it is now.
    fn read(&mut self, at: Moments) -> Result<(), Failure>;
}

/// A reading that several providers share. It is done once for all that ask at the same moment, which also gives all of
/// them the same values.
#[derive(Debug)]
pub(crate) struct Shared<T>(Arc<Mutex<Kept<T>>>);

#[derive(Debug)]
struct Kept<T> {
    reading: T,
    read_at: Option<Moments>,
    outcome: Result<(), Failure>,
}

impl<T: Reading> Shared<T> {
    pub(crate) fn new(reading: T) -> Self {
        Self(Arc::new(Mutex::new(Kept { reading, read_at: None, outcome: Ok(()) })))
    }

    /// Hands out the reading of this moment.
    pub(crate) fn at<R>(&self, at: Moments, then: impl FnOnce(&mut T) -> R) -> Result<R, Failure> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        if kept.read_at != Some(at) {
            kept.outcome = kept.reading.read(at);
            kept.read_at = Some(at);
        }
        kept.outcome.clone()?;
        Ok(then(&mut kept.reading))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
