//! Scrapes: collecting the counters and writing them as text.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use tachograph_counters::path::PathPattern;
use tachograph_perflib::{ErrorCode, Registry};

use super::catalog::header;
use super::labels::escape_value;
use super::metric::Kind;
use super::plan::Plan;
use super::process::ProcessMetrics;
use super::reader::{ExactNumber, MetricReader, Number, Point, given_paths, walk};
use super::{Exposition, MetricsOptions};

/// Collects counters and writes them as metrics. Between scrapes it keeps the `#n` of instances and the state of
/// 32-bit counters that can wrap.
#[derive(Debug)]
pub struct Exporter {
    reader: MetricReader,
    process: ProcessMetrics,
    out: String,
}

impl Exporter {
    /// Creates an exporter for the counter sets of a registry.
    ///
    /// # Errors
    ///
    /// The error of [`Query::open`](tachograph_perflib::Query::open).
    pub fn new(registry: &Arc<Registry>, options: MetricsOptions) -> Result<Self, ErrorCode> {
        let reader = MetricReader::new(registry, options)?;
        Ok(Self { reader, process: ProcessMetrics::new(), out: String::new() })
    }

    /// Collects and writes the counters of `paths`, or the counters of the options if `paths` is empty. `registry` is the current
    /// registry, because sets may have appeared or disappeared since the last scrape.
    ///
    /// A value that cannot be read is absent and counted in `tacho_read_errors`; a path that selects nothing is counted
    /// in `tacho_paths_without_match`. Totals (`_Total`) and counters that are sums of others are omitted, so that sums
    /// in PromQL are correct, unless a path names them.
    pub fn scrape(&mut self, registry: &Arc<Registry>, format: Exposition, paths: &[PathPattern]) -> &str {
        let start = Instant::now();
        self.reader.update(registry, paths);
        self.reader.plan.query.collect();
        let mounts = self.reader.mounts();
        let Plan { query, sets, .. } = &mut self.reader.plan;
        self.out.clear();
        // The errors of all sets are one family, which is written last.
        let mut errors = String::new();
        for (set, queried) in sets.iter_mut().zip(query.sets()) {
            let mut written = None;
            let failed = walk(set, queried, mounts.as_ref(), &mut |point| {
                if !written.as_ref().is_some_and(|written| Arc::ptr_eq(written, point.family)) {
                    self.out.push_str(point.family.header(format));
                    written = Some(Arc::clone(point.family));
                }
                write_point(&mut self.out, point);
            });
            errors.push_str("tacho_read_errors{set=\"");
            escape_value(&mut errors, &set.families.info.name);
            // Writing to a String cannot fail.
            let _ = writeln!(errors, "\"}} {failed}");
        }
        // Paths without a match are counted only if paths were requested.
        let has_request = !given_paths(&self.reader.options, paths).is_empty();
        let without_match = if has_request { self.reader.plan.without_match() } else { 0 };
        self.write_own(format, without_match, &errors, start);
        &self.out
    }

    /// Writes the exporter's own metrics, and the end marker of OpenMetrics.
    fn write_own(&mut self, format: Exposition, without_match: usize, errors: &str, start: Instant) {
        let out = &mut self.out;
        out.push_str(&header(
            format,
            "tacho_build_info",
            Kind::Gauge,
            "",
            "The version of the server; the value is always 1.",
        ));
        let _ = writeln!(out, "tacho_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
        let help = "Requested counter paths that select nothing in this scrape.";
        out.push_str(&header(format, "tacho_paths_without_match", Kind::Gauge, "", help));
        let _ = writeln!(out, "tacho_paths_without_match {without_match}");
        if !errors.is_empty() {
            let help = "Values that could not be read in this scrape, by counter set.";
            out.push_str(&header(format, "tacho_read_errors", Kind::Gauge, "", help));
            out.push_str(errors);
        }
        self.process.write(out, format);
        let help = "How long this scrape took to collect and write.";
        out.push_str(&header(format, "tacho_scrape_duration_seconds", Kind::Gauge, "seconds", help));
        let _ = writeln!(out, "tacho_scrape_duration_seconds {:.6}", start.elapsed().as_secs_f64());
        if format == Exposition::OpenMetrics {
            out.push_str("# EOF\n");
        }
    }
}

fn write_point(out: &mut String, point: &Point<'_>) {
    out.push_str(point.family.sample_name());
    out.push_str(point.label_text);
    out.push(' ');
    match point.number {
        Number::Exact(ExactNumber { raw, scale }) => scale.write(out, raw),
        Number::Double(double) => {
            let _ = write!(out, "{double}");
        }
    }
    out.push('\n');
}
