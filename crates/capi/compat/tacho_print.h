/*
 * tacho_print.h: printf and its family with Windows' sizes: %ls and %S take 16-bit text, a long (%ld, %lu) has 32
 * bits, and there are %I64d, %I64u, %hs. Part of the compatibility folder; windows.h includes it.
 *
 * Wide output is written as UTF-8, so that printf and wprintf may be mixed. %n is refused.
 */
#ifndef TACHO_COMPAT_PRINT_H
#define TACHO_COMPAT_PRINT_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
#include <cstdarg>
#include <cstdio>
#endif
#include <tacho_text.h>

/* ---- Where text goes ---- */

/* A file, or a buffer of bytes or of 16-bit units with so much room, its final zero included. */
struct tacho_compat_sink {
    FILE *stream;
    char *bytes;
    WCHAR *units;
    size_t room;
    /* What the function returns: units for wide functions, else bytes; all of the text, also what does not fit. */
    size_t count;
    int counts_units;
    int has_failed;
    /* The first half of a character that is written when the second comes; bytes of one that are still missing. */
    unsigned high;
    unsigned partial;
    int missing;
};

static inline void tacho_compat_write(struct tacho_compat_sink *sink, const char *text, size_t length)
{
    if (sink->stream) {
        if (length && fwrite(text, 1, length, sink->stream) != length) {
            sink->has_failed = 1;
        }
    } else if (sink->bytes && sink->count < sink->room) {
        const size_t left = sink->room - sink->count;
        memcpy(sink->bytes + sink->count, text, length < left ? length : left);
    }
    if (!sink->counts_units) {
        sink->count += length;
    }
}

/* A character as UTF-8. */
static inline void tacho_compat_encode(struct tacho_compat_sink *sink, unsigned c)
{
    char text[4];
    size_t length = 0;
    if (c < 0x80) {
        text[length++] = (char)c;
    } else if (c < 0x800) {
        text[length++] = (char)(0xC0 | (c >> 6));
        text[length++] = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        text[length++] = (char)(0xE0 | (c >> 12));
        text[length++] = (char)(0x80 | ((c >> 6) & 0x3F));
        text[length++] = (char)(0x80 | (c & 0x3F));
    } else {
        text[length++] = (char)(0xF0 | (c >> 18));
        text[length++] = (char)(0x80 | ((c >> 12) & 0x3F));
        text[length++] = (char)(0x80 | ((c >> 6) & 0x3F));
        text[length++] = (char)(0x80 | (c & 0x3F));
    }
    tacho_compat_write(sink, text, length);
}

/* Half a character without the other becomes U+FFFD. */
static inline void tacho_compat_flush(struct tacho_compat_sink *sink)
{
    if (sink->high) {
        sink->high = 0;
        tacho_compat_encode(sink, 0xFFFD);
    }
}

static inline void tacho_compat_unit(struct tacho_compat_sink *sink, unsigned unit)
{
    if (sink->counts_units) {
        if (sink->units && sink->count < sink->room) {
            sink->units[sink->count] = (WCHAR)unit;
        }
        sink->count++;
        if (sink->units) {
            return;
        }
    }
    if (unit >= 0xDC00 && unit < 0xE000 && sink->high) {
        const unsigned c = 0x10000 + ((sink->high - 0xD800) << 10) + (unit - 0xDC00);
        sink->high = 0;
        tacho_compat_encode(sink, c);
        return;
    }
    tacho_compat_flush(sink);
    if (unit >= 0xD800 && unit < 0xDC00) {
        sink->high = unit;
    } else {
        tacho_compat_encode(sink, unit >= 0xDC00 && unit < 0xE000 ? 0xFFFD : unit);
    }
}

