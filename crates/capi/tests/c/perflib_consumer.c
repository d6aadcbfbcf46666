/* The consumer functions of perflib.h over this machine: codes, sizes, statuses, all five types of results. */
#include "perflib_checks.h"

#define ROOM 1048576
static BYTE *room;

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
static void every_capacity(int line, CALL call, DWORD item)
{
    DWORD needed = 0xA5A5A5A5, capacity, actual;
    check_code(line, "with no room", call(NULL, 0, &needed), ERROR_NOT_ENOUGH_MEMORY);
    check(line, "the test's buffer is large enough", needed > 0 && needed < ROOM / item - 9);
    for (capacity = 0; capacity <= needed + 8; capacity++) {
        const size_t bytes = (size_t)capacity * item;
        size_t i, touched = 0;
        memset(room, 0xA5, bytes + 16);
        actual = 0xA5A5A5A5;
        check_code(line, "a capacity", call(room, capacity, &actual),
                   capacity < needed ? ERROR_NOT_ENOUGH_MEMORY : ERROR_SUCCESS);
        check(line, "the size is reported", actual == needed);
        for (i = capacity < needed ? 0 : (size_t)needed * item; i < bytes + 16; i++) {
            touched += room[i] != 0xA5;
        }
        check(line, "nothing beyond was touched", touched == 0);
    }
}

static void sizes(void)
{
    every_capacity(__LINE__, enumerate, 16);
    for (request_code = 1; request_code <= 10; request_code++) {
        request_argument = 0;
        every_capacity(__LINE__, registration, 1);
    }
    every_capacity(__LINE__, instances, 1);
}

