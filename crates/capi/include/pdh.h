/*
 * pdh.h: the Performance Data Helper (PDH): counters by path, of this machine, of other machines and of logs.
 *
 * Names, structures and status codes are those of Windows. Link with -ltachograph (pkg-config --cflags --libs
 * tachograph). C11 and later, C++11 and later. docs/c-interface.md has an example and lists the differences from
 * Windows; see also pdh(3).
 *
 * - Functions return 0 or a status of pdhmsg.h. Common ones: PDH_INVALID_ARGUMENT for a null pointer or an invalid
 *   argument, PDH_INVALID_HANDLE for a handle that is closed, of another kind or invalid. TachoLastErrorText() of
 *   perfutil.h describes the calling thread's last error.
 * - All functions are thread-safe. Calls for one query are serialized.
 * - W functions use UTF-16 in 16-bit characters, regardless of the program's WCHAR; A functions use UTF-8. Names
 *   without a suffix are macros: W if UNICODE is defined, otherwise A.
 * - Buffers: the size argument is the capacity on entry and the used size on return. If the buffer is too small,
 *   the function returns PDH_MORE_DATA and the required size, and writes nothing else. A buffer of size 0 may be
 *   null. Sizes of arrays and structures are in bytes, including the texts that they point to, which follow them in
 *   the same buffer. Sizes of strings and lists are in characters, including the terminating NULs.
 * - A list is a sequence of NUL-terminated strings, followed by one more NUL.
 * - If a call fails to create a handle, the handle is null.
 */
#ifndef TACHO_PDH_H
#define TACHO_PDH_H

#include "pdhmsg.h"
#include "tachograph/types.h"
#include "winperf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Constants ---- */

/* A status: 0, or a code of pdhmsg.h. As on Windows, it is signed and the codes are unsigned. */
typedef LONG PDH_STATUS;

#define PDH_FUNCTION PDH_STATUS

/* Marks anonymous structures, which standard C++ lacks but its compilers support. */
#define TACHO_ANONYMOUS __extension__

#define PDH_CVERSION_WIN40 ((DWORD)0x0400)
#define PDH_CVERSION_WIN50 ((DWORD)0x0500)
/* The version of the interface, which PdhGetDllVersion returns. */
#define PDH_VERSION ((DWORD)(PDH_CVERSION_WIN50 + 0x0003))

#define IsSuccessSeverity(ErrorCode)       ((((DWORD)(ErrorCode)) >> 30) == 0)
#define IsInformationalSeverity(ErrorCode) ((((DWORD)(ErrorCode)) >> 30) == 1)
#define IsWarningSeverity(ErrorCode)       ((((DWORD)(ErrorCode)) >> 30) == 2)
#define IsErrorSeverity(ErrorCode)         ((((DWORD)(ErrorCode)) >> 30) == 3)

/* Lengths in characters, including the terminating NUL. */
#define MAX_COUNTER_PATH        256
#define PDH_MAX_COUNTER_NAME    1024
#define PDH_MAX_INSTANCE_NAME   1024
#define PDH_MAX_COUNTER_PATH    2048
#define PDH_MAX_DATASOURCE_PATH 1024

typedef HANDLE PDH_HCOUNTER;
typedef HANDLE PDH_HQUERY;
typedef HANDLE PDH_HLOG;
typedef PDH_HCOUNTER HCOUNTER;
typedef PDH_HQUERY HQUERY;
#ifndef _LMHLOGDEFINED_
#define _LMHLOGDEFINED_
typedef PDH_HLOG HLOG;
#endif

/* The data source with the counters of this machine. */
#define H_REALTIME_DATASOURCE NULL
/* Not supported: Linux has no WMI. */
#define H_WBEM_DATASOURCE ((HANDLE)(intptr_t)-1)

/* Formats of values: one of LONG, DOUBLE and LARGE, combined with any of NOSCALE, 1000 and NOCAP100. */
#define PDH_FMT_RAW      ((DWORD)0x00000010)
#define PDH_FMT_ANSI     ((DWORD)0x00000020)
#define PDH_FMT_UNICODE  ((DWORD)0x00000040)
#define PDH_FMT_LONG     ((DWORD)0x00000100) /* longValue: 32 bits, truncated, saturated */
#define PDH_FMT_DOUBLE   ((DWORD)0x00000200) /* doubleValue */
#define PDH_FMT_LARGE    ((DWORD)0x00000400) /* largeValue: 64 bits, truncated, saturated */
#define PDH_FMT_NOSCALE  ((DWORD)0x00001000) /* without the factor of PdhSetCounterScaleFactor */
#define PDH_FMT_1000     ((DWORD)0x00002000) /* multiplied by 1000 */
#define PDH_FMT_NODATA   ((DWORD)0x00004000)
#define PDH_FMT_NOCAP100 ((DWORD)0x00008000) /* percentages above 100 are not reduced to 100 */

#define PERF_DETAIL_COSTLY   ((DWORD)0x00010000)
#define PERF_DETAIL_STANDARD ((DWORD)0x0000FFFF)

/* The range of powers of ten for PdhSetCounterScaleFactor. */
#define PDH_MAX_SCALE 7L
#define PDH_MIN_SCALE (-7L)

/* Flags of PdhEnumObjectItems. */
#define PDH_OBJECT_HAS_INSTANCES ((DWORD)0x00000001)

/* Flags of PdhExpandWildCardPath. */
#define PDH_NOEXPANDCOUNTERS  1
#define PDH_NOEXPANDINSTANCES 2
#define PDH_REFRESHCOUNTERS   4

