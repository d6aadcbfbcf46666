/*
 * tacho_print.h: the printf family with Windows' sizes: %ls and %S take 16-bit text, a long (%ld, %lu) has 32 bits;
 * %I64d, %I64u and %hs are supported. Part of the compatibility folder; windows.h includes it.
 *
 * Wide output is written as UTF-8, so printf and wprintf can be mixed. %n is rejected.
 */
#ifndef TACHO_COMPAT_PRINT_H
#define TACHO_COMPAT_PRINT_H

#include <tacho_format.h>

/* ---- Functions with a va_list ---- */

static inline int tacho_compat_result(const struct tacho_compat_output *output)
{
    return output->has_failed || output->count > 0x7FFFFFFF ? -1 : (int)output->count;
}

static inline int tacho_compat_vfprintf(FILE *stream, const char *text, va_list list)
{
    struct tacho_compat_output output;
    struct tacho_compat_format format;
    struct tacho_compat_arguments arguments;
    memset(&output, 0, sizeof output);
    output.stream = stream;
    format.bytes = text;
    format.units = NULL;
    va_copy(arguments.list, list);
    tacho_compat_print(&output, &format, &arguments);
    va_end(arguments.list);
    return tacho_compat_result(&output);
}

static inline int tacho_compat_vfwprintf(FILE *stream, const WCHAR *text, va_list list)
{
    struct tacho_compat_output output;
    struct tacho_compat_format format;
    struct tacho_compat_arguments arguments;
    memset(&output, 0, sizeof output);
    output.stream = stream;
    output.is_wide = 1;
    format.bytes = NULL;
    format.units = text;
    va_copy(arguments.list, list);
    tacho_compat_print(&output, &format, &arguments);
    va_end(arguments.list);
    return tacho_compat_result(&output);
}

/* Like the standard vsnprintf: truncates, terminates, and returns the full length. */
static inline int tacho_compat_vsnprintf(char *buffer, size_t size, const char *text, va_list list)
{
    struct tacho_compat_output output;
    struct tacho_compat_format format;
    struct tacho_compat_arguments arguments;
    memset(&output, 0, sizeof output);
    output.bytes = buffer;
    output.capacity = size;
    format.bytes = text;
    format.units = NULL;
    va_copy(arguments.list, list);
    tacho_compat_print(&output, &format, &arguments);
    va_end(arguments.list);
    if (buffer && size) {
        buffer[output.count < size ? output.count : size - 1] = 0;
    }
    return tacho_compat_result(&output);
}

/* The same for 16-bit units. */
static inline int tacho_compat_vsnwprintf(WCHAR *buffer, size_t size, const WCHAR *text, va_list list)
{
    struct tacho_compat_output output;
    struct tacho_compat_format format;
    struct tacho_compat_arguments arguments;
    WCHAR none = 0;
    memset(&output, 0, sizeof output);
    output.units = buffer ? buffer : &none;
    output.capacity = buffer ? size : 0;
    output.is_wide = 1;
    format.bytes = NULL;
    format.units = text;
    va_copy(arguments.list, list);
    tacho_compat_print(&output, &format, &arguments);
    va_end(arguments.list);
    if (buffer && size) {
        buffer[output.count < size ? output.count : size - 1] = 0;
    }
    return tacho_compat_result(&output);
}

/* Like the standard vswprintf: a text that does not fit is an error. */
static inline int tacho_compat_vswprintf(WCHAR *buffer, size_t size, const WCHAR *text, va_list list)
{
    const int length = tacho_compat_vsnwprintf(buffer, size, text, list);
    return length < 0 || (size_t)length >= size ? -1 : length;
}

/* The _s forms: if the text does not fit, the buffer becomes empty, and the result is -1. */
static inline int vswprintf_s(WCHAR *buffer, size_t size, const WCHAR *text, va_list list)
{
    const int length = buffer && size && text ? tacho_compat_vsnwprintf(buffer, size, text, list) : -1;
    if (length < 0 || (size_t)length >= size) {
        if (buffer && size) {
            buffer[0] = 0;
        }
        errno = length < 0 ? EINVAL : ERANGE;
        return -1;
    }
    return length;
}

