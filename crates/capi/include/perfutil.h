/*
 * perfutil.h: cycles per instruction (CPI) of regions of a program, of its threads, of processors and of the
 * system.
 *
 * The interface of the CPI facility of IBM's Performance Inspector, Linux part, on Linux' perf events. Link
 * with -ltachograph (pkg-config --cflags --libs tachograph). C99 and later, C++11 and later.
 *
 * An interval runs from the last CpiStart of a handle, or from its CpiInit, to now. Handles are independent
 * of each other: intervals may overlap, nest, and belong to any thread. Every function may be called from any
 * thread at any time.
 */
#ifndef TACHO_PERFUTIL_H
#define TACHO_PERFUTIL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A word of Windows compilers; on Linux there is one way to call. */
#ifndef __cdecl
#define __cdecl
#endif

#ifndef TACHO_UINT32_UINT64
#define TACHO_UINT32_UINT64
typedef uint32_t UINT32;
typedef uint64_t UINT64;
#endif

/* ---- Data ---- */

/*
 * Processors for which CPI_DATA has room. Part of the binary interface: it decides where the members lie. In
 * a program that has another MAX_CPUS, calls of CpiGet and CpiGetAndTrace do not compile (with compilers that
 * cannot refuse a call: do not link).
 */
#ifndef MAX_CPUS
#define MAX_CPUS 1024
#endif

/*
 * What was measured in an interval. Arrays are by processor number. A value that cannot be told is NaN: a CPI
 * without instructions; a CPI while busy without busy time; a busy share where the interval was too short for
 * the system's accounting of idle time (10 ms). Places of processors that are offline or do not exist, and
 * kinds that the handle does not measure, are 0.
 */
typedef struct cpi_data_t {
    int num_cpus;                /* highest number of a processor with data, plus 1; of a thread alone 0 */
    UINT32 tid;                  /* the thread that called CpiInit, as gettid() tells */
    UINT64 elapsed_cycles;       /* length of the interval in ticks of ReadCycles() */
    double raw_cpi[MAX_CPUS];    /* elapsed cycles per instruction of each processor, idle time included */
    double raw_sys_cpi;          /* of the system: sum of cycles by sum of instructions */
    double scaled_cpi[MAX_CPUS]; /* cycles per instruction while busy (CPI_TYPE_SCALED) */
    double scaled_sys_cpi;       /* of the system */
    double cpu_busy[MAX_CPUS];   /* busy share of each processor in percent (CPI_TYPE_SCALED) */
    double sys_busy;             /* of the system */
    double thread_cpi;           /* cycles per instruction of the thread (CPI_TYPE_ONTHREAD) */
} cpi_data_t;

typedef cpi_data_t CPI_DATA;

/* ---- Mode: what a handle measures and traces ---- */

#define CPI_TYPE_RAW              0x01 /* processors, idle time included; need not be given */
#define CPI_TYPE_SCALED           0x02 /* while busy, and busy shares */
#define CPI_TYPE_ONTHREAD         0x04 /* the thread that calls CpiInit; alone, it takes no privilege */
#define CPI_TYPE_TRACE_ON_GET     0x08 /* CpiGet writes to the trace */
#define CPI_TYPE_TRACE_ONLY_ON_GET 0x10 /* the same (data is handed out nevertheless) */
#define CPI_TYPE_TRACE_SUMMARY    0x20 /* trace the summary: what CPI_DATA has */
#define CPI_TYPE_TRACE_DETAILED   0x40 /* trace counts and times */
#define CPI_TYPE_TRACE_EVERYTHING 0x60 /* trace both */
#define CPI_TYPE_ALL              0x7F

/* ---- Return codes: 0 for success, negative for an error ---- */

#define PU_SUCCESS                      0
#define PU_FAILURE                     (-1)   /* no better name: see TachoLastErrorText */
#define PU_ERROR_INVALID_FUNCTION      (-2)   /* not returned */
#define PU_ERR_NULL_PTR                (-3)   /* an argument is a null pointer */
#define PU_ERR_FILE_ERROR              (-4)   /* the trace file cannot be made or written */
#define PU_ERROR_ACCESS_DENIED         (-5)   /* the system does not allow it */
#define PU_ERR_NOT_INITIALIZED         (-6)   /* no CpiInit before */
#define PU_ERROR_NOT_ENOUGH_MEMORY     (-8)
#define PU_ERROR_INVALID_PARAMETER     (-87)  /* unknown bits, minor code over 255, dead or foreign handle */
#define PU_ERROR_INSUFFICIENT_BUFFER   (-122) /* more processors than MAX_CPUS */
#define PU_ERROR_INTERNAL_ERROR        (-200) /* an error of the library */
#define PU_ERROR_INCORRECT_STATE       (-201) /* a trace is open; or a call for this handle broke down */
#define PU_ERROR_NO_BUFFER             (-202) /* no trace is open */
#define PU_ERROR_THREAD_NOT_FOUND      (-203)
#define PU_ERROR_NO_TARGET_CPU         (-204) /* the processor is offline */
#define PU_ERROR_BUFFER_FULL           (-205) /* the trace is full */
#define PU_ERROR_HOOK_TOO_LONG         (-208) /* too many processors for one hook */
#define PU_ERROR_NOT_SUPPORTED         (-210) /* the kernel or the hardware lacks what is needed */
#define PU_ERROR_FACILITY_BUSY         (-211) /* someone holds the counters exclusively */
#define PU_ERROR_EVENT_NOT_SUPPORTED   (-213) /* no hardware counter for cycles or instructions */
#define PU_ERROR_INVALID_CPI_DATA      (-216) /* no CPI of this interval; data is handed out all the same */
#define PU_ERROR_EVENT_ALL_CTRS_IN_USE (-226)
#define PU_ERROR_NOT_VALID_IN_VM       (-234) /* the virtual machine has no hardware counter */
#define PU_ERROR_INSUFFICIENT_RESOURCES (-241) /* too many open files */
#define PU_ERROR_INVALID_THREAD        (-255) /* not returned */

