/*
 * tacho_safe.h: checked copies, prints and file functions of Windows' C library. Part of the compatibility folder;
 * windows.h includes it.
 */
#ifndef TACHO_COMPAT_SAFE_H
#define TACHO_COMPAT_SAFE_H

#include <errno.h>
#include <tacho_print.h>

/* Data that does not fit is not copied, and the buffer is zeroed. */
static inline errno_t memcpy_s(void *to, size_t size, const void *from, size_t bytes)
{
    if (bytes == 0) {
        return 0;
    }
    if (!to || !from || bytes > size) {
        if (to) {
            memset(to, 0, size);
        }
        return errno = to && from ? ERANGE : EINVAL;
    }
    memcpy(to, from, bytes);
    return 0;
}

static inline errno_t fopen_s(FILE **file, const char *name, const char *mode)
{
    if (!file || !name || !mode) {
        return errno = EINVAL;
    }
    *file = fopen(name, mode);
    return *file ? 0 : errno;
}

static inline int printf_s(const char *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vfprintf(stdout, text, list));
}

static inline int wprintf_s(const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vfwprintf(stdout, text, list));
}

/* -1 if the text does not fit. Unlike on Windows, the buffer is terminated in this case, too. */
static inline int tacho_compat_length_if_fits(int length, size_t size)
{
    return length >= 0 && (size_t)length < size ? length : -1;
}

static inline int _snprintf(char *buffer, size_t size, const char *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_length_if_fits(tacho_compat_vsnprintf(buffer, size, text, list), size));
}

static inline int _snwprintf(WCHAR *buffer, size_t size, const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_length_if_fits(tacho_compat_vsnwprintf(buffer, size, text, list), size));
}

/* The variant without a size. */
static inline int _swprintf(WCHAR *buffer, const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vsnwprintf(buffer, 0x7FFFFFFF, text, list));
}

/* ---- Lengths ---- */

static inline int lstrlenA(const char *text)
{
    return text ? (int)strlen(text) : 0;
}

static inline int lstrlenW(const WCHAR *text)
{
    return text ? (int)tacho_compat_wcslen(text) : 0;
}

#ifdef UNICODE
#define lstrlen lstrlenW
#else
#define lstrlen lstrlenA
#endif

#endif
