/*
 * pdh.h: the Performance Data Helper (PDH) on Linux: counters by path, of this machine and of logs, as Windows
 * programs read them.
 *
 * Names, structures and status codes are Windows'. Link with -ltachograph (pkg-config --cflags --libs
 * tachograph). C11 and later, C++11 and later. docs/c-interface.md has a program and says what differs.
 *
 * - Functions that end in W take texts of 16-bit characters, whatever WCHAR is in the program; those that end
 *   in A take UTF-8. With UNICODE defined, names without a letter are the W functions, else the A functions.
 * - Where the size of a result is not known beforehand, a call with size 0 (and a null buffer) returns
 *   PDH_MORE_DATA and the size needed.
 * - Handles are numbers, never addresses that are followed. Every function may be called from any thread.
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

/* A status: 0, or a code of pdhmsg.h. As on Windows it has a sign, and the codes have none. */
typedef LONG PDH_STATUS;

#define PDH_FUNCTION PDH_STATUS

/* Members of the structure around. C++ has that for unions alone, its compilers for both. */
#define TACHO_ANONYMOUS __extension__

#define PDH_CVERSION_WIN40 ((DWORD)0x0400)
#define PDH_CVERSION_WIN50 ((DWORD)0x0500)
/* The version of the interface, as PdhGetDllVersion tells it. */
#define PDH_VERSION ((DWORD)(PDH_CVERSION_WIN50 + 0x0003))

#define IsSuccessSeverity(ErrorCode)       ((((DWORD)(ErrorCode)) >> 30) == 0)
#define IsInformationalSeverity(ErrorCode) ((((DWORD)(ErrorCode)) >> 30) == 1)
#define IsWarningSeverity(ErrorCode)       ((((DWORD)(ErrorCode)) >> 30) == 2)
#define IsErrorSeverity(ErrorCode)         ((((DWORD)(ErrorCode)) >> 30) == 3)

/* Lengths in characters. PDH_MAX_COUNTER_PATH holds a path of the longest names that Windows has. */
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

/* The data source of this machine's counters. */
#define H_REALTIME_DATASOURCE NULL
/* Not supported: there is no WMI. */
#define H_WBEM_DATASOURCE ((HANDLE)(intptr_t)-1)

/* Formats. One of LONG, DOUBLE and LARGE, with any of NOSCALE, 1000 and NOCAP100. */
#define PDH_FMT_RAW      ((DWORD)0x00000010)
#define PDH_FMT_ANSI     ((DWORD)0x00000020)
#define PDH_FMT_UNICODE  ((DWORD)0x00000040)
#define PDH_FMT_LONG     ((DWORD)0x00000100) /* longValue: 32 bits, truncated, saturated */
#define PDH_FMT_DOUBLE   ((DWORD)0x00000200) /* doubleValue */
#define PDH_FMT_LARGE    ((DWORD)0x00000400) /* largeValue: 64 bits, truncated, saturated */
#define PDH_FMT_NOSCALE  ((DWORD)0x00001000) /* without the factor of PdhSetCounterScaleFactor */
#define PDH_FMT_1000     ((DWORD)0x00002000) /* multiplied by 1000 */
#define PDH_FMT_NODATA   ((DWORD)0x00004000)
#define PDH_FMT_NOCAP100 ((DWORD)0x00008000) /* percentages above 100 stay */

#define PERF_DETAIL_COSTLY   ((DWORD)0x00010000)
#define PERF_DETAIL_STANDARD ((DWORD)0x0000FFFF)

/* Exponents of PdhSetCounterScaleFactor. */
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

/* Access of PdhOpenLog: one of the first row, one of the second, any of the third. */
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

/* Flag of PdhCloseLog: closes the query of the log too. */
#define PDH_FLAGS_CLOSE_QUERY ((DWORD)0x00000001)
#define PDH_FLAGS_FILE_BROWSER_ONLY ((DWORD)0x00000001)

/* Sources of PdhSetDefaultRealTimeDataSource. */
#define DATA_SOURCE_REGISTRY ((DWORD)0x00000001)
#define DATA_SOURCE_LOGFILE  ((DWORD)0x00000002)
#define DATA_SOURCE_WBEM     ((DWORD)0x00000004)

/* ---- Structures ---- */

