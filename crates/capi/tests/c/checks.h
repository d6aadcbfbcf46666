/* Checks of the C tests: a program prints each failed check, and exits with 1. */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdio.h>
#include <string.h>
#include "perfutil.h"

static int failed;

static inline void check_code(int line, const char *call, int code, int expected)
{
    if (code != expected) {
        printf("line %d: %s returned %d (%s) instead of %d (%s): %s\n", line, call, code, RcToString(code),
               expected, RcToString(expected), TachoLastErrorText());
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

#define RETURNS(call, code) check_code(__LINE__, #call, call, code)
#define HOLDS(condition) check(__LINE__, #condition, !!(condition))
/* Checks that the text of the last error contains these words. */
#define LAST_ERROR_HAS(words) check(__LINE__, TachoLastErrorText(), strstr(TachoLastErrorText(), words) != NULL)

#endif