/* A byte of UTF-8 into a wide function's output. What is not UTF-8 becomes U+FFFD. */
static inline void tacho_compat_byte(struct tacho_compat_sink *sink, unsigned byte)
{
    if (sink->missing && (byte & 0xC0) == 0x80) {
        sink->partial = (sink->partial << 6) | (byte & 0x3F);
        if (--sink->missing == 0) {
            const unsigned c = sink->partial;
            if (c >= 0x10000 && c < 0x110000) {
                tacho_compat_unit(sink, 0xD800 + ((c - 0x10000) >> 10));
                tacho_compat_unit(sink, 0xDC00 + ((c - 0x10000) & 0x3FF));
            } else {
                tacho_compat_unit(sink, c < 0x110000 ? c : 0xFFFD);
            }
        }
        return;
    }
    if (sink->missing) {
        sink->missing = 0;
        tacho_compat_unit(sink, 0xFFFD);
    }
    if (byte < 0x80) {
        tacho_compat_unit(sink, byte);
    } else if (byte >= 0xC2 && byte < 0xF5) {
        sink->missing = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
        sink->partial = byte & (0x3Fu >> sink->missing);
    } else {
        tacho_compat_unit(sink, 0xFFFD);
    }
}

static inline void tacho_compat_bytes(struct tacho_compat_sink *sink, const char *text, size_t length)
{
    size_t i;
    if (!sink->counts_units) {
        tacho_compat_flush(sink);
        tacho_compat_write(sink, text, length);
        return;
    }
    for (i = 0; i < length; i++) {
        tacho_compat_byte(sink, (unsigned char)text[i]);
    }
}

static inline void tacho_compat_fill(struct tacho_compat_sink *sink, char c, size_t have, size_t width)
{
    for (; have < width; have++) {
        tacho_compat_bytes(sink, &c, 1);
    }
}

/* ---- Formats ---- */

/* A format of bytes or of 16-bit units. */
struct tacho_compat_format {
    const char *bytes;
    const WCHAR *units;
};

static inline unsigned tacho_compat_next(const struct tacho_compat_format *format, size_t at)
{
    return format->units ? format->units[at] : (unsigned char)format->bytes[at];
}

/* One conversion: %[flags][width][.precision][size]letter. */
struct tacho_compat_conversion {
    char flags[8];
    int is_left;
    long width;
    long precision; /* -1: none */
    char size;      /* 'i' int, 'h' short, 'c' char, 'q' 64 bits, 'L' long double; texts: 'h' narrow, 'l' wide */
    unsigned letter;
};

struct tacho_compat_arguments {
    va_list list;
};

/* Reads a conversion that begins behind the percent sign at `at`; returns where the format goes on. */
static inline size_t tacho_compat_parse(const struct tacho_compat_format *format, size_t at,
                                        struct tacho_compat_arguments *arguments,
                                        struct tacho_compat_conversion *to)
{
    size_t flags = 0;
    unsigned c;
    memset(to, 0, sizeof *to);
    to->precision = -1;
    to->size = 'i';
    for (;; at++) {
        c = tacho_compat_next(format, at);
        if (c != '-' && c != '+' && c != ' ' && c != '#' && c != '0' && c != '\'') {
            break;
        }
        to->is_left |= c == '-';
        if (c != '\'' && flags + 1 < sizeof to->flags && !memchr(to->flags, (int)c, flags)) {
            to->flags[flags++] = (char)c;
        }
    }
    if (c == '*') {
        to->width = va_arg(arguments->list, int);
        if (to->width < 0) {
            to->width = -to->width;
            to->is_left = 1;
            if (!memchr(to->flags, '-', flags)) {
                to->flags[flags] = '-';
            }
        }
        at++;
    }
    while ((c = tacho_compat_next(format, at)) >= '0' && c <= '9') {
        to->width = to->width < 100000000 ? to->width * 10 + (long)(c - '0') : to->width;
        at++;
    }
    if (c == '.') {
        at++;
        to->precision = 0;
        if (tacho_compat_next(format, at) == '*') {
            to->precision = va_arg(arguments->list, int);
            at++;
        }
        while ((c = tacho_compat_next(format, at)) >= '0' && c <= '9') {
            to->precision = to->precision < 100000000 ? to->precision * 10 + (long)(c - '0') : to->precision;
            at++;
        }
        if (to->precision < 0) {
            to->precision = -1;
        }
    }
    c = tacho_compat_next(format, at);
    if (c == 'h') {
        at++;
        to->size = 'h';
        if (tacho_compat_next(format, at) == 'h') {
            at++;
            to->size = 'c';
        }
    } else if (c == 'l') {
        at++;
        to->size = 'l';
        if (tacho_compat_next(format, at) == 'l') {
            at++;
            to->size = 'q';
        }
    } else if (c == 'w') {
        at++;
        to->size = 'l';
    } else if (c == 'j' || c == 'z' || c == 't' || c == 'q') {
        at++;
        to->size = 'q';
    } else if (c == 'L') {
        at++;
        to->size = 'L';
    } else if (c == 'I') {
        at++;
        to->size = 'q';
        if (tacho_compat_next(format, at) == '6' && tacho_compat_next(format, at + 1) == '4') {
            at += 2;
        } else if (tacho_compat_next(format, at) == '3' && tacho_compat_next(format, at + 1) == '2') {
            at += 2;
            to->size = 'i';
        }
    }
    to->letter = tacho_compat_next(format, at);
    return to->letter ? at + 1 : at;
}

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
/* A number, by the C library: `specification` has a * for the width and, where there is one, for the precision. */
static inline void tacho_compat_print_number(struct tacho_compat_sink *sink,
                                             const struct tacho_compat_conversion *of,
                                             struct tacho_compat_arguments *arguments)
{
    const int is_real = strchr("aAeEfFgG", (int)of->letter) != NULL;
    const int is_signed = of->letter == 'd' || of->letter == 'i';
    const int width = (int)of->width, precision = (int)of->precision;
    char specification[24], local[512], *text = local;
    long double extended = 0;
    double real = 0;
    unsigned long long whole = 0;
    int length, attempt;
    size_t room = sizeof local;

