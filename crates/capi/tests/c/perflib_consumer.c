/* The consumer functions of perflib.h over this machine: codes, sizes, statuses, all five types of results. */
#include "perflib_checks.h"

#define BUFFER_BYTES 1048576
static BYTE *buffer;

/* A function that fills a buffer of this capacity, and returns the actual size. */
typedef ULONG (*CALL)(void *buffer, DWORD capacity, DWORD *actual);

static ULONG enumerate(void *buffer, DWORD capacity, DWORD *actual)
{
    return PerfEnumerateCounterSet(NULL, (GUID *)buffer, capacity, actual);
}

static DWORD request_code, request_argument;
static ULONG registration(void *buffer, DWORD capacity, DWORD *actual)
{
    return PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, (PerfRegInfoType)request_code,
                                               request_argument, (BYTE *)buffer, capacity, actual);
}

static ULONG instances(void *buffer, DWORD capacity, DWORD *actual)
{
    return PerfEnumerateCounterSetInstances(NULL, &PROCESSORS, (PERF_INSTANCE_HEADER *)buffer, capacity,
                                            actual);
}

static HANDLE handle;
static ULONG info(void *buffer, DWORD capacity, DWORD *actual)
{
    return PerfQueryCounterInfo(handle, (PERF_COUNTER_IDENTIFIER *)buffer, capacity, actual);
}

static ULONG data(void *buffer, DWORD capacity, DWORD *actual)
{
    return PerfQueryCounterData(handle, (PERF_DATA_HEADER *)buffer, capacity, actual);
}

/* Calls a function with every capacity from 0 to the required size plus 8. `item` is the size of a unit in bytes. */
static void check_every_capacity(int line, CALL call, DWORD item_bytes)
{
    DWORD required = 0xA5A5A5A5, capacity, actual;
    check_code(line, "with no room", call(NULL, 0, &required), ERROR_NOT_ENOUGH_MEMORY);
    check(line, "the test's buffer is large enough", required > 0 && required < BUFFER_BYTES / item_bytes - 9);
    for (capacity = 0; capacity <= required + 8; capacity++) {
        const size_t bytes = (size_t)capacity * item_bytes;
        size_t i, changed_bytes = 0;
        memset(buffer, 0xA5, bytes + 16);
        actual = 0xA5A5A5A5;
        check_code(line, "a capacity", call(buffer, capacity, &actual),
                   capacity < required ? ERROR_NOT_ENOUGH_MEMORY : ERROR_SUCCESS);
        check(line, "the size is reported", actual == required);
        for (i = capacity < required ? 0 : (size_t)required * item_bytes; i < bytes + 16; i++) {
            changed_bytes += buffer[i] != 0xA5;
        }
        check(line, "nothing beyond was touched", changed_bytes == 0);
    }
}

static void sizes(void)
{
    check_every_capacity(__LINE__, enumerate, 16);
    for (request_code = 1; request_code <= 10; request_code++) {
        request_argument = 0;
        check_every_capacity(__LINE__, registration, 1);
    }
    check_every_capacity(__LINE__, instances, 1);
}

