/*
 * The consumer functions of perflib.h over another machine, web2, whose only set is Processor Information with the
 * instances 0,0, 0,1 and _Total. Link with -fshort-wchar.
 */
#define _DEFAULT_SOURCE /* gethostname */
#include "perflib_checks.h"
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER_BYTES 1048576
static BYTE buffer[BUFFER_BYTES], other_buffer[BUFFER_BYTES];

/* With each name of this machine, the number of sets is the same as with null. */
static void this_machine(void)
{
    static WCHAR names[5][300] = {L".", L"localhost", L"\\\\LOCALHOST", L"", L"\\\\"};
    char host[256] = "";
    DWORD wanted, actual;
    size_t i;
    HOLDS(gethostname(host, sizeof host - 1) == 0);
    for (i = 0; i <= strlen(host); i++) {
        names[4][2 + i] = (WCHAR)host[i];
    }
    RETURNS(PerfEnumerateCounterSet(NULL, (GUID *)buffer, BUFFER_BYTES / 16, &wanted), ERROR_SUCCESS);
    HOLDS(wanted > 5);
    for (i = 0; i < 5; i++) {
        RETURNS(PerfEnumerateCounterSet(names[i], (GUID *)buffer, BUFFER_BYTES / 16, &actual), ERROR_SUCCESS);
        HOLDS(actual == wanted);
    }
}

