//! The I/O counters of `PhysicalDisk`, `LogicalDisk`, `Block Device` and `Block Device Member`.

use std::sync::Arc;

use tachograph_perflib::{Row, Timestamps};

use super::diskstats::{Device, MS, Numbers, field};

pub(super) const CURRENT_QUEUE: u32 = 1;
pub(super) const DISK_TIME: u32 = 2;
pub(super) const READ_TIME: u32 = 3;
pub(super) const WRITE_TIME: u32 = 4;
pub(super) const QUEUE: u32 = 5;
pub(super) const READ_QUEUE: u32 = 6;
pub(super) const WRITE_QUEUE: u32 = 7;
pub(super) const SECONDS_PER_TRANSFER: u32 = 8;
pub(super) const SECONDS_PER_READ: u32 = 9;
pub(super) const SECONDS_PER_WRITE: u32 = 10;
pub(super) const TRANSFERS: u32 = 11;
pub(super) const READS: u32 = 12;
pub(super) const WRITES: u32 = 13;
pub(super) const BYTES: u32 = 14;
pub(super) const READ_BYTES: u32 = 15;
pub(super) const WRITE_BYTES: u32 = 16;
pub(super) const BYTES_PER_TRANSFER: u32 = 17;
pub(super) const BYTES_PER_READ: u32 = 18;
pub(super) const BYTES_PER_WRITE: u32 = 19;
pub(super) const IDLE_TIME: u32 = 20;
pub(super) const MERGED_READS: u32 = 21;
pub(super) const MERGED_WRITES: u32 = 22;
pub(super) const DISCARDS: u32 = 23;
pub(super) const MERGED_DISCARDS: u32 = 24;
pub(super) const DISCARD_BYTES: u32 = 25;
pub(super) const SECONDS_PER_DISCARD: u32 = 26;
pub(super) const FLUSHES: u32 = 27;
pub(super) const SECONDS_PER_FLUSH: u32 = 28;

pub(super) const TIME_BASE: u32 = 40;
pub(super) const TRANSFER_BASE: u32 = 41;
pub(super) const READ_BASE: u32 = 42;
pub(super) const WRITE_BASE: u32 = 43;
pub(super) const DISCARD_BASE: u32 = 44;
pub(super) const FLUSH_BASE: u32 = 45;

/// The ids of these counters, without bases.
pub(super) const IDS: std::ops::RangeInclusive<u32> = CURRENT_QUEUE..=SECONDS_PER_FLUSH;

/// The size of a sector in `/proc/diskstats`, which does not depend on the disk's own sector size.
const SECTOR: u64 = 512;