/* Flags of PdhMakeCounterPath and PdhParseCounterPath. */
#define PDH_PATH_WBEM_RESULT 1
#define PDH_PATH_WBEM_INPUT  2

/* Access flags of PdhOpenLog: one of READ, WRITE, UPDATE; one of CREATE_NEW to OPEN_EXISTING; any of OPT. */
#define PDH_LOG_READ_ACCESS    ((DWORD)0x00010000)
#define PDH_LOG_WRITE_ACCESS   ((DWORD)0x00020000)
#define PDH_LOG_UPDATE_ACCESS  ((DWORD)0x00040000)
#define PDH_LOG_ACCESS_MASK    ((DWORD)0x000F0000)
#define PDH_LOG_CREATE_NEW     ((DWORD)0x00000001)
#define PDH_LOG_CREATE_ALWAYS  ((DWORD)0x00000002)
#define PDH_LOG_OPEN_ALWAYS    ((DWORD)0x00000003)
#define PDH_LOG_OPEN_EXISTING  ((DWORD)0x00000004)
#define PDH_LOG_CREATE_MASK    ((DWORD)0x0000000F)
#define PDH_LOG_OPT_USER_STRING ((DWORD)0x01000000)
#define PDH_LOG_OPT_CIRCULAR    ((DWORD)0x02000000)
#define PDH_LOG_OPT_MAX_IS_BYTES ((DWORD)0x04000000)
#define PDH_LOG_OPT_APPEND      ((DWORD)0x08000000)
#define PDH_LOG_OPT_MASK        ((DWORD)0x0F000000)

/* Types of logs. BINARY (BLG), CSV and TSV are supported. */
#define PDH_LOG_TYPE_UNDEFINED     0
#define PDH_LOG_TYPE_CSV           1
#define PDH_LOG_TYPE_TSV           2
#define PDH_LOG_TYPE_RETIRED_BIN   3
#define PDH_LOG_TYPE_TRACE_KERNEL  4
#define PDH_LOG_TYPE_TRACE_GENERIC 5
#define PDH_LOG_TYPE_PERFMON       6
#define PDH_LOG_TYPE_SQL           7
#define PDH_LOG_TYPE_BINARY        8

/* Flags of PdhCloseLog. CLOSE_QUERY closes the log's query too. */
#define PDH_FLAGS_CLOSE_QUERY ((DWORD)0x00000001)
#define PDH_FLAGS_FILE_BROWSER_ONLY ((DWORD)0x00000001)

/* Sources of PdhSetDefaultRealTimeDataSource. */
#define DATA_SOURCE_REGISTRY ((DWORD)0x00000001)
#define DATA_SOURCE_LOGFILE  ((DWORD)0x00000002)
#define DATA_SOURCE_WBEM     ((DWORD)0x00000004)

/* ---- Structures ---- */

/* A raw value of a counter. */
typedef struct _PDH_RAW_COUNTER {
    volatile DWORD CStatus;
    FILETIME TimeStamp; /* local time of the sample */
    LONGLONG FirstValue;
    LONGLONG SecondValue; /* the base, or a time stamp; 0 for types that need only one number */
    DWORD MultiCount;     /* the multiplier of multi timers */
} PDH_RAW_COUNTER, *PPDH_RAW_COUNTER;

typedef struct _PDH_RAW_COUNTER_ITEM_A {
    LPSTR szName;
    PDH_RAW_COUNTER RawValue;
} PDH_RAW_COUNTER_ITEM_A, *PPDH_RAW_COUNTER_ITEM_A;

typedef struct _PDH_RAW_COUNTER_ITEM_W {
    LPWSTR szName;
    PDH_RAW_COUNTER RawValue;
} PDH_RAW_COUNTER_ITEM_W, *PPDH_RAW_COUNTER_ITEM_W;

/* A formatted value. The format determines which member of the union is set. */
typedef struct _PDH_FMT_COUNTERVALUE {
    DWORD CStatus;
    TACHO_ANONYMOUS union {
        LONG longValue;
        double doubleValue;
        LONGLONG largeValue;
        LPCSTR AnsiStringValue;
        LPCWSTR WideStringValue;
    };
} PDH_FMT_COUNTERVALUE, *PPDH_FMT_COUNTERVALUE;

typedef struct _PDH_FMT_COUNTERVALUE_ITEM_A {
    LPSTR szName;
    PDH_FMT_COUNTERVALUE FmtValue;
} PDH_FMT_COUNTERVALUE_ITEM_A, *PPDH_FMT_COUNTERVALUE_ITEM_A;

typedef struct _PDH_FMT_COUNTERVALUE_ITEM_W {
    LPWSTR szName;
    PDH_FMT_COUNTERVALUE FmtValue;
} PDH_FMT_COUNTERVALUE_ITEM_W, *PPDH_FMT_COUNTERVALUE_ITEM_W;

typedef struct _PDH_STATISTICS {
    DWORD dwFormat; /* PDH_FMT_* */
    DWORD count;    /* number of raw values that were passed, including invalid ones */
    PDH_FMT_COUNTERVALUE min;
    PDH_FMT_COUNTERVALUE max;
    PDH_FMT_COUNTERVALUE mean;
} PDH_STATISTICS, *PPDH_STATISTICS;

/*
 * The parts of a counter path. Absent parts are null. szMachineName includes its two backslashes. dwInstanceIndex is
 * the n of name#n; PdhMakeCounterPath treats (DWORD)-1 as 0.
 */
typedef struct _PDH_COUNTER_PATH_ELEMENTS_A {
    LPSTR szMachineName;
    LPSTR szObjectName;
    LPSTR szInstanceName;
    LPSTR szParentInstance;
    DWORD dwInstanceIndex;
    LPSTR szCounterName;
} PDH_COUNTER_PATH_ELEMENTS_A, *PPDH_COUNTER_PATH_ELEMENTS_A;

