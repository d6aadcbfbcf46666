/*
 * tacho_system.h: code pages, the computer name, libraries, error texts. Part of the compatibility folder; windows.h
 * includes it.
 */
#ifndef TACHO_COMPAT_SYSTEM_H
#define TACHO_COMPAT_SYSTEM_H

#include <tacho_print.h>
#include <winbase.h>

/* ---- Code pages: all are UTF-8 ---- */

#define CP_ACP 0
#define CP_UTF8 65001

/*
 * Returns the converted length, which is the required size if `size` is 0. If the buffer is too small, returns 0 and
 * sets the last error.
 */
static inline int tacho_compat_conversion_result(const struct tacho_compat_output *output, int size)
{
    if (output->count == 0 || output->count > 0x7FFFFFFF) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return 0;
    }
    if (size && output->count > (size_t)size) {
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return 0;
    }
    return (int)output->count;
}

static inline int tacho_compat_can_convert(UINT code_page, const void *text, int length, const void *to, int size)
{
    const int is_utf8 = code_page == CP_UTF8 || code_page == CP_ACP;
    if (!is_utf8 || !text || length == 0 || length < -1 || size < 0 || (size && !to)) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return 0;
    }
    return 1;
}

/* A length of -1 means up to and including the terminating NUL. Invalid UTF-8 becomes U+FFFD. */
static inline int MultiByteToWideChar(UINT code_page, DWORD flags, const char *text, int length, WCHAR *to, int size)
{
    struct tacho_compat_output output;
    WCHAR none;
    (void)flags;
    if (!tacho_compat_can_convert(code_page, text, length, to, size)) {
        return 0;
    }
    memset(&output, 0, sizeof output);
    output.units = size ? to : &none;
    output.capacity = (size_t)size;
    output.is_wide = 1;
    tacho_compat_write_utf8(&output, text, length < 0 ? strlen(text) + 1 : (size_t)length);
    if (output.missing_bytes) {
        tacho_compat_write_unit(&output, 0xFFFD);
    }
    return tacho_compat_conversion_result(&output, size);
}

/* Unpaired surrogates become U+FFFD. The default character is ignored: UTF-8 can encode all characters. */
static inline int WideCharToMultiByte(UINT code_page, DWORD flags, const WCHAR *text, int length, char *to, int size,
                                      const char *replacement, BOOL *was_replaced)
{
    struct tacho_compat_output output;
    size_t i, count;
    (void)flags;
    (void)replacement;
    if (was_replaced) {
        *was_replaced = FALSE;
    }
    if (!tacho_compat_can_convert(code_page, text, length, to, size)) {
        return 0;
    }
    memset(&output, 0, sizeof output);
    output.bytes = size ? to : NULL;
    output.capacity = (size_t)size;
    count = length < 0 ? tacho_compat_wcslen(text) + 1 : (size_t)length;
    for (i = 0; i < count; i++) {
        tacho_compat_write_unit(&output, text[i]);
    }
    tacho_compat_flush_surrogate(&output);
    return tacho_compat_conversion_result(&output, size);
}

/* ---- The machine ---- */

#define MAX_COMPUTERNAME_LENGTH 64

/* Declares gethostname under another name, since strict C modes hide it. */
#ifdef __cplusplus
extern "C"
#else
extern
#endif
int tacho_compat_gethostname(char *name, size_t size) __asm__("gethostname");

/*
 * *size is the capacity on entry, and the length without the terminating NUL on return. If the capacity is too small,
 * *size becomes the required capacity.
 */
static inline BOOL GetComputerNameA(char *name, DWORD *size)
{
    char host[256] = "";
    size_t length;
    if (!size || tacho_compat_gethostname(host, sizeof host - 1) != 0) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    length = strlen(host);
    if (!name || length >= *size) {
        *size = (DWORD)length + 1;
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return FALSE;
    }
    memcpy(name, host, length + 1);
    *size = (DWORD)length;
    return TRUE;
}

static inline BOOL GetComputerNameW(WCHAR *name, DWORD *size)
{
    char host[256];
    WCHAR wide[256];
    DWORD capacity = sizeof host;
    int length;
    if (!size || !GetComputerNameA(host, &capacity)) {
        SetLastError(ERROR_INVALID_PARAMETER);
        return FALSE;
    }
    length = MultiByteToWideChar(CP_UTF8, 0, host, -1, wide, 256);
    if (!name || (DWORD)length > *size) {
        *size = (DWORD)length;
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return FALSE;
    }
    memcpy(name, wide, (size_t)length * sizeof(WCHAR));
    *size = (DWORD)length - 1;
    return TRUE;
}

