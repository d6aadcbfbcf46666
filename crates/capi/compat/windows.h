/*
 * windows.h: the few names of Windows that programs for Tachograph's C interface use, on Linux.
 *
 * It is not installed. A program that wants it puts this folder on its include path (-I). C99 and later,
 * C++11 and later. Each part below stands for itself.
 */
#ifndef TACHO_COMPAT_WINDOWS_H
#define TACHO_COMPAT_WINDOWS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

/* ---- Types ---- */

typedef uint32_t DWORD;

/* ---- Environment ---- */

/* Copies a text with its final zero and returns its length; where it does not fit, the room that it takes. */
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

/* The value of an environment variable; 0 where there is none. */
static inline DWORD GetEnvironmentVariable(const char *name, char *buffer, DWORD size)
{
    const char *value = getenv(name);
    return value ? tacho_compat_copy(value, buffer, size) : 0;
}

/* The working directory; 0 on error. */
static inline DWORD GetCurrentDirectory(DWORD size, char *buffer)
{
    char path[4096];
    return getcwd(path, sizeof path) ? tacho_compat_copy(path, buffer, size) : 0;
}

/* ---- Time ---- */

/*
 * Sleeps for so many milliseconds, signals or not. By select, which Linux has count down what is left, and
 * which strict C modes (-std=c99) do not hide as they do nanosleep.
 */
static inline void Sleep(DWORD milliseconds)
{
    struct timeval left;
    left.tv_sec = (time_t)(milliseconds / 1000);
    left.tv_usec = (suseconds_t)(milliseconds % 1000 * 1000);
    while (select(0, NULL, NULL, NULL, &left) != 0 && errno == EINTR) {
    }
}

#endif
