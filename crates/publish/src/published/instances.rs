//! Sets with many instances.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tachograph_shm::Slot;

use super::{Running, bind};
use crate::{MultipleInstances, PublishError, Publisher};

/// A set that may have many instances. Readers see it until the last clone of it is dropped; instances that live longer
/// keep their values, which nobody reads any more.
///
/// ```
/// use tachograph_publish::{Counter, CounterSet, Publisher};
///
/// /// What the carts did.
/// #[derive(CounterSet)]
/// #[counter_set(name = "Carts", instances = "multiple")]
/// struct Carts {
///     /// Things that were put into the cart.
///     #[counter(name = "Things/sec")]
///     things: Counter,
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let publisher = Publisher::new().folder(folder.path());
/// let carts = publisher.start_set::<Carts>()?;
/// let cart = carts.instance("checkout 4")?;
/// cart.things.add(3);
/// assert_eq!(carts.find("checkout 4", 0).map(|cart| cart.things.value()), Some(3));
/// drop(cart);
/// assert!(carts.find("checkout 4", 0).is_none(), "the last handle takes the instance along");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PublishedSet<S> {
    inner: Arc<Inner<S>>,
}

struct Inner<S> {
    running: Running,
    instances: Arc<Mutex<Instances<S>>>,
}

type Instances<S> = HashMap<(Box<str>, u32), Entry<S>>;

struct Entry<S> {
    owner: Weak<Owner<S>>,
    slot: Slot,
}

/// An instance of a set, whose counters are the fields. Clones are the same instance, which ends with the last of them.
pub struct Instance<S> {
    owner: Arc<Owner<S>>,
}

struct Owner<S> {
    values: S,
    slot: Slot,
    instances: Arc<Mutex<Instances<S>>>,
}

impl<S> Clone for PublishedSet<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<S> fmt::Debug for PublishedSet<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishedSet").field("file", &self.inner.running.file.path()).finish_non_exhaustive()
    }
}

impl<S: MultipleInstances> PublishedSet<S> {
    pub(crate) fn start(publisher: &Publisher) -> Result<Self, PublishError> {
        let running = Running::create::<S>(publisher)?;
        running.file.go_live()?;
        Ok(Self::of(running))
    }

    pub(crate) fn unpublished(capacity: u32) -> Self {
        Self::of(Running::unpublished::<S>(capacity))
    }

    fn of(running: Running) -> Self {
        Self { inner: Arc::new(Inner { running, instances: Arc::default() }) }
    }

    /// Adds an instance with id 0.
    ///
    /// # Errors
    ///
    /// There is one of this name; the name is empty, holds a zero, or is longer than 1023 characters of UTF-16; the set or
    /// the folder is full.
    pub fn instance(&self, name: &str) -> Result<Instance<S>, PublishError> {
        self.instance_with_id(name, 0)
    }

    /// Adds an instance with an id. Name and id together have to be unique.
    ///
    /// # Errors
    ///
    /// As [`instance`](Self::instance).
    pub fn instance_with_id(&self, name: &str, id: u32) -> Result<Instance<S>, PublishError> {
        let mut instances = self.instances()?;
        self.create(&mut instances, name, id)
    }

    /// The instance of this name and id, if there is one. A forked child finds none of its parent's.
    pub fn find(&self, name: &str, id: u32) -> Option<Instance<S>> {
        // Drops of handles take the same lock, so none must happen under it.
        let found =
            self.instances().ok()?.get(&(Box::from(name), id)).and_then(|entry| entry.owner.upgrade());
        found.map(|owner| Instance { owner })
    }

    /// The instance of this name and id, which is added where there is none.
    ///
    /// # Errors
    ///
    /// As [`instance`](Self::instance).
    pub fn find_or_create(&self, name: &str, id: u32) -> Result<Instance<S>, PublishError> {
        let mut instances = self.instances()?;
        match instances.get(&(Box::from(name), id)).and_then(|entry| entry.owner.upgrade()) {
            Some(owner) => Ok(Instance { owner }),
            None => self.create(&mut instances, name, id),
        }
    }

    /// Whether readers can see it: not so where [`Publisher::start_set_or_unpublished`] had to report an error.
    pub fn is_published(&self) -> bool {
        self.inner.running.is_published()
    }

    /// The instances. In a forked child an error: a thread that it has not may hold the lock.
    fn instances(&self) -> Result<MutexGuard<'_, Instances<S>>, PublishError> {
        self.inner.running.file.check_process()?;
        Ok(lock(&self.inner.instances))
    }

    fn create(&self, instances: &mut Instances<S>, name: &str, id: u32) -> Result<Instance<S>, PublishError> {
        let key = (Box::from(name), id);
        if let Some(entry) = instances.get(&key)
            && entry.owner.strong_count() == 0
        {
            // Its last handle is just being dropped by another thread, which waits for the lock.
            entry.slot.end();
            instances.remove(&key);
        }
        let slot = self.inner.running.file.create_instance(name, id)?;
        let values = bind(&slot)?;
        let entry_slot = Slot::clone(&slot);
        let owner = Arc::new(Owner { values, slot, instances: Arc::clone(&self.inner.instances) });
        instances.insert(key, Entry { owner: Arc::downgrade(&owner), slot: entry_slot });
        Ok(Instance { owner })
    }
}

impl<S> Instance<S> {
    /// Its name.
    pub fn name(&self) -> &str {
        self.owner.slot.name()
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.owner.slot.id()
    }
}

impl<S> Clone for Instance<S> {
    fn clone(&self) -> Self {
        Self { owner: Arc::clone(&self.owner) }
    }
}

impl<S> Deref for Instance<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.owner.values
    }
}

impl<S> fmt::Debug for Instance<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("name", &self.name()).field("id", &self.id()).finish_non_exhaustive()
    }
}

impl<S> Drop for Owner<S> {
    fn drop(&mut self) {
        if !self.slot.is_of_this_process() {
            // A thread that a forked child has not may hold the lock.
            return;
        }
        let mut instances = lock(&self.instances);
        self.slot.end();
        let key = (Box::from(self.slot.name()), self.slot.id());
        // The place may have been taken over by an instance of the same name.
        if instances.get(&key).is_some_and(|entry| entry.slot.number() == self.slot.number()) {
            instances.remove(&key);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
