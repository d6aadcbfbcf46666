//! The baseline of a collection: a loop that reads the same open files of the same processes and ignores the content.

#![allow(unreachable_pub, reason = "shared by programs")]

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::{Child, Command, Stdio};

/// Processes that sleep until this is dropped.
#[derive(Debug)]
pub struct Sleepers(Vec<Child>);

impl Sleepers {
    /// Starts processes and waits until all are asleep.
    pub fn start(count: usize) -> Self {
        let start = |_| {
            let mut command = Command::new("sleep");
            command
                .arg("3600")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .expect("sleep is installed")
        };
        let sleepers = Self((0..count).map(start).collect());
        for child in &sleepers.0 {
            let is_asleep = || {
                let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
                text.contains("(sleep) S")
            };
            while !is_asleep() {
                std::thread::yield_now();
            }
        }
        sleepers
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The open files of all processes.
#[derive(Debug)]
pub struct Bare {
    files: Vec<File>,
    folders: Vec<File>,
    buffer: Vec<u8>,
}

impl Bare {
    /// Opens the files `names` and the folders `folders` in /proc of all processes.
    pub fn open(names: &[&str], folders: &[&str]) -> Self {
        let processes = processes();
        let open = |names: &[&str]| {
            let path =
                |pid: &u32| names.iter().map(move |name| format!("/proc/{pid}/{name}")).collect::<Vec<_>>();
            processes.iter().flat_map(path).filter_map(|path| File::open(path).ok()).collect()
        };
        Self { files: open(names), folders: open(folders), buffer: vec![0; 8192] }
    }

    /// Reads all files, and the sizes of all folders, once; returns the sum of the sizes.
    pub fn read(&mut self) -> usize {
        let mut bytes = 0;
        for file in &self.files {
            bytes += file.read_at(&mut self.buffer, 0).unwrap_or_default();
        }
        for folder in &self.folders {
            bytes += folder.metadata().map_or(0, |data| data.size() as usize);
        }
        bytes
    }
}

/// The ids of all processes.
pub fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
