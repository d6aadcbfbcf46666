//! Publishing a counter set: making its file, adding and ending instances.

mod history;
mod inner;
mod plan;

use std::fs::{File, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::folder::{FILE, Folder, unready_name};
use crate::layout::{HEADER_BYTES, MAGIC, MAX_NAME_BYTES, VERSION, header, slot, state};
use crate::map::{Mapping, boot_nanoseconds, check_limit, lock_to_write, reserve};
use crate::problem::WriteError;
use crate::slots::{Slot, SlotOwner};
use crate::{CounterSetInfo, InstanceType};
pub(crate) use inner::Inner;
use inner::Published;
use plan::Plan;

/// Who may read a published set, besides root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Readers {
    /// Its owner: mode 0600.
    #[default]
    Owner,
    /// Its owner and the group of this id: mode 0640.
    Group(u32),
}

/// How a set is published.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder; else the first of [`runtime_folders`](crate::folder::runtime_folders) that will do.
    pub folder: Option<PathBuf>,
    /// Who may read it.
    pub readers: Readers,
    /// Most instances; 0: 65,536, or what a file of 1 GiB holds.
    pub capacity: u32,
    /// Whether requests are answered over the socket beside the file.
    pub has_control: bool,
}

/// A counter set that this process publishes. Clones are the same set; with the last it ends, as by
/// [`stop`](Self::stop).
#[derive(Clone, Debug)]
pub struct SetFile(Arc<Handle>);

