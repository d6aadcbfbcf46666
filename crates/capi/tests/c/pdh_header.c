/*
 * Compile-time checks of pdh.h and pdhmsg.h: values, the layout of Windows' 64-bit structures, prototypes.
 */
#ifdef WITH_WINDOWS_H
#include <windows.h>
#endif
#include "pdh.h"
#include "pdh.h" /* including it twice is harmless */
#include <stddef.h>

#ifdef __cplusplus
#define SO(condition) static_assert(condition, #condition)
#else
#define SO(condition) _Static_assert(condition, #condition)
#endif
#define IS_AT(type, member, offset) SO(offsetof(type, member) == (offset))

SO(sizeof(PDH_STATUS) == 4);
SO((PDH_STATUS)-1 < 0);
SO(sizeof(WCHAR) == 2);
SO(sizeof(PDH_HQUERY) == 8);
SO(sizeof(PDH_HCOUNTER) == 8);
SO(sizeof(PDH_HLOG) == 8);
SO(sizeof(FILETIME) == 8);

SO(sizeof(PDH_RAW_COUNTER) == 40);
IS_AT(PDH_RAW_COUNTER, CStatus, 0);
IS_AT(PDH_RAW_COUNTER, TimeStamp, 4);
IS_AT(PDH_RAW_COUNTER, FirstValue, 16);
IS_AT(PDH_RAW_COUNTER, SecondValue, 24);
IS_AT(PDH_RAW_COUNTER, MultiCount, 32);

SO(sizeof(PDH_FMT_COUNTERVALUE) == 16);
IS_AT(PDH_FMT_COUNTERVALUE, CStatus, 0);
IS_AT(PDH_FMT_COUNTERVALUE, longValue, 8);
IS_AT(PDH_FMT_COUNTERVALUE, doubleValue, 8);
IS_AT(PDH_FMT_COUNTERVALUE, largeValue, 8);
IS_AT(PDH_FMT_COUNTERVALUE, AnsiStringValue, 8);
IS_AT(PDH_FMT_COUNTERVALUE, WideStringValue, 8);

SO(sizeof(PDH_STATISTICS) == 56);
IS_AT(PDH_STATISTICS, dwFormat, 0);
IS_AT(PDH_STATISTICS, count, 4);
IS_AT(PDH_STATISTICS, min, 8);
IS_AT(PDH_STATISTICS, max, 24);
IS_AT(PDH_STATISTICS, mean, 40);

SO(sizeof(PDH_TIME_INFO) == 24);
IS_AT(PDH_TIME_INFO, StartTime, 0);
IS_AT(PDH_TIME_INFO, EndTime, 8);
IS_AT(PDH_TIME_INFO, SampleCount, 16);

SO(sizeof(PDH_RAW_LOG_RECORD) == 16);
IS_AT(PDH_RAW_LOG_RECORD, dwRecordType, 4);
IS_AT(PDH_RAW_LOG_RECORD, dwItems, 8);
IS_AT(PDH_RAW_LOG_RECORD, RawBytes, 12);

