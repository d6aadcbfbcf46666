//! All counter sets of this machine in one registry: the sets of the `system`, `cpi` and `mmv` crates, and those that
//! applications publish. The commands and the C interface use this crate.
//!
//! ```no_run
//! use tachograph_machine::Machine;
//!
//! let machine = Machine::of_this_machine()?;
//! let sets_now = machine.refresh();
//! for info in sets_now.counter_sets() {
//!     println!("{}", info.name);
//! }
//! # Ok::<(), tachograph_machine::MachineError>(())
//! ```

#![forbid(unsafe_code)]

mod folder_snapshot;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_perflib::manifest::{self, Folders};
use tachograph_perflib::published::{Notice, Published};
use tachograph_perflib::{Clock, Connector, ErrorCode, IgnorePoison, Provider, Registry};
use tachograph_system::Roots;

use folder_snapshot::{ChangeDetection, FolderSnapshot};

/// The host name of this machine, without leading backslashes.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A counter set of this machine that could not be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError {
    /// The set's name.
    pub set: Arc<str>,
    /// The cause.
    pub code: ErrorCode,
}

impl std::fmt::Display for MachineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "'{}': {}", self.set, self.code)
    }
}

impl std::error::Error for MachineError {}

/// The current counter sets of this machine.
///
/// # Errors
///
/// If two of the machine's own sets (those of the crates `system` and `cpi`) have the same name or GUID.
pub fn registry() -> Result<Registry, MachineError> {
    Ok(Sources::of_this_machine()?.build_registry(None))
}

/// This machine, with a registry that is updated as programs start and end.
///
/// A [`Registry`] never changes: [`refresh`](Self::refresh) returns a new one if the sets have changed. The old and
/// the new registry share the providers of the sets that they have in common. A query keeps the registry that it was
/// opened with; [`Query::adopt`](tachograph_perflib::Query::adopt) replaces it.
#[derive(Debug)]
pub struct Machine {
    state: Mutex<State>,
}

/// The sources of counter sets, and the registry of the last refresh.
#[derive(Debug)]
struct State {
    sources: Sources,
    /// The registry of the last refresh.
    current: Arc<Registry>,
}

