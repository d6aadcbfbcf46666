/* Checks of the C tests of perflib.h: a program prints each failed check, and exits with 1. */
#ifndef PERFLIB_CHECKS_H
#define PERFLIB_CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perflib.h>
#include <winperf.h>

static int failed;

static inline void check_code(int line, const char *call, ULONG code, ULONG expected)
{
    if (code != expected) {
        printf("line %d: %s returned %u instead of %u: %s\n", line, call, (unsigned)code, (unsigned)expected,
               TachoLastErrorText());
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

/* A set with several instances, and one without names; both exist on every Linux. */
static const GUID PROCESSORS = {0xb4fc721a, 0x0378, 0x476f, {0x89, 0xba, 0xa5, 0xa7, 0x9f, 0x81, 0x0b, 0x36}};

/* An identifier with space for a name. */
typedef struct {
    PERF_COUNTER_IDENTIFIER head;
    WCHAR name[12];
} NAMED_IDENTIFIER;

static inline NAMED_IDENTIFIER named_identifier(const GUID *set, const char *name, ULONG counter)
{
    NAMED_IDENTIFIER identifier;
    size_t i, size;
    memset(&identifier, 0, sizeof identifier);
    identifier.head.CounterSetGuid = *set;
    identifier.head.CounterId = counter;
    identifier.head.InstanceId = 0xFFFFFFFF;
    for (i = 0; name[i] && i < 11; i++) {
        identifier.name[i] = (WCHAR)name[i];
    }
    size = i == 0 ? 40 : (40 + 2 * (i + 1) + 7) / 8 * 8;
    identifier.head.Size = (ULONG)size;
    return identifier;
}

#endif