/* Calls every function with one form of web2's name. */
static void all_functions(LPCWSTR name)
{
    NAMED_IDENTIFIER identifier = named_identifier(&PROCESSORS, "*", PERF_WILDCARD_COUNTER);
    const PERF_DATA_HEADER *const head = (const PERF_DATA_HEADER *)buffer;
    const PERF_INSTANCE_HEADER *instance = (const PERF_INSTANCE_HEADER *)buffer;
    HANDLE query;
    DWORD actual, needed, request;
    LONGLONG first;
    int count = 0;
    RETURNS(PerfEnumerateCounterSet(name, NULL, 0, &needed), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfEnumerateCounterSet(name, (GUID *)buffer, needed, &actual), ERROR_SUCCESS);
    HOLDS(actual == 1 && memcmp(buffer, &PROCESSORS, 16) == 0);
    for (request = 1; request <= 10; request++) {
        RETURNS(PerfQueryCounterSetRegistrationInfo(name, &PROCESSORS, (PerfRegInfoType)request, 0, NULL, 0, &needed),
                ERROR_NOT_ENOUGH_MEMORY);
        RETURNS(PerfQueryCounterSetRegistrationInfo(name, &PROCESSORS, (PerfRegInfoType)request, 0, buffer, needed,
                                                    &actual),
                ERROR_SUCCESS);
        HOLDS(actual == needed && actual > 0);
        /* These results are the same for this machine, although it may have fewer counters. */
        if (request == PERF_REG_PROVIDER_GUID || request == PERF_REG_COUNTERSET_NAME_STRING ||
            request == PERF_REG_COUNTERSET_HELP_STRING) {
            RETURNS(PerfQueryCounterSetRegistrationInfo(NULL, &PROCESSORS, (PerfRegInfoType)request, 0, other_buffer,
                                                        BUFFER_BYTES, &needed),
                    ERROR_SUCCESS);
            HOLDS(actual == needed && memcmp(buffer, other_buffer, actual) == 0);
        }
    }
    RETURNS(PerfEnumerateCounterSetInstances(name, &PROCESSORS, (PERF_INSTANCE_HEADER *)buffer, BUFFER_BYTES, &actual),
            ERROR_SUCCESS);
    while ((const BYTE *)instance < buffer + actual) {
        const WCHAR *const text = (const WCHAR *)(instance + 1);
        HOLDS(count == 2 ? text[0] == '_' : text[0] == '0' && text[2] == '0' + count);
        instance = (const PERF_INSTANCE_HEADER *)((const BYTE *)instance + instance->Size);
        count++;
    }
    HOLDS(count == 3);
    RETURNS(PerfOpenQueryHandle(name, &query), ERROR_SUCCESS);
    RETURNS(PerfAddCounters(query, &identifier.head, identifier.head.Size), ERROR_SUCCESS);
    HOLDS(identifier.head.Status == ERROR_SUCCESS);
    RETURNS(PerfQueryCounterData(query, NULL, 0, &needed), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS(PerfQueryCounterData(query, (PERF_DATA_HEADER *)buffer, needed, &actual), ERROR_SUCCESS);
    HOLDS(actual == needed && head->dwNumCounters == 1);
    HOLDS(((const PERF_COUNTER_HEADER *)(head + 1))->dwStatus == ERROR_SUCCESS);
    first = head->PerfTime100NSec;
    /* The agent's clock advances by 1 s with each collection. */
    RETURNS(PerfQueryCounterData(query, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, &actual), ERROR_SUCCESS);
    HOLDS(head->PerfTime100NSec == first + 10000000);
    RETURNS(PerfCloseQueryHandle(query), ERROR_SUCCESS);
}

/* Whether a query can be collected now. */
static int can_collect(HANDLE query)
{
    const PERF_DATA_HEADER *const head = (const PERF_DATA_HEADER *)buffer;
    DWORD actual;
    return PerfQueryCounterData(query, (PERF_DATA_HEADER *)buffer, BUFFER_BYTES, &actual) == ERROR_SUCCESS &&
           head->dwNumCounters == 1 && ((const PERF_COUNTER_HEADER *)(head + 1))->dwStatus == ERROR_SUCCESS;
}

/* A forked child has a connection of its own: parent and child collect in turns. */
static void forked(void)
{
    NAMED_IDENTIFIER identifier = named_identifier(&PROCESSORS, "_Total", 0);
    HANDLE query;
    int i, status, to_child[2], to_parent[2];
    char turn = 0;
    pid_t child;
    RETURNS(PerfOpenQueryHandle(L"web2", &query), ERROR_SUCCESS);
    RETURNS(PerfAddCounters(query, &identifier.head, identifier.head.Size), ERROR_SUCCESS);
    HOLDS(can_collect(query));
    HOLDS(pipe(to_child) == 0 && pipe(to_parent) == 0);
    child = fork();
    if (child == 0) {
        int good = 1;
        for (i = 0; i < 3; i++) {
            good = read(to_child[0], &turn, 1) == 1 && can_collect(query) && write(to_parent[1], &turn, 1) == 1 && good;
        }
        _exit(good ? 0 : 9);
    }
    for (i = 0; i < 3; i++) {
        HOLDS(write(to_child[1], &turn, 1) == 1 && read(to_parent[0], &turn, 1) == 1);
        HOLDS(can_collect(query));
    }
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    RETURNS(PerfCloseQueryHandle(query), ERROR_SUCCESS);
}

static void check_failure(LPCWSTR name, ULONG code, const char *words)
{
    HANDLE query = buffer;
    DWORD actual;
    RETURNS(PerfOpenQueryHandle(name, &query), code);
    LAST_ERROR_HAS(words);
    HOLDS(query == NULL);
    RETURNS(PerfEnumerateCounterSet(name, (GUID *)buffer, BUFFER_BYTES / 16, &actual), code);
    RETURNS(PerfQueryCounterSetRegistrationInfo(name, &PROCESSORS, PERF_REG_PROVIDER_GUID, 0, buffer, BUFFER_BYTES, &actual),
            code);
    RETURNS(PerfEnumerateCounterSetInstances(name, &PROCESSORS, (PERF_INSTANCE_HEADER *)buffer, BUFFER_BYTES, &actual), code);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "invalid file") == 0) {
        /* machines.toml is invalid: this machine can be read nevertheless. */
        this_machine();
        check_failure(L"\\\\web2", ERROR_BAD_NETPATH, "machines.toml");
        return failed;
    }
    this_machine();
    all_functions(L"web2");
    all_functions(L"\\\\web2");
    all_functions(L"\\\\WEB2");
    forked();
    check_failure(L"\\\\nobody", ERROR_BAD_NETPATH, "nobody");
    check_failure(L"\\\\wrong-token", ERROR_ACCESS_DENIED, "token");
    check_failure(L"\\\\nothing-listens", RPC_S_SERVER_UNAVAILABLE, "127.0.0.1");
    check_failure(L"\\\\never-answers", ERROR_TIMEOUT, "127.0.0.1");
    return failed;
}