#define BOTH(x)                                              \
    SO(sizeof(PDH_FMT_COUNTERVALUE_ITEM_##x) == 24);         \
    IS_AT(PDH_FMT_COUNTERVALUE_ITEM_##x, szName, 0);         \
    IS_AT(PDH_FMT_COUNTERVALUE_ITEM_##x, FmtValue, 8);       \
    SO(sizeof(PDH_RAW_COUNTER_ITEM_##x) == 48);              \
    IS_AT(PDH_RAW_COUNTER_ITEM_##x, szName, 0);              \
    IS_AT(PDH_RAW_COUNTER_ITEM_##x, RawValue, 8);            \
    SO(sizeof(PDH_COUNTER_PATH_ELEMENTS_##x) == 48);         \
    IS_AT(PDH_COUNTER_PATH_ELEMENTS_##x, szMachineName, 0);  \
    IS_AT(PDH_COUNTER_PATH_ELEMENTS_##x, szObjectName, 8);   \
    IS_AT(PDH_COUNTER_PATH_ELEMENTS_##x, szInstanceName, 16);   \
    IS_AT(PDH_COUNTER_PATH_ELEMENTS_##x, szParentInstance, 24); \
    IS_AT(PDH_COUNTER_PATH_ELEMENTS_##x, dwInstanceIndex, 32);  \
    IS_AT(PDH_COUNTER_PATH_ELEMENTS_##x, szCounterName, 40);    \
    SO(sizeof(PDH_DATA_ITEM_PATH_ELEMENTS_##x) == 40);          \
    IS_AT(PDH_DATA_ITEM_PATH_ELEMENTS_##x, ObjectGUID, 8);      \
    IS_AT(PDH_DATA_ITEM_PATH_ELEMENTS_##x, dwItemId, 24);       \
    IS_AT(PDH_DATA_ITEM_PATH_ELEMENTS_##x, szInstanceName, 32); \
    SO(sizeof(PDH_COUNTER_INFO_##x) == 112);                    \
    IS_AT(PDH_COUNTER_INFO_##x, dwLength, 0);                   \
    IS_AT(PDH_COUNTER_INFO_##x, dwType, 4);                     \
    IS_AT(PDH_COUNTER_INFO_##x, CVersion, 8);                   \
    IS_AT(PDH_COUNTER_INFO_##x, CStatus, 12);                   \
    IS_AT(PDH_COUNTER_INFO_##x, lScale, 16);                    \
    IS_AT(PDH_COUNTER_INFO_##x, lDefaultScale, 20);             \
    IS_AT(PDH_COUNTER_INFO_##x, dwUserData, 24);                \
    IS_AT(PDH_COUNTER_INFO_##x, dwQueryUserData, 32);           \
    IS_AT(PDH_COUNTER_INFO_##x, szFullPath, 40);                \
    IS_AT(PDH_COUNTER_INFO_##x, CounterPath, 48);               \
    IS_AT(PDH_COUNTER_INFO_##x, DataItemPath, 48);              \
    IS_AT(PDH_COUNTER_INFO_##x, szMachineName, 48);             \
    IS_AT(PDH_COUNTER_INFO_##x, szCounterName, 88);             \
    IS_AT(PDH_COUNTER_INFO_##x, szExplainText, 96);             \
    IS_AT(PDH_COUNTER_INFO_##x, DataBuffer, 104)

BOTH(A);
BOTH(W);

SO(PDH_FMT_LONG == 0x100);
SO(PDH_FMT_DOUBLE == 0x200);
SO(PDH_FMT_LARGE == 0x400);
SO(PDH_FMT_NOSCALE == 0x1000);
SO(PDH_FMT_1000 == 0x2000);
SO(PDH_FMT_NODATA == 0x4000);
SO(PDH_FMT_NOCAP100 == 0x8000);
SO(PDH_NOEXPANDCOUNTERS == 1);
SO(PDH_NOEXPANDINSTANCES == 2);
SO(PDH_REFRESHCOUNTERS == 4);
SO(PDH_LOG_TYPE_CSV == 1);
SO(PDH_LOG_TYPE_TSV == 2);
SO(PDH_LOG_TYPE_SQL == 7);
SO(PDH_LOG_TYPE_BINARY == 8);
SO(PDH_LOG_READ_ACCESS == 0x10000);
SO(PDH_LOG_WRITE_ACCESS == 0x20000);
SO(PDH_LOG_UPDATE_ACCESS == 0x40000);
SO(PDH_LOG_CREATE_NEW == 1);
SO(PDH_LOG_CREATE_ALWAYS == 2);
SO(PDH_LOG_OPEN_ALWAYS == 3);
SO(PDH_LOG_OPEN_EXISTING == 4);
SO(PDH_LOG_OPT_USER_STRING == 0x1000000);
SO(PDH_LOG_OPT_CIRCULAR == 0x2000000);
SO(PDH_LOG_OPT_MAX_IS_BYTES == 0x4000000);
SO(PDH_LOG_OPT_APPEND == 0x8000000);
SO(PDH_VERSION == 0x503);
SO(PDH_MAX_SCALE == 7 && PDH_MIN_SCALE == -7);
SO(PERF_DETAIL_WIZARD == 400);
SO(IsErrorSeverity(PDH_INVALID_PATH) && !IsErrorSeverity(PDH_MORE_DATA));
SO(IsWarningSeverity(PDH_MORE_DATA) && IsSuccessSeverity(PDH_CSTATUS_NEW_DATA));
SO(!IsInformationalSeverity(PDH_NO_DATA));

/* A function pointer can only be initialized with a function of the same type. */
PDH_STATUS (*const open_query)(LPCWSTR, DWORD_PTR, PDH_HQUERY *) = PdhOpenQueryW;
PDH_STATUS (*const add_counter)(PDH_HQUERY, LPCSTR, DWORD_PTR, PDH_HCOUNTER *) = PdhAddCounterA;
PDH_STATUS (*const formatted)(PDH_HCOUNTER, DWORD, LPDWORD, PPDH_FMT_COUNTERVALUE) = PdhGetFormattedCounterValue;
PDH_STATUS (*const items)(LPCWSTR, LPCWSTR, LPCWSTR, LPWSTR, LPDWORD, LPWSTR, LPDWORD, DWORD, DWORD) =
    PdhEnumObjectItemsW;
PDH_STATUS (*const record)(PDH_HLOG, FILETIME, PPDH_RAW_LOG_RECORD, LPDWORD) = PdhReadRawLogRecord;
BOOL (*const is_real_time)(PDH_HQUERY) = PdhIsRealTimeQuery;
#ifdef UNICODE
PDH_STATUS (*const unsuffixed)(LPCWSTR, DWORD_PTR, PDH_HQUERY *) = PdhOpenQuery;
SO(sizeof(*((PDH_COUNTER_INFO *)0)->szFullPath) == 2);
#else
PDH_STATUS (*const unsuffixed)(LPCSTR, DWORD_PTR, PDH_HQUERY *) = PdhOpenQuery;
SO(sizeof(*((PDH_COUNTER_INFO *)0)->szFullPath) == 1);
#endif
