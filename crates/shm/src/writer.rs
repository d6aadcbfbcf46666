//! Publishing a counter set: creating its file, adding and ending instances.

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

use crate::folder::{FILE_SUFFIX, Folder, unfinished_name};
use crate::layout::{HEADER_BYTES, MAGIC, MAX_NAME_BYTES, VERSION, header, slot, state};
use crate::map::{Mapping, boot_nanoseconds, check_limit, reserve, take_write_lock};
use crate::problem::WriteError;
use crate::slots::{Slot, SlotOwner};
use crate::{CounterSetInfo, InstanceType};
pub(crate) use inner::Inner;
use inner::Published;
use plan::Plan;

/// Which users, in addition to root, may read a published set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Readers {
    /// The owner of the file: mode 0600.
    #[default]
    Owner,
    /// The owner of the file, and the group with this id: mode 0640.
    Group(u32),
}

/// Options for publishing a set.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder; `None` for the first suitable one of [`runtime_folders`](crate::folder::runtime_folders).
    pub folder: Option<PathBuf>,
    /// The users that may read the set.
    pub readers: Readers,
    /// Maximum number of instances; 0 means 65,536. A file of 1 GiB may hold fewer.
    pub capacity: u32,
    /// Whether the socket of the file accepts requests.
    pub has_control: bool,
}

/// A counter set that this process publishes. Clones refer to the same set; dropping the last clone stops the set, as
/// [`stop`](Self::stop) does.
#[derive(Clone, Debug)]
pub struct SetFile(Arc<Handle>);