/* A raw value of a counter, and when it was taken (local time; see docs). */
typedef struct _PDH_RAW_COUNTER {
    volatile DWORD CStatus;
    FILETIME TimeStamp;
    LONGLONG FirstValue;
    LONGLONG SecondValue; /* the base, or a time stamp; 0 where the type has one number */
    DWORD MultiCount;
} PDH_RAW_COUNTER, *PPDH_RAW_COUNTER;

typedef struct _PDH_RAW_COUNTER_ITEM_A {
    LPSTR szName;
    PDH_RAW_COUNTER RawValue;
} PDH_RAW_COUNTER_ITEM_A, *PPDH_RAW_COUNTER_ITEM_A;

typedef struct _PDH_RAW_COUNTER_ITEM_W {
    LPWSTR szName;
    PDH_RAW_COUNTER RawValue;
} PDH_RAW_COUNTER_ITEM_W, *PPDH_RAW_COUNTER_ITEM_W;

/* A formatted value: the member that the format names. */
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
    DWORD dwFormat;
    DWORD count; /* how many raw values were given, bad ones too */
    PDH_FMT_COUNTERVALUE min;
    PDH_FMT_COUNTERVALUE max;
    PDH_FMT_COUNTERVALUE mean;
} PDH_STATISTICS, *PPDH_STATISTICS;

/* The parts of a path. Absent parts are null; a machine has its two backslashes; an index of -1 is none. */
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

/* A range of time in 100 ns of local time, and how many samples lie in it. */
typedef struct _PDH_TIME_INFO {
    LONGLONG StartTime;
    LONGLONG EndTime;
    DWORD SampleCount;
} PDH_TIME_INFO, *PPDH_TIME_INFO;

/* A record of a log as it lies in the file. */
typedef struct _PDH_RAW_LOG_RECORD {
    DWORD dwStructureSize;
    DWORD dwRecordType; /* PDH_LOG_TYPE_* */
    DWORD dwItems;      /* bytes of the record */
    BYTE RawBytes[1];
} PDH_RAW_LOG_RECORD, *PPDH_RAW_LOG_RECORD;

/* ---- Queries ---- */

PDH_FUNCTION PdhGetDllVersion(LPDWORD lpdwVersion);

/*
 * Opens a query over this machine (null) or over a log. Several logs: PdhBindInputDataSource,
 * PdhOpenQueryH.
 */
PDH_FUNCTION PdhOpenQueryW(LPCWSTR szDataSource, DWORD_PTR dwUserData, PDH_HQUERY *phQuery);
PDH_FUNCTION PdhOpenQueryA(LPCSTR szDataSource, DWORD_PTR dwUserData, PDH_HQUERY *phQuery);

/* Opens a query over a data source of PdhBindInputDataSource. */
PDH_FUNCTION PdhOpenQueryH(PDH_HLOG hDataSource, DWORD_PTR dwUserData, PDH_HQUERY *phQuery);

/* Ends a query, its counters and their handles. */
PDH_FUNCTION PdhCloseQuery(PDH_HQUERY hQuery);

/* TRUE where the query is over this machine; FALSE for one over logs, and for what is no query. */
BOOL PdhIsRealTimeQuery(PDH_HQUERY hQuery);

/* Adds a counter. An instance that is not there now is no error: it may appear. */
PDH_FUNCTION PdhAddCounterW(PDH_HQUERY hQuery, LPCWSTR szFullCounterPath, DWORD_PTR dwUserData,
                            PDH_HCOUNTER *phCounter);
PDH_FUNCTION PdhAddCounterA(PDH_HQUERY hQuery, LPCSTR szFullCounterPath, DWORD_PTR dwUserData,
                            PDH_HCOUNTER *phCounter);

/* The same: names are English here. */
PDH_FUNCTION PdhAddEnglishCounterW(PDH_HQUERY hQuery, LPCWSTR szFullCounterPath, DWORD_PTR dwUserData,
                                   PDH_HCOUNTER *phCounter);
PDH_FUNCTION PdhAddEnglishCounterA(PDH_HQUERY hQuery, LPCSTR szFullCounterPath, DWORD_PTR dwUserData,
                                   PDH_HCOUNTER *phCounter);

PDH_FUNCTION PdhRemoveCounter(PDH_HCOUNTER hCounter);

/* Takes a sample of all counters of the query at one moment; of a log the next record. */
PDH_FUNCTION PdhCollectQueryData(PDH_HQUERY hQuery);