static inline int vsprintf_s(char *buffer, size_t size, const char *text, va_list list)
{
    const int length = buffer && size && text ? tacho_compat_vsnprintf(buffer, size, text, list) : -1;
    if (length < 0 || (size_t)length >= size) {
        if (buffer && size) {
            buffer[0] = 0;
        }
        errno = length < 0 ? EINVAL : ERANGE;
        return -1;
    }
    return length;
}

/* Writes at most `max_length` characters, with _TRUNCATE as many as fit; -1 if the text was truncated. */
static inline int _vsnwprintf_s(WCHAR *buffer, size_t size, size_t max_length, const WCHAR *text, va_list list)
{
    const size_t capacity = max_length < size ? max_length + 1 : size;
    const int length = buffer && size && text ? tacho_compat_vsnwprintf(buffer, capacity, text, list) : -1;
    if (length >= 0 && (size_t)length < capacity) {
        return length;
    }
    if (buffer && size && (length < 0 || (max_length != _TRUNCATE && max_length >= size))) {
        buffer[0] = 0;
    }
    return -1;
}

static inline int _vsnprintf_s(char *buffer, size_t size, size_t max_length, const char *text, va_list list)
{
    const size_t capacity = max_length < size ? max_length + 1 : size;
    const int length = buffer && size && text ? tacho_compat_vsnprintf(buffer, capacity, text, list) : -1;
    if (length >= 0 && (size_t)length < capacity) {
        return length;
    }
    if (buffer && size && (length < 0 || (max_length != _TRUNCATE && max_length >= size))) {
        buffer[0] = 0;
    }
    return -1;
}

/* ---- Functions with variable arguments ---- */

#define TACHO_COMPAT_FORWARD(call)   \
    int result;                      \
    va_list list;                    \
    va_start(list, text);            \
    result = (call);                 \
    va_end(list);                    \
    return result

static inline int tacho_compat_printf(const char *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vfprintf(stdout, text, list));
}

static inline int tacho_compat_fprintf(FILE *stream, const char *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vfprintf(stream, text, list));
}

static inline int tacho_compat_snprintf(char *buffer, size_t size, const char *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vsnprintf(buffer, size, text, list));
}

static inline int tacho_compat_sprintf(char *buffer, const char *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vsnprintf(buffer, 0x7FFFFFFF, text, list));
}

static inline int tacho_compat_wprintf(const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vfwprintf(stdout, text, list));
}

static inline int tacho_compat_fwprintf(FILE *stream, const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vfwprintf(stream, text, list));
}

static inline int tacho_compat_vwprintf(const WCHAR *text, va_list list)
{
    return tacho_compat_vfwprintf(stdout, text, list);
}

static inline int tacho_compat_vprintf(const char *text, va_list list)
{
    return tacho_compat_vfprintf(stdout, text, list);
}

static inline int tacho_compat_swprintf(WCHAR *buffer, size_t size, const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(tacho_compat_vswprintf(buffer, size, text, list));
}

static inline int swprintf_s(WCHAR *buffer, size_t size, const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(vswprintf_s(buffer, size, text, list));
}

static inline int sprintf_s(char *buffer, size_t size, const char *text, ...)
{
    TACHO_COMPAT_FORWARD(vsprintf_s(buffer, size, text, list));
}

static inline int _snwprintf_s(WCHAR *buffer, size_t size, size_t max_length, const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(_vsnwprintf_s(buffer, size, max_length, text, list));
}

static inline int _snprintf_s(char *buffer, size_t size, size_t max_length, const char *text, ...)
{
    TACHO_COMPAT_FORWARD(_vsnprintf_s(buffer, size, max_length, text, list));
}

/* ---- Wide output without a format ---- */

static inline int tacho_compat_fputws(const WCHAR *text, FILE *stream)
{
    return tacho_compat_fprintf(stream, "%ls", text);
}

static inline int _putws(const WCHAR *text)
{
    return tacho_compat_printf("%ls\n", text);
}

static inline wint_t tacho_compat_fputwc(WCHAR c, FILE *stream)
{
    return tacho_compat_fprintf(stream, "%lc", c) < 0 ? WEOF : (wint_t)c;
}