typedef struct _PDH_COUNTER_PATH_ELEMENTS_W {
    LPWSTR szMachineName;
    LPWSTR szObjectName;
    LPWSTR szInstanceName;
    LPWSTR szParentInstance;
    DWORD dwInstanceIndex;
    LPWSTR szCounterName;
} PDH_COUNTER_PATH_ELEMENTS_W, *PPDH_COUNTER_PATH_ELEMENTS_W;

typedef struct _PDH_DATA_ITEM_PATH_ELEMENTS_A {
    LPSTR szMachineName;
    GUID ObjectGUID;
    DWORD dwItemId;
    LPSTR szInstanceName;
} PDH_DATA_ITEM_PATH_ELEMENTS_A, *PPDH_DATA_ITEM_PATH_ELEMENTS_A;

typedef struct _PDH_DATA_ITEM_PATH_ELEMENTS_W {
    LPWSTR szMachineName;
    GUID ObjectGUID;
    DWORD dwItemId;
    LPWSTR szInstanceName;
} PDH_DATA_ITEM_PATH_ELEMENTS_W, *PPDH_DATA_ITEM_PATH_ELEMENTS_W;

typedef struct _PDH_COUNTER_INFO_A {
    DWORD dwLength;
    DWORD dwType; /* a PERF_* type of winperf.h */
    DWORD CVersion;
    DWORD CStatus;
    LONG lScale;
    LONG lDefaultScale;
    DWORD_PTR dwUserData;
    DWORD_PTR dwQueryUserData;
    LPSTR szFullPath;
    TACHO_ANONYMOUS union {
        PDH_DATA_ITEM_PATH_ELEMENTS_A DataItemPath;
        PDH_COUNTER_PATH_ELEMENTS_A CounterPath;
        TACHO_ANONYMOUS struct {
            LPSTR szMachineName;
            LPSTR szObjectName;
            LPSTR szInstanceName;
            LPSTR szParentInstance;
            DWORD dwInstanceIndex;
            LPSTR szCounterName;
        };
    };
    LPSTR szExplainText;
    DWORD DataBuffer[1];
} PDH_COUNTER_INFO_A, *PPDH_COUNTER_INFO_A;

typedef struct _PDH_COUNTER_INFO_W {
    DWORD dwLength;
    DWORD dwType;
    DWORD CVersion;
    DWORD CStatus;
    LONG lScale;
    LONG lDefaultScale;
    DWORD_PTR dwUserData;
    DWORD_PTR dwQueryUserData;
    LPWSTR szFullPath;
    TACHO_ANONYMOUS union {
        PDH_DATA_ITEM_PATH_ELEMENTS_W DataItemPath;
        PDH_COUNTER_PATH_ELEMENTS_W CounterPath;
        TACHO_ANONYMOUS struct {
            LPWSTR szMachineName;
            LPWSTR szObjectName;
            LPWSTR szInstanceName;
            LPWSTR szParentInstance;
            DWORD dwInstanceIndex;
            LPWSTR szCounterName;
        };
    };
    LPWSTR szExplainText;
    DWORD DataBuffer[1];
} PDH_COUNTER_INFO_W, *PPDH_COUNTER_INFO_W;

/* A time range in 100 ns since 1601-01-01, local time, and the number of samples in it. */
typedef struct _PDH_TIME_INFO {
    LONGLONG StartTime;
    LONGLONG EndTime;
    DWORD SampleCount;
} PDH_TIME_INFO, *PPDH_TIME_INFO;

/* A record of a log as it is stored in the file. */
typedef struct _PDH_RAW_LOG_RECORD {
    DWORD dwStructureSize;
    DWORD dwRecordType; /* PDH_LOG_TYPE_* */
    DWORD dwItems;      /* number of bytes in RawBytes */
    BYTE RawBytes[1];
} PDH_RAW_LOG_RECORD, *PPDH_RAW_LOG_RECORD;

/* ---- Queries ---- */

/* Returns PDH_VERSION. */
PDH_FUNCTION PdhGetDllVersion(LPDWORD lpdwVersion);

/*
 * Opens a query over machines (szDataSource is null) or over a log (its file name). dwUserData is returned by
 * PdhGetCounterInfo. For several logs see PdhBindInputDataSource.
 */
PDH_FUNCTION PdhOpenQueryW(LPCWSTR szDataSource, DWORD_PTR dwUserData, PDH_HQUERY *phQuery);
PDH_FUNCTION PdhOpenQueryA(LPCSTR szDataSource, DWORD_PTR dwUserData, PDH_HQUERY *phQuery);

/* Same as PdhOpenQuery, over a data source of PdhBindInputDataSource. */
PDH_FUNCTION PdhOpenQueryH(PDH_HLOG hDataSource, DWORD_PTR dwUserData, PDH_HQUERY *phQuery);

/* Closes a query and its counters, and stops its thread. */
PDH_FUNCTION PdhCloseQuery(PDH_HQUERY hQuery);

/* Returns TRUE if the query is over machines; FALSE if it is over logs or the handle is invalid. */
BOOL PdhIsRealTimeQuery(PDH_HQUERY hQuery);

