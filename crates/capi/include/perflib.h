/*
 * perflib.h: performance counters of this machine and of its programs, PerfLib version 2.
 *
 * Consumers read registrations and raw data blocks; providers publish counter sets of their own. Names,
 * layouts, constants and return codes are those of Windows. Link with -ltachograph (pkg-config --cflags --libs
 * tachograph). C99 and later, C++11 and later; programs written for Windows find their <windows.h> in the
 * compatibility folder. docs/c-interface.md is the page, perflib(3) the manual.
 *
 * Every function may be called from any thread at any time. Functions return 0 (ERROR_SUCCESS) or a code of
 * tachograph/errors.h; TachoLastErrorText() tells the calling thread the cause and a way out.
 */
#ifndef TACHO_PERFLIB_H
#define TACHO_PERFLIB_H

#include <tachograph/errors.h>
#include <tachograph/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Constants ---- */

/* Who provides. */
#define PERF_PROVIDER_USER_MODE   0
#define PERF_PROVIDER_KERNEL_MODE 1
#define PERF_PROVIDER_DRIVER      2

/* Which instances a set has, and who adds them up. */
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

/* How the aggregate of a counter is made. */
#define PERF_AGGREGATE_UNDEFINED 0
#define PERF_AGGREGATE_TOTAL     1
#define PERF_AGGREGATE_AVG       2
#define PERF_AGGREGATE_MIN       3
#define PERF_AGGREGATE_MAX       4

/* Attributes of a counter. Where display attributes meet, the first of the three holds. */
#define PERF_ATTRIB_BY_REFERENCE       0x0000000000000001ULL /* the program hands out the value's address */
#define PERF_ATTRIB_NO_DISPLAYABLE     0x0000000000000002ULL /* a base, a time, a frequency, a multiplier */
#define PERF_ATTRIB_NO_GROUP_SEPARATOR 0x0000000000000004ULL
#define PERF_ATTRIB_DISPLAY_AS_REAL    0x0000000000000008ULL
#define PERF_ATTRIB_DISPLAY_AS_HEX     0x0000000000000010ULL

/* "Do not filter." As the id of a companion (BaseCounterId, ...) it stands for none. */
#define PERF_WILDCARD_COUNTER   0xFFFFFFFF
#define PERF_WILDCARD_INSTANCE  TACHO_W("*")
#define PERF_AGGREGATE_INSTANCE TACHO_W("_Total")

#define PERF_MAX_INSTANCE_NAME 1024

/* ---- What consumers read. Each structure begins at a multiple of 8. ---- */

/* What is asked of a registration. */
typedef enum PerfRegInfoType {
    PERF_REG_COUNTERSET_STRUCT = 1,       /* PERF_COUNTERSET_REG_INFO, then a PERF_COUNTER_REG_INFO for each counter */
    PERF_REG_COUNTER_STRUCT = 2,          /* PERF_COUNTER_REG_INFO of the counter whose id is in place of a language */
    PERF_REG_COUNTERSET_NAME_STRING = 3,  /* text with its final zero */
    PERF_REG_COUNTERSET_HELP_STRING = 4,  /* text */
    PERF_REG_COUNTER_NAME_STRINGS = 5,    /* PERF_STRING_BUFFER_HEADER and what belongs to it */
    PERF_REG_COUNTER_HELP_STRINGS = 6,    /* the same */
    PERF_REG_PROVIDER_NAME = 7,           /* text */
    PERF_REG_PROVIDER_GUID = 8,           /* GUID */
    PERF_REG_COUNTERSET_ENGLISH_NAME = 9, /* text */
    PERF_REG_COUNTER_ENGLISH_NAMES = 10   /* PERF_STRING_BUFFER_HEADER and what belongs to it */
} PerfRegInfoType;

typedef struct _PERF_COUNTERSET_REG_INFO {
    GUID CounterSetGuid;
    ULONG CounterSetType; /* 0 */
    ULONG DetailLevel;    /* 100 or 200 */
    ULONG NumCounters;
    ULONG InstanceType; /* PERF_COUNTERSET_* */
} PERF_COUNTERSET_REG_INFO, *PPERF_COUNTERSET_REG_INFO;

