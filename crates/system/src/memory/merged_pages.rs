//! `Kernel Samepage Merging`, from `/sys/kernel/mm/ksm`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::Provider;
use tachograph_perflib::registration::InstanceType;

use crate::counter_folder::{self, CounterFolder, FileCounter, bytes, counter};
use crate::roots::Roots;
use crate::table::{CounterInfo, SetTable};

#[rustfmt::skip]
pub(super) const TABLE: SetTable = SetTable {
    name: "Kernel Samepage Merging",
    guid: 0xf6ff7cba_7132_5d69_988a_5ee858a4a693,
    instance_type: InstanceType::Single,
    help: "Pages with equal content that the kernel has merged (KSM), usually of virtual machines.",
    instances: "",
    total: "",
    repeats: None,
    counters: &[
        row(1, "Shared Pages", CounterType::LARGE_RAWCOUNT, "", "/sys/kernel/mm/ksm/pages_shared",
            "Merged pages, each of which replaces several."),
        row(2, "Sharing Pages", CounterType::LARGE_RAWCOUNT, "", "/sys/kernel/mm/ksm/pages_sharing",
            "Pages that were saved by merging."),
        row(3, "Saved Bytes", CounterType::LARGE_RAWCOUNT, "bytes", "/sys/kernel/mm/ksm/pages_sharing",
            "Memory that was saved by merging, without what KSM needs itself."),
        row(4, "Unshared Pages", CounterType::LARGE_RAWCOUNT, "", "/sys/kernel/mm/ksm/pages_unshared",
            "Pages with unique content that are compared again and again."),
        row(5, "Volatile Pages", CounterType::LARGE_RAWCOUNT, "", "/sys/kernel/mm/ksm/pages_volatile",
            "Pages that change too fast to be merged."),
        row(6, "Zero Pages", CounterType::LARGE_RAWCOUNT, "", "/sys/kernel/mm/ksm/ksm_zero_pages",
            "Empty pages that were replaced by the kernel's zero page (use_zero_pages)."),
        row(7, "Full Scans/sec", CounterType::BULK_COUNT, "1/s", "/sys/kernel/mm/ksm/full_scans",
            "Complete scans of the memory that programs offer for merging."),
        row(8, "Running", CounterType::RAWCOUNT, "", "/sys/kernel/mm/ksm/run",
            "1 while KSM runs, 0 if it is stopped, 2 if it was stopped and has unmerged all pages."),
    ],
};

const fn row(
    id: u32,
    name: &'static str,
    counter_type: CounterType,
    unit: &'static str,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, counter_type, unit, 0, source, help)
}

const COUNTERS: &[FileCounter] = &[
    counter(1, "pages_shared"),
    counter(2, "pages_sharing"),
    bytes(3, "pages_sharing"),
    counter(4, "pages_unshared"),
    counter(5, "pages_volatile"),
    counter(6, "ksm_zero_pages"),
    counter(7, "full_scans"),
    counter(8, "run"),
];

/// The provider, if the kernel can merge pages.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let folder = roots.sys.join("kernel/mm/ksm");
    let folder = CounterFolder::new(Arc::default(), &folder, roots.page_bytes, COUNTERS);
    counter_folder::provider(&TABLE, COUNTERS, vec![folder])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, collect, first_value};

    #[test]
    fn every_counter_of_merged_pages_has_its_value() {
        let folder = "sys/kernel/mm/ksm";
        let files =
            ["pages_shared", "pages_sharing", "pages_unshared", "pages_volatile", "full_scans", "run"];
        let machine = Machine::new(&[]);
        for (number, file) in (10..).zip(files) {
            machine.write(&format!("{folder}/{file}"), format!("{number}\n"));
        }
        let rows = collect(&mut *provider(&machine.roots).expect("the folder"), at(1));
        assert_eq!(
            [1, 2, 3, 4, 5, 7, 8].map(|id| first_value(&rows, "", id)),
            [10, 11, 11 * 4096, 12, 13, 14, 15]
        );
        assert!(rows.info().position(6).is_none(), "this kernel does not count zero pages");
    }
}