/*
 * Adds a counter. The instance may contain the wildcards * and ?, which are expanded at each collection; to expand
 * set and counter, see PdhExpandWildCardPath. Over a machine, an instance that does not exist yet is not an
 * error. A path without a machine means this machine; \\name\set(instance)\counter means another one, which must
 * answer now. PDH_CSTATUS_BAD_COUNTERNAME: the path is malformed. PDH_CSTATUS_NO_MACHINE,
 * PDH_CANNOT_CONNECT_MACHINE: see PdhConnectMachine. PDH_CSTATUS_NO_OBJECT, PDH_CSTATUS_NO_COUNTER,
 * PDH_CSTATUS_NO_INSTANCE: unknown set, counter or instance.
 */
PDH_FUNCTION PdhAddCounterW(PDH_HQUERY hQuery, LPCWSTR szFullCounterPath, DWORD_PTR dwUserData,
                            PDH_HCOUNTER *phCounter);
PDH_FUNCTION PdhAddCounterA(PDH_HQUERY hQuery, LPCSTR szFullCounterPath, DWORD_PTR dwUserData,
                            PDH_HCOUNTER *phCounter);

/* The same, with English names of sets and counters. */
PDH_FUNCTION PdhAddEnglishCounterW(PDH_HQUERY hQuery, LPCWSTR szFullCounterPath, DWORD_PTR dwUserData,
                                   PDH_HCOUNTER *phCounter);
PDH_FUNCTION PdhAddEnglishCounterA(PDH_HQUERY hQuery, LPCSTR szFullCounterPath, DWORD_PTR dwUserData,
                                   PDH_HCOUNTER *phCounter);

/* Removes a counter from its query and closes its handle. */
PDH_FUNCTION PdhRemoveCounter(PDH_HCOUNTER hCounter);

/*
 * Samples all counters of the query at one moment, or reads the next sample of the log. PDH_NO_MORE_DATA: the log
 * has no more samples. PDH_NO_DATA: nothing could be collected.
 */
PDH_FUNCTION PdhCollectQueryData(PDH_HQUERY hQuery);

/* The same; returns the local time of the sample in 100 ns since 1601-01-01. */
PDH_FUNCTION PdhCollectQueryDataWithTime(PDH_HQUERY hQuery, LONGLONG *pllTimeStamp);

/*
 * Starts a thread of the library that collects every dwIntervalTime seconds (at least 1) and sets the event after
 * each sample, until the query is closed. Another call changes the interval and the event. The event comes from
 * CreateEvent of the compatibility folder, or is an eventfd. The library duplicates it, so the program may close it at
 * any time.
 */
PDH_FUNCTION PdhCollectQueryDataEx(PDH_HQUERY hQuery, DWORD dwIntervalTime, HANDLE hNewDataEvent);

/* The event handle of an eventfd. */
#define TACHO_EVENT_OF_FD(fd) ((HANDLE)((uintptr_t)(fd) << 2 | 1))

/* Restricts a query over logs to the samples in a time range, and rewinds it to the first one. */
PDH_FUNCTION PdhSetQueryTimeRange(PDH_HQUERY hQuery, PPDH_TIME_INFO pInfo);

/* Succeeds for DATA_SOURCE_REGISTRY, the only real-time data source. */
PDH_FUNCTION PdhSetDefaultRealTimeDataSource(DWORD dwDataSourceId);

/* ---- Values ---- */

/*
 * Formats the last sample of a counter. lpdwType, which may be null, receives the counter type. Most types need two
 * samples: before the second, the function returns PDH_INVALID_DATA. PDH_INVALID_ARGUMENT: the path contains
 * wildcards. PDH_INVALID_INSTANCE: the path has no instance, and several programs publish the set.
 */
PDH_FUNCTION PdhGetFormattedCounterValue(PDH_HCOUNTER hCounter, DWORD dwFormat, LPDWORD lpdwType,
                                         PPDH_FMT_COUNTERVALUE pValue);

/*
 * Formats the last sample of all instances that the counter's path selects. Size in bytes. Each value has a status of
 * its own; if no instance has a value, the function returns the status of the first.
 */
PDH_FUNCTION PdhGetFormattedCounterArrayW(PDH_HCOUNTER hCounter, DWORD dwFormat, LPDWORD lpdwBufferSize,
                                          LPDWORD lpdwItemCount, PPDH_FMT_COUNTERVALUE_ITEM_W ItemBuffer);
PDH_FUNCTION PdhGetFormattedCounterArrayA(PDH_HCOUNTER hCounter, DWORD dwFormat, LPDWORD lpdwBufferSize,
                                          LPDWORD lpdwItemCount, PPDH_FMT_COUNTERVALUE_ITEM_A ItemBuffer);

/* Returns the raw value of a counter's last sample. lpdwType, which may be null, receives the counter type. */
PDH_FUNCTION PdhGetRawCounterValue(PDH_HCOUNTER hCounter, LPDWORD lpdwType, PPDH_RAW_COUNTER pValue);

/* Returns the raw values of all instances that the counter's path selects. Size in bytes. */
PDH_FUNCTION PdhGetRawCounterArrayW(PDH_HCOUNTER hCounter, LPDWORD lpdwBufferSize, LPDWORD lpdwItemCount,
                                    PPDH_RAW_COUNTER_ITEM_W ItemBuffer);
PDH_FUNCTION PdhGetRawCounterArrayA(PDH_HCOUNTER hCounter, LPDWORD lpdwBufferSize, LPDWORD lpdwItemCount,
                                    PPDH_RAW_COUNTER_ITEM_A ItemBuffer);

/*
 * Formats raw values by the type of a counter. rawValue1 is the newer one; rawValue2 may be null for types that need
 * only one.
 */
PDH_FUNCTION PdhCalculateCounterFromRawValue(PDH_HCOUNTER hCounter, DWORD dwFormat,
                                             PPDH_RAW_COUNTER rawValue1, PPDH_RAW_COUNTER rawValue2,
                                             PPDH_FMT_COUNTERVALUE fmtValue);