typedef struct _PERF_COUNTER_REG_INFO {
    ULONG CounterId;
    ULONG Type;         /* winperf.h */
    ULONGLONG Attrib;   /* PERF_ATTRIB_* */
    ULONG DetailLevel;  /* 100 or 200 */
    LONG DefaultScale;  /* exponent of ten for charts */
    ULONG BaseCounterId;
    ULONG PerfTimeId;
    ULONG PerfFreqId;
    ULONG MultiId;
    ULONG AggregateFunc; /* PERF_AGGREGATE_* */
    ULONG Reserved;
} PERF_COUNTER_REG_INFO, *PPERF_COUNTER_REG_INFO;

/* Texts of counters: dwCounters x PERF_STRING_COUNTER_HEADER follow, then the texts. */
typedef struct _STRING_BUFFER_HEADER {
    DWORD dwSize; /* of the whole, in bytes */
    DWORD dwCounters;
} PERF_STRING_BUFFER_HEADER, *PPERF_STRING_BUFFER_HEADER;

typedef struct _STRING_COUNTER_HEADER {
    DWORD dwCounterId;
    DWORD dwOffset; /* from the start of PERF_STRING_BUFFER_HEADER; 0xFFFFFFFF: no text */
} PERF_STRING_COUNTER_HEADER, *PPERF_STRING_COUNTER_HEADER;

/* A query of a handle. The instance's name (or pattern) follows; for a set without instances nothing or "". */
typedef struct _PERF_COUNTER_IDENTIFIER {
    GUID CounterSetGuid;
    ULONG Status;     /* out: why this one was not added or deleted */
    ULONG Size;       /* with name, its zero and padding: a multiple of 8 */
    ULONG CounterId;  /* or PERF_WILDCARD_COUNTER */
    ULONG InstanceId; /* or 0xFFFFFFFF */
    ULONG Index;      /* out: the place of its result in the block */
    ULONG Reserved;
} PERF_COUNTER_IDENTIFIER, *PPERF_COUNTER_IDENTIFIER;

/* Raw data: dwNumCounters results follow, each of which begins with PERF_COUNTER_HEADER. */
typedef struct _PERF_DATA_HEADER {
    DWORD dwTotalSize;
    DWORD dwNumCounters; /* of results, not of counters */
    LONGLONG PerfTimeStamp;
    LONGLONG PerfTime100NSec; /* since 1601, UTC */
    LONGLONG PerfFreq;
    SYSTEMTIME SystemTime;
} PERF_DATA_HEADER, *PPERF_DATA_HEADER;

typedef enum PerfCounterDataType {
    PERF_ERROR_RETURN = 0,       /* nothing follows; dwStatus tells why */
    PERF_SINGLE_COUNTER = 1,     /* PERF_COUNTER_DATA */
    PERF_MULTIPLE_COUNTERS = 2,  /* PERF_MULTI_COUNTERS, then a PERF_COUNTER_DATA for each id */
    PERF_MULTIPLE_INSTANCES = 4, /* PERF_MULTI_INSTANCES; for each PERF_INSTANCE_HEADER and PERF_COUNTER_DATA */
    PERF_COUNTERSET = 6          /* PERF_MULTI_COUNTERS, PERF_MULTI_INSTANCES; for each instance its header and
                                    a PERF_COUNTER_DATA for each id */
} PerfCounterDataType;

typedef struct _PERF_COUNTER_HEADER {
    DWORD dwStatus;
    PerfCounterDataType dwType;
    DWORD dwSize; /* of the whole result */
    DWORD Reserved;
} PERF_COUNTER_HEADER, *PPERF_COUNTER_HEADER;

/* dwCounters ids follow. */
typedef struct _PERF_MULTI_COUNTERS {
    DWORD dwSize; /* with ids and padding */
    DWORD dwCounters;
} PERF_MULTI_COUNTERS, *PPERF_MULTI_COUNTERS;

typedef struct _PERF_MULTI_INSTANCES {
    DWORD dwTotalSize;
    DWORD dwInstances;
} PERF_MULTI_INSTANCES, *PPERF_MULTI_INSTANCES;

/* The name follows, with its zero. */
typedef struct _PERF_INSTANCE_HEADER {
    ULONG Size; /* with name and padding */
    ULONG InstanceId;
} PERF_INSTANCE_HEADER, *PPERF_INSTANCE_HEADER;

