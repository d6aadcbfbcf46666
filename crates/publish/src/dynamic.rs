//! Counter sets that are described at run time: the provider functions of perflib.h in Rust form.
//!
//! | perflib.h | here |
//! | --- | --- |
//! | `PerfStartProvider`, `PerfStartProviderEx` | [`Provider::start`] |
//! | `PerfSetCounterSetInfo` | [`Provider::register`] |
//! | `PerfCreateInstance` | [`Provider::create_instance`] |
//! | `PerfQueryInstance` | [`Provider::query_instance`] |
//! | `PerfDeleteInstance` | [`Provider::delete_instance`] |
//! | `PerfSetULongCounterValue`, `PerfSetULongLongCounterValue` | [`Instance::set`] |
//! | `PerfIncrementULongCounterValue`, `...ULongLong...` | [`Instance::add`] |
//! | `PerfDecrementULongCounterValue`, `...ULongLong...` | [`Instance::subtract`] |
//! | `PerfSetCounterRefValue` | [`Instance::refer`] |
//! | `PerfStopProvider` | [`Provider::stop`] |
//!
//! Source: perflib.h; "Providing Counter Data Using Version 2.0", Microsoft.
//!
//! ```
//! use tachograph_publish::dynamic::{Options, Provider};
//! use tachograph_publish::{CounterInfo, CounterSetInfo, CounterType, Guid, InstanceType, Publisher};
//!
//! const PUMPS: Guid = Guid::parse("{5f2c9c3e-2f54-4b0e-9d4e-64a3d3a0c0a1}");
//!
//! # let folder = tempfile::tempdir()?;
//! # let publisher = Publisher::new().folder(folder.path());
//! let provider = Provider::start(PUMPS, Options { publisher, ..Options::default() })?;
//! let mut pumps = CounterSetInfo::new("Pumps", PUMPS, InstanceType::Multiple);
//! pumps.counters.push(CounterInfo::new(1, "Strokes/sec", CounterType::BULK_COUNT));
//! provider.register(pumps)?;
//! let north = provider.create_instance(PUMPS, "north", 0)?;
//! north.add(1, 17)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod instance;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_shm::{Attributes, CellKind, CounterInfo, CounterSetInfo, Guid, SetFile};

pub use crate::control::{ControlCallback, Request, RequestKind};
pub use instance::Instance;

use crate::control::Control;
use crate::{PublishError, Publisher};

/// How a provider publishes.
#[derive(Clone, Default)]
pub struct Options {
    /// Where its sets are published, and for whom.
    pub publisher: Publisher,
    /// What is called at requests; beats the publisher's own.
    pub control: Option<ControlCallback>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("publisher", &self.publisher)
            .field("has_control", &self.control.is_some())
            .finish()
    }
}

/// A provider of counter sets. Dropping it stops it.
pub struct Provider {
    guid: Guid,
    options: Options,
    sets: Mutex<State>,
}

/// `None` once the provider was stopped.
type State = Option<HashMap<Guid, Arc<Set>>>;

/// A registered set.
struct Set {
    // Dropped first: the threads must be gone before the file is.
    control: Option<Control>,
    file: SetFile,
    places: Arc<Places>,
    instances: Arc<Mutex<Instances>>,
}

type Instances = HashMap<(String, u32), Arc<Instance>>;

/// Where the counters of a set stand in its description, by id.
struct Places {
    by_id: HashMap<u32, Place>,
}

#[derive(Clone, Copy)]
struct Place {
    number: usize,
    is_by_reference: bool,
}

impl Places {
    fn of(counters: &[CounterInfo]) -> Self {
        let place = |(number, counter): (usize, &CounterInfo)| {
            let is_by_reference = is_by_reference(counter);
            (counter.id, Place { number, is_by_reference })
        };
        Self { by_id: counters.iter().enumerate().map(place).collect() }
    }

    fn get(&self, id: u32) -> Result<Place, PublishError> {
        self.by_id.get(&id).copied().ok_or(PublishError::UnknownCounter(id))
    }
}

fn is_by_reference(counter: &CounterInfo) -> bool {
    counter.attributes.has(Attributes::BY_REFERENCE)
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("guid", &self.guid).field("options", &self.options).finish()
    }
}

impl Provider {
    /// A provider without sets. Nothing is published yet. The same GUID may be started more than once; each has sets of its
    /// own.
    ///
    /// # Errors
    ///
    /// The group of the publisher does not exist.
    pub fn start(guid: Guid, options: Options) -> Result<Self, PublishError> {
        options.publisher.readers()?;
        Ok(Self { guid, options, sets: Mutex::new(Some(HashMap::new())) })
    }

    /// The provider's GUID.
    pub fn guid(&self) -> Guid {
        self.guid
    }

