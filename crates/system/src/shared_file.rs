//! Files that several counter sets parse, read once per collection.

use tachograph_perflib::{Failure, Reading, SharedReading, Timestamps};

use crate::open_file::OpenFile;
use crate::roots::Roots;

impl Reading for OpenFile {
    fn read(&mut self, _at: Timestamps) -> Result<(), Failure> {
        self.read_or_fail().map(drop)
    }
}

/// The files that count interrupts.
#[derive(Clone, Debug)]
pub(crate) struct InterruptFiles {
    /// `/proc/interrupts`. The kernel takes up to 100 us to write it, more than any other file of a sample.
    pub(crate) interrupts: SharedReading<OpenFile>,
    /// `/proc/softirqs`.
    pub(crate) softirqs: SharedReading<OpenFile>,
}

impl InterruptFiles {
    /// The files of a machine.
    pub(crate) fn new(roots: &Roots) -> Self {
        Self {
            interrupts: SharedReading::new(OpenFile::new(roots.proc.join("interrupts"))),
            softirqs: SharedReading::new(OpenFile::in_one_piece(roots.proc.join("softirqs"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Machine, at, collect, first_value};

    /// A machine with one processor, on which each of the files has this count.
    fn write(machine: &Machine, count: u32) {
        machine.write("proc/interrupts", format!("      CPU0\nLOC: {count} Local timer interrupts\n"));
        machine.write("proc/softirqs", format!("      CPU0\n HI: {count}\n"));
    }

    #[test]
    fn all_sets_of_a_collection_have_the_same_counts() {
        let machine = Machine::new(&[("proc/stat", "cpu0 1 1 1 1 1 1 1\n")]);
        write(&machine, 5);
        let mut sets = crate::providers(&machine.roots);
        let mut counts = |moment| {
            let mut count = |set: &str, instance: &str, counter: &str| {
                let provider = sets.iter_mut().find(|provider| &*provider.info().name == set).expect("a set");
                let counters = &provider.info().counters;
                let id = counters.iter().find(|info| &*info.name == counter).expect("a counter").id;
                let count = first_value(&collect(&mut **provider, moment), instance, id);
                // The files change between the sets of a collection.
                write(&machine, count as u32 + 100);
                count
            };
            [
                count("Processor Information", "_Total", "Interrupts/sec"),
                count("Interrupt", "_Total", "Interrupts/sec"),
                count("SoftIRQ", "HI", "SoftIRQs/sec"),
            ]
        };
        assert_eq!(counts(at(1)), [5, 5, 5]);
        assert_eq!(counts(at(2)), [105, 105, 105]);
    }
}
