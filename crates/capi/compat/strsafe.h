/*
 * strsafe.h: bounded copies and prints. Part of the compatibility folder.
 *
 * Sizes of StringCch... are in characters, of StringCb... in bytes. A text that does not fit is truncated, and the
 * result is STRSAFE_E_INSUFFICIENT_BUFFER.
 */
#ifndef TACHO_COMPAT_STRSAFE_H
#define TACHO_COMPAT_STRSAFE_H

#include <windows.h>

#define STRSAFE_MAX_CCH 2147483647
#define STRSAFE_E_INSUFFICIENT_BUFFER ((HRESULT)0x8007007A)
#define STRSAFE_E_INVALID_PARAMETER ((HRESULT)0x80070057)
#define STRSAFE_E_END_OF_FILE ((HRESULT)0x80070026)

static inline HRESULT StringCchLengthW(const WCHAR *text, size_t max_length, size_t *length)
{
    const int is_valid = text && max_length && max_length <= STRSAFE_MAX_CCH;
    const size_t found = is_valid ? tacho_compat_wcsnlen(text, max_length) : max_length;
    if (length) {
        *length = found < max_length ? found : 0;
    }
    return found < max_length ? S_OK : STRSAFE_E_INVALID_PARAMETER;
}

static inline HRESULT StringCchLengthA(const char *text, size_t max_length, size_t *length)
{
    size_t found = text && max_length <= STRSAFE_MAX_CCH ? 0 : max_length;
    while (found < max_length && text[found]) {
        found++;
    }
    if (length) {
        *length = found < max_length ? found : 0;
    }
    return found < max_length ? S_OK : STRSAFE_E_INVALID_PARAMETER;
}

static inline HRESULT tacho_compat_append_truncated(WCHAR *to, size_t size, size_t used, const WCHAR *from,
                                                    size_t max_length)
{
    size_t i;
    if (!to || size == 0 || size > STRSAFE_MAX_CCH || used >= size) {
        return STRSAFE_E_INVALID_PARAMETER;
    }
    for (i = 0; from && i < max_length && from[i] && used + 1 < size; i++) {
        to[used++] = from[i];
    }
    to[used] = 0;
    return from && i < max_length && from[i] ? STRSAFE_E_INSUFFICIENT_BUFFER : S_OK;
}

static inline HRESULT StringCchCopyW(WCHAR *to, size_t size, const WCHAR *from)
{
    return tacho_compat_append_truncated(to, size, 0, from, STRSAFE_MAX_CCH);
}

static inline HRESULT StringCchCopyNW(WCHAR *to, size_t size, const WCHAR *from, size_t max_length)
{
    return tacho_compat_append_truncated(to, size, 0, from, max_length);
}

static inline HRESULT StringCchCatW(WCHAR *to, size_t size, const WCHAR *from)
{
    return tacho_compat_append_truncated(to, size, to ? tacho_compat_wcsnlen(to, size) : 0, from, STRSAFE_MAX_CCH);
}

static inline HRESULT StringCchVPrintfW(WCHAR *to, size_t size, const WCHAR *text, va_list list)
{
    int length;
    if (!to || size == 0 || size > STRSAFE_MAX_CCH || !text) {
        return STRSAFE_E_INVALID_PARAMETER;
    }
    length = tacho_compat_vsnwprintf(to, size, text, list);
    return length < 0 ? STRSAFE_E_INVALID_PARAMETER
                      : (size_t)length < size ? S_OK : STRSAFE_E_INSUFFICIENT_BUFFER;
}

static inline HRESULT StringCchPrintfW(WCHAR *to, size_t size, const WCHAR *text, ...)
{
    HRESULT result;
    va_list list;
    va_start(list, text);
    result = StringCchVPrintfW(to, size, text, list);
    va_end(list);
    return result;
}

static inline HRESULT StringCchCopyA(char *to, size_t size, const char *from)
{
    size_t i;
    if (!to || size == 0 || size > STRSAFE_MAX_CCH) {
        return STRSAFE_E_INVALID_PARAMETER;
    }
    for (i = 0; from && from[i] && i + 1 < size; i++) {
        to[i] = from[i];
    }
    to[i] = 0;
    return from && from[i] ? STRSAFE_E_INSUFFICIENT_BUFFER : S_OK;
}

static inline HRESULT StringCchCatA(char *to, size_t size, const char *from)
{
    size_t used = 0;
    while (to && used < size && to[used]) {
        used++;
    }
    return to && used < size ? StringCchCopyA(to + used, size - used, from) : STRSAFE_E_INVALID_PARAMETER;
}

static inline HRESULT StringCchPrintfA(char *to, size_t size, const char *text, ...)
{
    int length;
    va_list list;
    if (!to || size == 0 || size > STRSAFE_MAX_CCH || !text) {
        return STRSAFE_E_INVALID_PARAMETER;
    }
    va_start(list, text);
    length = tacho_compat_vsnprintf(to, size, text, list);
    va_end(list);
    return length < 0 ? STRSAFE_E_INVALID_PARAMETER
                      : (size_t)length < size ? S_OK : STRSAFE_E_INSUFFICIENT_BUFFER;
}

/* ---- Sizes in bytes ---- */

static inline HRESULT StringCbLengthW(const WCHAR *text, size_t max_length, size_t *length)
{
    const HRESULT result = StringCchLengthW(text, max_length / sizeof(WCHAR), length);
    if (length) {
        *length *= sizeof(WCHAR);
    }
    return result;
}

static inline HRESULT StringCbCopyW(WCHAR *to, size_t size, const WCHAR *from)
{
    return StringCchCopyW(to, size / sizeof(WCHAR), from);
}

static inline HRESULT StringCbCatW(WCHAR *to, size_t size, const WCHAR *from)
{
    return StringCchCatW(to, size / sizeof(WCHAR), from);
}

static inline HRESULT StringCbPrintfW(WCHAR *to, size_t size, const WCHAR *text, ...)
{
    HRESULT result;
    va_list list;
    va_start(list, text);
    result = StringCchVPrintfW(to, size / sizeof(WCHAR), text, list);
    va_end(list);
    return result;
}

#define StringCbLengthA StringCchLengthA
#define StringCbCopyA StringCchCopyA
#define StringCbCatA StringCchCatA
#define StringCbPrintfA StringCchPrintfA

#ifdef UNICODE
#define StringCbLength StringCbLengthW
#define StringCbCopy StringCbCopyW
#define StringCbCat StringCbCatW
#define StringCbPrintf StringCbPrintfW
#define StringCchLength StringCchLengthW
#define StringCchCopy StringCchCopyW
#define StringCchCopyN StringCchCopyNW
#define StringCchCat StringCchCatW
#define StringCchPrintf StringCchPrintfW
#else
#define StringCbLength StringCbLengthA
#define StringCbCopy StringCbCopyA
#define StringCbCat StringCbCatA
#define StringCbPrintf StringCbPrintfA
#define StringCchLength StringCchLengthA
#define StringCchCopy StringCchCopyA
#define StringCchCat StringCchCatA
#define StringCchPrintf StringCchPrintfA
#endif

#endif
