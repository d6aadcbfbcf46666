/*
 * perflib.h: performance counters of this machine and of its programs, and of other machines (PerfLib version 2).
 *
 * Consumers read registrations and raw data blocks; providers publish counter sets of their own. Names,
 * layouts, constants and return codes are those of Windows. Link with -ltachograph (pkg-config --cflags --libs
 * tachograph). C99 and later, C++11 and later. Programs written for Windows find <windows.h> in the
 * compatibility folder. See docs/c-interface.md and perflib(3).
 *
 * All functions are thread-safe. Unless noted otherwise, they return ERROR_SUCCESS (0) or a code of
 * tachograph/errors.h. TachoLastErrorText() returns the cause of the calling thread's last error, and a remedy.
 */
#ifndef TACHO_PERFLIB_H
#define TACHO_PERFLIB_H

#include <tachograph/errors.h>
#include <tachograph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Constants ---- */

/* Kinds of providers. */
#define PERF_PROVIDER_USER_MODE   0
#define PERF_PROVIDER_KERNEL_MODE 1
#define PERF_PROVIDER_DRIVER      2

/* Instance types: how many instances a set has, and whether consumers combine them. */
#define PERF_COUNTERSET_FLAG_MULTIPLE  2
#define PERF_COUNTERSET_FLAG_AGGREGATE 4
#define PERF_COUNTERSET_FLAG_HISTORY   8
#define PERF_COUNTERSET_FLAG_INSTANCE  16
#define PERF_COUNTERSET_SINGLE_INSTANCE          0
#define PERF_COUNTERSET_MULTI_INSTANCES          (PERF_COUNTERSET_FLAG_MULTIPLE)
#define PERF_COUNTERSET_SINGLE_AGGREGATE         (PERF_COUNTERSET_FLAG_AGGREGATE)
#define PERF_COUNTERSET_MULTI_AGGREGATE \
    (PERF_COUNTERSET_FLAG_MULTIPLE | PERF_COUNTERSET_FLAG_AGGREGATE)
#define PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY \
    (PERF_COUNTERSET_FLAG_AGGREGATE | PERF_COUNTERSET_FLAG_HISTORY)
#define PERF_COUNTERSET_INSTANCE_AGGREGATE \
    (PERF_COUNTERSET_MULTI_AGGREGATE | PERF_COUNTERSET_FLAG_INSTANCE)

/* Aggregate functions: how a counter's _Total is computed. */
#define PERF_AGGREGATE_UNDEFINED 0
#define PERF_AGGREGATE_TOTAL     1
#define PERF_AGGREGATE_AVG       2
#define PERF_AGGREGATE_MIN       3
#define PERF_AGGREGATE_MAX       4

/* Attributes of a counter. If several of the last three are set, the first of them applies. */
#define PERF_ATTRIB_BY_REFERENCE       0x0000000000000001ULL /* read from the address in PerfSetCounterRefValue */
#define PERF_ATTRIB_NO_DISPLAYABLE     0x0000000000000002ULL /* a base, time, frequency or multiplier */
#define PERF_ATTRIB_NO_GROUP_SEPARATOR 0x0000000000000004ULL
#define PERF_ATTRIB_DISPLAY_AS_REAL    0x0000000000000008ULL
#define PERF_ATTRIB_DISPLAY_AS_HEX     0x0000000000000010ULL

/* Matches everything. As the id of a companion (BaseCounterId, ...) it means "none". */
#define PERF_WILDCARD_COUNTER   0xFFFFFFFF
#define PERF_WILDCARD_INSTANCE  TACHO_W("*")
#define PERF_AGGREGATE_INSTANCE TACHO_W("_Total")

#define PERF_MAX_INSTANCE_NAME 1024

/* ---- Structures for consumers. Each begins at a multiple of 8 bytes. ---- */

/* Request codes of PerfQueryCounterSetRegistrationInfo. */
typedef enum PerfRegInfoType {
    PERF_REG_COUNTERSET_STRUCT = 1,       /* PERF_COUNTERSET_REG_INFO, then one PERF_COUNTER_REG_INFO per counter */
    PERF_REG_COUNTER_STRUCT = 2,          /* PERF_COUNTER_REG_INFO of the counter whose id is in requestLangId */
    PERF_REG_COUNTERSET_NAME_STRING = 3,  /* NUL-terminated UTF-16 */
    PERF_REG_COUNTERSET_HELP_STRING = 4,  /* NUL-terminated UTF-16 */
    PERF_REG_COUNTER_NAME_STRINGS = 5,    /* PERF_STRING_BUFFER_HEADER with its texts */
    PERF_REG_COUNTER_HELP_STRINGS = 6,    /* PERF_STRING_BUFFER_HEADER with its texts */
    PERF_REG_PROVIDER_NAME = 7,           /* NUL-terminated UTF-16 */
    PERF_REG_PROVIDER_GUID = 8,           /* GUID */
    PERF_REG_COUNTERSET_ENGLISH_NAME = 9, /* NUL-terminated UTF-16 */
    PERF_REG_COUNTER_ENGLISH_NAMES = 10   /* PERF_STRING_BUFFER_HEADER with its texts */
} PerfRegInfoType;

