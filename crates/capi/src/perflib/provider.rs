//! What providers do: declare sets, make instances, change values.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tachograph_perflib::ErrorCode;
use tachograph_publish::PublishError;
use tachograph_publish::dynamic::{ControlCallback, Options, Provider};
use tachograph_shm::Guid;

use super::Refusal;
use super::instance_block::{InstanceBlock, ids_of};
use super::template::description;

impl From<PublishError> for Refusal {
    fn from(error: PublishError) -> Self {
        Self::new(ErrorCode(error.code()), error.to_string())
    }
}

/// A started provider.
#[derive(Debug)]
pub(super) struct OpenProvider {
    provider: Provider,
    sets: Mutex<HashMap<Guid, SetOf>>,
    /// The blocks of live instances by their addresses: what a program passes is looked up, and never followed.
    blocks: RwLock<BTreeMap<usize, Arc<InstanceBlock>>>,
}

/// What blocks of a declared set are made of.
#[derive(Debug)]
struct SetOf {
    ids: Arc<[u32]>,
    /// The counters whose type has 64 bits.
    wide: Arc<[u32]>,
}

/// How a value is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    Set(u64),
    Add(u64),
    Subtract(u64),
}

impl OpenProvider {
    pub(super) fn start(guid: Guid, control: Option<ControlCallback>) -> Result<Self, Refusal> {
        let provider = Provider::start(guid, Options { control, ..Options::default() })?;
        Ok(Self { provider, sets: Mutex::default(), blocks: RwLock::default() })
    }

    fn sets(&self) -> MutexGuard<'_, HashMap<Guid, SetOf>> {
        // Each change is one call of the map's.
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares a set by its template.
    pub(super) fn declare(&self, template: &[u8]) -> Result<(), Refusal> {
        let description = description(template)?;
        let wide = description.counters.iter().filter(|counter| counter.counter_type.0 & 0x300 == 0x100);
        let set = SetOf { ids: ids_of(&description), wide: wide.map(|counter| counter.id).collect() };
        let guid = description.guid;
        let mut sets = self.sets();
        self.provider.register(description)?;
        sets.insert(guid, set);
        Ok(())
    }

    /// Makes an instance, and gives the address of its block.
    pub(super) fn create(&self, set: Guid, name: String, id: u32) -> Result<*const AtomicU64, Refusal> {
        let ids = self.sets().get(&set).map(|set| Arc::clone(&set.ids)).ok_or_else(|| undeclared(set))?;
        let instance = self.provider.create_instance(set, &name, id)?;
        let block = InstanceBlock::new(set, name, id, ids, instance);
        let address = block.address();
        self.blocks.write().unwrap_or_else(PoisonError::into_inner).insert(address.addr(), Arc::new(block));
        Ok(address)
    }

    /// The address of the block of an instance.
    pub(super) fn find(&self, set: Guid, name: &str, id: u32) -> Result<*const AtomicU64, Refusal> {
        if !self.sets().contains_key(&set) {
            return Err(undeclared(set));
        }
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let found = blocks.values().find(|block| block.set == set && block.id == id && block.name == name);
        found.map(|block| block.address()).ok_or_else(|| {
            Refusal::new(ErrorCode::NOT_FOUND, format!("The set has no instance '{name}' with id {id}."))
        })
    }

    /// The instance of a block.
    fn block(&self, block: *const c_void) -> Result<Arc<InstanceBlock>, Refusal> {
        if block.is_null() {
            return Err(Refusal::null("Instance"));
        }
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        blocks.get(&block.addr()).cloned().ok_or_else(unknown_block)
    }

    /// Takes an instance out of its set; its block is given back.
    pub(super) fn delete(&self, block: *const c_void) -> Result<(), Refusal> {
        let found = self.block(block)?;
        let blocks = || self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        // First the address: who passes it a second time must not end an instance that has got the name since.
        if blocks().remove(&block.addr()).is_none() {
            return Err(unknown_block());
        }
        self.provider.delete_instance(found.set, &found.name, found.id).inspect_err(|_| {
            blocks().insert(block.addr(), Arc::clone(&found));
        })?;
        Ok(())
    }

    /// Changes a value.
    pub(super) fn update(
        &self,
        block: *const c_void,
        counter_id: u32,
        update: Update,
    ) -> Result<(), Refusal> {
        let block = self.block(block)?;
        match update {
            Update::Set(value) => {
                block.instance.set(counter_id, value)?;
                block.show(counter_id, value);
            }
            Update::Add(amount) => {
                block.instance.add(counter_id, amount)?;
                block.show_more(counter_id, amount);
            }
            Update::Subtract(amount) => {
                block.instance.subtract(counter_id, amount)?;
                block.show_more(counter_id, amount.wrapping_neg());
            }
        }
        Ok(())
    }

    /// Says where a counter has its value. `read` reads a value of 64 bits, or with `false` one of 32.
    pub(super) fn refer(
        &self,
        block: *const c_void,
        counter_id: u32,
        address: usize,
        read: impl Fn(bool) -> u64 + Send + Sync + 'static,
    ) -> Result<(), Refusal> {
        let block = self.block(block)?;
        let is_wide = self.sets().get(&block.set).is_some_and(|set| set.wide.contains(&counter_id));
        block.instance.refer(counter_id, Box::new(move || read(is_wide)))?;
        block.show(counter_id, address as u64);
        Ok(())
    }

    /// Ends the provider.
    pub(super) fn stop(&self) {
        self.provider.stop();
    }
}

fn unknown_block() -> Refusal {
    Refusal::argument("The instance is none of this provider: pass what PerfCreateInstance returned.")
}

fn undeclared(set: Guid) -> Refusal {
    Refusal::new(
        ErrorCode::NOT_FOUND,
        format!("The set {set} is not declared: PerfSetCounterSetInfo does that first."),
    )
}
