/*
 * windows.h: what programs of Windows that read or publish performance counters take of it, on Linux. Part of the
 * compatibility folder, which is not on the default path: docs/c-interface.md tells how programs find it.
 *
 * 16-bit text needs -fshort-wchar where it is written L"...". C99 and later, C++11 and later.
 */
#ifndef TACHO_COMPAT_WINDOWS_H
#define TACHO_COMPAT_WINDOWS_H

/* Programs compare it. All that there is is there whatever it says. */
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

/* #pragma comment(lib, ...) is of Windows' linker. g++ before 13 needs -Wno-unknown-pragmas for it. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

#endif
