//! The exported symbols of pdh.h: their names and arguments. The sibling modules implement them.

#![allow(unsafe_code, reason = "exported C symbols")]
#![allow(non_snake_case, reason = "names of the C interface")]

use super::boundary::{In, Out, Text, TextList};
use super::objects::{Handle, Source};
use super::structures::{
    FileTimeHalves, FormattedBlock, PathElementsBlock, RawCounterBlock, StatisticsBlock, TimeInfoBlock,
};
use super::{call, logs, names, queries, values};

/// Exports functions that have one form.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) = $body:expr;)*) => {
        $(
            // SAFETY: no other symbol has this name. The argument types are transparent: see `boundary`.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) -> i32 {
                call(|| $body)
            }
        )*
    };
}

/// Exports functions that have two forms, for 16-bit characters and for bytes. `Char` is the character type.
macro_rules! text_functions {
    ($($wide:ident $bytes:ident $arguments:tt = $body:expr;)*) => {
        /// The W functions.
        mod wide {
            use super::*;
            type Char = u16;
            functions! { $($wide $arguments = $body;)* }
        }

        /// The A functions.
        mod bytes {
            use super::*;
            type Char = u8;
            functions! { $($bytes $arguments = $body;)* }
        }
    };
}

// SAFETY: as in `functions`.
#[unsafe(no_mangle)]
extern "C" fn PdhIsRealTimeQuery(query: Handle) -> i32 {
    queries::is_real_time(query)
}

functions! {
    PdhGetDllVersion(version: Out<u32>) = queries::version(version);
    PdhOpenQueryH(source: Handle, user_data: usize, query: Out<Handle>)
        = queries::open(Source::<u8>::Handle(source), user_data, query);
    PdhCloseQuery(query: Handle) = queries::close(query);
    PdhRemoveCounter(counter: Handle) = queries::remove_counter(counter);
    PdhCollectQueryData(query: Handle) = queries::collect(query);
    PdhCollectQueryDataWithTime(query: Handle, time: Out<i64>) = queries::collect_with_time(query, time);
    PdhCollectQueryDataEx(query: Handle, seconds: u32, event: Handle)
        = queries::collect_by_thread(query, seconds, event);
    PdhSetQueryTimeRange(query: Handle, range: In<TimeInfoBlock>) = queries::set_time_range(query, range);
    PdhSetDefaultRealTimeDataSource(source: u32) = queries::set_default_source(source);

    PdhGetFormattedCounterValue(
        counter: Handle, format: u32, counter_type: Out<u32>, value: Out<FormattedBlock>,
    ) = values::formatted(counter, format, counter_type, value);
    PdhGetRawCounterValue(counter: Handle, counter_type: Out<u32>, value: Out<RawCounterBlock>)
        = values::raw(counter, counter_type, value);
    PdhCalculateCounterFromRawValue(
        counter: Handle, format: u32, newer: In<RawCounterBlock>, older: In<RawCounterBlock>,
        value: Out<FormattedBlock>,
    ) = values::calculate(counter, format, newer, older, value);
    PdhFormatFromRawValue(
        counter_type: u32, format: u32, time_base: In<i64>, newer: In<RawCounterBlock>,
        older: In<RawCounterBlock>, value: Out<FormattedBlock>,
    ) = values::format_raw(counter_type, format, time_base, (newer, older), value);
    PdhComputeCounterStatistics(
        counter: Handle, format: u32, first: u32, count: u32, entries: In<RawCounterBlock>,
        statistics: Out<StatisticsBlock>,
    ) = values::statistics(counter, format, first, count, entries, statistics);
    PdhSetCounterScaleFactor(counter: Handle, factor: i32) = values::set_scale(counter, factor);
    PdhGetCounterTimeBase(counter: Handle, time_base: Out<i64>) = values::time_base(counter, time_base);

    PdhGetDataSourceTimeRangeH(source: Handle, count: Out<u32>, range: Out<TimeInfoBlock>, size: Out<u32>)
        = logs::time_range(Source::<u8>::Handle(source), count, range, size);
    PdhUpdateLogFileCatalog(log: Handle) = logs::update_catalog(log);
    PdhGetLogFileSize(log: Handle, size: Out<i64>) = logs::size(log, size);
    PdhReadRawLogRecord(log: Handle, at: FileTimeHalves, record: Out<u8>, size: Out<u32>)
        = logs::read_record(log, at, record, size);
    PdhCloseLog(log: Handle, flags: u32) = logs::close(log, flags);
}

