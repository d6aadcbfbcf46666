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
//! | `PerfSetCounterRefValue` | [`Instance::set_reference`] |
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
use std::sync::{Arc, Mutex};

use tachograph_shm::{Attributes, CellKind, CounterInfo, CounterSetInfo, Guid, IgnorePoison, SetFile};

pub use crate::control::{ControlCallback, Request, RequestKind};
pub use instance::Instance;

use crate::control::Control;
use crate::{PublishError, Publisher};

/// Options of a provider.
#[derive(Clone, Default)]
pub struct Options {
    /// Where the provider's sets are published, and which users may read them.
    pub publisher: Publisher,
    /// The callback for requests from consumers. It overrides the publisher's callback.
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
    sets: Mutex<Sets>,
}

/// The registered sets by GUID; `None` after the provider was stopped.
type Sets = Option<HashMap<Guid, Arc<Set>>>;

/// A registered set.
struct Set {
    // This field is dropped first: the threads must end before the file is dropped.
    control: Option<Control>,
    file: SetFile,
    counters: Arc<Counters>,
    instances: Arc<Mutex<Instances>>,
}

/// The instances of a set by name and id.
type Instances = HashMap<(String, u32), Arc<Instance>>;

/// The counters of a set by id.
type Counters = HashMap<u32, CounterIndex>;

#[derive(Clone, Copy)]
struct CounterIndex {
    /// The index in the set's description.
    index: usize,
    is_by_reference: bool,
}

fn index_counters(counters: &[CounterInfo]) -> Counters {
    let entry = |(index, counter): (usize, &CounterInfo)| {
        (counter.id, CounterIndex { index, is_by_reference: is_by_reference(counter) })
    };
    counters.iter().enumerate().map(entry).collect()
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
    /// Creates a provider without sets; nothing is published yet. Several providers can have the same GUID; each has
    /// its own sets.
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

    /// Publishes a set without instances. The GUID of this provider replaces the one in the description.
    ///
    /// A set with a counter by reference (whose value a function returns, see [`Instance::set_reference`]), and each
    /// set of a provider with a callback, gets a thread that waits for requests.
    ///
    /// # Errors
    ///
    /// The set has no counters, or is already registered; a counter has a cell that is not plain; the description is invalid;
    /// the file cannot be created, see [`Publisher::start`].
    pub fn register(&self, mut description: CounterSetInfo) -> Result<(), PublishError> {
        let mut sets = self.sets.lock().ignore_poison();
        let sets = sets.as_mut().ok_or(PublishError::Stopped)?;
        let guid = description.guid;
        if description.counters.is_empty() {
            return Err(PublishError::NoCounters(guid));
        }
        if let Some(counter) = description.counters.iter().find(|counter| !is_plain(counter)) {
            return Err(PublishError::NotPlain(counter.id));
        }
        if sets.contains_key(&guid) {
            return Err(PublishError::SetExists(guid));
        }
        description.provider_guid = self.guid;
        sets.insert(guid, Arc::new(Set::publish(description, &self.options)?));
        Ok(())
    }

    /// Adds an instance to a registered set. Its values are 0; counters by reference have no value.
    ///
    /// # Errors
    ///
    /// The set is not registered, is full, or already has the instance; the name is too long, or empty in a set that
    /// can have several instances. In a set with a single instance, the name is not used.
    pub fn create_instance(&self, set: Guid, name: &str, id: u32) -> Result<Arc<Instance>, PublishError> {
        let set = self.set(set)?;
        // In a forked child, the lock may be held by a thread that exists only in the parent.
        set.file.check_process()?;
        let mut instances = set.instances.lock().ignore_poison();
        let slot = set.file.create_instance(name, id)?;
        let instance = Arc::new(Instance::new(slot, Arc::clone(&set.counters), set.file.description()));
        instances.insert((name.to_owned(), id), Arc::clone(&instance));
        Ok(instance)
    }

    /// Finds the instance with this name and id. A forked child does not find its parent's instances.
    pub fn query_instance(&self, set: Guid, name: &str, id: u32) -> Option<Arc<Instance>> {
        let set = self.set(set).ok()?;
        set.file.check_process().ok()?;
        let instances = set.instances.lock().ignore_poison();
        instances.get(&(name.to_owned(), id)).cloned()
    }

    /// Removes an instance from its set. Its handles keep working, but consumers no longer see it. After this returns,
    /// the references of its counters are no longer read.
    ///
    /// # Errors
    ///
    /// The set is not registered, or does not have the instance.
    pub fn delete_instance(&self, set: Guid, name: &str, id: u32) -> Result<(), PublishError> {
        let set = self.set(set)?;
        set.file.check_process()?;
        let removed = set.instances.lock().ignore_poison().remove(&(name.to_owned(), id));
        let instance = removed.ok_or_else(|| PublishError::UnknownInstance(name.to_owned(), id))?;
        instance.end();
        Ok(())
    }

    /// Removes all sets of the provider, and waits for a callback that runs on another thread. Calls after the first have no
    /// effect.
    pub fn stop(&self) {
        let Some(sets) = self.sets.lock().ignore_poison().take() else { return };
        sets.into_values().for_each(|set| set.stop());
    }

    fn set(&self, guid: Guid) -> Result<Arc<Set>, PublishError> {
        let sets = self.sets.lock().ignore_poison();
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
        let counters = Arc::new(index_counters(&description.counters));
        let guid = description.guid;
        let file = options.publisher.create(description, has_control)?;
        let instances = Arc::<Mutex<Instances>>::default();
        let control = match file.socket_path() {
            Some(path) if has_control => {
                let for_refresh = Arc::clone(&instances);
                let refresh = Box::new(move || refresh_all(&for_refresh));
                Some(Control::start(path, options.publisher.readers()?, guid, callback, refresh)?)
            }
            _ => None,
        };
        file.go_live()?;
        Ok(Self { control, file, counters, instances })
    }

    fn stop(&self) {
        if let Some(control) = &self.control {
            control.stop();
        }
        self.file.stop();
        if self.control.as_ref().is_some_and(|control| !control.is_of_this_process()) {
            // In a forked child, no thread reads the references, and the lock may be held by a thread that exists only in the
            // parent.
            return;
        }
        self.instances.lock().ignore_poison().drain().for_each(|(_, instance)| instance.clear_references());
    }
}

/// Reads the references of all instances, and stores their values.
fn refresh_all(instances: &Mutex<Instances>) {
    // Copied, so that the list is not locked while references are read, which may take time.
    let instances: Vec<_> = instances.lock().ignore_poison().values().cloned().collect();
    instances.iter().for_each(|instance| instance.refresh());
}