    /// Publishes a set. It has no instances yet. That of the provider takes the place of the GUID of the provider that the
    /// description names.
    ///
    /// A set with a counter by reference, and each set of a provider with a callback, gets a thread that waits for requests.
    ///
    /// # Errors
    ///
    /// The set has no counters, or is registered already; a counter has another cell than a plain one; the description
    /// breaks a rule; the file cannot be made, see [`Publisher::start`].
    pub fn register(&self, mut description: CounterSetInfo) -> Result<(), PublishError> {
        let mut sets = lock(&self.sets);
        let sets = sets.as_mut().ok_or(PublishError::Stopped)?;
        let guid = description.guid;
        if description.counters.is_empty() {
            return Err(PublishError::NoCounters(guid));
        }
        if let Some(other) = description.counters.iter().find(|counter| !is_plain(counter)) {
            return Err(PublishError::NotPlain(other.id));
        }
        if sets.contains_key(&guid) {
            return Err(PublishError::SetExists(guid));
        }
        description.provider_guid = self.guid;
        sets.insert(guid, Arc::new(Set::publish(description, &self.options)?));
        Ok(())
    }

    /// Adds an instance to a registered set. Its values are 0; counters by reference have none.
    ///
    /// # Errors
    ///
    /// The set is not registered, has the instance already or is full; the name is too long, or empty where the set has
    /// several instances. The name of a single-instance set's instance does not matter.
    pub fn create_instance(&self, set: Guid, name: &str, id: u32) -> Result<Arc<Instance>, PublishError> {
        let set = self.set(set)?;
        // A thread that a forked child has not may hold the lock.
        set.file.check_process()?;
        let mut instances = lock(&set.instances);
        let slot = set.file.create_instance(name, id)?;
        let instance = Arc::new(Instance::new(slot, Arc::clone(&set.places), set.file.description()));
        instances.insert((name.to_owned(), id), Arc::clone(&instance));
        Ok(instance)
    }

    /// The instance of this name and id, if there is one. A forked child finds none of its parent's.
    pub fn query_instance(&self, set: Guid, name: &str, id: u32) -> Option<Arc<Instance>> {
        let set = self.set(set).ok()?;
        set.file.check_process().ok()?;
        let instances = lock(&set.instances);
        instances.get(&(name.to_owned(), id)).cloned()
    }

    /// Takes an instance out of its set. Handles of it keep working, on values that nobody reads. What its counters refer
    /// to is not read any more once this returns.
    ///
    /// # Errors
    ///
    /// The set is not registered, or has no such instance.
    pub fn delete_instance(&self, set: Guid, name: &str, id: u32) -> Result<(), PublishError> {
        let set = self.set(set)?;
        set.file.check_process()?;
        let removed = lock(&set.instances).remove(&(name.to_owned(), id));
        let instance = removed.ok_or_else(|| PublishError::UnknownInstance(name.to_owned(), id))?;
        instance.end();
        Ok(())
    }

    /// Takes all sets of the provider out of the sight of readers, and waits for the callback where it is just being called
    /// by another thread. Stopping twice does nothing more.
    pub fn stop(&self) {
        let Some(sets) = lock(&self.sets).take() else { return };
        sets.into_values().for_each(|set| set.stop());
    }

    fn set(&self, guid: Guid) -> Result<Arc<Set>, PublishError> {
        let sets = lock(&self.sets);
        let sets = sets.as_ref().ok_or(PublishError::Stopped)?;
        sets.get(&guid).cloned().ok_or(PublishError::UnknownSet(guid))
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_plain(counter: &CounterInfo) -> bool {
    counter.cell == CellKind::Plain && counter.stripes == 0
}

impl Set {
    fn publish(description: CounterSetInfo, options: &Options) -> Result<Self, PublishError> {
        let callback = options.control.as_ref().or_else(|| options.publisher.callback()).cloned();
        let has_control = callback.is_some() || description.counters.iter().any(is_by_reference);
        let places = Arc::new(Places::of(&description.counters));
        let guid = description.guid;
        let file = options.publisher.create(description, has_control)?;
        let instances = Arc::<Mutex<Instances>>::default();
        let control = match file.socket_path() {
            Some(path) if has_control => {
                let read = Arc::clone(&instances);
                let refresh = Box::new(move || refresh_all(&read));
                Some(Control::start(path, options.publisher.readers()?, guid, callback, refresh)?)
            }
            _ => None,
        };
        file.go_live()?;
        Ok(Self { control, file, places, instances })
    }

    fn stop(&self) {
        if let Some(control) = &self.control {
            control.stop();
        }
        self.file.stop();
        if self.control.as_ref().is_some_and(|control| !control.is_of_this_process()) {
            // The thread that reads them is not in this process, and its locks may be held forever.
            return;
        }
        lock(&self.instances).drain().for_each(|(_, instance)| instance.forget_references());
    }
}

/// Reads what the counters by reference refer to.
fn refresh_all(instances: &Mutex<Instances>) {
    // Without the lock of all instances: what is called may take its time.
    let instances: Vec<_> = lock(instances).values().cloned().collect();
    instances.iter().for_each(|instance| instance.refresh());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
