/*
 * The protocol of sizes: every function that fills a buffer, with every capacity from 0 to the required size plus 8,
 * in memory of exactly this size, followed by bytes that must not change. The argument is a log.
 */
#include "pdh_checks.h"

#define TEXT(text) TACHO_W(text)
#define GUARD 16
#define DISKS "\\PhysicalDisk(*)\\Avg. Disk sec/Read"

static char *log_name;
static PDH_HLOG source;
static PDH_HCOUNTER counter;

/* A call with a buffer of `size` units; the buffer is null for 0 units. */
typedef PDH_STATUS (*Fill)(void *buffer, DWORD *size);

static void check_every_capacity(const char *name, Fill call, size_t unit)
{
    DWORD needed = 0, capacity;
    unsigned char *filled = NULL;
    PDH_STATUS status = call(NULL, &needed);
    if ((DWORD)status != PDH_MORE_DATA || needed == 0) {
        printf("%s without a buffer: status 0x%08X, size %u\n", name, (unsigned)status, (unsigned)needed);
        failed = 1;
        return;
    }
    for (capacity = 0; capacity <= needed + 8; capacity++) {
        const size_t bytes = capacity * unit;
        unsigned char *memory = (unsigned char *)malloc(bytes + GUARD);
        DWORD size = capacity;
        size_t i;
        if (!memory) {
            abort();
        }
        memset(memory, 0xA5, bytes + GUARD);
        status = call(memory, &size);
        if ((DWORD)status != (capacity < needed ? PDH_MORE_DATA : 0) || size != needed) {
            printf("%s: status 0x%08X, size %u with a capacity of %u (%u needed)\n", name, (unsigned)status,
                   (unsigned)size, (unsigned)capacity, (unsigned)needed);
            failed = 1;
        }
        for (i = capacity < needed ? 0 : needed * unit; i < bytes + GUARD; i++) {
            if (memory[i] != 0xA5) {
                printf("%s: byte %lu was written with a capacity of %u (%u needed)\n", name, (unsigned long)i,
                       (unsigned)capacity, (unsigned)needed);
                failed = 1;
                break;
            }
        }
        if (capacity == needed) {
            filled = memory;
        } else {
            free(memory);
        }
    }
    HOLDS(filled != NULL);
    free(filled);
}

#define FILL_FUNCTION(name, call)                                  \
    static PDH_STATUS name(void *buffer, DWORD *size)     \
    {                                                     \
        return call;                                      \
    }
#define CHARS ((char *)buffer)
#define WIDE ((WCHAR *)buffer)

static DWORD items;
static DWORD ample_size;
static union {
    LONGLONG aligned;
    char bytes[4096];
} ample_union;
#define ample_bytes ample_union.bytes
static WCHAR ample_wide[4096];

FILL_FUNCTION(array_w, PdhGetFormattedCounterArrayW(counter, PDH_FMT_DOUBLE, size, &items,
                                              (PDH_FMT_COUNTERVALUE_ITEM_W *)buffer))
FILL_FUNCTION(array_a, PdhGetFormattedCounterArrayA(counter, PDH_FMT_LARGE, size, &items,
                                              (PDH_FMT_COUNTERVALUE_ITEM_A *)buffer))
FILL_FUNCTION(raw_w, PdhGetRawCounterArrayW(counter, size, &items, (PDH_RAW_COUNTER_ITEM_W *)buffer))
FILL_FUNCTION(raw_a, PdhGetRawCounterArrayA(counter, size, &items, (PDH_RAW_COUNTER_ITEM_A *)buffer))
FILL_FUNCTION(info_w, PdhGetCounterInfoW(counter, TRUE, size, (PDH_COUNTER_INFO_W *)buffer))
FILL_FUNCTION(info_a, PdhGetCounterInfoA(counter, FALSE, size, (PDH_COUNTER_INFO_A *)buffer))
FILL_FUNCTION(parse_w, PdhParseCounterPathW(TEXT("\\\\box\\Thread(a/b#3)\\% Processor Time"),
                                      (PDH_COUNTER_PATH_ELEMENTS_W *)buffer, size, 0))
