//! The contents of an MMV file: instance domains (PCP's *indoms*, lists of instances), instances, metrics, and the
//! metric and instance of each value.

use std::ops::Range;

use super::error::LayoutError;
use super::header::{Header, ReadError, Version};
use super::raw::{
    Bytes, HEADER_BYTES, INDOM_BYTES, INSTANCE1_BYTES, INSTANCE2_BYTES, LABEL_BYTES, METRIC1_BYTES,
    METRIC2_BYTES, NAME_BYTES, STRING_BYTES, TOC_BYTES, VALUE_BYTES,
};
use super::text::{help, to_readable};
use super::units::Units;

/// The maximum number of metrics in a file. PCP itself allows 1,024.
pub(super) const MAX_METRICS: u32 = 4096;
/// The maximum number of instance domains in a file; each becomes a counter set.
pub(super) const MAX_INDOMS: u32 = 1024;
/// The maximum number of instances in a file, over all its instance domains.
pub(super) const MAX_INSTANCES: u32 = 65_536;

/// The decoded file, without the values.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) header: Header,
    /// The instance domains.
    pub(super) indoms: Vec<Indom>,
    pub(super) instances: Vec<Instance>,
    pub(super) metrics: Vec<Metric>,
    /// The section with the values.
    pub(super) values: Section,
    /// The metric and instance of each value.
    pub(super) owners: Vec<Owner>,
}

/// An instance domain.
#[derive(Clone, Debug)]
pub(super) struct Indom {
    /// The number by which metrics refer to the domain.
    pub(super) serial: u32,
    pub(super) help: String,
    /// The indexes of the domain's instances in the file.
    pub(super) instances: Range<u32>,
}

/// An instance of a domain.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) name: String,
    /// PCP's internal identifier, unique within the domain.
    pub(super) internal: i32,
}

/// A metric, which can become a counter.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) help: String,
    /// The number of the metric, unique within the file.
    pub(super) item: u32,
    /// The type of the values, `MMV_TYPE_*`.
    pub(super) kind: i32,
    /// Whether the value is a running total or a gauge, `MMV_SEM_*`.
    pub(super) semantics: i32,
    pub(super) units: Units,
    /// The index of the metric's instance domain in the file.
    pub(super) indom: Option<u32>,
}

/// The metric and instance of a value, as indexes in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) metric: u32,
    /// `None` for a metric without an instance domain.
    pub(super) instance: Option<u32>,
}

/// A section: consecutive entries of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// The offset of the first entry in the file.
    pub(super) offset: u64,
    /// The number of entries.
    pub(super) count: u32,
    /// The size of an entry.
    entry_bytes: u64,
}

impl Section {
    pub(super) fn bytes(self) -> u64 {
        u64::from(self.count) * self.entry_bytes
    }

    fn offsets(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |index| self.offset + index * self.entry_bytes)
    }

    /// The index of the entry that begins at this offset.
    fn index_of(self, offset: u64) -> Option<u32> {
        let distance = offset.checked_sub(self.offset)?;
        let index = u32::try_from(distance.checked_div(self.entry_bytes)?).ok()?;
        (distance.is_multiple_of(self.entry_bytes) && index < self.count).then_some(index)
    }
}

/// The sections of a file; `None` for the kinds that the file does not have.
#[derive(Default)]
struct Sections {
    indoms: Option<Section>,
    instances: Option<Section>,
    metrics: Option<Section>,
    values: Option<Section>,
    strings: Option<Section>,
    labels: Option<Section>,
}

impl Layout {
    /// Parses a complete file.
    pub(super) fn parse(bytes: Bytes<'_>) -> Result<Self, ReadError> {
        let header = Header::parse(bytes)?;
        let sections = read_sections(bytes, &header)?;
        let indom_section = sections.indoms.unwrap_or_default();
        let instance_section = sections.instances.unwrap_or_default();
        let missing = |what| LayoutError::new(HEADER_BYTES, what, "none", "one section");
        let metric_section = sections.metrics.ok_or_else(|| missing("section of metrics"))?;
        let values = sections.values.ok_or_else(|| missing("section of values"))?;

        let indoms = read_indoms(bytes, indom_section, instance_section)?;
        let instances = read_instances(bytes, header.version, instance_section)?;
        check_members(bytes, &indoms, indom_section, instance_section)?;
        let metrics = read_metrics(bytes, header.version, metric_section, &indoms)?;
        let layout = Self { header, indoms, instances, metrics, values, owners: Vec::new() };
        let owners = layout.read_owners(bytes, metric_section, instance_section)?;
        Ok(Self { owners, ..layout })
    }