/// Stops the set when it is dropped.
#[derive(Debug)]
struct Handle(Arc<Inner>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl SetFile {
    /// Creates the file of a set. Readers see the set after [`go_live`](Self::go_live).
    ///
    /// # Errors
    ///
    /// No suitable folder, no permission, no space, or an invalid description.
    pub fn create(description: CounterSetInfo, options: &Options) -> Result<Self, WriteError> {
        let plan = Plan::new(description, options.capacity)?;
        let folder = Folder::open_for_publishing(options.folder.as_deref())?;
        folder.remove_unfinished();
        let unique = random_number();
        let process = std::process::id();
        let name = format!("{:032x}-{process}-{unique:016x}{FILE_SUFFIX}", plan.description.guid.to_u128());
        let path = folder.descriptor_path().join(unfinished_name(&name));
        let final_path = folder.path().join(&name);
        let io_error = |operation| move |error| WriteError::io(operation, &final_path, error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&path)
            .map_err(io_error.clone()("create the file"))?;
        let unfinished = RemoveOnError { path };
        let prepare = |file: &File| {
            take_write_lock(file).map_err(io_error.clone()("lock the file"))?;
            // The lock comes first: a file that has a version but no lock counts as abandoned.
            write_version(file, plan.slots_at).map_err(io_error.clone()("reserve space for the file"))?;
            if let Readers::Group(group) = options.readers {
                fchown(file, None, Some(group)).map_err(io_error.clone()("change the group of the file"))?;
                let mode = Permissions::from_mode(0o640);
                file.set_permissions(mode).map_err(io_error.clone()("change the mode of the file"))?;
            }
            reserve(file, 0, plan.slots_at).map_err(io_error.clone()("reserve space for the file"))?;
            Mapping::writable(file, plan.length(), plan.slots_at).map_err(io_error.clone()("map the file"))
        };
        let mapping = prepare(&file)?;
        unfinished.disarm();
        let published = Published { file, folder, name, is_ready: AtomicBool::new(false) };
        Self::initialize(plan, mapping, Some(published), unique, options.has_control)
    }

    /// Creates a set in this process's memory. Its counters work, but no reader sees them.
    ///
    /// # Errors
    ///
    /// An invalid description, or out of memory.
    pub fn unpublished(description: CounterSetInfo, capacity: u32) -> Result<Self, WriteError> {
        let plan = Plan::new(description, capacity)?;
        let no_memory = |error| WriteError::io("allocate memory", "unpublished counters".as_ref(), error);
        let mapping = Mapping::anonymous(plan.length()).map_err(no_memory)?;
        Self::initialize(plan, mapping, None, random_number(), false)
    }

    /// Writes the header and the description to the mapping, and allocates the slot of the history.
    fn initialize(
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
        for (index, value) in [
            (header::MAGIC, MAGIC),
            (header::VERSION, VERSION),
            (header::DESCRIPTION_BYTES, encoded.len() as u64),
            (header::SLOTS_OFFSET, slots_at as u64),
            (header::SLOT_BYTES, slot_bytes as u64),
            (header::CAPACITY, u64::from(capacity)),
            (header::PROCESS, u64::from(std::process::id())),
            (header::STARTED, boot_nanoseconds()),
            (header::UNIQUE, unique),
            (header::HAS_CONTROL, u64::from(has_control)),
            (header::STATE, state::STARTING),
        ] {
            words[index].store(value, Ordering::Relaxed);
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
            table: Mutex::default(),
        };
        if has_history {
            let mut table = inner.table();
            for index in inner.allocate_slots(&mut table, 1)? {
                inner.slot(index)[slot::LIFE].store(slot::IS_HISTORY, Ordering::Release);
            }
            drop(table);
        }
        Ok(Self(Arc::new(Handle(Arc::new(inner)))))
    }

    /// Makes the set visible to readers.
    ///
    /// # Errors
    ///
    /// The file cannot be renamed to its final name.
    pub fn go_live(&self) -> Result<(), WriteError> {
        let inner = &self.0.0;
        inner.mapping.words()[header::STATE].store(state::LIVE, Ordering::Release);
        let Some(published) = &inner.published else { return Ok(()) };
        if published.is_ready.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let folder = published.folder.descriptor_path();
        let unfinished = folder.join(published.unfinished_name());
        std::fs::rename(unfinished, folder.join(&published.name)).map_err(|error| {
            published.is_ready.store(false, Ordering::Release);
            WriteError::io("rename the file", &published.path(), error)
        })
    }

    /// The set's description.
    pub fn description(&self) -> &Arc<CounterSetInfo> {
        &self.0.0.description
    }

    /// The path of the file; `None` for an unpublished set.
    pub fn path(&self) -> Option<PathBuf> {
        self.0.0.published.as_ref().map(Published::path)
    }

    /// The path of the file's socket.
    pub fn socket_path(&self) -> Option<PathBuf> {
        let published = self.0.0.published.as_ref()?;
        Some(published.folder.socket_path(&published.name))
    }

    /// The random number that identifies this set's file.
    pub fn unique(&self) -> u64 {
        self.0.0.unique
    }

    /// Adds an instance, whose cells are 0.
    ///
    /// # Errors
    ///
    /// An instance with this name and id exists, the name is invalid, the set is full or was stopped, the disk is full.
    pub fn create_instance(&self, name: &str, id: u32) -> Result<Slot, WriteError> {
        let inner = &self.0.0;
        check_name(name, inner.description.instance_type)?;
        self.check_process()?;
        let mut table = inner.table();
        if table.is_stopped {
            return Err(WriteError::Stopped);
        }
        if inner.description.instance_type == InstanceType::Single && !table.live.is_empty() {
            return Err(WriteError::SecondInstance);
        }
        let key = (Box::from(name), id);
        if table.live.contains(&key) {
            return Err(WriteError::InstanceExists(name.to_owned(), id));
        }
        let rest = name.len().saturating_sub(inner.first_name_bytes());
        let count = 1 + rest.div_ceil(inner.slot_bytes - slot::NAME * 8);
        let indexes = inner.allocate_slots(&mut table, count)?;
        table.last_serial += 1;
        let serial = table.last_serial;
        table.live.insert(key);
        inner.write_instance(&indexes, name, id, serial);
        drop(table);
        inner.count_change();
        let set = Arc::clone(inner);
        let owner = SlotOwner { set, indexes, serial, name: name.into(), id, has_ended: false.into() };
        Ok(Slot::new(owner))
    }

    /// Checks that this process created the set, and is not a forked child of its creator.
    ///
    /// # Errors
    ///
    /// [`WriteError::ForkedChild`].
    pub fn check_process(&self) -> Result<(), WriteError> {
        if self.0.0.is_of_this_process() { Ok(()) } else { Err(WriteError::ForkedChild) }
    }

    /// Stops the set and removes its file. Its instances and cells can still be used, without effect.
    pub fn stop(&self) {
        self.0.0.stop();
    }
}

/// Writes the start of the header, after checking that the file may have `length` bytes.
fn write_version(file: &File, length: usize) -> io::Result<()> {
    check_limit(length)?;
    let words = [MAGIC, VERSION].map(u64::to_le_bytes);
    file.write_all_at(words.as_flattened(), 0)
}

/// Removes an unfinished file when dropped, unless [`disarm`](Self::disarm) was called.
struct RemoveOnError {
    path: PathBuf,
}

impl RemoveOnError {
    fn disarm(mut self) {
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

/// A random number that identifies the file of a set.
fn random_number() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let seed = (std::process::id(), boot_nanoseconds(), COUNT.fetch_add(1, Ordering::Relaxed));
    RandomState::new().hash_one(seed)
}
