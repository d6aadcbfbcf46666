/*
 * Counters of this machine by path: pdh_query [-n SAMPLES] [PATH...]
 *
 *     gcc -std=c17 pdh_query.c -o pdh_query $(pkg-config --cflags --libs tachograph)
 *     ./pdh_query -n 3 '\Processor Information(*)\% Processor Time' '\Memory\Available Bytes'
 */
#include <pdh.h>
#include <perfutil.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#define MAX_PATHS 64

static int fail(const char *what, PDH_STATUS status)
{
    fprintf(stderr, "%s: 0x%08X %s\n", what, (unsigned)status, TachoLastErrorText());
    return 1;
}

/* Prints the values of a counter, one line for each instance. */
static int print_values(const char *path, PDH_HCOUNTER counter)
{
    DWORD size = 0, count = 0, n;
    PDH_FMT_COUNTERVALUE_ITEM_A *items = NULL;
    PDH_STATUS status = PdhGetFormattedCounterArrayA(counter, PDH_FMT_DOUBLE, &size, &count, NULL);
    /* The number of instances, and so the required size, can grow between two calls. */
    while ((DWORD)status == PDH_MORE_DATA) {
        PDH_FMT_COUNTERVALUE_ITEM_A *larger = (PDH_FMT_COUNTERVALUE_ITEM_A *)realloc(items, size);
        if (!larger) {
            free(items);
            return fail(path, (PDH_STATUS)PDH_MEMORY_ALLOCATION_FAILURE);
        }
        items = larger;
        status = PdhGetFormattedCounterArrayA(counter, PDH_FMT_DOUBLE, &size, &count, items);
    }
    if ((DWORD)status == PDH_NO_DATA || (DWORD)status == PDH_INVALID_DATA) {
        printf("%s: no value\n", path);
    } else if (status != 0) {
        free(items);
        return fail(path, status);
    }
    for (n = 0; status == 0 && n < count; n++) {
        const DWORD value_status = items[n].FmtValue.CStatus;
        if (value_status == PDH_CSTATUS_VALID_DATA || value_status == PDH_CSTATUS_NEW_DATA) {
            printf("%s [%s]: %g\n", path, items[n].szName, items[n].FmtValue.doubleValue);
        } else {
            printf("%s [%s]: no value (0x%08X)\n", path, items[n].szName, (unsigned)value_status);
        }
    }
    free(items);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"\\Processor Information(_Total)\\% Processor Time",
                                        "\\Memory\\Available Bytes"};
    const char *paths[MAX_PATHS];
    PDH_HCOUNTER counters[MAX_PATHS];
    PDH_HQUERY query;
    PDH_STATUS status;
    int used = 0, samples = 3, n, sample;

    for (n = 1; n < argc; n++) {
        if (strcmp(argv[n], "-n") == 0 && n + 1 < argc) {
            samples = atoi(argv[++n]);
        } else if (used < MAX_PATHS) {
            paths[used++] = argv[n];
        }
    }
    if (used == 0) {
        paths[used++] = usual[0];
        paths[used++] = usual[1];
    }

    status = PdhOpenQueryA(NULL, 0, &query);
    if (status != 0) {
        return fail("PdhOpenQuery", status);
    }
    for (n = 0; n < used; n++) {
        status = PdhAddCounterA(query, paths[n], 0, &counters[n]);
        if (status != 0) {
            PdhCloseQuery(query);
            return fail(paths[n], status);
        }
    }
    /* Most values need two samples: this one opens the first interval. */
    status = PdhCollectQueryData(query);
    for (sample = 0; status == 0 && sample < samples; sample++) {
        const struct timespec second = {1, 0};
        thrd_sleep(&second, NULL);
        status = PdhCollectQueryData(query);
        for (n = 0; status == 0 && n < used; n++) {
            if (print_values(paths[n], counters[n])) {
                PdhCloseQuery(query);
                return 1;
            }
        }
    }
    PdhCloseQuery(query);
    return status == 0 ? 0 : fail("PdhCollectQueryData", status);
}
