//! `Huge Page`, from `/sys/kernel/mm/hugepages`.

use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::InstanceType;
use tachograph_perflib::{InstanceKey, Provider};

use crate::counter_folder::{self, CounterFolder, FileCounter, bytes, counter};
use crate::folder::sorted_entries;
use crate::roots::Roots;
use crate::scan::parse_number;
use crate::table::{CounterInfo, SetTable};

#[rustfmt::skip]
pub(super) const TABLE: SetTable = SetTable {
    name: "Huge Page",
    guid: 0xe768eb8d_cdbf_56c3_8326_c93f083aab21,
    instance_type: InstanceType::Multiple,
    help: "Huge pages that the administrator reserved (hugetlbfs), by size. Transparent huge pages are not included.",
    instances: "The sizes that the processor supports, such as 2048kB and 1048576kB, by size.",
    total: "",
    repeats: None,
    counters: &[
        row(1, "Pages", "", "/sys/kernel/mm/hugepages/hugepages-*/nr_hugepages", "Huge pages that exist, used or not."),
        row(2, "Total Bytes", "bytes", "/sys/kernel/mm/hugepages/hugepages-*/nr_hugepages", "The size of all huge pages. This memory counts as used."),
        row(3, "Free Pages", "", "/sys/kernel/mm/hugepages/hugepages-*/free_hugepages", "Huge pages that no program uses, including reserved ones."),
        row(4, "Free Bytes", "bytes", "/sys/kernel/mm/hugepages/hugepages-*/free_hugepages", "The size of the free huge pages."),
        row(5, "Reserved Pages", "", "/sys/kernel/mm/hugepages/hugepages-*/resv_hugepages",
            "Free huge pages that were promised to programs which have not touched them yet."),
        row(6, "Surplus Pages", "", "/sys/kernel/mm/hugepages/hugepages-*/surplus_hugepages",
            "Huge pages beyond the configured number, which are released when programs no longer use them."),
    ],
};

const fn row(
    id: u32,
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, unit, 0, source, help)
}

const COUNTERS: &[FileCounter] = &[
    counter(1, "nr_hugepages"),
    bytes(2, "nr_hugepages"),
    counter(3, "free_hugepages"),
    bytes(4, "free_hugepages"),
    counter(5, "resv_hugepages"),
    counter(6, "surplus_hugepages"),
];

/// The provider, if the kernel has huge pages. Their sizes do not change while it runs.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let parent = roots.sys.join("kernel/mm/hugepages");
    let size = |name: &String| {
        let size = name.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        Some((parse_number(size.as_bytes())?, parent.join(name)))
    };
    let mut sizes: Vec<(u64, PathBuf)> = sorted_entries(&parent).ok()?.iter().filter_map(size).collect();
    sizes.sort();
    let folder = |(index, (kilobytes, folder)): (usize, &(u64, PathBuf))| {
        let key = InstanceKey::new(format!("{kilobytes}kB"), index as u32, 0);
        CounterFolder::new(Arc::new(key), folder, kilobytes.saturating_mul(1024), COUNTERS)
    };
    counter_folder::provider(&TABLE, COUNTERS, sizes.iter().enumerate().map(folder).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

    #[test]
    fn huge_pages_are_listed_by_size() {
        let mut files = Vec::new();
        for (size, total, free) in [(1_048_576, 2, 1), (2048, 64, 10)] {
            let folder = format!("sys/kernel/mm/hugepages/hugepages-{size}kB");
            for (name, number) in [("nr", total), ("free", free), ("resv", 3), ("surplus", 4)] {
                files.push((format!("{folder}/{name}_hugepages"), format!("{number}\n")));
            }
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let machine = Machine::new(&files);
        check_idle(&machine, "", &mut *provider(&machine.roots).expect("huge pages"));
        let mut set = provider(&machine.roots).expect("huge pages");
        let rows = collect(&mut *set, at(1));
        assert_eq!(names(&rows), ["2048kB", "1048576kB"]);
        let values_of = |name| [1, 2, 3, 4, 5, 6].map(|id| first_value(&rows, name, id));
        assert_eq!(values_of("2048kB"), [64, 64 << 21, 10, 10 << 21, 3, 4]);
        assert_eq!(values_of("1048576kB"), [2, 2 << 30, 1, 1 << 30, 3, 4]);
        machine.write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "x\n");
        let rows = collect(&mut *set, at(2));
        assert!(!value(&rows, "2048kB", 4).status.is_good());
        assert_eq!(first_value(&rows, "2048kB", 2), 64 << 21);
        assert!(
            rows.errors()[0].reason.contains("free_hugepages: unexpected content: \"x\\n\""),
            "{:?}",
            rows.errors()
        );
    }
}