FILL_FUNCTION(parse_a, PdhParseCounterPathA("\\\\box\\Thread(a/b#3)\\% Processor Time",
                                      (PDH_COUNTER_PATH_ELEMENTS_A *)buffer, size, 0))
FILL_FUNCTION(expand_w, PdhExpandWildCardPathW(wide(log_name), TEXT("\\*(*)\\*"), WIDE, size, 0))
FILL_FUNCTION(expand_a, PdhExpandWildCardPathA(log_name, DISKS, CHARS, size, 0))
FILL_FUNCTION(expand_hw, PdhExpandWildCardPathHW(source, TEXT(DISKS), WIDE, size, 0))
FILL_FUNCTION(expand_ha, PdhExpandWildCardPathHA(source, DISKS, CHARS, size, 0))
FILL_FUNCTION(expand_here_w, PdhExpandCounterPathW(TEXT("\\Memory\\*"), WIDE, size))
FILL_FUNCTION(expand_here_a, PdhExpandCounterPathA("\\Memory\\*", CHARS, size))
FILL_FUNCTION(machines_w, PdhEnumMachinesW(wide(log_name), WIDE, size))
FILL_FUNCTION(machines_a, PdhEnumMachinesA(log_name, CHARS, size))
FILL_FUNCTION(machines_hw, PdhEnumMachinesHW(source, WIDE, size))
FILL_FUNCTION(machines_ha, PdhEnumMachinesHA(NULL, CHARS, size))
FILL_FUNCTION(sets_w, PdhEnumObjectsW(wide(log_name), NULL, WIDE, size, PERF_DETAIL_WIZARD, FALSE))
FILL_FUNCTION(sets_a, PdhEnumObjectsA(NULL, NULL, CHARS, size, PERF_DETAIL_WIZARD, TRUE))
FILL_FUNCTION(sets_hw, PdhEnumObjectsHW(source, NULL, WIDE, size, PERF_DETAIL_WIZARD, FALSE))
FILL_FUNCTION(sets_ha, PdhEnumObjectsHA(source, NULL, CHARS, size, PERF_DETAIL_WIZARD, FALSE))
FILL_FUNCTION(counters_w, PdhEnumObjectItemsW(wide(log_name), NULL, TEXT("PhysicalDisk"), WIDE, size, ample_wide,
                                        (ample_size = 4096, &ample_size), PERF_DETAIL_WIZARD, 0))
FILL_FUNCTION(counters_a, PdhEnumObjectItemsA(log_name, NULL, "PhysicalDisk", CHARS, size, ample_bytes,
                                        (ample_size = 4096, &ample_size), PERF_DETAIL_WIZARD, 0))
FILL_FUNCTION(instances_hw, PdhEnumObjectItemsHW(source, NULL, TEXT("PhysicalDisk"), ample_wide,
                                           (ample_size = 4096, &ample_size), WIDE, size, PERF_DETAIL_WIZARD, 0))
FILL_FUNCTION(instances_ha, PdhEnumObjectItemsHA(source, NULL, "Process", ample_bytes, (ample_size = 4096, &ample_size), CHARS,
                                           size, PERF_DETAIL_WIZARD, 0))
FILL_FUNCTION(instance_w, PdhParseInstanceNameW(TEXT("parent/name#7"), WIDE, size, ample_wide, (ample_size = 4096, &ample_size),
                                          &items))
FILL_FUNCTION(instance_a, PdhParseInstanceNameA("parent/name#7", CHARS, size, ample_bytes, (ample_size = 4096, &ample_size),
                                          &items))
FILL_FUNCTION(parent_w, PdhParseInstanceNameW(TEXT("parent/name"), ample_wide, (ample_size = 4096, &ample_size), WIDE, size,
                                        &items))
