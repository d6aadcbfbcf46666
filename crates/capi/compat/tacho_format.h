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
struct tacho_compat_output {
    FILE *stream;
    char *bytes;
    WCHAR *units;
    size_t capacity;
    /* The function's result: the length of the whole text, in units for wide functions, otherwise in bytes. */
    size_t count;
    int is_wide;
    int has_failed;
    /* A high surrogate that waits for its low surrogate; the bits of an incomplete UTF-8 character, and how many of its
     * bytes are missing. */
    unsigned high_surrogate;
    unsigned partial_character;
    int missing_bytes;
};

static inline void tacho_compat_write_bytes(struct tacho_compat_output *output, const char *text, size_t length)
{
    if (output->stream) {
        if (length && fwrite(text, 1, length, output->stream) != length) {
            output->has_failed = 1;
        }
    } else if (output->bytes && output->count < output->capacity) {
        const size_t left = output->capacity - output->count;
        memcpy(output->bytes + output->count, text, length < left ? length : left);
    }
    if (!output->is_wide) {
        output->count += length;
    }
}

/* Writes a character as UTF-8. */
static inline void tacho_compat_write_character(struct tacho_compat_output *output, unsigned c)
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
    tacho_compat_write_bytes(output, text, length);
}

/* An unpaired surrogate becomes U+FFFD. */
static inline void tacho_compat_flush_surrogate(struct tacho_compat_output *output)
{
    if (output->high_surrogate) {
        output->high_surrogate = 0;
        tacho_compat_write_character(output, 0xFFFD);
    }
}

static inline void tacho_compat_write_unit(struct tacho_compat_output *output, unsigned unit)
{
    if (output->is_wide) {
        if (output->units && output->count < output->capacity) {
            output->units[output->count] = (WCHAR)unit;
        }
        output->count++;
        if (output->units) {
            return;
        }
    }
    if (unit >= 0xDC00 && unit < 0xE000 && output->high_surrogate) {
        const unsigned c = 0x10000 + ((output->high_surrogate - 0xD800) << 10) + (unit - 0xDC00);
        output->high_surrogate = 0;
        tacho_compat_write_character(output, c);
        return;
    }
    tacho_compat_flush_surrogate(output);
    if (unit >= 0xD800 && unit < 0xDC00) {
        output->high_surrogate = unit;
    } else {
        tacho_compat_write_character(output, unit >= 0xDC00 && unit < 0xE000 ? 0xFFFD : unit);
    }
}

/* Writes a byte of UTF-8 to the output of a wide function. Invalid UTF-8 becomes U+FFFD. */
static inline void tacho_compat_write_utf8_byte(struct tacho_compat_output *output, unsigned byte)
{
    if (output->missing_bytes && (byte & 0xC0) == 0x80) {
        output->partial_character = (output->partial_character << 6) | (byte & 0x3F);
        if (--output->missing_bytes == 0) {
            const unsigned c = output->partial_character;
            if (c >= 0x10000 && c < 0x110000) {
                tacho_compat_write_unit(output, 0xD800 + ((c - 0x10000) >> 10));
                tacho_compat_write_unit(output, 0xDC00 + ((c - 0x10000) & 0x3FF));
            } else {
                tacho_compat_write_unit(output, c < 0x110000 ? c : 0xFFFD);
            }
        }
        return;
    }
    if (output->missing_bytes) {
        output->missing_bytes = 0;
        tacho_compat_write_unit(output, 0xFFFD);
    }
    if (byte < 0x80) {
        tacho_compat_write_unit(output, byte);
    } else if (byte >= 0xC2 && byte < 0xF5) {
        output->missing_bytes = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
        output->partial_character = byte & (0x3Fu >> output->missing_bytes);
    } else {
        tacho_compat_write_unit(output, 0xFFFD);
    }
}

static inline void tacho_compat_write_utf8(struct tacho_compat_output *output, const char *text, size_t length)
{
    size_t i;
    if (!output->is_wide) {
        tacho_compat_flush_surrogate(output);
        tacho_compat_write_bytes(output, text, length);
        return;
    }
    for (i = 0; i < length; i++) {
        tacho_compat_write_utf8_byte(output, (unsigned char)text[i]);
    }
}

static inline void tacho_compat_write_padding(struct tacho_compat_output *output, char c, size_t length, size_t width)
{
    for (; length < width; length++) {
        tacho_compat_write_utf8(output, &c, 1);
    }
}

/* ---- Formats ---- */

/* A format of bytes or of 16-bit units. */
struct tacho_compat_format {
    const char *bytes;
    const WCHAR *units;
};

