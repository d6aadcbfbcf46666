//! Sources that several counter sets share and that are read once per collection.

use std::sync::{Arc, Mutex};

use tachograph_schema::IgnorePoison;

use crate::{Failure, Timestamps};

/// A source of values, such as a file in /proc.
pub trait Reading: Send {
    /// Reads the current values.
    ///
    /// # Errors
    ///
    /// The source cannot be read. All sets that share it then fail.
    fn read(&mut self, at: Timestamps) -> Result<(), Failure>;
}

/// A source that several providers share. It is read once per collection, so that all providers see the same values.
#[derive(Debug)]
pub struct SharedReading<T>(Arc<Mutex<State<T>>>);

/// A source, and the outcome of its last read.
#[derive(Debug)]
struct State<T> {
    reading: T,
    /// The time of the collection for which the source was last read.
    read_at: Option<Timestamps>,
    /// Whether this read succeeded.
    outcome: Result<(), Failure>,
}

impl<T: Reading> SharedReading<T> {
    /// Shares a source, which is not read until it is used.
    pub fn new(reading: T) -> Self {
        Self(Arc::new(Mutex::new(State { reading, read_at: None, outcome: Ok(()) })))
    }

    /// Calls `then` with the source as it was read for the collection at this time. Reads the source unless another
    /// provider of this collection has already done so.
    ///
    /// # Errors
    ///
    /// The source could not be read in this collection.
    pub fn at<R>(&self, at: Timestamps, then: impl FnOnce(&mut T) -> R) -> Result<R, Failure> {
        let mut state = self.0.lock().ignore_poison();
        let state = &mut *state;
        if state.read_at != Some(at) {
            state.outcome = state.reading.read(at);
            state.read_at = Some(at);
        }
        state.outcome.clone()?;
        Ok(then(&mut state.reading))
    }

    /// Calls `then` with the source without reading it, for example to close its files.
    pub fn with<R>(&self, then: impl FnOnce(&mut T) -> R) -> R {
        then(&mut self.0.lock().ignore_poison().reading)
    }
}

impl<T> Clone for SharedReading<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