/// The rows of a set's table: the given rows, then the I/O rows.
macro_rules! rows {
    ($($more:expr),* $(,)?) => {{
        use tachograph_counters::CounterType as T;
        use $crate::storage::io::*;
        use $crate::table::CounterInfo;
        &[
            $($more,)*
            CounterInfo::row(CURRENT_QUEUE, "Current Disk Queue Length", T::RAWCOUNT, "", 1,
                "/proc/diskstats: field 12, in flight",
                "Requests that were sent to the device and are not finished."),
            CounterInfo::row(DISK_TIME, "% Disk Time", T::PRECISION_100NS_TIMER, "%", 0,
                "/proc/diskstats: field 13, io_ticks",
                "Share of the time in which at least one request was in progress: %util of iostat, and 100 minus % Idle Time. \
                 Windows adds up read and write times instead, which can exceed 100.").base(TIME_BASE),
            CounterInfo::row(READ_TIME, "% Disk Read Time", T::PRECISION_100NS_TIMER, "%", 0,
                "/proc/diskstats: field 7, time reading",
                "Total time of all reads in percent of the elapsed time; above 100 if reads overlap.")
                .base(TIME_BASE),
            CounterInfo::row(WRITE_TIME, "% Disk Write Time", T::PRECISION_100NS_TIMER, "%", 0,
                "/proc/diskstats: field 11, time writing",
                "Total time of all writes in percent of the elapsed time; above 100 if writes overlap.")
                .base(TIME_BASE),
            CounterInfo::row(QUEUE, "Avg. Disk Queue Length", T::QUEUELEN_100NS, "", 2,
                "/proc/diskstats: field 14, weighted time",
                "Average number of requests waiting or in progress, including discards and flushes: aqu-sz of iostat."),
            CounterInfo::row(READ_QUEUE, "Avg. Disk Read Queue Length", T::QUEUELEN_100NS, "", 2,
                "/proc/diskstats: field 7, time reading",
                "Average number of reads waiting or in progress; a read counts when it is finished."),
            CounterInfo::row(WRITE_QUEUE, "Avg. Disk Write Queue Length", T::QUEUELEN_100NS, "", 2,
                "/proc/diskstats: field 11, time writing",
                "Average number of writes waiting or in progress; a write counts when it is finished."),
            CounterInfo::row(SECONDS_PER_TRANSFER, "Avg. Disk sec/Transfer", T::AVERAGE_TIMER, "seconds", 3,
                "/proc/diskstats: fields (7 + 11) / (4 + 8)",
                "Average time of a read or write, including waiting.").base(TRANSFER_BASE),
            CounterInfo::row(SECONDS_PER_READ, "Avg. Disk sec/Read", T::AVERAGE_TIMER, "seconds", 3,
                "/proc/diskstats: fields 7 / 4",
                "Average time of a read, including waiting: r_await of iostat, in seconds.").base(READ_BASE),
            CounterInfo::row(SECONDS_PER_WRITE, "Avg. Disk sec/Write", T::AVERAGE_TIMER, "seconds", 3,
                "/proc/diskstats: fields 11 / 8",
                "Average time of a write, including waiting: w_await of iostat, in seconds.").base(WRITE_BASE),
            CounterInfo::row(TRANSFERS, "Disk Transfers/sec", T::COUNTER_COUNTER, "1/s", 0,
                "/proc/diskstats: fields 4 + 8", "Finished reads and writes, without discards and flushes."),
            CounterInfo::row(READS, "Disk Reads/sec", T::COUNTER_COUNTER, "1/s", 0,
                "/proc/diskstats: field 4", "Finished reads, after merging."),
            CounterInfo::row(WRITES, "Disk Writes/sec", T::COUNTER_COUNTER, "1/s", 0,
                "/proc/diskstats: field 8", "Finished writes, after merging."),
            CounterInfo::row(BYTES, "Disk Bytes/sec", T::BULK_COUNT, "bytes/s", -4,
                "/proc/diskstats: fields 6 + 10", "Bytes read and written."),
            CounterInfo::row(READ_BYTES, "Disk Read Bytes/sec", T::BULK_COUNT, "bytes/s", -4,
                "/proc/diskstats: field 6", "Bytes read."),
            CounterInfo::row(WRITE_BYTES, "Disk Write Bytes/sec", T::BULK_COUNT, "bytes/s", -4,
                "/proc/diskstats: field 10", "Bytes written."),
            CounterInfo::row(BYTES_PER_TRANSFER, "Avg. Disk Bytes/Transfer", T::AVERAGE_BULK, "bytes", -2,
                "/proc/diskstats: fields (6 + 10) / (4 + 8)", "Average size of a read or write.").base(TRANSFER_BASE),
            CounterInfo::row(BYTES_PER_READ, "Avg. Disk Bytes/Read", T::AVERAGE_BULK, "bytes", -2,
                "/proc/diskstats: fields 6 / 4", "Average size of a read.").base(READ_BASE),
            CounterInfo::row(BYTES_PER_WRITE, "Avg. Disk Bytes/Write", T::AVERAGE_BULK, "bytes", -2,
                "/proc/diskstats: fields 10 / 8", "Average size of a write.").base(WRITE_BASE),
            CounterInfo::row(IDLE_TIME, "% Idle Time", T::PRECISION_100NS_TIMER, "%", 0,
                "/proc/diskstats: field 13, io_ticks",
                "Share of the time in which no request was in progress: 100 minus %util of iostat.").base(TIME_BASE),
            CounterInfo::row(MERGED_READS, "Merged Reads/sec", T::COUNTER_COUNTER, "1/s", 0,
                "/proc/diskstats: field 5",
                "Reads that were merged with another before they were sent to the device. Linux only; unrelated to Split IO/Sec of Windows."),
            CounterInfo::row(MERGED_WRITES, "Merged Writes/sec", T::COUNTER_COUNTER, "1/s", 0,
                "/proc/diskstats: field 9",
                "Writes that were merged with another before they were sent to the device. Linux only."),
            CounterInfo::row(DISCARDS, "Disk Discards/sec", T::COUNTER_COUNTER, "1/s", 0,
                "/proc/diskstats: field 15", "Finished discards (trim). Linux only, since 4.18."),
            CounterInfo::row(MERGED_DISCARDS, "Merged Discards/sec", T::COUNTER_COUNTER, "1/s", 0,
                "/proc/diskstats: field 16", "Discards that were merged with another. Linux only, since 4.18."),
            CounterInfo::row(DISCARD_BYTES, "Disk Discard Bytes/sec", T::BULK_COUNT, "bytes/s", -4,
                "/proc/diskstats: field 17", "Bytes discarded. Linux only, since 4.18."),
            CounterInfo::row(SECONDS_PER_DISCARD, "Avg. Disk sec/Discard", T::AVERAGE_TIMER, "seconds", 3,
                "/proc/diskstats: fields 18 / 15",
                "Average time of a discard. Linux only, since 4.18.").base(DISCARD_BASE),
            CounterInfo::row(FLUSHES, "Disk Flushes/sec", T::COUNTER_COUNTER, "1/s", 0,
                "/proc/diskstats: field 19",
                "Finished flushes of the device's cache. The kernel counts them for disks, not for partitions. Linux only, since 5.5."),
            CounterInfo::row(SECONDS_PER_FLUSH, "Avg. Disk sec/Flush", T::AVERAGE_TIMER, "seconds", 3,
                "/proc/diskstats: fields 20 / 19",
                "Average time of a flush. Linux only, since 5.5.").base(FLUSH_BASE),
            CounterInfo::companion(TIME_BASE, "Disk Time Base", T::PRECISION_TIMESTAMP),
            CounterInfo::companion(TRANSFER_BASE, "Disk Transfers Base", T::AVERAGE_BASE),
            CounterInfo::companion(READ_BASE, "Disk Reads Base", T::AVERAGE_BASE),
            CounterInfo::companion(WRITE_BASE, "Disk Writes Base", T::AVERAGE_BASE),
            CounterInfo::companion(DISCARD_BASE, "Disk Discards Base", T::AVERAGE_BASE),
            CounterInfo::companion(FLUSH_BASE, "Disk Flushes Base", T::AVERAGE_BASE),
        ]
    }};
}
pub(super) use rows;

