//! The ranges of a file that are read are those that were announced.

use std::cell::RefCell;
use std::io::{self, Cursor};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use tachograph_logs::archive::{
    ARCHIVE_COLUMNS, ArchiveRows, ReadRanges, RowColumn, archive_inputs, complete_files,
};

use super::generated::{TempFolder, recording, write};

/// The announced and the read ranges.
#[derive(Default)]
struct Ranges {
    announced: Vec<Range<u64>>,
    read: Vec<Range<u64>>,
}

/// A file that records which ranges are announced and read.
struct RecordedFile {
    bytes: Cursor<Vec<u8>>,
    ranges: Rc<RefCell<Ranges>>,
}

impl ReadRanges for RecordedFile {
    fn size(&mut self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_ranges(&mut self, ranges: &[Range<u64>], buffer: &mut Vec<u8>) -> io::Result<()> {
        self.ranges.borrow_mut().read.extend_from_slice(ranges);
        self.bytes.read_ranges(ranges, buffer)
    }

    fn prepare(&mut self, ranges: &[Range<u64>]) -> io::Result<()> {
        assert!(ranges.is_sorted_by(|one, next| one.end <= next.start), "{ranges:?}");
        self.ranges.borrow_mut().announced.extend_from_slice(ranges);
        Ok(())
    }
}

fn sorted(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup();
    ranges
}

#[test]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges often has one")]
fn columns_are_read_in_the_announced_ranges() {
    let folder = TempFolder::new();
    write(&folder.0, &recording(1, 290), 400_000);
    let mut skipped_pages = 0;
    for file in complete_files(&archive_inputs(&folder.0).expect("an archive")[0].folder).expect("files") {
        let bytes = std::fs::read(&file.path).expect("a file");
        let size = bytes.len() as u64;
        let ranges = Rc::new(RefCell::new(Ranges::default()));
        let file = RecordedFile { bytes: Cursor::new(bytes), ranges: Rc::clone(&ranges) };
        let mut rows = ArchiveRows::new(file, Path::new("test")).expect("a file of an archive");
        let at_opening = ranges.take();
        let is_announced = |range: &Range<u64>| {
            at_opening.announced.iter().any(|all| all.start <= range.start && range.end <= all.end)
        };
        assert!(at_opening.read.iter().all(is_announced), "{:?} of {size}", at_opening.read);
        let groups: Vec<_> = rows.row_groups().collect();
        for (index, span) in groups.into_iter().enumerate() {
            let group = rows.row_group(index).expect("a row group");
            let last = span.rows - 1;
            for (wanted, columns) in [
                (vec![0..span.rows], &ARCHIVE_COLUMNS[..]),
                (vec![0..1, last..span.rows], &ARCHIVE_COLUMNS[..]),
                (vec![last..span.rows], &[RowColumn::Num, RowColumn::Den, RowColumn::Factor]),
                (vec![0..1], &[RowColumn::Value, RowColumn::Set, RowColumn::Value]),
            ] {
                ranges.take();
                rows.prepare(&group, columns, &wanted).expect("ranges that can be announced");
                for column in columns {
                    rows.column(&group, *column, &wanted).expect("a column");
                }
                let Ranges { announced, read } = ranges.take();
                assert_eq!(announced, sorted(read), "{wanted:?}");
                let bytes: u64 = announced.iter().map(|range| range.end - range.start).sum();
                skipped_pages += u64::from(wanted.len() == 2 && bytes < size / 2);
            }
        }
    }
    assert!(skipped_pages > 0, "no row group has pages that can be skipped");
}