/* Null for every pointer. */
static void null_pointers(void)
{
    const GUID *set = &PROCESSORS;
    NAMED_IDENTIFIER wanted = named_identifier(set, "_Total", 0);
    DWORD actual;
    HANDLE query = &actual;
    RETURNS(PerfEnumerateCounterSet(NULL, (GUID *)buffer, 1, NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfEnumerateCounterSet(NULL, NULL, 1, &actual), ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("pCounterSetIds");
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, NULL, PERF_REG_PROVIDER_GUID, 0, buffer, 16, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, set, PERF_REG_PROVIDER_GUID, 0, NULL, 16, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, set, PERF_REG_PROVIDER_GUID, 0, buffer, 16, NULL),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfEnumerateCounterSetInstances(NULL, NULL, (PERF_INSTANCE_HEADER *)buffer, BUFFER_BYTES, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfEnumerateCounterSetInstances(NULL, set, NULL, 8, &actual), ERROR_INVALID_PARAMETER);
    RETURNS(PerfEnumerateCounterSetInstances(NULL, set, (PERF_INSTANCE_HEADER *)buffer, BUFFER_BYTES, NULL),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfOpenQueryHandle(NULL, NULL), ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("phQuery");
    RETURNS(PerfCloseQueryHandle(NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfAddCounters(NULL, &wanted.head, wanted.head.Size), ERROR_INVALID_PARAMETER);
    RETURNS(PerfDeleteCounters(NULL, &wanted.head, wanted.head.Size), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterInfo(NULL, (PERF_COUNTER_IDENTIFIER *)buffer, BUFFER_BYTES, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterData(NULL, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, &actual), ERROR_INVALID_PARAMETER);
    RETURNS(PerfOpenQueryHandle(NULL, &query), ERROR_SUCCESS);
    RETURNS(PerfAddCounters(query, NULL, 40), ERROR_INVALID_PARAMETER);
    RETURNS(PerfDeleteCounters(query, NULL, 40), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterInfo(query, NULL, 8, &actual), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterInfo(query, (PERF_COUNTER_IDENTIFIER *)buffer, BUFFER_BYTES, NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterData(query, NULL, 8, &actual), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterData(query, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfCloseQueryHandle(query), ERROR_SUCCESS);
}

static void error_codes(void)
{
    static const WCHAR unknown_machine[] = {'n', 'o', 'b', 'o', 'd', 'y', 0};
    static const WCHAR this_machine[] = {'.', 0};
    GUID unknown = PROCESSORS;
    DWORD actual;
    HANDLE query = buffer;
    unknown.Data1++;
    RETURNS(PerfEnumerateCounterSet(unknown_machine, NULL, 0, &actual), ERROR_BAD_NETPATH);
    LAST_ERROR_HAS("nobody");
    RETURNS(PerfEnumerateCounterSet(this_machine, NULL, 0, &actual), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfEnumerateCounterSetInstances(unknown_machine, &PROCESSORS, NULL, 0, &actual), ERROR_BAD_NETPATH);
    RETURNS(PerfEnumerateCounterSetInstances(NULL, &unknown, NULL, 0, &actual), ERROR_WMI_GUID_NOT_FOUND);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &unknown, PERF_REG_PROVIDER_GUID, 0, buffer, BUFFER_BYTES, &actual),
            ERROR_WMI_GUID_NOT_FOUND);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, PERF_REG_COUNTER_STRUCT, 12345, buffer, BUFFER_BYTES,
                                                &actual),
            ERROR_WMI_ITEMID_NOT_FOUND);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, (PerfRegInfoType)0, 0, buffer, BUFFER_BYTES, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, (PerfRegInfoType)11, 0, buffer, BUFFER_BYTES, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, PERF_REG_COUNTERSET_NAME_STRING, 0x407, buffer,
                                                BUFFER_BYTES, &actual),
            ERROR_RESOURCE_LANG_NOT_FOUND);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, PERF_REG_COUNTERSET_NAME_STRING, 0x409, buffer,
                                                BUFFER_BYTES, &actual),
            ERROR_SUCCESS);
    HOLDS(actual == 2 * sizeof "Processor Information");
    HOLDS(((WCHAR *)buffer)[0] == 'P' && ((WCHAR *)buffer)[actual / 2 - 1] == 0);
    RETURNS(PerfOpenQueryHandle(unknown_machine, &query), ERROR_BAD_NETPATH);
    HOLDS(query == NULL);
    RETURNS(PerfCloseQueryHandle(buffer), ERROR_INVALID_HANDLE);
    RETURNS(PerfQueryCounterData(buffer, NULL, 0, &actual), ERROR_INVALID_HANDLE);
    RETURNS(PerfOpenQueryHandle(this_machine, &query), ERROR_SUCCESS);
    /* An empty query: no identifiers, and only a header. */
    actual = 77;
    RETURNS(PerfQueryCounterInfo(query, NULL, 0, &actual), ERROR_SUCCESS);
    HOLDS(actual == 0);
    RETURNS(PerfQueryCounterData(query, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, &actual), ERROR_SUCCESS);
    HOLDS(actual == 48 && ((PERF_DATA_HEADER *)buffer)->dwNumCounters == 0);
    RETURNS(PerfCloseQueryHandle(query), ERROR_SUCCESS);
    RETURNS(PerfCloseQueryHandle(query), ERROR_INVALID_HANDLE);
    LAST_ERROR_HAS("PerfOpenQueryHandle");
    RETURNS(PerfAddCounters(query, (PERF_COUNTER_IDENTIFIER *)buffer, 40), ERROR_INVALID_HANDLE);
}

