//! Decodes the metadata in the footer.

use serde::Deserialize;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::time_zone::is_possible_bias;

use super::super::description::EncodedZone;
use super::super::{ARCHIVE_VERSION, Damage, MAX_ROWS, MIN_ARCHIVE_VERSION};
use super::{ArchiveFacts, EncodedPart, Part, RowGroupFacts};

/// The metadata in the footer.
#[derive(Deserialize)]
struct EncodedMetadata {
    machine: String,
    time_zone: EncodedZone,
    boot_time: Option<i64>,
    performance_frequency: Option<i64>,
    windows_build: Option<u32>,
    #[serde(default)]
    recording: String,
    descriptions: EncodedPart,
    row_groups: Vec<EncodedRowGroup>,
}

/// The only field that the metadata of all versions has.
#[derive(Deserialize)]
struct EncodedVersion {
    version: u64,
}

#[derive(Deserialize)]
struct EncodedRowGroup {
    rows: usize,
    samples: usize,
    first: i64,
    first_bias: i32,
    last: i64,
    table: EncodedPart,
}

pub(super) fn read_metadata(text: &str) -> Result<(ArchiveFacts, Vec<RowGroupFacts>, Part), Damage> {
    let wrong = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Data => Damage("a field of the metadata is missing or invalid"),
        _ => Damage("the metadata is not JSON"),
    };
    let EncodedVersion { version } = serde_json::from_str(text).map_err(wrong)?;
    if !(MIN_ARCHIVE_VERSION..=ARCHIVE_VERSION).contains(&version) {
        return Err(Damage("the version of the layout is unknown: a newer Tachograph wrote the file"));
    }
    let metadata: EncodedMetadata = serde_json::from_str(text).map_err(wrong)?;
    let facts = ArchiveFacts {
        machine: metadata.machine,
        zone: metadata.time_zone.into(),
        boot_time: metadata.boot_time.map(FileTime),
        performance_frequency: metadata.performance_frequency,
        windows_build: metadata.windows_build,
        recording: metadata.recording,
    };
    let group = |group: EncodedRowGroup| {
        (group.rows <= MAX_ROWS && is_possible_bias(group.first_bias)).then_some(RowGroupFacts {
            rows: group.rows,
            samples: group.samples,
            first: Moment { utc: FileTime(group.first), bias_minutes: group.first_bias },
            last: FileTime(group.last),
            table: Part::from_numbers(group.table)?,
        })
    };
    let groups = metadata.row_groups.into_iter().map(group).collect::<Option<_>>();
    let groups = groups.ok_or(Damage("the metadata of a row group is invalid"))?;
    let descriptions = Part::from_numbers(metadata.descriptions);
    Ok((facts, groups, descriptions.ok_or(Damage("the descriptions are too large"))?))
}