    if (is_real && of->size == 'L') {
        extended = va_arg(arguments->list, long double);
    } else if (is_real) {
        real = va_arg(arguments->list, double);
    } else if (of->size == 'q') {
        whole = va_arg(arguments->list, unsigned long long);
    } else {
        const unsigned given = va_arg(arguments->list, unsigned);
        const long long number = of->size == 'h' ? (short)given : of->size == 'c' ? (signed char)given : (int)given;
        const unsigned bits = of->size == 'h' ? 0xFFFFu : of->size == 'c' ? 0xFFu : 0xFFFFFFFFu;
        whole = is_signed ? (unsigned long long)number : (given & bits);
    }
    /* A precision of -1 is none. */
    snprintf(specification, sizeof specification, "%%%s*.*%s%c", of->flags,
             is_real ? (of->size == 'L' ? "L" : "") : "ll", (char)of->letter);
    for (attempt = 0; attempt < 2; attempt++) {
        if (is_real && of->size == 'L') {
            length = snprintf(text, room, specification, width, precision, extended);
        } else if (is_real) {
            length = snprintf(text, room, specification, width, precision, real);
        } else {
            length = snprintf(text, room, specification, width, precision, whole);
        }
        if (length < 0) {
            sink->has_failed = 1;
            break;
        }
        if ((size_t)length < room) {
            tacho_compat_bytes(sink, text, (size_t)length);
            break;
        }
        room = (size_t)length + 1;
        text = (char *)malloc(room);
        if (!text) {
            sink->has_failed = 1;
            return;
        }
    }
    if (text != local) {
        free(text);
    }
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

static inline void tacho_compat_print_text(struct tacho_compat_sink *sink,
                                           const struct tacho_compat_conversion *of, const char *bytes,
                                           const WCHAR *units, size_t length)
{
    size_t i;
    if (!of->is_left) {
        tacho_compat_fill(sink, ' ', length, (size_t)of->width);
    }
    if (units) {
        for (i = 0; i < length; i++) {
            tacho_compat_unit(sink, units[i]);
        }
        if (!sink->counts_units) {
            tacho_compat_flush(sink);
        }
    } else {
        tacho_compat_bytes(sink, bytes, length);
    }
    if (of->is_left) {
        tacho_compat_fill(sink, ' ', length, (size_t)of->width);
    }
}

/* A text or a character. Those of capital letters are of the other width than the function. */
static inline void tacho_compat_print_string(struct tacho_compat_sink *sink,
                                             const struct tacho_compat_conversion *of,
                                             struct tacho_compat_arguments *arguments, int is_wide_function)
{
    const int is_capital = of->letter == 'S' || of->letter == 'C';
    const int is_wide = of->size == 'h' || of->size == 'c' ? 0 : of->size == 'l' ? 1 : is_wide_function != is_capital;
    const size_t most = of->precision < 0 ? (size_t)-1 : (size_t)of->precision;
    size_t length = 0;