FILL_FUNCTION(parent_a, PdhParseInstanceNameA("name", ample_bytes, (ample_size = 4096, &ample_size), CHARS, size, &items))
FILL_FUNCTION(set_w, PdhGetDefaultPerfObjectW(NULL, NULL, WIDE, size))
FILL_FUNCTION(set_a, PdhGetDefaultPerfObjectA(NULL, NULL, CHARS, size))
FILL_FUNCTION(set_hw, PdhGetDefaultPerfObjectHW(NULL, NULL, WIDE, size))
FILL_FUNCTION(set_ha, PdhGetDefaultPerfObjectHA(NULL, NULL, CHARS, size))
FILL_FUNCTION(default_w, PdhGetDefaultPerfCounterW(NULL, NULL, TEXT("Processor"), WIDE, size))
FILL_FUNCTION(default_a, PdhGetDefaultPerfCounterA(NULL, NULL, "Processor", CHARS, size))
FILL_FUNCTION(default_hw, PdhGetDefaultPerfCounterHW(NULL, NULL, TEXT("Processor"), WIDE, size))
FILL_FUNCTION(default_ha, PdhGetDefaultPerfCounterHA(NULL, NULL, "Processor", CHARS, size))
FILL_FUNCTION(range_w, PdhGetDataSourceTimeRangeW(wide(log_name), &items, (PDH_TIME_INFO *)buffer, size))
FILL_FUNCTION(range_a, PdhGetDataSourceTimeRangeA(log_name, &items, (PDH_TIME_INFO *)buffer, size))
FILL_FUNCTION(range_h, PdhGetDataSourceTimeRangeH(source, &items, (PDH_TIME_INFO *)buffer, size))

static FILETIME first_time;
FILL_FUNCTION(record, PdhReadRawLogRecord(source, first_time, (PDH_RAW_LOG_RECORD *)buffer, size))

static PDH_STATUS make_w(void *buffer, DWORD *size)
{
    WCHAR set[] = TEXT("Set"), name[] = TEXT("Counter"), instance[] = TEXT("i"), parent[] = TEXT("p");
    PDH_COUNTER_PATH_ELEMENTS_W elements = {NULL, set, instance, parent, 2, name};
    return PdhMakeCounterPathW(&elements, WIDE, size, 0);
}

static PDH_STATUS make_a(void *buffer, DWORD *size)
{
    char machine[] = "box", set[] = "Set", name[] = "Counter";
    PDH_COUNTER_PATH_ELEMENTS_A elements = {machine, set, NULL, NULL, 0, name};
    return PdhMakeCounterPathA(&elements, CHARS, size, 0);
}