impl Machine {
    /// This machine, with its own sets and those that are currently published.
    ///
    /// # Errors
    ///
    /// If two of the machine's own sets (those of the crates `system` and `cpi`) have the same name or GUID.
    pub fn of_this_machine() -> Result<Self, MachineError> {
        let mut sources = Sources::of_this_machine()?;
        let current = Arc::new(sources.build_registry(None));
        Ok(Self { state: Mutex::new(State { sources, current }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// The registry of the last [`refresh`](Self::refresh).
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.state().current)
    }

    /// Installs the connector that finds other machines ([`Registry::of_machine`]), in the registry of the last refresh and
    /// in later ones.
    pub fn set_connector(&self, connector: Arc<dyn Connector>) {
        let mut state = self.state();
        let state = &mut *state;
        state.sources.own.set_connector(connector);
        state.current = Arc::new(state.sources.build_registry(Some(&state.current)));
    }

    /// The registry with the current sets; the same `Arc` as before if they have not changed.
    pub fn refresh(&self) -> Arc<Registry> {
        let mut state = self.state();
        let state = &mut *state;
        let updated = state.sources.build_registry(Some(&state.current));
        if !updated.is_same(&state.current) {
            state.current = Arc::new(updated);
        }
        Arc::clone(&state.current)
    }
}

/// Everything that supplies counter sets on this machine.
#[derive(Debug)]
struct Sources {
    /// The machine's own sets (those of the crates `system` and `cpi`), which never change.
    own: Registry,
    /// The sets that programs publish in shared memory.
    published: Published,
    /// The folders of registered manifests.
    manifests: WatchedFolders,
    /// The folders of MMV files, in which programs that are instrumented for PCP publish values.
    mmv: WatchedFolders,
    /// Problems found when the manifests were last read.
    manifest_notices: Vec<Notice>,
    /// Problems found when the MMV files were last read.
    mmv_notices: Vec<Notice>,
}

/// Folders whose files are re-read when they have changed.
#[derive(Debug)]
struct WatchedFolders {
    folders: Vec<PathBuf>,
    /// How a change of a file is detected.
    detection: ChangeDetection,
    /// The state of the files when they were last read; `None` before that.
    last_snapshot: Option<FolderSnapshot>,
}

impl WatchedFolders {
    fn new(folders: Vec<PathBuf>, detection: ChangeDetection) -> Self {
        Self { folders, detection, last_snapshot: None }
    }

    /// Takes a snapshot. Returns whether files may have changed since the last call; `true` for the first call.
    fn detect_changes(&mut self) -> bool {
        let now = FolderSnapshot::read(&self.folders, self.detection);
        let has_changed = self.last_snapshot.as_ref() != Some(&now) || now.may_miss_changes();
        self.last_snapshot = Some(now);
        has_changed
    }
}

impl Sources {
    fn of_this_machine() -> Result<Self, MachineError> {
        let roots = Roots::of_this_machine();
        let mut own = Registry::new(name(), Clock::of_this_machine());
        let mut providers = tachograph_system::providers(&roots);
        // On an error, this machine lacks these counters; `tacho` reports the cause when they are queried.
        providers.extend(tachograph_cpi::counters::provider(&roots).ok());
        for provider in providers {
            let set = Arc::from(&*provider.info().name);
            own.register(provider).map_err(|code| MachineError { set, code })?;
        }
        let mut published = Published::of_this_machine();
        // Reserve the names of all known sets, including those that this machine lacks.
        for info in tachograph_system::known_sets().chain(tachograph_cpi::counters::known_sets()) {
            published.reserve(Arc::from(&*info.name), info.guid);
        }
        Ok(Self {
            own,
            published,
            manifests: WatchedFolders::new(Folders::from_environment().search, ChangeDetection::ChangeTime),
            mmv: WatchedFolders::new(tachograph_mmv::default_folders(), ChangeDetection::MmvHeader),
            manifest_notices: Vec::new(),
            mmv_notices: Vec::new(),
        })
    }

    /// Builds the current registry. It shares the providers of unchanged sets with `previous`, the registry of the last
    /// refresh.
    fn build_registry(&mut self, previous: Option<&Registry>) -> Registry {
        let mut registry = self.own.without_published();
        self.add_mmv_sets(&mut registry, previous);
        if self.manifests.detect_changes() {
            let manifests = manifest::registered_in(&self.manifests.folders);
            self.published.set_registered(manifests.sets.into_iter().map(|set| set.info));
            let notice = |problem: &manifest::RegistrationProblem| Notice::new(None, problem.to_string());
            self.manifest_notices = manifests.problems.iter().map(notice).collect();
        }
        self.published.add_to(&mut registry, previous);
        for notice in self.manifest_notices.iter().chain(&self.mmv_notices) {
            registry.add_notice(notice.clone());
        }
        registry
    }

    fn add_mmv_sets(&mut self, registry: &mut Registry, previous: Option<&Registry>) {
        // The snapshot is taken before the files are read, so the next refresh detects changes made meanwhile.
        let has_changed = self.mmv.detect_changes();
        if let Some(previous) = previous
            && !has_changed
        {
            let own_count = self.own.counter_sets().count();
            let other_sets: Vec<_> = previous.counter_sets().skip(own_count).cloned().collect();
            for info in &other_sets {
                // `share_from` skips published sets, which `Published::add_to` adds later.
                registry.share_from(previous, info);
            }
            return;
        }
        let found = {
            let is_taken = |name: &str, guid| {
                registry.find(name).is_some() || registry.enumerate().any(|known| known == guid)
            };
            tachograph_mmv::providers(&self.mmv.folders, &is_taken)
        };
        self.mmv_notices =
            found.problems.iter().map(|problem| Notice::new(None, problem.to_string())).collect();
        if found.more_problems > 0 {
            let text = format!("and {} more problems in MMV files", found.more_problems);
            self.mmv_notices.push(Notice::new(None, text));
        }
        for provider in found.providers {
            self.add_mmv_provider(registry, previous, provider);
        }
    }

    fn add_mmv_provider(
        &mut self,
        registry: &mut Registry,
        previous: Option<&Registry>,
        provider: Box<dyn Provider>,
    ) {
        let info = Arc::clone(provider.info());
        if previous.is_some_and(|previous| registry.share_from(previous, &info)) {
            return;
        }
        if let Err(code) = registry.register(provider) {
            let text = format!("counter set '{}' is skipped: {code}", info.name);
            self.mmv_notices.push(Notice::new(Some(Arc::from(&*info.name)), text));
        }
    }
}