/* ---- Measuring ---- */

/*
 * Makes a handle that measures what the mode (CPI_TYPE_*) says; its interval starts. On failure *handle is
 * null. CPI_TYPE_ONTHREAD alone measures processors too where that is allowed, and the thread alone where it
 * is not.
 */
int __cdecl CpiInit(UINT32 mode, void **handle);

/* Ends a handle and the data that it handed out. A second time is an error and harmless. */
int __cdecl CpiTerminate(void *handle);

/* Starts a new interval. */
int __cdecl CpiStart(void *handle);

#if MAX_CPUS == 1024
/*
 * Hands out what was measured in the interval, which goes on. The data belongs to the library and is good
 * until the next CpiGet, CpiGetAndTrace or CpiTerminate of the handle. It is handed out also beside
 * PU_ERROR_INVALID_CPI_DATA and errors of the trace; with other errors *cd is null.
 *
 * It reads a counter group per processor: not for tight loops. After the first call it allocates nothing.
 */
int __cdecl CpiGet(void *handle, const CPI_DATA **cd);

/*
 * As CpiGet, and writes hooks to the trace: those that flags (CPI_TYPE_TRACE_SUMMARY,
 * CPI_TYPE_TRACE_DETAILED) ask for, or with neither, those that the mode of CpiInit asks for. minor_code: 0
 * to 255. label: text around the hooks, or null.
 */
int __cdecl CpiGetAndTrace(void *handle, int minor_code, UINT32 flags, const char *label,
                           const CPI_DATA **cd);
#else
#if defined(__has_attribute)
#if __has_attribute(error)
#define TACHO_REFUSED \
    __attribute__((error("MAX_CPUS is part of libtachograph's binary interface: leave it undefined, or " \
                         "define it as 1024")))
#endif
#endif
#ifndef TACHO_REFUSED
#define TACHO_REFUSED
#endif
int CpiGet_wants_MAX_CPUS_1024(void *handle, const CPI_DATA **cd) TACHO_REFUSED;
int CpiGetAndTrace_wants_MAX_CPUS_1024(void *handle, int minor_code, UINT32 flags, const char *label,
                                       const CPI_DATA **cd) TACHO_REFUSED;
#define CpiGet CpiGet_wants_MAX_CPUS_1024
#define CpiGetAndTrace CpiGetAndTrace_wants_MAX_CPUS_1024
#endif

/* Minor code (0 to 255) and label (or null) of the hooks that CpiGet writes from now on. */
int __cdecl CpiSetTraceHookId(void *handle, int minor_code, const char *label);

/* The mode in force, CPI_TYPE_RAW included where processors are measured; 0 for what is no live handle. */
UINT32 __cdecl CpiGetCurrentMode(void *handle);

/* 1 where this machine counts cycles and instructions and this process may have them; else 0, and a text. */
int __cdecl IsCpiSupported(void);

/* ---- Beside it ---- */

/* The name of a return code ("PU_SUCCESS"), or "Not a PerfUtil return code". */
const char *__cdecl RcToString(const int rc);

/* How many processors are online. */
int __cdecl GetActiveProcessorCount(void);
int __cdecl PiGetActiveProcessorCount(void);

/* The clock of intervals: time stamp counter on x86-64, generic timer's count on arm64, else nanoseconds. */
UINT64 __cdecl ReadCycles(void);

/* ---- Extensions of Tachograph ---- */

/*
 * Opens the trace of this process: a file, made anew, into which the hooks of all handles go from now on (tacho cpi
 * --read FILE shows them). Without a call, the first CpiInit opens the file that the environment variable
 * TACHO_CPI_TRACE names, where %p stands for the number of the process.
 */
int __cdecl TachoTraceOpen(const char *path);

/* Ends the trace. At the end of the program that happens by itself. */
int __cdecl TachoTraceClose(void);

/*
 * The text of the calling thread's last error, with its cause and a way out; empty when there was none. Good
 * until the thread's next error.
 */
const char *__cdecl TachoLastErrorText(void);

#ifdef __cplusplus
}
#endif

#endif
