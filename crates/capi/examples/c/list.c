/*
 * Looks up the GUID and the ids of a counter set by its name, and prints results of all five types.
 *
 *     gcc -std=c17 list.c -o list $(pkg-config --cflags --libs tachograph)
 *     ./list "Processor Information"
 */
#include <perflib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints UTF-16 text. */
static void print(const WCHAR *text)
{
    for (; *text; text++) {
        if (*text < 0x80) {
            putchar(*text);
        } else if (*text < 0x800) {
            printf("%c%c", 0xC0 | *text >> 6, 0x80 | (*text & 0x3F));
        } else {
            printf("%c%c%c", 0xE0 | *text >> 12, 0x80 | (*text >> 6 & 0x3F), 0x80 | (*text & 0x3F));
        }
    }
}

static int fail(const char *what, ULONG code)
{
    fprintf(stderr, "%s: %u: %s\n", what, (unsigned)code, TachoLastErrorText());
    return 1;
}

/* Returns a part of a set's registration, which the caller frees; null on failure. */
static void *registration(const GUID *set, PerfRegInfoType request)
{
    DWORD size = 0, actual = 0;
    BYTE *bytes = NULL;
    ULONG code;
    /* The required size can grow between two calls. */
    while ((code = PerfQueryCounterSetRegistrationInfo(NULL, set, request, 0, bytes, size, &actual)) ==
           ERROR_NOT_ENOUGH_MEMORY) {
        BYTE *larger = realloc(bytes, actual);
        if (!larger) {
            break;
        }
        bytes = larger;
        size = actual;
    }
    if (code != ERROR_SUCCESS) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* Compares UTF-16 text with ASCII text, ignoring case. */
static int is_text(const WCHAR *text, const char *wanted)
{
    for (; *text && *wanted; text++, wanted++) {
        const WCHAR a = *text >= 'A' && *text <= 'Z' ? *text + 32 : *text;
        const WCHAR b = *wanted >= 'A' && *wanted <= 'Z' ? *wanted + 32 : *wanted;
        if (a != b) {
            return 0;
        }
    }
    return *text == 0 && *wanted == 0;
}

/* Finds the set with this name. */
static int find(const char *wanted, GUID *set)
{
    DWORD room = 0, count = 0, i;
    GUID *all = NULL;
    int found = 0;
    while (PerfEnumerateCounterSet(NULL, all, room, &count) == ERROR_NOT_ENOUGH_MEMORY) {
        GUID *larger = realloc(all, count * sizeof *all);
        if (!larger) {
            break;
        }
        all = larger;
        room = count;
    }
    for (i = 0; i < count && i < room && !found; i++) {
        WCHAR *name = registration(&all[i], PERF_REG_COUNTERSET_ENGLISH_NAME);
        found = name && is_text(name, wanted);
        if (found) {
            *set = all[i];
        }
        free(name);
    }
    free(all);
    return found;
}

/* Adds an identifier: the name of an instance or a pattern, a counter or all counters. */
static ULONG add(HANDLE query, const GUID *set, const WCHAR *name, ULONG counter)
{
    struct {
        PERF_COUNTER_IDENTIFIER head;
        WCHAR name[PERF_MAX_INSTANCE_NAME];
    } wanted;
    size_t length = 0;
    ULONG code;
    memset(&wanted, 0, sizeof wanted);
    while (name[length] && length + 1 < PERF_MAX_INSTANCE_NAME) {
        wanted.name[length] = name[length];
        length++;
    }
    wanted.head.CounterSetGuid = *set;
    wanted.head.CounterId = counter;
    wanted.head.InstanceId = PERF_WILDCARD_COUNTER;
    /* The size includes the name and its terminating NUL, and is a multiple of 8. */
    wanted.head.Size = (ULONG)(sizeof wanted.head + (length ? ((length + 1) * sizeof(WCHAR) + 7) / 8 * 8 : 0));
    code = PerfAddCounters(query, &wanted.head, wanted.head.Size);
    return code == ERROR_SUCCESS ? wanted.head.Status : code;
}

/* Prints a value and returns the address of the next one. */
static const BYTE *value(const BYTE *at)
{
    const PERF_COUNTER_DATA *const data = (const PERF_COUNTER_DATA *)at;
    ULONGLONG number = 0;
    if (data->dwDataSize == 4 || data->dwDataSize == 8) {
        memcpy(&number, data + 1, data->dwDataSize);
        printf(" %llu", number);
    } else {
        printf(" -");
    }
    return at + data->dwSize;
}

/* Prints `count` values of each instance. */
static void instances(const BYTE *at, DWORD count)
{
    const PERF_MULTI_INSTANCES *const all = (const PERF_MULTI_INSTANCES *)at;
    DWORD i, j;
    at += sizeof *all;
    for (i = 0; i < all->dwInstances; i++) {
        const PERF_INSTANCE_HEADER *const instance = (const PERF_INSTANCE_HEADER *)at;
        printf("    ");
        print((const WCHAR *)(instance + 1));
        printf(":");
        at += instance->Size;
        for (j = 0; j < count; j++) {
            at = value(at);
        }
        printf("\n");
    }
}

/* Prints a result by its type. */
static void result(const PERF_COUNTER_HEADER *head)
{
    const BYTE *at = (const BYTE *)(head + 1);
    const PERF_MULTI_COUNTERS *const ids = (const PERF_MULTI_COUNTERS *)at;
    DWORD i;
    switch (head->dwType) {
    case PERF_ERROR_RETURN:
        printf("  error %u\n", (unsigned)head->dwStatus);
        break;
    case PERF_SINGLE_COUNTER:
        printf("  one counter:");
        value(at);
        printf("\n");
        break;
    case PERF_MULTIPLE_COUNTERS:
        printf("  counters:");
        at += ids->dwSize;
        for (i = 0; i < ids->dwCounters; i++) {
            at = value(at);
        }
        printf("\n");
        break;
    case PERF_MULTIPLE_INSTANCES:
        printf("  one counter of all instances:\n");
        instances(at, 1);
        break;
    case PERF_COUNTERSET:
        printf("  counters of all instances:\n");
        instances(at + ids->dwSize, ids->dwCounters);
        break;
    }
}

int main(int count, char **arguments)
{
    static const WCHAR everything[] = {'*', 0}, nobody[] = {'n', 'o', 'b', 'o', 'd', 'y', '*', 0}, none[] = {0};
    const char *const wanted = count > 1 ? arguments[1] : "Processor Information";
    GUID set;
    PERF_COUNTERSET_REG_INFO *info;
    const PERF_COUNTER_REG_INFO *counters;
    PERF_STRING_BUFFER_HEADER *names;
    PERF_INSTANCE_HEADER *first = NULL;
    const WCHAR *name = none;
    PERF_DATA_HEADER *block = NULL;
    HANDLE query;
    DWORD actual = 0, size = 0, i;
    ULONG code;
    int has_instances;

    if (!find(wanted, &set)) {
        fprintf(stderr, "no counter set is called '%s'\n", wanted);
        return 1;
    }
    info = registration(&set, PERF_REG_COUNTERSET_STRUCT);
    names = registration(&set, PERF_REG_COUNTER_ENGLISH_NAMES);
    if (!info || !names) {
        return fail("registration", 0);
    }
    printf("%s {%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}: %u counters\n", wanted, (unsigned)set.Data1,
           set.Data2, set.Data3, set.Data4[0], set.Data4[1], set.Data4[2], set.Data4[3], set.Data4[4],
           set.Data4[5], set.Data4[6], set.Data4[7], (unsigned)info->NumCounters);
    counters = (const PERF_COUNTER_REG_INFO *)(info + 1);
    for (i = 0; i < names->dwCounters; i++) {
        const PERF_STRING_COUNTER_HEADER *const head = (const PERF_STRING_COUNTER_HEADER *)(names + 1) + i;
        printf("  %u ", (unsigned)head->dwCounterId);
        if (head->dwOffset != 0xFFFFFFFF) {
            print((const WCHAR *)((const BYTE *)names + head->dwOffset));
        }
        printf("\n");
    }

    has_instances = (info->InstanceType & PERF_COUNTERSET_FLAG_MULTIPLE) != 0;
    if (has_instances) {
        while (PerfEnumerateCounterSetInstances(NULL, &set, first, size, &actual) == ERROR_NOT_ENOUGH_MEMORY) {
            PERF_INSTANCE_HEADER *larger = realloc(first, actual);
            if (!larger) {
                break;
            }
            first = larger;
            size = actual;
        }
        name = first ? (const WCHAR *)(first + 1) : everything;
    }

    /* The name of the first instance results in single values, a pattern in lists. */
    code = PerfOpenQueryHandle(NULL, &query);
    if (code != ERROR_SUCCESS) {
        return fail("PerfOpenQueryHandle", code);
    }
    code = add(query, &set, name, counters->CounterId);
    if (code == ERROR_SUCCESS) {
        code = add(query, &set, name, PERF_WILDCARD_COUNTER);
    }
    if (code == ERROR_SUCCESS && has_instances) {
        code = add(query, &set, everything, counters->CounterId);
    }
    if (code == ERROR_SUCCESS && has_instances) {
        code = add(query, &set, everything, PERF_WILDCARD_COUNTER);
    }
    if (code != ERROR_SUCCESS) {
        return fail("PerfAddCounters", code);
    }
    /* An identifier that could not be added has a status of its own. */
    printf("  a counter that does not exist: %u\n", (unsigned)add(query, &set, has_instances ? nobody : none, 0xFFFFFFFE));

    size = 0;
    while ((code = PerfQueryCounterData(query, block, size, &actual)) == ERROR_NOT_ENOUGH_MEMORY) {
        PERF_DATA_HEADER *larger = realloc(block, actual);
        if (!larger) {
            break;
        }
        block = larger;
        size = actual;
    }
    if (code != ERROR_SUCCESS) {
        return fail("PerfQueryCounterData", code);
    }
    if (block) {
        const BYTE *at = (const BYTE *)(block + 1);
        for (i = 0; i < block->dwNumCounters; i++) {
            result((const PERF_COUNTER_HEADER *)at);
            at += ((const PERF_COUNTER_HEADER *)at)->dwSize;
        }
    }
    PerfCloseQueryHandle(query);
    free(block);
    free(first);
    free(names);
    free(info);
    return 0;
}
