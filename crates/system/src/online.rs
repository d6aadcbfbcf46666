//! Which processors are online.

use std::io;

use crate::file::KeptFile;
use crate::{Roots, scan};

/// The processors that are online, read anew each time with the file kept open.
#[derive(Debug)]
pub struct OnlineProcessors {
    file: KeptFile,
    numbers: Vec<u32>,
}

impl OnlineProcessors {
    /// Nothing is read yet.
    pub fn new(roots: &Roots) -> Self {
        Self { file: KeptFile::new(roots.sys.join("devices/system/cpu/online")), numbers: Vec::new() }
    }

    /// Their numbers as they are now, in rising order.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read(&mut self) -> io::Result<&[u32]> {
        scan::fill_number_list(self.file.read()?, &mut self.numbers);
        Ok(&self.numbers)
    }
}

/// The processors of a list as files of sysfs have it: `0-3,8,10-11`. At most 65,536.
pub fn processor_list(text: &[u8]) -> Vec<u32> {
    scan::number_list(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn read_anew() {
        let machine = Machine::new(&[("sys/devices/system/cpu/online", "0-2,5\n")]);
        let mut online = OnlineProcessors::new(&machine.roots);
        assert_eq!(online.read().expect("read"), [0, 1, 2, 5]);
        machine.write("sys/devices/system/cpu/online", "0,2\n");
        assert_eq!(online.read().expect("read"), [0, 2]);
    }

    #[test]
    fn absent() {
        let machine = Machine::new(&[]);
        assert!(OnlineProcessors::new(&machine.roots).read().is_err());
    }
}
