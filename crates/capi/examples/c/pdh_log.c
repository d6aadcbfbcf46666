/*
 * Prints a log sample by sample, and the statistics of its counters: pdh_log LOG [PATH...]
 *
 *     gcc -std=c17 pdh_log.c -o pdh_log $(pkg-config --cflags --libs tachograph)
 *     ./pdh_log server.blg '\PhysicalDisk(_Total)\Avg. Disk sec/Read'
 *
 * Without a path: all counters of the log.
 */
#include <pdh.h>
#include <perfutil.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A counter, and its raw values for the statistics. */
struct column {
    const char *path;
    PDH_HCOUNTER counter;
    PDH_RAW_COUNTER *raw;
    DWORD used, capacity;
};

static int fail(const char *what, PDH_STATUS status)
{
    fprintf(stderr, "%s: 0x%08X %s\n", what, (unsigned)status, TachoLastErrorText());
    return 1;
}

/* Appends the paths that match a pattern to a list: each text ends in a zero, the list in one more. */
static PDH_STATUS add_paths(const char *log, const char *pattern, char **list, size_t *used)
{
    DWORD size = 0;
    PDH_STATUS status = PdhExpandWildCardPathA(log, pattern, NULL, &size, 0);
    if ((DWORD)status == PDH_MORE_DATA) {
        char *larger = (char *)realloc(*list, *used + size);
        if (!larger) {
            return (PDH_STATUS)PDH_MEMORY_ALLOCATION_FAILURE;
        }
        *list = larger;
        status = PdhExpandWildCardPathA(log, pattern, larger + *used, &size, 0);
        if (status == 0) {
            *used += size > 2 ? size - 1 : 0; /* 2 zeros are an empty list */
        }
    }
    return status;
}

/* Lists all paths of a log, of sets with and without instances. */
static char *all_paths(const char *log)
{
    char *list = NULL;
    size_t used = 0;
    PDH_STATUS with = add_paths(log, "\\*(*)\\*", &list, &used);
    PDH_STATUS without = add_paths(log, "\\*\\*", &list, &used);
    if (with != 0 && without != 0) {
        fail(log, without);
        free(list);
        return NULL;
    }
    return list;
}

static int keep(struct column *column, const PDH_RAW_COUNTER *raw)
{
    if (column->used == column->capacity) {
        const DWORD capacity = column->capacity ? 2 * column->capacity : 64;
        PDH_RAW_COUNTER *larger = (PDH_RAW_COUNTER *)realloc(column->raw, capacity * sizeof *larger);
        if (!larger) {
            return 0;
        }
        column->raw = larger;
        column->capacity = capacity;
    }
    column->raw[column->used++] = *raw;
    return 1;
}

/* Reads the log to its end. */
static PDH_STATUS read_log(PDH_HQUERY query, struct column *columns, int count)
{
    LONGLONG time;
    PDH_STATUS status;
    while ((status = PdhCollectQueryDataWithTime(query, &time)) == 0) {
        int n;
        /* 100 ns since 1601, local time; the time of day is enough here. */
        const long long second = time / 10000000 % 86400;
        printf("%02d:%02d:%02d", (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60));
        for (n = 0; n < count; n++) {
            PDH_FMT_COUNTERVALUE value;
            PDH_RAW_COUNTER raw;
            /* Most types have no value in the first sample; absent instances have none. */
            if (PdhGetFormattedCounterValue(columns[n].counter, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100, NULL,
                                            &value) == 0) {
                printf("\t%.17g", value.doubleValue);
            } else {
                printf("\t ");
            }
            if (PdhGetRawCounterValue(columns[n].counter, NULL, &raw) == 0 && !keep(&columns[n], &raw)) {
                return (PDH_STATUS)PDH_MEMORY_ALLOCATION_FAILURE;
            }
        }
        printf("\n");
    }
    return (DWORD)status == PDH_NO_MORE_DATA ? 0 : status;
}

int main(int argc, char **argv)
{
    PDH_HQUERY query;
    PDH_STATUS status;
    struct column *columns;
    char *list = NULL;
    const char *path;
    int count = 0, n;

    if (argc < 2) {
        fprintf(stderr, "pdh_log LOG [PATH...]\n");
        return 2;
    }
    if (argc == 2) {
        list = all_paths(argv[1]);
        if (!list) {
            return 1;
        }
        for (path = list; *path; path += strlen(path) + 1) {
            count++;
        }
    } else {
        count = argc - 2;
    }
    columns = (struct column *)calloc((size_t)count + 1, sizeof *columns);
    if (!columns) {
        free(list);
        return 1;
    }
    for (n = 0, path = list; n < count; n++) {
        columns[n].path = list ? path : argv[2 + n];
        path = list ? path + strlen(path) + 1 : NULL;
    }

    status = PdhOpenQueryA(argv[1], 0, &query);
    path = argv[1];
    for (n = 0; status == 0 && n < count; n++) {
        path = columns[n].path;
        status = PdhAddCounterA(query, path, 0, &columns[n].counter);
    }
    if (status == 0) {
        path = argv[1];
        status = read_log(query, columns, count);
    }
    for (n = 0; status == 0 && n < count; n++) {
        PDH_STATISTICS statistics;
        if (PdhComputeCounterStatistics(columns[n].counter, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100, 0, columns[n].used,
                                        columns[n].raw, &statistics) == 0) {
            printf("%s: minimum %g, maximum %g, mean %g\n", columns[n].path, statistics.min.doubleValue,
                   statistics.max.doubleValue, statistics.mean.doubleValue);
        } else {
            printf("%s: no values\n", columns[n].path);
        }
    }
    if (status != 0) {
        fail(path, status);
    }
    PdhCloseQuery(query);
    for (n = 0; n < count; n++) {
        free(columns[n].raw);
    }
    free(columns);
    free(list);
    return status == 0 ? 0 : 1;
}
