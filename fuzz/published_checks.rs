//! Checks of the reader of published files that hold for any bytes: it terminates within its bounds, even if the bytes
//! change between two collections. They also run on the checked-in seeds as a plain test
//! (crates/perflib/tests/published/).

#![allow(dead_code, unreachable_pub, reason = "each target uses a part of this module")]

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_perflib::published::{MAX_INSTANCES, MAX_VALUES, Published};
use tachograph_perflib::{Clock, Query, Registry};

thread_local! {
    static FOLDER: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// The folder of this thread, created once.
fn folder() -> PathBuf {
    FOLDER.with_borrow_mut(|folder| {
        let create = || {
            let name = format!("tacho-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).expect("a folder");
            path
        };
        folder.get_or_insert_with(create).clone()
    })
}

/// Reads bytes as a published file with a live writer, also after some of them have changed. Returns the initial
/// number of rows.
pub fn published(data: &[u8]) -> usize {
    let folder = folder();
    let path = folder.join("fuzzed.tacho");
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, data).expect("a file");
    // The holder of the write lock is the writer. The lock belongs to the open file, as in real writers, because a lock
    // of the process would be released when the reader closes a descriptor of the file.
    let writer: File = OpenOptions::new().read(true).write(true).open(&path).expect("the file");
    let whole = nix::libc::flock {
        l_type: nix::libc::F_WRLCK as nix::libc::c_short,
        l_whence: nix::libc::SEEK_SET as nix::libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_OFD_SETLK(&whole)).expect("the lock");
    let sets = Published::in_folders(vec![folder]);
    let mut registry = Registry::new("HERE", Clock::of_this_machine());
    sets.add_to(&mut registry, None);
    let registry = Arc::new(registry);
    for guid in registry.enumerate() {
        let _ = registry.instances(guid);
        let _ = registry.publishers(guid);
    }
    let mut query = Query::open(&registry, None).expect("a query");
    for pattern in [r"\*(*)\*", r"\*\*"] {
        query.add_path(&PathPattern::parse(pattern).expect("a path"));
    }
    collect(&mut query);
    let rows = query.sets().iter().map(|set| set.rows().instances().len()).sum();
    // Overwrite bytes, like a faulty writer.
    let half = data.len() / 2;
    let _ = writer.write_all_at(&data[half..], (half / 2) as u64);
    collect(&mut query);
    let _ = writer.set_len(half as u64);
    collect(&mut query);
    let mut block = Vec::new();
    let _ = query.data(&mut block);
    drop(writer);
    collect(&mut query);
    assert!(query.sets().iter().all(|set| set.rows().instances().is_empty()), "its writer is gone");
    rows
}

fn collect(query: &mut Query) {
    query.collect();
    for set in query.sets() {
        let rows = set.rows();
        assert!(rows.instances().len() <= MAX_INSTANCES + 1);
        assert_eq!(rows.all_values().len(), rows.instances().len() * rows.width());
        assert!(rows.all_values().len() <= MAX_VALUES + 2 * rows.width());
    }
}
