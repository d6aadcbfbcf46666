//! Published sets and a consumer for tests.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tachograph_counters::path::PathPattern;
use tachograph_counters::{CounterType as T, RawValue};
use tachograph_perflib::published::Published;
use tachograph_perflib::{Clock, Numbering, Query, Registry};
use tachograph_shm::{
    Attributes, CellKind, CounterDescription, Description, Guid, InstanceKind, Options, SetFile, Slot,
};

pub(crate) const SHOP: Guid = Guid::from_u128(0x5409);
pub(crate) const REQUESTS: u32 = 1;
pub(crate) const ORDERS: u32 = 2;

/// A set with a rate and a gauge.
pub(crate) fn shop(instances: InstanceKind) -> Description {
    let mut shop = Description::new("Shop", SHOP, instances);
    shop.help = "What the shop did.".into();
    shop.counters.push(CounterDescription::new(REQUESTS, "Requests/sec", T::BULK_COUNT.0));
    shop.counters.push(CounterDescription::new(ORDERS, "Open Orders", T::LARGE_RAWCOUNT.0));
    shop
}

/// Adds a timer with its base.
pub(crate) fn with_timer(mut description: Description) -> Description {
    let mut timer = CounterDescription::new(7, "Avg. sec/Request", T::AVERAGE_TIMER.0);
    timer.cell = CellKind::Timer;
    timer.base_id = Some(8);
    let mut base = CounterDescription::new(8, "", T::AVERAGE_BASE.0);
    base.cell = CellKind::None;
    base.attributes = Attributes::NO_DISPLAYABLE;
    description.counters.extend([timer, base]);
    description
}

/// Publishes a set in a folder.
#[track_caller]
pub(crate) fn publish(folder: &Path, description: Description) -> SetFile {
    let options = Options { folder: Some(folder.to_owned()), ..Options::default() };
    let set = SetFile::create(description, &options).expect("create set");
    set.go_live().expect("rename file");
    set
}

/// Publishes a single-instance set with its instance.
#[track_caller]
pub(crate) fn publish_single(folder: &Path, description: Description) -> (SetFile, Slot) {
    let set = publish(folder, description);
    let slot = set.create_instance("", 0).expect("the instance");
    (set, slot)
}

/// Sets the plain counter with this index in the description.
pub(crate) fn set(slot: &Slot, index: usize, value: u64) {
    slot.line(index).expect("the counter")[0].store(value, Ordering::Relaxed);
}

/// A registry with only the sets of a folder.
pub(crate) fn registry(published: &Published, previous: Option<&Registry>) -> Registry {
    let clock = Clock::of_this_machine();
    let mut registry = Registry::new("HERE", clock);
    published.add_to(&mut registry, previous);
    registry
}

pub(crate) fn published(folder: &Path) -> Published {
    Published::in_folders(vec![folder.to_owned()])
}

/// A consumer of the sets of a folder.
pub(crate) struct Consumer {
    pub(crate) registry: Arc<Registry>,
    pub(crate) query: Query,
    numbering: Vec<Numbering>,
}

impl Consumer {
    #[track_caller]
    pub(crate) fn new(folder: &Path, paths: &[&str]) -> Self {
        Self::with_registry(registry(&published(folder), None), paths)
    }

    #[track_caller]
    pub(crate) fn with_registry(registry: Registry, paths: &[&str]) -> Self {
        Self::sharing(Arc::new(registry), paths)
    }

    /// A consumer that shares a registry with others.
    #[track_caller]
    pub(crate) fn sharing(registry: Arc<Registry>, paths: &[&str]) -> Self {
        let mut query = Query::open(&registry, None).expect("open query");
        for path in paths {
            let path = registry.resolve_path(&PathPattern::parse(path).expect("valid path"));
            assert!(!query.add_path(&path).is_empty(), "{path} selects nothing of {registry:?}");
        }
        let numbering = query.sets().iter().map(|_| Numbering::default()).collect();
        Self { registry, query, numbering }
    }

    /// Collects; returns the instances of the first set with the first number of each column.
    #[track_caller]
    pub(crate) fn collect(&mut self) -> Vec<(String, Vec<i64>)> {
        let raw = self.collect_raw();
        raw.into_iter()
            .map(|(name, values)| (name, values.iter().map(|value| value.first).collect()))
            .collect()
    }

    /// Collects; returns the instances of the first set with their raw values.
    #[track_caller]
    pub(crate) fn collect_raw(&mut self) -> Vec<(String, Vec<RawValue>)> {
        self.query.collect();
        let set = &self.query.sets()[0];
        set.outcome().expect("a collection");
        let rows = set.rows();
        let names = self.numbering[0].assign(rows.instances());
        let named = names.iter().enumerate();
        named.map(|(row, name)| (name.label().to_owned(), rows.values(row).to_vec())).collect()
    }

    /// The identities of the instances of the last collection.
    pub(crate) fn identities(&self) -> Vec<u64> {
        let rows = self.query.sets()[0].rows();
        rows.instances().iter().map(|instance| instance.identity()).collect()
    }

    /// The errors of the last collection.
    pub(crate) fn errors(&self) -> Vec<String> {
        let rows = self.query.sets()[0].rows();
        rows.errors().iter().map(|error| error.reason.to_string()).collect()
    }
}

/// The expected names and first numbers.
pub(crate) fn rows<const N: usize, const M: usize>(rows: [(&str, [i64; N]); M]) -> Vec<(String, Vec<i64>)> {
    rows.into_iter().map(|(name, values)| (name.to_owned(), values.to_vec())).collect()
}

/// The names of published files in a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

/// The environment variable with the task of a child process.
const TASK: &str = "TACHO_TEST_PUBLISH";

/// A child process that publishes until it is killed, and increments `Requests/sec` continuously.
pub(crate) fn child(folder: &Path, task: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "fixtures::a_child_publishes", "--nocapture"])
        .env(TASK, task)
        .env("TACHO_RUNTIME_DIR", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("a child")
}

/// The code of child processes; does nothing in other processes, where the variable is not set.
#[test]
fn a_child_publishes() {
    let Ok(task) = std::env::var(TASK) else { return };
    let folder = std::env::var_os("TACHO_RUNTIME_DIR").expect("set by the parent");
    if task == "exits on request" {
        crate::concurrent_requests::exit_on_request(Path::new(&folder));
    }
    let kind = match task.as_str() {
        "unready" => return create_unfinished_file(Path::new(&folder)),
        "single" => InstanceKind::Single,
        "multiple" => InstanceKind::Multiple,
        other => panic!("{other}"),
    };
    let set = publish(Path::new(&folder), shop(kind));
    let slots: Vec<_> = match kind {
        InstanceKind::Single => vec![set.create_instance("", 0).expect("the instance")],
        _ => ["a", "b"].map(|name| set.create_instance(name, 0).expect("create instance")).into(),
    };
    let lines: Vec<_> = slots.iter().map(|slot| slot.line(0).expect("the counter")).collect();
    while_the_test_runs(|| {
        for line in &lines {
            line[0].fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(std::time::Duration::from_micros(100));
    });
}

/// Creates the file of a set without renaming it.
fn create_unfinished_file(folder: &Path) {
    let options = Options { folder: Some(folder.to_owned()), ..Options::default() };
    let _set = SetFile::create(shop(InstanceKind::Single), &options).expect("create set");
    while_the_test_runs(|| std::thread::sleep(std::time::Duration::from_millis(5)));
}

/// Repeats an action until the parent process exits, which changes the parent process id.
fn while_the_test_runs(mut action: impl FnMut()) {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        action();
    }
}
