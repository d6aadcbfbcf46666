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
static void sleep_2_ms(void)
{
    struct timeval duration = {0, 2000};
    select(0, NULL, NULL, NULL, &duration);
}

static void check_log(const char *path, DWORD type, DWORD rows)
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
    struct stat file_status;
    PDH_STATUS status;

    SUCCEEDS(PdhOpenLogA(path, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, &found, NULL, 0, NULL, &log));
    HOLDS(found == type);
    HOLDS(stat(path, &file_status) == 0);
    SUCCEEDS(PdhGetLogFileSize(log, &bytes));
    HOLDS(bytes == (LONGLONG)file_status.st_size);
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

static void write_log(const char *path, DWORD type)
{
    PDH_HQUERY query;
    PDH_HCOUNTER counter;
    PDH_HLOG log;
    LONGLONG bytes = -1;
    DWORD row, opened_type = type, second_type = type, size = 1;
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, AVAILABLE, 0, &counter));
    SUCCEEDS(PdhAddCounterA(query, TIMES, 0, &counter));
    SUCCEEDS(PdhOpenLogA(path, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &opened_type, query, 0, NULL, &log));
    HOLDS(opened_type == type);
    RETURNS(PdhUpdateLogA(log, ""), PDH_INVALID_ARGUMENT);
    for (row = 0; row < ROWS; row++) {
        SUCCEEDS(PdhUpdateLogA(log, row == 1 ? "a comment" : NULL));
        sleep_2_ms();
    }
    SUCCEEDS(PdhGetLogFileSize(log, &bytes));
    HOLDS(bytes > 0);
    /* The log is not a data source while it is written. */
    RETURNS(PdhEnumMachinesHA(log, NULL, &size), PDH_INVALID_ARGUMENT);
    size = 0;
    RETURNS(PdhEnumMachinesHA(log, NULL, &size), PDH_INVALID_HANDLE);
    /* With the flag, the query is closed with its log. */
    SUCCEEDS(PdhCloseLog(log, PDH_FLAGS_CLOSE_QUERY));
    RETURNS(PdhCollectQueryData(query), PDH_INVALID_HANDLE);
    RETURNS(PdhUpdateLogA(log, NULL), PDH_INVALID_HANDLE);
    check_log(path, type, ROWS);

    /* Again, with a query that is closed before its log. */
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, AVAILABLE, 0, &counter));
    RETURNS(PdhOpenLogA(path, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_NEW, &second_type, query, 0, NULL, &log),
            PDH_FILE_ALREADY_EXISTS);
    HOLDS(log == NULL);
    SUCCEEDS(PdhOpenLogA(path, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &second_type, query, 0, NULL, &log));
    SUCCEEDS(PdhUpdateLogA(log, NULL));
    SUCCEEDS(PdhCloseQuery(query));
    RETURNS(PdhUpdateLogA(log, NULL), PDH_INVALID_HANDLE);
    SUCCEEDS(PdhCloseLog(log, 0));
    check_log(path, type, 1);
}

/* Logs that cannot be opened. */
static void open_invalid_logs(const char *folder)
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
        write_log(path, logs[n].type);
    }
    open_invalid_logs(argv[1]);
    return failed;
}