/*
 * Formats raw values by a counter type. pTimeBase, ticks per second, may be null for types that do not use it;
 * pRawValue1 is the newer value, pRawValue2 may be null for types that need only one.
 */
PDH_FUNCTION PdhFormatFromRawValue(DWORD dwCounterType, DWORD dwFormat, LONGLONG *pTimeBase,
                                   PPDH_RAW_COUNTER pRawValue1, PPDH_RAW_COUNTER pRawValue2,
                                   PPDH_FMT_COUNTERVALUE pFmtValue);

/*
 * Computes minimum, maximum and mean of a ring buffer of dwNumEntries raw values, of which the oldest is at index
 * dwFirstEntry. The mean is computed from the first and the last raw value by the formula of the counter type, not
 * from formatted values.
 */
PDH_FUNCTION PdhComputeCounterStatistics(PDH_HCOUNTER hCounter, DWORD dwFormat, DWORD dwFirstEntry,
                                         DWORD dwNumEntries, PPDH_RAW_COUNTER lpRawValueArray,
                                         PPDH_STATISTICS data);

/* Returns the path, type, scale and user data of a counter, and its help text if requested. Size in bytes. */
PDH_FUNCTION PdhGetCounterInfoW(PDH_HCOUNTER hCounter, BYTE bRetrieveExplainText, LPDWORD pdwBufferSize,
                                PPDH_COUNTER_INFO_W lpBuffer);
PDH_FUNCTION PdhGetCounterInfoA(PDH_HCOUNTER hCounter, BYTE bRetrieveExplainText, LPDWORD pdwBufferSize,
                                PPDH_COUNTER_INFO_A lpBuffer);

/* Multiplies the formatted values of a counter by 10^lFactor; PDH_MIN_SCALE to PDH_MAX_SCALE. */
PDH_FUNCTION PdhSetCounterScaleFactor(PDH_HCOUNTER hCounter, LONG lFactor);

/* Returns the ticks per second of the counter's clock. */
PDH_FUNCTION PdhGetCounterTimeBase(PDH_HCOUNTER hCounter, LONGLONG *pTimeBase);

/* ---- Names. Sizes in characters, including the terminating NULs, unless noted otherwise ---- */

/* Succeeds if this machine, or the data source, has the counter. */
PDH_FUNCTION PdhValidatePathW(LPCWSTR szFullPathBuffer);
PDH_FUNCTION PdhValidatePathA(LPCSTR szFullPathBuffer);

PDH_FUNCTION PdhValidatePathExW(PDH_HLOG hDataSource, LPCWSTR szFullPathBuffer);
PDH_FUNCTION PdhValidatePathExA(PDH_HLOG hDataSource, LPCSTR szFullPathBuffer);

/* Splits a path into its parts. dwFlags must be 0. Size in bytes. */
PDH_FUNCTION PdhParseCounterPathW(LPCWSTR szFullPathBuffer,
                                  PPDH_COUNTER_PATH_ELEMENTS_W pCounterPathElements, LPDWORD pdwBufferSize,
                                  DWORD dwFlags);
PDH_FUNCTION PdhParseCounterPathA(LPCSTR szFullPathBuffer,
                                  PPDH_COUNTER_PATH_ELEMENTS_A pCounterPathElements, LPDWORD pdwBufferSize,
                                  DWORD dwFlags);

/* Combines parts into a path. dwFlags must be 0. An empty instance or parent is treated as absent. */
PDH_FUNCTION PdhMakeCounterPathW(PPDH_COUNTER_PATH_ELEMENTS_W pCounterPathElements, LPWSTR szFullPathBuffer,
                                 LPDWORD pcchBufferSize, DWORD dwFlags);
PDH_FUNCTION PdhMakeCounterPathA(PPDH_COUNTER_PATH_ELEMENTS_A pCounterPathElements, LPSTR szFullPathBuffer,
                                 LPDWORD pcchBufferSize, DWORD dwFlags);

/* Splits parent/instance#index into its parts. A name that fits is written even if the other does not. */
PDH_FUNCTION PdhParseInstanceNameW(LPCWSTR szInstanceString, LPWSTR szInstanceName,
                                   LPDWORD pcchInstanceNameLength, LPWSTR szParentName,
                                   LPDWORD pcchParentNameLength, LPDWORD lpIndex);
PDH_FUNCTION PdhParseInstanceNameA(LPCSTR szInstanceString, LPSTR szInstanceName,
                                   LPDWORD pcchInstanceNameLength, LPSTR szParentName,
                                   LPDWORD pcchParentNameLength, LPDWORD lpIndex);

/*
 * Lists the counter paths that match a path with wildcards in set, instance or counter. dwFlags combines
 * PDH_NOEXPANDCOUNTERS, PDH_NOEXPANDINSTANCES and PDH_REFRESHCOUNTERS, which has no effect.
 */
PDH_FUNCTION PdhExpandWildCardPathW(LPCWSTR szDataSource, LPCWSTR szWildCardPath,
                                    PZZWSTR mszExpandedPathList, LPDWORD pcchPathListLength, DWORD dwFlags);
PDH_FUNCTION PdhExpandWildCardPathA(LPCSTR szDataSource, LPCSTR szWildCardPath, PZZSTR mszExpandedPathList,
                                    LPDWORD pcchPathListLength, DWORD dwFlags);

PDH_FUNCTION PdhExpandWildCardPathHW(PDH_HLOG hDataSource, LPCWSTR szWildCardPath,
                                     PZZWSTR mszExpandedPathList, LPDWORD pcchPathListLength,
                                     DWORD dwFlags);
