//! The online processors.

use std::io;

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan;

/// The online processors, re-read from a file that stays open.
#[derive(Debug)]
pub struct OnlineProcessors {
    file: OpenFile,
    ids: Vec<u32>,
}

impl OnlineProcessors {
    /// Creates a reader; nothing is read yet.
    pub fn new(roots: &Roots) -> Self {
        Self { file: OpenFile::new(roots.sys.join("devices/system/cpu/online")), ids: Vec::new() }
    }

    /// Reads the ids of the online processors, sorted.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read(&mut self) -> io::Result<&[u32]> {
        scan::parse_number_list_into(self.file.read()?, &mut self.ids);
        Ok(&self.ids)
    }
}

/// Parses a list of ids as in sysfs files, such as `0-3,8,10-11`. Returns up to 65,536 ids.
pub fn processor_list(text: &[u8]) -> Vec<u32> {
    scan::parse_number_list(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn the_list_is_reread() {
        let machine = Machine::new(&[("sys/devices/system/cpu/online", "0-2,5\n")]);
        let mut online = OnlineProcessors::new(&machine.roots);
        assert_eq!(online.read().expect("read"), [0, 1, 2, 5]);
        machine.write("sys/devices/system/cpu/online", "0,2\n");
        assert_eq!(online.read().expect("read"), [0, 2]);
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let machine = Machine::new(&[]);
        assert!(OnlineProcessors::new(&machine.roots).read().is_err());
    }
}
