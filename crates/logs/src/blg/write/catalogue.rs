//! The catalogue at the end of a log of block records, which lists the log's counters and instances.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Instance, Instances};
use tachograph_counters::{CounterType, TimeBase};

use crate::blg::raw::event::CATALOGUE_SIGNATURE;
use crate::blg::raw::record::{KIND_BLOCK, RecordHead};
use crate::blg::raw::{push_utf16_nul, round_up_8};
use zerocopy::IntoBytes;

const NONE: u32 = 0xFFFF_FFFF;

/// Collects the contents of the catalogue while samples are written.
pub(super) struct Catalogue {
    first: FileTime,
    samples: u32,
    objects: Vec<Object>,
}

/// A counter set in the catalogue.
struct Object {
    set: Arc<CounterSet>,
    frequency: i64,
    instances: Instances,
    /// Indexes in `families`, by parent and name.
    by_name: HashMap<(Option<String>, String), usize>,
    /// Lists of the instances that have the same parent and name, in ascending order of their indexes.
    families: Vec<Vec<Arc<Instance>>>,
}

impl Catalogue {
    pub(super) fn new(sample: &Sample) -> Self {
        let objects = sample
            .groups
            .iter()
            .map(|group| Object {
                set: Arc::clone(&group.set),
                frequency: group.clocks.frequency,
                instances: Instances::default(),
                by_name: HashMap::new(),
                families: Vec::new(),
            })
            .collect();
        Self { first: sample.at.local(), samples: 0, objects }
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        self.samples += 1;
        for (object, group) in self.objects.iter_mut().zip(&sample.groups) {
            object.set = Arc::clone(&group.set);
            if group.set.has_instances && !Arc::ptr_eq(&object.instances, &group.instances) {
                object.add(&group.instances);
            }
        }
    }

    pub(super) fn encode(&self, last: FileTime, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.first.0.to_le_bytes());
        out.extend_from_slice(&last.0.to_le_bytes());
        out.extend_from_slice(&self.samples.to_le_bytes());
        out.extend_from_slice(&(self.objects.len() as u32).to_le_bytes());
        let size_at = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&CATALOGUE_SIGNATURE.to_le_bytes());
        for object in &self.objects {
            object.encode(out);
        }
        let size = (out.len() - begin) as u32;
        out[size_at..size_at + 4].copy_from_slice(&size.to_le_bytes());
    }
}

impl Object {
    fn add(&mut self, instances: &Instances) {
        self.instances = Arc::clone(instances);
        for instance in instances.iter() {
            let key = (instance.parent().map(str::to_owned), instance.name().to_owned());
            let family = *self.by_name.entry(key).or_insert_with(|| {
                self.families.push(Vec::new());
                self.families.len() - 1
            });
            let family = &mut self.families[family];
            if let Err(at) = family.binary_search_by_key(&instance.index(), |known| known.index()) {
                family.insert(at, Arc::clone(instance));
            }
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(RecordHead::new(KIND_BLOCK, 0).as_bytes());
        // Instances with the same name are written in descending order.
        let instances: Vec<_> = self.families.iter().flat_map(|family| family.iter().rev()).collect();
        let count = if self.set.has_instances { instances.len() as i32 } else { -1 };
        out.extend_from_slice(&count.to_le_bytes());
        let columns: Vec<_> = self.columns().collect();
        out.extend_from_slice(&(columns.len() as u32).to_le_bytes());
        for column in &columns {
            out.extend_from_slice(&column.name_index.to_le_bytes());
        }
        for column in &columns {
            out.extend_from_slice(&column.counter_type.0.to_le_bytes());
        }
        for column in &columns {
            out.extend_from_slice(&column.time_base.to_le_bytes());
        }
        for column in &columns {
            out.extend_from_slice(&column.default_scale.to_le_bytes());
        }
        out.resize(begin + round_up_8(out.len() - begin), 0);
        let mut names = Vec::new();
        for instance in instances {
            for word in [names.len() as u32, instance.index(), NONE, NONE] {
                out.extend_from_slice(&word.to_le_bytes());
            }
            push_utf16_nul(&mut names, instance.name());
        }
        out.extend_from_slice(&names);
        out.resize(begin + round_up_8(out.len() - begin), 0);
        let head = RecordHead::new(KIND_BLOCK, out.len() - begin);
        out[begin..begin + size_of::<RecordHead>()].copy_from_slice(head.as_bytes());
    }

    /// The counters, each followed by its base.
    fn columns(&self) -> impl Iterator<Item = Column> {
        self.set.counters.iter().flat_map(|counter| {
            [Some(counter.counter_type), counter.counter_type.base()].into_iter().flatten().map(
                |counter_type| {
                    let hundred_ns = counter_type == CounterType::ELAPSED_TIME
                        || matches!(counter_type.time_base(), TimeBase::HundredNs);
                    Column {
                        name_index: counter.indexes.unwrap_or_default().name,
                        counter_type,
                        time_base: if hundred_ns { FileTime::PER_SECOND } else { self.frequency },
                        default_scale: counter.default_scale,
                    }
                },
            )
        })
    }
}

/// A counter or a base in the catalogue.
struct Column {
    name_index: u32,
    counter_type: CounterType,
    time_base: i64,
    default_scale: i32,
}
