/*
 * perfutil.h: cycles per instruction (CPI) of regions of a program, of its threads, of processors and of the
 * system.
 *
 * The interface of the CPI facility of IBM's Performance Inspector for Linux, implemented with perf events. Link
 * with -ltachograph (pkg-config --cflags --libs tachograph). C99 and later, C++11 and later. See
 * docs/c-interface.md and perfutil(3).
 *
 * The interval of a handle runs from its last CpiStart, or from CpiInit, to now. Handles are independent of each
 * other: intervals may overlap, nest, and be used by any thread. All functions are thread-safe.
 */
#ifndef TACHO_PERFUTIL_H
#define TACHO_PERFUTIL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A calling convention of Windows compilers; empty on Linux. */
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
 * Capacity of the arrays in CPI_DATA, in processors. It determines the offsets of the members, and is part of the
 * binary interface: in a program that defines it differently, calls of CpiGet and CpiGetAndTrace do not compile
 * (or, with compilers that lack __attribute__((error)), do not link).
 */
#ifndef MAX_CPUS
#define MAX_CPUS 1024
#endif

/*
 * Measurements of an interval. Arrays are indexed by processor number. An unknown value is NaN: a CPI if no
 * instructions were counted, a scaled CPI if there was no busy time, a busy share if the interval is too short for
 * the system's accounting of idle time (10 ms). Processors that are offline or do not exist, and values that the
 * mode does not include, are 0.
 */
typedef struct cpi_data_t {
    int num_cpus;                /* highest number of a measured processor, plus 1; 0 if only the thread is measured */
    UINT32 tid;                  /* thread id (gettid) of the caller of CpiInit */
    UINT64 elapsed_cycles;       /* length of the interval in ticks of ReadCycles() */
    double raw_cpi[MAX_CPUS];    /* elapsed cycles per instruction of each processor, idle time included */
    double raw_sys_cpi;          /* the same for the system: sum of cycles / sum of instructions */
    double scaled_cpi[MAX_CPUS]; /* cycles per instruction of each processor while busy (CPI_TYPE_SCALED) */
    double scaled_sys_cpi;       /* the same for the system */
    double cpu_busy[MAX_CPUS];   /* busy share of each processor in percent (CPI_TYPE_SCALED) */
    double sys_busy;             /* the same for the system */
    double thread_cpi;           /* cycles per instruction of the thread (CPI_TYPE_ONTHREAD) */
} cpi_data_t;

typedef cpi_data_t CPI_DATA;

/* ---- Modes: what a handle measures and traces. Combine with | ---- */

#define CPI_TYPE_RAW              0x01 /* processors, idle time included; the default */
#define CPI_TYPE_SCALED           0x02 /* CPI while busy, and busy shares */
#define CPI_TYPE_ONTHREAD         0x04 /* the thread that calls CpiInit; needs the least privilege */
#define CPI_TYPE_TRACE_ON_GET     0x08 /* CpiGet writes to the trace */
#define CPI_TYPE_TRACE_ONLY_ON_GET 0x10 /* the same: data is returned too */
#define CPI_TYPE_TRACE_SUMMARY    0x20 /* trace the contents of CPI_DATA */
#define CPI_TYPE_TRACE_DETAILED   0x40 /* trace counts and times */
#define CPI_TYPE_TRACE_EVERYTHING 0x60 /* trace both */
#define CPI_TYPE_ALL              0x7F

/* ---- Return codes: 0 for success, negative for an error ---- */

#define PU_SUCCESS                      0
#define PU_FAILURE                     (-1)   /* any other error: see TachoLastErrorText */
#define PU_ERROR_INVALID_FUNCTION      (-2)   /* never returned */
#define PU_ERR_NULL_PTR                (-3)   /* an argument is a null pointer */
#define PU_ERR_FILE_ERROR              (-4)   /* the trace file cannot be created or written */
#define PU_ERROR_ACCESS_DENIED         (-5)   /* kernel.perf_event_paranoid, seccomp or lockdown forbids it */
#define PU_ERR_NOT_INITIALIZED         (-6)   /* CpiInit was not called */
#define PU_ERROR_NOT_ENOUGH_MEMORY     (-8)
#define PU_ERROR_INVALID_PARAMETER     (-87)  /* unknown mode bits, minor code over 255, closed or invalid handle */
#define PU_ERROR_INSUFFICIENT_BUFFER   (-122) /* more processors than MAX_CPUS */
#define PU_ERROR_INTERNAL_ERROR        (-200) /* a bug in the library: please report it */
#define PU_ERROR_INCORRECT_STATE       (-201) /* a trace is open already; an earlier call for the handle returned -200 */
#define PU_ERROR_NO_BUFFER             (-202) /* no trace is open */
#define PU_ERROR_THREAD_NOT_FOUND      (-203)
#define PU_ERROR_NO_TARGET_CPU         (-204) /* the processor is offline */
#define PU_ERROR_BUFFER_FULL           (-205) /* the trace is full */
#define PU_ERROR_HOOK_TOO_LONG         (-208) /* too many processors for one hook */
#define PU_ERROR_NOT_SUPPORTED         (-210) /* the kernel or the hardware lacks a required feature */
#define PU_ERROR_FACILITY_BUSY         (-211) /* another program holds the counters exclusively */
#define PU_ERROR_EVENT_NOT_SUPPORTED   (-213) /* no hardware counter for cycles or instructions */
#define PU_ERROR_INVALID_CPI_DATA      (-216) /* no instructions were counted in the interval; data is returned */
#define PU_ERROR_EVENT_ALL_CTRS_IN_USE (-226)
#define PU_ERROR_NOT_VALID_IN_VM       (-234) /* as -213, in a virtual machine */
#define PU_ERROR_INSUFFICIENT_RESOURCES (-241) /* too many open files: 2 are needed per processor */
#define PU_ERROR_INVALID_THREAD        (-255) /* never returned */

