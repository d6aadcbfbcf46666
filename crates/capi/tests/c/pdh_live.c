/*
 * Reads this machine as Windows programs do: open, add, collect, wait, collect, format. Uses windows.h of the
 * compatibility folder with its events, and one query in many threads.
 */
#include <windows.h>
#include "pdh_checks.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_OF(text) TACHO_W(text)

static void two_samples(void)
{
    PDH_HQUERY query;
    PDH_HCOUNTER total, memory, processors_counter, absent_process;
    PDH_FMT_COUNTERVALUE value;
    PDH_RAW_COUNTER raw;
    LONGLONG before = 0, after = 0, base = 0;
    DWORD type = 0, size = 0, count = 0, processors;
    SUCCEEDS(PdhOpenQueryW(NULL, 5, &query));
    HOLDS(PdhIsRealTimeQuery(query));
    SUCCEEDS(PdhAddCounterW(query, TEXT_OF("\\Processor Information(_Total)\\% Processor Time"), 1, &total));
    SUCCEEDS(PdhAddEnglishCounterW(query, TEXT_OF("\\Memory\\Available Bytes"), 2, &memory));
    SUCCEEDS(PdhAddCounterW(query, TEXT_OF("\\Processor Information(*)\\% Processor Time"), 3, &processors_counter));
    /* An instance that does not exist yet may appear later. */
    SUCCEEDS(PdhAddCounterW(query, TEXT_OF("\\Process(no such process)\\% Processor Time"), 4, &absent_process));
    SUCCEEDS(PdhCollectQueryDataWithTime(query, &before));
    RETURNS(PdhGetFormattedCounterValue(total, PDH_FMT_DOUBLE, NULL, &value), PDH_INVALID_DATA);
    SUCCEEDS(PdhGetFormattedCounterValue(memory, PDH_FMT_LARGE, &type, &value));
    HOLDS(type == PERF_COUNTER_LARGE_RAWCOUNT && value.largeValue > 1000000);
    Sleep(100);
    SUCCEEDS(PdhCollectQueryDataWithTime(query, &after));
    HOLDS(after - before >= 1000000 && after - before < 600000000);
    SUCCEEDS(PdhGetFormattedCounterValue(total, PDH_FMT_DOUBLE, &type, &value));
    HOLDS(value.doubleValue >= 0 && value.doubleValue <= 100);
    SUCCEEDS(PdhGetRawCounterValue(total, NULL, &raw));
    HOLDS(((LONGLONG)raw.TimeStamp.dwHighDateTime << 32 | raw.TimeStamp.dwLowDateTime) == after);
    SUCCEEDS(PdhGetCounterTimeBase(total, &base));
    HOLDS(base == 10000000);
    HOLDS(PdhGetFormattedCounterValue(absent_process, PDH_FMT_DOUBLE, NULL, &value) != 0);
    HOLDS(value.CStatus == PDH_CSTATUS_NO_INSTANCE);

    RETURNS(PdhGetFormattedCounterArrayW(processors_counter, PDH_FMT_DOUBLE, &size, &count, NULL), PDH_MORE_DATA);
    processors = count;
    HOLDS(processors >= 2);
    {
        PDH_FMT_COUNTERVALUE_ITEM_W *items = (PDH_FMT_COUNTERVALUE_ITEM_W *)malloc(size);
        DWORD n, totals = 0;
        SUCCEEDS(PdhGetFormattedCounterArrayW(processors_counter, PDH_FMT_DOUBLE, &size, &count, items));
        for (n = 0; n < count; n++) {
            HOLDS(items[n].FmtValue.CStatus <= PDH_CSTATUS_NEW_DATA);
            totals += strcmp(narrow(items[n].szName), "_Total") == 0;
        }
        HOLDS(totals == 1);
        free(items);
    }
    SUCCEEDS(PdhCloseQuery(query));
}

