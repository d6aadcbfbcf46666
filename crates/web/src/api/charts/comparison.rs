//! What changed between two logs, or between two time ranges of one: as `tacho compare`.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;
use tachograph_counters::{AverageKind, Summary};
use tachograph_flow::sinks::{
    ComparedLog, ComparisonOrder, ComparisonRow, InstancePairing, remove_repeating_sets, sort_comparison,
};
use tachograph_logs::Reservation;

use super::{RequestedSamples, process_all};
use crate::api::Web;
use crate::api::sources::LIVE;
use crate::parameters::Parameters;
use crate::response::{ApiError, json};
use crate::series::SeriesName;
use crate::sources::Log;
use crate::workers::Cancel;

/// Number of rows if a request does not specify it.
const DEFAULT_ROWS: usize = 100;
/// Maximum number of rows of a response.
const MAX_ROWS: usize = 10_000;

const PARAMETERS: [&str; 10] = [
    "before",
    "after",
    "before_begin",
    "before_end",
    "after_begin",
    "after_end",
    "path",
    "group_by",
    "sort",
    "top",
];

#[derive(Serialize)]
struct Comparison<'a> {
    /// The number of compared counters of instances.
    total: usize,
    rows: Vec<ComparedCounter<'a>>,
    omitted_sets: Vec<OmittedSet>,
}

#[derive(Serialize)]
struct ComparedCounter<'a> {
    #[serde(flatten)]
    name: SeriesName<'a>,
    before: Option<f64>,
    after: Option<f64>,
    difference: Option<f64>,
    ratio: Option<f64>,
    weight: Option<f64>,
    change: &'static str,
    /// By which an average was multiplied or divided.
    factor: Option<f64>,
    values_before: u64,
    values_after: u64,
    /// `instance`, `replaced` or `sum`.
    pairing: &'static str,
    /// The numbers of instances whose values are summed; 1 or 0 if none are summed.
    instances_before: u64,
    instances_after: u64,
}

/// A set that was not compared, because it repeats another one.
#[derive(Serialize)]
struct OmittedSet {
    set: &'static str,
    repeats: &'static str,
}

impl<'a> ComparedCounter<'a> {
    fn new(row: &'a ComparisonRow) -> Self {
        let mut name = SeriesName::new(&row.path, &row.set, row.instance.as_deref(), &row.counter);
        let is_arithmetic = |summary: &Summary| summary.average_kind == AverageKind::Arithmetic;
        if [&row.before, &row.after].into_iter().flatten().any(is_arithmetic) {
            name.set_arithmetic();
        }
        let values = |summary: &Option<Summary>| summary.as_ref().map_or(0, |summary| summary.values);
        let change = row.average_change();
        let [instances_before, instances_after] = row.instances();
        Self {
            name,
            before: row.average_before(),
            after: row.average_after(),
            difference: row.difference(),
            // An infinite ratio has no form in JSON.
            ratio: row.ratio().filter(|ratio| ratio.is_finite()),
            weight: row.weight(),
            change: change.name(),
            factor: change.factor(),
            values_before: values(&row.before),
            values_after: values(&row.after),
            pairing: match row.pairing {
                InstancePairing::Instance => "instance",
                InstancePairing::Replaced => "replaced",
                InstancePairing::Sum { .. } => "sum",
            },
            instances_before,
            instances_after,
        }
    }
}

pub(crate) async fn compare(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(query.as_deref(), &PARAMETERS)?;
    let [before, after] = [Side::Before, Side::After].map(|side| side.requested(&web, &parameters));
    let (before, after) = (before?, after?);
    let order = order_of(parameters.one("sort")?)?;
    let top = parameters.count("top", DEFAULT_ROWS, MAX_ROWS)?;
    let is_selected = !before.1.paths.is_empty();
    let shared = web.clone();
    web.sources
        .workers
        .run(move |cancel| {
            let (before, after) = (statistics(&before, cancel)?, statistics(&after, cancel)?);
            // The reservations hold until the response is written.
            let (before_log, _before) = before;
            let (after_log, _after) = after;
            let mut rows = tachograph_flow::sinks::compare(before_log, after_log);
            let omitted = match is_selected {
                true => Vec::new(),
                false => remove_repeating_sets(&mut rows, shared.repeating_sets.iter().copied()),
            };
            if order != ComparisonOrder::Weight {
                sort_comparison(&mut rows, order);
            }
            let total = rows.len();
            rows.truncate(top);
            Ok(json(&Comparison {
                total,
                rows: rows.iter().map(ComparedCounter::new).collect(),
                omitted_sets: omitted.into_iter().map(|(set, repeats)| OmittedSet { set, repeats }).collect(),
            }))
        })
        .await
}

fn order_of(word: Option<&str>) -> Result<ComparisonOrder, ApiError> {
    match word {
        None | Some("weight") => Ok(ComparisonOrder::Weight),
        Some("ratio") => Ok(ComparisonOrder::Ratio),
        Some("difference") => Ok(ComparisonOrder::Difference),
        Some("before") => Ok(ComparisonOrder::Before),
        Some("after") => Ok(ComparisonOrder::After),
        Some("path") => Ok(ComparisonOrder::Path),
        Some(_) => {
            Err(ApiError::bad_request("sort: must be weight, ratio, difference, before, after or path"))
        }
    }
}

/// One of the two logs.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Side {
    /// The names of the parameters for the log and its time range.
    fn names(self) -> [&'static str; 3] {
        match self {
            Self::Before => ["before", "before_begin", "before_end"],
            Self::After => ["after", "after_begin", "after_end"],
        }
    }

    /// The log, and the samples of it that are compared.
    fn requested(self, web: &Web, parameters: &Parameters) -> Result<(Arc<Log>, RequestedSamples), ApiError> {
        let [name, begin, end] = self.names();
        let id = parameters.one(name)?.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| ApiError::bad_request(format!("the parameter {name}=ID is required")))?;
        if id == LIVE {
            return Err(ApiError::bad_request(format!(
                "{name}: live values cannot be compared; record them into a log"
            )));
        }
        let log = web.sources.get(id)?;
        let bounds = parameters.range(begin, end)?;
        let samples = RequestedSamples::of_log(
            Arc::clone(&log),
            parameters.paths()?,
            bounds,
            parameters.sums_names()?,
        )?;
        Ok((log, samples))
    }
}

/// The statistics of one log, with the identities of its processes, unless the samples are already sums. Errors name the log.
fn statistics(
    (log, samples): &(Arc<Log>, RequestedSamples),
    cancel: &Cancel,
) -> Result<(ComparedLog, Reservation), ApiError> {
    let statistics = samples.process(
        |_| Ok(None),
        |query| {
            let (source, sink) = (query.samples()?.source, ComparedLog::new(!samples.sums_names));
            let (log, memory) = process_all(source, sink, ComparedLog::len, &query.reading.budget, cancel)?;
            Ok((!log.is_empty()).then_some((log, memory)))
        },
        cancel,
    );
    statistics.map_err(|error| error.about(&log.name()))
}