/* ---- Windows libraries: loading always fails ---- */

static inline HMODULE LoadLibraryA(const char *name)
{
    (void)name;
    SetLastError(ERROR_MOD_NOT_FOUND);
    return NULL;
}

static inline HMODULE LoadLibraryW(const WCHAR *name)
{
    (void)name;
    return LoadLibraryA(NULL);
}

static inline BOOL FreeLibrary(HMODULE library)
{
    (void)library;
    SetLastError(ERROR_INVALID_HANDLE);
    return FALSE;
}

/* ---- Error texts: the code in hexadecimal ---- */

#define FORMAT_MESSAGE_ALLOCATE_BUFFER 0x00000100
#define FORMAT_MESSAGE_IGNORE_INSERTS 0x00000200
#define FORMAT_MESSAGE_FROM_STRING 0x00000400
#define FORMAT_MESSAGE_FROM_HMODULE 0x00000800
#define FORMAT_MESSAGE_FROM_SYSTEM 0x00001000
#define FORMAT_MESSAGE_ARGUMENT_ARRAY 0x00002000
#define FORMAT_MESSAGE_MAX_WIDTH_MASK 0x000000FF

/*
 * Writes "code 0xC0000BB8" and a line end, as Windows ends its texts; returns the length without the terminating NUL.
 * FORMAT_MESSAGE_FROM_STRING is not supported. TachoLastErrorText returns the cause of the library's last error.
 */
static inline DWORD FormatMessageA(DWORD flags, LPCVOID source, DWORD code, DWORD language, char *to, DWORD size,
                                   va_list *arguments)
{
    char text[32];
    size_t bytes;
    (void)source;
    (void)language;
    (void)arguments;
    if ((flags & FORMAT_MESSAGE_FROM_STRING) || !to) {
        SetLastError(to ? ERROR_NOT_SUPPORTED : ERROR_INVALID_PARAMETER);
        return 0;
    }
    bytes = (size_t)tacho_compat_snprintf(text, sizeof text, "code 0x%08X\r\n", code) + 1;
    if (flags & FORMAT_MESSAGE_ALLOCATE_BUFFER) {
        /* The argument points to a pointer, whose memory the caller frees with LocalFree. */
        char *const allocated = (char *)LocalAlloc(LMEM_FIXED, size > bytes ? size : bytes);
        memcpy(to, &allocated, sizeof allocated);
        if (!allocated) {
            SetLastError(ERROR_NOT_ENOUGH_MEMORY);
            return 0;
        }
        to = allocated;
    } else if (bytes > size) {
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return 0;
    }
    memcpy(to, text, bytes);
    return (DWORD)bytes - 1;
}

static inline DWORD FormatMessageW(DWORD flags, LPCVOID source, DWORD code, DWORD language, WCHAR *to, DWORD size,
                                   va_list *arguments)
{
    char text[32];
    const DWORD ignored = FORMAT_MESSAGE_ALLOCATE_BUFFER;
    const DWORD length = FormatMessageA(flags & ~ignored, source, code, language, to ? text : NULL, sizeof text, arguments);
    if (length == 0) {
        return 0;
    }
    if (flags & FORMAT_MESSAGE_ALLOCATE_BUFFER) {
        WCHAR *const allocated =
            (WCHAR *)LocalAlloc(LMEM_FIXED, ((size_t)(size > length ? size : length) + 1) * sizeof(WCHAR));
        memcpy(to, &allocated, sizeof allocated);
        if (!allocated) {
            SetLastError(ERROR_NOT_ENOUGH_MEMORY);
            return 0;
        }
        to = allocated;
    } else if (length >= size) {
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return 0;
    }
    (void)MultiByteToWideChar(CP_UTF8, 0, text, -1, to, (int)length + 1);
    return length;
}

#ifdef UNICODE
#define GetComputerName GetComputerNameW
#define LoadLibrary LoadLibraryW
#define FormatMessage FormatMessageW
#else
#define GetComputerName GetComputerNameA
#define LoadLibrary LoadLibraryA
#define FormatMessage FormatMessageA
#endif

#endif