PDH_FUNCTION PdhExpandWildCardPathHA(PDH_HLOG hDataSource, LPCSTR szWildCardPath,
                                     PZZSTR mszExpandedPathList, LPDWORD pcchPathListLength, DWORD dwFlags);

/* The same over this machine, without flags. */
PDH_FUNCTION PdhExpandCounterPathW(LPCWSTR szWildCardPath, PZZWSTR mszExpandedPathList,
                                   LPDWORD pcchPathListLength);
PDH_FUNCTION PdhExpandCounterPathA(LPCSTR szWildCardPath, PZZSTR mszExpandedPathList,
                                   LPDWORD pcchPathListLength);

/*
 * Connects to another machine, which must run 'tacho agent' and be listed in machines.toml. Succeeds for this machine.
 * PDH_CSTATUS_NO_MACHINE: the machine is unknown, or does not answer. PDH_CANNOT_CONNECT_MACHINE: it refuses this
 * program, or has another certificate. TachoLastErrorText() says what to do. Other functions connect by themselves.
 */
PDH_FUNCTION PdhConnectMachineW(LPCWSTR szMachineName);
PDH_FUNCTION PdhConnectMachineA(LPCSTR szMachineName);

/* Lists the machines of a data source: of a log, or this machine and the other machines that are connected. */
PDH_FUNCTION PdhEnumMachinesW(LPCWSTR szDataSource, PZZWSTR mszMachineList, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhEnumMachinesA(LPCSTR szDataSource, PZZSTR mszMachineList, LPDWORD pcchBufferSize);

PDH_FUNCTION PdhEnumMachinesHW(PDH_HLOG hDataSource, PZZWSTR mszMachineList, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhEnumMachinesHA(PDH_HLOG hDataSource, PZZSTR mszMachineList, LPDWORD pcchBufferSize);

/*
 * Lists the counter sets of a machine up to a level of detail (PERF_DETAIL_*). A null szMachineName means this
 * machine, or all machines of a log. bRefresh is ignored: the list is always current.
 */
PDH_FUNCTION PdhEnumObjectsW(LPCWSTR szDataSource, LPCWSTR szMachineName, PZZWSTR mszObjectList,
                             LPDWORD pcchBufferSize, DWORD dwDetailLevel, BOOL bRefresh);
PDH_FUNCTION PdhEnumObjectsA(LPCSTR szDataSource, LPCSTR szMachineName, PZZSTR mszObjectList,
                             LPDWORD pcchBufferSize, DWORD dwDetailLevel, BOOL bRefresh);

PDH_FUNCTION PdhEnumObjectsHW(PDH_HLOG hDataSource, LPCWSTR szMachineName, PZZWSTR mszObjectList,
                              LPDWORD pcchBufferSize, DWORD dwDetailLevel, BOOL bRefresh);
PDH_FUNCTION PdhEnumObjectsHA(PDH_HLOG hDataSource, LPCSTR szMachineName, PZZSTR mszObjectList,
                              LPDWORD pcchBufferSize, DWORD dwDetailLevel, BOOL bRefresh);

/*
 * Lists the counters and the instances of a set. The length of the instance list is 0 for a set without instances,
 * and 2 (two zeros) for a set that has no instances now. A list that fits is written even if the other does not.
 * dwFlags is ignored.
 */
PDH_FUNCTION PdhEnumObjectItemsW(LPCWSTR szDataSource, LPCWSTR szMachineName, LPCWSTR szObjectName,
                                 PZZWSTR mszCounterList, LPDWORD pcchCounterListLength,
                                 PZZWSTR mszInstanceList, LPDWORD pcchInstanceListLength,
                                 DWORD dwDetailLevel, DWORD dwFlags);
PDH_FUNCTION PdhEnumObjectItemsA(LPCSTR szDataSource, LPCSTR szMachineName, LPCSTR szObjectName,
                                 PZZSTR mszCounterList, LPDWORD pcchCounterListLength,
                                 PZZSTR mszInstanceList, LPDWORD pcchInstanceListLength,
                                 DWORD dwDetailLevel, DWORD dwFlags);

PDH_FUNCTION PdhEnumObjectItemsHW(PDH_HLOG hDataSource, LPCWSTR szMachineName, LPCWSTR szObjectName,
                                  PZZWSTR mszCounterList, LPDWORD pcchCounterListLength,
                                  PZZWSTR mszInstanceList, LPDWORD pcchInstanceListLength,
                                  DWORD dwDetailLevel, DWORD dwFlags);
PDH_FUNCTION PdhEnumObjectItemsHA(PDH_HLOG hDataSource, LPCSTR szMachineName, LPCSTR szObjectName,
                                  PZZSTR mszCounterList, LPDWORD pcchCounterListLength,
                                  PZZSTR mszInstanceList, LPDWORD pcchInstanceListLength,
                                  DWORD dwDetailLevel, DWORD dwFlags);

/* Returns the counter set that a user interface should preselect. */
PDH_FUNCTION PdhGetDefaultPerfObjectW(LPCWSTR szDataSource, LPCWSTR szMachineName,
                                      LPWSTR szDefaultObjectName, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhGetDefaultPerfObjectA(LPCSTR szDataSource, LPCSTR szMachineName, LPSTR szDefaultObjectName,
                                      LPDWORD pcchBufferSize);

PDH_FUNCTION PdhGetDefaultPerfObjectHW(PDH_HLOG hDataSource, LPCWSTR szMachineName,
                                       LPWSTR szDefaultObjectName, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhGetDefaultPerfObjectHA(PDH_HLOG hDataSource, LPCSTR szMachineName,
                                       LPSTR szDefaultObjectName, LPDWORD pcchBufferSize);

/* Returns the counter of a set that a user interface should preselect. */
PDH_FUNCTION PdhGetDefaultPerfCounterW(LPCWSTR szDataSource, LPCWSTR szMachineName, LPCWSTR szObjectName,
                                       LPWSTR szDefaultCounterName, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhGetDefaultPerfCounterA(LPCSTR szDataSource, LPCSTR szMachineName, LPCSTR szObjectName,
                                       LPSTR szDefaultCounterName, LPDWORD pcchBufferSize);

PDH_FUNCTION PdhGetDefaultPerfCounterHW(PDH_HLOG hDataSource, LPCWSTR szMachineName, LPCWSTR szObjectName,
                                        LPWSTR szDefaultCounterName, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhGetDefaultPerfCounterHA(PDH_HLOG hDataSource, LPCSTR szMachineName, LPCSTR szObjectName,
                                        LPSTR szDefaultCounterName, LPDWORD pcchBufferSize);

/* ---- Logs ---- */

/*
 * Combines logs into one data source for the functions that end in H. LogFileNameList is a list of file names, or
 * null for this machine. Close it with PdhCloseLog.
 */
PDH_FUNCTION PdhBindInputDataSourceW(PDH_HLOG *phDataSource, LPCWSTR LogFileNameList);
PDH_FUNCTION PdhBindInputDataSourceA(PDH_HLOG *phDataSource, LPCSTR LogFileNameList);

/*
 * Returns the time range and the number of samples of a data source. *pdwNumEntries becomes 1. Size in bytes. For
 * logs of several machines, the samples of the first machine count. PDH_DATA_SOURCE_IS_REAL_TIME for this machine.
 */
PDH_FUNCTION PdhGetDataSourceTimeRangeW(LPCWSTR szDataSource, LPDWORD pdwNumEntries, PPDH_TIME_INFO pInfo,
                                        LPDWORD pdwBufferSize);
PDH_FUNCTION PdhGetDataSourceTimeRangeA(LPCSTR szDataSource, LPDWORD pdwNumEntries, PPDH_TIME_INFO pInfo,
                                        LPDWORD pdwBufferSize);

PDH_FUNCTION PdhGetDataSourceTimeRangeH(PDH_HLOG hDataSource, LPDWORD pdwNumEntries, PPDH_TIME_INFO pInfo,
                                        LPDWORD pdwBufferSize);

/*
 * Opens a log to write the samples of hQuery, or to read its records (hQuery is null). *lpdwLogType is
 * PDH_LOG_TYPE_BINARY, _CSV or _TSV; for a log that is read, it receives the type found. dwMaxSize is in MB, or in
 * bytes with PDH_LOG_OPT_MAX_IS_BYTES; 0 is unlimited. szUserCaption is accepted but not stored.
 */
PDH_FUNCTION PdhOpenLogW(LPCWSTR szLogFileName, DWORD dwAccessFlags, LPDWORD lpdwLogType, PDH_HQUERY hQuery,
                         DWORD dwMaxSize, LPCWSTR szUserCaption, PDH_HLOG *phLog);
PDH_FUNCTION PdhOpenLogA(LPCSTR szLogFileName, DWORD dwAccessFlags, LPDWORD lpdwLogType, PDH_HQUERY hQuery,
                         DWORD dwMaxSize, LPCSTR szUserCaption, PDH_HLOG *phLog);

/*
 * Collects the log's query and writes the sample. szUserString is null or a comment, which is not stored.
 * PDH_LOG_FILE_TOO_SMALL: the log is full. PDH_INVALID_HANDLE: the log was opened for reading.
 */
PDH_FUNCTION PdhUpdateLogW(PDH_HLOG hLog, LPCWSTR szUserString);
PDH_FUNCTION PdhUpdateLogA(PDH_HLOG hLog, LPCSTR szUserString);

/* Always PDH_UNKNOWN_LOG_FORMAT: logs have no catalog. */
PDH_FUNCTION PdhUpdateLogFileCatalog(PDH_HLOG hLog);

/* Returns the size of a log, or of all logs of a data source, in bytes. */
PDH_FUNCTION PdhGetLogFileSize(PDH_HLOG hLog, LONGLONG *llSize);

/* Returns the record at the given local time, or the last one before it, in the log's format. Size in bytes. */
PDH_FUNCTION PdhReadRawLogRecord(PDH_HLOG hLog, FILETIME ftRecord, PPDH_RAW_LOG_RECORD pRawLogRecord,
                                 LPDWORD pdwBufferLength);

/* Closes a log or data source. dwFlags is 0 or PDH_FLAGS_CLOSE_QUERY. */
PDH_FUNCTION PdhCloseLog(PDH_HLOG hLog, DWORD dwFlags);

#ifdef __cplusplus
}
#endif

/* ---- Names without a suffix ---- */

#ifdef UNICODE
typedef PDH_RAW_COUNTER_ITEM_W PDH_RAW_COUNTER_ITEM;
typedef PPDH_RAW_COUNTER_ITEM_W PPDH_RAW_COUNTER_ITEM;
typedef PDH_FMT_COUNTERVALUE_ITEM_W PDH_FMT_COUNTERVALUE_ITEM;
typedef PPDH_FMT_COUNTERVALUE_ITEM_W PPDH_FMT_COUNTERVALUE_ITEM;
typedef PDH_COUNTER_PATH_ELEMENTS_W PDH_COUNTER_PATH_ELEMENTS;
typedef PPDH_COUNTER_PATH_ELEMENTS_W PPDH_COUNTER_PATH_ELEMENTS;
typedef PDH_DATA_ITEM_PATH_ELEMENTS_W PDH_DATA_ITEM_PATH_ELEMENTS;
typedef PPDH_DATA_ITEM_PATH_ELEMENTS_W PPDH_DATA_ITEM_PATH_ELEMENTS;
typedef PDH_COUNTER_INFO_W PDH_COUNTER_INFO;
typedef PPDH_COUNTER_INFO_W PPDH_COUNTER_INFO;
#define PdhAddCounter PdhAddCounterW
#define PdhAddEnglishCounter PdhAddEnglishCounterW
#define PdhBindInputDataSource PdhBindInputDataSourceW
#define PdhConnectMachine PdhConnectMachineW
#define PdhEnumMachines PdhEnumMachinesW
#define PdhEnumMachinesH PdhEnumMachinesHW
#define PdhEnumObjectItems PdhEnumObjectItemsW
#define PdhEnumObjectItemsH PdhEnumObjectItemsHW
#define PdhEnumObjects PdhEnumObjectsW
#define PdhEnumObjectsH PdhEnumObjectsHW
#define PdhExpandCounterPath PdhExpandCounterPathW
#define PdhExpandWildCardPath PdhExpandWildCardPathW
#define PdhExpandWildCardPathH PdhExpandWildCardPathHW
#define PdhGetCounterInfo PdhGetCounterInfoW
#define PdhGetDataSourceTimeRange PdhGetDataSourceTimeRangeW
#define PdhGetDefaultPerfCounter PdhGetDefaultPerfCounterW
#define PdhGetDefaultPerfCounterH PdhGetDefaultPerfCounterHW
#define PdhGetDefaultPerfObject PdhGetDefaultPerfObjectW
#define PdhGetDefaultPerfObjectH PdhGetDefaultPerfObjectHW
#define PdhGetFormattedCounterArray PdhGetFormattedCounterArrayW
#define PdhGetRawCounterArray PdhGetRawCounterArrayW
#define PdhMakeCounterPath PdhMakeCounterPathW
#define PdhOpenLog PdhOpenLogW
#define PdhOpenQuery PdhOpenQueryW
#define PdhParseCounterPath PdhParseCounterPathW
#define PdhParseInstanceName PdhParseInstanceNameW
#define PdhUpdateLog PdhUpdateLogW
#define PdhValidatePath PdhValidatePathW
#define PdhValidatePathEx PdhValidatePathExW
#else
typedef PDH_RAW_COUNTER_ITEM_A PDH_RAW_COUNTER_ITEM;
typedef PPDH_RAW_COUNTER_ITEM_A PPDH_RAW_COUNTER_ITEM;
typedef PDH_FMT_COUNTERVALUE_ITEM_A PDH_FMT_COUNTERVALUE_ITEM;
typedef PPDH_FMT_COUNTERVALUE_ITEM_A PPDH_FMT_COUNTERVALUE_ITEM;
typedef PDH_COUNTER_PATH_ELEMENTS_A PDH_COUNTER_PATH_ELEMENTS;
typedef PPDH_COUNTER_PATH_ELEMENTS_A PPDH_COUNTER_PATH_ELEMENTS;
typedef PDH_DATA_ITEM_PATH_ELEMENTS_A PDH_DATA_ITEM_PATH_ELEMENTS;
typedef PPDH_DATA_ITEM_PATH_ELEMENTS_A PPDH_DATA_ITEM_PATH_ELEMENTS;
typedef PDH_COUNTER_INFO_A PDH_COUNTER_INFO;
typedef PPDH_COUNTER_INFO_A PPDH_COUNTER_INFO;
#define PdhAddCounter PdhAddCounterA
#define PdhAddEnglishCounter PdhAddEnglishCounterA
#define PdhBindInputDataSource PdhBindInputDataSourceA
#define PdhConnectMachine PdhConnectMachineA
#define PdhEnumMachines PdhEnumMachinesA
#define PdhEnumMachinesH PdhEnumMachinesHA
#define PdhEnumObjectItems PdhEnumObjectItemsA
#define PdhEnumObjectItemsH PdhEnumObjectItemsHA
#define PdhEnumObjects PdhEnumObjectsA
#define PdhEnumObjectsH PdhEnumObjectsHA
#define PdhExpandCounterPath PdhExpandCounterPathA
#define PdhExpandWildCardPath PdhExpandWildCardPathA
#define PdhExpandWildCardPathH PdhExpandWildCardPathHA
#define PdhGetCounterInfo PdhGetCounterInfoA
#define PdhGetDataSourceTimeRange PdhGetDataSourceTimeRangeA
#define PdhGetDefaultPerfCounter PdhGetDefaultPerfCounterA
#define PdhGetDefaultPerfCounterH PdhGetDefaultPerfCounterHA
#define PdhGetDefaultPerfObject PdhGetDefaultPerfObjectA
#define PdhGetDefaultPerfObjectH PdhGetDefaultPerfObjectHA
#define PdhGetFormattedCounterArray PdhGetFormattedCounterArrayA
#define PdhGetRawCounterArray PdhGetRawCounterArrayA
#define PdhMakeCounterPath PdhMakeCounterPathA
#define PdhOpenLog PdhOpenLogA
#define PdhOpenQuery PdhOpenQueryA
#define PdhParseCounterPath PdhParseCounterPathA
#define PdhParseInstanceName PdhParseInstanceNameA
#define PdhUpdateLog PdhUpdateLogA
#define PdhValidatePath PdhValidatePathA
#define PdhValidatePathEx PdhValidatePathExA
#endif

#endif
