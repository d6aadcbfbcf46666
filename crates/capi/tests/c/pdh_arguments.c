/*
 * Null for every pointer, invalid handles, and the status codes of paths and names. The argument is a log, described
 * in tests/c_interface/pdh/logs.rs.
 */
#include "pdh_checks.h"

#define TEXT(text) TACHO_W(text)
#define DISK "\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read"

static const char *log_name;
static PDH_HQUERY query;
static PDH_HCOUNTER counter;
static PDH_HLOG source;

static void null_pointers(void)
{
    PDH_HQUERY other;
    PDH_HLOG log;
    DWORD size = 0, size2 = 0, count = 0, type = PDH_LOG_TYPE_CSV;
    LONGLONG number = 0;
    PDH_RAW_COUNTER raw;
    PDH_FMT_COUNTERVALUE value;
    PDH_STATISTICS statistics;
    const FILETIME none = {0, 0};
    memset(&raw, 0, sizeof raw);

    RETURNS(PdhGetDllVersion(NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenQueryW(NULL, 0, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenQueryA(NULL, 0, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenQueryH(NULL, 0, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhAddCounterW(query, NULL, 0, &counter), PDH_INVALID_ARGUMENT);
    HOLDS(counter == NULL);
    RETURNS(PdhAddCounterW(query, TEXT("\\Memory\\Available Bytes"), 0, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhAddCounterA(query, NULL, 0, &counter), PDH_INVALID_ARGUMENT);
    RETURNS(PdhAddCounterA(query, "\\Memory\\Available Bytes", 0, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhAddEnglishCounterW(query, NULL, 0, &counter), PDH_INVALID_ARGUMENT);
    RETURNS(PdhAddEnglishCounterW(query, TEXT("\\Memory\\Available Bytes"), 0, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhAddEnglishCounterA(query, NULL, 0, &counter), PDH_INVALID_ARGUMENT);
    RETURNS(PdhAddEnglishCounterA(query, "\\Memory\\Available Bytes", 0, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhCollectQueryDataWithTime(query, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhSetQueryTimeRange(query, NULL), PDH_INVALID_ARGUMENT);
    SUCCEEDS(PdhAddCounterA(query, DISK, 0, &counter));

    RETURNS(PdhGetFormattedCounterValue(counter, PDH_FMT_DOUBLE, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetRawCounterValue(counter, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetFormattedCounterArrayW(counter, PDH_FMT_DOUBLE, NULL, &count, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetFormattedCounterArrayW(counter, PDH_FMT_DOUBLE, &size, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetFormattedCounterArrayA(counter, PDH_FMT_DOUBLE, NULL, &count, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetFormattedCounterArrayA(counter, PDH_FMT_DOUBLE, &size, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetRawCounterArrayW(counter, NULL, &count, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetRawCounterArrayW(counter, &size, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetRawCounterArrayA(counter, NULL, &count, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetRawCounterArrayA(counter, &size, NULL, NULL), PDH_INVALID_ARGUMENT);
    size = 1000; /* a size without a buffer */
    RETURNS(PdhGetFormattedCounterArrayW(counter, PDH_FMT_DOUBLE, &size, &count, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetRawCounterArrayA(counter, &size, &count, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetCounterInfoW(counter, TRUE, &size, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetCounterInfoA(counter, TRUE, &size, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetCounterInfoW(counter, TRUE, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetCounterInfoA(counter, TRUE, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhCalculateCounterFromRawValue(counter, PDH_FMT_DOUBLE, NULL, &raw, &value), PDH_INVALID_ARGUMENT);
    RETURNS(PdhCalculateCounterFromRawValue(counter, PDH_FMT_DOUBLE, &raw, &raw, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhFormatFromRawValue(0x10000, PDH_FMT_DOUBLE, &number, NULL, &raw, &value), PDH_INVALID_ARGUMENT);
    RETURNS(PdhFormatFromRawValue(0x10000, PDH_FMT_DOUBLE, &number, &raw, &raw, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhComputeCounterStatistics(counter, PDH_FMT_DOUBLE, 0, 1, NULL, &statistics), PDH_INVALID_ARGUMENT);
    RETURNS(PdhComputeCounterStatistics(counter, PDH_FMT_DOUBLE, 0, 1, &raw, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetCounterTimeBase(counter, NULL), PDH_INVALID_ARGUMENT);

    RETURNS(PdhValidatePathW(NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhValidatePathA(NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhValidatePathExW(source, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhValidatePathExA(source, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseCounterPathW(NULL, NULL, &size, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseCounterPathW(TEXT("\\A\\B"), NULL, NULL, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseCounterPathW(TEXT("\\A\\B"), NULL, &size, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseCounterPathA(NULL, NULL, &size, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhMakeCounterPathW(NULL, NULL, &size2, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhMakeCounterPathA(NULL, NULL, &size2, 0), PDH_INVALID_ARGUMENT);
    {
        char instance[] = "I", object[] = "O", name[] = "C", empty[] = "", odd[] = "(abc", buffer[40];
        PDH_COUNTER_PATH_ELEMENTS_A elements;
        memset(&elements, 0, sizeof elements);
        size2 = sizeof buffer;
        RETURNS(PdhMakeCounterPathA(&elements, buffer, &size2, 0), PDH_INVALID_ARGUMENT);
        elements.szObjectName = object;
        RETURNS(PdhMakeCounterPathA(&elements, buffer, &size2, 0), PDH_INVALID_ARGUMENT);
        elements.szCounterName = name;
        elements.szInstanceName = instance;
        RETURNS(PdhMakeCounterPathA(&elements, NULL, &size2, 0), PDH_INVALID_ARGUMENT);
        RETURNS(PdhMakeCounterPathA(&elements, buffer, NULL, 0), PDH_INVALID_ARGUMENT);
        SUCCEEDS(PdhMakeCounterPathA(&elements, buffer, &size2, 0));
        HOLDS(strcmp(buffer, "\\O(I)\\C") == 0 && size2 == 8);
        /* -1 means no index. */
        elements.dwInstanceIndex = (DWORD)-1;
        size2 = sizeof buffer;
        SUCCEEDS(PdhMakeCounterPathA(&elements, buffer, &size2, 0));
        HOLDS(strcmp(buffer, "\\O(I)\\C") == 0 && size2 == 8);
        /* An empty name is treated as absent. */
        elements.dwInstanceIndex = 1;
        elements.szParentInstance = empty;
        size2 = sizeof buffer;
        SUCCEEDS(PdhMakeCounterPathA(&elements, buffer, &size2, 0));
        HOLDS(strcmp(buffer, "\\O(I#1)\\C") == 0);
        elements.szParentInstance = object;
        elements.szInstanceName = empty;
        size2 = sizeof buffer;
        SUCCEEDS(PdhMakeCounterPathA(&elements, buffer, &size2, 0));
        HOLDS(strcmp(buffer, "\\O\\C") == 0);
        /* Unbalanced parentheses. */
        elements.szInstanceName = odd;
        size2 = sizeof buffer;
        SUCCEEDS(PdhMakeCounterPathA(&elements, buffer, &size2, 0));
        HOLDS(strcmp(buffer, "\\O(O/(abc#1)\\C") == 0);
        size2 = 0;
    }
    RETURNS(PdhParseInstanceNameW(NULL, NULL, &size2, NULL, &size2, &count), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseInstanceNameW(TEXT("a"), NULL, NULL, NULL, &size2, &count), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseInstanceNameW(TEXT("a"), NULL, &size2, NULL, NULL, &count), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseInstanceNameW(TEXT("a"), NULL, &size2, NULL, &size2, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseInstanceNameA(NULL, NULL, &size2, NULL, &size2, &count), PDH_INVALID_ARGUMENT);
    RETURNS(PdhExpandWildCardPathA(log_name, NULL, NULL, &size2, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhExpandWildCardPathA(log_name, DISK, NULL, NULL, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhExpandWildCardPathA(log_name, DISK, NULL, &size, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhExpandWildCardPathW(NULL, NULL, NULL, &size2, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhExpandWildCardPathHW(source, NULL, NULL, &size2, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhExpandWildCardPathHA(source, DISK, NULL, NULL, 0), PDH_INVALID_ARGUMENT);
    RETURNS(PdhExpandCounterPathW(NULL, NULL, &size2), PDH_INVALID_ARGUMENT);
    RETURNS(PdhExpandCounterPathA(DISK, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumMachinesW(NULL, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumMachinesA(log_name, NULL, &size), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumMachinesHW(source, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumMachinesHA(source, NULL, &size), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectsW(NULL, NULL, NULL, NULL, PERF_DETAIL_WIZARD, FALSE), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectsA(log_name, NULL, NULL, &size, PERF_DETAIL_WIZARD, FALSE), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectsHW(source, NULL, NULL, NULL, PERF_DETAIL_WIZARD, FALSE), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectsHA(source, NULL, NULL, NULL, PERF_DETAIL_WIZARD, FALSE), PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectItemsA(log_name, NULL, NULL, NULL, &size2, NULL, &size2, PERF_DETAIL_WIZARD, 0),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectItemsA(log_name, NULL, "Memory", NULL, NULL, NULL, &size2, PERF_DETAIL_WIZARD, 0),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectItemsA(log_name, NULL, "Memory", NULL, &size2, NULL, NULL, PERF_DETAIL_WIZARD, 0),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectItemsW(NULL, NULL, NULL, NULL, &size2, NULL, &size2, PERF_DETAIL_WIZARD, 0),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectItemsHW(source, NULL, NULL, NULL, &size2, NULL, &size2, PERF_DETAIL_WIZARD, 0),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhEnumObjectItemsHA(source, NULL, "Memory", NULL, NULL, NULL, &size2, PERF_DETAIL_WIZARD, 0),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDefaultPerfObjectA(log_name, NULL, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDefaultPerfObjectW(NULL, NULL, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDefaultPerfObjectHA(source, NULL, NULL, &size), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDefaultPerfCounterA(log_name, NULL, NULL, NULL, &size2), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDefaultPerfCounterW(NULL, NULL, TEXT("Memory"), NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDefaultPerfCounterHW(source, NULL, NULL, NULL, &size2), PDH_INVALID_ARGUMENT);

    RETURNS(PdhBindInputDataSourceA(NULL, "a\0"), PDH_INVALID_ARGUMENT);
    RETURNS(PdhBindInputDataSourceW(NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDataSourceTimeRangeA(log_name, NULL, NULL, &size2), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDataSourceTimeRangeA(log_name, &count, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDataSourceTimeRangeA(log_name, &count, NULL, &size), PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetDataSourceTimeRangeH(source, NULL, NULL, &size2), PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenLogA(NULL, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &type, query, 0, NULL, &log),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, NULL, query, 0, NULL, &log),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &type, query, 0, NULL, NULL),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenLogW(NULL, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &type, query, 0, NULL, &log),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhGetLogFileSize(source, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhReadRawLogRecord(source, none, NULL, NULL), PDH_INVALID_ARGUMENT);
    RETURNS(PdhReadRawLogRecord(source, none, NULL, &size), PDH_INVALID_ARGUMENT);
    SUCCEEDS(PdhOpenQueryA(log_name, 0, &other));
    SUCCEEDS(PdhCloseQuery(other));
}

/*
 * Calls every function that takes a handle with one that is invalid for it: null, an arbitrary address, a handle of
 * another kind, or a closed one. Functions for which the handle is valid are not called (`is_query` and so on).
 */
static void check_invalid_handle(HANDLE none, int is_query, int is_counter, int is_log)
{
    PDH_HCOUNTER added;
    PDH_HQUERY opened;
    DWORD size = 0, size2 = 0, count = 0;
    LONGLONG number = 0;
    PDH_RAW_COUNTER raw;
    PDH_FMT_COUNTERVALUE value;
    PDH_STATISTICS statistics;
    PDH_TIME_INFO range = {0, 1, 0};
    const FILETIME time = {0, 0};
    memset(&raw, 0, sizeof raw);
    if (!is_query) {
        RETURNS(PdhAddCounterA(none, DISK, 0, &added), PDH_INVALID_HANDLE);
        RETURNS(PdhAddEnglishCounterW(none, TEXT(DISK), 0, &added), PDH_INVALID_HANDLE);
        RETURNS(PdhCollectQueryData(none), PDH_INVALID_HANDLE);
        RETURNS(PdhCollectQueryDataWithTime(none, &number), PDH_INVALID_HANDLE);
        RETURNS(PdhCollectQueryDataEx(none, 1, NULL), PDH_INVALID_HANDLE);
        RETURNS(PdhSetQueryTimeRange(none, &range), PDH_INVALID_HANDLE);
        RETURNS(PdhCloseQuery(none), PDH_INVALID_HANDLE);
        HOLDS(!PdhIsRealTimeQuery(none));
    }
    if (!is_counter) {
        RETURNS(PdhRemoveCounter(none), PDH_INVALID_HANDLE);
        RETURNS(PdhGetFormattedCounterValue(none, PDH_FMT_DOUBLE, NULL, &value), PDH_INVALID_HANDLE);
        RETURNS(PdhGetFormattedCounterArrayW(none, PDH_FMT_DOUBLE, &size, &count, NULL), PDH_INVALID_HANDLE);
        RETURNS(PdhGetRawCounterValue(none, NULL, &raw), PDH_INVALID_HANDLE);
        RETURNS(PdhGetRawCounterArrayA(none, &size, &count, NULL), PDH_INVALID_HANDLE);
        RETURNS(PdhCalculateCounterFromRawValue(none, PDH_FMT_DOUBLE, &raw, &raw, &value), PDH_INVALID_HANDLE);
        RETURNS(PdhComputeCounterStatistics(none, PDH_FMT_DOUBLE, 0, 1, &raw, &statistics), PDH_INVALID_HANDLE);
        RETURNS(PdhGetCounterInfoA(none, FALSE, &size, NULL), PDH_INVALID_HANDLE);
        RETURNS(PdhSetCounterScaleFactor(none, 1), PDH_INVALID_HANDLE);
        RETURNS(PdhGetCounterTimeBase(none, &number), PDH_INVALID_HANDLE);
    }
    if (!is_log) {
        RETURNS(PdhUpdateLogA(none, "comment"), PDH_INVALID_HANDLE);
        RETURNS(PdhUpdateLogFileCatalog(none), PDH_INVALID_HANDLE);
        RETURNS(PdhGetLogFileSize(none, &number), PDH_INVALID_HANDLE);
        RETURNS(PdhReadRawLogRecord(none, time, NULL, &size), PDH_INVALID_HANDLE);
        RETURNS(PdhCloseLog(none, 0), PDH_INVALID_HANDLE);
        if (none) { /* null is this machine */
            RETURNS(PdhOpenQueryH(none, 0, &opened), PDH_INVALID_HANDLE);
            HOLDS(opened == NULL);
            RETURNS(PdhValidatePathExA(none, DISK), PDH_INVALID_HANDLE);
            RETURNS(PdhExpandWildCardPathHA(none, DISK, NULL, &size, 0), PDH_INVALID_HANDLE);
            RETURNS(PdhEnumMachinesHW(none, NULL, &size), PDH_INVALID_HANDLE);
            RETURNS(PdhEnumObjectsHW(none, NULL, NULL, &size, PERF_DETAIL_WIZARD, FALSE), PDH_INVALID_HANDLE);
            RETURNS(PdhEnumObjectItemsHA(none, NULL, "Memory", NULL, &size, NULL, &size2, PERF_DETAIL_WIZARD, 0),
                    PDH_INVALID_HANDLE);
            RETURNS(PdhGetDataSourceTimeRangeH(none, &count, NULL, &size), PDH_INVALID_HANDLE);
            RETURNS(PdhGetDefaultPerfObjectHA(none, NULL, NULL, &size), PDH_INVALID_HANDLE);
            RETURNS(PdhGetDefaultPerfCounterHA(none, NULL, "Memory", NULL, &size), PDH_INVALID_HANDLE);
        }
    }
}

/* Status codes of paths, as in the documentation of the functions and in Wine's tests. */
static void status_codes_of_paths(void)
{
    PDH_HCOUNTER added;
    PDH_HQUERY opened;
    DWORD size = 0, index = 0, size2 = 0;
    SUCCEEDS(PdhValidatePathExA(source, "\\Memory\\Available Bytes"));
    SUCCEEDS(PdhValidatePathExW(source, TEXT(DISK)));
    RETURNS(PdhValidatePathW(TEXT("")), PDH_INVALID_ARGUMENT);
    RETURNS(PdhValidatePathA("\\System"), PDH_CSTATUS_BAD_COUNTERNAME);
    RETURNS(PdhValidatePathA("System Up Time"), PDH_CSTATUS_BAD_COUNTERNAME);
    RETURNS(PdhValidatePathA("\\System\\System Down Time"), PDH_CSTATUS_NO_COUNTER);
    SUCCEEDS(PdhValidatePathA("\\System\\System Up Time"));
    RETURNS(PdhAddCounterA(query, "\\Memory\\No Such Counter", 0, &added), PDH_CSTATUS_NO_COUNTER);
    HOLDS(added == NULL);
    RETURNS(PdhAddCounterA(query, "\\No Such Set\\Available Bytes", 0, &added), PDH_CSTATUS_NO_OBJECT);
    RETURNS(PdhAddCounterA(query, "", 0, &added), PDH_CSTATUS_NO_COUNTERNAME);
    RETURNS(PdhAddCounterA(query, "blah", 0, &added), PDH_CSTATUS_BAD_COUNTERNAME);
    RETURNS(PdhOpenQueryA("no such file.blg", 0, &opened), PDH_FILE_NOT_FOUND);
    HOLDS(opened == NULL);
    RETURNS(PdhOpenQueryW(TEXT("no such file.blg"), 0, &opened), PDH_FILE_NOT_FOUND);
    RETURNS(PdhExpandWildCardPathA(log_name, "sdfhsdhfd", NULL, &size, 0), PDH_INVALID_PATH);
    RETURNS(PdhExpandWildCardPathA(log_name, "\\No Such Set(*)\\*", NULL, &size, 0), PDH_CSTATUS_NO_OBJECT);
    RETURNS(PdhParseCounterPathA("\\O(I\\C", NULL, &size, 0), PDH_INVALID_PATH);
    RETURNS(PdhParseInstanceNameA("", NULL, &size, NULL, &size2, &index), PDH_INVALID_ARGUMENT);
    RETURNS(PdhParseInstanceNameA("parent/", NULL, &size, NULL, &size2, &index), PDH_INVALID_INSTANCE);
    RETURNS(PdhEnumObjectItemsA(log_name, NULL, "No Such Set", NULL, &size, NULL, &size2, PERF_DETAIL_WIZARD, 0),
            PDH_CSTATUS_NO_OBJECT);
    RETURNS(PdhGetDataSourceTimeRangeA(NULL, &index, NULL, &size), PDH_DATA_SOURCE_IS_REAL_TIME);
    RETURNS(PdhConnectMachineA("\\\\a machine that is not this one"), PDH_CSTATUS_NO_MACHINE);
    SUCCEEDS(PdhConnectMachineA(NULL));
    SUCCEEDS(PdhSetDefaultRealTimeDataSource(DATA_SOURCE_REGISTRY));
    RETURNS(PdhSetDefaultRealTimeDataSource(DATA_SOURCE_WBEM), PDH_CANNOT_SET_DEFAULT_REALTIME_DATASOURCE);
    RETURNS(PdhSetDefaultRealTimeDataSource(77), PDH_INVALID_ARGUMENT);
    RETURNS(PdhUpdateLogFileCatalog(source), PDH_UNKNOWN_LOG_FORMAT);
    RETURNS(PdhUpdateLogA(source, "a source is not written to"), PDH_INVALID_HANDLE);
    RETURNS(PdhCloseLog(source, 2), PDH_INVALID_ARGUMENT);
}

static void formats_and_scales(void)
{
    PDH_FMT_COUNTERVALUE value;
    LONG scale;
    const DWORD bad[] = {0, PDH_FMT_LONG | PDH_FMT_DOUBLE, PDH_FMT_DOUBLE | PDH_FMT_LARGE,
                         PDH_FMT_LONG | PDH_FMT_DOUBLE | PDH_FMT_LARGE};
    size_t n;
    for (n = 0; n < sizeof bad / sizeof bad[0]; n++) {
        RETURNS(PdhGetFormattedCounterValue(counter, bad[n], NULL, &value), PDH_INVALID_ARGUMENT);
    }
    for (scale = PDH_MIN_SCALE; scale <= PDH_MAX_SCALE; scale++) {
        SUCCEEDS(PdhSetCounterScaleFactor(counter, scale));
    }
    RETURNS(PdhSetCounterScaleFactor(counter, 8), PDH_INVALID_ARGUMENT);
    RETURNS(PdhSetCounterScaleFactor(counter, -8), PDH_INVALID_ARGUMENT);
    SUCCEEDS(PdhSetCounterScaleFactor(counter, 0));
    /* Nothing was collected yet. */
    RETURNS(PdhGetFormattedCounterValue(counter, PDH_FMT_DOUBLE, NULL, &value), PDH_INVALID_DATA);
    HOLDS(value.CStatus == PDH_CSTATUS_ITEM_NOT_VALIDATED || value.CStatus == PDH_CSTATUS_INVALID_DATA);
}

int main(int argc, char **argv)
{
    char names[1100];
    int foreign = 0;
    DWORD version = 0;
    PDH_HQUERY closed;
    PDH_HCOUNTER closed_counter;
    memset(names, 0, sizeof names);
    if (argc < 2 || strlen(argv[1]) > sizeof names - 2) {
        return 2;
    }
    log_name = argv[1];
    strcpy(names, log_name);
    SUCCEEDS(PdhGetDllVersion(&version));
    HOLDS(version == PDH_VERSION);
    SUCCEEDS(PdhBindInputDataSourceA(&source, names));
    SUCCEEDS(PdhOpenQueryA(log_name, 0, &query));
    null_pointers();

    check_invalid_handle(NULL, 0, 0, 0);
    check_invalid_handle(&foreign, 0, 0, 0);
    check_invalid_handle((HANDLE)(intptr_t)-1, 0, 0, 0);
    check_invalid_handle(query, 1, 0, 0);
    check_invalid_handle(counter, 0, 1, 0);
    check_invalid_handle(source, 0, 0, 1);
    SUCCEEDS(PdhOpenQueryA(log_name, 0, &closed));
    SUCCEEDS(PdhAddCounterA(closed, DISK, 0, &closed_counter));
    SUCCEEDS(PdhCloseQuery(closed));
    check_invalid_handle(closed, 0, 0, 0);
    check_invalid_handle(closed_counter, 0, 0, 0);
    SUCCEEDS(PdhAddCounterA(query, DISK, 0, &closed_counter));
    SUCCEEDS(PdhRemoveCounter(closed_counter));
    check_invalid_handle(closed_counter, 0, 0, 0);

    status_codes_of_paths();
    formats_and_scales();
    SUCCEEDS(PdhCloseQuery(query));
    SUCCEEDS(PdhCloseLog(source, 0));
    check_invalid_handle(source, 0, 0, 0);
    return failed;
}
