//! The machines of a command: this machine, and those that -s or paths name.

mod live_machines;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_flow::Selection;
use tachograph_flow::live::{
    self, Arrival, Collect as _, LiveOptions, LiveReport, LiveSource, MachineEvent, MachineMember,
    MachinesSource, Refresh, Schedule, TimedSource,
};
use tachograph_perflib::{Failure as RemoteFailure, Registry};
use tachograph_remote::{ExchangePoll, Machines, RemoteMachine};

use crate::failure::{Failure, notify};
use crate::this_machine::{self, Live, notify_first};

pub(crate) use live_machines::LiveMachines;

/// A machine, and the paths that are queried on it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) registry: Arc<Registry>,
    /// `None` for this machine.
    remote: Option<Arc<RemoteMachine>>,
    /// Why the machine could not be read at the start, which was reported.
    failure: Option<Arc<str>>,
    /// The paths without the machine's name.
    pub(crate) paths: Vec<PathPattern>,
}

impl Target {
    fn this_machine(registry: &Arc<Registry>) -> Self {
        Self { registry: Arc::clone(registry), remote: None, failure: None, paths: Vec::new() }
    }

    /// A machine with these sets, which is read without a connection.
    #[cfg(test)]
    pub(crate) fn of_registry(registry: &Arc<Registry>) -> Self {
        Self::this_machine(registry)
    }

    pub(crate) fn is_this_machine(&self) -> bool {
        self.remote.is_none()
    }

    /// The machine's name.
    pub(crate) fn name(&self) -> &Arc<str> {
        self.registry.machine()
    }

    /// Whether the machine could not be read at the start.
    #[cfg(feature = "web")]
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The counter sets that are known now. Does not wait for the machine.
    #[cfg(feature = "web")]
    pub(crate) fn known_registry(&self) -> Arc<Registry> {
        self.remote.as_ref().map_or_else(|| Arc::clone(&self.registry), |remote| remote.registry())
    }

    /// The machine with the counter sets that are known now, without paths.
    #[cfg(feature = "web")]
    pub(crate) fn without_paths(&self) -> Self {
        Self { registry: self.known_registry(), paths: Vec::new(), ..self.clone() }
    }

    /// Adds a path, without its machine name.
    pub(crate) fn add(&mut self, path: &PathPattern) {
        // An unreachable machine has no sets yet; its paths are resolved once it has.
        self.paths.push(self.registry.resolve_path(&path.without_machine()));
    }
}

/// The machines that -s names, without paths; this machine if `name` is `None`. Connects to all of them.
///
/// # Errors
///
/// If the name selects no machine, or if no selected machine can be read.
pub(crate) fn named(local: &Arc<Registry>, name: Option<&str>) -> Result<Vec<Target>, Failure> {
    let mut targets = TargetList::new(local);
    let names = targets.names(name)?;
    targets.connect(&names)?;
    Ok(targets.targets)
}

/// The machine that -s names, for a command that reads only one.
///
/// # Errors
///
/// Those of [`named`], or if the name selects several machines.
pub(crate) fn one(local: &Arc<Registry>, name: Option<&str>) -> Result<Arc<Registry>, Failure> {
    let mut targets = named(local, name)?;
    match (targets.pop(), targets.is_empty()) {
        (Some(target), true) => {
            if let Some((remote, other)) =
                target.remote.as_ref().and_then(|one| Some((one, one.other_name()?)))
            {
                notify(format_args!(r"\\{}: the agent's machine calls itself '{other}'", remote.name()));
            }
            Ok(target.registry)
        }
        _ => {
            let name = name.unwrap_or_default();
            Err(Failure::usage(format!("-s '{name}' selects several machines; this command lists one")))
        }
    }
}

/// Assigns paths to the machines that they name, or else to those that -s names.
///
/// # Errors
///
/// If a name selects no machine, or if no selected machine can be read.
pub(crate) fn of_paths(
    local: &Arc<Registry>,
    default: Option<&str>,
    paths: &[PathPattern],
) -> Result<Vec<Target>, Failure> {
    let mut targets = TargetList::new(local);
    let default = if paths.iter().all(|path| path.path().machine.is_some()) && !paths.is_empty() {
        Vec::new()
    } else {
        targets.names(default)?
    };
    let mut assigned: Vec<(Option<String>, &PathPattern)> = Vec::new();
    for path in paths {
        let names = match &path.path().machine {
            Some(machine) => targets.names(Some(machine))?,
            None => default.clone(),
        };
        assigned.extend(names.into_iter().map(|name| (name, path)));
    }
    // The order of the machines in tables.
    let names: Vec<_> = assigned.iter().map(|(name, _)| name.clone()).chain(default).collect();
    targets.connect(&names)?;
    for (name, path) in assigned {
        targets.add(name.as_deref(), path);
    }
    Ok(targets.targets)
}

/// The machines of a command, while they are being collected.
struct TargetList<'a> {
    local: &'a Arc<Registry>,
    /// The contents of machines.toml, read when another machine is first named.
    machines: Option<Machines>,
    targets: Vec<Target>,
}

