/*
 * The compatibility folder in C and C++. With -DAFTER, the other headers are included after windows.h, otherwise before
 * it. Argument: a non-ASCII text.
 */
#ifdef AFTER
#include <windows.h>
#endif
#ifdef __cplusplus
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>
#include <memory>
#include <algorithm>
#include <random>
#include <map>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <wchar.h>
#ifndef AFTER
#include <windows.h>
#endif
#include <tchar.h>
#include <strsafe.h>
#include <conio.h>
#include <perflib.h>
#include <winperf.h>
#pragma comment(lib, "pdh.lib")
unsigned __int64 big = 5;
DWORD __declspec(noinline) f(_In_ DWORD a, _Out_writes_bytes_(4) void* p);
int __cdecl wmain(int argc, WCHAR *argv[])
{
    WCHAR name[16];
    LARGE_INTEGER li;
    FILETIME ft = {0xD53E8000u, 0x019DB1DE};
    SYSTEMTIME st;
    DWORD d = 4000000000u; ULONG u = 7;
    printf("plain\n");
    printf("%d args\n", argc);
    wprintf(TACHO_W("arg %ls %s|%10ls|%-10s|%.2ls|%S|%hs\n"), argv[1], argv[1], argv[1], argv[1], argv[1], "narrow", "nar");
    printf("%ls|%S|%10ls|%-10ls|%.2ls|%s\n", argv[1], argv[1], argv[1], argv[1], argv[1], "n");
    printf("%lu %ld %I64d %I64u %llu %u %5.2f %p %x %#lx %c %lc %%\n", d, (LONG)-3, (LONGLONG)-9, (ULONGLONG)9, 18446744073709551615ULL, u, 3.14159, (void *)16, 255, d, 'x', 0xE9);
    printf("%zu %08.3f %+d % d %e %g %hd %hhu %i\n", sizeof name, 1.5, 3, 4, 12345.678, 0.0001, (short)-1, (unsigned char)200, -2);
    fprintf(stdout, "%*.*f|%-*d|\n", 10, 2, 2.5, 6, 42);
    li.QuadPart = 1; QueryPerformanceCounter(&li);
    FileTimeToSystemTime(&ft, &st); printf("%u-%u-%u %u:%u:%u.%u dow %u\n", st.wYear, st.wMonth, st.wDay, st.wHour, st.wMinute, st.wSecond, st.wMilliseconds, st.wDayOfWeek);
    GetSystemTimeAsFileTime(&ft); FileTimeToSystemTime(&ft, &st);
    { time_t t = time(NULL); struct tm *tm = gmtime(&t); if (tm->tm_mday != st.wDay || tm->tm_year + 1900 != st.wYear || tm->tm_mon + 1 != st.wMonth || tm->tm_wday != st.wDayOfWeek || tm->tm_hour != st.wHour) return 3; }
    if (wcsncpy_s(name, 16, argv[1], _TRUNCATE)) return 4;
    printf("%ls %u\n", name, (unsigned)wcslen(name));
#ifdef __cplusplus
    std::printf("std %ls %d\n", argv[1], std::min(1, 2));
    std::cout << "cout " << min(3, 4) << std::max(5, 6) << std::endl;
    wcsncpy_s(name, argv[1], _TRUNCATE);
    GUID g = {}, h = g; if (g != h || !(g == h) || !IsEqualGUID(g, h)) return 5;
    std::string s = std::to_string(42) + std::to_string(1.5); std::printf("%s\n", s.c_str());
    std::vector<std::unique_ptr<int>> v; v.emplace_back(new int(1));
#if __SIZEOF_WCHAR_T__ == 2
    if (std::wcslen(name) != wcslen(name)) return 6;
    std::wprintf(L"stdw %ls\n", name);
#endif
    sprintf_s(*reinterpret_cast<char(*)[16]>(name), "%d", 5);
#else
    printf("%d %d\n", min(3, 4), max(3, 4));
#endif
    return 0;
}
