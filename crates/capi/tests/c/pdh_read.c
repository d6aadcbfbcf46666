/*
 * Reading a log, as Windows programs do: open, add, collect to the end, format; raw values and statistics. The
 * arguments are logs of the same samples, described in tests/c_interface/pdh/logs.rs.
 *
 * The disk's reads are the example of Microsoft's article on averages: one read of 150 ms, then nine samples without
 * reads.
 */
#include "pdh_checks.h"

#define SAMPLES 11
/* 2013-02-19 12:00:00, in 100 ns, local time of the log. */
#define START 130057488000000000LL
#define SECOND 10000000LL

static DWORD status_of(PDH_HCOUNTER counter, DWORD format, PDH_FMT_COUNTERVALUE *value)
{
    return (DWORD)PdhGetFormattedCounterValue(counter, format, NULL, value);
}

static void read_samples(const char *log)
{
    PDH_HQUERY query;
    PDH_HCOUNTER reads, rate, free_bytes, busy;
    PDH_FMT_COUNTERVALUE value;
    PDH_RAW_COUNTER raw[SAMPLES];
    PDH_STATISTICS statistics;
    DWORD type = 0, n, status;
    LONGLONG time = 0, base = 0;
    FILETIME halves;

    SUCCEEDS(PdhOpenQueryA(log, 0, &query));
    HOLDS(!PdhIsRealTimeQuery(query));
    SUCCEEDS(PdhAddCounterA(query, "\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read", 0, &reads));
    SUCCEEDS(PdhAddCounterA(query, "\\\\box\\physicaldisk(_total)\\disk reads/sec", 0, &rate));
    SUCCEEDS(PdhAddEnglishCounterA(query, "\\Memory\\Available Bytes", 0, &free_bytes));
    SUCCEEDS(PdhAddCounterA(query, "\\Process(busy)\\% Processor Time", 0, &busy));
    for (n = 0; n < SAMPLES; n++) {
        SUCCEEDS(PdhCollectQueryDataWithTime(query, &time));
        HOLDS(time == START + n * SECOND);
        SUCCEEDS(PdhGetRawCounterValue(reads, &type, &raw[n]));
        HOLDS(type == PERF_AVERAGE_TIMER && raw[n].CStatus <= PDH_CSTATUS_NEW_DATA);
        halves = raw[n].TimeStamp;
        HOLDS(((LONGLONG)halves.dwHighDateTime << 32 | halves.dwLowDateTime) == time);
        HOLDS(raw[n].FirstValue == (n ? 2147727 : 0) && raw[n].SecondValue == (n ? 1 : 0));

        status = status_of(reads, PDH_FMT_DOUBLE, &value);
        HOLDS(status == (n ? 0 : PDH_INVALID_DATA));
        HOLDS(n == 0 || value.doubleValue == (n == 1 ? 2147727.0 / 14318180.0 : 0));
        status = status_of(rate, PDH_FMT_LONG, &value);
        HOLDS(status == (n ? 0 : PDH_INVALID_DATA));
        HOLDS(n == 0 || value.longValue == 10);
        SUCCEEDS(PdhGetFormattedCounterValue(free_bytes, PDH_FMT_LARGE, &type, &value));
        HOLDS(type == PERF_COUNTER_LARGE_RAWCOUNT && value.largeValue == 1000 * (LONGLONG)n + 5000000000LL);
        /* Three processors' worth of time: capped and uncapped. */
        if (n) {
            HOLDS(status_of(busy, PDH_FMT_DOUBLE, &value) == 0 && value.doubleValue == 100);
            HOLDS(status_of(busy, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100, &value) == 0 && value.doubleValue == 300);
            HOLDS(status_of(busy, PDH_FMT_LONG | PDH_FMT_NOCAP100 | PDH_FMT_1000, &value) == 0 &&
                  value.longValue == 300000);
            SUCCEEDS(PdhSetCounterScaleFactor(busy, 2));
            HOLDS(status_of(busy, PDH_FMT_LARGE | PDH_FMT_NOCAP100, &value) == 0 && value.largeValue == 30000);
            HOLDS(status_of(busy, PDH_FMT_LARGE | PDH_FMT_NOCAP100 | PDH_FMT_NOSCALE, &value) == 0 &&
                  value.largeValue == 300);
            SUCCEEDS(PdhSetCounterScaleFactor(busy, 0));
        }
    }
    RETURNS(PdhCollectQueryData(query), PDH_NO_MORE_DATA);
    RETURNS(PdhCollectQueryDataWithTime(query, &time), PDH_NO_MORE_DATA);
    SUCCEEDS(PdhGetCounterTimeBase(reads, &base));
    HOLDS(base == 14318180);

    /* The average of the article: 0.15 s per read, not the 0.015 of an average of averages. */
    SUCCEEDS(PdhComputeCounterStatistics(reads, PDH_FMT_DOUBLE, 0, SAMPLES, raw, &statistics));
    HOLDS(statistics.dwFormat == PDH_FMT_DOUBLE && statistics.count >= SAMPLES - 1);
    HOLDS(statistics.mean.CStatus <= PDH_CSTATUS_NEW_DATA);
    HOLDS(statistics.mean.doubleValue == 2147727.0 / 14318180.0);
    HOLDS(statistics.max.doubleValue == 2147727.0 / 14318180.0 && statistics.min.doubleValue == 0);
    /* The same from a ring whose oldest entry is in the middle. */
    {
        PDH_RAW_COUNTER ring[SAMPLES];
        for (n = 0; n < SAMPLES; n++) {
            ring[(n + 4) % SAMPLES] = raw[n];
        }
        SUCCEEDS(PdhComputeCounterStatistics(reads, PDH_FMT_DOUBLE, 4, SAMPLES, ring, &statistics));
        HOLDS(statistics.mean.doubleValue == 2147727.0 / 14318180.0);
        RETURNS(PdhComputeCounterStatistics(reads, PDH_FMT_DOUBLE, SAMPLES, SAMPLES, ring, &statistics),
                PDH_INVALID_ARGUMENT);
        RETURNS(PdhComputeCounterStatistics(reads, PDH_FMT_DOUBLE, 0, 0, ring, &statistics),
                PDH_INVALID_ARGUMENT);
    }

    SUCCEEDS(PdhCalculateCounterFromRawValue(reads, PDH_FMT_DOUBLE, &raw[1], &raw[0], &value));
    HOLDS(value.doubleValue == 2147727.0 / 14318180.0);
    RETURNS(PdhCalculateCounterFromRawValue(reads, PDH_FMT_DOUBLE, &raw[1], NULL, &value), PDH_INVALID_DATA);
    RETURNS(PdhCalculateCounterFromRawValue(reads, PDH_FMT_DOUBLE, &raw[0], &raw[1], &value),
            PDH_CALC_NEGATIVE_DENOMINATOR);
    HOLDS(value.CStatus == PDH_CSTATUS_INVALID_DATA);
    SUCCEEDS(PdhFormatFromRawValue(PERF_AVERAGE_TIMER, PDH_FMT_DOUBLE, &base, &raw[1], &raw[0], &value));
    HOLDS(value.doubleValue == 2147727.0 / 14318180.0);
    SUCCEEDS(PdhFormatFromRawValue(PERF_COUNTER_RAWCOUNT, PDH_FMT_LARGE, NULL, &raw[1], NULL, &value));
    HOLDS(value.largeValue == 2147727);
    RETURNS(PdhFormatFromRawValue(PERF_AVERAGE_BASE, PDH_FMT_LARGE, NULL, &raw[1], NULL, &value),
            PDH_INVALID_ARGUMENT);
    SUCCEEDS(PdhCloseQuery(query));
}

