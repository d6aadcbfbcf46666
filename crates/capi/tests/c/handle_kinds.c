/*
 * Passes a handle of each kind to the functions of all other kinds: they return an error, and the handle stays open.
 * Uses the fake machine, which always has CPI handles.
 */
#include "perflib_checks.h"
#include "pdh.h"
#include "perfutil.h"
#include "fake_machine.h"

enum { CPI, PERFLIB_QUERY, PROVIDER, PDH_QUERY, PDH_COUNTER, PDH_SOURCE, KINDS };

static const char *const NAMES[KINDS] = {
    "a CPI handle", "a PerfLib query handle", "a provider handle", "a PDH query handle", "a PDH counter handle",
    "a handle of a PDH log or data source",
};

/* Checks that the text of the last error names the kind of the handle. */
static void check_names(int line, int kind)
{
    if (strstr(TachoLastErrorText(), NAMES[kind]) == NULL) {
        printf("line %d: no '%s' in: %s\n", line, NAMES[kind], TachoLastErrorText());
        failed = 1;
    }
}

#define NAMES_IT(kind) check_names(__LINE__, kind)
#define PDH_RETURNS(call) RETURNS((ULONG)(call), PDH_INVALID_HANDLE)

/* Calls every function that could close or change an object of another kind. */
static void pass_to_other_functions(void *handle, int kind)
{
    const CPI_DATA *data;
    PDH_HCOUNTER counter = NULL;
    PDH_FMT_COUNTERVALUE value;
    LONGLONG size;
    ULONG bytes = 0;
    NAMED_IDENTIFIER identifier = named_identifier(&PROCESSORS, "_Total", 0);

    if (kind != CPI) {
        RETURNS((ULONG)CpiStart(handle), (ULONG)PU_ERROR_INVALID_PARAMETER);
        NAMES_IT(kind);
        LAST_ERROR_HAS("CpiInit");
        RETURNS((ULONG)CpiGet(handle, &data), (ULONG)PU_ERROR_INVALID_PARAMETER);
        RETURNS((ULONG)CpiTerminate(handle), (ULONG)PU_ERROR_INVALID_PARAMETER);
        NAMES_IT(kind);
        HOLDS(CpiGetCurrentMode(handle) == 0);
    }
    if (kind != PERFLIB_QUERY) {
        RETURNS(PerfAddCounters(handle, &identifier.head, identifier.head.Size), ERROR_INVALID_HANDLE);
        RETURNS(PerfQueryCounterData(handle, NULL, 0, &bytes), ERROR_INVALID_HANDLE);
        RETURNS(PerfCloseQueryHandle(handle), ERROR_INVALID_HANDLE);
        NAMES_IT(kind);
        LAST_ERROR_HAS("PerfOpenQueryHandle");
    }
    if (kind != PROVIDER) {
        HOLDS(PerfCreateInstance(handle, &PROCESSORS, identifier.name, 0) == NULL);
        HOLDS(TachoGetLastError() == ERROR_INVALID_HANDLE);
        RETURNS(PerfStopProvider(handle), ERROR_INVALID_HANDLE);
        NAMES_IT(kind);
        LAST_ERROR_HAS("PerfStartProvider");
    }
    if (kind != PDH_QUERY) {
        PDH_RETURNS(PdhAddCounterA(handle, "\\Memory\\Available Bytes", 0, &counter));
        PDH_RETURNS(PdhCollectQueryData(handle));
        PDH_RETURNS(PdhCloseQuery(handle));
        LAST_ERROR_HAS("PDH_INVALID_HANDLE");
    }
    if (kind != PDH_COUNTER) {
        PDH_RETURNS(PdhGetFormattedCounterValue(handle, PDH_FMT_DOUBLE, NULL, &value));
        PDH_RETURNS(PdhRemoveCounter(handle));
    }
    if (kind != PDH_SOURCE) {
        PDH_RETURNS(PdhGetLogFileSize(handle, &size));
        PDH_RETURNS(PdhOpenQueryH(handle, 0, &counter));
        PDH_RETURNS(PdhCloseLog(handle, 0));
    }
    /* A failed PerfQueryCounterData reports no size. */
    HOLDS(bytes == 0);
}

int main(int argc, char **argv)
{
    static const GUID provider_guid = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 8}};
    void *handles[KINDS];
    int one, other;
    const CPI_DATA *data;
    PDH_FMT_COUNTERVALUE value;
    ULONG bytes = 0;
    DWORD entries = 0, size = 0;
    /* A list of files, ended by two zeros. */
    char logs[4096] = {0};

    HOLDS(argc == 2);
    strncpy(logs, argv[1], sizeof logs - 2);
    HOLDS(TachoUseFakeMachine(2) == 0);
    /* Before the first CpiInit, a handle of another kind is an error, too. */
    RETURNS(PerfOpenQueryHandle(NULL, &handles[PERFLIB_QUERY]), ERROR_SUCCESS);
    RETURNS((ULONG)CpiStart(handles[PERFLIB_QUERY]), (ULONG)PU_ERROR_INVALID_PARAMETER);
    RETURNS((ULONG)CpiInit(CPI_TYPE_RAW, &handles[CPI]), 0);
    RETURNS(PerfStartProvider((LPGUID)(uintptr_t)&provider_guid, NULL, &handles[PROVIDER]), ERROR_SUCCESS);
    RETURNS((ULONG)PdhOpenQueryA(NULL, 0, &handles[PDH_QUERY]), 0);
    RETURNS((ULONG)PdhAddCounterA(handles[PDH_QUERY], "\\Memory\\Available Bytes", 0, &handles[PDH_COUNTER]), 0);
    RETURNS((ULONG)PdhBindInputDataSourceA(&handles[PDH_SOURCE], logs), 0);
    for (one = 0; one < KINDS; one++) {
        for (other = 0; other < one; other++) {
            HOLDS(handles[one] != handles[other]);
        }
    }
    for (one = 0; one < KINDS; one++) {
        pass_to_other_functions(handles[one], one);
    }
    /* All handles are open, and valid for their own functions. */
    RETURNS((ULONG)CpiStart(handles[CPI]), 0);
    RETURNS((ULONG)CpiGet(handles[CPI], &data), 0);
    RETURNS(PerfQueryCounterData(handles[PERFLIB_QUERY], NULL, 0, &bytes), ERROR_NOT_ENOUGH_MEMORY);
    RETURNS((ULONG)PdhCollectQueryData(handles[PDH_QUERY]), 0);
    RETURNS((ULONG)PdhGetFormattedCounterValue(handles[PDH_COUNTER], PDH_FMT_DOUBLE, NULL, &value), 0);
    RETURNS((ULONG)PdhGetDataSourceTimeRangeH(handles[PDH_SOURCE], &entries, NULL, &size), PDH_MORE_DATA);
    RETURNS((ULONG)CpiTerminate(handles[CPI]), 0);
    RETURNS(PerfCloseQueryHandle(handles[PERFLIB_QUERY]), ERROR_SUCCESS);
    RETURNS(PerfStopProvider(handles[PROVIDER]), ERROR_SUCCESS);
    RETURNS((ULONG)PdhRemoveCounter(handles[PDH_COUNTER]), 0);
    RETURNS((ULONG)PdhCloseQuery(handles[PDH_QUERY]), 0);
    RETURNS((ULONG)PdhCloseLog(handles[PDH_SOURCE], 0), 0);
    return failed;
}
