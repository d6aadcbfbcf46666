/*
 * tachograph/types.h: the Windows types that perflib.h, winperf.h and pdh.h use, with their widths on Windows: a
 * LONG has 32 bits, a WCHAR 16.
 *
 * perflib.h, winperf.h and pdh.h include this header, so Linux programs need no windows.h. The windows.h of the
 * compatibility folder builds on it. C99 and later, C++11 and later.
 */
#ifndef TACHO_TYPES_H
#define TACHO_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__LP64__)
#error "Tachograph's C interface is for 64-bit Linux: long and pointers have 64 bits there."
#endif

/* ---- Calling conventions of Windows compilers: empty on Linux ---- */

#ifndef __cdecl
#define __cdecl
#endif
#ifndef __stdcall
#define __stdcall
#endif
#ifndef WINAPI
#define WINAPI
#endif
#ifndef CALLBACK
#define CALLBACK
#endif

/* ---- Numbers ---- */

typedef uint8_t BYTE;
typedef uint16_t WORD;
typedef uint32_t DWORD;
typedef int32_t LONG;
typedef uint32_t ULONG;
typedef int32_t BOOL;
typedef long long LONGLONG;
typedef unsigned long long ULONGLONG;
typedef size_t SIZE_T;
typedef uintptr_t DWORD_PTR;
typedef double DOUBLE;

#ifndef TACHO_UINT32_UINT64
#define TACHO_UINT32_UINT64
typedef uint32_t UINT32;
typedef uint64_t UINT64;
#endif

#ifndef FALSE
#define FALSE 0
#endif
#ifndef TRUE
#define TRUE 1
#endif

/* ---- 64-bit integers as two halves ---- */

typedef union _LARGE_INTEGER {
    __extension__ struct {
        DWORD LowPart;
        LONG HighPart;
    };
    struct {
        DWORD LowPart;
        LONG HighPart;
    } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
    __extension__ struct {
        DWORD LowPart;
        DWORD HighPart;
    };
    struct {
        DWORD LowPart;
        DWORD HighPart;
    } u;
    ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

/* ---- Characters ---- */

/* A UTF-16 code unit. With -fshort-wchar it is wchar_t, and literals are L"..."; otherwise they are u"...". */
#if __SIZEOF_WCHAR_T__ == 2
typedef wchar_t WCHAR;
#define TACHO_W(text) L##text
#elif defined(__cplusplus)
typedef char16_t WCHAR;
#define TACHO_W(text) u##text
#else
typedef __CHAR16_TYPE__ WCHAR;
#define TACHO_W(text) u##text
#endif

typedef char CHAR;
typedef CHAR *LPSTR, *PSTR;
typedef const CHAR *LPCSTR, *PCSTR;
typedef WCHAR *LPWSTR, *PWSTR;
typedef const WCHAR *LPCWSTR, *PCWSTR;
/* A list of strings, each with its terminating NUL, and one more NUL at the end. */
typedef CHAR *PZZSTR;
typedef const CHAR *PCZZSTR;
typedef WCHAR *PZZWSTR;
typedef const WCHAR *PCZZWSTR;

/* ---- Addresses ---- */

typedef void *PVOID, *LPVOID;
typedef const void *LPCVOID;
typedef BYTE *PBYTE, *LPBYTE;
typedef const BYTE *LPCBYTE;
typedef WORD *PWORD, *LPWORD;
typedef DWORD *PDWORD, *LPDWORD;
typedef LONG *PLONG, *LPLONG;
typedef ULONG *PULONG;
typedef BOOL *PBOOL, *LPBOOL;
typedef LONGLONG *PLONGLONG;
typedef ULONGLONG *PULONGLONG;
typedef DWORD_PTR *PDWORD_PTR;
typedef SIZE_T *PSIZE_T;

/* A number issued by the library. Never an address, and never dereferenced. */
typedef void *HANDLE;
typedef HANDLE *PHANDLE, *LPHANDLE;

/* ---- GUIDs ---- */

typedef struct _GUID {
    uint32_t Data1;
    uint16_t Data2;
    uint16_t Data3;
    uint8_t Data4[8];
} GUID;
typedef GUID *LPGUID;
typedef const GUID *LPCGUID;

/* ---- Times ---- */

/* 100 ns since 1601-01-01, as two halves. */
typedef struct _FILETIME {
    DWORD dwLowDateTime;
    DWORD dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;

typedef struct _SYSTEMTIME {
    WORD wYear;
    WORD wMonth;
    WORD wDayOfWeek; /* Sunday is 0 */
    WORD wDay;
    WORD wHour;
    WORD wMinute;
    WORD wSecond;
    WORD wMilliseconds;
} SYSTEMTIME, *PSYSTEMTIME, *LPSYSTEMTIME;

#endif
