//! Tables are read back; inconsistent ones are rejected.

use super::*;
use proptest::prelude::*;

fn table() -> SampleTable {
    let head = |index: i64| SampleHead {
        at: Moment { utc: FileTime(index * 10_000_000), bias_minutes: 60 },
        is_baseline: index == 0,
        log: 3,
        boot_time: FileTime(5),
        list: u32::from(index == 2),
    };
    let group = |status| GroupHead {
        status,
        read_at: FileTime(0),
        clocks: Clocks { ticks: 9, ..Clocks::default() },
        boot_time: FileTime(0),
    };
    let mut of_all = GroupHeads::default();
    (0..3).for_each(|_| of_all.push(group(Status::VALID_DATA)));
    let mut of_some = GroupHeads::default();
    of_some.push(group(Status::VALID_DATA));
    of_some.push(group(Status::ITEM_NOT_VALIDATED));
    let instance = |name: &str, runs: &[Range<u32>]| InstanceRuns {
        parent: (name == "b").then(|| "parent".to_owned()),
        name: name.to_owned(),
        index: 2,
        runs: runs.to_vec(),
    };
    SampleTable {
        chunks: vec![Chunk { offset: 4, bytes: 10, crc: 7 }, Chunk { offset: 14, bytes: 20, crc: u32::MAX }],
        samples: (0..3).map(head).collect(),
        lists: vec![vec![0, 1], vec![0]],
        slots: vec![Slot { set: 0, heads: of_all }, Slot { set: 1, heads: of_some }],
        instances: vec![
            vec![instance("a", &[0..1, 2..3]), instance("b", &[1..3])],
            vec![instance("c", &[0..1])],
        ],
        sections: vec![
            Section { columns: vec![(0, 1), (0, 0)], instances: 0, is_by_instance: false },
            Section { columns: vec![(1, 0)], instances: 1, is_by_instance: true },
        ],
    }
}

#[test]
fn a_table_is_read_back() {
    let table = table();
    assert_eq!(SampleTable::decode(&table.encode(), &[2, 1], 2, 9), Ok(table));
}

#[test]
fn inconsistent_tables_are_rejected() {
    let refused = |columns: &[usize], rows: usize, change: fn(&mut SampleTable)| {
        let mut table = table();
        change(&mut table);
        assert!(SampleTable::decode(&table.encode(), columns, 2, rows).is_err());
    };
    refused(&[2, 1], 8, |_| {});
    refused(&[3, 1], 9, |_| {});
    refused(&[2], 9, |_| {});
    refused(&[2, 1], 9, |table| table.samples[1].list = 2);
    refused(&[2, 1], 9, |table| table.samples[1].at.bias_minutes = 100_000);
    refused(&[2, 1], 9, |table| table.lists[0].push(1));
    refused(&[2, 1], 9, |table| table.lists[0].push(2));
    refused(&[2, 1], 9, |table| table.sections[0].columns[1] = (0, 1));
    refused(&[2, 1], 9, |table| table.sections[0].columns[1] = (0, 2));
    refused(&[2, 1], 9, |table| table.sections[1].instances = 2);
    refused(&[2, 1], 9, |table| table.sections[0].instances = 1);
    refused(&[2, 1], 9, |table| table.instances[1][0].runs = vec![1..2]);
    refused(&[2, 1], 9, |table| table.instances[0][0].runs = vec![0..1, 3..4]);
    refused(&[2, 1], 9, |table| table.slots[0].set = 7);
    refused(&[2, 1], 9, |table| table.chunks.truncate(1));
    refused(&[usize::MAX, 1], 9, |_| {});
    refused(&[2, 1], 9, |table| table.lists.extend([vec![], vec![]]));
    refused(&[2, 1], 9, |table| table.instances.push(Vec::new()));
    // A section without columns takes time for each group, but adds nothing to the number of rows.
    let mut table = table();
    table.slots.push(Slot { set: 2, heads: GroupHeads::default() });
    table.sections.push(Section { columns: Vec::new(), instances: 1, is_by_instance: false });
    assert!(SampleTable::decode(&table.encode(), &[2, 1, 0], 2, 9).is_err());
    table.sections[2].instances = 2;
    table.instances.push(Vec::new());
    assert!(SampleTable::decode(&table.encode(), &[2, 1, 0], 2, 9).is_ok());
    table.sections.push(table.sections[2].clone());
    assert!(SampleTable::decode(&table.encode(), &[2, 1, 0], 2, 9).is_err());
}

proptest! {
    #[test]
    fn damaged_tables_cause_no_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = table().encode();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = SampleTable::decode(&bytes, &[2, 1], 2, 9);
    }
}