/* The same, with the sample's local time in 100 ns. */
PDH_FUNCTION PdhCollectQueryDataWithTime(PDH_HQUERY hQuery, LONGLONG *pllTimeStamp);

/*
 * Collects every so many seconds on a thread of the library, and sets the event each time, until the query
 * is closed. A further call changes interval and event. The event is one of CreateEvent of the
 * compatibility folder, or an eventfd.
 */
PDH_FUNCTION PdhCollectQueryDataEx(PDH_HQUERY hQuery, DWORD dwIntervalTime, HANDLE hNewDataEvent);

/* The event of an eventfd that the program has made itself. */
#define TACHO_EVENT_OF_FD(fd) ((HANDLE)((uintptr_t)(fd) << 2 | 1))

/* Which records of its logs a query reads; the first is read next. */
PDH_FUNCTION PdhSetQueryTimeRange(PDH_HQUERY hQuery, PPDH_TIME_INFO pInfo);

/* DATA_SOURCE_REGISTRY is the one there is. */
PDH_FUNCTION PdhSetDefaultRealTimeDataSource(DWORD dwDataSourceId);

/* ---- Values ---- */

/* lpdwType may be null. */
PDH_FUNCTION PdhGetFormattedCounterValue(PDH_HCOUNTER hCounter, DWORD dwFormat, LPDWORD lpdwType,
                                         PPDH_FMT_COUNTERVALUE pValue);

/* Sizes in bytes. The names lie behind the items in the buffer. */
PDH_FUNCTION PdhGetFormattedCounterArrayW(PDH_HCOUNTER hCounter, DWORD dwFormat, LPDWORD lpdwBufferSize,
                                          LPDWORD lpdwItemCount, PPDH_FMT_COUNTERVALUE_ITEM_W ItemBuffer);
PDH_FUNCTION PdhGetFormattedCounterArrayA(PDH_HCOUNTER hCounter, DWORD dwFormat, LPDWORD lpdwBufferSize,
                                          LPDWORD lpdwItemCount, PPDH_FMT_COUNTERVALUE_ITEM_A ItemBuffer);

/* lpdwType may be null. */
PDH_FUNCTION PdhGetRawCounterValue(PDH_HCOUNTER hCounter, LPDWORD lpdwType, PPDH_RAW_COUNTER pValue);

/* As PdhGetFormattedCounterArray. */
PDH_FUNCTION PdhGetRawCounterArrayW(PDH_HCOUNTER hCounter, LPDWORD lpdwBufferSize, LPDWORD lpdwItemCount,
                                    PPDH_RAW_COUNTER_ITEM_W ItemBuffer);
PDH_FUNCTION PdhGetRawCounterArrayA(PDH_HCOUNTER hCounter, LPDWORD lpdwBufferSize, LPDWORD lpdwItemCount,
                                    PPDH_RAW_COUNTER_ITEM_A ItemBuffer);

/* rawValue1 is the newer; rawValue2 may be null where the type takes one value. */
PDH_FUNCTION PdhCalculateCounterFromRawValue(PDH_HCOUNTER hCounter, DWORD dwFormat,
                                             PPDH_RAW_COUNTER rawValue1, PPDH_RAW_COUNTER rawValue2,
                                             PPDH_FMT_COUNTERVALUE fmtValue);

/* The same without a counter. pTimeBase may be null where the formula has none; pRawValue2 as above. */
PDH_FUNCTION PdhFormatFromRawValue(DWORD dwCounterType, DWORD dwFormat, LONGLONG *pTimeBase,
                                   PPDH_RAW_COUNTER pRawValue1, PPDH_RAW_COUNTER pRawValue2,
                                   PPDH_FMT_COUNTERVALUE pFmtValue);

/*
 * Minimum, maximum and mean of raw values in a ring whose oldest is at dwFirstEntry. The mean is the
 * type's own, from first and last.
 */
PDH_FUNCTION PdhComputeCounterStatistics(PDH_HCOUNTER hCounter, DWORD dwFormat, DWORD dwFirstEntry,
                                         DWORD dwNumEntries, PPDH_RAW_COUNTER lpRawValueArray,
                                         PPDH_STATISTICS data);

