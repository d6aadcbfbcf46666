/*
 * Writing logs of this machine, and reading them back: BLG, CSV, TSV. Its argument is a folder.
 */
#include "pdh_checks.h"

#include <stddef.h>
#include <sys/select.h>
#include <sys/stat.h>

#define ROWS 3
#define AVAILABLE "\\Memory\\Available Bytes"
#define TIMES "\\Processor Information(_Total)\\% Processor Time"

/* 2 ms: samples have different times. */
static void pause_shortly(void)
{
    struct timeval left = {0, 2000};
    select(0, NULL, NULL, NULL, &left);
}

static void reads_back(const char *path, DWORD type, DWORD rows)
{
    PDH_HLOG log, source;
    PDH_HQUERY query;
    PDH_HCOUNTER counter;
    PDH_FMT_COUNTERVALUE value;
    PDH_TIME_INFO range;
    PDH_RAW_LOG_RECORD *record;
    FILETIME time;
    DWORD found = 0, count = 0, size = sizeof range, collected = 0;
    LONGLONG bytes = 0;
    struct stat about;
    PDH_STATUS status;

    SUCCEEDS(PdhOpenLogA(path, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, &found, NULL, 0, NULL, &log));
    HOLDS(found == type);
    HOLDS(stat(path, &about) == 0);
    SUCCEEDS(PdhGetLogFileSize(log, &bytes));
    HOLDS(bytes == (LONGLONG)about.st_size);
    RETURNS(PdhUpdateLogA(log, "a log that is read"), PDH_INVALID_HANDLE);
    SUCCEEDS(PdhGetDataSourceTimeRangeH(log, &count, &range, &size));
    HOLDS(range.SampleCount == rows && range.StartTime <= range.EndTime);

    time.dwLowDateTime = (DWORD)range.EndTime;
    time.dwHighDateTime = (DWORD)(range.EndTime >> 32);
    size = 0;
    RETURNS(PdhReadRawLogRecord(log, time, NULL, &size), PDH_MORE_DATA);
    record = (PDH_RAW_LOG_RECORD *)malloc(size);
    SUCCEEDS(PdhReadRawLogRecord(log, time, record, &size));
    HOLDS(record->dwStructureSize == size && record->dwRecordType == type);
    HOLDS(record->dwItems + offsetof(PDH_RAW_LOG_RECORD, RawBytes) == size);
    /* A line of a text begins with its time in quotes. */
    HOLDS(type == PDH_LOG_TYPE_BINARY || record->RawBytes[0] == '"');
    free(record);
    time.dwLowDateTime = time.dwHighDateTime = 0;
    size = 0;
    RETURNS(PdhReadRawLogRecord(log, time, NULL, &size), PDH_ENTRY_NOT_IN_LOG_FILE);

    SUCCEEDS(PdhOpenQueryH(log, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, AVAILABLE, 0, &counter));
    while ((status = PdhCollectQueryData(query)) == 0) {
        SUCCEEDS(PdhGetFormattedCounterValue(counter, PDH_FMT_DOUBLE, NULL, &value));
        HOLDS(value.doubleValue > 1e6);
        collected++;
    }
    RETURNS(status, PDH_NO_MORE_DATA);
    HOLDS(collected == rows);
    SUCCEEDS(PdhCloseQuery(query));
    SUCCEEDS(PdhCloseLog(log, 0));

    RETURNS(PdhBindInputDataSourceA(&source, ""), PDH_INVALID_ARGUMENT);
    HOLDS(source == NULL);
}

static void writes(const char *path, DWORD type)
{
    PDH_HQUERY query;
    PDH_HCOUNTER counter;
    PDH_HLOG log;
    LONGLONG bytes = -1;
    DWORD row, wanted = type, again = type;
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, AVAILABLE, 0, &counter));
    SUCCEEDS(PdhAddCounterA(query, TIMES, 0, &counter));
    SUCCEEDS(PdhOpenLogA(path, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &wanted, query, 0, NULL, &log));
    HOLDS(wanted == type);
    RETURNS(PdhUpdateLogA(log, ""), PDH_INVALID_ARGUMENT);
    for (row = 0; row < ROWS; row++) {
        SUCCEEDS(PdhUpdateLogA(log, row == 1 ? "a comment" : NULL));
        pause_shortly();
    }
    SUCCEEDS(PdhGetLogFileSize(log, &bytes));
    HOLDS(bytes > 0);
    /* The log is not a data source while it is written. */
    RETURNS(PdhEnumMachinesHA(log, NULL, &again), PDH_INVALID_ARGUMENT);
    again = 0;
    RETURNS(PdhEnumMachinesHA(log, NULL, &again), PDH_INVALID_HANDLE);
    /* With the flag, the query is closed with its log. */
    SUCCEEDS(PdhCloseLog(log, PDH_FLAGS_CLOSE_QUERY));
    RETURNS(PdhCollectQueryData(query), PDH_INVALID_HANDLE);
    RETURNS(PdhUpdateLogA(log, NULL), PDH_INVALID_HANDLE);
    reads_back(path, type, ROWS);

    /* Again, with a query that is closed before its log. */
    again = type;
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, AVAILABLE, 0, &counter));
    RETURNS(PdhOpenLogA(path, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_NEW, &again, query, 0, NULL, &log),
            PDH_FILE_ALREADY_EXISTS);
    HOLDS(log == NULL);
    SUCCEEDS(PdhOpenLogA(path, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &again, query, 0, NULL, &log));
    SUCCEEDS(PdhUpdateLogA(log, NULL));
    SUCCEEDS(PdhCloseQuery(query));
    RETURNS(PdhUpdateLogA(log, NULL), PDH_INVALID_HANDLE);
    SUCCEEDS(PdhCloseLog(log, 0));
    reads_back(path, type, 1);
}

/* Logs that cannot be opened. */
static void refused(const char *folder)
{
    PDH_HQUERY query;
    PDH_HLOG log;
    DWORD type = PDH_LOG_TYPE_SQL;
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    RETURNS(PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &type, query, 0, NULL, &log),
            PDH_LOG_TYPE_NOT_FOUND);
    type = PDH_LOG_TYPE_CSV;
    RETURNS(PdhOpenLogA("x", 0, &type, query, 0, NULL, &log), PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &type, NULL, 0, NULL, &log),
            PDH_INVALID_ARGUMENT);
    RETURNS(PdhOpenLogA(folder, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, &type, (HANDLE)query, 0, NULL, &log),
            PDH_UNKNOWN_LOG_FORMAT);
    RETURNS(PdhOpenLogA("no such log", PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, &type, NULL, 0, NULL, &log),
            PDH_FILE_NOT_FOUND);
    SUCCEEDS(PdhCloseQuery(query));
}

int main(int argc, char **argv)
{
    char path[1100];
    const struct {
        const char *name;
        DWORD type;
    } logs[] = {{"a.blg", PDH_LOG_TYPE_BINARY}, {"a.csv", PDH_LOG_TYPE_CSV}, {"a.tsv", PDH_LOG_TYPE_TSV}};
    size_t n;
    if (argc < 2 || strlen(argv[1]) > 1000) {
        return 2;
    }
    for (n = 0; n < sizeof logs / sizeof logs[0]; n++) {
        sprintf(path, "%s/%s", argv[1], logs[n].name);
        writes(path, logs[n].type);
    }
    refused(argv[1]);
    return failed;
}
