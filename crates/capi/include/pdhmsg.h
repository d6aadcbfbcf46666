/*
 * pdhmsg.h: status codes of pdh.h.
 *
 * The two high bits are the severity: 0 success, 2 a warning (0x8...), 3 an error (0xC...). A function returns
 * its status as a PDH_STATUS, which is signed; each value has a status of its own in CStatus. Check both.
 * Source: "Performance Data Helper Error Codes".
 */
#ifndef TACHO_PDHMSG_H
#define TACHO_PDHMSG_H

#include <stdint.h>

/* ---- Statuses of values, and of calls ---- */

#define PDH_CSTATUS_VALID_DATA                     ((uint32_t)0x00000000) /* the value is valid */
#define PDH_CSTATUS_NEW_DATA                       ((uint32_t)0x00000001) /* the value is valid and new */
#define PDH_CSTATUS_NO_MACHINE                     ((uint32_t)0x800007D0) /* the machine is not reachable */
#define PDH_CSTATUS_NO_INSTANCE                    ((uint32_t)0x800007D1) /* the instance is not present */
#define PDH_MORE_DATA                              ((uint32_t)0x800007D2) /* the buffer is too small */
#define PDH_CSTATUS_ITEM_NOT_VALIDATED             ((uint32_t)0x800007D3) /* added to the query, not collected yet */
#define PDH_RETRY                                  ((uint32_t)0x800007D4) /* try again */
#define PDH_NO_DATA                                ((uint32_t)0x800007D5) /* nothing could be collected */
#define PDH_CALC_NEGATIVE_DENOMINATOR              ((uint32_t)0x800007D6) /* the base or the clock went backwards */
#define PDH_CALC_NEGATIVE_TIMEBASE                 ((uint32_t)0x800007D7) /* the time base is not positive */
#define PDH_CALC_NEGATIVE_VALUE                    ((uint32_t)0x800007D8) /* the counter went backwards */
#define PDH_DIALOG_CANCELLED                       ((uint32_t)0x800007D9)
#define PDH_END_OF_LOG_FILE                        ((uint32_t)0x800007DA)
#define PDH_ASYNC_QUERY_TIMEOUT                    ((uint32_t)0x800007DB)
#define PDH_CANNOT_SET_DEFAULT_REALTIME_DATASOURCE ((uint32_t)0x800007DC)

/* ---- Errors ---- */

#define PDH_CSTATUS_NO_OBJECT                      ((uint32_t)0xC0000BB8) /* unknown counter set */
#define PDH_CSTATUS_NO_COUNTER                     ((uint32_t)0xC0000BB9) /* the set does not have the counter */
#define PDH_CSTATUS_INVALID_DATA                   ((uint32_t)0xC0000BBA) /* the counter exists, its value is invalid */
#define PDH_MEMORY_ALLOCATION_FAILURE              ((uint32_t)0xC0000BBB)
#define PDH_INVALID_HANDLE                         ((uint32_t)0xC0000BBC) /* closed, of another kind, or never issued */
#define PDH_INVALID_ARGUMENT                       ((uint32_t)0xC0000BBD)
#define PDH_FUNCTION_NOT_FOUND                     ((uint32_t)0xC0000BBE) /* the counter type has no formula */
#define PDH_CSTATUS_NO_COUNTERNAME                 ((uint32_t)0xC0000BBF) /* the path is empty */
#define PDH_CSTATUS_BAD_COUNTERNAME                ((uint32_t)0xC0000BC0) /* the path cannot be parsed */
#define PDH_INVALID_BUFFER                         ((uint32_t)0xC0000BC1)
#define PDH_INSUFFICIENT_BUFFER                    ((uint32_t)0xC0000BC2)
#define PDH_CANNOT_CONNECT_MACHINE                 ((uint32_t)0xC0000BC3)
#define PDH_INVALID_PATH                           ((uint32_t)0xC0000BC4)
#define PDH_INVALID_INSTANCE                       ((uint32_t)0xC0000BC5)
#define PDH_INVALID_DATA                           ((uint32_t)0xC0000BC6) /* the counter has no valid data */
#define PDH_NO_DIALOG_DATA                         ((uint32_t)0xC0000BC7)
#define PDH_CANNOT_READ_NAME_STRINGS               ((uint32_t)0xC0000BC8)

/* ---- Logs ---- */

