/*
 * Publishes a counter set: while it runs, `tacho list` lists it and `tacho query` reads it. Names come from a
 * registered manifest (tacho manifest register); without one, the set is named after its GUID.
 *
 *     gcc -std=c17 provider.c -o provider $(pkg-config --cflags --libs tachograph)
 *     ./provider 60
 */
#include <perflib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <winperf.h>

static GUID provider_guid = {0x8f0c1d7a, 0x53a2, 0x4b4e, {0x9d, 0x6b, 0x20, 0x71, 0x5e, 0x4c, 0xaf, 0x11}};

enum { REQUESTS = 1, OPEN = 2, TIME = 3, TIME_BASE = 4 };

/* The template of the set: its description, and one entry per counter. */
static struct {
    PERF_COUNTERSET_INFO set;
    PERF_COUNTER_INFO counters[4];
} shop = {
    {
        {0x8f0c1d7b, 0x53a2, 0x4b4e, {0x9d, 0x6b, 0x20, 0x71, 0x5e, 0x4c, 0xaf, 0x11}},
        {0x8f0c1d7a, 0x53a2, 0x4b4e, {0x9d, 0x6b, 0x20, 0x71, 0x5e, 0x4c, 0xaf, 0x11}},
        4,
        PERF_COUNTERSET_MULTI_INSTANCES,
    },
    {
        {REQUESTS, PERF_COUNTER_BULK_COUNT, 0, 8, PERF_DETAIL_NOVICE, 0, 0},
        {OPEN, PERF_COUNTER_LARGE_RAWCOUNT, 0, 8, PERF_DETAIL_NOVICE, 0, 0},
        {TIME, PERF_AVERAGE_BULK, 0, 8, PERF_DETAIL_NOVICE, 0, 0},
        /* The base of a counter follows it. */
        {TIME_BASE, PERF_AVERAGE_BASE, PERF_ATTRIB_NO_DISPLAYABLE, 4, PERF_DETAIL_NOVICE, 0, 0},
    },
};

int main(int count, char **arguments)
{
    static const WCHAR name[] = {'c', 'h', 'e', 'c', 'k', 'o', 'u', 't', 0};
    const int seconds = count > 1 ? atoi(arguments[1]) : 10;
    PERF_COUNTERSET_INSTANCE *instance = NULL;
    HANDLE provider;
    ULONG code = PerfStartProvider(&provider_guid, NULL, &provider);
    int second;

    if (code == ERROR_SUCCESS) {
        code = PerfSetCounterSetInfo(provider, &shop.set, sizeof shop);
    }
    if (code == ERROR_SUCCESS) {
        instance = PerfCreateInstance(provider, &shop.set.CounterSetGuid, name, 0);
        code = instance ? ERROR_SUCCESS : TachoGetLastError();
    }
    if (code != ERROR_SUCCESS) {
        fprintf(stderr, "%u: %s\n", (unsigned)code, TachoLastErrorText());
        return 1;
    }
    for (second = 0; second < seconds; second++) {
        PerfIncrementULongLongCounterValue(provider, instance, REQUESTS, 10);
        PerfSetULongLongCounterValue(provider, instance, OPEN, (ULONGLONG)(second % 7));
        /* Ten requests of 3 steps each. */
        PerfIncrementULongLongCounterValue(provider, instance, TIME, 30);
        PerfIncrementULongCounterValue(provider, instance, TIME_BASE, 10);
        sleep(1);
    }
    PerfDeleteInstance(provider, instance);
    return PerfStopProvider(provider) == ERROR_SUCCESS ? 0 : 1;
}
