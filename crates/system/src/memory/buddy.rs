//! `Buddy Allocator`, from `/proc/buddyinfo`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use crate::open_file::OpenFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{lines, parse_number, words};
use crate::table::{CounterInfo, SetTable};

const BLOCKS: u32 = 1;
const FREE: u32 = 2;
const USABLE: u32 = 3;

#[rustfmt::skip]
pub(super) const TABLE: SetTable = SetTable {
    name: "Buddy Allocator",
    guid: 0xcdc5eb23_0352_501e_8249_c964d6580019,
    instance_type: InstanceType::Multiple,
    help: "Free memory of all zones and nodes, by the size of its contiguous blocks. Large blocks are needed for huge \
           pages and for some drivers; memory without them is fragmented.",
    instances: "The orders: a block of order n has 2^n pages. Usually 0 to 10.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(BLOCKS, "Free Blocks", CounterType::LARGE_RAWCOUNT, "", 0, "/proc/buddyinfo",
            "Free blocks of exactly this order, not part of a larger free block."),
        CounterInfo::row(FREE, "Free Bytes", CounterType::LARGE_RAWCOUNT, "bytes", 0, "/proc/buddyinfo",
            "The size of the free blocks of this order."),
        CounterInfo::row(USABLE, "Usable Bytes", CounterType::LARGE_RAWCOUNT, "bytes", 0, "/proc/buddyinfo",
            "Free memory for requests of this order: the size of the free blocks of this order and of larger ones."),
    ],
};

/// The maximum number of orders.
const MAX_ORDERS: usize = 32;

struct Buddy {
    info: Arc<CounterSetInfo>,
    file: OpenFile,
    page_bytes: u64,
    /// The instances.
    orders: Vec<Arc<InstanceKey>>,
    malformed: Arc<str>,
}

/// The provider, if the file can be read.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let mut file = OpenFile::new(roots.proc.join("buddyinfo"));
    let orders = file.read().ok().and_then(sums)?.count;
    let malformed = format!("{}: malformed", file.path().display()).into();
    let orders = (0..orders as u32).map(|order| Arc::new(InstanceKey::new(order.to_string(), order, 0)));
    let orders = orders.collect();
    Some(Box::new(Buddy { info: TABLE.info(), file, page_bytes: roots.page_bytes, orders, malformed }))
}

impl Provider for Buddy {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let sums = sums(self.file.read_or_fail()?);
        let blocks = sums.map(|sums| sums.blocks);
        for (order, key) in self.orders.iter().enumerate() {
            if !rows.wants_instance(key.full_name(), key.id()) {
                continue;
            }
            let mut row = rows.push(key);
            let Some(blocks) = blocks else {
                row.fail_all([BLOCKS, FREE, USABLE], &self.malformed);
                continue;
            };
            let bytes =
                |order: usize| blocks[order].saturating_mul(self.page_bytes).saturating_mul(1 << order);
            row.set(BLOCKS, blocks[order]);
            row.set(FREE, bytes(order));
            row.set(USABLE, (order..MAX_ORDERS).map(bytes).fold(0, u64::saturating_add));
        }
        Ok(())
    }
}

/// The free blocks of each order.
#[derive(Clone, Copy)]
struct Sums {
    blocks: [u64; MAX_ORDERS],
    /// The number of orders.
    count: usize,
}

/// Sums the lines `Node 0, zone   Normal  10830  15195 ...`; `None` if a line is malformed or there are no lines.
fn sums(text: &[u8]) -> Option<Sums> {
    let mut sums = Sums { blocks: [0; MAX_ORDERS], count: 0 };
    let (whole, unfinished) = split_complete_lines(text);
    for line in lines(whole) {
        let mut count = 0;
        for (sum, word) in sums.blocks.iter_mut().zip(words(line).skip(4)) {
            *sum = sum.saturating_add(parse_number(word)?);
            count += 1;
        }
        sums.count = sums.count.max(count);
    }
    (sums.count > 0 && unfinished.is_empty()).then_some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, collect, first_value, names, value};

    #[test]
    fn free_memory_is_listed_by_order() {
        let text = "Node 0, zone      DMA      1      0      3 \nNode 0, zone   Normal  10 20 30 \n";
        let machine = Machine::new(&[("proc/buddyinfo", text)]);
        let mut set = provider(&machine.roots).expect("the file");
        let rows = collect(&mut *set, at(1));
        assert_eq!(names(&rows), ["0", "1", "2"]);
        let values_of = |id| ["0", "1", "2"].map(|name| first_value(&rows, name, id));
        assert_eq!(values_of(1), [11, 20, 33]);
        assert_eq!(values_of(2), [11 * 4096, 20 * 8192, 33 * 16384]);
        assert_eq!(values_of(3), [11 * 4096 + 20 * 8192 + 33 * 16384, 20 * 8192 + 33 * 16384, 33 * 16384]);
        for broken in [&text[..text.len() - 1], "", "Node 0, zone Normal 1 x 3\n"] {
            machine.write("proc/buddyinfo", broken);
            assert!(!value(&collect(&mut *set, at(2)), "0", 1).status.is_good(), "{broken:?}");
        }
    }
}
