//! The tables `machines` and `counters`, which list the contents of the inputs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use tachograph_counters::IgnorePoison as _;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::CounterSet;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::FlowError;
use tachograph_logs::archive::counter_facts;

use crate::batches::time_type;
use crate::damage::Damage;
use crate::filters::TimeRange;
use crate::location::ArchiveLocation;
use crate::log_scan::log_query;
use crate::overlap;

/// Identifies one of the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inventory {
    Machines,
    Counters,
}

/// A table that lists the contents of the inputs. The inputs are read at the first use; of archives, only the footers.
#[derive(Debug)]
pub(crate) struct InventoryTable {
    which: Inventory,
    schema: SchemaRef,
    shared: Arc<SharedInventory>,
}

/// The data that both tables share.
#[derive(Debug)]
pub(crate) struct SharedInventory {
    archive_files: Vec<ArchiveLocation>,
    logs: Vec<Vec<PathBuf>>,
    damage: Damage,
    /// The batches of both tables; `None` before the inputs were read.
    cached: Mutex<Option<Arc<[RecordBatch; 2]>>>,
}

impl SharedInventory {
    pub(crate) fn new(archive_files: Vec<ArchiveLocation>, logs: Vec<Vec<PathBuf>>, damage: Damage) -> Self {
        Self { archive_files, logs, damage, cached: Mutex::default() }
    }

    /// The batches of both tables.
    pub(crate) fn batches(&self) -> Result<Arc<[RecordBatch; 2]>> {
        let mut cached = self.cached.lock().ignore_poison();
        if let Some(batches) = &*cached {
            return Ok(Arc::clone(batches));
        }
        let all = self.read().map_err(|error| DataFusionError::External(Box::new(error)))?;
        let batches = Arc::new([machines_batch(&all)?, counters_batch(&all)?]);
        *cached = Some(Arc::clone(&batches));
        Ok(batches)
    }

    fn read(&self) -> Result<BTreeMap<String, MachineFacts>, FlowError> {
        overlap::check_times(&self.archive_files, &self.logs, TimeRange::default())?;
        let mut machines: BTreeMap<String, MachineFacts> = BTreeMap::new();
        for location in &self.archive_files {
            let file = match location.open() {
                Ok(file) => file,
                Err(error) => {
                    self.damage.skip_file(error)?;
                    continue;
                }
            };
            self.damage.add_intact();
            let facts = file.facts();
            let known = machines.entry(facts.machine.clone()).or_default();
            known.files += 1;
            known.describe(&facts.zone, facts.boot_time, facts.performance_frequency);
            for group in file.row_groups() {
                known.samples += group.samples as i64;
                known.extend(group.first, group.last);
            }
            file.sets().iter().for_each(|set| known.add_set(set));
        }
        for logs in &self.logs {
            let query = log_query(logs.clone());
            let mut pipeline = query.samples()?;
            let mut sample = Sample::default();
            let mut last_sets: Vec<Arc<CounterSet>> = Vec::new();
            let mut names: Vec<String> = Vec::new();
            while pipeline.source.next(&mut sample)? {
                let is_same = last_sets.len() == sample.groups.len()
                    && last_sets.iter().zip(&sample.groups).all(|(set, group)| Arc::ptr_eq(set, &group.set));
                if !is_same {
                    last_sets = sample.groups.iter().map(|group| Arc::clone(&group.set)).collect();
                    names = last_sets.iter().map(|set| set.machine.to_string()).collect();
                    names.sort_unstable();
                    names.dedup();
                    for set in &last_sets {
                        machines.entry(set.machine.to_string()).or_default().add_set(set);
                    }
                }
                for name in &names {
                    if let Some(known) = machines.get_mut(name) {
                        known.samples += 1;
                        known.extend(sample.at.utc, sample.at.utc);
                    }
                }
            }
            self.damage.add_logs(&pipeline.reports);
            for name in names {
                let known = machines.entry(name).or_default();
                known.files += pipeline.reports.len() as i64;
                for report in &pipeline.reports {
                    let facts = report.facts();
                    known.describe(&facts.zone, facts.boot_time, facts.performance_frequency);
                }
            }
        }
        Ok(machines)
    }
}

/// The properties of a machine.
#[derive(Debug, Default)]
struct MachineFacts {
    files: i64,
    samples: i64,
    span: Option<(FileTime, FileTime)>,
    zone: Option<TimeZone>,
    boot_time: Option<FileTime>,
    performance_frequency: Option<i64>,
    /// Keys are set, counter and type.
    counters: BTreeMap<(String, String, String), CounterFacts>,
}

#[derive(Debug)]
struct CounterFacts {
    kind: &'static str,
    factor: f64,
    unit: String,
    default_scale: i32,
    has_instances: bool,
}

impl MachineFacts {
    /// Sets the properties that a file has; later files override earlier ones.
    fn describe(&mut self, zone: &TimeZone, boot_time: Option<FileTime>, frequency: Option<i64>) {
        self.zone = Some(zone.clone());
        self.boot_time = boot_time.or(self.boot_time);
        self.performance_frequency = frequency.or(self.performance_frequency);
    }

