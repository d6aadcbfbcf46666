//! Functions for providers: declare sets, create instances, change values.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use tachograph_counters::IgnorePoison;
use tachograph_perflib::ErrorCode;
use tachograph_publish::PublishError;
use tachograph_publish::dynamic::{ControlCallback, Options, Provider};
use tachograph_shm::Guid;

use super::ApiError;
use super::instance_block::{InstanceBlock, counter_ids};
use super::template;

impl From<PublishError> for ApiError {
    fn from(error: PublishError) -> Self {
        Self::new(ErrorCode(error.code()), error.to_string())
    }
}

/// The object of a provider handle.
#[derive(Debug)]
pub(super) struct OpenProvider {
    provider: Provider,
    /// The declared sets.
    sets: Mutex<HashMap<Guid, SetLayout>>,
    /// The blocks of live instances, keyed by address. An address that the program passes is looked up here and never
    /// dereferenced.
    blocks: RwLock<BTreeMap<usize, Arc<InstanceBlock>>>,
}

/// The counters of a declared set.
#[derive(Debug)]
struct SetLayout {
    /// The ids of the counters, in the order of the template.
    ids: Arc<[u32]>,
    /// The ids of the counters whose values have 64 bits.
    wide_ids: Arc<[u32]>,
}

/// A change of a counter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    Set(u64),
    Add(u64),
    Subtract(u64),
}

impl OpenProvider {
    pub(super) fn start(guid: Guid, control: Option<ControlCallback>) -> Result<Self, ApiError> {
        let provider = Provider::start(guid, Options { control, ..Options::default() })?;
        Ok(Self { provider, sets: Mutex::default(), blocks: RwLock::default() })
    }

    fn sets(&self) -> MutexGuard<'_, HashMap<Guid, SetLayout>> {
        // A panic cannot leave the map inconsistent, because each change is a single call to it.
        self.sets.lock().ignore_poison()
    }

    pub(super) fn declare(&self, template: &[u8]) -> Result<(), ApiError> {
        let description = template::decode(template)?;
        let wide_ids = description.counters.iter().filter(|counter| counter.counter_type.0 & 0x300 == 0x100);
        let set = SetLayout {
            ids: counter_ids(&description),
            wide_ids: wide_ids.map(|counter| counter.id).collect(),
        };
        let guid = description.guid;
        let mut sets = self.sets();
        self.provider.register(description)?;
        sets.insert(guid, set);
        Ok(())
    }

    /// Creates an instance, and returns the address of its block.
    pub(super) fn create(&self, set: Guid, name: String, id: u32) -> Result<*const AtomicU64, ApiError> {
        let ids = self.sets().get(&set).map(|set| Arc::clone(&set.ids)).ok_or_else(|| undeclared(set))?;
        let instance = self.provider.create_instance(set, &name, id)?;
        let block = InstanceBlock::new(set, name, id, ids, instance);
        let address = block.address();
        self.blocks.write().ignore_poison().insert(address.addr(), Arc::new(block));
        Ok(address)
    }

    /// The address of the block of an instance.
    pub(super) fn find(&self, set: Guid, name: &str, id: u32) -> Result<*const AtomicU64, ApiError> {
        if !self.sets().contains_key(&set) {
            return Err(undeclared(set));
        }
        let blocks = self.blocks.read().ignore_poison();
        let found = blocks.values().find(|block| block.set == set && block.id == id && block.name == name);
        found.map(|block| block.address()).ok_or_else(|| {
            ApiError::new(ErrorCode::NOT_FOUND, format!("The set has no instance '{name}' with id {id}."))
        })
    }

    /// Looks up a block by its address.
    fn block(&self, block: *const c_void) -> Result<Arc<InstanceBlock>, ApiError> {
        if block.is_null() {
            return Err(ApiError::null("Instance"));
        }
        let blocks = self.blocks.read().ignore_poison();
        blocks.get(&block.addr()).cloned().ok_or_else(unknown_block)
    }

    /// Removes an instance from its set, and frees its block.
    pub(super) fn delete(&self, block: *const c_void) -> Result<(), ApiError> {
        let found = self.block(block)?;
        let blocks = || self.blocks.write().ignore_poison();
        // The address is removed first, so that a second call with it cannot delete a newer instance with the same name.
        if blocks().remove(&block.addr()).is_none() {
            return Err(unknown_block());
        }
        self.provider.delete_instance(found.set, &found.name, found.id).inspect_err(|_| {
            blocks().insert(block.addr(), Arc::clone(&found));
        })?;
        Ok(())
    }

    pub(super) fn update(
        &self,
        block: *const c_void,
        counter_id: u32,
        update: Update,
    ) -> Result<(), ApiError> {
        let block = self.block(block)?;
        match update {
            Update::Set(value) => {
                block.instance.set(counter_id, value)?;
                block.set(counter_id, value);
            }
            Update::Add(amount) => {
                block.instance.add(counter_id, amount)?;
                block.add(counter_id, amount);
            }
            Update::Subtract(amount) => {
                block.instance.subtract(counter_id, amount)?;
                block.add(counter_id, amount.wrapping_neg());
            }
        }
        Ok(())
    }

    /// Sets the function that reads a by-reference counter: `read(true)` reads a value of 64 bits, `read(false)` one of
    /// 32 bits. `address` is the address of the value.
    pub(super) fn set_reference(
        &self,
        block: *const c_void,
        counter_id: u32,
        address: usize,
        read: impl Fn(bool) -> u64 + Send + Sync + 'static,
    ) -> Result<(), ApiError> {
        let block = self.block(block)?;
        let is_wide = self.sets().get(&block.set).is_some_and(|set| set.wide_ids.contains(&counter_id));
        block.instance.set_reference(counter_id, Box::new(move || read(is_wide)))?;
        block.set(counter_id, address as u64);
        Ok(())
    }

    pub(super) fn stop(&self) {
        self.provider.stop();
    }
}

fn unknown_block() -> ApiError {
    ApiError::argument(
        "The instance does not belong to this provider: pass the result of PerfCreateInstance.",
    )
}

fn undeclared(set: Guid) -> ApiError {
    ApiError::new(
        ErrorCode::NOT_FOUND,
        format!("The set {set} is not declared: call PerfSetCounterSetInfo first."),
    )
}
