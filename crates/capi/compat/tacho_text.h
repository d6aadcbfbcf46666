/*
 * tacho_text.h: 16-bit forms of the wide text functions, since glibc's use 32-bit characters. Part of the
 * compatibility folder; windows.h includes it.
 *
 * In C, and in C++ with -fshort-wchar, they replace glibc's functions under the standard names, including in std. In
 * C++ without -fshort-wchar they are overloads for char16_t.
 */
#ifndef TACHO_COMPAT_TEXT_H
#define TACHO_COMPAT_TEXT_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#ifdef __cplusplus
#include <cstdlib>
#include <cstring>
#include <cwchar>
#endif
#include <winnt.h>

#ifndef TACHO_COMPAT_ERRNO_T
#define TACHO_COMPAT_ERRNO_T
typedef int errno_t;
typedef size_t rsize_t;
#endif
/* The result of a copy that _TRUNCATE shortened. */
#define STRUNCATE 80
#define _TRUNCATE ((size_t)-1)

/* ---- Length, comparison, search ---- */

static inline size_t tacho_compat_wcsnlen(const WCHAR *text, size_t max_length)
{
    size_t length = 0;
    while (length < max_length && text[length]) {
        length++;
    }
    return length;
}

static inline size_t tacho_compat_wcslen(const WCHAR *text)
{
    size_t length = 0;
    while (text[length]) {
        length++;
    }
    return length;
}

static inline size_t tacho_compat_wcsnlen_s(const WCHAR *text, size_t max_length)
{
    return text ? tacho_compat_wcsnlen(text, max_length) : 0;
}

/* Converts a letter of ASCII or Latin-1 to lower case; other characters are unchanged. */
static inline unsigned tacho_compat_to_lower(WCHAR c)
{
    const unsigned letter = c;
    const int is_upper = (letter >= 'A' && letter <= 'Z') || (letter >= 0xC0 && letter <= 0xDE && letter != 0xD7);
    return is_upper ? letter + 32 : letter;
}

static inline int tacho_compat_compare(const WCHAR *a, const WCHAR *b, size_t max_length, int ignores_case)
{
    size_t i;
    for (i = 0; i < max_length; i++) {
        const unsigned first = ignores_case ? tacho_compat_to_lower(a[i]) : a[i];
        const unsigned second = ignores_case ? tacho_compat_to_lower(b[i]) : b[i];
        if (first != second) {
            return first < second ? -1 : 1;
        }
        if (first == 0) {
            break;
        }
    }
    return 0;
}

static inline int tacho_compat_wcscmp(const WCHAR *a, const WCHAR *b)
{
    return tacho_compat_compare(a, b, (size_t)-1, 0);
}

static inline int tacho_compat_wcsncmp(const WCHAR *a, const WCHAR *b, size_t max_length)
{
    return tacho_compat_compare(a, b, max_length, 0);
}

static inline int _wcsicmp(const WCHAR *a, const WCHAR *b)
{
    return tacho_compat_compare(a, b, (size_t)-1, 1);
}

static inline int _wcsnicmp(const WCHAR *a, const WCHAR *b, size_t max_length)
{
    return tacho_compat_compare(a, b, max_length, 1);
}

static inline WCHAR *tacho_compat_wcschr(const WCHAR *text, WCHAR c)
{
    for (;; text++) {
        if (*text == c) {
            return (WCHAR *)(uintptr_t)text;
        }
        if (*text == 0) {
            return NULL;
        }
    }
}

static inline WCHAR *tacho_compat_wcsrchr(const WCHAR *text, WCHAR c)
{
    const WCHAR *found = NULL;
    for (;; text++) {
        if (*text == c) {
            found = text;
        }
        if (*text == 0) {
            return (WCHAR *)(uintptr_t)found;
        }
    }
}

static inline WCHAR *tacho_compat_wcsstr(const WCHAR *text, const WCHAR *wanted)
{
    const size_t length = tacho_compat_wcslen(wanted);
    for (;; text++) {
        if (tacho_compat_wcsncmp(text, wanted, length) == 0) {
            return (WCHAR *)(uintptr_t)text;
        }
        if (*text == 0) {
            return NULL;
        }
    }
}

/* ---- Copies ---- */

static inline WCHAR *tacho_compat_wcscpy(WCHAR *to, const WCHAR *from)
{
    return (WCHAR *)memcpy(to, from, (tacho_compat_wcslen(from) + 1) * sizeof(WCHAR));
}

