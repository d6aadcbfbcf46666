/*
 * winbase.h: Windows functions for environment, time, memory and errors. Part of the compatibility folder.
 */
#ifndef TACHO_COMPAT_WINBASE_H
#define TACHO_COMPAT_WINBASE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>
#include <winnt.h>

/* ---- Environment ---- */

/* Copies a text with its terminating NUL and returns its length, or the required size if it does not fit. */
static inline DWORD tacho_compat_copy(const char *text, char *buffer, DWORD size)
{
    const size_t length = strlen(text);
    if (length >= UINT32_MAX) {
        return 0;
    }
    if (length >= size) {
        return (DWORD)length + 1;
    }
    memcpy(buffer, text, length + 1);
    return (DWORD)length;
}

/* Copies the value of an environment variable like tacho_compat_copy; 0 if the variable is not set. */
static inline DWORD GetEnvironmentVariable(const char *name, char *buffer, DWORD size)
{
    const char *value = getenv(name);
    return value ? tacho_compat_copy(value, buffer, size) : 0;
}

/* Copies the path of the working directory like tacho_compat_copy; 0 on error. */
static inline DWORD GetCurrentDirectory(DWORD size, char *buffer)
{
    char path[4096];
    return getcwd(path, sizeof path) ? tacho_compat_copy(path, buffer, size) : 0;
}

/* ---- Errors: the library stores a code for each thread ---- */

#ifdef __cplusplus
extern "C" {
#endif
DWORD TachoGetLastError(void);
void TachoSetLastError(DWORD code);
#ifdef __cplusplus
}
#endif

static inline DWORD GetLastError(void)
{
    return TachoGetLastError();
}

static inline void SetLastError(DWORD code)
{
    TachoSetLastError(code);
}

/* ---- Time ---- */

#define INFINITE 0xFFFFFFFF

/*
 * Sleeps for this many milliseconds; signals do not end it early. Uses select, which on Linux updates the remaining
 * time and which strict C modes (-std=c99) do not hide, unlike nanosleep.
 */
static inline void Sleep(DWORD milliseconds)
{
    struct timeval remaining;
    remaining.tv_sec = (time_t)(milliseconds / 1000);
    remaining.tv_usec = (suseconds_t)(milliseconds % 1000 * 1000);
    while (select(0, NULL, NULL, NULL, &remaining) != 0 && errno == EINTR) {
    }
}

/* Declares clock_gettime under another name: strict C modes hide it and struct timespec. */
struct tacho_compat_timespec {
    long seconds;
    long nanoseconds;
};
#ifdef __cplusplus
extern "C"
#else
extern
#endif
int tacho_compat_clock_gettime(int clock, struct tacho_compat_timespec *time) __asm__("clock_gettime");

/* Reads a clock in units of 100 ns. */
static inline LONGLONG tacho_compat_clock_100ns(int clock)
{
    struct tacho_compat_timespec now = {0, 0};
    (void)tacho_compat_clock_gettime(clock, &now);
    return now.seconds * 10000000LL + now.nanoseconds / 100;
}

/* CLOCK_REALTIME, and CLOCK_BOOTTIME, the clock of PerfTimeStamp. */
#define TACHO_COMPAT_REALTIME_CLOCK 0
#define TACHO_COMPAT_BOOT_CLOCK 7

/* Ticks of the performance counter per second. */
static inline BOOL QueryPerformanceFrequency(LARGE_INTEGER *frequency)
{
    frequency->QuadPart = 10000000;
    return TRUE;
}

/* The performance counter: 100 ns since boot. */
static inline BOOL QueryPerformanceCounter(LARGE_INTEGER *count)
{
    count->QuadPart = tacho_compat_clock_100ns(TACHO_COMPAT_BOOT_CLOCK);
    return TRUE;
}

/* Milliseconds since boot. */
static inline ULONGLONG GetTickCount64(void)
{
    return (ULONGLONG)tacho_compat_clock_100ns(TACHO_COMPAT_BOOT_CLOCK) / 10000;
}

static inline DWORD GetTickCount(void)
{
    return (DWORD)GetTickCount64();
}

/* 100 ns from 1601 to 1970. */
#define TACHO_COMPAT_UNIX_EPOCH 116444736000000000LL

