/* Checks of the C tests of pdh.h: a program prints each failed check, and exits with 1. */
#ifndef PDH_CHECKS_H
#define PDH_CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pdh.h"
#include "perfutil.h" /* TachoLastErrorText */

static int failed;

static inline void check_status(int line, const char *call, PDH_STATUS status, DWORD expected)
{
    if ((DWORD)status != expected) {
        printf("line %d: %s returned 0x%08X instead of 0x%08X (%s)\n", line, call, (unsigned)status,
               (unsigned)expected, TachoLastErrorText());
        failed = 1;
    }
}

static inline void check(int line, const char *condition, int holds)
{
    if (!holds) {
        printf("line %d: check failed: %s\n", line, condition);
        failed = 1;
    }
}

#define RETURNS(call, code) check_status(__LINE__, #call, call, (DWORD)(code))
#define SUCCEEDS(call) RETURNS(call, 0)
#define HOLDS(condition) check(__LINE__, #condition, !!(condition))

/* ASCII text of 16-bit characters as bytes; valid until the eighth call from now. */
static inline const char *narrow(const WCHAR *text)
{
    static char buffers[8][1024];
    static unsigned next;
    char *buffer = buffers[next++ % 8];
    size_t length = 0;
    for (; text && text[length] && length < sizeof buffers[0] - 1; length++) {
        buffer[length] = text[length] < 128 ? (char)text[length] : '?';
    }
    buffer[length] = 0;
    return buffer;
}

/* ASCII text of bytes as 16-bit characters; valid until the eighth call from now. */
static inline const WCHAR *wide(const char *text)
{
    static WCHAR buffers[8][1024];
    static unsigned next;
    WCHAR *buffer = buffers[next++ % 8];
    size_t length = 0;
    for (; text[length] && length < 1023; length++) {
        buffer[length] = (WCHAR)(unsigned char)text[length];
    }
    buffer[length] = 0;
    return buffer;
}

#endif