text_functions! {
    PdhOpenQueryW PdhOpenQueryA (source: Text<Char>, user_data: usize, query: Out<Handle>)
        = queries::open(Source::Name(source), user_data, query);
    PdhAddCounterW PdhAddCounterA (
        query: Handle, path: Text<Char>, user_data: usize, counter: Out<Handle>,
    ) = queries::add_counter(query, path, user_data, counter);
    PdhAddEnglishCounterW PdhAddEnglishCounterA (
        query: Handle, path: Text<Char>, user_data: usize, counter: Out<Handle>,
    ) = queries::add_english_counter(query, path, user_data, counter);

    PdhGetFormattedCounterArrayW PdhGetFormattedCounterArrayA (
        counter: Handle, format: u32, size: Out<u32>, count: Out<u32>, items: Out<u8>,
    ) = values::formatted_array::<Char>(counter, format, size, count, items);
    PdhGetRawCounterArrayW PdhGetRawCounterArrayA (
        counter: Handle, size: Out<u32>, count: Out<u32>, items: Out<u8>,
    ) = values::raw_array::<Char>(counter, size, count, items);
    PdhGetCounterInfoW PdhGetCounterInfoA (
        counter: Handle, with_explain_text: u8, size: Out<u32>, info: Out<u8>,
    ) = values::info::<Char>(counter, with_explain_text != 0, size, info);

    PdhValidatePathW PdhValidatePathA (path: Text<Char>) = names::validate(Source::MACHINE, path);
    PdhValidatePathExW PdhValidatePathExA (source: Handle, path: Text<Char>)
        = names::validate(Source::Handle(source), path);
    PdhParseCounterPathW PdhParseCounterPathA (
        path: Text<Char>, elements: Out<u8>, size: Out<u32>, flags: u32,
    ) = names::parse_path(path, elements, size, flags);
    PdhMakeCounterPathW PdhMakeCounterPathA (
        elements: In<PathElementsBlock<Char>>, path: Out<Char>, size: Out<u32>, flags: u32,
    ) = names::make_path(elements, path, size, flags);
    PdhParseInstanceNameW PdhParseInstanceNameA (
        text: Text<Char>, name: Out<Char>, name_size: Out<u32>, parent: Out<Char>, parent_size: Out<u32>,
        index: Out<u32>,
    ) = names::parse_instance(text, (name, name_size), (parent, parent_size), index);
    PdhExpandWildCardPathW PdhExpandWildCardPathA (
        source: Text<Char>, path: Text<Char>, list: Out<Char>, size: Out<u32>, flags: u32,
    ) = names::expand(Source::Name(source), path, list, size, flags);
    PdhExpandWildCardPathHW PdhExpandWildCardPathHA (
        source: Handle, path: Text<Char>, list: Out<Char>, size: Out<u32>, flags: u32,
    ) = names::expand(Source::Handle(source), path, list, size, flags);
    PdhExpandCounterPathW PdhExpandCounterPathA (path: Text<Char>, list: Out<Char>, size: Out<u32>)
        = names::expand(Source::MACHINE, path, list, size, 0);
    PdhConnectMachineW PdhConnectMachineA (machine: Text<Char>) = names::connect(machine);
    PdhEnumMachinesW PdhEnumMachinesA (source: Text<Char>, list: Out<Char>, size: Out<u32>)
        = names::machines(Source::Name(source), list, size);
    PdhEnumMachinesHW PdhEnumMachinesHA (source: Handle, list: Out<Char>, size: Out<u32>)
        = names::machines(Source::Handle(source), list, size);
    PdhEnumObjectsW PdhEnumObjectsA (
        source: Text<Char>, machine: Text<Char>, list: Out<Char>, size: Out<u32>, detail: u32, _refresh: i32,
    ) = names::sets(Source::Name(source), machine, list, size, detail);
    PdhEnumObjectsHW PdhEnumObjectsHA (
        source: Handle, machine: Text<Char>, list: Out<Char>, size: Out<u32>, detail: u32, _refresh: i32,
    ) = names::sets(Source::Handle(source), machine, list, size, detail);
    PdhEnumObjectItemsW PdhEnumObjectItemsA (
        source: Text<Char>, machine: Text<Char>, set: Text<Char>, counters: Out<Char>,
        counters_size: Out<u32>, instances: Out<Char>, instances_size: Out<u32>, detail: u32, _flags: u32,
    ) = names::items(
        Source::Name(source), (machine, set), (counters, counters_size), (instances, instances_size), detail,
    );
    PdhEnumObjectItemsHW PdhEnumObjectItemsHA (
        source: Handle, machine: Text<Char>, set: Text<Char>, counters: Out<Char>,
        counters_size: Out<u32>, instances: Out<Char>, instances_size: Out<u32>, detail: u32, _flags: u32,
    ) = names::items(
        Source::Handle(source), (machine, set), (counters, counters_size), (instances, instances_size), detail,
    );
    PdhGetDefaultPerfObjectW PdhGetDefaultPerfObjectA (
        source: Text<Char>, machine: Text<Char>, name: Out<Char>, size: Out<u32>,
    ) = names::default_set(Source::Name(source), machine, name, size);
    PdhGetDefaultPerfObjectHW PdhGetDefaultPerfObjectHA (
        source: Handle, machine: Text<Char>, name: Out<Char>, size: Out<u32>,
    ) = names::default_set(Source::Handle(source), machine, name, size);
    PdhGetDefaultPerfCounterW PdhGetDefaultPerfCounterA (
        source: Text<Char>, machine: Text<Char>, set: Text<Char>, name: Out<Char>, size: Out<u32>,
    ) = names::default_counter(Source::Name(source), (machine, set), name, size);
    PdhGetDefaultPerfCounterHW PdhGetDefaultPerfCounterHA (
        source: Handle, machine: Text<Char>, set: Text<Char>, name: Out<Char>, size: Out<u32>,
    ) = names::default_counter(Source::Handle(source), (machine, set), name, size);

    PdhBindInputDataSourceW PdhBindInputDataSourceA (source: Out<Handle>, names: TextList<Char>)
        = logs::bind(source, names);
    PdhGetDataSourceTimeRangeW PdhGetDataSourceTimeRangeA (
        source: Text<Char>, count: Out<u32>, range: Out<TimeInfoBlock>, size: Out<u32>,
    ) = logs::time_range(Source::Name(source), count, range, size);
    PdhOpenLogW PdhOpenLogA (
        name: Text<Char>, access: u32, log_type: Out<u32>, query: Handle, max_size: u32,
        caption: Text<Char>, log: Out<Handle>,
    ) = logs::open(name, access, log_type, (query, max_size, caption), log);
    PdhUpdateLogW PdhUpdateLogA (log: Handle, text: Text<Char>) = logs::update(log, text);
}