/* The value follows. */
typedef struct _PERF_COUNTER_DATA {
    DWORD dwDataSize; /* 8; other consumers may meet 4; 0 where the value cannot be read now */
    DWORD dwSize;     /* with value and padding */
} PERF_COUNTER_DATA, *PPERF_COUNTER_DATA;

/* ---- Consumers ---- */

/*
 * The machine is a name, or null for this one; others answer ERROR_BAD_NETPATH.
 *
 * Sizes: a function that fills a buffer writes the size that it filled to "actual". Where the buffer is too
 * small it returns ERROR_NOT_ENOUGH_MEMORY, and "actual" is what is needed: call again, more than once, since
 * what there is may grow. With size 0 the buffer may be null.
 */

/* GUIDs of all counter sets. Sizes are numbers of GUIDs. */
ULONG WINAPI PerfEnumerateCounterSet(LPCWSTR szMachine, LPGUID pCounterSetIds, DWORD cCounterSetIds,
                                     LPDWORD pcCounterSetIdsActual);

/* What is registered of a set. requestLangId: a language (0: the default), or a counter's id. */
ULONG WINAPI PerfQueryCounterSetRegistrationInfo(LPCWSTR szMachine, LPCGUID pCounterSetId,
                                                 PerfRegInfoType requestCode, DWORD requestLangId,
                                                 LPBYTE pbRegInfo, DWORD cbRegInfo, LPDWORD pcbRegInfoActual);

/* The instances that a set has now: PERF_INSTANCE_HEADER after PERF_INSTANCE_HEADER. */
ULONG WINAPI PerfEnumerateCounterSetInstances(LPCWSTR szMachine, LPCGUID pCounterSetId,
                                              PPERF_INSTANCE_HEADER pInstances, DWORD cbInstances,
                                              LPDWORD pcbInstancesActual);

/* A handle without queries. */
ULONG WINAPI PerfOpenQueryHandle(LPCWSTR szMachine, HANDLE *phQuery);

/* Ends a handle. A second time is ERROR_INVALID_HANDLE and harmless. */
ULONG WINAPI PerfCloseQueryHandle(HANDLE hQuery);

/*
 * Adds queries, and deletes them. The call succeeds where the identifiers could be told apart; each has a
 * Status of its own: look at both.
 */
ULONG WINAPI PerfAddCounters(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters);
ULONG WINAPI PerfDeleteCounters(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters);

/* The queries of a handle, each with the Index of its result. */
ULONG WINAPI PerfQueryCounterInfo(HANDLE hQuery, PPERF_COUNTER_IDENTIFIER pCounters, DWORD cbCounters,
                                  LPDWORD pcbCountersActual);

/* Collects all queries of a handle at one moment. A call that finds the buffer too small collects nothing new
   for the next one of the handle: that gets what was collected where it fits. */
ULONG WINAPI PerfQueryCounterData(HANDLE hQuery, PPERF_DATA_HEADER pCounterBlock, DWORD cbCounterBlock,
                                  LPDWORD pcbCounterBlockActual);

/* ---- What providers hand over ---- */

/* Description of a set: NumCounters x PERF_COUNTER_INFO follow. */
typedef struct _PERF_COUNTERSET_INFO {
    GUID CounterSetGuid;
    GUID ProviderGuid;
    ULONG NumCounters;
    ULONG InstanceType; /* PERF_COUNTERSET_* */
} PERF_COUNTERSET_INFO, *PPERF_COUNTERSET_INFO;

typedef struct _PERF_COUNTER_INFO {
    ULONG CounterId;
    ULONG Type;       /* winperf.h */
    ULONGLONG Attrib; /* PERF_ATTRIB_* */
    ULONG Size;       /* not looked at: the library lays the values out */
    ULONG DetailLevel;
    LONG Scale;
    ULONG Offset; /* not looked at */
} PERF_COUNTER_INFO, *PPERF_COUNTER_INFO;

/* An instance: its values follow, 8 bytes each, then its name. Memory of the library. */
typedef struct _PERF_COUNTERSET_INSTANCE {
    GUID CounterSetGuid;
    ULONG dwSize;
    ULONG InstanceId;
    ULONG InstanceNameOffset; /* from the start of this structure */
    ULONG InstanceNameSize;   /* in bytes, with the zero */
} PERF_COUNTERSET_INSTANCE, *PPERF_COUNTERSET_INSTANCE;