/* 100 ns since 1601, UTC. */
static inline void GetSystemTimeAsFileTime(LPFILETIME time)
{
    const ULONGLONG now = (ULONGLONG)(tacho_compat_clock_100ns(TACHO_COMPAT_REALTIME_CLOCK) + TACHO_COMPAT_UNIX_EPOCH);
    time->dwLowDateTime = (DWORD)now;
    time->dwHighDateTime = (DWORD)(now >> 32);
}

#define GetSystemTimePreciseAsFileTime(time) GetSystemTimeAsFileTime(time)

/* Converts a time to a calendar date; FALSE beyond Windows' range. The calendar repeats every 400 years. */
static inline BOOL FileTimeToSystemTime(const FILETIME *file_time, LPSYSTEMTIME time)
{
    const ULONGLONG units = ((ULONGLONG)file_time->dwHighDateTime << 32) | file_time->dwLowDateTime;
    const ULONGLONG milliseconds = units / 10000;
    const unsigned in_day = (unsigned)(milliseconds % 86400000);
    /* Days since 1 March 1600, so that a leap day is the last day of its year. */
    const unsigned long days = (unsigned long)(milliseconds / 86400000) + 306;
    const unsigned long era = days / 146097, of_era = days % 146097;
    const unsigned long year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const unsigned long of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const unsigned long from_march = (5 * of_year + 2) / 153;
    const unsigned long month = from_march < 10 ? from_march + 3 : from_march - 9;

    if (units >> 63) {
        return FALSE;
    }
    time->wYear = (WORD)(1600 + era * 400 + year_of_era + (month <= 2));
    time->wMonth = (WORD)month;
    time->wDay = (WORD)(of_year - (153 * from_march + 2) / 5 + 1);
    /* 1601 began with a Monday. */
    time->wDayOfWeek = (WORD)((milliseconds / 86400000 + 1) % 7);
    time->wHour = (WORD)(in_day / 3600000);
    time->wMinute = (WORD)(in_day / 60000 % 60);
    time->wSecond = (WORD)(in_day / 1000 % 60);
    time->wMilliseconds = (WORD)(in_day % 1000);
    return TRUE;
}

static inline void GetSystemTime(LPSYSTEMTIME time)
{
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    (void)FileTimeToSystemTime(&now, time);
}

/* Converts a calendar date to a time; FALSE for invalid dates and beyond Windows' range. Ignores the day of the week. */
static inline BOOL SystemTimeToFileTime(const SYSTEMTIME *time, LPFILETIME file_time)
{
    static const BYTE lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const unsigned year = time->wYear, month = time->wMonth;
    const unsigned is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    const unsigned before = year - 1601;
    ULONGLONG units;
    unsigned days, m;
    if (year < 1601 || year > 30827 || month < 1 || month > 12 || time->wDay < 1 ||
        time->wDay > lengths[month - 1] + (month == 2 && is_leap) || time->wHour > 23 || time->wMinute > 59 ||
        time->wSecond > 59 || time->wMilliseconds > 999) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    days = before * 365 + before / 4 - before / 100 + before / 400 + time->wDay - 1;
    for (m = 1; m < month; m++) {
        days += lengths[m - 1] + (m == 2 && is_leap);
    }
    units = (((ULONGLONG)days * 24 + time->wHour) * 60 + time->wMinute) * 60 + time->wSecond;
    units = (units * 1000 + time->wMilliseconds) * 10000;
    if (units >> 63) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    file_time->dwLowDateTime = (DWORD)units;
    file_time->dwHighDateTime = (DWORD)(units >> 32);
    return TRUE;
}

/* Declares localtime_r under another name: strict C modes hide it. */
#ifdef __cplusplus
extern "C"
#else
extern
#endif
struct tm *tacho_compat_localtime_r(const time_t *seconds, struct tm *parts) __asm__("localtime_r");