typedef struct _PERF_COUNTERSET_REG_INFO {
    GUID CounterSetGuid;
    ULONG CounterSetType; /* always 0 */
    ULONG DetailLevel;    /* 100 or 200 */
    ULONG NumCounters;
    ULONG InstanceType; /* PERF_COUNTERSET_* */
} PERF_COUNTERSET_REG_INFO, *PPERF_COUNTERSET_REG_INFO;

typedef struct _PERF_COUNTER_REG_INFO {
    ULONG CounterId;
    ULONG Type;         /* PERF_* counter type of winperf.h */
    ULONGLONG Attrib;   /* PERF_ATTRIB_* */
    ULONG DetailLevel;  /* 100 or 200 */
    LONG DefaultScale;  /* power of ten by which charts multiply the value */
    ULONG BaseCounterId;
    ULONG PerfTimeId;
    ULONG PerfFreqId;
    ULONG MultiId;
    ULONG AggregateFunc; /* PERF_AGGREGATE_* */
    ULONG Reserved;
} PERF_COUNTER_REG_INFO, *PPERF_COUNTER_REG_INFO;

/* Texts of counters. Followed by dwCounters x PERF_STRING_COUNTER_HEADER, then the texts. */
typedef struct _STRING_BUFFER_HEADER {
    DWORD dwSize; /* bytes, including headers and texts */
    DWORD dwCounters;
} PERF_STRING_BUFFER_HEADER, *PPERF_STRING_BUFFER_HEADER;

typedef struct _STRING_COUNTER_HEADER {
    DWORD dwCounterId;
    DWORD dwOffset; /* bytes from the start of PERF_STRING_BUFFER_HEADER; 0xFFFFFFFF: no text */
} PERF_STRING_COUNTER_HEADER, *PPERF_STRING_COUNTER_HEADER;

/*
 * An entry of a query: counters and instances that are to be collected. Followed by the name of the instance, or
 * a pattern; for a set without instances by nothing or "".
 */
typedef struct _PERF_COUNTER_IDENTIFIER {
    GUID CounterSetGuid;
    ULONG Status;     /* out: ERROR_SUCCESS, or why this identifier was not added or deleted */
    ULONG Size;       /* bytes, including name, terminating NUL and padding: a multiple of 8 */
    ULONG CounterId;  /* or PERF_WILDCARD_COUNTER */
    ULONG InstanceId; /* or 0xFFFFFFFF for any */
    ULONG Index;      /* out: index of its result in the raw data block */
    ULONG Reserved;
} PERF_COUNTER_IDENTIFIER, *PPERF_COUNTER_IDENTIFIER;

/* A raw data block. Followed by dwNumCounters results, each of which begins with PERF_COUNTER_HEADER. */
typedef struct _PERF_DATA_HEADER {
    DWORD dwTotalSize;        /* bytes, including all results */
    DWORD dwNumCounters;      /* number of results, not of counters */
    LONGLONG PerfTimeStamp;   /* time of the collection in ticks of PerfFreq */
    LONGLONG PerfTime100NSec; /* time of the collection in 100 ns since 1601, UTC */
    LONGLONG PerfFreq;        /* ticks per second */
    SYSTEMTIME SystemTime;    /* UTC */
} PERF_DATA_HEADER, *PPERF_DATA_HEADER;

typedef enum PerfCounterDataType {
    PERF_ERROR_RETURN = 0,       /* followed by nothing; dwStatus is the cause */
    PERF_SINGLE_COUNTER = 1,     /* PERF_COUNTER_DATA */
    PERF_MULTIPLE_COUNTERS = 2,  /* PERF_MULTI_COUNTERS, then one PERF_COUNTER_DATA per id */
    PERF_MULTIPLE_INSTANCES = 4, /* PERF_MULTI_INSTANCES, then PERF_INSTANCE_HEADER and PERF_COUNTER_DATA
                                    per instance */
    PERF_COUNTERSET = 6          /* PERF_MULTI_COUNTERS, PERF_MULTI_INSTANCES, then per instance
                                    PERF_INSTANCE_HEADER and one PERF_COUNTER_DATA per id */
} PerfCounterDataType;