    fn extend(&mut self, first: FileTime, last: FileTime) {
        let (known_first, known_last) = self.span.unwrap_or((first, last));
        self.span = Some((known_first.min(first), known_last.max(last)));
    }

    fn add_set(&mut self, set: &CounterSet) {
        for counter in &set.counters {
            let facts = counter_facts(counter);
            let key = (set.name.to_string(), counter.name.to_string(), facts.type_name);
            self.counters.entry(key).or_insert_with(|| CounterFacts {
                kind: facts.kind,
                factor: facts.factor,
                unit: counter.unit().into_owned(),
                default_scale: counter.default_scale,
                has_instances: set.has_instances,
            });
        }
    }
}

fn microseconds(time: FileTime) -> i64 {
    time.0.div_euclid(10) - 11_644_473_600_000_000
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringViewArray>())
}

fn times(values: impl Iterator<Item = Option<FileTime>>) -> ArrayRef {
    let times: TimestampMicrosecondArray = values.map(|time| time.map(microseconds)).collect();
    Arc::new(times.with_timezone("UTC"))
}

fn numbers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

fn machines_batch(machines: &BTreeMap<String, MachineFacts>) -> Result<RecordBatch> {
    let all = || machines.values();
    let columns: Vec<ArrayRef> = vec![
        texts(machines.keys().map(|name| Some(name.as_str()))),
        numbers(all().map(|machine| Some(machine.files))),
        numbers(all().map(|machine| Some(machine.samples))),
        times(all().map(|machine| machine.span.map(|(first, _)| first))),
        times(all().map(|machine| machine.span.map(|(_, last)| last))),
        texts(all().map(|machine| machine.zone.as_ref().map(|zone| zone.standard_name.as_str()))),
        times(all().map(|machine| machine.boot_time)),
        numbers(all().map(|machine| machine.performance_frequency)),
    ];
    Ok(RecordBatch::try_new(schema_of(Inventory::Machines), columns)?)
}

fn counters_batch(machines: &BTreeMap<String, MachineFacts>) -> Result<RecordBatch> {
    let all = || {
        machines.iter().flat_map(|(name, machine)| {
            machine.counters.iter().map(move |(key, facts)| (name.as_str(), key, facts))
        })
    };
    let columns: Vec<ArrayRef> = vec![
        texts(all().map(|(machine, ..)| Some(machine))),
        texts(all().map(|(_, key, _)| Some(key.0.as_str()))),
        texts(all().map(|(_, key, _)| Some(key.1.as_str()))),
        texts(all().map(|(_, key, _)| Some(key.2.as_str()))),
        texts(all().map(|(.., facts)| Some(facts.unit.as_str()))),
        texts(all().map(|(.., facts)| Some(facts.kind))),
        Arc::new(all().map(|(.., facts)| Some(facts.factor)).collect::<Float64Array>()),
        Arc::new(all().map(|(.., facts)| Some(facts.default_scale)).collect::<Int32Array>()),
        Arc::new(
            all()
                .map(|(.., facts)| Some(facts.has_instances))
                .collect::<datafusion::arrow::array::BooleanArray>(),
        ),
    ];
    Ok(RecordBatch::try_new(schema_of(Inventory::Counters), columns)?)
}

/// The schema of one of the two tables.
pub(crate) fn schema_of(which: Inventory) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8View, true);
    let number = |name: &str| Field::new(name, DataType::Int64, true);
    let time = |name: &str| Field::new(name, time_type(), true);
    Arc::new(Schema::new(match which {
        Inventory::Machines => vec![
            text("machine"),
            number("files"),
            number("samples"),
            time("first_time"),
            time("last_time"),
            text("time_zone"),
            time("boot_time"),
            number("performance_frequency"),
        ],
        Inventory::Counters => vec![
            text("machine"),
            text("set"),
            text("counter"),
            text("type"),
            text("unit"),
            text("kind"),
            Field::new("factor", DataType::Float64, true),
            Field::new("default_scale", DataType::Int32, true),
            Field::new("has_instances", DataType::Boolean, true),
        ],
    }))
}

impl InventoryTable {
    pub(crate) fn new(which: Inventory, shared: Arc<SharedInventory>) -> Self {
        Self { which, schema: schema_of(which), shared }
    }
}

#[async_trait]
impl TableProvider for InventoryTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Reading takes long; meanwhile, the query can be interrupted.
        let shared = Arc::clone(&self.shared);
        let batches = tokio::task::spawn_blocking(move || shared.batches()).await;
        let batches = batches.map_err(|error| DataFusionError::External(Box::new(error)))??;
        let batch = batches[self.which as usize].clone();
        let table = MemTable::try_new(Arc::clone(&self.schema), vec![vec![batch]])?;
        table.scan(state, projection, filters, limit).await
    }
}