/* Converts UTC to local time, with the UTC offset that is in force at that time. */
static inline BOOL FileTimeToLocalFileTime(const FILETIME *file_time, LPFILETIME local)
{
    const ULONGLONG units = ((ULONGLONG)file_time->dwHighDateTime << 32) | file_time->dwLowDateTime;
    const time_t seconds = (time_t)(units / 10000000) - (time_t)(TACHO_COMPAT_UNIX_EPOCH / 10000000);
    struct tm parts;
    SYSTEMTIME time;
    ULONGLONG shifted;
    if (units >> 63 || !tacho_compat_localtime_r(&seconds, &parts)) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    time.wYear = (WORD)(parts.tm_year + 1900);
    time.wMonth = (WORD)(parts.tm_mon + 1);
    time.wDayOfWeek = (WORD)parts.tm_wday;
    time.wDay = (WORD)parts.tm_mday;
    time.wHour = (WORD)parts.tm_hour;
    time.wMinute = (WORD)parts.tm_min;
    time.wSecond = (WORD)(parts.tm_sec > 59 ? 59 : parts.tm_sec);
    time.wMilliseconds = 0;
    if (!SystemTimeToFileTime(&time, local)) {
        return FALSE;
    }
    shifted = (((ULONGLONG)local->dwHighDateTime << 32) | local->dwLowDateTime) + units % 10000000;
    local->dwLowDateTime = (DWORD)shifted;
    local->dwHighDateTime = (DWORD)(shifted >> 32);
    return TRUE;
}

static inline void GetLocalTime(LPSYSTEMTIME time)
{
    FILETIME now, local;
    GetSystemTimeAsFileTime(&now);
    if (!FileTimeToLocalFileTime(&now, &local)) {
        local = now;
    }
    (void)FileTimeToSystemTime(&local, time);
}

/* Returns -1, 0 or 1. */
static inline LONG CompareFileTime(const FILETIME *a, const FILETIME *b)
{
    const ULONGLONG first = ((ULONGLONG)a->dwHighDateTime << 32) | a->dwLowDateTime;
    const ULONGLONG second = ((ULONGLONG)b->dwHighDateTime << 32) | b->dwLowDateTime;
    return first < second ? -1 : first > second;
}

/* ---- Processes and threads ---- */

static inline DWORD GetCurrentProcessId(void)
{
    return (DWORD)getpid();
}

static inline void ExitProcess(UINT code)
{
    exit((int)code);
}

/* ---- Memory: malloc ---- */

#define HEAP_GENERATE_EXCEPTIONS 0x00000004
#define HEAP_NO_SERIALIZE 0x00000001
#define HEAP_ZERO_MEMORY 0x00000008
#define LMEM_FIXED 0x0000
#define LMEM_ZEROINIT 0x0040
#define LPTR (LMEM_FIXED | LMEM_ZEROINIT)
#define GMEM_FIXED LMEM_FIXED
#define GMEM_ZEROINIT LMEM_ZEROINIT
#define GPTR LPTR

static inline HANDLE GetProcessHeap(void)
{
    return (HANDLE)(uintptr_t)1;
}

static inline LPVOID HeapAlloc(HANDLE heap, DWORD flags, SIZE_T bytes)
{
    (void)heap;
    return flags & HEAP_ZERO_MEMORY ? calloc(bytes ? bytes : 1, 1) : malloc(bytes ? bytes : 1);
}

/* HEAP_ZERO_MEMORY has no effect on added memory, because the previous size is unknown. */
static inline LPVOID HeapReAlloc(HANDLE heap, DWORD flags, LPVOID memory, SIZE_T bytes)
{
    (void)heap;
    (void)flags;
    return realloc(memory, bytes ? bytes : 1);
}

static inline BOOL HeapFree(HANDLE heap, DWORD flags, LPVOID memory)
{
    (void)heap;
    (void)flags;
    free(memory);
    return TRUE;
}

static inline HLOCAL LocalAlloc(UINT flags, SIZE_T bytes)
{
    return flags & LMEM_ZEROINIT ? calloc(bytes ? bytes : 1, 1) : malloc(bytes ? bytes : 1);
}

/* Returns null, which means success. */
static inline HLOCAL LocalFree(HLOCAL memory)
{
    free(memory);
    return NULL;
}

#define GlobalAlloc(flags, bytes) LocalAlloc(flags, bytes)
#define GlobalFree(memory) LocalFree(memory)

#endif