/* The contents of arrays and structures: names after the items, and pointers into the buffer. */
static void contents(void)
{
    PDH_FMT_COUNTERVALUE_ITEM_W *formatted;
    PDH_RAW_COUNTER_ITEM_A *raw;
    PDH_COUNTER_INFO_W *info;
    PDH_COUNTER_PATH_ELEMENTS_A *elements;
    DWORD size = 0, count = 0, n;
    RETURNS(PdhGetFormattedCounterArrayW(counter, PDH_FMT_DOUBLE, &size, &count, NULL), PDH_MORE_DATA);
    HOLDS(count == 2);
    formatted = (PDH_FMT_COUNTERVALUE_ITEM_W *)malloc(size);
    SUCCEEDS(PdhGetFormattedCounterArrayW(counter, PDH_FMT_DOUBLE, &size, &count, formatted));
    for (n = 0; n < count; n++) {
        const char *name = (const char *)formatted[n].szName;
        HOLDS(name >= (char *)(formatted + count) && name < (char *)formatted + size);
        HOLDS(formatted[n].FmtValue.CStatus <= PDH_CSTATUS_NEW_DATA);
    }
    HOLDS(count == 2 && strcmp(narrow(formatted[0].szName), "0 C:") == 0);
    HOLDS(count == 2 && strcmp(narrow(formatted[1].szName), "_Total") == 0);
    /* One read took 2147727 ticks of a clock of 14318180 Hz. */
    HOLDS(count == 2 && formatted[0].FmtValue.doubleValue == 2147727.0 / 14318180.0);
    free(formatted);

    size = 0;
    RETURNS(PdhGetRawCounterArrayA(counter, &size, &count, NULL), PDH_MORE_DATA);
    HOLDS(count == 2 && size == 2 * 48 + 5 + 7);
    raw = (PDH_RAW_COUNTER_ITEM_A *)malloc(size);
    SUCCEEDS(PdhGetRawCounterArrayA(counter, &size, &count, raw));
    HOLDS(strcmp(raw[0].szName, "0 C:") == 0 && strcmp(raw[1].szName, "_Total") == 0);
    HOLDS(raw[0].RawValue.FirstValue == 2147727 && raw[0].RawValue.SecondValue == 1);
    free(raw);

    size = 0;
    RETURNS(PdhGetCounterInfoW(counter, TRUE, &size, NULL), PDH_MORE_DATA);
    info = (PDH_COUNTER_INFO_W *)malloc(size);
    SUCCEEDS(PdhGetCounterInfoW(counter, TRUE, &size, info));
    HOLDS(info->dwLength == size);
    HOLDS(info->dwType == PERF_AVERAGE_TIMER);
    HOLDS(info->lScale == 0);
    HOLDS(info->dwUserData == 78 && info->dwQueryUserData == 77);
    HOLDS(strcmp(narrow(info->szFullPath), "\\\\BOX" DISKS) == 0);
    HOLDS(strcmp(narrow(info->szMachineName), "\\\\BOX") == 0);
    HOLDS(strcmp(narrow(info->szObjectName), "PhysicalDisk") == 0);
    HOLDS(strcmp(narrow(info->CounterPath.szInstanceName), "*") == 0);
    HOLDS(info->szParentInstance == NULL);
    HOLDS(strcmp(narrow(info->szCounterName), "Avg. Disk sec/Read") == 0);
    HOLDS(info->szExplainText != NULL);
    free(info);

    size = 0;
    RETURNS(PdhParseCounterPathA("\\\\box\\Thread(a/b#3)\\% Processor Time", NULL, &size, 0), PDH_MORE_DATA);
    elements = (PDH_COUNTER_PATH_ELEMENTS_A *)malloc(size);
    SUCCEEDS(PdhParseCounterPathA("\\\\box\\Thread(a/b#3)\\% Processor Time", elements, &size, 0));
    HOLDS(strcmp(elements->szMachineName, "\\\\box") == 0);
    HOLDS(strcmp(elements->szObjectName, "Thread") == 0);
    HOLDS(strcmp(elements->szParentInstance, "a") == 0);
    HOLDS(strcmp(elements->szInstanceName, "b") == 0);
    HOLDS(elements->dwInstanceIndex == 3);
    HOLDS(strcmp(elements->szCounterName, "% Processor Time") == 0);
    free(elements);
}