/* Whom a request to a provider concerns. */
typedef struct _PERF_COUNTER_IDENTITY {
    GUID CounterSetGuid;
    ULONG BufferSize;
    ULONG CounterId;
    ULONG InstanceId;
    ULONG MachineOffset; /* of the machine's name, from the start of this structure */
    ULONG NameOffset;    /* of the instance's name */
    ULONG Reserved;
} PERF_COUNTER_IDENTITY, *PPERF_COUNTER_IDENTITY;

/* Requests to a provider. */
#define PERF_ADD_COUNTER           1 /* PERF_COUNTER_IDENTITY */
#define PERF_REMOVE_COUNTER        2 /* PERF_COUNTER_IDENTITY */
#define PERF_ENUM_INSTANCES        3 /* the machine's name */
#define PERF_COLLECT_START         5 /* the machine's name: last chance to refresh values */
#define PERF_COLLECT_END           6 /* the machine's name */
#define PERF_FILTER                9 /* the machine's name */

/* A provider's callback. It has about a second; it runs on a thread of the library. */
typedef ULONG(WINAPI *PERFLIBREQUEST)(ULONG RequestCode, PVOID Buffer, ULONG BufferSize);

typedef LPVOID(__cdecl *PERF_MEM_ALLOC)(SIZE_T AllocSize, LPVOID pContext);
typedef void(__cdecl *PERF_MEM_FREE)(LPVOID pBuffer, LPVOID pContext);

typedef struct _PROVIDER_CONTEXT {
    DWORD ContextSize; /* sizeof(PERF_PROVIDER_CONTEXT) */
    DWORD Reserved;
    PERFLIBREQUEST ControlCallback;  /* or null */
    PERF_MEM_ALLOC MemAllocRoutine;  /* not called: memory is the library's */
    PERF_MEM_FREE MemFreeRoutine;    /* not called */
    LPVOID pMemContext;
} PERF_PROVIDER_CONTEXT, *PPERF_PROVIDER_CONTEXT;

/* ---- Providers ---- */

/* Starts a provider. One GUID may be started more than once, with a handle each. */
ULONG WINAPI PerfStartProvider(LPGUID ProviderGuid, PERFLIBREQUEST ControlCallback, HANDLE *phProvider);
ULONG WINAPI PerfStartProviderEx(LPGUID ProviderGuid, PPERF_PROVIDER_CONTEXT ProviderContext,
                                 HANDLE *phProvider);

/* Ends a provider, its sets and instances. */
ULONG WINAPI PerfStopProvider(HANDLE ProviderHandle);

/* Declares a counter set of a provider. TemplateSize: bytes of the template with its counters. */
ULONG WINAPI PerfSetCounterSetInfo(HANDLE ProviderHandle, PPERF_COUNTERSET_INFO Template, ULONG TemplateSize);

/* Makes an instance; null on failure, with the cause in TachoGetLastError(). A name is needed in every set. */
PPERF_COUNTERSET_INSTANCE WINAPI PerfCreateInstance(HANDLE ProviderHandle, LPCGUID CounterSetGuid,
                                                    PCWSTR Name, ULONG Id);

/* The instance of this name and id; null where there is none, with the cause in TachoGetLastError(). */
PPERF_COUNTERSET_INSTANCE WINAPI PerfQueryInstance(HANDLE ProviderHandle, LPCGUID CounterSetGuid, PCWSTR Name,
                                                   ULONG Id);

ULONG WINAPI PerfDeleteInstance(HANDLE Provider, PPERF_COUNTERSET_INSTANCE InstanceBlock);

/* Values. Each is atomic; sums wrap. */
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
 * Where a counter by reference has its value: 8 bytes for a type of 64 bits, else 4. It is read at each collection, so it has
 * to stay there until PerfDeleteInstance or PerfStopProvider returns.
 */
ULONG WINAPI PerfSetCounterRefValue(HANDLE Provider, PPERF_COUNTERSET_INSTANCE Instance, ULONG CounterId,
                                    PVOID Address);

/* ---- Of Tachograph ---- */

/* The code of the calling thread's last failed PerfCreateInstance or PerfQueryInstance; windows.h's GetLastError. */
DWORD TachoGetLastError(void);
void TachoSetLastError(DWORD code);

/* The text of the calling thread's last error: the cause and what to do. Good until the thread's next error. */
const char *TachoLastErrorText(void);

#ifdef __cplusplus
}
#endif

#endif