/* The statuses of identifiers, and the order of results. */
static void statuses(void)
{
    struct {
        NAMED_IDENTIFIER all, missing_counter, missing_instance, again;
        PERF_COUNTER_IDENTIFIER unnamed, missing_set;
    } many;
    NAMED_IDENTIFIER *const named_ones = &many.all;
    const DWORD named_size = sizeof(NAMED_IDENTIFIER);
    GUID unknown = PROCESSORS;
    DWORD actual, i;
    unknown.Data1++;
    memset(&many, 0, sizeof many);
    many.all = named_identifier(&PROCESSORS, "*", PERF_WILDCARD_COUNTER);
    many.missing_counter = named_identifier(&PROCESSORS, "*", 12345);
    many.missing_instance = named_identifier(&PROCESSORS, "nobody", 0);
    many.again = many.all;
    for (i = 0; i < 4; i++) {
        named_ones[i].head.Size = named_size;
    }
    many.unnamed = named_identifier(&PROCESSORS, "", 0).head;
    many.missing_set = named_identifier(&unknown, "", 0).head;
    RETURNS(PerfOpenQueryHandle(NULL, &handle), ERROR_SUCCESS);
    RETURNS(PerfAddCounters(handle, &many.all.head, sizeof many), ERROR_SUCCESS);
    HOLDS(many.all.head.Status == ERROR_SUCCESS);
    HOLDS(many.missing_counter.head.Status == ERROR_WMI_ITEMID_NOT_FOUND);
    HOLDS(many.missing_instance.head.Status == ERROR_PATH_NOT_FOUND);
    HOLDS(many.again.head.Status == ERROR_ALREADY_EXISTS);
    HOLDS(many.unnamed.Status == ERROR_INVALID_PARAMETER);
    HOLDS(many.missing_set.Status == ERROR_WMI_GUID_NOT_FOUND);
    RETURNS(PerfDeleteCounters(handle, &many.all.head, sizeof many), ERROR_SUCCESS);
    HOLDS(many.all.head.Status == ERROR_SUCCESS);
    HOLDS(many.missing_counter.head.Status == ERROR_INVALID_PARAMETER);
    HOLDS(many.again.head.Status == ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterInfo(handle, NULL, 0, &actual), ERROR_SUCCESS);
    HOLDS(actual == 0);
    RETURNS(PerfCloseQueryHandle(handle), ERROR_SUCCESS);
}

/* Truncated identifiers, and identifiers with one changed bit. */
static void invalid_identifiers(void)
{
    const NAMED_IDENTIFIER good = named_identifier(&PROCESSORS, "_Total", 0);
    NAMED_IDENTIFIER bad;
    const BYTE *const bytes = (const BYTE *)&good;
    DWORD size, at, flip, none;
    RETURNS(PerfOpenQueryHandle(NULL, &handle), ERROR_SUCCESS);
    for (size = 0; size <= good.head.Size; size++) {
        /* Memory of exactly this size, so that valgrind detects reads beyond it. */
        BYTE *cut = (BYTE *)malloc(size ? size : 1);
        ULONG code;
        memcpy(cut, bytes, size);
        code = PerfAddCounters(handle, (PERF_COUNTER_IDENTIFIER *)cut, size);
        HOLDS(code == (size == good.head.Size ? ERROR_SUCCESS : ERROR_INVALID_PARAMETER));
        free(cut);
    }
    RETURNS(PerfDeleteCounters(handle, (PERF_COUNTER_IDENTIFIER *)(void *)&good, good.head.Size), ERROR_SUCCESS);
    for (at = 0; at < good.head.Size; at++) {
        for (flip = 1; flip < 256; flip <<= 1) {
            ULONG code;
            bad = good;
            ((BYTE *)&bad)[at] ^= (BYTE)flip;
            code = PerfAddCounters(handle, &bad.head, good.head.Size);
            HOLDS(code == ERROR_SUCCESS || code == ERROR_INVALID_PARAMETER);
            if (code == ERROR_SUCCESS && bad.head.Status == ERROR_SUCCESS) {
                bad.head.Size = good.head.Size;
                RETURNS(PerfDeleteCounters(handle, &bad.head, good.head.Size), ERROR_SUCCESS);
            }
        }
    }
    /* A name without an end is an error of its own identifier only. */
    bad = good;
    for (at = 0; at < 12; at++) {
        bad.name[at] = 'x';
    }
    bad.head.Size = sizeof bad;
    RETURNS(PerfAddCounters(handle, &bad.head, sizeof bad), ERROR_SUCCESS);
    HOLDS(bad.head.Status == ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterInfo(handle, NULL, 0, &none), ERROR_SUCCESS);
    HOLDS(none == 0);
    RETURNS(PerfCloseQueryHandle(handle), ERROR_SUCCESS);
}

