/*
 * tacho_main.h: wmain as the entry point of a program. It returns int or void, and has no arguments, argc and argv, or
 * also the environment. Part of the compatibility folder; windows.h includes it.
 *
 * The macro wmain expands to a declaration of the program's function, a main that calls it with its arguments in
 * UTF-16, and the head of the function's definition.
 */
#ifndef TACHO_COMPAT_MAIN_H
#define TACHO_COMPAT_MAIN_H

#include <stdlib.h>
#include <winnt.h>

/* Converts UTF-8 to UTF-16; invalid UTF-8 becomes U+FFFD. Null if out of memory. */
static inline WCHAR *tacho_compat_widen(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t used = 0;
    WCHAR *wide = (WCHAR *)malloc((strlen(text) + 1) * sizeof(WCHAR));
    if (!wide) {
        return NULL;
    }
    while (*at) {
        const int continuation_bytes =
            *at < 0x80 ? 0 : *at < 0xC2 ? -1 : *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : *at < 0xF5 ? 3 : -1;
        unsigned c = continuation_bytes <= 0 ? *at : *at & (0x3Fu >> continuation_bytes);
        int i;
        for (i = 1; i <= continuation_bytes && (at[i] & 0xC0) == 0x80; i++) {
            c = (c << 6) | (at[i] & 0x3F);
        }
        if (continuation_bytes < 0 || i <= continuation_bytes || c > 0x10FFFF) {
            c = 0xFFFD;
            i = 1;
        }
        at += i;
        if (c >= 0x10000) {
            wide[used++] = (WCHAR)(0xD800 + ((c - 0x10000) >> 10));
            wide[used++] = (WCHAR)(0xDC00 + ((c - 0x10000) & 0x3FF));
        } else {
            wide[used++] = (WCHAR)c;
        }
    }
    wide[used] = 0;
    return wide;
}

/* Converts a null-terminated list of texts, for the lifetime of the program. */
static inline WCHAR **tacho_compat_widen_all(char **texts)
{
    size_t count = 0, i;
    WCHAR **wide;
    while (texts[count]) {
        count++;
    }
    wide = (WCHAR **)calloc(count + 1, sizeof *wide);
    for (i = 0; wide && i < count; i++) {
        wide[i] = tacho_compat_widen(texts[i]);
    }
    return wide;
}

/* Frees the list. Programs that end with exit leave it to the system. */
static inline void tacho_compat_free_all(WCHAR **texts)
{
    size_t i;
    for (i = 0; texts && texts[i]; i++) {
        free(texts[i]);
    }
    free(texts);
}

#ifdef __cplusplus
extern "C++" {
template <class R>
struct tacho_compat_program {
    template <class F, class... A>
    static int run(F function, A... a)
    {
        return function(a...);
    }
};
template <>
struct tacho_compat_program<void> {
    template <class F, class... A>
    static int run(F function, A... a)
    {
        function(a...);
        return 0;
    }
};
}
#define TACHO_COMPAT_RUN(call, ...) (tacho_compat_program<__typeof__(call)>::run(__VA_ARGS__))
#define TACHO_COMPAT_RUN_2 \
    TACHO_COMPAT_RUN(tacho_compat_wmain(0, (WCHAR **)0), tacho_compat_wmain, tacho_count, tacho_wide)
#define TACHO_COMPAT_RUN_3                                                                            \
    TACHO_COMPAT_RUN(tacho_compat_wmain(0, (WCHAR **)0, (WCHAR **)0), tacho_compat_wmain, tacho_count, \
                     tacho_wide, tacho_environment)
#else
#define TACHO_COMPAT_RUN(call) \
    __builtin_choose_expr(__builtin_types_compatible_p(__typeof__(call), void), ((call), 0), (call))
#define TACHO_COMPAT_RUN_0 TACHO_COMPAT_RUN(tacho_compat_wmain())
#define TACHO_COMPAT_RUN_2 TACHO_COMPAT_RUN(tacho_compat_wmain(tacho_count, tacho_wide))
#define TACHO_COMPAT_RUN_3 TACHO_COMPAT_RUN(tacho_compat_wmain(tacho_count, tacho_wide, tacho_environment))
#endif

#define TACHO_COMPAT_MAIN_BODY(run)                                             \
    WCHAR **const tacho_wide = tacho_compat_widen_all(tacho_arguments);         \
    WCHAR **const tacho_environment = tacho_compat_widen_all(tacho_variables);  \
    int tacho_result;                                                           \
    (void)tacho_count;                                                          \
    if (!tacho_wide || !tacho_environment) {                                    \
        return 1;                                                               \
    }                                                                           \
    tacho_result = (run);                                                       \
    tacho_compat_free_all(tacho_environment);                                   \
    tacho_compat_free_all(tacho_wide);                                          \
    return tacho_result

#define TACHO_COMPAT_WMAIN(run, call, ...)                                                   \
    tacho_compat_wmain(__VA_ARGS__);                                                         \
    int main(int tacho_count, char **tacho_arguments, char **tacho_variables)                \
    {                                                                                        \
        TACHO_COMPAT_MAIN_BODY(run);                                                         \
    }                                                                                        \
    __typeof__(call) tacho_compat_wmain(__VA_ARGS__)

#ifdef __cplusplus
/* Here the program's function is main itself, which may end without a return. */
#define TACHO_COMPAT_WMAIN_1(...)        \
    tacho_compat_declared(__VA_ARGS__);  \
    int main(__VA_ARGS__)
#else
#define TACHO_COMPAT_WMAIN_1(...) TACHO_COMPAT_WMAIN(TACHO_COMPAT_RUN_0, tacho_compat_wmain(), __VA_ARGS__)
#endif
#define TACHO_COMPAT_WMAIN_2(...) \
    TACHO_COMPAT_WMAIN(TACHO_COMPAT_RUN_2, tacho_compat_wmain(0, (WCHAR **)0), __VA_ARGS__)
#define TACHO_COMPAT_WMAIN_3(...) \
    TACHO_COMPAT_WMAIN(TACHO_COMPAT_RUN_3, tacho_compat_wmain(0, (WCHAR **)0, (WCHAR **)0), __VA_ARGS__)
#define TACHO_COMPAT_FOURTH(a, b, c, d, ...) d
#define TACHO_COMPAT_BY_COUNT(...)                                                                           \
    TACHO_COMPAT_FOURTH(__VA_ARGS__, TACHO_COMPAT_WMAIN_3, TACHO_COMPAT_WMAIN_2, TACHO_COMPAT_WMAIN_1, none)
#define wmain(...) TACHO_COMPAT_BY_COUNT(__VA_ARGS__)(__VA_ARGS__)

#endif
