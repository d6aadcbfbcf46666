//! All counter sets of this machine in one registry: what the machine tells (`system`), cycles per instruction (`cpi`),
//! and what applications publish, in Tachograph's files and in those of PCP. The commands and the C interface look at the
//! same machine through it.
//!
//! ```no_run
//! use tachograph_machine::Machine;
//!
//! let machine = Machine::of_this_machine()?;
//! let sets_now = machine.refresh();
//! for info in sets_now.counter_sets() {
//!     println!("{}", info.name);
//! }
//! # Ok::<(), tachograph_machine::Refused>(())
//! ```

#![forbid(unsafe_code)]

mod stamp;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_perflib::manifest::{self, Folders};
use tachograph_perflib::published::{Notice, Published};
use tachograph_perflib::{Clock, ErrorCode, Provider, Registry};
use tachograph_system::{Roots, mmv};

use stamp::{Sign, Stamps};

/// The name of this machine, without backslashes.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A counter set that could not be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The set's name.
    pub set: Arc<str>,
    /// The cause.
    pub code: ErrorCode,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "'{}': {}", self.set, self.code)
    }
}

impl std::error::Error for Refused {}

/// The counter sets of this machine, as they are now.
///
/// # Errors
///
/// When two of the machine's own sets have one name or GUID.
pub fn registry() -> Result<Registry, Refused> {
    Ok(Sources::of_this_machine()?.registry(None))
}

/// This machine for those who look at it for long: its registry follows the programs that start and end.
///
/// A registry does not change. [`refresh`](Self::refresh) gives another one where there are other sets; what is in both is
/// the same provider. Queries keep the registry that they were opened with, and go on;
/// [`Query::adopt`](tachograph_perflib::Query::adopt) lets one add what came later.
#[derive(Debug)]
pub struct Machine {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    sources: Sources,
    current: Arc<Registry>,
}

impl Machine {
    /// This machine, with its own sets and those that are published now.
    ///
    /// # Errors
    ///
    /// When two of the machine's own sets have one name or GUID.
    pub fn of_this_machine() -> Result<Self, Refused> {
        let mut sources = Sources::of_this_machine()?;
        let current = Arc::new(sources.registry(None));
        Ok(Self { state: Mutex::new(State { sources, current }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The registry of the last [`refresh`](Self::refresh).
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.state().current)
    }

    /// The registry with the sets that there are now; the same object as before where they are the same.
    pub fn refresh(&self) -> Arc<Registry> {
        let mut state = self.state();
        let state = &mut *state;
        let now = state.sources.registry(Some(&state.current));
        if !now.is_same(&state.current) {
            state.current = Arc::new(now);
        }
        Arc::clone(&state.current)
    }
}

/// Where counter sets come from.
#[derive(Debug)]
struct Sources {
    /// The machine's own sets, which are always the same.
    own: Registry,
    published: Published,
    manifests: Watched,
    mmv: Watched,
    /// What the manifests and the MMV files of the last look gave to tell.
    manifest_notices: Vec<Notice>,
    mmv_notices: Vec<Notice>,
}

/// Folders that are read again when something changed in them.
#[derive(Debug)]
struct Watched {
    folders: Vec<PathBuf>,
    sign: Sign,
    stamps: Option<Stamps>,
}

impl Watched {
    fn new(folders: Vec<PathBuf>, sign: Sign) -> Self {
        Self { folders, sign, stamps: None }
    }

    /// Whether they may be other than at the last look.
    fn has_changed(&mut self) -> bool {
        let now = Stamps::of(&self.folders, self.sign);
        let has_changed = self.stamps.as_ref() != Some(&now) || now.is_fresh();
        self.stamps = Some(now);
        has_changed
    }
}

impl Sources {
    fn of_this_machine() -> Result<Self, Refused> {
        let roots = Roots::of_this_machine();
        let mut own = Registry::new(name(), Clock::of_this_machine());
        let mut providers = tachograph_system::providers(&roots);
        // Why a machine has no such counters is told to those who ask for them.
        providers.extend(tachograph_cpi::counters::provider(&roots).ok());
        for provider in providers {
            let set = Arc::from(&*provider.info().name);
            own.register(provider).map_err(|code| Refused { set, code })?;
        }
        let mut published = Published::of_this_machine();
        // Also the sets that other machines have are no application's to take.
        for info in tachograph_system::known_sets().chain(tachograph_cpi::counters::known_sets()) {
            published.reserve(Arc::from(&*info.name), info.guid);
        }
        Ok(Self {
            own,
            published,
            manifests: Watched::new(Folders::of_environment().search, Sign::Time),
            mmv: Watched::new(mmv::default_folders(), Sign::Header),
            manifest_notices: Vec::new(),
            mmv_notices: Vec::new(),
        })
    }

    /// The registry of now. What `before` has as well is shared with it.
    fn registry(&mut self, before: Option<&Registry>) -> Registry {
        let mut registry = self.own.without_published();
        self.add_mmv(&mut registry, before);
        if self.manifests.has_changed() {
            let registered = manifest::registered_in(&self.manifests.folders);
            self.published.set_registered(registered.sets.into_iter().map(|set| set.info));
            let notice = |problem: &manifest::RegistrationProblem| Notice::new(None, problem.to_string());
            self.manifest_notices = registered.problems.iter().map(notice).collect();
        }
        self.published.add_to(&mut registry, before);
        for notice in self.manifest_notices.iter().chain(&self.mmv_notices) {
            registry.notice(notice.clone());
        }
        registry
    }

    /// Adds the sets of MMV files.
    fn add_mmv(&mut self, registry: &mut Registry, before: Option<&Registry>) {
        if let Some(before) = before
            && !self.mmv.has_changed()
        {
            let own = self.own.counter_sets().count();
            let known: Vec<_> = before.counter_sets().skip(own).cloned().collect();
            for info in &known {
                registry.share(before, info);
            }
            return;
        }
        self.mmv.has_changed();
        let found = {
            let is_taken = |name: &str, guid| {
                registry.find(name).is_some() || registry.enumerate().any(|known| known == guid)
            };
            mmv::providers(&self.mmv.folders, &is_taken)
        };
        self.mmv_notices =
            found.problems.iter().map(|problem| Notice::new(None, problem.to_string())).collect();
        if found.more_problems > 0 {
            let text = format!("and {} other problems of MMV files", found.more_problems);
            self.mmv_notices.push(Notice::new(None, text));
        }
        for provider in found.providers {
            self.add_provider(registry, before, provider);
        }
    }

    fn add_provider(
        &mut self,
        registry: &mut Registry,
        before: Option<&Registry>,
        provider: Box<dyn Provider>,
    ) {
        let info = Arc::clone(provider.info());
        if before.is_some_and(|before| registry.share(before, &info)) {
            return;
        }
        if let Err(code) = registry.register(provider) {
            let text = format!("the counter set '{}' is left out: {code}", info.name);
            self.mmv_notices.push(Notice::new(Some(Arc::from(&*info.name)), text));
        }
    }
}