/* Null for every pointer. */
static void nulls(void)
{
    const GUID *set = &PROCESSORS;
    NAMED wanted = named(set, "_Total", 0);
    DWORD actual;
    HANDLE made = &actual;
    RETURNS(PerfEnumerateCounterSet(NULL, (GUID *)room, 1, NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfEnumerateCounterSet(NULL, NULL, 1, &actual), ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("pCounterSetIds");
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, NULL, PERF_REG_PROVIDER_GUID, 0, room, 16, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, set, PERF_REG_PROVIDER_GUID, 0, NULL, 16, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, set, PERF_REG_PROVIDER_GUID, 0, room, 16, NULL),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfEnumerateCounterSetInstances(NULL, NULL, (PERF_INSTANCE_HEADER *)room, ROOM, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfEnumerateCounterSetInstances(NULL, set, NULL, 8, &actual), ERROR_INVALID_PARAMETER);
    RETURNS(PerfEnumerateCounterSetInstances(NULL, set, (PERF_INSTANCE_HEADER *)room, ROOM, NULL),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfOpenQueryHandle(NULL, NULL), ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("phQuery");
    RETURNS(PerfCloseQueryHandle(NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfAddCounters(NULL, &wanted.head, wanted.head.Size), ERROR_INVALID_PARAMETER);
    RETURNS(PerfDeleteCounters(NULL, &wanted.head, wanted.head.Size), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterInfo(NULL, (PERF_COUNTER_IDENTIFIER *)room, ROOM, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterData(NULL, (PERF_DATA_HEADER *)room, ROOM, &actual), ERROR_INVALID_PARAMETER);
    RETURNS(PerfOpenQueryHandle(NULL, &made), ERROR_SUCCESS);
    RETURNS(PerfAddCounters(made, NULL, 40), ERROR_INVALID_PARAMETER);
    RETURNS(PerfDeleteCounters(made, NULL, 40), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterInfo(made, NULL, 8, &actual), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterInfo(made, (PERF_COUNTER_IDENTIFIER *)room, ROOM, NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterData(made, NULL, 8, &actual), ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterData(made, (PERF_DATA_HEADER *)room, ROOM, NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfCloseQueryHandle(made), ERROR_SUCCESS);
}

static void codes(void)
{
    static const WCHAR other[] = {'n', 'o', 'b', 'o', 'd', 'y', 0};
    static const WCHAR here[] = {'.', 0};
    GUID unknown = PROCESSORS;
    DWORD actual;
    HANDLE made = room;
    unknown.Data1++;
    RETURNS(PerfEnumerateCounterSet(other, NULL, 0, &actual), ERROR_BAD_NETPATH);
    LAST_ERROR_HAS("nobody");
    RETURNS(PerfEnumerateCounterSet(here, NULL, 0, &actual), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfEnumerateCounterSetInstances(other, &PROCESSORS, NULL, 0, &actual), ERROR_BAD_NETPATH);
    RETURNS(PerfEnumerateCounterSetInstances(NULL, &unknown, NULL, 0, &actual), ERROR_WMI_GUID_NOT_FOUND);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &unknown, PERF_REG_PROVIDER_GUID, 0, room, ROOM, &actual),
            ERROR_WMI_GUID_NOT_FOUND);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, PERF_REG_COUNTER_STRUCT, 12345, room, ROOM,
                                                &actual),
            ERROR_WMI_ITEMID_NOT_FOUND);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, (PerfRegInfoType)0, 0, room, ROOM, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, (PerfRegInfoType)11, 0, room, ROOM, &actual),
            ERROR_INVALID_PARAMETER);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, PERF_REG_COUNTERSET_NAME_STRING, 0x407, room,
                                                ROOM, &actual),
            ERROR_RESOURCE_LANG_NOT_FOUND);
    RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, PERF_REG_COUNTERSET_NAME_STRING, 0x409, room,
                                                ROOM, &actual),
            ERROR_SUCCESS);
    HOLDS(actual == 2 * sizeof "Processor Information");
    HOLDS(((WCHAR *)room)[0] == 'P' && ((WCHAR *)room)[actual / 2 - 1] == 0);
    RETURNS(PerfOpenQueryHandle(other, &made), ERROR_BAD_NETPATH);
    HOLDS(made == NULL);
    RETURNS(PerfCloseQueryHandle(room), ERROR_INVALID_HANDLE);
    RETURNS(PerfQueryCounterData(room, NULL, 0, &actual), ERROR_INVALID_HANDLE);
    RETURNS(PerfOpenQueryHandle(here, &made), ERROR_SUCCESS);
    /* An empty query: no identifiers, and only a header. */
    actual = 77;
    RETURNS(PerfQueryCounterInfo(made, NULL, 0, &actual), ERROR_SUCCESS);
    HOLDS(actual == 0);
    RETURNS(PerfQueryCounterData(made, (PERF_DATA_HEADER *)room, ROOM, &actual), ERROR_SUCCESS);
    HOLDS(actual == 48 && ((PERF_DATA_HEADER *)room)->dwNumCounters == 0);
    RETURNS(PerfCloseQueryHandle(made), ERROR_SUCCESS);
    RETURNS(PerfCloseQueryHandle(made), ERROR_INVALID_HANDLE);
    LAST_ERROR_HAS("PerfOpenQueryHandle");
    RETURNS(PerfAddCounters(made, (PERF_COUNTER_IDENTIFIER *)room, 40), ERROR_INVALID_HANDLE);
}