impl<'a> TargetList<'a> {
    fn new(local: &'a Arc<Registry>) -> Self {
        Self { local, machines: None, targets: Vec::new() }
    }

    fn machines(&mut self) -> Result<&Machines, Failure> {
        let machines = match self.machines.take() {
            Some(machines) => machines,
            None => Machines::of_user().map_err(Failure::usage)?,
        };
        Ok(self.machines.insert(machines))
    }

    /// The machines that a list of names, separated by commas, selects; `None` in the result is this machine.
    fn names(&mut self, list: Option<&str>) -> Result<Vec<Option<String>>, Failure> {
        let Some(list) = list else { return Ok(vec![None]) };
        let mut names = Vec::new();
        for name in list.split(',').map(str::trim) {
            if this_machine::is_this_machine(self.local, name) {
                names.push(None);
                continue;
            }
            let selected = self.machines()?.select(name).map_err(Failure::usage)?;
            names.extend(selected.into_iter().map(|name| Some(name.to_owned())));
        }
        // A machine can be selected twice.
        let mut known = HashSet::new();
        names.retain(|name| known.insert(name.clone()));
        Ok(names)
    }

    /// Adds these machines as targets, and connects to all other machines in parallel. Reports those that cannot be
    /// read.
    fn connect(&mut self, names: &[Option<String>]) -> Result<(), Failure> {
        for name in names {
            if self.position(name.as_deref()).is_some() {
                continue;
            }
            let target = match name {
                None => Target::this_machine(self.local),
                Some(name) => {
                    let remote = self.machines()?.machine(name).map_err(Failure::usage)?;
                    let registry = remote.registry();
                    Target { registry, remote: Some(remote), failure: None, paths: Vec::new() }
                }
            };
            self.targets.push(target);
        }
        let outcomes = refresh_all(&self.targets);
        let mut failures = Vec::new();
        for (target, outcome) in self.targets.iter_mut().zip(outcomes) {
            match outcome {
                Some(Ok(registry)) => target.registry = registry,
                Some(Err(failure)) => {
                    failures.push(format!(r"\\{}: {failure}", target.name()));
                    target.failure = Some(failure.reason);
                }
                None => {}
            }
        }
        if failures.len() == self.targets.len() && !failures.is_empty() {
            return Err(Failure::merge(failures.into_iter().map(Failure::runtime).collect()));
        }
        notify_first(&failures, "machines that cannot be read", |failure| {
            format!("{failure}; its counters are read as soon as it answers")
        });
        self.assume_sets();
        self.targets.iter().for_each(notify_of_differences);
        Ok(())
    }

    /// Assigns the sets of a machine that was reached to machines that were not, so that their counters have columns from the
    /// start.
    fn assume_sets(&mut self) {
        let is_known = |target: &&Target| target.remote.as_ref().is_some_and(|remote| remote.has_sets());
        let known = self.targets.iter().find(is_known).map_or(self.local, |target| &target.registry);
        let known = Arc::clone(known);
        for target in &mut self.targets {
            if let Some(remote) = target.remote.as_ref().filter(|remote| !remote.has_sets()) {
                target.registry = remote.assume_sets(&known);
            }
        }
    }

    fn position(&self, name: Option<&str>) -> Option<usize> {
        self.targets.iter().position(|target| match (&target.remote, name) {
            (None, None) => true,
            (Some(remote), Some(name)) => **remote.name() == *name,
            _ => false,
        })
    }

    fn add(&mut self, name: Option<&str>, path: &PathPattern) {
        if let Some(index) = self.position(name) {
            self.targets[index].add(path);
        }
    }
}

/// Maximum number of machines that are connected at the same time, because with more handshakes at once, all would exceed
/// their deadline.
const MAX_CONNECTING: usize = 64;

/// Connects to the machines and reads their counter sets; `None` for this machine.
fn refresh_all(targets: &[Target]) -> Vec<Option<Result<Arc<Registry>, RemoteFailure>>> {
    let next = AtomicUsize::new(0);
    let refresh_some = || {
        let mut outcomes = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(target) = targets.get(index) else { return outcomes };
            outcomes.push((index, target.remote.as_ref().map(|remote| remote.refresh())));
        }
    };
    let mut all: Vec<_> = targets.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        // This thread connects too, so all machines are tried even if no other thread can be started.
        let others = 1..targets.len().min(MAX_CONNECTING);
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, refresh_some).ok();
        let threads: Vec<_> = others.filter_map(start).collect();
        let own = refresh_some();
        // A panic of a thread was reported, and continues here.
        let join = |thread: ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        for (index, outcome) in threads.into_iter().flat_map(join).chain(own) {
            all[index] = outcome;
        }
    });
    all
}

