//! Options of a new BLG.

use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;

/// Options of a new BLG.
#[derive(Clone, Debug)]
pub struct BlgWriterOptions {
    /// The time zone of the log's local times.
    pub zone: TimeZone,
    /// Boot time of the recording machine, UTC.
    pub boot_time: Option<FileTime>,
    /// Ticks per second of the performance counter.
    pub performance_frequency: i64,
    /// The file name to store in the header.
    pub file_name: String,
    /// Buffer size: a multiple of 512 from 1 KiB to 16 MiB. Windows uses 64 KiB.
    pub buffer_bytes: usize,
    /// The log GUID; random if absent.
    pub guid: Option<[u8; 16]>,
    /// Maximum size of a circular log, rounded down to whole buffers; new samples overwrite the oldest, but never
    /// the name tables and the counter list.
    pub circular_bytes: Option<u64>,
}

impl BlgWriterOptions {
    /// The default options for a log with this time zone.
    pub fn new(zone: TimeZone) -> Self {
        Self {
            zone,
            boot_time: None,
            performance_frequency: FileTime::PER_SECOND,
            file_name: String::new(),
            buffer_bytes: 0x10000,
            guid: None,
            circular_bytes: None,
        }
    }
}