/* A part of the log, and its time range. */
static void read_range(const char *log)
{
    PDH_HQUERY query;
    PDH_HCOUNTER counter;
    PDH_TIME_INFO whole, part;
    DWORD count = 0, size = sizeof whole, collected = 0;
    LONGLONG time = 0;
    PDH_STATUS status;
    SUCCEEDS(PdhGetDataSourceTimeRangeA(log, &count, &whole, &size));
    HOLDS(count == 1 && size == sizeof whole && whole.SampleCount == SAMPLES);
    HOLDS(whole.StartTime == START && whole.EndTime == START + (SAMPLES - 1) * SECOND);

    SUCCEEDS(PdhOpenQueryA(log, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, "\\Memory\\Available Bytes", 0, &counter));
    part.StartTime = START + 3 * SECOND;
    part.EndTime = START + 6 * SECOND;
    part.SampleCount = 0;
    SUCCEEDS(PdhSetQueryTimeRange(query, &part));
    while ((status = PdhCollectQueryDataWithTime(query, &time)) == 0) {
        HOLDS(time >= part.StartTime && time <= part.EndTime);
        collected++;
    }
    RETURNS(status, PDH_NO_MORE_DATA);
    HOLDS(collected == 4);
    SUCCEEDS(PdhCloseQuery(query));
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    RETURNS(PdhSetQueryTimeRange(query, &part), PDH_DATA_SOURCE_IS_REAL_TIME);
    SUCCEEDS(PdhCloseQuery(query));
}

