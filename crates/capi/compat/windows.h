/*
 * windows.h: the part of Windows that programs with performance counters use. Part of the compatibility folder,
 * which is not on the default include path: see docs/c-interface.md.
 *
 * 16-bit literals written L"..." need -fshort-wchar. C99 and later, C++11 and later.
 */
#ifndef TACHO_COMPAT_WINDOWS_H
#define TACHO_COMPAT_WINDOWS_H

/* Programs compare it. Everything is available, regardless of its value. */
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif

#include <sal.h>
#include <winnt.h>
#include <winbase.h>
#include <tacho_text.h>
#include <tacho_print.h>
#include <tacho_safe.h>
#include <tacho_atomic.h>
#include <tacho_system.h>
#include <tacho_main.h>
#if defined(__has_include)
#if __has_include(<tacho_event.h>)
#include <tacho_event.h>
#endif
#endif

/* #pragma comment(lib, ...) has no effect. g++ before 13 needs -Wno-unknown-pragmas. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

#endif