static inline unsigned tacho_compat_unit_at(const struct tacho_compat_format *format, size_t at)
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
static inline size_t tacho_compat_parse_conversion(const struct tacho_compat_format *format, size_t at,
                                                   struct tacho_compat_arguments *arguments,
                                                   struct tacho_compat_conversion *conversion)
{
    size_t flags = 0;
    unsigned c;
    memset(conversion, 0, sizeof *conversion);
    conversion->precision = -1;
    conversion->size = 'i';
    for (;; at++) {
        c = tacho_compat_unit_at(format, at);
        if (c != '-' && c != '+' && c != ' ' && c != '#' && c != '0' && c != '\'') {
            break;
        }
        conversion->is_left |= c == '-';
        if (c != '\'' && flags + 1 < sizeof conversion->flags && !memchr(conversion->flags, (int)c, flags)) {
            conversion->flags[flags++] = (char)c;
        }
    }
    if (c == '*') {
        conversion->width = va_arg(arguments->list, int);
        if (conversion->width < 0) {
            conversion->width = -conversion->width;
            conversion->is_left = 1;
            if (!memchr(conversion->flags, '-', flags)) {
                conversion->flags[flags] = '-';
            }
        }
        at++;
    }
    while ((c = tacho_compat_unit_at(format, at)) >= '0' && c <= '9') {
        if (conversion->width < 100000000) {
            conversion->width = conversion->width * 10 + (long)(c - '0');
        }
        at++;
    }
    if (c == '.') {
        at++;
        conversion->precision = 0;
        if (tacho_compat_unit_at(format, at) == '*') {
            conversion->precision = va_arg(arguments->list, int);
            at++;
        }
        while ((c = tacho_compat_unit_at(format, at)) >= '0' && c <= '9') {
            if (conversion->precision < 100000000) {
                conversion->precision = conversion->precision * 10 + (long)(c - '0');
            }
            at++;
        }
        if (conversion->precision < 0) {
            conversion->precision = -1;
        }
    }
    c = tacho_compat_unit_at(format, at);
    if (c == 'h') {
        at++;
        conversion->size = 'h';
        if (tacho_compat_unit_at(format, at) == 'h') {
            at++;
            conversion->size = 'c';
        }
    } else if (c == 'l') {
        at++;
        conversion->size = 'l';
        if (tacho_compat_unit_at(format, at) == 'l') {
            at++;
            conversion->size = 'q';
        }
    } else if (c == 'w') {
        at++;
        conversion->size = 'l';
    } else if (c == 'j' || c == 'z' || c == 't' || c == 'q') {
        at++;
        conversion->size = 'q';
    } else if (c == 'L') {
        at++;
        conversion->size = 'L';
    } else if (c == 'I') {
        at++;
        conversion->size = 'q';
        if (tacho_compat_unit_at(format, at) == '6' && tacho_compat_unit_at(format, at + 1) == '4') {
            at += 2;
        } else if (tacho_compat_unit_at(format, at) == '3' && tacho_compat_unit_at(format, at + 1) == '2') {
            at += 2;
            conversion->size = 'i';
        }
    }
    conversion->letter = tacho_compat_unit_at(format, at);
    return conversion->letter ? at + 1 : at;
}

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
/* Formats a number with the C library: `specification` has a * for the width, and one for the precision if given. */
static inline void tacho_compat_print_number(struct tacho_compat_output *output,
                                             const struct tacho_compat_conversion *conversion,
                                             struct tacho_compat_arguments *arguments)
{
    const int is_real = strchr("aAeEfFgG", (int)conversion->letter) != NULL;
    const int is_signed = conversion->letter == 'd' || conversion->letter == 'i';
    const int width = (int)conversion->width, precision = (int)conversion->precision;
    char specification[24], local[512], *text = local;
    long double extended = 0;
    double real = 0;
    unsigned long long whole = 0;
    int length, attempt;
    size_t capacity = sizeof local;