/// Whether lines with this number of fields have the values of a counter.
pub(super) fn has_counter(id: u32, fields: usize) -> bool {
    match id {
        DISCARDS..=SECONDS_PER_DISCARD => fields >= field::WITH_DISCARDS,
        FLUSHES | SECONDS_PER_FLUSH => fields >= field::WITH_FLUSHES,
        _ => fields >= field::MIN,
    }
}

/// The I/O of one or more devices.
pub(super) struct Activity {
    numbers: Numbers,
    /// The sum of the devices' idle times.
    idle: u128,
    /// The number of devices.
    devices: u64,
    /// The smallest number of fields of any device.
    fields: usize,
}

impl Activity {
    /// The I/O of no devices.
    pub(super) fn none() -> Self {
        Self { numbers: Numbers::default(), idle: 0, devices: 0, fields: field::WITH_FLUSHES }
    }

    pub(super) fn for_device(device: &Device) -> Self {
        let mut activity = Self::none();
        activity.add(device);
        activity
    }

    pub(super) fn add(&mut self, device: &Device) {
        for (sum, number) in self.numbers.iter_mut().zip(device.numbers) {
            *sum = sum.wrapping_add(number);
        }
        self.idle += u128::from(device.idle);
        self.devices += 1;
        self.fields = self.fields.min(device.fields);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.devices == 0
    }

