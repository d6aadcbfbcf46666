//! Metrics of the server's own process, with the names that Prometheus' client libraries use.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::param::clock_ticks_per_second;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::catalog::header;
use super::exposition::Exposition;
use super::metric::Kind;

/// Reads the state of this process at each scrape. Metrics that cannot be read are omitted.
#[derive(Debug)]
pub(super) struct ProcessMetrics {
    /// `/proc/self`.
    folder: PathBuf,
    /// When the process was started, in Unix time.
    start_seconds: Option<f64>,
}

impl ProcessMetrics {
    pub(super) fn new() -> Self {
        let folder = PathBuf::from("/proc/self");
        Self { start_seconds: start_seconds(&folder), folder }
    }

    pub(super) fn write(&self, out: &mut String, format: Exposition) {
        let cpu = seconds(clock_gettime(ClockId::ProcessCPUTime));
        let help = "Processor time of the server, in user and kernel mode.";
        write(out, format, "process_cpu_seconds", Kind::Counter, "seconds", help, Some(cpu));
        let status = fs::read_to_string(self.folder.join("status")).unwrap_or_default();
        let memory = |name| number_of(&status, name).map(|kilobytes| kilobytes * 1024.0);
        let mut gauge = |name, unit, help, value| write(out, format, name, Kind::Gauge, unit, help, value);
        gauge("process_resident_memory_bytes", "bytes", "Memory of the server in RAM.", memory("VmRSS:"));
        gauge("process_virtual_memory_bytes", "bytes", "Address space of the server.", memory("VmSize:"));
        gauge("process_threads", "", "Threads of the server.", number_of(&status, "Threads:"));
        gauge("process_open_fds", "", "Open files and sockets of the server.", open_files(&self.folder));
        let limit = getrlimit(Resource::Nofile).current.map(|limit| limit as f64);
        gauge("process_max_fds", "", "The limit of open files and sockets.", limit);
        let help = "When the server was started, in Unix time.";
        gauge("process_start_time_seconds", "seconds", help, self.start_seconds);
    }
}

fn write(
    out: &mut String,
    format: Exposition,
    name: &str,
    kind: Kind,
    unit: &str,
    help: &str,
    value: Option<f64>,
) {
    let Some(value) = value else { return };
    let total = if kind == Kind::Counter { "_total" } else { "" };
    // OpenMetrics names a counter without the suffix of its samples.
    match format {
        Exposition::PrometheusText => {
            out.push_str(&header(format, &format!("{name}{total}"), kind, unit, help))
        }
        Exposition::OpenMetrics => out.push_str(&header(format, name, kind, unit, help)),
    }
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{name}{total} {value}");
}

/// The number that follows `name` in `/proc/self/status`; `name` is at the beginning of a line.
fn number_of(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|number| number as f64)
}

/// The number of open file descriptors, without the one that lists them.
fn open_files(folder: &Path) -> Option<f64> {
    let count = fs::read_dir(folder.join("fd")).ok()?.count();
    Some(count.saturating_sub(1) as f64)
}

/// When the process was started: field 22 of `stat`, in clock ticks since boot.
fn start_seconds(folder: &Path) -> Option<f64> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name of the process can contain blanks and parentheses.
    let after_name = &stat[stat.rfind(')')? + 1..];
    let ticks: u64 = after_name.split_whitespace().nth(19)?.parse().ok()?;
    let boot = seconds(clock_gettime(ClockId::Realtime)) - seconds(clock_gettime(ClockId::Boottime));
    let start = boot + ticks as f64 / clock_ticks_per_second() as f64;
    // Digits below a clock tick (a hundredth of a second) are noise.
    Some((start * 100.0).round() / 100.0)
}

fn seconds(time: Timespec) -> f64 {
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_described() {
        let before = seconds(clock_gettime(ClockId::Realtime));
        let metrics = ProcessMetrics::new();
        let mut text = String::new();
        metrics.write(&mut text, Exposition::PrometheusText);
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("{name} in {text}")).parse().expect("a number")
        };
        assert!(value("process_cpu_seconds_total") > 0.0);
        assert!(value("process_resident_memory_bytes") > 100_000.0);
        assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
        assert!(value("process_threads") >= 1.0);
        assert!(value("process_open_fds") >= 3.0);
        assert!(value("process_max_fds") > value("process_open_fds"));
        let start = value("process_start_time_seconds");
        assert!(start < before + 1.0 && start > before - 3600.0, "{start}, {before}");
        text.clear();
        metrics.write(&mut text, Exposition::OpenMetrics);
        assert!(
            text.contains("# TYPE process_cpu_seconds counter\n# UNIT process_cpu_seconds seconds\n"),
            "{text}"
        );
        assert!(text.contains("\nprocess_cpu_seconds_total "));
    }

    #[test]
    fn unreadable_values_are_absent() {
        assert_eq!(number_of("VmSize:\t  12 kB\nVmRSS:\t\n", "VmSize:"), Some(12.0));
        assert_eq!(number_of("VmSize:\t  12 kB\nVmRSS:\t\n", "VmRSS:"), None);
        assert_eq!(number_of("Threads: -1\n", "Threads:"), None);
        let metrics = ProcessMetrics { folder: "/nonexistent".into(), start_seconds: None };
        let mut text = String::new();
        metrics.write(&mut text, Exposition::PrometheusText);
        assert!(text.contains("process_cpu_seconds_total"));
        assert!(!text.contains("process_open_fds") && !text.contains("process_start_time"), "{text}");
        for stat in ["", "1 (x", "1 (x) S", "1 (x) S a a a a a a a a a a a a a a a a a a x"] {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join("stat"), stat).expect("written");
            assert_eq!(start_seconds(folder.path()), None, "{stat:?}");
        }
    }
}