    fn read_owners(
        &self,
        bytes: Bytes<'_>,
        metrics: Section,
        instances: Section,
    ) -> Result<Vec<Owner>, LayoutError> {
        let owner = |offset: u64| {
            let found = bytes.u64(offset + 16, "metric of a value")?;
            let metric = metrics.index_of(found).ok_or_else(|| {
                LayoutError::number(offset + 16, "metric of a value", found, "the offset of a metric")
            })?;
            let Some(indom) = self.metrics[metric as usize].indom else {
                return Ok(Owner { metric, instance: None });
            };
            let found = bytes.u64(offset + 24, "instance of a value")?;
            let members = &self.indoms[indom as usize].instances;
            let instance = instances.index_of(found).filter(|index| members.contains(index));
            let instance = instance.ok_or_else(|| {
                let expected = "the offset of an instance in the metric's instance domain";
                LayoutError::number(offset + 24, "instance of a value", found, expected)
            })?;
            Ok(Owner { metric, instance: Some(instance) })
        };
        self.values.offsets().map(owner).collect()
    }
}

/// Parses the table of contents, which lists the sections.
fn read_sections(bytes: Bytes<'_>, header: &Header) -> Result<Sections, LayoutError> {
    let (instance_bytes, metric_bytes) = match header.version {
        Version::One => (INSTANCE1_BYTES, METRIC1_BYTES),
        Version::TwoOrThree => (INSTANCE2_BYTES, METRIC2_BYTES),
    };
    let mut sections = Sections::default();
    for index in 0..u64::from(header.sections) {
        let at = HEADER_BYTES + index * TOC_BYTES;
        let kind = bytes.u32(at, "kind of a section")?;
        let (section, entry_bytes, max) = match kind {
            1 => (&mut sections.indoms, INDOM_BYTES, MAX_INDOMS),
            2 => (&mut sections.instances, instance_bytes, MAX_INSTANCES),
            3 => (&mut sections.metrics, metric_bytes, MAX_METRICS),
            4 => (&mut sections.values, VALUE_BYTES, u32::MAX),
            5 => (&mut sections.strings, STRING_BYTES, u32::MAX),
            6 => (&mut sections.labels, LABEL_BYTES, u32::MAX),
            _ => return Err(LayoutError::number(at, "kind of a section", kind, "1 to 6")),
        };
        if section.is_some() {
            return Err(LayoutError::number(at, "kind of a section", kind, "each kind at most once"));
        }
        let found = bytes.i32(at + 4, "number of entries")?;
        let count = u32::try_from(found).ok().filter(|&count| count <= max);
        let count = count.ok_or_else(|| {
            let expected = format!("0 to {}", max.min(i32::MAX as u32));
            LayoutError::number(at + 4, "number of entries", found, expected)
        })?;
        let offset = bytes.u64(at + 8, "offset of a section")?;
        let end = (u64::from(count) * entry_bytes).checked_add(offset);
        if end.is_none_or(|end| end > bytes.len()) {
            let size = bytes.len();
            let expected = format!(
                "an offset at which {count} entries of {entry_bytes} bytes fit into the file of {size} bytes"
            );
            return Err(LayoutError::number(at + 8, "offset of a section", offset, expected));
        }
        *section = Some(Section { offset, count, entry_bytes });
    }
    Ok(sections)
}

fn read_indoms(bytes: Bytes<'_>, section: Section, instances: Section) -> Result<Vec<Indom>, LayoutError> {
    let indom = |at: u64| {
        let serial = bytes.u32(at, "serial of an instance domain")?;
        let count = bytes.u32(at + 4, "number of instances")?;
        let first = bytes.u64(at + 8, "first instance")?;
        let help = help_at(bytes, at + 16)?;
        if count == 0 {
            return Ok(Indom { serial, help, instances: 0..0 });
        }
        let Some(start) = instances.index_of(first) else {
            return Err(LayoutError::number(at + 8, "first instance", first, "the offset of an instance"));
        };
        let end = start.checked_add(count).filter(|&end| end <= instances.count);
        let end = end.ok_or_else(|| {
            let expected = format!("at most {}", instances.count - start);
            LayoutError::number(at + 4, "number of instances", count, expected)
        })?;
        Ok(Indom { serial, help, instances: start..end })
    };
    let indoms: Vec<Indom> = section.offsets().map(indom).collect::<Result<_, _>>()?;
    let mut serials: Vec<(u32, u64)> =
        indoms.iter().map(|indom| indom.serial).zip(section.offsets()).collect();
    serials.sort_unstable();
    match serials.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let (serial, at) = pair[1];
            Err(LayoutError::number(at, "serial of an instance domain", serial, "a unique serial"))
        }
        None => Ok(indoms),
    }
}

