/*
 * tacho_format.h: printf formats with Windows' sizes, written to a file or to a buffer of bytes or 16-bit units. Part
 * of the compatibility folder; tacho_print.h includes it.
 */
#ifndef TACHO_COMPAT_FORMAT_H
#define TACHO_COMPAT_FORMAT_H

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

/* ---- Destinations ---- */

/* A file, or a buffer of bytes or of 16-bit units, whose capacity includes the terminating NUL. */
struct tacho_compat_sink {
    FILE *stream;
    char *bytes;
    WCHAR *units;
    size_t room;
    /* The function's result: the length of the whole text, in units for wide functions, otherwise in bytes. */
    size_t count;
    int counts_units;
    int has_failed;
    /* A high surrogate that waits for its low surrogate; the bits of an incomplete UTF-8 character, and how many of its
     * bytes are missing. */
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

/* Writes a character as UTF-8. */
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

/* An unpaired surrogate becomes U+FFFD. */
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

/* Writes a byte of UTF-8 to the output of a wide function. Invalid UTF-8 becomes U+FFFD. */
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

/* A conversion: %[flags][width][.precision][size]letter. */
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

/* Parses the conversion after the percent sign at `at`; returns the position after it. */
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
/* Formats a number with the C library: `specification` has a * for the width, and one for the precision if given. */
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
    /* A precision of -1 means none. */
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

/* Formats a text or a character. Capital letters (%S, %C) mean the other width than the function's. */
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
            /* Windows prints addresses with 16 digits. */
            char digits[20];
            const uintptr_t address = (uintptr_t)va_arg(arguments->list, void *);
            const int length = snprintf(digits, sizeof digits, "%016lX", (unsigned long)address);
            tacho_compat_print_text(sink, &conversion, digits, NULL, length < 0 ? 0 : (size_t)length);
        } else if (conversion.letter < 0x80 && conversion.letter && strchr("diouxXaAeEfFgG", (int)conversion.letter)) {
            tacho_compat_print_number(sink, &conversion, arguments);
        } else if (conversion.letter < 0x80 && conversion.letter && strchr("sScC", (int)conversion.letter)) {
            tacho_compat_print_string(sink, &conversion, arguments, sink->counts_units);
        } else {
            /* %n and invalid conversions. */
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

#endif
