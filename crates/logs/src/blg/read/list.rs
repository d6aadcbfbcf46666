//! Checks of the counter list beyond what decoding needs.

use std::ops::Range;

use tachograph_counters::CounterType;

use crate::blg::raw::list::{CounterList, Entry, FLAG_BLOCK, NO_NAME};
use crate::blg::raw::utf16_until_nul;
use crate::problem::Problem;

/// Bytes before the strings of an entry.
const HEAD_BYTES: usize = 0x34;
/// Bytes that Windows Vista leaves before the strings of some entries.
const VISTA_GAP: usize = 4;
/// Bytes after the strings: up to 7 to a multiple of 8, and up to 8 that older versions of Windows add.
const MAX_PADDING: usize = 15;

/// Checks the payload of a counter list; offsets of problems count from its start.
///
/// Types are known ones. The strings of an entry follow one another, and only zeros follow them.
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
        let problem = Problem::new(0x0C, "the type of a counter is none that Windows knows");
        return Some(problem.found(format_args!("{:#010x}", counter_type.0), "a type of winperf.h").note());
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
    let mut places: Vec<(u64, Range<usize>)> = Vec::new();
    for (field, offset) in fields.into_iter().filter(|(_, offset)| offset.get() != NO_NAME) {
        let start = offset.get() as usize;
        let Some(rest) = strings.get(start..).filter(|rest| !rest.is_empty()) else {
            let problem = Problem::new(field, "a name of an entry of the counter list lies outside it");
            return Some(problem.found(start, format!("less than {}", strings.len())));
        };
        places.push((field, start..start + utf16_until_nul(rest).1));
    }
    places.sort_by_key(|(_, place)| place.start);
    let mut end = places.first().map_or(0, |(_, first)| if first.start == VISTA_GAP { VISTA_GAP } else { 0 });
    for (field, place) in places {
        if place.start != end {
            let problem =
                Problem::new(field, "the names of an entry of the counter list do not follow one another");
            return Some(problem.found(place.start, end.to_string()));
        }
        end = place.end;
    }
    let padding = strings.get(end..).unwrap_or_default();
    let wrong = padding.iter().position(|&byte| byte != 0).or((padding.len() > MAX_PADDING).then_some(0))?;
    let problem = Problem::new(
        (HEAD_BYTES + end + wrong) as u64,
        "bytes after the names of an entry of the counter list",
    );
    Some(problem.found(padding.len(), format!("at most {MAX_PADDING} zeros")))
}