/* Size in bytes. */
PDH_FUNCTION PdhGetCounterInfoW(PDH_HCOUNTER hCounter, BYTE bRetrieveExplainText, LPDWORD pdwBufferSize,
                                PPDH_COUNTER_INFO_W lpBuffer);
PDH_FUNCTION PdhGetCounterInfoA(PDH_HCOUNTER hCounter, BYTE bRetrieveExplainText, LPDWORD pdwBufferSize,
                                PPDH_COUNTER_INFO_A lpBuffer);

/* Formatted values are multiplied by 10^lFactor. */
PDH_FUNCTION PdhSetCounterScaleFactor(PDH_HCOUNTER hCounter, LONG lFactor);

/* Units of the counter's time in one second. */
PDH_FUNCTION PdhGetCounterTimeBase(PDH_HCOUNTER hCounter, LONGLONG *pTimeBase);

/* ---- Names. Sizes in characters, with the final zeros ---- */

/* Whether this machine has the counter. */
PDH_FUNCTION PdhValidatePathW(LPCWSTR szFullPathBuffer);
PDH_FUNCTION PdhValidatePathA(LPCSTR szFullPathBuffer);

PDH_FUNCTION PdhValidatePathExW(PDH_HLOG hDataSource, LPCWSTR szFullPathBuffer);
PDH_FUNCTION PdhValidatePathExA(PDH_HLOG hDataSource, LPCSTR szFullPathBuffer);

/* Size in bytes. */
PDH_FUNCTION PdhParseCounterPathW(LPCWSTR szFullPathBuffer,
                                  PPDH_COUNTER_PATH_ELEMENTS_W pCounterPathElements, LPDWORD pdwBufferSize,
                                  DWORD dwFlags);
PDH_FUNCTION PdhParseCounterPathA(LPCSTR szFullPathBuffer,
                                  PPDH_COUNTER_PATH_ELEMENTS_A pCounterPathElements, LPDWORD pdwBufferSize,
                                  DWORD dwFlags);

PDH_FUNCTION PdhMakeCounterPathW(PPDH_COUNTER_PATH_ELEMENTS_W pCounterPathElements, LPWSTR szFullPathBuffer,
                                 LPDWORD pcchBufferSize, DWORD dwFlags);
PDH_FUNCTION PdhMakeCounterPathA(PPDH_COUNTER_PATH_ELEMENTS_A pCounterPathElements, LPSTR szFullPathBuffer,
                                 LPDWORD pcchBufferSize, DWORD dwFlags);

PDH_FUNCTION PdhParseInstanceNameW(LPCWSTR szInstanceString, LPWSTR szInstanceName,
                                   LPDWORD pcchInstanceNameLength, LPWSTR szParentName,
                                   LPDWORD pcchParentNameLength, LPDWORD lpIndex);
PDH_FUNCTION PdhParseInstanceNameA(LPCSTR szInstanceString, LPSTR szInstanceName,
                                   LPDWORD pcchInstanceNameLength, LPSTR szParentName,
                                   LPDWORD pcchParentNameLength, LPDWORD lpIndex);

/* The paths that match, each ended by a zero, and a zero more. */
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

/* PDH_CSTATUS_NO_MACHINE for any other than this machine. */
PDH_FUNCTION PdhConnectMachineW(LPCWSTR szMachineName);
PDH_FUNCTION PdhConnectMachineA(LPCSTR szMachineName);