/* Instances and counters that the log does not have. */
static void add_absent_counters(const char *log)
{
    PDH_HQUERY query;
    PDH_HCOUNTER counter;
    DWORD status;
    SUCCEEDS(PdhOpenQueryA(log, 0, &query));
    RETURNS(PdhAddCounterA(query, "\\PhysicalDisk(0 C:)\\No Such Counter", 0, &counter), PDH_CSTATUS_NO_COUNTER);
    RETURNS(PdhAddCounterA(query, "\\No Such Set\\Available Bytes", 0, &counter), PDH_CSTATUS_NO_OBJECT);
    status = (DWORD)PdhAddCounterA(query, "\\PhysicalDisk(7 Z:)\\Avg. Disk sec/Read", 0, &counter);
    HOLDS(status == PDH_CSTATUS_NO_INSTANCE || status == PDH_ENTRY_NOT_IN_LOG_FILE);
    HOLDS(counter == NULL);
    SUCCEEDS(PdhCloseQuery(query));
}

/* The W and H functions return the same. */
static void read_by_w_functions(const char *log)
{
    WCHAR names[1100];
    PDH_HLOG source;
    PDH_HQUERY query;
    PDH_HCOUNTER counter;
    PDH_FMT_COUNTERVALUE value;
    LONGLONG bytes = 0;
    size_t n;
    memset(names, 0, sizeof names);
    for (n = 0; log[n]; n++) {
        names[n] = (WCHAR)(unsigned char)log[n];
    }
    SUCCEEDS(PdhBindInputDataSourceW(&source, names));
    SUCCEEDS(PdhGetLogFileSize(source, &bytes));
    HOLDS(bytes > 1000);
    SUCCEEDS(PdhOpenQueryH(source, 0, &query));
    SUCCEEDS(PdhAddCounterW(query, TACHO_W("\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read"), 0, &counter));
    SUCCEEDS(PdhValidatePathExW(source, TACHO_W("\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read")));
    /* The query outlives the data source. */
    SUCCEEDS(PdhCloseLog(source, 0));
    SUCCEEDS(PdhCollectQueryData(query));
    SUCCEEDS(PdhCollectQueryData(query));
    SUCCEEDS(PdhGetFormattedCounterValue(counter, PDH_FMT_DOUBLE, NULL, &value));
    HOLDS(value.doubleValue == 2147727.0 / 14318180.0);
    SUCCEEDS(PdhCloseQuery(query));
}

int main(int argc, char **argv)
{
    int n;
    if (argc < 2) {
        return 2;
    }
    for (n = 1; n < argc; n++) {
        read_samples(argv[n]);
        read_range(argv[n]);
        add_absent_counters(argv[n]);
        read_by_w_functions(argv[n]);
    }
    return failed;
}