#define PDH_LOG_FILE_CREATE_ERROR                  ((uint32_t)0xC0000BC9)
#define PDH_LOG_FILE_OPEN_ERROR                    ((uint32_t)0xC0000BCA)
#define PDH_LOG_TYPE_NOT_FOUND                     ((uint32_t)0xC0000BCB)
#define PDH_NO_MORE_DATA                           ((uint32_t)0xC0000BCC) /* the log has no further record */
#define PDH_ENTRY_NOT_IN_LOG_FILE                  ((uint32_t)0xC0000BCD)
#define PDH_DATA_SOURCE_IS_LOG_FILE                ((uint32_t)0xC0000BCE)
#define PDH_DATA_SOURCE_IS_REAL_TIME               ((uint32_t)0xC0000BCF)
#define PDH_UNABLE_READ_LOG_HEADER                 ((uint32_t)0xC0000BD0)
#define PDH_FILE_NOT_FOUND                         ((uint32_t)0xC0000BD1)
#define PDH_FILE_ALREADY_EXISTS                    ((uint32_t)0xC0000BD2)
#define PDH_NOT_IMPLEMENTED                        ((uint32_t)0xC0000BD3)
#define PDH_STRING_NOT_FOUND                       ((uint32_t)0xC0000BD4)
#define PDH_UNABLE_MAP_NAME_FILES                  ((uint32_t)0x80000BD5)
#define PDH_UNKNOWN_LOG_FORMAT                     ((uint32_t)0xC0000BD6)
#define PDH_UNKNOWN_LOGSVC_COMMAND                 ((uint32_t)0xC0000BD7)
#define PDH_LOGSVC_QUERY_NOT_FOUND                 ((uint32_t)0xC0000BD8)
#define PDH_LOGSVC_NOT_OPENED                      ((uint32_t)0xC0000BD9)
#define PDH_WBEM_ERROR                             ((uint32_t)0xC0000BDA)
#define PDH_ACCESS_DENIED                          ((uint32_t)0xC0000BDB)
#define PDH_LOG_FILE_TOO_SMALL                     ((uint32_t)0xC0000BDC)
#define PDH_INVALID_DATASOURCE                     ((uint32_t)0xC0000BDD)
#define PDH_INVALID_SQLDB                          ((uint32_t)0xC0000BDE)
#define PDH_NO_COUNTERS                            ((uint32_t)0xC0000BDF)
#define PDH_SQL_ALLOC_FAILED                       ((uint32_t)0xC0000BE0)
#define PDH_SQL_ALLOCCON_FAILED                    ((uint32_t)0xC0000BE1)
#define PDH_SQL_EXEC_DIRECT_FAILED                 ((uint32_t)0xC0000BE2)
#define PDH_SQL_FETCH_FAILED                       ((uint32_t)0xC0000BE3)
#define PDH_SQL_ROWCOUNT_FAILED                    ((uint32_t)0xC0000BE4)
#define PDH_SQL_MORE_RESULTS_FAILED                ((uint32_t)0xC0000BE5)
#define PDH_SQL_CONNECT_FAILED                     ((uint32_t)0xC0000BE6)
#define PDH_SQL_BIND_FAILED                        ((uint32_t)0xC0000BE7)
#define PDH_CANNOT_CONNECT_WMI_SERVER              ((uint32_t)0xC0000BE8)
#define PDH_PLA_COLLECTION_ALREADY_RUNNING         ((uint32_t)0xC0000BE9)
#define PDH_PLA_ERROR_SCHEDULE_OVERLAP             ((uint32_t)0xC0000BEA)
#define PDH_PLA_COLLECTION_NOT_FOUND               ((uint32_t)0xC0000BEB)
#define PDH_PLA_ERROR_SCHEDULE_ELAPSED             ((uint32_t)0xC0000BEC)
#define PDH_PLA_ERROR_NOSTART                      ((uint32_t)0xC0000BED)
#define PDH_PLA_ERROR_ALREADY_EXISTS               ((uint32_t)0xC0000BEE)
#define PDH_PLA_ERROR_TYPE_MISMATCH                ((uint32_t)0xC0000BEF)
#define PDH_PLA_ERROR_FILEPATH                     ((uint32_t)0xC0000BF0)
#define PDH_PLA_SERVICE_ERROR                      ((uint32_t)0xC0000BF1)
#define PDH_PLA_VALIDATION_ERROR                   ((uint32_t)0xC0000BF2)
#define PDH_PLA_VALIDATION_WARNING                 ((uint32_t)0x80000BF3)
#define PDH_PLA_ERROR_NAME_TOO_LONG                ((uint32_t)0xC0000BF4)
#define PDH_INVALID_SQL_LOG_FORMAT                 ((uint32_t)0xC0000BF5)
#define PDH_COUNTER_ALREADY_IN_QUERY               ((uint32_t)0xC0000BF6)
#define PDH_BINARY_LOG_CORRUPT                     ((uint32_t)0xC0000BF7)
#define PDH_LOG_SAMPLE_TOO_SMALL                   ((uint32_t)0xC0000BF8) /* fewer than two samples */
#define PDH_OS_LATER_VERSION                       ((uint32_t)0xC0000BF9)
#define PDH_OS_EARLIER_VERSION                     ((uint32_t)0xC0000BFA)
#define PDH_INCORRECT_APPEND_TIME                  ((uint32_t)0xC0000BFB)
#define PDH_UNMATCHED_APPEND_COUNTER               ((uint32_t)0xC0000BFC)
#define PDH_SQL_ALTER_DETAIL_FAILED                ((uint32_t)0xC0000BFD)
#define PDH_QUERY_PERF_DATA_TIMEOUT                ((uint32_t)0xC0000BFE)

#endif