static inline WCHAR *tacho_compat_wcscat(WCHAR *to, const WCHAR *from)
{
    tacho_compat_wcscpy(to + tacho_compat_wcslen(to), from);
    return to;
}

/* Fills the rest with zeros, as the standard requires. */
static inline WCHAR *tacho_compat_wcsncpy(WCHAR *to, const WCHAR *from, size_t max_length)
{
    const size_t length = tacho_compat_wcsnlen(from, max_length);
    memcpy(to, from, length * sizeof(WCHAR));
    memset(to + length, 0, (max_length - length) * sizeof(WCHAR));
    return to;
}

static inline WCHAR *tacho_compat_wmemcpy(WCHAR *to, const WCHAR *from, size_t count)
{
    return count ? (WCHAR *)memcpy(to, from, count * sizeof(WCHAR)) : to;
}

static inline WCHAR *tacho_compat_wmemset(WCHAR *to, WCHAR c, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        to[i] = c;
    }
    return to;
}

static inline WCHAR *_wcsdup(const WCHAR *text)
{
    const size_t bytes = (tacho_compat_wcslen(text) + 1) * sizeof(WCHAR);
    WCHAR *copy = (WCHAR *)malloc(bytes);
    return copy ? (WCHAR *)memcpy(copy, text, bytes) : NULL;
}

/*
 * Writes at most `max_length` characters of `from` after the first `used` characters of `to`, whose capacity is `size`.
 * If they do not fit, `to` becomes empty, and the result is ERANGE; if `max_length` is _TRUNCATE, the text is
 * truncated, and the result is STRUNCATE.
 */
static inline errno_t tacho_compat_append_checked(WCHAR *to, size_t size, size_t used, const WCHAR *from,
                                                  size_t max_length)
{
    size_t i, length;
    if (!to || size == 0) {
        return errno = EINVAL;
    }
    if (!from) {
        if (max_length == 0) {
            return 0;
        }
        to[0] = 0;
        return errno = EINVAL;
    }
    if (used >= size) {
        to[0] = 0;
        return errno = EINVAL;
    }
    length = tacho_compat_wcsnlen(from, max_length == _TRUNCATE || max_length > size - used ? size - used : max_length);
    if (length < size - used) {
        for (i = 0; i < length; i++) {
            to[used + i] = from[i];
        }
        to[used + length] = 0;
        return 0;
    }
    if (max_length == _TRUNCATE) {
        for (i = 0; i + 1 < size - used; i++) {
            to[used + i] = from[i];
        }
        to[size - 1] = 0;
        return STRUNCATE;
    }
    to[0] = 0;
    return errno = ERANGE;
}

static inline errno_t wcsncpy_s(WCHAR *to, size_t size, const WCHAR *from, size_t max_length)
{
    if (!to && size == 0 && max_length == 0) {
        return 0;
    }
    if (to && size > 0 && max_length == 0) {
        to[0] = 0;
        return 0;
    }
    return tacho_compat_append_checked(to, size, 0, from, max_length);
}

static inline errno_t wcscpy_s(WCHAR *to, size_t size, const WCHAR *from)
{
    return tacho_compat_append_checked(to, size, 0, from, (size_t)-2);
}

static inline errno_t wcsncat_s(WCHAR *to, size_t size, const WCHAR *from, size_t max_length)
{
    return tacho_compat_append_checked(to, size, to ? tacho_compat_wcsnlen(to, size) : 0, from, max_length);
}

static inline errno_t wcscat_s(WCHAR *to, size_t size, const WCHAR *from)
{
    return tacho_compat_append_checked(to, size, to ? tacho_compat_wcsnlen(to, size) : 0, from, (size_t)-2);
}

/* ---- Numbers ---- */

/*
 * Parses the number at the start of a text, and returns it without its sign. If it is larger than `max_positive`, or
 * with a minus sign than `max_negative`, returns this limit and sets errno to ERANGE. `is_negative` receives the sign,
 * `end` the end of the number, or the start of the text if there is no number.
 */
