/*
 * Compile-time checks of perfutil.h: values, layout, prototypes. With -DOTHER_MAX_CPUS only the layout, for another
 * MAX_CPUS. Prints the offsets of CPI_DATA.
 */
#include "perfutil.h"
#include "perfutil.h" /* including it twice is harmless */
#include <stddef.h>
#include <stdio.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
/* Does not compile if the condition is false: C99 has no static assertions. */
#define SO(condition) extern char JOIN(line_, __LINE__)[(condition) ? 1 : -1]

SO(sizeof(UINT32) == 4);
SO((UINT32)-1 > 0);
SO(sizeof(UINT64) == 8);
SO((UINT64)-1 > 0);
SO(sizeof(CPI_DATA) == sizeof(cpi_data_t));

SO(CPI_TYPE_RAW == 0x01);
SO(CPI_TYPE_SCALED == 0x02);
SO(CPI_TYPE_ONTHREAD == 0x04);
SO(CPI_TYPE_TRACE_ON_GET == 0x08);
SO(CPI_TYPE_TRACE_ONLY_ON_GET == 0x10);
SO(CPI_TYPE_TRACE_SUMMARY == 0x20);
SO(CPI_TYPE_TRACE_DETAILED == 0x40);
SO(CPI_TYPE_TRACE_EVERYTHING == 0x60);
SO(CPI_TYPE_ALL == 0x7F);

SO(PU_SUCCESS == 0);
SO(PU_FAILURE == -1);
SO(PU_ERROR_INVALID_FUNCTION == -2);
SO(PU_ERR_NULL_PTR == -3);
SO(PU_ERR_FILE_ERROR == -4);
SO(PU_ERROR_ACCESS_DENIED == -5);
SO(PU_ERR_NOT_INITIALIZED == -6);
SO(PU_ERROR_NOT_ENOUGH_MEMORY == -8);
SO(PU_ERROR_INVALID_PARAMETER == -87);
SO(PU_ERROR_INSUFFICIENT_BUFFER == -122);
SO(PU_ERROR_INTERNAL_ERROR == -200);
SO(PU_ERROR_INCORRECT_STATE == -201);
SO(PU_ERROR_NO_BUFFER == -202);
SO(PU_ERROR_THREAD_NOT_FOUND == -203);
SO(PU_ERROR_NO_TARGET_CPU == -204);
SO(PU_ERROR_BUFFER_FULL == -205);
SO(PU_ERROR_HOOK_TOO_LONG == -208);
SO(PU_ERROR_NOT_SUPPORTED == -210);
SO(PU_ERROR_FACILITY_BUSY == -211);
SO(PU_ERROR_EVENT_NOT_SUPPORTED == -213);
SO(PU_ERROR_INVALID_CPI_DATA == -216);
SO(PU_ERROR_EVENT_ALL_CTRS_IN_USE == -226);
SO(PU_ERROR_NOT_VALID_IN_VM == -234);
SO(PU_ERROR_INSUFFICIENT_RESOURCES == -241);
SO(PU_ERROR_INVALID_THREAD == -255);

#define IS_AT(member, offset) SO(offsetof(CPI_DATA, member) == (offset))

IS_AT(num_cpus, 0);
IS_AT(tid, 4);
IS_AT(elapsed_cycles, 8);
IS_AT(raw_cpi, 16);
#ifdef OTHER_MAX_CPUS
SO(MAX_CPUS == 128);
IS_AT(raw_sys_cpi, 1040);
IS_AT(scaled_cpi, 1048);
IS_AT(scaled_sys_cpi, 2072);
IS_AT(cpu_busy, 2080);
IS_AT(sys_busy, 3104);
IS_AT(thread_cpi, 3112);
SO(sizeof(CPI_DATA) == 3120);
#else
SO(MAX_CPUS == 1024);
IS_AT(raw_sys_cpi, 8208);
IS_AT(scaled_cpi, 8216);
IS_AT(scaled_sys_cpi, 16408);
IS_AT(cpu_busy, 16416);
IS_AT(sys_busy, 24608);
IS_AT(thread_cpi, 24616);
SO(sizeof(CPI_DATA) == 24624);
#endif

/* A function pointer can only be initialized with a function of the same type. */
#ifndef OTHER_MAX_CPUS
int (*const get)(void *, const CPI_DATA **) = CpiGet;
int (*const get_and_trace)(void *, int, UINT32, const char *, const CPI_DATA **) = CpiGetAndTrace;
#endif
int (*const init)(UINT32, void **) = CpiInit;
int (*const terminate_it)(void *) = CpiTerminate;
int (*const start)(void *) = CpiStart;
int (*const set_hook)(void *, int, const char *) = CpiSetTraceHookId;
UINT32 (*const mode)(void *) = CpiGetCurrentMode;
int (*const supported)(void) = IsCpiSupported;
const char *(*const name)(const int) = RcToString;
int (*const processors)(void) = GetActiveProcessorCount;
int (*const pi_processors)(void) = PiGetActiveProcessorCount;
UINT64 (*const cycles)(void) = ReadCycles;
int (*const trace_open)(const char *) = TachoTraceOpen;
int (*const trace_close)(void) = TachoTraceClose;
const char *(*const text)(void) = TachoLastErrorText;

int __cdecl main(void)
{
#define PRINT(member) printf("%s %lu\n", #member, (unsigned long)offsetof(CPI_DATA, member))
    PRINT(num_cpus);
    PRINT(tid);
    PRINT(elapsed_cycles);
    PRINT(raw_cpi);
    PRINT(raw_sys_cpi);
    PRINT(scaled_cpi);
    PRINT(scaled_sys_cpi);
    PRINT(cpu_busy);
    PRINT(sys_busy);
    PRINT(thread_cpi);
    printf("size %lu\n", (unsigned long)sizeof(CPI_DATA));
    return 0;
}