static inline wint_t tacho_compat_putwchar(WCHAR c)
{
    return tacho_compat_fputwc(c, stdout);
}

/* ---- The standard names ---- */

#ifdef __cplusplus
/*
 * Narrow functions are templates, which overload resolution prefers to the C library's whenever there is an argument,
 * including in std. Unlike macros, they hide no other names.
 */
extern "C++" {
template <class A, class... B>
int printf(const char *text, A a, B... b)
{
    return tacho_compat_printf(text, a, b...);
}
template <class A, class... B>
int fprintf(FILE *stream, const char *text, A a, B... b)
{
    return tacho_compat_fprintf(stream, text, a, b...);
}
template <class A, class... B>
int sprintf(char *buffer, const char *text, A a, B... b)
{
    return tacho_compat_sprintf(buffer, text, a, b...);
}
template <class A, class... B>
int snprintf(char *buffer, size_t size, const char *text, A a, B... b)
{
    return tacho_compat_snprintf(buffer, size, text, a, b...);
}
template <size_t N, class... A>
int sprintf_s(char (&buffer)[N], const char *text, A... a)
{
    return sprintf_s(buffer, N, text, a...);
}
template <size_t N, class... A>
int swprintf_s(WCHAR (&buffer)[N], const WCHAR *text, A... a)
{
    return swprintf_s(buffer, N, text, a...);
}
template <size_t N, class... A>
int _snwprintf_s(WCHAR (&buffer)[N], size_t max_length, const WCHAR *text, A... a)
{
    return _snwprintf_s(buffer, N, max_length, text, a...);
}
template <size_t N, class... A>
int _snprintf_s(char (&buffer)[N], size_t max_length, const char *text, A... a)
{
    return _snprintf_s(buffer, N, max_length, text, a...);
}
}
namespace std {
using ::fprintf;
using ::printf;
using ::snprintf;
using ::sprintf;
}
#else
#define printf(...) tacho_compat_printf(__VA_ARGS__)
#define fprintf(...) tacho_compat_fprintf(__VA_ARGS__)
#define sprintf(...) tacho_compat_sprintf(__VA_ARGS__)
#define snprintf(...) tacho_compat_snprintf(__VA_ARGS__)
#define vprintf(...) tacho_compat_vprintf(__VA_ARGS__)
#define vfprintf(...) tacho_compat_vfprintf(__VA_ARGS__)
#define vsnprintf(...) tacho_compat_vsnprintf(__VA_ARGS__)
#endif

#if defined(__cplusplus) && __SIZEOF_WCHAR_T__ != 2
/* Formats of char16_t, in addition to glibc's of wchar_t. */
extern "C++" {
template <class... A>
int wprintf(const char16_t *text, A... a)
{
    return tacho_compat_wprintf(text, a...);
}
template <class... A>
int fwprintf(FILE *stream, const char16_t *text, A... a)
{
    return tacho_compat_fwprintf(stream, text, a...);
}
template <class... A>
int swprintf(char16_t *buffer, size_t size, const char16_t *text, A... a)
{
    return tacho_compat_swprintf(buffer, size, text, a...);
}
inline int fputws(const char16_t *text, FILE *stream)
{
    return tacho_compat_fputws(text, stream);
}
}
#else
#if defined(__cplusplus)
namespace std {
using ::tacho_compat_fputwc;
using ::tacho_compat_fputws;
using ::tacho_compat_fwprintf;
using ::tacho_compat_putwchar;
using ::tacho_compat_swprintf;
using ::tacho_compat_vfwprintf;
using ::tacho_compat_vswprintf;
using ::tacho_compat_vwprintf;
using ::tacho_compat_wprintf;
}
#endif
#define wprintf tacho_compat_wprintf
#define fwprintf tacho_compat_fwprintf
#define swprintf tacho_compat_swprintf
#define vwprintf tacho_compat_vwprintf
#define vfwprintf tacho_compat_vfwprintf
#define vswprintf tacho_compat_vswprintf
#define fputws tacho_compat_fputws
#define fputwc tacho_compat_fputwc
#define putwc tacho_compat_fputwc
#define putwchar tacho_compat_putwchar
#endif

#endif
