use std::sync::Arc;
use std::thread;

use tempfile::TempDir;

use super::*;

fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let private = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(private).tempdir().expect("a folder")
}

fn open(folder: &TempDir) -> Queue {
    Queue::open(folder.path(), MIN_BYTES).expect("a queue")
}

/// Pseudo-random bytes, which cannot be compressed.
fn random_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(step).collect()
}

/// Removes and returns all waiting bodies.
fn take_all(queue: &Queue) -> Vec<Vec<u8>> {
    queue.close(Instant::now() + Duration::from_secs(60));
    let mut bodies = Vec::new();
    while let Some(batch) = queue.next(1).expect("readable") {
        queue.remove(&batch).expect("removed");
        bodies.push(batch.body);
    }
    bodies
}

fn segments(folder: &TempDir) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut segments: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "queue")).collect();
    segments.sort();
    segments
}

#[test]
fn bodies_come_out_in_order_and_once() {
    let folder = folder();
    let queue = open(&folder);
    let bodies: Vec<_> = (1..=20).map(|seed| random_bytes(seed, 1000 * seed as usize)).collect();
    for body in &bodies {
        queue.push(body, 1).expect("written");
    }
    assert_eq!(queue.backlog().samples, 20);
    assert_eq!(take_all(&queue), bodies);
    assert_eq!(queue.backlog(), Backlog::default());
    queue.remove_sent_segments().expect("removed");
    assert_eq!(segments(&folder), Vec::<PathBuf>::new());
}

#[test]
fn a_batch_joins_bodies_and_counts_their_samples() {
    let folder = folder();
    let queue = open(&folder);
    for (body, samples) in [(&b"one"[..], 0), (b"two", 1), (b"three", 1)] {
        queue.push(body, samples).expect("written");
    }
    let batch = queue.next(usize::MAX).expect("readable").expect("a batch");
    assert_eq!((&batch.body[..], batch.samples, batch.entries), (&b"onetwothree"[..], 2, 3));
    // The batch stays in the queue until it is removed.
    let again = queue.next(usize::MAX).expect("readable").expect("a batch");
    assert_eq!(again.body, batch.body);
    queue.remove(&again).expect("removed");
    // Removing the batch twice does not remove what follows it.
    queue.push(b"four", 1).expect("written");
    queue.remove(&again).expect("nothing");
    assert_eq!(take_all(&queue), [b"four"]);
}

#[test]
fn the_next_process_continues_where_the_last_one_stopped() {
    let folder = folder();
    let queue = open(&folder);
    for body in [b"sent", b"left", b"also"] {
        queue.push(body, 1).expect("written");
    }
    let first = queue.next(1).expect("readable").expect("a batch");
    queue.remove(&first).expect("removed");
    assert!(matches!(Queue::open(folder.path(), MIN_BYTES), Err(ExportError::QueueInUse(_))));
    drop(queue);
    let queue = open(&folder);
    assert_eq!(queue.backlog().samples, 2);
    queue.push(b"new.", 1).expect("written");
    assert_eq!(take_all(&queue), [b"left", b"also", b"new."]);
    queue.remove_sent_segments().expect("removed");
    drop(queue);
    // The new segment gets a new id. With an old id, the old file `position` would apply to the segment.
    let queue = open(&folder);
    queue.push(b"next", 1).expect("written");
    drop(queue);
    assert_eq!(take_all(&open(&folder)), [b"next"]);
}

#[test]
fn every_truncation_of_a_segment_keeps_the_complete_entries() {
    let folder = folder();
    let bodies: Vec<_> = (1..=3).map(|seed| random_bytes(seed, 40)).collect();
    let queue = open(&folder);
    let mut ends = Vec::new();
    for body in &bodies {
        queue.push(body, 1).expect("written");
        ends.push(queue.backlog().bytes);
    }
    drop(queue);
    let [segment] = &segments(&folder)[..] else { panic!("one segment") };
    let whole = fs::read(segment).expect("readable");
    for cut in 0..=whole.len() {
        fs::write(segment, &whole[..cut]).expect("written");
        let entries = ends.iter().filter(|&&end| end <= cut as u64).count();
        let queue = open(&folder);
        queue.push(b"after", 1).expect("written");
        let mut expected = bodies[..entries].to_vec();
        expected.push(b"after".to_vec());
        assert_eq!(take_all(&queue), expected, "cut at {cut}");
        drop(queue);
        for file in segments(&folder).iter().chain([&folder.path().join("position")]) {
            let _ = fs::remove_file(file);
        }
    }
}

#[test]
fn every_flipped_bit_is_detected() {
    let folder = folder();
    let queue = open(&folder);
    queue.push(b"the first body", 1).expect("written");
    queue.push(b"the second body", 1).expect("written");
    drop(queue);
    let [segment] = &segments(&folder)[..] else { panic!("one segment") };
    let whole = fs::read(segment).expect("readable");
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(segment, &damaged).expect("written");
        let queue = open(&folder);
        let bodies = take_all(&queue);
        assert!(bodies.len() < 2, "bit {bit}");
        assert!(bodies.iter().all(|body| body == b"the first body"), "bit {bit}");
        drop(queue);
        for file in segments(&folder).iter().chain([&folder.path().join("position")]) {
            let _ = fs::remove_file(file);
        }
    }
}