/* A result: the values that belong to one identifier of the query. */
typedef struct _PERF_COUNTER_HEADER {
    DWORD dwStatus; /* ERROR_SUCCESS, or why the values are missing */
    PerfCounterDataType dwType;
    DWORD dwSize; /* bytes of the result, including this header */
    DWORD Reserved;
} PERF_COUNTER_HEADER, *PPERF_COUNTER_HEADER;

/* Followed by dwCounters counter ids (ULONG). */
typedef struct _PERF_MULTI_COUNTERS {
    DWORD dwSize; /* bytes, including ids and padding */
    DWORD dwCounters;
} PERF_MULTI_COUNTERS, *PPERF_MULTI_COUNTERS;

typedef struct _PERF_MULTI_INSTANCES {
    DWORD dwTotalSize; /* bytes, including all instances */
    DWORD dwInstances;
} PERF_MULTI_INSTANCES, *PPERF_MULTI_INSTANCES;

/* Followed by the NUL-terminated name. */
typedef struct _PERF_INSTANCE_HEADER {
    ULONG Size; /* bytes, including name and padding */
    ULONG InstanceId;
} PERF_INSTANCE_HEADER, *PPERF_INSTANCE_HEADER;

/* Followed by the value. */
typedef struct _PERF_COUNTER_DATA {
    DWORD dwDataSize; /* bytes of the value: 8, or 0 if the value cannot be read now (4 is possible on Windows) */
    DWORD dwSize;     /* bytes, including value and padding */
} PERF_COUNTER_DATA, *PPERF_COUNTER_DATA;

/* ---- Consumers ---- */

/*
 * szMachine is null for this machine, or the name of a machine, which can begin with two backslashes. Other machines
 * run "tacho agent" and are listed in machines.toml. Errors: ERROR_BAD_NETPATH for a machine that is not listed,
 * RPC_S_SERVER_UNAVAILABLE, ERROR_ACCESS_DENIED, ERROR_TIMEOUT, ERROR_INVALID_DATA for an invalid answer,
 * ERROR_NOT_SUPPORTED if no agent answers but another server, ERROR_NO_SYSTEM_RESOURCES for a limit of the agent.
 *
 * Sizes are in bytes, unless noted otherwise. A function that fills a buffer writes the number of bytes to the
 * last argument ("Actual"). If the buffer is too small, the function returns ERROR_NOT_ENOUGH_MEMORY and writes
 * the required size. Call it in a loop: the required size can grow between two calls. A buffer of size 0 may be
 * null.
 *
 * Common errors: ERROR_INVALID_PARAMETER for a null pointer, ERROR_INVALID_HANDLE for a closed or invalid handle,
 * ERROR_WMI_GUID_NOT_FOUND for an unknown counter set.
 */

/* Writes the GUIDs of all counter sets, including those that programs publish now. Sizes are in GUIDs. */
ULONG WINAPI PerfEnumerateCounterSet(LPCWSTR szMachine, LPGUID pCounterSetIds, DWORD cCounterSetIds,
                                     LPDWORD pcCounterSetIdsActual);

/*
 * Writes a part of a set's registration; requestCode selects it. requestLangId is a language (0: the default), or
 * for PERF_REG_COUNTER_STRUCT the id of a counter. Errors: ERROR_WMI_ITEMID_NOT_FOUND for an unknown counter,
 * ERROR_RESOURCE_LANG_NOT_FOUND for a language other than the default and English.
 */
ULONG WINAPI PerfQueryCounterSetRegistrationInfo(LPCWSTR szMachine, LPCGUID pCounterSetId,
                                                 PerfRegInfoType requestCode, DWORD requestLangId,
                                                 LPBYTE pbRegInfo, DWORD cbRegInfo, LPDWORD pcbRegInfoActual);

/*
 * Writes the instances that a set has now: a sequence of PERF_INSTANCE_HEADER, each with its name.
 * ERROR_WMI_INSTANCE_NOT_FOUND: the set has no instances now.
 */
ULONG WINAPI PerfEnumerateCounterSetInstances(LPCWSTR szMachine, LPCGUID pCounterSetId,
                                              PPERF_INSTANCE_HEADER pInstances, DWORD cbInstances,
                                              LPDWORD pcbInstancesActual);

/* Creates an empty query. On failure *phQuery is null. */
ULONG WINAPI PerfOpenQueryHandle(LPCWSTR szMachine, HANDLE *phQuery);

