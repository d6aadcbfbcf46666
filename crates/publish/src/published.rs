//! Counter sets whose counters are the fields of a struct.

mod instances;

use std::fmt;
use std::ops::Deref;

use tachograph_shm::{SetFile, Slot};

pub use instances::{Instance, PublishedSet};

use crate::cells::Cells;
use crate::control::Control;
use crate::{CounterSet, PublishError, Publisher, SingleInstance};

/// The file of a set, and the threads that answer requests. Dropping it removes the file and ends the threads.
struct Running {
    /// `None` if the publisher has no control callback.
    control: Option<Control>,
    file: SetFile,
}

impl Running {
    /// Creates the file of a set. Consumers see the set after `go_live`.
    fn create<S: CounterSet>(publisher: &Publisher) -> Result<Self, PublishError> {
        let description = S::description();
        let guid = description.guid;
        let callback = publisher.callback().cloned();
        let file = publisher.create(description, callback.is_some())?;
        let control = match (callback, file.socket_path()) {
            (Some(callback), Some(path)) => {
                let no_refresh = Box::new(|| ());
                Some(Control::start(path, publisher.readers()?, guid, Some(callback), no_refresh)?)
            }
            _ => None,
        };
        Ok(Self { control, file })
    }

    /// Creates the set in this process's memory. Reduces the capacity until the memory suffices.
    fn unpublished<S: CounterSet>(mut capacity: u32) -> Self {
        loop {
            match SetFile::unpublished(S::description(), capacity) {
                Ok(file) => return Self { control: None, file },
                Err(_) if capacity != 1 => capacity = if capacity == 0 { 4096 } else { capacity / 2 },
                Err(error) => panic!("counters of '{}': {error}", S::description().name),
            }
        }
    }

    fn is_published(&self) -> bool {
        self.file.path().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(control) = &self.control {
            control.stop();
        }
        self.file.stop();
    }
}

/// Binds the fields to the cells of an instance.
fn bind<S: CounterSet>(slot: &Slot) -> Result<S, PublishError> {
    S::bind(&Cells::new(slot)).ok_or(PublishError::Mismatch(std::any::type_name::<S>()))
}

/// A published set with one instance, whose counters are the fields of `S`. Consumers see it until it is dropped; in a
/// `static`, until the process ends.
pub struct Published<S> {
    values: S,
    _slot: Slot,
    running: Running,
}

impl<S> Deref for Published<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.values
    }
}

impl<S: fmt::Debug> fmt::Debug for Published<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Published")
            .field("values", &self.values)
            .field("file", &self.running.file.path())
            .finish()
    }
}

impl<S: SingleInstance> Published<S> {
    pub(crate) fn start(publisher: &Publisher) -> Result<Self, PublishError> {
        let publisher = publisher.clone().capacity(1);
        Self::with_instance(Running::create::<S>(&publisher)?)
    }

    pub(crate) fn unpublished() -> Self {
        Self::with_instance(Running::unpublished::<S>(1)).unwrap_or_else(|error| panic!("counters: {error}"))
    }

    fn with_instance(running: Running) -> Result<Self, PublishError> {
        let slot = running.file.create_instance("", 0)?;
        let values = bind(&slot)?;
        running.file.go_live()?;
        Ok(Self { values, _slot: slot, running })
    }

    /// Whether consumers can see the set: `false` if [`Publisher::start_or_unpublished`] reported an error.
    pub fn is_published(&self) -> bool {
        self.running.is_published()
    }
}