/* Returns a result of the block by its index. */
static const PERF_COUNTER_HEADER *result(DWORD index)
{
    const PERF_DATA_HEADER *const head = (const PERF_DATA_HEADER *)buffer;
    const BYTE *at = buffer + sizeof *head;
    HOLDS(index < head->dwNumCounters);
    while (index--) {
        at += ((const PERF_COUNTER_HEADER *)at)->dwSize;
    }
    return (const PERF_COUNTER_HEADER *)at;
}

static void result_types(void)
{
    NAMED_IDENTIFIER wanted[4], again;
    PERF_COUNTER_IDENTIFIER *identifiers;
    const PERF_DATA_HEADER *const head = (const PERF_DATA_HEADER *)buffer;
    LONGLONG first_time;
    DWORD actual, i, block_bytes;
    wanted[0] = named_identifier(&PROCESSORS, "_Total", 0);
    wanted[1] = named_identifier(&PROCESSORS, "_Total", PERF_WILDCARD_COUNTER);
    wanted[2] = named_identifier(&PROCESSORS, "*", 0);
    wanted[3] = named_identifier(&PROCESSORS, "*", PERF_WILDCARD_COUNTER);
    RETURNS(PerfOpenQueryHandle(NULL, &handle), ERROR_SUCCESS);
    for (i = 0; i < 4; i++) {
        RETURNS(PerfAddCounters(handle, &wanted[i].head, wanted[i].head.Size), ERROR_SUCCESS);
        HOLDS(wanted[i].head.Status == ERROR_SUCCESS);
    }
    check_every_capacity(__LINE__, info, 1);
    identifiers = (PERF_COUNTER_IDENTIFIER *)buffer;
    for (i = 0; i < 4; i++) {
        HOLDS(identifiers->Index == i && identifiers->CounterId == wanted[i].head.CounterId);
        identifiers = (PERF_COUNTER_IDENTIFIER *)((BYTE *)identifiers + identifiers->Size);
    }

    RETURNS(PerfQueryCounterData(handle, NULL, 0, &block_bytes), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, &actual), ERROR_SUCCESS);
    HOLDS(actual == block_bytes && head->dwTotalSize == block_bytes && head->dwNumCounters == 4 && head->PerfFreq > 0);
    HOLDS(result(0)->dwType == PERF_SINGLE_COUNTER && result(0)->dwSize == 32);
    HOLDS(((const PERF_COUNTER_DATA *)(result(0) + 1))->dwDataSize == 8);
    HOLDS(result(1)->dwType == PERF_MULTIPLE_COUNTERS);
    HOLDS(((const PERF_MULTI_COUNTERS *)(result(1) + 1))->dwCounters > 5);
    HOLDS(result(2)->dwType == PERF_MULTIPLE_INSTANCES);
    HOLDS(((const PERF_MULTI_INSTANCES *)(result(2) + 1))->dwInstances >= 3);
    HOLDS(result(3)->dwType == PERF_COUNTERSET);
    HOLDS(result(3)->dwStatus == ERROR_SUCCESS);

    /* A sample that did not fit is not lost: the next call returns it, and only the call after that collects again. */
    first_time = head->PerfTimeStamp;
    check_every_capacity(__LINE__, data, 1);
    RETURNS(PerfQueryCounterData(handle, NULL, 0, &actual), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)buffer, 40, &actual), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, &actual), ERROR_SUCCESS);
    HOLDS(head->PerfTimeStamp > first_time);
    first_time = head->PerfTimeStamp;
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, &actual), ERROR_SUCCESS);
    HOLDS(head->PerfTimeStamp > first_time);

    /* A change of the query takes effect at once, also after a sample that did not fit. */
    RETURNS(PerfQueryCounterData(handle, NULL, 0, &actual), ERROR_NOT_ENOUGH_MEMORY);
    again = wanted[3];
    RETURNS(PerfDeleteCounters(handle, &again.head, again.head.Size), ERROR_SUCCESS);
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, &actual), ERROR_SUCCESS);
    HOLDS(head->dwNumCounters == 3 && actual < block_bytes);
    RETURNS(PerfCloseQueryHandle(handle), ERROR_SUCCESS);
}

int main(void)
{
    buffer = (BYTE *)malloc(BUFFER_BYTES);
    if (!buffer) {
        return 2;
    }
    HOLDS(TachoGetLastError() == 0);
    sizes();
    null_pointers();
    error_codes();
    statuses();
    invalid_identifiers();
    result_types();
    free(buffer);
    return failed;
}