/* A thread of the library collects, and sets an event after each collection. */
static void collect_by_event(void)
{
    PDH_HQUERY query;
    PDH_HCOUNTER memory;
    PDH_FMT_COUNTERVALUE value;
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    int n;
    HOLDS(event != NULL);
    HOLDS(WaitForSingleObject(event, 0) == WAIT_TIMEOUT);
    HOLDS(SetEvent(event) && SetEvent(event));
    HOLDS(WaitForSingleObject(event, 0) == WAIT_OBJECT_0);
    HOLDS(WaitForSingleObject(event, 20) == WAIT_TIMEOUT);
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, "\\Memory\\Available Bytes", 0, &memory));
    RETURNS(PdhCollectQueryDataEx(query, 0, event), PDH_INVALID_ARGUMENT);
    RETURNS(PdhCollectQueryDataEx(query, 1, NULL), PDH_INVALID_HANDLE);
    /* A descriptor that is not an event. */
    RETURNS(PdhCollectQueryDataEx(query, 1, (HANDLE)(intptr_t)5), PDH_INVALID_HANDLE);
    SUCCEEDS(PdhCollectQueryDataEx(query, 1, event));
    for (n = 0; n < 2; n++) {
        HOLDS(WaitForSingleObject(event, 20000) == WAIT_OBJECT_0);
        SUCCEEDS(PdhGetFormattedCounterValue(memory, PDH_FMT_LARGE, NULL, &value));
        HOLDS(value.largeValue > 1000000);
    }
    /* Another event replaces the first, which may be closed at any time. */
    {
        HANDLE manual = CreateEvent(NULL, TRUE, FALSE, NULL);
        SUCCEEDS(PdhCollectQueryDataEx(query, 1, manual));
        HOLDS(CloseHandle(event));
        HOLDS(WaitForSingleObject(manual, INFINITE) == WAIT_OBJECT_0);
        HOLDS(WaitForSingleObject(manual, 0) == WAIT_OBJECT_0);
        SUCCEEDS(PdhCloseQuery(query));
        HOLDS(ResetEvent(manual) && WaitForSingleObject(manual, 0) == WAIT_TIMEOUT);
        HOLDS(CloseHandle(manual));
    }
}

/* A forked child has no collecting thread: it closes inherited queries and opens its own. */
static void collect_after_fork(void)
{
    PDH_HQUERY query, own;
    PDH_HCOUNTER memory;
    PDH_FMT_COUNTERVALUE value;
    HANDLE event = CreateEvent(NULL, FALSE, FALSE, NULL);
    int status;
    pid_t child;
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, "\\Memory\\Available Bytes", 0, &memory));
    /* The interval of the thread is so long that it holds no lock at the fork. */
    SUCCEEDS(PdhCollectQueryDataEx(query, 1000000, event));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(60);
        SUCCEEDS(PdhCloseQuery(query));
        RETURNS(PdhCloseQuery(query), PDH_INVALID_HANDLE);
        SUCCEEDS(PdhOpenQueryA(NULL, 0, &own));
        SUCCEEDS(PdhAddCounterA(own, "\\Memory\\Available Bytes", 0, &memory));
        SUCCEEDS(PdhCollectQueryDataEx(own, 1, event));
        HOLDS(WaitForSingleObject(event, 20000) == WAIT_OBJECT_0);
        SUCCEEDS(PdhGetFormattedCounterValue(memory, PDH_FMT_LARGE, NULL, &value));
        SUCCEEDS(PdhCloseQuery(own));
        fflush(stdout);
        _exit(failed);
    }
    HOLDS(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    /* The parent's thread continues. */
    SUCCEEDS(PdhCollectQueryData(query));
    SUCCEEDS(PdhCloseQuery(query));
    HOLDS(CloseHandle(event));
}

static PDH_HQUERY shared;

static void *collect(void *unused)
{
    int n;
    (void)unused;
    for (n = 0; n < 20; n++) {
        PDH_HCOUNTER counter;
        PDH_FMT_COUNTERVALUE value;
        const DWORD added = (DWORD)PdhAddCounterA(shared, "\\Memory\\Available Bytes", 0, &counter);
        if (added != 0) {
            /* The query was closed. */
            return added == PDH_INVALID_HANDLE ? NULL : (void *)1;
        }
        PdhCollectQueryData(shared);
        PdhGetFormattedCounterValue(counter, PDH_FMT_LARGE, NULL, &value);
        PdhRemoveCounter(counter);
    }
    return NULL;
}

/* Threads add, collect and remove on one query, which is closed meanwhile. */
static void collect_in_threads(void)
{
    pthread_t threads[4];
    void *result;
    size_t n;
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &shared));
    for (n = 0; n < 4; n++) {
        HOLDS(pthread_create(&threads[n], NULL, collect, NULL) == 0);
    }
    Sleep(50);
    SUCCEEDS(PdhCloseQuery(shared));
    for (n = 0; n < 4; n++) {
        HOLDS(pthread_join(threads[n], &result) == 0 && result == NULL);
    }
}

int main(void)
{
    two_samples();
    collect_by_event();
    collect_after_fork();
    collect_in_threads();
    return failed;
}