    if (is_real && conversion->size == 'L') {
        extended = va_arg(arguments->list, long double);
    } else if (is_real) {
        real = va_arg(arguments->list, double);
    } else if (conversion->size == 'q') {
        whole = va_arg(arguments->list, unsigned long long);
    } else {
        const unsigned given = va_arg(arguments->list, unsigned);
        const long long number = conversion->size == 'h'   ? (short)given
                                 : conversion->size == 'c' ? (signed char)given
                                                           : (int)given;
        const unsigned bits = conversion->size == 'h' ? 0xFFFFu : conversion->size == 'c' ? 0xFFu : 0xFFFFFFFFu;
        whole = is_signed ? (unsigned long long)number : (given & bits);
    }
    /* A precision of -1 means none. */
    snprintf(specification, sizeof specification, "%%%s*.*%s%c", conversion->flags,
             is_real ? (conversion->size == 'L' ? "L" : "") : "ll", (char)conversion->letter);
    for (attempt = 0; attempt < 2; attempt++) {
        if (is_real && conversion->size == 'L') {
            length = snprintf(text, capacity, specification, width, precision, extended);
        } else if (is_real) {
            length = snprintf(text, capacity, specification, width, precision, real);
        } else {
            length = snprintf(text, capacity, specification, width, precision, whole);
        }
        if (length < 0) {
            output->has_failed = 1;
            break;
        }
        if ((size_t)length < capacity) {
            tacho_compat_write_utf8(output, text, (size_t)length);
            break;
        }
        capacity = (size_t)length + 1;
        text = (char *)malloc(capacity);
        if (!text) {
            output->has_failed = 1;
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

static inline void tacho_compat_print_text(struct tacho_compat_output *output,
                                           const struct tacho_compat_conversion *conversion, const char *bytes,
                                           const WCHAR *units, size_t length)
{
    size_t i;
    if (!conversion->is_left) {
        tacho_compat_write_padding(output, ' ', length, (size_t)conversion->width);
    }
    if (units) {
        for (i = 0; i < length; i++) {
            tacho_compat_write_unit(output, units[i]);
        }
        if (!output->is_wide) {
            tacho_compat_flush_surrogate(output);
        }
    } else {
        tacho_compat_write_utf8(output, bytes, length);
    }
    if (conversion->is_left) {
        tacho_compat_write_padding(output, ' ', length, (size_t)conversion->width);
    }
}

/* Formats a text or a character. Capital letters (%S, %C) mean the other width than the function's. */
static inline void tacho_compat_print_string(struct tacho_compat_output *output,
                                             const struct tacho_compat_conversion *conversion,
                                             struct tacho_compat_arguments *arguments, int is_wide_function)
{
    const int is_capital = conversion->letter == 'S' || conversion->letter == 'C';
    const int is_wide = conversion->size == 'h' || conversion->size == 'c' ? 0
                        : conversion->size == 'l'                          ? 1
                                                                           : is_wide_function != is_capital;
    const size_t max_length = conversion->precision < 0 ? (size_t)-1 : (size_t)conversion->precision;
    size_t length = 0;

    if (conversion->letter == 'c' || conversion->letter == 'C') {
        const int given = va_arg(arguments->list, int);
        const WCHAR unit = (WCHAR)given;
        const char byte = (char)given;
        tacho_compat_print_text(output, conversion, &byte, is_wide ? &unit : NULL, 1);
    } else if (is_wide) {
        const WCHAR *text = va_arg(arguments->list, const WCHAR *);
        if (text) {
            tacho_compat_print_text(output, conversion, NULL, text, tacho_compat_wcsnlen(text, max_length));
        } else {
            tacho_compat_print_text(output, conversion, "(null)", NULL, max_length < 6 ? max_length : 6);
        }
    } else {
        const char *text = va_arg(arguments->list, const char *);
        text = text ? text : "(null)";
        while (length < max_length && text[length]) {
            length++;
        }
        tacho_compat_print_text(output, conversion, text, NULL, length);
    }
}

static inline void tacho_compat_print(struct tacho_compat_output *output, const struct tacho_compat_format *format,
                                      struct tacho_compat_arguments *arguments)
{
    struct tacho_compat_conversion conversion;
    size_t at = 0;
    unsigned c;
    while ((c = tacho_compat_unit_at(format, at)) != 0 && !output->has_failed) {
        at++;
        if (c != '%') {
            if (format->units) {
                tacho_compat_write_unit(output, c);
            } else {
                const char byte = (char)c;
                tacho_compat_write_utf8(output, &byte, 1);
            }
            continue;
        }
        at = tacho_compat_parse_conversion(format, at, arguments, &conversion);
        if (conversion.letter == '%') {
            tacho_compat_write_utf8(output, "%", 1);
        } else if (conversion.letter == 'p') {
            /* Windows prints addresses with 16 digits. */
            char digits[20];
            const uintptr_t address = (uintptr_t)va_arg(arguments->list, void *);
            const int length = snprintf(digits, sizeof digits, "%016lX", (unsigned long)address);
            tacho_compat_print_text(output, &conversion, digits, NULL, length < 0 ? 0 : (size_t)length);
        } else if (conversion.letter < 0x80 && conversion.letter && strchr("diouxXaAeEfFgG", (int)conversion.letter)) {
            tacho_compat_print_number(output, &conversion, arguments);
        } else if (conversion.letter < 0x80 && conversion.letter && strchr("sScC", (int)conversion.letter)) {
            tacho_compat_print_string(output, &conversion, arguments, output->is_wide);
        } else {
            /* %n and invalid conversions. */
            errno = EINVAL;
            output->has_failed = 1;
        }
    }
    if (output->missing_bytes) {
        output->missing_bytes = 0;
        tacho_compat_write_unit(output, 0xFFFD);
    }
    tacho_compat_flush_surrogate(output);
}

#endif
