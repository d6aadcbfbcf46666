/* Live handles, on the fake machine: values, errors, no allocation. Argument: a folder to write in. */
#include <stdlib.h>
#include <sys/resource.h>
#include "checks.h"
#include "fake_machine.h"

/* Counting allocation functions, which replace those of the C library. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *at, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
static unsigned long allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *at, size_t size)
{
    allocations++;
    return __libc_realloc(at, size);
}

int posix_memalign(void **at, size_t alignment, size_t size)
{
    allocations++;
    *at = __libc_memalign(alignment, size);
    return *at ? 0 : 12;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
}

static int is_near(double value, double expected)
{
    const double difference = value - expected;
    return difference <= expected * 1e-9 && difference >= -expected * 1e-9;
}

/* Checks the values of the first `processors` processors against the formula. */
static void check_values(const CPI_DATA *cd, int processors, int is_scaled, int is_on_thread)
{
    double instructions = 0, scaled = 0, busy = 0;
    int c;

    HOLDS(cd->num_cpus == processors);
    HOLDS(cd->tid == 4242);
    for (c = 0; c < processors; c++) {
        const double instructions_of_processor = 400000.0 + 1000.0 * c;
        const double share = 50 + c % 50;
        instructions += instructions_of_processor;
        scaled += 1000000.0 * share / 100;
        busy += share;
        HOLDS(is_near(cd->raw_cpi[c], 1000000.0 / instructions_of_processor));
        HOLDS(is_near(cd->scaled_cpi[c], is_scaled ? 10000.0 * share / instructions_of_processor : 0));
        HOLDS(is_near(cd->cpu_busy[c], is_scaled ? share : 0));
    }
    for (c = processors; c < MAX_CPUS; c++) {
        HOLDS(cd->raw_cpi[c] == 0 && cd->scaled_cpi[c] == 0 && cd->cpu_busy[c] == 0);
    }
    HOLDS(is_near(cd->raw_sys_cpi, 1000000.0 * processors / instructions));
    HOLDS(is_near(cd->scaled_sys_cpi, is_scaled ? scaled / instructions : 0));
    HOLDS(is_near(cd->sys_busy, is_scaled ? busy / processors : 0));
    HOLDS(is_near(cd->thread_cpi, is_on_thread ? 1.5 : 0));
}

static void check_all_values(int processors)
{
    UINT32 kinds;

    TachoUseFakeMachine((uint32_t)processors);
    for (kinds = 0; kinds <= (CPI_TYPE_RAW | CPI_TYPE_SCALED | CPI_TYPE_ONTHREAD); kinds++) {
        const CPI_DATA *first, *second;
        void *handle;
        RETURNS(CpiInit(kinds, &handle), PU_SUCCESS);
        HOLDS(CpiGetCurrentMode(handle) == (kinds | CPI_TYPE_RAW));
        RETURNS(CpiGet(handle, &first), PU_SUCCESS);
        HOLDS(first->elapsed_cycles == 1000000);
        check_values(first, processors, kinds & CPI_TYPE_SCALED, kinds & CPI_TYPE_ONTHREAD);
        /* CpiGet does not end the interval. */
        RETURNS(CpiGet(handle, &second), PU_SUCCESS);
        HOLDS(second->elapsed_cycles == 2000000);
        check_values(second, processors, kinds & CPI_TYPE_SCALED, kinds & CPI_TYPE_ONTHREAD);
        RETURNS(CpiStart(handle), PU_SUCCESS);
        RETURNS(CpiGet(handle, &first), PU_SUCCESS);
        HOLDS(first->elapsed_cycles == 1000000);
        RETURNS(CpiTerminate(handle), PU_SUCCESS);
    }
}