static inline ULONGLONG tacho_compat_parse_number(const WCHAR *text, WCHAR **end, int base, ULONGLONG max_positive,
                                                  ULONGLONG max_negative, int *is_negative)
{
    const WCHAR *at = text, *digits;
    ULONGLONG value = 0, limit;
    int is_out_of_range = 0;
    while (*at == ' ' || (*at >= 9 && *at <= 13)) {
        at++;
    }
    *is_negative = *at == '-';
    if (*at == '-' || *at == '+') {
        at++;
    }
    limit = *is_negative ? max_negative : max_positive;
    if ((base == 0 || base == 16) && at[0] == '0' && tacho_compat_to_lower(at[1]) == 'x') {
        const unsigned next = tacho_compat_to_lower(at[2]);
        if ((next >= '0' && next <= '9') || (next >= 'a' && next <= 'f')) {
            at += 2;
            base = 16;
        }
    }
    if (base == 0) {
        base = *at == '0' ? 8 : 10;
    }
    for (digits = at;; at++) {
        const unsigned c = tacho_compat_to_lower(*at);
        const unsigned digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
        if (digit >= (unsigned)base) {
            break;
        }
        if (value > (limit - digit) / (unsigned)base) {
            is_out_of_range = 1;
        }
        value = value * (unsigned)base + digit;
    }
    if (end) {
        *end = (WCHAR *)(uintptr_t)(at == digits ? text : at);
    }
    if (is_out_of_range) {
        errno = ERANGE;
        return limit;
    }
    return value;
}

/* A long has 32 bits on Windows. */
static inline LONG tacho_compat_wcstol(const WCHAR *text, WCHAR **end, int base)
{
    int is_negative;
    const ULONGLONG value = tacho_compat_parse_number(text, end, base, 0x7FFFFFFF, 0x80000000, &is_negative);
    return (LONG)(is_negative ? -(LONGLONG)value : (LONGLONG)value);
}

static inline ULONG tacho_compat_wcstoul(const WCHAR *text, WCHAR **end, int base)
{
    int is_negative;
    const ULONGLONG value = tacho_compat_parse_number(text, end, base, 0xFFFFFFFF, 0xFFFFFFFF, &is_negative);
    return is_negative && value != 0xFFFFFFFF ? 0 - (ULONG)value : (ULONG)value;
}

static inline LONGLONG _wcstoi64(const WCHAR *text, WCHAR **end, int base)
{
    int is_negative;
    const ULONGLONG value =
        tacho_compat_parse_number(text, end, base, 0x7FFFFFFFFFFFFFFFULL, 0x8000000000000000ULL, &is_negative);
    return (LONGLONG)(is_negative ? 0 - value : value);
}

static inline ULONGLONG _wcstoui64(const WCHAR *text, WCHAR **end, int base)
{
    int is_negative;
    const ULONGLONG value =
        tacho_compat_parse_number(text, end, base, 0xFFFFFFFFFFFFFFFFULL, 0xFFFFFFFFFFFFFFFFULL, &is_negative);
    return is_negative && value != 0xFFFFFFFFFFFFFFFFULL ? 0 - value : value;
}

static inline int _wtoi(const WCHAR *text)
{
    return tacho_compat_wcstol(text, NULL, 10);
}

static inline LONGLONG _wtoi64(const WCHAR *text)
{
    return _wcstoi64(text, NULL, 10);
}

/* ---- The standard names ---- */

#define TACHO_COMPAT_TEXT_FUNCTIONS(F) \
    F(wcslen) F(wcsnlen) F(wcscmp) F(wcsncmp) F(wcschr) F(wcsrchr) F(wcsstr) F(wcscpy) F(wcscat) F(wcsncpy)  \
    F(wmemcpy) F(wmemset)