/* Closes a query. Closing it again returns ERROR_INVALID_HANDLE and has no other effect. */
ULONG WINAPI PerfCloseQueryHandle(HANDLE hQuery);

/*
 * Add identifiers to a query, and delete them. pCounters is a sequence of PERF_COUNTER_IDENTIFIER; cbCounters is
 * its size. The call fails if the handle is invalid or the sequence is malformed. Otherwise the Status of each
 * identifier says whether it was added or deleted: check both.
 */
ULONG WINAPI PerfAddCounters(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters);
ULONG WINAPI PerfDeleteCounters(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters);

/* Writes the identifiers of a query, each with the Index of its result. */
ULONG WINAPI PerfQueryCounterInfo(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters,
                                  LPDWORD pcbCountersActual);

/*
 * Collects all counters of a query at one moment, as a raw data block. If the buffer is too small, the sample is
 * kept, and the next call returns it with the time at which it was taken.
 */
ULONG WINAPI PerfQueryCounterData(HANDLE hQuery, PPERF_DATA_HEADER pCounterBlock, DWORD cbCounterBlock,
                                  LPDWORD pcbCounterBlockActual);

/* ---- Structures for providers ---- */

/* Template of a counter set. Followed by NumCounters x PERF_COUNTER_INFO. */
typedef struct _PERF_COUNTERSET_INFO {
    GUID CounterSetGuid;
    GUID ProviderGuid;
    ULONG NumCounters;
    ULONG InstanceType; /* PERF_COUNTERSET_* */
} PERF_COUNTERSET_INFO, *PPERF_COUNTERSET_INFO;

typedef struct _PERF_COUNTER_INFO {
    ULONG CounterId;
    ULONG Type;       /* PERF_* counter type of winperf.h */
    ULONGLONG Attrib; /* PERF_ATTRIB_* */
    ULONG Size;       /* ignored: the library determines the layout */
    ULONG DetailLevel;
    LONG Scale;   /* power of ten by which charts multiply the value */
    ULONG Offset; /* ignored */
} PERF_COUNTER_INFO, *PPERF_COUNTER_INFO;

/*
 * An instance. Followed by its values in the order of the template, 8 bytes each, and its name. The memory belongs
 * to the library. Programs can read the values; only the functions below change them.
 */
typedef struct _PERF_COUNTERSET_INSTANCE {
    GUID CounterSetGuid;
    ULONG dwSize; /* bytes, including values and name */
    ULONG InstanceId;
    ULONG InstanceNameOffset; /* bytes from the start of this structure */
    ULONG InstanceNameSize;   /* bytes, including the terminating NUL */
} PERF_COUNTERSET_INSTANCE, *PPERF_COUNTERSET_INSTANCE;

/* The counters and instances that a request to a provider concerns. Followed by the names of machine and instance. */
typedef struct _PERF_COUNTER_IDENTITY {
    GUID CounterSetGuid;
    ULONG BufferSize; /* bytes, including the names */
    ULONG CounterId;  /* or PERF_WILDCARD_COUNTER */
    ULONG InstanceId;
    ULONG MachineOffset; /* of the machine's name: bytes from the start of this structure */
    ULONG NameOffset;    /* of the instance's name: bytes from the start of this structure */
    ULONG Reserved;
} PERF_COUNTER_IDENTITY, *PPERF_COUNTER_IDENTITY;

/* Requests to a provider, and the contents of their buffer. */
#define PERF_ADD_COUNTER           1 /* a consumer starts querying counters; PERF_COUNTER_IDENTITY */
#define PERF_REMOVE_COUNTER        2 /* a consumer stops querying counters; PERF_COUNTER_IDENTITY */
#define PERF_ENUM_INSTANCES        3 /* instances will be listed; name of the machine */
#define PERF_COLLECT_START         5 /* values will be read: refresh them now; name of the machine */
#define PERF_COLLECT_END           6 /* values were read; name of the machine */
#define PERF_FILTER                9 /* name of the machine */

/*
 * Control callback of a provider. Runs on a thread of the library, one call at a time, and must return within a
 * second. Buffer is valid during the call. Returns ERROR_SUCCESS, or a code, which the consumer receives for
 * PERF_ADD_COUNTER, PERF_ENUM_INSTANCES and PERF_COLLECT_START. It may change values; it must not stop its own
 * provider.
 */
typedef ULONG(WINAPI *PERFLIBREQUEST)(ULONG RequestCode, PVOID Buffer, ULONG BufferSize);

typedef LPVOID(__cdecl *PERF_MEM_ALLOC)(SIZE_T AllocSize, LPVOID pContext);
typedef void(__cdecl *PERF_MEM_FREE)(LPVOID pBuffer, LPVOID pContext);

