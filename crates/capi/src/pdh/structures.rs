//! Structures of pdh.h in Windows' 64-bit layout.

use super::boundary::Text;

/// `FILETIME`: units of 100 ns since 1601, in two halves.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileTimeHalves {
    pub(super) low: u32,
    pub(super) high: u32,
}

impl FileTimeHalves {
    /// Splits a time in units of 100 ns into halves.
    pub(super) fn new(ticks: i64) -> Self {
        let bits = ticks.cast_unsigned();
        Self { low: bits as u32, high: (bits >> 32) as u32 }
    }

    /// The time in units of 100 ns.
    pub(super) fn ticks(self) -> i64 {
        (u64::from(self.high) << 32 | u64::from(self.low)).cast_signed()
    }
}

/// `PDH_RAW_COUNTER`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawCounterBlock {
    pub(super) status: u32,
    pub(super) time_stamp: FileTimeHalves,
    pub(super) first: i64,
    pub(super) second: i64,
    pub(super) multi_count: u32,
}

/// `PDH_FMT_COUNTERVALUE`. `value` has the 8 bytes of the union.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FormattedBlock {
    pub(super) status: u32,
    pub(super) value: u64,
}

/// `PDH_RAW_COUNTER_ITEM_W` and `_A`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawItemBlock {
    pub(super) name: usize,
    pub(super) value: RawCounterBlock,
}

/// `PDH_FMT_COUNTERVALUE_ITEM_W` and `_A`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct FormattedItemBlock {
    pub(super) name: usize,
    pub(super) value: FormattedBlock,
}

/// `PDH_STATISTICS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct StatisticsBlock {
    pub(super) format: u32,
    pub(super) count: u32,
    pub(super) minimum: FormattedBlock,
    pub(super) maximum: FormattedBlock,
    pub(super) mean: FormattedBlock,
}

/// `PDH_TIME_INFO`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeInfoBlock {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) samples: u32,
}

/// `PDH_COUNTER_PATH_ELEMENTS_W` and `_A`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PathElementsBlock<C> {
    pub(super) machine: Text<C>,
    pub(super) object: Text<C>,
    pub(super) instance: Text<C>,
    pub(super) parent: Text<C>,
    pub(super) index: u32,
    pub(super) counter: Text<C>,
}

/// `PDH_COUNTER_INFO_W` and `_A`. Only the offsets of its members are used.
#[repr(C)]
pub(super) struct CounterInfoBlock {
    pub(super) length: u32,
    pub(super) counter_type: u32,
    pub(super) version: u32,
    pub(super) status: u32,
    pub(super) scale: i32,
    pub(super) default_scale: i32,
    pub(super) user_data: usize,
    pub(super) query_user_data: usize,
    pub(super) full_path: usize,
    /// The longest member of the union.
    pub(super) elements: PathElementsBlock<u8>,
    pub(super) explain_text: usize,
    pub(super) data: [u32; 1],
}

/// `PDH_RAW_LOG_RECORD`. Only the offsets of its members are used.
#[repr(C)]
pub(super) struct RawLogRecordBlock {
    pub(super) structure_size: u32,
    pub(super) record_type: u32,
    pub(super) items: u32,
    pub(super) bytes: [u8; 1],
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The numbers that tests/c/pdh_header.c asserts for the C structures.
    #[test]
    fn the_layout_is_that_of_windows() {
        assert_eq!(size_of::<RawCounterBlock>(), 40);
        assert_eq!(offset_of!(RawCounterBlock, time_stamp), 4);
        assert_eq!(offset_of!(RawCounterBlock, first), 16);
        assert_eq!(offset_of!(RawCounterBlock, second), 24);
        assert_eq!(offset_of!(RawCounterBlock, multi_count), 32);
        assert_eq!(size_of::<FormattedBlock>(), 16);
        assert_eq!(offset_of!(FormattedBlock, value), 8);
        assert_eq!(size_of::<RawItemBlock>(), 48);
        assert_eq!(offset_of!(RawItemBlock, value), 8);
        assert_eq!(size_of::<FormattedItemBlock>(), 24);
        assert_eq!(offset_of!(FormattedItemBlock, value), 8);
        assert_eq!(size_of::<StatisticsBlock>(), 56);
        assert_eq!(offset_of!(StatisticsBlock, count), 4);
        assert_eq!(offset_of!(StatisticsBlock, minimum), 8);
        assert_eq!(offset_of!(StatisticsBlock, maximum), 24);
        assert_eq!(offset_of!(StatisticsBlock, mean), 40);
        assert_eq!(size_of::<TimeInfoBlock>(), 24);
        assert_eq!(offset_of!(TimeInfoBlock, samples), 16);
        assert_eq!(size_of::<PathElementsBlock<u16>>(), 48);
        assert_eq!(offset_of!(PathElementsBlock<u16>, index), 32);
        assert_eq!(offset_of!(PathElementsBlock<u16>, counter), 40);
        assert_eq!(size_of::<CounterInfoBlock>(), 112);
        assert_eq!(offset_of!(CounterInfoBlock, user_data), 24);
        assert_eq!(offset_of!(CounterInfoBlock, full_path), 40);
        assert_eq!(offset_of!(CounterInfoBlock, elements), 48);
        assert_eq!(offset_of!(CounterInfoBlock, explain_text), 96);
        assert_eq!(offset_of!(CounterInfoBlock, data), 104);
        assert_eq!(size_of::<RawLogRecordBlock>(), 16);
        assert_eq!(offset_of!(RawLogRecordBlock, bytes), 12);
    }

    #[test]
    fn file_times_round_trip() {
        for ticks in [0, 1, -1, i64::MAX, i64::MIN, 0x01CE_0000_8000_0001] {
            assert_eq!(FileTimeHalves::new(ticks).ticks(), ticks);
        }
        assert_eq!(FileTimeHalves::new(0x1_0000_0002), FileTimeHalves { low: 2, high: 1 });
    }
}