#if defined(__cplusplus) && __SIZEOF_WCHAR_T__ != 2
#define TACHO_COMPAT_OVERLOAD(name)                                                       \
    template <class... A>                                                                 \
    auto name(const char16_t *text, A... rest)->decltype(tacho_compat_##name(text, rest...)) \
    {                                                                                     \
        return tacho_compat_##name(text, rest...);                                        \
    }                                                                                     \
    template <class... A>                                                                 \
    auto name(char16_t *text, A... rest)->decltype(tacho_compat_##name(text, rest...))       \
    {                                                                                     \
        return tacho_compat_##name(text, rest...);                                        \
    }
extern "C++" {
TACHO_COMPAT_TEXT_FUNCTIONS(TACHO_COMPAT_OVERLOAD)
inline LONG wcstol(const char16_t *text, char16_t **end, int base)
{
    return tacho_compat_wcstol(text, end, base);
}
inline ULONG wcstoul(const char16_t *text, char16_t **end, int base)
{
    return tacho_compat_wcstoul(text, end, base);
}
}
#else
#if defined(__cplusplus)
#define TACHO_COMPAT_IN_STD(name) using ::tacho_compat_##name;
namespace std {
TACHO_COMPAT_TEXT_FUNCTIONS(TACHO_COMPAT_IN_STD)
using ::tacho_compat_wcstol;
using ::tacho_compat_wcstoul;
}
#endif
#define wcslen tacho_compat_wcslen
#define wcsnlen tacho_compat_wcsnlen
#define wcscmp tacho_compat_wcscmp
#define wcsncmp tacho_compat_wcsncmp
#define wcschr tacho_compat_wcschr
#define wcsrchr tacho_compat_wcsrchr
#define wcsstr tacho_compat_wcsstr
#define wcscpy tacho_compat_wcscpy
#define wcscat tacho_compat_wcscat
#define wcsncpy tacho_compat_wcsncpy
#define wmemcpy tacho_compat_wmemcpy
#define wmemset tacho_compat_wmemset
#define wcstol tacho_compat_wcstol
#define wcstoul tacho_compat_wcstoul
#endif
#define wcsnlen_s tacho_compat_wcsnlen_s

/* ---- Narrow copies with a size ---- */

static inline errno_t strncpy_s(char *to, size_t size, const char *from, size_t max_length)
{
    size_t length = 0;
    if (!to || size == 0 || !from) {
        if (to && size) {
            to[0] = 0;
        }
        return errno = EINVAL;
    }
    while (length < size && length < max_length && from[length]) {
        length++;
    }
    if (length < size) {
        memmove(to, from, length);
        to[length] = 0;
        return 0;
    }
    if (max_length == _TRUNCATE) {
        memmove(to, from, size - 1);
        to[size - 1] = 0;
        return STRUNCATE;
    }
    to[0] = 0;
    return errno = ERANGE;
}

static inline errno_t strcpy_s(char *to, size_t size, const char *from)
{
    return strncpy_s(to, size, from, (size_t)-2);
}

static inline errno_t strcat_s(char *to, size_t size, const char *from)
{
    size_t used = 0;
    errno_t error;
    if (!to || size == 0) {
        return errno = EINVAL;
    }
    while (used < size && to[used]) {
        used++;
    }
    error = used == size ? (errno = EINVAL) : strncpy_s(to + used, size - used, from, (size_t)-2);
    if (error) {
        to[0] = 0;
    }
    return error;
}

/* Compares, ignoring the case of ASCII letters. */
static inline int _stricmp(const char *a, const char *b)
{
    for (;; a++, b++) {
        const unsigned first = (unsigned char)*a, second = (unsigned char)*b;
        const unsigned x = first - 'A' < 26 ? first + 32 : first, y = second - 'A' < 26 ? second + 32 : second;
        if (x != y) {
            return x < y ? -1 : 1;
        }
        if (x == 0) {
            return 0;
        }
    }
}

static inline char *_strdup(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = (char *)malloc(bytes);
    return copy ? (char *)memcpy(copy, text, bytes) : NULL;
}

/* ---- Forms that deduce the size of an array ---- */

#ifdef __cplusplus
extern "C++" {
template <size_t N>
errno_t wcsncpy_s(WCHAR (&to)[N], const WCHAR *from, size_t max_length)
{
    return wcsncpy_s(to, N, from, max_length);
}
template <size_t N>
errno_t wcscpy_s(WCHAR (&to)[N], const WCHAR *from)
{
    return wcscpy_s(to, N, from);
}
template <size_t N>
errno_t wcsncat_s(WCHAR (&to)[N], const WCHAR *from, size_t max_length)
{
    return wcsncat_s(to, N, from, max_length);
}
template <size_t N>
errno_t wcscat_s(WCHAR (&to)[N], const WCHAR *from)
{
    return wcscat_s(to, N, from);
}
template <size_t N>
errno_t strncpy_s(char (&to)[N], const char *from, size_t max_length)
{
    return strncpy_s(to, N, from, max_length);
}
template <size_t N>
errno_t strcpy_s(char (&to)[N], const char *from)
{
    return strcpy_s(to, N, from);
}
template <size_t N>
errno_t strcat_s(char (&to)[N], const char *from)
{
    return strcat_s(to, N, from);
}
}
#endif

#endif
