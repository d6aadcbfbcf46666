//! `Paging File`, from `/proc/swaps`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{parse_number, unescape, words};
use crate::table::{CounterInfo, SetTable};

const USAGE: u32 = 1;

/// `% Usage Peak` is missing because Linux does not record the peak.
#[rustfmt::skip]
pub(super) const TABLE: SetTable = SetTable {
    name: "Paging File",
    guid: 0x1a23d47d_8bd1_53f3_a8b4_102a5ce56fd9,
    instance_type: InstanceType::Multiple,
    help: "Swap areas: files and partitions to which memory is swapped out.",
    instances: "The paths of the swap areas in the kernel's order, then _Total. No instances without swap.",
    total: "The used part of all swap areas together.",
    repeats: None,
    counters: &[
        CounterInfo::row(USAGE, "% Usage", CounterType::RAW_FRACTION, "%", 0, "/proc/swaps: Used, Size",
            "The part of the swap area that is in use.").base(2),
        CounterInfo::companion(2, "% Usage Base", CounterType::RAW_BASE),
    ],
};

struct PagingFile {
    info: Arc<CounterSetInfo>,
    swaps: OpenFile,
    areas: Vec<Area>,
    total: Arc<InstanceKey>,
    malformed: Arc<str>,
}

struct Area {
    /// The name as written in the file.
    written: Box<[u8]>,
    key: Arc<InstanceKey>,
}

/// The provider, if `/proc/swaps` can be read.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let path = roots.proc.join("swaps");
    let malformed = format!("{}: the line of a swap area is malformed", path.display()).into();
    let mut swaps = OpenFile::new(path);
    let is_readable = swaps.is_readable();
    is_readable.then(|| -> Box<dyn Provider> {
        let total = Arc::new(InstanceKey::new("_Total", u32::MAX >> 1, 0).reserved());
        Box::new(PagingFile { info: TABLE.info(), swaps, areas: Vec::new(), total, malformed })
    })
}

impl Provider for PagingFile {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let text = self.swaps.read_or_fail()?;
        // The first line has the names of the columns.
        let lines = text.split_inclusive(|&byte| byte == b'\n').skip(1);
        let mut total = Some((0_u64, 0_u64));
        let mut count = 0;
        for line in lines {
            let Some(name) = words(line.trim_ascii_end()).next() else { continue };
            if self.areas.get(count).is_none_or(|area| *area.written != *name) {
                self.areas.truncate(count);
                let id = count as u32;
                let key = Arc::new(InstanceKey::new(String::from_utf8_lossy(&unescape(name)), id, 0));
                self.areas.push(Area { written: name.into(), key });
            }
            let usage = line.strip_suffix(b"\n").and_then(usage);
            total = total
                .zip(usage)
                .map(|(sum, more)| (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1)));
            let key = &self.areas[count].key;
            push(rows, key, usage, &self.malformed);
            count += 1;
        }
        self.areas.truncate(count);
        if count > 0 {
            push(rows, &self.total, total, &self.malformed);
        }
        Ok(())
    }
}

fn push(rows: &mut Rows, key: &Arc<InstanceKey>, usage: Option<(u64, u64)>, malformed: &Arc<str>) {
    if !rows.wants_instance(key.full_name(), key.id()) {
        return;
    }
    let mut row = rows.push(key);
    match usage {
        Some((used, size)) => row.set_with_base(USAGE, used, size),
        None => row.fail(USAGE, malformed),
    }
}

/// The used bytes and the size in bytes, from a line `name type size used priority`.
fn usage(line: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = words(line).skip(2).map(parse_number);
    let (size, used) = (numbers.next()??, numbers.next()??);
    // `used` is complete only if another column follows.
    numbers.next()?;
    Some((used.saturating_mul(1024), size.saturating_mul(1024)))
}