/* ---- Measuring ---- */

/*
 * Creates a handle and starts its interval. mode is a combination of CPI_TYPE_*. CPI_TYPE_ONTHREAD alone measures
 * processors too if this process may count them, otherwise only the thread. On failure *handle is null. The first
 * handle of a process opens the counters, the last one closes them.
 */
int __cdecl CpiInit(UINT32 mode, void **handle);

/* Closes a handle and frees its data. Closing it again is an error and has no other effect. */
int __cdecl CpiTerminate(void *handle);

/* Starts a new interval of the handle. */
int __cdecl CpiStart(void *handle);

#if MAX_CPUS == 1024
/*
 * Writes a pointer to the measurements of the interval to *cd. The interval continues. The data belongs to the
 * library, and is valid until the next CpiGet, CpiGetAndTrace or CpiTerminate of the handle: threads that share a
 * handle must synchronize. The data is returned even with PU_ERROR_INVALID_CPI_DATA and with trace errors (-4,
 * -202, -205, -208); with other errors *cd is null.
 *
 * Cost: about 20 us per processor. Calls after the first one of a handle do not allocate.
 */
int __cdecl CpiGet(void *handle, const CPI_DATA **cd);

/*
 * Like CpiGet, but also writes hooks to the trace. flags (CPI_TYPE_TRACE_SUMMARY, CPI_TYPE_TRACE_DETAILED) selects
 * them; if flags is 0, the mode of CpiInit does. minor_code: 0 to 255. label: UTF-8 of at
 * most 2048 bytes, or null.
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

/* Sets the minor code (0 to 255) and the label (or null) of the hooks that later CpiGet calls write. */
int __cdecl CpiSetTraceHookId(void *handle, int minor_code, const char *label);

/* Returns the mode in force, including CPI_TYPE_RAW if processors are measured; 0 if the handle is invalid. */
UINT32 __cdecl CpiGetCurrentMode(void *handle);

/*
 * Returns 1 if this machine counts cycles and instructions and this process has access to the counters, otherwise 0
 * with the cause in TachoLastErrorText.
 */
int __cdecl IsCpiSupported(void);

/* ---- Utilities ---- */

/* Returns the name of a return code, such as "PU_SUCCESS", or "Not a PerfUtil return code". */
const char *__cdecl RcToString(const int rc);

/* Return the number of online processors. */
int __cdecl GetActiveProcessorCount(void);
int __cdecl PiGetActiveProcessorCount(void);

/*
 * Reads the clock that measures intervals: the time stamp counter on x86-64, the generic timer on arm64, elsewhere
 * nanoseconds.
 */
UINT64 __cdecl ReadCycles(void);

/* ---- Extensions of Tachograph ---- */

/*
 * Opens the trace of this process: a file, overwritten if it exists, to which all handles write their hooks
 * ("tacho cpi --read FILE" prints it). If the program does not call this function, the first CpiInit opens the file
 * named by the environment variable TACHO_CPI_TRACE, in which %p is replaced by the process id.
 * PU_ERROR_INCORRECT_STATE: a trace is open already.
 */
int __cdecl TachoTraceOpen(const char *path);

/* Closes the trace. PU_ERROR_NO_BUFFER: no trace is open. An open trace is closed when the program exits. */
int __cdecl TachoTraceClose(void);

/*
 * Returns the cause of the calling thread's last error, and a remedy, as NUL-terminated UTF-8; "" if there was
 * none. Valid until the thread's next error.
 */
const char *__cdecl TachoLastErrorText(void);

#ifdef __cplusplus
}
#endif

#endif
