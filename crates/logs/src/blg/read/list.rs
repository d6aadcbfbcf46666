//! Checks of the counter list that are not needed to decode it.

use std::ops::Range;

use tachograph_counters::CounterType;

use crate::Problem;
use crate::blg::raw::list::{CounterList, Entry, FLAG_BLOCK, NO_NAME};
use crate::blg::raw::utf16_until_nul;

/// Bytes of an entry before its strings.
const HEAD_BYTES: usize = 0x34;
/// Gap that Windows Vista leaves before the strings of some entries.
const VISTA_GAP: usize = 4;
/// Maximum padding after the strings: up to 7 bytes of alignment, and up to 8 added by older versions of Windows.
const MAX_PADDING: usize = 15;

/// Reports the inconsistencies in the payload of a counter list; offsets are relative to the payload.
///
/// Counter types must be known. The strings of an entry must be adjacent, followed only by zeros.
pub(super) fn check(payload: &[u8], mut report: impl FnMut(Problem)) {
    let Ok((list, _)) = CounterList::decode(payload, 0) else { return };
    let mut at = 8;
    for entry in &list.entries {
        let size = entry.head.size.get() as usize;
        let bytes = payload.get(at..at + size).unwrap_or_default();
        if let Some(problem) = check_entry(entry, bytes) {
            report(Problem { offset: problem.offset + at as u64, ..problem });
        }
        at += size;
    }
}

fn check_entry(entry: &Entry, bytes: &[u8]) -> Option<Problem> {
    let counter_type = CounterType(entry.head.counter_type.get());
    if entry.head.flags.get() & FLAG_BLOCK == 0 && !counter_type.is_known() {
        let problem = Problem::new(0x0C, "unknown counter type");
        return Some(
            problem
                .found(format_args!("{:#010x}", counter_type.0), "a type defined in winperf.h")
                .into_warning(),
        );
    }
    let strings = bytes.get(HEAD_BYTES..).unwrap_or_default();
    let head = &entry.head;
    let fields = [
        (0x1C, head.machine),
        (0x20, head.object),
        (0x24, head.instance),
        (0x28, head.parent),
        (0x30, head.counter),
    ];
    let mut ranges: Vec<(u64, Range<usize>)> = Vec::new();
    for (field, offset) in fields.into_iter().filter(|(_, offset)| offset.get() != NO_NAME) {
        let start = offset.get() as usize;
        let Some(rest) = strings.get(start..).filter(|rest| !rest.is_empty()) else {
            let problem = Problem::new(field, "the offset of a name is outside its counter list entry");
            return Some(problem.found(start, format!("below {}", strings.len())));
        };
        ranges.push((field, start..start + utf16_until_nul(rest).1));
    }
    ranges.sort_by_key(|(_, range)| range.start);
    let mut end = ranges.first().map_or(0, |(_, first)| if first.start == VISTA_GAP { VISTA_GAP } else { 0 });
    for (field, range) in ranges {
        if range.start != end {
            let problem = Problem::new(field, "the names of a counter list entry are not adjacent");
            return Some(problem.found(range.start, end.to_string()));
        }
        end = range.end;
    }
    let padding = strings.get(end..).unwrap_or_default();
    let wrong = padding.iter().position(|&byte| byte != 0).or((padding.len() > MAX_PADDING).then_some(0))?;
    let problem = Problem::new(
        (HEAD_BYTES + end + wrong) as u64,
        "a counter list entry has extra bytes after its names",
    );
    Some(problem.found(padding.len(), format!("at most {MAX_PADDING} zeros")))
}