    /// Sets the counters. For several devices, percentages are means and all other values are sums. Missing values
    /// fail with `reason`.
    pub(super) fn fill(&self, row: &mut Row<'_>, at: Timestamps, reason: &Arc<str>) {
        for id in IDS.filter(|&id| !has_counter(id, self.fields) || self.is_empty()) {
            row.fail(id, reason);
        }
        if self.is_empty() || self.fields < field::MIN {
            return;
        }
        self.fill_requests(row, at);
        if self.fields >= field::WITH_DISCARDS {
            let count = self.total(field::DISCARDS);
            row.set(DISCARDS, count);
            row.set(MERGED_DISCARDS, self.total(field::MERGED_DISCARDS));
            row.set(DISCARD_BYTES, self.total(field::DISCARD_SECTORS).wrapping_mul(SECTOR));
            row.set_with_base(SECONDS_PER_DISCARD, self.time(field::DISCARD_MS), count);
        }
        if self.fields >= field::WITH_FLUSHES {
            let count = self.total(field::FLUSHES);
            row.set(FLUSHES, count);
            row.set_with_base(SECONDS_PER_FLUSH, self.time(field::FLUSH_MS), count);
        }
    }

    fn fill_requests(&self, row: &mut Row<'_>, at: Timestamps) {
        let now = at.system_time.0 as u64;
        let (read_time, write_time) = (self.time(field::READ_MS), self.time(field::WRITE_MS));
        let (reads, writes) = (self.total(field::READS), self.total(field::WRITES));
        let read_bytes = self.total(field::READ_SECTORS).wrapping_mul(SECTOR);
        let write_bytes = self.total(field::WRITE_SECTORS).wrapping_mul(SECTOR);
        let transfers = reads.wrapping_add(writes);
        let bytes = read_bytes.wrapping_add(write_bytes);
        row.set(CURRENT_QUEUE, self.total(field::IN_FLIGHT));
        row.set_with_base(DISK_TIME, self.time(field::BUSY_MS) / self.devices, now);
        row.set_with_base(READ_TIME, read_time / self.devices, now);
        row.set_with_base(WRITE_TIME, write_time / self.devices, now);
        row.set_with_base(IDLE_TIME, (self.idle / u128::from(self.devices)) as u64, now);
        row.set(QUEUE, self.time(field::QUEUE_MS));
        row.set(READ_QUEUE, read_time);
        row.set(WRITE_QUEUE, write_time);
        row.set_with_base(SECONDS_PER_TRANSFER, read_time.wrapping_add(write_time), transfers);
        row.set_with_base(SECONDS_PER_READ, read_time, reads);
        row.set_with_base(SECONDS_PER_WRITE, write_time, writes);
        row.set(TRANSFERS, transfers);
        row.set(READS, reads);
        row.set(WRITES, writes);
        row.set(BYTES, bytes);
        row.set(READ_BYTES, read_bytes);
        row.set(WRITE_BYTES, write_bytes);
        row.set_with_base(BYTES_PER_TRANSFER, bytes, transfers);
        row.set_with_base(BYTES_PER_READ, read_bytes, reads);
        row.set_with_base(BYTES_PER_WRITE, write_bytes, writes);
        row.set(MERGED_READS, self.total(field::MERGED_READS));
        row.set(MERGED_WRITES, self.total(field::MERGED_WRITES));
    }

    fn total(&self, index: usize) -> u64 {
        self.numbers[index]
    }

    /// A time, converted to 100 ns.
    fn time(&self, index: usize) -> u64 {
        self.numbers[index].wrapping_mul(MS)
    }
}