static void closed_and_invalid_handles(void)
{
    int foreign = 7;
    void *closed_handle, *open_handle;
    const CPI_DATA *cd;

    TachoUseFakeMachine(2);
    RETURNS(CpiInit(CPI_TYPE_RAW, &closed_handle), PU_SUCCESS);
    RETURNS(CpiInit(CPI_TYPE_RAW, &open_handle), PU_SUCCESS);
    HOLDS(closed_handle != open_handle && closed_handle != NULL && open_handle != NULL);
    RETURNS(CpiTerminate(closed_handle), PU_SUCCESS);
    RETURNS(CpiTerminate(closed_handle), PU_ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("closed");
    RETURNS(CpiStart(closed_handle), PU_ERROR_INVALID_PARAMETER);
    RETURNS(CpiGet(closed_handle, &cd), PU_ERROR_INVALID_PARAMETER);
    HOLDS(cd == NULL);
    RETURNS(CpiGetAndTrace(closed_handle, 0, 0, NULL, &cd), PU_ERROR_INVALID_PARAMETER);
    RETURNS(CpiSetTraceHookId(closed_handle, 0, NULL), PU_ERROR_INVALID_PARAMETER);
    HOLDS(CpiGetCurrentMode(closed_handle) == 0);
    RETURNS(CpiStart(&foreign), PU_ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("never");
    RETURNS(CpiTerminate(&foreign), PU_ERROR_INVALID_PARAMETER);
    RETURNS(CpiGet(open_handle, &cd), PU_SUCCESS);
    RETURNS(CpiGet(open_handle, NULL), PU_ERR_NULL_PTR);
    RETURNS(CpiTerminate(open_handle), PU_SUCCESS);
    RETURNS(CpiTerminate(open_handle), PU_ERROR_INVALID_PARAMETER);
    RETURNS(CpiTerminate(&foreign), PU_ERR_NOT_INITIALIZED);
    HOLDS(IsCpiSupported() == 1);
}

static void tracing(const char *folder)
{
    char path[4096];
    void *handle;
    const CPI_DATA *cd;

    TachoUseFakeMachine(2);
    snprintf(path, sizeof path, "%s/fake_machine.nrm2", folder);
    RETURNS(CpiInit(CPI_TYPE_RAW | CPI_TYPE_TRACE_ON_GET | CPI_TYPE_TRACE_SUMMARY, &handle), PU_SUCCESS);
    RETURNS(CpiSetTraceHookId(handle, -1, NULL), PU_ERROR_INVALID_PARAMETER);
    RETURNS(CpiSetTraceHookId(handle, 256, NULL), PU_ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("256");
    RETURNS(CpiSetTraceHookId(handle, 255, "label"), PU_SUCCESS);
    /* Without a trace, data is still returned. */
    cd = NULL;
    RETURNS(CpiGet(handle, &cd), PU_ERROR_NO_BUFFER);
    HOLDS(cd != NULL && cd->num_cpus == 2 && cd->elapsed_cycles == 1000000);
    cd = NULL;
    RETURNS(CpiGetAndTrace(handle, 0, 0, NULL, &cd), PU_ERROR_NO_BUFFER);
    HOLDS(cd != NULL && cd->elapsed_cycles == 2000000);
    RETURNS(TachoTraceOpen(path), PU_SUCCESS);
    RETURNS(CpiGet(handle, &cd), PU_SUCCESS);
    RETURNS(CpiGetAndTrace(handle, 256, 0, NULL, &cd), PU_ERROR_INVALID_PARAMETER);
    HOLDS(cd == NULL);
    RETURNS(CpiGetAndTrace(handle, -1, 0, NULL, &cd), PU_ERROR_INVALID_PARAMETER);
    RETURNS(CpiGetAndTrace(handle, 0, 0x80, NULL, &cd), PU_ERROR_INVALID_PARAMETER);
    RETURNS(CpiGetAndTrace(handle, 0, CPI_TYPE_TRACE_EVERYTHING, "\xff is no UTF-8", &cd), PU_SUCCESS);
    HOLDS(cd != NULL);
    RETURNS(TachoTraceClose(), PU_SUCCESS);
    RETURNS(CpiGet(handle, &cd), PU_ERROR_NO_BUFFER);
    RETURNS(CpiTerminate(handle), PU_SUCCESS);

    /* A hook of 700 processors: 4 + 12 * 700 words. */
    TachoUseFakeMachine(700);
    RETURNS(TachoTraceOpen(path), PU_SUCCESS);
    RETURNS(CpiInit(CPI_TYPE_RAW | CPI_TYPE_SCALED, &handle), PU_SUCCESS);
    RETURNS(CpiGetAndTrace(handle, 0, CPI_TYPE_TRACE_DETAILED, NULL, &cd), PU_ERROR_HOOK_TOO_LONG);
    HOLDS(cd != NULL && cd->num_cpus == 700);
    RETURNS(CpiTerminate(handle), PU_SUCCESS);
    RETURNS(TachoTraceClose(), PU_SUCCESS);
}

static void many_processors(void)
{
    void *handle;
    const CPI_DATA *cd;

    TachoUseFakeMachine(1024);
    RETURNS(CpiInit(CPI_TYPE_RAW, &handle), PU_SUCCESS);
    RETURNS(CpiGet(handle, &cd), PU_SUCCESS);
    HOLDS(cd != NULL && cd->num_cpus == 1024);
    RETURNS(CpiTerminate(handle), PU_SUCCESS);
    TachoUseFakeMachine(1025);
    RETURNS(CpiInit(CPI_TYPE_RAW, &handle), PU_SUCCESS);
    RETURNS(CpiGet(handle, &cd), PU_ERROR_INSUFFICIENT_BUFFER);
    LAST_ERROR_HAS("MAX_CPUS");
    HOLDS(cd == NULL);
    RETURNS(CpiTerminate(handle), PU_SUCCESS);
}

static void nothing_is_allocated(const char *folder)
{
    char path[4096];
    unsigned long before, round;
    void *handle;
    const CPI_DATA *cd, *again;

    TachoUseFakeMachine(64);
    snprintf(path, sizeof path, "%s/allocations.nrm2", folder);
    RETURNS(TachoTraceOpen(path), PU_SUCCESS);
    before = allocations;
    RETURNS(CpiInit(CPI_TYPE_RAW | CPI_TYPE_SCALED | CPI_TYPE_ONTHREAD, &handle), PU_SUCCESS);
    /* The functions above are in use. */
    HOLDS(allocations > before);
    RETURNS(CpiGet(handle, &cd), PU_SUCCESS);
    RETURNS(CpiGetAndTrace(handle, 1, CPI_TYPE_TRACE_EVERYTHING, "label", &cd), PU_SUCCESS);
    before = allocations;
    for (round = 0; round < 100; round++) {
        RETURNS(CpiStart(handle), PU_SUCCESS);
        RETURNS(CpiGet(handle, &again), PU_SUCCESS);
        HOLDS(again == cd);
        RETURNS(CpiGetAndTrace(handle, 1, CPI_TYPE_TRACE_EVERYTHING, "label", &again), PU_SUCCESS);
        HOLDS(again == cd);
    }
    HOLDS(allocations == before);
    RETURNS(CpiTerminate(handle), PU_SUCCESS);
    RETURNS(TachoTraceClose(), PU_SUCCESS);
}

int main(int count, char **arguments)
{
    struct rlimit files;

    if (count != 2) {
        return 2;
    }
    /* The fake machine has an open file per counter, two per processor. */
    HOLDS(getrlimit(RLIMIT_NOFILE, &files) == 0);
    files.rlim_cur = files.rlim_max;
    HOLDS(setrlimit(RLIMIT_NOFILE, &files) == 0);
    check_all_values(1);
    check_all_values(64);
    closed_and_invalid_handles();
    tracing(arguments[1]);
    many_processors();
    nothing_is_allocated(arguments[1]);
    return failed;
}
