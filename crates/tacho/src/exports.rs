//! Sending samples to other systems (`--to`).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tachograph_counters::IgnorePoison;
use tachograph_export::{Authorization, Export, ExportError, ExportOptions, ExportSummary};
use tachograph_metrics::{MetricsOptions, MountTable, MountedFileSystem, MountsNow};
use tachograph_perflib::Registry;
use tachograph_remote::read_secret_file;
use tachograph_system::{MountList, Roots};

use crate::arguments::ExportArguments;
use crate::failure::{Failure, cannot, notify};
use crate::table::counted;
use crate::this_machine;

/// How long a command waits at its end for samples to be sent.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Starts the export that the arguments request; `None` if they request none.
pub(crate) fn start(
    arguments: &ExportArguments,
    registry: &Arc<Registry>,
    metrics: MetricsOptions,
) -> Result<Option<Export>, Failure> {
    if arguments.targets.is_empty() {
        return Ok(None);
    }
    let authorization = match (&arguments.to_token, &arguments.to_login) {
        (Some(file), _) => Some(secret(file, Authorization::bearer)?),
        (None, Some(file)) => Some(secret(file, Authorization::basic)?),
        (None, None) => None,
    };
    if authorization.is_some()
        && let Some(public) = arguments.targets.iter().find(|target| !target.is_private())
    {
        return Err(Failure::usage(format!(
            "--to {public}: a token or password would be sent unencrypted: use https://"
        )));
    }
    let certificates = match &arguments.to_ca {
        Some(file) => Some(fs::read(file).map_err(|error| cannot("read", file, &error))?),
        None => None,
    };
    let options = ExportOptions {
        targets: arguments.targets.clone(),
        metrics,
        authorization,
        certificates,
        queue: arguments.to_queue.clone().map_or_else(default_queue, Ok)?,
        max_queue: arguments.to_queue_size.saturating_mul(1 << 20),
        service: arguments.to_job.clone(),
        boot_time: this_machine::boot_time(),
        notify: Arc::new(|line: &str| notify(line)),
    };
    let export = Export::start(registry, options).map_err(|error| match error {
        ExportError::QueueInUse(_) => Failure::usage(format!("{error} (--to-queue)")),
        ExportError::Queue(..) => Failure::runtime(format!(
            "{error}; --to-queue FOLDER chooses another folder for samples that are not sent yet"
        )),
        error => Failure::runtime(error),
    })?;
    for summary in export.summary() {
        notify(match summary.waiting {
            0 => format!("sending each sample to {}", summary.target),
            waiting => {
                let samples = counted(waiting, "sample", "samples");
                format!(
                    "sending each sample to {}, starting with {samples} of an earlier run",
                    summary.target
                )
            }
        });
    }
    Ok(Some(export))
}

/// Ends an export, and reports what was not sent.
pub(crate) fn finish(export: Export) {
    for summary in export.finish(LAST_WAIT) {
        let ExportSummary { target, sent, refused, dropped, waiting, rejected_points, failure, queue } =
            summary;
        let samples = |count| counted(count, "sample", "samples");
        let mut line = format!("{target}: {} sent", samples(sent));
        for (count, what) in [(refused, "refused"), (dropped, "dropped")] {
            if count > 0 {
                line.push_str(&format!(", {count} {what}"));
            }
        }
        if rejected_points > 0 {
            line.push_str(&format!("; {} rejected", counted(rejected_points, "point was", "points were")));
        }
        if waiting > 0 {
            line.push_str(&format!(
                "; {} not sent yet: they wait in {} for the next run with this --to",
                samples(waiting),
                queue.display()
            ));
            line.extend(failure.map(|reason| format!(" (last error: {reason})")));
        }
        notify(line);
    }
}

/// Reads a secret from a file that other users can neither read nor write.
fn secret(
    file: &Path,
    parse: impl FnOnce(&str) -> Result<Authorization, String>,
) -> Result<Authorization, Failure> {
    let bytes = read_secret_file(file).map_err(|error| match error.io_error() {
        Some(error) => cannot("read", file, error),
        None => Failure::usage(error.to_string()),
    })?;
    let failed = |reason| Failure::usage(format!("{}: {reason}", file.display()));
    let text = String::from_utf8(bytes).map_err(|_| failed("not UTF-8".to_owned()))?;
    parse(&text).map_err(failed)
}

/// The default folder for this user's queues.
fn default_queue() -> Result<PathBuf, Failure> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/tachograph/export"));
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    match state {
        Some(state) => Ok(state.join("tachograph/export")),
        None => Err(Failure::usage("there is no home folder for the queue: use --to-queue FOLDER")),
    }
}

/// The mounted file systems of this machine, for labels.
pub(crate) fn mounts_now() -> MountsNow {
    let state = Mutex::new((MountList::new(&Roots::of_this_machine()), Arc::<MountTable>::default()));
    MountsNow(Arc::new(move || {
        let mut state = state.lock().ignore_poison();
        let (list, table) = &mut *state;
        if let Some(mounted) = list.changed() {
            let mounted = mounted.into_iter().map(|one| MountedFileSystem {
                mount_point: one.mount_point,
                device: one.source,
                fs_type: one.fs_type,
            });
            *table = Arc::new(mounted.collect());
        }
        Arc::clone(table)
    }))
}