/// Reports if the clock of a machine differs, and which of its sets are omitted.
fn notify_of_differences(target: &Target) {
    let Some(remote) = &target.remote else { return };
    let name = remote.name();
    if let Some(difference) = remote.clock_difference() {
        let seconds = difference as f64 / FileTime::PER_SECOND as f64;
        let direction = if difference > 0 { "later" } else { "earlier" };
        notify(format_args!(
            r"\\{name}: its clock is {:.1} s {direction} than this machine's; samples have this machine's time",
            seconds.abs()
        ));
    }
    target.registry.notices().iter().for_each(notify);
}

/// The share of the interval for which a sample waits for other machines.
const WAIT_SHARE: f64 = 0.7;
/// The maximum time for which a sample waits for other machines.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// The advice where the interval determines how long a sample waits.
pub(crate) const LESS_OFTEN: &str = "take samples less often (-si)";

/// Opens the counters of several machines. Reports paths that match nothing; fails if no path matches.
pub(crate) fn open(
    targets: Vec<Target>,
    options: LiveOptions,
    schedule: Schedule,
    this_refresh: Option<Refresh>,
) -> Result<Live, Failure> {
    let zone = this_machine::current_zone();
    let count: usize = targets.iter().map(|target| target.paths.len()).sum();
    let options = LiveOptions { bias_minutes: zone.bias_minutes, ..options };
    let (mut source, lines) =
        source(targets, &options, schedule.interval, this_refresh, LESS_OFTEN).map_err(Failure::runtime)?;
    source.set_on_events(Box::new(notify_of_events));
    if count > 0 && lines.len() == count {
        return Err(Failure::usage_messages(lines));
    }
    notify_first(&lines, "such paths", Clone::clone);
    let report = source.report();
    Ok(Live { report, source: LiveMachines::Several(Box::new(TimedSource::new(source, schedule))), zone })
}

/// The source of several machines, and a message for each path that matches nothing. `options` contains the UTC offset of the samples.
/// `advice` says how to wait longer for machines.
///
/// # Errors
///
/// A message, if the process has too many open files.
pub(crate) fn source(
    targets: Vec<Target>,
    options: &LiveOptions,
    interval: Duration,
    mut this_refresh: Option<Refresh>,
    advice: &str,
) -> Result<(MachinesSource, Vec<String>), String> {
    let max_wait = interval.mul_f64(WAIT_SHARE).min(MAX_WAIT);
    let (mut members, mut remotes, mut failures, mut lines) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Target { registry, remote, failure, paths } in targets {
        let (mut source, selection) =
            LiveSource::open(&registry, &paths, options.clone()).map_err(|code| code.to_string())?;
        // Some time later, the machine can be connected.
        let is_silent = remote.as_ref().is_some_and(|remote| !remote.is_connected());
        failures.extend(failure.filter(|_| is_silent).map(|failure| (members.len(), failure)));
        remotes.push(remote.clone());
        let boot_time: Box<dyn Fn() -> FileTime + Send> = match remote {
            None => {
                lines.extend(this_machine::unmatched_here(&selection));
                if let Some(refresh) = this_refresh.take() {
                    source.follow(refresh);
                }
                Box::new(this_machine::boot_time)
            }
            Some(remote) => {
                // The sets of a machine that was not reached are only assumed.
                if remote.has_sets() {
                    lines.extend(unmatched_there(&selection, remote.name()));
                }
                let machine = Arc::clone(&remote);
                let refresh = move || machine.refresh_within(max_wait).unwrap_or_else(|_| machine.registry());
                source.follow(Box::new(refresh));
                Box::new(move || remote.boot_time())
            }
        };
        members.push(MachineMember { source, boot_time });
    }
    let mut source = MachinesSource::new(members, max_wait, options.bias_minutes, &LiveReport::default());
    // At the maximum, nothing can be done.
    if max_wait < MAX_WAIT {
        source.set_advice(advice);
    }
    failures.iter().for_each(|(index, failure)| source.set_silent(*index, failure));
    if let Some(index) = remotes.iter().position(Option::is_none) {
        source.set_first(index);
    }
    source.set_exchanges(Box::new(Exchanges(ExchangePoll::new(remotes).map_err(|error| error.to_string())?)));
    Ok((source, lines))
}

/// Reports the machines whose outages begin or end.
pub(crate) fn notify_of_events(events: &[MachineEvent]) {
    notify_first(events, "other machines", ToString::to_string);
}

/// The exchanges of a source with other machines.
struct Exchanges(ExchangePoll);

impl live::Exchanges for Exchanges {
    fn begin(&mut self, machine: usize) -> bool {
        self.0.begin(machine)
    }

    fn wait(&mut self, until: Instant, arrived: &mut Vec<Arrival>) {
        self.0.wait(until, |machine, is_complete| arrived.push(Arrival { machine, is_complete }));
    }
}

/// A message for each path that matches nothing on another machine.
fn unmatched_there(selection: &Selection, machine: &str) -> Vec<String> {
    let message = |(path, advice): (String, Option<String>)| {
        let advice = advice.unwrap_or_else(|| format!("'tacho list -s {machine}' lists its counters"));
        format!(r"'{path}' is not on \\{machine}: {advice}")
    };
    selection.unmatched().into_iter().map(message).collect()
}
