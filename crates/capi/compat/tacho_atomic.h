/*
 * tacho_atomic.h: Interlocked functions. Part of the compatibility folder; windows.h includes it.
 */
#ifndef TACHO_COMPAT_ATOMIC_H
#define TACHO_COMPAT_ATOMIC_H

#include <minwindef.h>

/* Increment and Decrement return the new value, the others the previous one. All are full barriers. */
#define TACHO_COMPAT_INTERLOCKED(type, bits)                                                              \
    static inline type InterlockedIncrement##bits(volatile type *value)                                   \
    {                                                                                                     \
        return __atomic_add_fetch(value, 1, __ATOMIC_SEQ_CST);                                            \
    }                                                                                                     \
    static inline type InterlockedDecrement##bits(volatile type *value)                                   \
    {                                                                                                     \
        return __atomic_sub_fetch(value, 1, __ATOMIC_SEQ_CST);                                            \
    }                                                                                                     \
    static inline type InterlockedExchangeAdd##bits(volatile type *value, type added)                     \
    {                                                                                                     \
        return __atomic_fetch_add(value, added, __ATOMIC_SEQ_CST);                                        \
    }                                                                                                     \
    static inline type InterlockedExchange##bits(volatile type *value, type wanted)                       \
    {                                                                                                     \
        return __atomic_exchange_n(value, wanted, __ATOMIC_SEQ_CST);                                      \
    }                                                                                                     \
    static inline type InterlockedCompareExchange##bits(volatile type *value, type wanted, type expected) \
    {                                                                                                     \
        (void)__atomic_compare_exchange_n(value, &expected, wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return expected;                                                                                  \
    }

TACHO_COMPAT_INTERLOCKED(LONG, )
TACHO_COMPAT_INTERLOCKED(LONG64, 64)
#undef TACHO_COMPAT_INTERLOCKED

#endif