/* Lists of the items of sets with and without instances. */
static void lists(void)
{
    char counters[256], instances[256];
    DWORD size = sizeof counters, size2 = sizeof instances;
    SUCCEEDS(PdhEnumObjectItemsA(log_name, NULL, "Memory", counters, &size, instances, &size2,
                                 PERF_DETAIL_WIZARD, 0));
    HOLDS(size == 17 && memcmp(counters, "Available Bytes\0", 17) == 0);
    HOLDS(size2 == 0);
    /* A set without instances needs no space for them. */
    size = sizeof counters;
    size2 = 0;
    SUCCEEDS(PdhEnumObjectItemsA(log_name, NULL, "Memory", counters, &size, NULL, &size2, PERF_DETAIL_WIZARD, 0));
    size = sizeof counters;
    size2 = sizeof instances;
    SUCCEEDS(PdhEnumObjectItemsHA(source, NULL, "PhysicalDisk", counters, &size, instances, &size2,
                                  PERF_DETAIL_WIZARD, 0));
    HOLDS(size2 == 13 && memcmp(instances, "0 C:\0_Total\0", 13) == 0);
    size2 = sizeof instances;
    SUCCEEDS(PdhEnumMachinesA(log_name, instances, &size2));
    HOLDS(size2 == 7 && memcmp(instances, "\\\\BOX\0", 7) == 0);
    /* A list that fits is written even if the other does not. */
    memset(counters, 1, sizeof counters);
    size = sizeof counters;
    size2 = 1;
    RETURNS(PdhEnumObjectItemsA(log_name, NULL, "PhysicalDisk", counters, &size, instances, &size2,
                                PERF_DETAIL_WIZARD, 0),
            PDH_MORE_DATA);
    HOLDS(size2 == 13 && counters[size - 1] == 0 && counters[size - 2] == 0);
}

#define CHECK(function, unit) check_every_capacity(#function, function, unit)

int main(int argc, char **argv)
{
    char names[1100];
    PDH_HQUERY query;
    PDH_RAW_COUNTER raw;
    memset(names, 0, sizeof names);
    if (argc < 2 || strlen(argv[1]) > sizeof names - 2) {
        return 2;
    }
    log_name = argv[1];
    strcpy(names, log_name);
    SUCCEEDS(PdhBindInputDataSourceA(&source, names));
    SUCCEEDS(PdhOpenQueryH(source, 77, &query));
    SUCCEEDS(PdhAddCounterA(query, DISKS, 78, &counter));
    SUCCEEDS(PdhCollectQueryData(query));
    SUCCEEDS(PdhGetRawCounterArrayA(counter, (ample_size = 4096, &ample_size), &items, (PDH_RAW_COUNTER_ITEM_A *)ample_bytes));
    raw = ((PDH_RAW_COUNTER_ITEM_A *)ample_bytes)->RawValue;
    first_time = raw.TimeStamp;
    SUCCEEDS(PdhCollectQueryData(query));
    CHECK(array_w, 1), CHECK(array_a, 1), CHECK(raw_w, 1), CHECK(raw_a, 1), CHECK(info_w, 1), CHECK(info_a, 1);
    CHECK(parse_w, 1), CHECK(parse_a, 1), CHECK(make_w, 2), CHECK(make_a, 1);
    CHECK(expand_w, 2), CHECK(expand_a, 1), CHECK(expand_hw, 2), CHECK(expand_ha, 1);
    CHECK(expand_here_w, 2), CHECK(expand_here_a, 1);
    CHECK(machines_w, 2), CHECK(machines_a, 1), CHECK(machines_hw, 2), CHECK(machines_ha, 1);
    CHECK(sets_w, 2), CHECK(sets_a, 1), CHECK(sets_hw, 2), CHECK(sets_ha, 1);
    CHECK(counters_w, 2), CHECK(counters_a, 1), CHECK(instances_hw, 2), CHECK(instances_ha, 1);
    CHECK(instance_w, 2), CHECK(instance_a, 1), CHECK(parent_w, 2), CHECK(parent_a, 1);
    CHECK(set_w, 2), CHECK(set_a, 1), CHECK(set_hw, 2), CHECK(set_ha, 1);
    CHECK(default_w, 2), CHECK(default_a, 1), CHECK(default_hw, 2), CHECK(default_ha, 1);
    CHECK(range_w, 1), CHECK(range_a, 1), CHECK(range_h, 1), CHECK(record, 1);
    contents();
    lists();
    SUCCEEDS(PdhCloseQuery(query));
    SUCCEEDS(PdhCloseLog(source, 0));
    return failed;
}