#[derive(Debug)]
struct Handle(Arc<Inner>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl SetFile {
    /// Makes the file of a set. Readers see it when it [goes live](Self::go_live).
    ///
    /// # Errors
    ///
    /// No folder, no permission, no room, or a description that breaks a rule.
    pub fn create(description: CounterSetInfo, options: &Options) -> Result<Self, WriteError> {
        let plan = Plan::new(description, options.capacity)?;
        let folder = Folder::to_publish(options.folder.as_deref())?;
        folder.remove_unready();
        let unique = random_number();
        let process = std::process::id();
        let name = format!("{:032x}-{process}-{unique:016x}{FILE}", plan.description.guid.to_u128());
        let path = folder.by_descriptor().join(unready_name(&name));
        let shown = folder.path().join(&name);
        let io = |work| move |error| WriteError::io(work, &shown, error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&path)
            .map_err(io.clone()("create the file"))?;
        let unready = RemoveOnError { path };
        let make = |file: &File| {
            lock_to_write(file).map_err(io.clone()("lock the file"))?;
            // From here on a file without the lock is one that was left behind.
            write_version(file, plan.slots_at).map_err(io.clone()("get room for the file"))?;
            if let Readers::Group(group) = options.readers {
                fchown(file, None, Some(group)).map_err(io.clone()("give the file to the group"))?;
                let mode = Permissions::from_mode(0o640);
                file.set_permissions(mode).map_err(io.clone()("let the group read the file"))?;
            }
            reserve(file, 0, plan.slots_at).map_err(io.clone()("get room for the file"))?;
            Mapping::to_write(file, plan.length(), plan.slots_at).map_err(io.clone()("map the file"))
        };
        let mapping = make(&file)?;
        unready.keep();
        let published = Published { file, folder, name, is_ready: AtomicBool::new(false) };
        Self::fill(plan, mapping, Some(published), unique, options.has_control)
    }

    /// A set that nobody sees: its counters work, in memory of this process.
    ///
    /// # Errors
    ///
    /// A description that breaks a rule, or no memory.
    pub fn unpublished(description: CounterSetInfo, capacity: u32) -> Result<Self, WriteError> {
        let plan = Plan::new(description, capacity)?;
        let no_memory = |error| WriteError::io("get memory", "counters that nobody sees".as_ref(), error);
        let mapping = Mapping::of_nobody(plan.length()).map_err(no_memory)?;
        Self::fill(plan, mapping, None, random_number(), false)
    }

    fn fill(
        plan: Plan,
        mapping: Mapping,
        published: Option<Published>,
        unique: u64,
        has_control: bool,
    ) -> Result<Self, WriteError> {
        let Plan { description, encoded, slots_at, slot_bytes, capacity, cells } = plan;
        let words = mapping.words();
        for (word, bytes) in words[HEADER_BYTES / 8..].iter().zip(encoded.chunks(8)) {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(value), Ordering::Relaxed);
        }
        for (place, value) in [
            (header::MAGIC, MAGIC),
            (header::VERSION, VERSION),
            (header::DESCRIPTION_BYTES, encoded.len() as u64),
            (header::SLOTS_AT, slots_at as u64),
            (header::SLOT_BYTES, slot_bytes as u64),
            (header::CAPACITY, u64::from(capacity)),
            (header::PROCESS, u64::from(std::process::id())),
            (header::STARTED, boot_nanoseconds()),
            (header::UNIQUE, unique),
            (header::HAS_CONTROL, u64::from(has_control)),
            (header::STATE, state::STARTING),
        ] {
            words[place].store(value, Ordering::Relaxed);
        }
        let has_history = description.instance_type == InstanceType::SingleAggregateHistory;
        let inner = Inner {
            description: Arc::new(description),
            mapping: Arc::new(mapping),
            published,
            slots_at,
            slot_bytes,
            capacity,
            unique,
            process: std::process::id(),
            cells,
            places: Mutex::default(),
        };
        if has_history {
            let mut places = inner.places();
            let slot = inner.take_slots(&mut places, 1)?;
            for place in slot {
                inner.slot(place)[slot::LIFE].store(slot::IS_HISTORY, Ordering::Release);
            }
            drop(places);
        }
        Ok(Self(Arc::new(Handle(Arc::new(inner)))))
    }

    /// Lets readers see the set.
    ///
    /// # Errors
    ///
    /// The file cannot get its name.
    pub fn go_live(&self) -> Result<(), WriteError> {
        let inner = &self.0.0;
        inner.mapping.words()[header::STATE].store(state::LIVE, Ordering::Release);
        let Some(published) = &inner.published else { return Ok(()) };
        if published.is_ready.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let folder = published.folder.by_descriptor();
        let unready = folder.join(published.unready());
        std::fs::rename(unready, folder.join(&published.name)).map_err(|error| {
            published.is_ready.store(false, Ordering::Release);
            WriteError::io("name the file", &published.path(), error)
        })
    }

    /// The set's description.
    pub fn description(&self) -> &Arc<CounterSetInfo> {
        &self.0.0.description
    }

    /// The file; nothing for a set that nobody sees.
    pub fn path(&self) -> Option<PathBuf> {
        self.0.0.published.as_ref().map(Published::path)
    }

    /// Where the socket beside the file is to be.
    pub fn socket_path(&self) -> Option<PathBuf> {
        let published = self.0.0.published.as_ref()?;
        Some(published.folder.socket_path(&published.name))
    }

    /// The random number of this set.
    pub fn unique(&self) -> u64 {
        self.0.0.unique
    }

    /// Adds an instance. Its cells are 0.
    ///
    /// # Errors
    ///
    /// One of this name and id is there, the name does not fit, the set is full or was stopped, the folder has no room.
    pub fn create_instance(&self, name: &str, id: u32) -> Result<Slot, WriteError> {
        let inner = &self.0.0;
        check_name(name, inner.description.instance_type)?;
        self.check_process()?;
        let mut places = inner.places();
        if places.is_stopped {
            return Err(WriteError::Stopped);
        }
        if inner.description.instance_type == InstanceType::Single && !places.live.is_empty() {
            return Err(WriteError::SecondInstance);
        }
        let key = (Box::from(name), id);
        if places.live.contains(&key) {
            return Err(WriteError::InstanceExists(name.to_owned(), id));
        }
        let rest = name.len().saturating_sub(inner.first_name_bytes());
        let count = 1 + rest.div_ceil(inner.slot_bytes - slot::NAME * 8);
        let taken = inner.take_slots(&mut places, count)?;
        places.last_number += 1;
        let number = places.last_number;
        places.live.insert(key);
        inner.write_instance(&taken, name, id, number);
        drop(places);
        inner.count_change();
        let set = Arc::clone(inner);
        let owner = SlotOwner { set, places: taken, number, name: name.into(), id, has_ended: false.into() };
        Ok(Slot::new(owner))
    }

    /// Whether this process made the set; an error in a process that was forked from it.
    ///
    /// # Errors
    ///
    /// [`WriteError::ForkedChild`].
    pub fn check_process(&self) -> Result<(), WriteError> {
        if self.0.0.is_of_this_process() { Ok(()) } else { Err(WriteError::ForkedChild) }
    }

    /// Ends the set: its file is removed. What was made of it can still be used, and nobody sees it.
    pub fn stop(&self) {
        self.0.0.stop();
    }
}

/// Writes how the header begins. The file is to have so many bytes.
fn write_version(file: &File, length: usize) -> io::Result<()> {
    check_limit(length)?;
    let words = [MAGIC, VERSION].map(u64::to_le_bytes);
    file.write_all_at(words.as_flattened(), 0)
}

/// Removes a file that did not get ready; empty where it is kept.
struct RemoveOnError {
    path: PathBuf,
}

impl RemoveOnError {
    fn keep(mut self) {
        self.path = PathBuf::new();
    }
}

impl Drop for RemoveOnError {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn check_name(name: &str, instances: InstanceType) -> Result<(), WriteError> {
    let is_too_long = name.len() > MAX_NAME_BYTES || name.encode_utf16().count() > CounterSetInfo::MAX_NAME;
    let is_missing = name.is_empty() && instances != InstanceType::Single;
    if is_too_long || is_missing || name.contains('\0') {
        return Err(WriteError::Name(name.to_owned()));
    }
    Ok(())
}

/// A number that no other set has.
fn random_number() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let seed = (std::process::id(), boot_nanoseconds(), COUNT.fetch_add(1, Ordering::Relaxed));
    RandomState::new().hash_one(seed)
}
