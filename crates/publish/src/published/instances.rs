//! Sets with many instances.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use tachograph_shm::{IgnorePoison, Slot};

use super::{Running, bind};
use crate::{MultipleInstances, PublishError, Publisher};

/// A published set that can have many instances. Consumers see it until its last clone is dropped; instances that live
/// longer keep working, but consumers do not see them.
///
/// ```
/// use tachograph_publish::{Counter, CounterSet, Publisher};
///
/// /// Activity of the shopping carts.
/// #[derive(CounterSet)]
/// #[counter_set(name = "Carts", instances = "multiple")]
/// struct Carts {
///     /// Items put into the cart.
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
/// assert!(carts.find("checkout 4", 0).is_none(), "dropping the last handle ends the instance");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PublishedSet<S> {
    inner: Arc<Inner<S>>,
}

/// The state that the clones of a set share.
struct Inner<S> {
    running: Running,
    instances: Arc<Mutex<Instances<S>>>,
}

type Instances<S> = HashMap<(Box<str>, u32), Entry<S>>;

/// An entry of the list of instances. It does not keep the instance alive.
struct Entry<S> {
    owner: Weak<Owner<S>>,
    slot: Slot,
}

/// An instance of a set, whose counters are the fields of `S`. Clones refer to the same instance; dropping the last clone
/// ends it.
pub struct Instance<S> {
    owner: Arc<Owner<S>>,
}

/// The shared state of the handles of an instance.
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
        Ok(Self::new(running))
    }

    pub(crate) fn unpublished(capacity: u32) -> Self {
        Self::new(Running::unpublished::<S>(capacity))
    }

    fn new(running: Running) -> Self {
        Self { inner: Arc::new(Inner { running, instances: Arc::default() }) }
    }

    /// Adds an instance with id 0.
    ///
    /// # Errors
    ///
    /// An instance with this name exists; the name is empty, contains NUL, or has more than 1023 UTF-16 units; the set or the
    /// folder is full.
    pub fn instance(&self, name: &str) -> Result<Instance<S>, PublishError> {
        self.instance_with_id(name, 0)
    }

    /// Adds an instance with an id. The combination of name and id must be unique.
    ///
    /// # Errors
    ///
    /// Same as [`instance`](Self::instance).
    pub fn instance_with_id(&self, name: &str, id: u32) -> Result<Instance<S>, PublishError> {
        let mut instances = self.instances()?;
        self.create(&mut instances, name, id)
    }

    /// Finds the instance with this name and id. A forked child does not find its parent's instances.
    pub fn find(&self, name: &str, id: u32) -> Option<Instance<S>> {
        // The lock is released at the end of this statement, because dropping a handle takes it too.
        let found =
            self.instances().ok()?.get(&(Box::from(name), id)).and_then(|entry| entry.owner.upgrade());
        found.map(|owner| Instance { owner })
    }

    /// Finds the instance with this name and id, or creates it.
    ///
    /// # Errors
    ///
    /// Same as [`instance`](Self::instance).
    pub fn find_or_create(&self, name: &str, id: u32) -> Result<Instance<S>, PublishError> {
        let mut instances = self.instances()?;
        match instances.get(&(Box::from(name), id)).and_then(|entry| entry.owner.upgrade()) {
            Some(owner) => Ok(Instance { owner }),
            None => self.create(&mut instances, name, id),
        }
    }

    /// Whether consumers can see the set: `false` if [`Publisher::start_set_or_unpublished`] reported an error.
    pub fn is_published(&self) -> bool {
        self.inner.running.is_published()
    }

    /// Locks the list of instances. Fails in a forked child, where the lock may be held by a thread that exists only in the parent.
    fn instances(&self) -> Result<MutexGuard<'_, Instances<S>>, PublishError> {
        self.inner.running.file.check_process()?;
        Ok(self.inner.instances.lock().ignore_poison())
    }

    fn create(&self, instances: &mut Instances<S>, name: &str, id: u32) -> Result<Instance<S>, PublishError> {
        let key = (Box::from(name), id);
        if let Some(entry) = instances.get(&key)
            && entry.owner.strong_count() == 0
        {
            // Another thread is dropping the last handle of this instance, and waits for the lock.
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
    /// The instance's name.
    pub fn name(&self) -> &str {
        self.owner.slot.name()
    }

    /// The instance's id.
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
            // In a forked child, the lock may be held by a thread that exists only in the parent.
            return;
        }
        let mut instances = self.instances.lock().ignore_poison();
        self.slot.end();
        let key = (Box::from(self.slot.name()), self.slot.id());
        // The entry may belong to a newer instance with the same name.
        if instances.get(&key).is_some_and(|entry| entry.slot.serial() == self.slot.serial()) {
            instances.remove(&key);
        }
    }
}