typedef struct _PROVIDER_CONTEXT {
    DWORD ContextSize; /* sizeof(PERF_PROVIDER_CONTEXT) */
    DWORD Reserved;
    PERFLIBREQUEST ControlCallback; /* or null */
    PERF_MEM_ALLOC MemAllocRoutine; /* never called: the library allocates its own memory */
    PERF_MEM_FREE MemFreeRoutine;   /* never called */
    LPVOID pMemContext;
} PERF_PROVIDER_CONTEXT, *PPERF_PROVIDER_CONTEXT;

/* ---- Providers ---- */

/*
 * Start a provider. ControlCallback and ProviderContext may be null. A GUID can be started several times; each call
 * returns its own handle.
 */
ULONG WINAPI PerfStartProvider(LPGUID ProviderGuid, PERFLIBREQUEST ControlCallback, HANDLE *phProvider);
ULONG WINAPI PerfStartProviderEx(LPGUID ProviderGuid, PPERF_PROVIDER_CONTEXT ProviderContext,
                                 HANDLE *phProvider);

/* Stops a provider, removes its sets and frees its instances. The callback is not called after this returns. */
ULONG WINAPI PerfStopProvider(HANDLE ProviderHandle);

/*
 * Declares a counter set and publishes it. TemplateSize is the size of Template in bytes, including its counters.
 * Errors: ERROR_INVALID_PARAMETER for an invalid template, ERROR_ALREADY_EXISTS if the provider has the set.
 */
ULONG WINAPI PerfSetCounterSetInfo(HANDLE ProviderHandle, PPERF_COUNTERSET_INFO Template, ULONG TemplateSize);

/*
 * Creates an instance. Name is required in every set. The result is valid until PerfDeleteInstance or
 * PerfStopProvider; on failure it is null, and TachoGetLastError() returns the code: ERROR_NOT_FOUND if the set was
 * not declared, ERROR_ALREADY_EXISTS, ERROR_NOT_ENOUGH_MEMORY if the set is full.
 */
PPERF_COUNTERSET_INSTANCE WINAPI PerfCreateInstance(HANDLE ProviderHandle, LPCGUID CounterSetGuid,
                                                    PCWSTR Name, ULONG Id);

/* Returns the instance with this name and id; null on failure, with the code in TachoGetLastError(). */
PPERF_COUNTERSET_INSTANCE WINAPI PerfQueryInstance(HANDLE ProviderHandle, LPCGUID CounterSetGuid, PCWSTR Name,
                                                   ULONG Id);

/* Removes an instance from its set and frees it. */
ULONG WINAPI PerfDeleteInstance(HANDLE Provider, PPERF_COUNTERSET_INSTANCE InstanceBlock);

/*
 * Set a value, add to it, subtract from it. Updates are atomic; sums wrap around. ERROR_NOT_FOUND: the set has no
 * counter with this id.
 */
ULONG WINAPI PerfSetULongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
                                      ULONG Value);
ULONG WINAPI PerfSetULongLongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance,
                                          ULONG CounterId, ULONGLONG Value);
ULONG WINAPI PerfIncrementULongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance,
                                            ULONG CounterId, ULONG Value);
ULONG WINAPI PerfIncrementULongLongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance,
                                                ULONG CounterId, ULONGLONG Value);
ULONG WINAPI PerfDecrementULongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance,
                                            ULONG CounterId, ULONG Value);
ULONG WINAPI PerfDecrementULongLongCounterValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance,
                                                ULONG CounterId, ULONGLONG Value);

/*
 * Sets the address of the value of a PERF_ATTRIB_BY_REFERENCE counter: 8 bytes if its type has 64 bits, otherwise 4.
 * A thread of the library reads the value at each collection, so the address must be valid until
 * PerfDeleteInstance or PerfStopProvider returns.
 */
ULONG WINAPI PerfSetCounterRefValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
                                    PVOID Address);

/* ---- Extensions of Tachograph ---- */

/*
 * Returns the code of the calling thread's last failed PerfCreateInstance or PerfQueryInstance, or the code that
 * TachoSetLastError() stored. GetLastError() and SetLastError() of the compatibility folder call these functions.
 */
DWORD TachoGetLastError(void);
void TachoSetLastError(DWORD code);

/*
 * Returns the cause of the calling thread's last error, and a remedy, as NUL-terminated UTF-8; "" if there was
 * none. Valid until the thread's next error.
 */
const char *TachoLastErrorText(void);

#ifdef __cplusplus
}
#endif

#endif