#[test]
fn a_full_queue_drops_the_oldest_samples_and_counts_them() {
    let folder = folder();
    let queue = open(&folder);
    // 24 MiB into a queue of 16 MiB.
    for seed in 1..=24 {
        queue.push(&random_bytes(seed, 1 << 20), 1).expect("written");
        assert!(queue.backlog().bytes <= MIN_BYTES, "after {seed}");
    }
    let dropped = queue.take_dropped();
    assert!(dropped >= 8, "{dropped}");
    assert_eq!(queue.backlog().samples, 24 - dropped);
    let bodies = take_all(&queue);
    assert_eq!(bodies.first(), Some(&random_bytes(dropped + 1, 1 << 20)), "without a gap");
    assert_eq!(bodies.len() as u64, 24 - dropped);
}

#[test]
fn removing_a_dropped_batch_removes_nothing_else() {
    let folder = folder();
    let queue = open(&folder);
    queue.push(&random_bytes(1, 1 << 20), 1).expect("written");
    let batch = queue.next(1).expect("readable").expect("a batch");
    for seed in 2..=24 {
        queue.push(&random_bytes(seed, 1 << 20), 1).expect("written");
    }
    let waiting = queue.backlog();
    queue.remove(&batch).expect("nothing");
    assert_eq!(queue.backlog(), waiting);
}

#[test]
fn a_concurrent_reader_gets_everything() {
    let folder = folder();
    let queue = Arc::new(open(&folder));
    let reader = thread::spawn({
        let queue = Arc::clone(&queue);
        move || {
            let mut received = Vec::new();
            while let Some(batch) = queue.next(usize::MAX).expect("readable") {
                received.extend_from_slice(&batch.body);
                queue.remove(&batch).expect("removed");
            }
            received
        }
    });
    let mut expected = Vec::new();
    for number in 0..5_000_u32 {
        queue.push(&number.to_le_bytes(), 1).expect("written");
        expected.extend_from_slice(&number.to_le_bytes());
    }
    queue.close(Instant::now() + Duration::from_secs(60));
    assert!(reader.join().expect("no panic") == expected, "other bytes");
    assert_eq!(queue.take_dropped(), 0);
}

#[test]
fn a_new_folder_has_mode_700() {
    use std::os::unix::fs::MetadataExt as _;
    let parent = folder();
    let path = parent.path().join("new/queue");
    let _queue = Queue::open(&path, 0).expect("a queue");
    for folder in [&path, &parent.path().join("new")] {
        assert_eq!(fs::metadata(folder).expect("a folder").mode() & 0o777, 0o700);
    }
}

#[test]
fn a_folder_in_which_others_can_rename_files_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = folder();
    for (mode, is_refused) in [(0o777, true), (0o720, true), (0o755, false), (0o1777, false)] {
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(mode)).expect("changed");
        let opened = Queue::open(&parent.path().join("queue"), 0);
        assert_eq!(opened.is_err(), is_refused, "{mode:o}: {opened:?}");
    }
}

/// Writing to /dev/full fails like writing to a file on a full disk.
#[test]
fn a_sent_segment_makes_room_on_a_full_disk() {
    let folder = folder();
    let queue = open(&folder);
    let fill_disk = || {
        let full = fs::File::options().append(true).open("/dev/full").expect("a device");
        queue.state.lock().expect("not poisoned").writer = Some(full);
    };
    queue.push(b"sent", 1).expect("written");
    let batch = queue.next(usize::MAX).expect("readable").expect("a batch");
    queue.remove(&batch).expect("removed");
    let sent = segments(&folder);
    fill_disk();
    queue.push(b"unsent", 1).expect("written to a new segment");
    assert!(!sent[0].exists(), "{:?}", segments(&folder));
    // A segment that was not sent stays.
    fill_disk();
    queue.push(b"dropped", 1).expect_err("no room");
    assert_eq!(take_all(&queue), [b"unsent"]);
    assert_eq!(queue.take_dropped(), 0);
}

#[test]
fn the_position_in_a_removed_segment_does_not_apply_to_the_next_one() {
    let folder = folder();
    let queue = open(&folder);
    queue.push(&random_bytes(1, 5000), 1).expect("written");
    queue.push(&random_bytes(2, 5000), 1).expect("written");
    let batch = queue.next(usize::MAX).expect("readable").expect("a batch");
    queue.remove(&batch).expect("removed");
    drop(queue);
    // The next process removes the segment, and ends before it takes a sample.
    let queue = open(&folder);
    queue.close(Instant::now() + Duration::from_secs(60));
    assert!(queue.next(usize::MAX).expect("readable").is_none());
    drop(queue);
    assert_eq!(segments(&folder), Vec::<PathBuf>::new());
    let queue = open(&folder);
    queue.push(b"short", 1).expect("written");
    assert_eq!(queue.backlog().samples, 1);
    assert!(queue.backlog().bytes > 0);
    assert_eq!(take_all(&queue), [b"short"]);
}

#[test]
fn an_unreadable_segment_is_dropped() {
    let folder = folder();
    fs::create_dir(folder.path().join("0000000001.queue")).expect("a folder");
    let queue = open(&folder);
    queue.push(b"after", 1).expect("written");
    assert_eq!(take_all(&queue), [b"after"]);
}

#[test]
fn a_folder_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = folder();
    let path = parent.path().join("queue");
    fs::create_dir(&path).expect("a folder");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("changed");
    let error = Queue::open(&path, 0).expect_err("refused");
    assert!(error.to_string().contains("mode 700"), "{error}");
}