/* The statuses of identifiers, and the order of results. */
static void statuses(void)
{
    struct {
        NAMED all, missing_counter, missing_instance, again;
        PERF_COUNTER_IDENTIFIER unnamed, missing_set;
    } many;
    NAMED *const named_ones = &many.all;
    const DWORD named_size = sizeof(NAMED);
    GUID unknown = PROCESSORS;
    DWORD actual, i;
    unknown.Data1++;
    memset(&many, 0, sizeof many);
    many.all = named(&PROCESSORS, "*", PERF_WILDCARD_COUNTER);
    many.missing_counter = named(&PROCESSORS, "*", 12345);
    many.missing_instance = named(&PROCESSORS, "nobody", 0);
    many.again = many.all;
    for (i = 0; i < 4; i++) {
        named_ones[i].head.Size = named_size;
    }
    many.unnamed = named(&PROCESSORS, "", 0).head;
    many.missing_set = named(&unknown, "", 0).head;
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
static void hostile(void)
{
    const NAMED good = named(&PROCESSORS, "_Total", 0);
    NAMED bad;
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
    const PERF_DATA_HEADER *const head = (const PERF_DATA_HEADER *)room;
    const BYTE *at = room + sizeof *head;
    HOLDS(index < head->dwNumCounters);
    while (index--) {
        at += ((const PERF_COUNTER_HEADER *)at)->dwSize;
    }
    return (const PERF_COUNTER_HEADER *)at;
}

static void kinds(void)
{
    NAMED wanted[4], again;
    PERF_COUNTER_IDENTIFIER *identifiers;
    const PERF_DATA_HEADER *const head = (const PERF_DATA_HEADER *)room;
    LONGLONG first_time;
    DWORD actual, i, whole;
    wanted[0] = named(&PROCESSORS, "_Total", 0);
    wanted[1] = named(&PROCESSORS, "_Total", PERF_WILDCARD_COUNTER);
    wanted[2] = named(&PROCESSORS, "*", 0);
    wanted[3] = named(&PROCESSORS, "*", PERF_WILDCARD_COUNTER);
    RETURNS(PerfOpenQueryHandle(NULL, &handle), ERROR_SUCCESS);
    for (i = 0; i < 4; i++) {
        RETURNS(PerfAddCounters(handle, &wanted[i].head, wanted[i].head.Size), ERROR_SUCCESS);
        HOLDS(wanted[i].head.Status == ERROR_SUCCESS);
    }
    every_capacity(__LINE__, info, 1);
    identifiers = (PERF_COUNTER_IDENTIFIER *)room;
    for (i = 0; i < 4; i++) {
        HOLDS(identifiers->Index == i && identifiers->CounterId == wanted[i].head.CounterId);
        identifiers = (PERF_COUNTER_IDENTIFIER *)((BYTE *)identifiers + identifiers->Size);
    }

    RETURNS(PerfQueryCounterData(handle, NULL, 0, &whole), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)room, ROOM, &actual), ERROR_SUCCESS);
    HOLDS(actual == whole && head->dwTotalSize == whole && head->dwNumCounters == 4 && head->PerfFreq > 0);
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
    every_capacity(__LINE__, data, 1);
    RETURNS(PerfQueryCounterData(handle, NULL, 0, &actual), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)room, 40, &actual), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)room, ROOM, &actual), ERROR_SUCCESS);
    HOLDS(head->PerfTimeStamp > first_time);
    first_time = head->PerfTimeStamp;
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)room, ROOM, &actual), ERROR_SUCCESS);
    HOLDS(head->PerfTimeStamp > first_time);

    /* A change of the query takes effect at once, also after a sample that did not fit. */
    RETURNS(PerfQueryCounterData(handle, NULL, 0, &actual), ERROR_NOT_ENOUGH_MEMORY);
    again = wanted[3];
    RETURNS(PerfDeleteCounters(handle, &again.head, again.head.Size), ERROR_SUCCESS);
    RETURNS(PerfQueryCounterData(handle, (PERF_DATA_HEADER *)room, ROOM, &actual), ERROR_SUCCESS);
    HOLDS(head->dwNumCounters == 3 && actual < whole);
    RETURNS(PerfCloseQueryHandle(handle), ERROR_SUCCESS);
}

int main(void)
{
    room = (BYTE *)malloc(ROOM);
    if (!room) {
        return 2;
    }
    HOLDS(TachoGetLastError() == 0);
    sizes();
    nulls();
    codes();
    statuses();
    hostile();
    kinds();
    free(room);
    return failed;
}