    if (of->letter == 'c' || of->letter == 'C') {
        const int given = va_arg(arguments->list, int);
        const WCHAR unit = (WCHAR)given;
        const char byte = (char)given;
        tacho_compat_print_text(sink, of, &byte, is_wide ? &unit : NULL, 1);
    } else if (is_wide) {
        const WCHAR *text = va_arg(arguments->list, const WCHAR *);
        if (text) {
            tacho_compat_print_text(sink, of, NULL, text, tacho_compat_wcsnlen(text, most));
        } else {
            tacho_compat_print_text(sink, of, "(null)", NULL, most < 6 ? most : 6);
        }
    } else {
        const char *text = va_arg(arguments->list, const char *);
        text = text ? text : "(null)";
        while (length < most && text[length]) {
            length++;
        }
        tacho_compat_print_text(sink, of, text, NULL, length);
    }
}

static inline void tacho_compat_print(struct tacho_compat_sink *sink, const struct tacho_compat_format *format,
                                      struct tacho_compat_arguments *arguments)
{
    struct tacho_compat_conversion conversion;
    size_t at = 0;
    unsigned c;
    while ((c = tacho_compat_next(format, at)) != 0 && !sink->has_failed) {
        at++;
        if (c != '%') {
            if (format->units) {
                tacho_compat_unit(sink, c);
            } else {
                const char byte = (char)c;
                tacho_compat_bytes(sink, &byte, 1);
            }
            continue;
        }
        at = tacho_compat_parse(format, at, arguments, &conversion);
        if (conversion.letter == '%') {
            tacho_compat_bytes(sink, "%", 1);
        } else if (conversion.letter == 'p') {
            /* As Windows prints addresses: 16 digits. */
            char digits[20];
            const uintptr_t address = (uintptr_t)va_arg(arguments->list, void *);
            const int length = snprintf(digits, sizeof digits, "%016lX", (unsigned long)address);
            tacho_compat_print_text(sink, &conversion, digits, NULL, length < 0 ? 0 : (size_t)length);
        } else if (conversion.letter < 0x80 && conversion.letter && strchr("diouxXaAeEfFgG", (int)conversion.letter)) {
            tacho_compat_print_number(sink, &conversion, arguments);
        } else if (conversion.letter < 0x80 && conversion.letter && strchr("sScC", (int)conversion.letter)) {
            tacho_compat_print_string(sink, &conversion, arguments, sink->counts_units);
        } else {
            /* %n, which writes, and what is no conversion. */
            errno = EINVAL;
            sink->has_failed = 1;
        }
    }
    if (sink->missing) {
        sink->missing = 0;
        tacho_compat_unit(sink, 0xFFFD);
    }
    tacho_compat_flush(sink);
}

/* ---- Functions with a list of arguments ---- */

static inline int tacho_compat_result(const struct tacho_compat_sink *sink)
{
    return sink->has_failed || sink->count > 0x7FFFFFFF ? -1 : (int)sink->count;
}

static inline int tacho_compat_vfprintf(FILE *stream, const char *text, va_list list)
{
    struct tacho_compat_sink sink;
    struct tacho_compat_format format;
    struct tacho_compat_arguments arguments;
    memset(&sink, 0, sizeof sink);
    sink.stream = stream;
    format.bytes = text;
    format.units = NULL;
    va_copy(arguments.list, list);
    tacho_compat_print(&sink, &format, &arguments);
    va_end(arguments.list);
    return tacho_compat_result(&sink);
}

static inline int tacho_compat_vfwprintf(FILE *stream, const WCHAR *text, va_list list)
{
    struct tacho_compat_sink sink;
    struct tacho_compat_format format;
    struct tacho_compat_arguments arguments;
    memset(&sink, 0, sizeof sink);
    sink.stream = stream;
    sink.counts_units = 1;
    format.bytes = NULL;
    format.units = text;
    va_copy(arguments.list, list);
    tacho_compat_print(&sink, &format, &arguments);
    va_end(arguments.list);
    return tacho_compat_result(&sink);
}

/* As the standard's vsnprintf: cut, ended, and the length that it would have. */
static inline int tacho_compat_vsnprintf(char *buffer, size_t size, const char *text, va_list list)
{
    struct tacho_compat_sink sink;
    struct tacho_compat_format format;
    struct tacho_compat_arguments arguments;
    memset(&sink, 0, sizeof sink);
    sink.bytes = buffer;
    sink.room = size;
    format.bytes = text;
    format.units = NULL;
    va_copy(arguments.list, list);
    tacho_compat_print(&sink, &format, &arguments);
    va_end(arguments.list);
    if (buffer && size) {
        buffer[sink.count < size ? sink.count : size - 1] = 0;
    }
    return tacho_compat_result(&sink);
}

/* The same for 16-bit units. */
static inline int tacho_compat_vsnwprintf(WCHAR *buffer, size_t size, const WCHAR *text, va_list list)
{
    struct tacho_compat_sink sink;
    struct tacho_compat_format format;
    struct tacho_compat_arguments arguments;
    WCHAR none = 0;
    memset(&sink, 0, sizeof sink);
    sink.units = buffer ? buffer : &none;
    sink.room = buffer ? size : 0;
    sink.counts_units = 1;
    format.bytes = NULL;
    format.units = text;
    va_copy(arguments.list, list);
    tacho_compat_print(&sink, &format, &arguments);
    va_end(arguments.list);
    if (buffer && size) {
        buffer[sink.count < size ? sink.count : size - 1] = 0;
    }
    return tacho_compat_result(&sink);
}

/* The standard's vswprintf: what does not fit is an error. */
static inline int tacho_compat_vswprintf(WCHAR *buffer, size_t size, const WCHAR *text, va_list list)
{
    const int length = tacho_compat_vsnwprintf(buffer, size, text, list);
    return length < 0 || (size_t)length >= size ? -1 : length;
}

/* The _s forms: what does not fit leaves an empty text. */
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

/* At most `most` characters, with _TRUNCATE as many as fit; -1 where the text was cut. */
static inline int _vsnwprintf_s(WCHAR *buffer, size_t size, size_t most, const WCHAR *text, va_list list)
{
    const size_t room = most < size ? most + 1 : size;
    const int length = buffer && size && text ? tacho_compat_vsnwprintf(buffer, room, text, list) : -1;
    if (length >= 0 && (size_t)length < room) {
        return length;
    }
    if (buffer && size && (length < 0 || (most != _TRUNCATE && most >= size))) {
        buffer[0] = 0;
    }
    return -1;
}

static inline int _vsnprintf_s(char *buffer, size_t size, size_t most, const char *text, va_list list)
{
    const size_t room = most < size ? most + 1 : size;
    const int length = buffer && size && text ? tacho_compat_vsnprintf(buffer, room, text, list) : -1;
    if (length >= 0 && (size_t)length < room) {
        return length;
    }
    if (buffer && size && (length < 0 || (most != _TRUNCATE && most >= size))) {
        buffer[0] = 0;
    }
    return -1;
}

/* ---- Functions with arguments of their own ---- */

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

static inline int _snwprintf_s(WCHAR *buffer, size_t size, size_t most, const WCHAR *text, ...)
{
    TACHO_COMPAT_FORWARD(_vsnwprintf_s(buffer, size, most, text, list));
}

static inline int _snprintf_s(char *buffer, size_t size, size_t most, const char *text, ...)
{
    TACHO_COMPAT_FORWARD(_vsnprintf_s(buffer, size, most, text, list));
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

/* ---- Under the names of the standard ---- */

#ifdef __cplusplus
/*
 * Narrow: templates, which are taken before the C library's functions wherever there is an argument, also in std, and
 * take no names away as macros would.
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
int _snwprintf_s(WCHAR (&buffer)[N], size_t most, const WCHAR *text, A... a)
{
    return _snwprintf_s(buffer, N, most, text, a...);
}
template <size_t N, class... A>
int _snprintf_s(char (&buffer)[N], size_t most, const char *text, A... a)
{
    return _snprintf_s(buffer, N, most, text, a...);
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
/* Formats of char16_t beside glibc's of wchar_t. */
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
