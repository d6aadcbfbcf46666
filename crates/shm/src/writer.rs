//! Publishing a counter set: making its file, adding and ending instances.

use std::fs::{File, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cell::{Pair, ratio_of, set_ratio};
use crate::folder::{FILE, Folder, UNREADY, socket_name};
use crate::layout::{
    HEADER_BYTES, LINE, LINE_BYTES, MAGIC, MAX_FILE, MAX_NAME_BYTES, PAGE, VERSION, header, plain, slot,
    state,
};
use crate::map::{Mapping, boot_nanoseconds, reserve};
use crate::problem::{Problem, WriteError};
use crate::slots::{Places, Slot, SlotOwner};
use crate::{CellKind, CounterDescription, Description, InstanceKind, encoding};

/// How much a file grows at least, so that not every instance asks the kernel for room.
const GROWTH: usize = 16 * PAGE;

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

#[derive(Debug)]
pub(crate) struct Inner {
    description: Arc<Description>,
    pub(crate) mapping: Arc<Mapping>,
    /// Nothing where nobody sees the set.
    published: Option<Published>,
    slots_at: usize,
    slot_bytes: usize,
    capacity: u32,
    unique: u64,
    /// The process that made the set. A forked child has the same memory, but only a copy of what is known of its slots:
    /// it can update cells, but neither add nor end instances.
    process: u32,
    /// By counter: its first line in a slot, and how many lines it has.
    pub(crate) cells: Vec<(u32, u32)>,
    places: Mutex<Places>,
}

/// The file of a set. Its lock is held as long as it is open.
#[derive(Debug)]
struct Published {
    file: File,
    folder: Folder,
    name: String,
    is_ready: AtomicBool,
}

impl SetFile {
    /// Makes the file of a set. Readers see it when it [goes live](Self::go_live).
    ///
    /// # Errors
    ///
    /// No folder, no permission, no room, or a description that breaks a rule.
    pub fn create(description: Description, options: &Options) -> Result<Self, WriteError> {
        let plan = Plan::new(description, options.capacity)?;
        let folder = Folder::to_publish(options.folder.as_deref())?;
        folder.remove_unready();
        let unique = random_number();
        let process = std::process::id();
        let name = format!("{:032x}-{process}-{unique:016x}{FILE}", plan.description.set.to_u128());
        let unready = format!(".{name}{UNREADY}");
        let path = folder.by_descriptor().join(&unready);
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
            file.try_lock().map_err(|error| error.into()).map_err(io.clone()("lock the file"))?;
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
    pub fn unpublished(description: Description, capacity: u32) -> Result<Self, WriteError> {
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
        let has_history = description.instances == InstanceKind::SingleAggregateHistory;
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
    pub fn description(&self) -> &Arc<Description> {
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
        check_name(name, inner.description.instances)?;
        self.check_process()?;
        let mut places = inner.places();
        if places.is_stopped {
            return Err(WriteError::Stopped);
        }
        if inner.description.instances == InstanceKind::Single && !places.live.is_empty() {
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

impl Inner {
    /// To be asked before the lock of the places: a thread that a forked child does not have may hold that.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The byte at which a slot begins.
    pub(crate) fn slot_at(&self, place: u32) -> usize {
        self.slots_at + place as usize * self.slot_bytes
    }

    fn slot(&self, place: u32) -> &[AtomicU64] {
        &self.mapping.words()[self.slot_at(place) / 8..][..self.slot_bytes / 8]
    }

    /// Bytes of a name that stand in the instance's own slot.
    fn first_name_bytes(&self) -> usize {
        (LINE - slot::NAME) * 8
    }

    /// Takes slots, and gets room for those that are new.
    fn take_slots(&self, places: &mut Places, count: usize) -> Result<Vec<u32>, WriteError> {
        let used = places.used as usize + places.new_ones_for(count);
        if used > self.capacity as usize {
            return Err(WriteError::Full(self.capacity));
        }
        let needed = self.slots_at + used * self.slot_bytes;
        let backed = self.mapping.backed();
        if let Some(published) = &self.published
            && needed > backed
        {
            let wanted = needed.max(backed + GROWTH).next_multiple_of(PAGE).min(self.mapping.length());
            let no_room = |error| WriteError::io("get room in the file", &published.path(), error);
            reserve(&published.file, backed, wanted).map_err(no_room)?;
            self.mapping.set_backed(wanted);
        }
        let taken = places.take(count);
        self.mapping.words()[header::SLOTS].store(u64::from(places.used), Ordering::Release);
        Ok(taken)
    }

    /// Fills slots that nobody looks at; the instance's life comes last.
    fn write_instance(&self, places: &[u32], name: &str, id: u32, number: u64) {
        // A reader that still sees something of who had the slot before must see that its life is over.
        fence(Ordering::Release);
        let (mut bytes, mut first) = (name.as_bytes(), true);
        for (index, &place) in places.iter().enumerate() {
            let words = self.slot(place);
            let room = if first { &words[slot::NAME..LINE] } else { &words[slot::NAME..] };
            let (here, rest) = bytes.split_at(bytes.len().min(room.len() * 8));
            for (word, chunk) in room.iter().zip(here.chunks(8)) {
                let mut value = [0; 8];
                value[..chunk.len()].copy_from_slice(chunk);
                word.store(u64::from_le_bytes(value), Ordering::Relaxed);
            }
            let next = places.get(index + 1).map_or(0, |next| u64::from(*next) + 1);
            words[slot::NEXT].store(next, Ordering::Relaxed);
            if first {
                let id_and_length = u64::from(id) | (name.len() as u64) << 32;
                words[slot::ID_AND_LENGTH].store(id_and_length, Ordering::Relaxed);
                words[slot::BORN].store(boot_nanoseconds(), Ordering::Relaxed);
                words[LINE..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
            } else {
                words[slot::LIFE].store(slot::IS_NAME, Ordering::Relaxed);
            }
            (bytes, first) = (rest, false);
        }
        self.slot(places[0])[slot::LIFE].store(number, Ordering::Release);
    }

    fn count_change(&self) {
        self.mapping.words()[header::CHANGES].fetch_add(1, Ordering::Release);
    }

    /// Ends an instance, once.
    pub(crate) fn end(&self, owner: &SlotOwner) {
        if !self.is_of_this_process() {
            return;
        }
        let mut places = self.places();
        if owner.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        places.live.remove(&(owner.name.clone(), owner.id));
        let Some(&place) = owner.places.first() else { return };
        let words = self.mapping.words();
        if self.description.instances == InstanceKind::SingleAggregateHistory {
            // Odd: who reads now would count the instance twice, or not at all.
            words[header::FOLDS].fetch_add(1, Ordering::AcqRel);
            self.slot(place)[slot::LIFE].store(0, Ordering::Release);
            self.fold(place);
            words[header::FOLDS].fetch_add(1, Ordering::AcqRel);
        } else {
            self.slot(place)[slot::LIFE].store(0, Ordering::Release);
        }
        drop(places);
        self.count_change();
    }

    /// Takes the values of an instance over into the history, which is in the first slot.
    fn fold(&self, place: u32) {
        let (history, ended) = (self.slot(0), self.slot(place));
        let folded = history[slot::ID_AND_LENGTH].fetch_add(1, Ordering::Relaxed);
        for (counter, &(first, count)) in self.description.counters.iter().zip(&self.cells) {
            let lines = |slot: &'_ [AtomicU64], line: u32| {
                let start = (first + line) as usize * LINE;
                start..(start + LINE).min(slot.len())
            };
            for line in 0..count {
                let (from, to) = (&ended[lines(ended, line)], &history[lines(history, line)]);
                let is_first = folded == 0;
                match counter.cell {
                    CellKind::None => {}
                    CellKind::Pair | CellKind::Timer => {
                        if let Some(sum) = Pair::<16, 48>::new(from).read() {
                            Pair::<16, 48>::new(to).add_many(sum.sum, sum.count);
                        }
                    }
                    CellKind::Ratio => {
                        let (value, base) = ratio_of(from[0].load(Ordering::Relaxed));
                        let (value_before, base_before) = ratio_of(to[0].load(Ordering::Relaxed));
                        let sum = |a: u64, b: u64| u32::try_from(a + b).unwrap_or(u32::MAX);
                        set_ratio(&to[0], sum(value, value_before), sum(base, base_before));
                    }
                    CellKind::Plain => {
                        let has_value =
                            |cell: &[AtomicU64]| cell[plain::HAS_VALUE].load(Ordering::Relaxed) != 0;
                        let by_reference = counter.attributes & CounterDescription::BY_REFERENCE != 0;
                        if by_reference && !has_value(from) {
                            continue;
                        }
                        let is_first = is_first || by_reference && !has_value(to);
                        let value = from[plain::VALUE].load(Ordering::Relaxed);
                        let before = to[plain::VALUE].load(Ordering::Relaxed);
                        let (least, greatest) =
                            ((value as i64).min(before as i64), (value as i64).max(before as i64));
                        let after = match counter.aggregate {
                            // A striped value is all of its lines together: there is no least or largest of them.
                            3 | 4 if count == 1 && is_first => value,
                            3 if count == 1 => least as u64,
                            4 if count == 1 => greatest as u64,
                            _ => value.wrapping_add(before),
                        };
                        to[plain::VALUE].store(after, Ordering::Relaxed);
                        if has_value(from) {
                            to[plain::HAS_VALUE].store(1, Ordering::Relaxed);
                        }
                    }
                }
            }
        }
    }

    /// Takes back the slots of who does not need them any more.
    pub(crate) fn give_back(&self, owner: &SlotOwner) {
        if !self.is_of_this_process() {
            return;
        }
        self.end(owner);
        self.places().give_back(&owner.places);
    }

    fn stop(&self) {
        if !self.is_of_this_process() {
            return;
        }
        let mut places = self.places();
        let is_first = !std::mem::replace(&mut places.is_stopped, true);
        drop(places);
        let Some(published) = &self.published else { return };
        if !is_first {
            return;
        }
        self.mapping.words()[header::STATE].store(state::STOPPED, Ordering::Release);
        let is_ready = published.is_ready.load(Ordering::Acquire);
        let name = if is_ready { published.name.clone() } else { published.unready() };
        if published.folder.is_still(&name, &published.file) {
            let folder = published.folder.by_descriptor();
            let _ = std::fs::remove_file(folder.join(&name));
            let _ = std::fs::remove_file(folder.join(socket_name(&published.name)));
        }
    }
}

impl Published {
    fn unready(&self) -> String {
        format!(".{}{UNREADY}", self.name)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

/// What a file will be.
struct Plan {
    description: Description,
    encoded: Vec<u8>,
    slots_at: usize,
    slot_bytes: usize,
    capacity: u32,
    cells: Vec<(u32, u32)>,
}

impl Plan {
    fn new(description: Description, capacity: u32) -> Result<Self, WriteError> {
        encoding::check(&description).map_err(WriteError::Description)?;
        let encoded = encoding::encode(&description);
        let slots_at = (HEADER_BYTES + encoded.len()).next_multiple_of(PAGE);
        let slot_bytes = description.slot_lines() * LINE_BYTES;
        let most = MAX_FILE.saturating_sub(slots_at) / slot_bytes;
        if most == 0 {
            let found = format!("{slot_bytes} bytes an instance");
            let problem = Problem::new(0, found, "a set that 1 GiB holds at least one instance of");
            return Err(WriteError::Description(problem));
        }
        let wanted = if capacity == 0 { 65_536 } else { capacity as usize };
        // The history has a slot of its own.
        let capacity =
            (wanted + usize::from(description.instances == InstanceKind::SingleAggregateHistory)).min(most);
        let mut first = 1;
        let place = |lines: usize| {
            let cell = (first, lines as u32);
            first += lines as u32;
            cell
        };
        let cells = description.counters.iter().map(|counter| counter.lines()).map(place).collect();
        Ok(Self { description, encoded, slots_at, slot_bytes, capacity: capacity as u32, cells })
    }

    /// Most bytes of the file.
    fn length(&self) -> usize {
        self.slots_at + self.capacity as usize * self.slot_bytes
    }
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

fn check_name(name: &str, instances: InstanceKind) -> Result<(), WriteError> {
    let is_too_long = name.len() > MAX_NAME_BYTES || name.encode_utf16().count() > Description::MAX_NAME;
    let is_missing = name.is_empty() && instances != InstanceKind::Single;
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