PDH_FUNCTION PdhEnumMachinesW(LPCWSTR szDataSource, PZZWSTR mszMachineList, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhEnumMachinesA(LPCSTR szDataSource, PZZSTR mszMachineList, LPDWORD pcchBufferSize);

PDH_FUNCTION PdhEnumMachinesHW(PDH_HLOG hDataSource, PZZWSTR mszMachineList, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhEnumMachinesHA(PDH_HLOG hDataSource, PZZSTR mszMachineList, LPDWORD pcchBufferSize);

PDH_FUNCTION PdhEnumObjectsW(LPCWSTR szDataSource, LPCWSTR szMachineName, PZZWSTR mszObjectList,
                             LPDWORD pcchBufferSize, DWORD dwDetailLevel, BOOL bRefresh);
PDH_FUNCTION PdhEnumObjectsA(LPCSTR szDataSource, LPCSTR szMachineName, PZZSTR mszObjectList,
                             LPDWORD pcchBufferSize, DWORD dwDetailLevel, BOOL bRefresh);

PDH_FUNCTION PdhEnumObjectsHW(PDH_HLOG hDataSource, LPCWSTR szMachineName, PZZWSTR mszObjectList,
                              LPDWORD pcchBufferSize, DWORD dwDetailLevel, BOOL bRefresh);
PDH_FUNCTION PdhEnumObjectsHA(PDH_HLOG hDataSource, LPCSTR szMachineName, PZZSTR mszObjectList,
                              LPDWORD pcchBufferSize, DWORD dwDetailLevel, BOOL bRefresh);

/*
 * An instance list of length 0: a set without instances; of length 2 and two zeros: a set that has none
 * now.
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

PDH_FUNCTION PdhGetDefaultPerfObjectW(LPCWSTR szDataSource, LPCWSTR szMachineName,
                                      LPWSTR szDefaultObjectName, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhGetDefaultPerfObjectA(LPCSTR szDataSource, LPCSTR szMachineName, LPSTR szDefaultObjectName,
                                      LPDWORD pcchBufferSize);

PDH_FUNCTION PdhGetDefaultPerfObjectHW(PDH_HLOG hDataSource, LPCWSTR szMachineName,
                                       LPWSTR szDefaultObjectName, LPDWORD pcchBufferSize);
PDH_FUNCTION PdhGetDefaultPerfObjectHA(PDH_HLOG hDataSource, LPCSTR szMachineName,
                                       LPSTR szDefaultObjectName, LPDWORD pcchBufferSize);

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
 * Logs as one data source, for functions that end in H: names that each end in a zero, and a zero more;
 * null for this machine. Ended by PdhCloseLog.
 */
PDH_FUNCTION PdhBindInputDataSourceW(PDH_HLOG *phDataSource, LPCWSTR LogFileNameList);
PDH_FUNCTION PdhBindInputDataSourceA(PDH_HLOG *phDataSource, LPCSTR LogFileNameList);

/* Size in bytes. Of logs of several machines, the range is that of the first one's samples, which all records are at. */
PDH_FUNCTION PdhGetDataSourceTimeRangeW(LPCWSTR szDataSource, LPDWORD pdwNumEntries, PPDH_TIME_INFO pInfo,
                                        LPDWORD pdwBufferSize);
PDH_FUNCTION PdhGetDataSourceTimeRangeA(LPCSTR szDataSource, LPDWORD pdwNumEntries, PPDH_TIME_INFO pInfo,
                                        LPDWORD pdwBufferSize);

PDH_FUNCTION PdhGetDataSourceTimeRangeH(PDH_HLOG hDataSource, LPDWORD pdwNumEntries, PPDH_TIME_INFO pInfo,
                                        LPDWORD pdwBufferSize);

/* Opens a log to write, of the counters that the query has; or to read its records. */
PDH_FUNCTION PdhOpenLogW(LPCWSTR szLogFileName, DWORD dwAccessFlags, LPDWORD lpdwLogType, PDH_HQUERY hQuery,
                         DWORD dwMaxSize, LPCWSTR szUserCaption, PDH_HLOG *phLog);
PDH_FUNCTION PdhOpenLogA(LPCSTR szLogFileName, DWORD dwAccessFlags, LPDWORD lpdwLogType, PDH_HQUERY hQuery,
                         DWORD dwMaxSize, LPCSTR szUserCaption, PDH_HLOG *phLog);

/* Collects the query of the log and writes a record. */
PDH_FUNCTION PdhUpdateLogW(PDH_HLOG hLog, LPCWSTR szUserString);
PDH_FUNCTION PdhUpdateLogA(PDH_HLOG hLog, LPCSTR szUserString);

/* Not supported: no log has a catalog. */
PDH_FUNCTION PdhUpdateLogFileCatalog(PDH_HLOG hLog);

/* Bytes. */
PDH_FUNCTION PdhGetLogFileSize(PDH_HLOG hLog, LONGLONG *llSize);

/* Size in bytes. */
PDH_FUNCTION PdhReadRawLogRecord(PDH_HLOG hLog, FILETIME ftRecord, PPDH_RAW_LOG_RECORD pRawLogRecord,
                                 LPDWORD pdwBufferLength);

PDH_FUNCTION PdhCloseLog(PDH_HLOG hLog, DWORD dwFlags);

#ifdef __cplusplus
}
#endif

/* ---- Names without a letter ---- */

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