/// Checks that each instance in a domain refers back to this domain.
fn check_members(
    bytes: Bytes<'_>,
    indoms: &[Indom],
    indom_section: Section,
    instance_section: Section,
) -> Result<(), LayoutError> {
    // An instance refers to one domain only, so this also finds domains that share an instance.
    for (indom, indom_offset) in indoms.iter().zip(indom_section.offsets()) {
        let (start, count) = (indom.instances.start as usize, indom.instances.len());
        for at in instance_section.offsets().skip(start).take(count) {
            let found = bytes.u64(at, "instance domain of an instance")?;
            if found != indom_offset {
                let expected = indom_offset.to_string();
                return Err(LayoutError::number(at, "instance domain of an instance", found, expected));
            }
        }
    }
    Ok(())
}

fn read_instances(
    bytes: Bytes<'_>,
    version: Version,
    section: Section,
) -> Result<Vec<Instance>, LayoutError> {
    let instance = |at: u64| {
        let internal = bytes.i32(at + 12, "id of an instance")?;
        let name = name_at(bytes, version, at + 16, "name of an instance")?;
        let name = if name.is_empty() { internal.to_string() } else { to_readable(name) };
        Ok(Instance { name, internal })
    };
    section.offsets().map(instance).collect()
}

fn read_metrics(
    bytes: Bytes<'_>,
    version: Version,
    section: Section,
    indoms: &[Indom],
) -> Result<Vec<Metric>, LayoutError> {
    let metric = |at: u64| {
        let fields = at
            + match version {
                Version::One => NAME_BYTES,
                Version::TwoOrThree => 8,
            };
        let serial = bytes.u32(fields + 16, "instance domain of a metric")?;
        let indom = match serial {
            0 | u32::MAX => None,
            _ => {
                let index = indoms.iter().position(|indom| indom.serial == serial);
                let index = index.and_then(|index| u32::try_from(index).ok());
                Some(index.ok_or_else(|| {
                    let expected = "the serial of an instance domain, 0 or -1";
                    LayoutError::number(fields + 16, "instance domain of a metric", serial, expected)
                })?)
            }
        };
        Ok(Metric {
            name: to_readable(name_at(bytes, version, at, "name of a metric")?),
            help: help_at(bytes, fields + 24)?,
            item: bytes.u32(fields, "item of a metric")?,
            kind: bytes.i32(fields + 4, "type of a metric")?,
            semantics: bytes.i32(fields + 8, "semantics of a metric")?,
            units: Units::from_word(bytes.u32(fields + 12, "units of a metric")?),
            indom,
        })
    };
    section.offsets().map(metric).collect()
}

/// The name in the field at offset `at`: the field contains the name (version 1) or the offset of a string.
fn name_at<'a>(
    bytes: Bytes<'a>,
    version: Version,
    at: u64,
    field: &'static str,
) -> Result<&'a [u8], LayoutError> {
    if version == Version::One {
        return bytes.string(at, NAME_BYTES, field);
    }
    match bytes.u64(at, field)? {
        0 => Err(LayoutError::number(at, field, 0, "the offset of a string")),
        offset => bytes.string(offset, STRING_BYTES, field),
    }
}

/// The help text of a metric or an instance domain. The offsets of a short and a long text are stored at offset `at`; 0 means
/// no text.
fn help_at(bytes: Bytes<'_>, at: u64) -> Result<String, LayoutError> {
    let text = |at| match bytes.u64(at, "offset of a help text")? {
        0 => Ok(&[][..]),
        offset => bytes.string(offset, STRING_BYTES, "help text"),
    };
    Ok(help(text(at)?, text(at + 8)?))
}
