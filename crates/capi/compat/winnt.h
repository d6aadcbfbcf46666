/*
 * winnt.h: texts, large integers and small macros of Windows. Part of the compatibility folder.
 */
#ifndef TACHO_COMPAT_WINNT_H
#define TACHO_COMPAT_WINNT_H

#include <string.h>
#include <guiddef.h>
#include <minwindef.h>
#include <winerror.h>

/* ---- Texts: TCHAR is WCHAR if UNICODE is defined ---- */

#ifdef UNICODE
typedef WCHAR TCHAR;
#define TEXT(text) TACHO_W(text)
#else
typedef CHAR TCHAR;
#define TEXT(text) text
#endif
typedef TCHAR *PTCHAR, *LPTSTR, *PTSTR;
typedef const TCHAR *LPCTSTR, *PCTSTR;
typedef WCHAR *PWCHAR, *LPWCH, *PWCH;
typedef const WCHAR *LPCWCH, *PCWCH;
typedef CHAR *LPCH, *PCH;
typedef const CHAR *LPCCH, *PCCH;

#define ANSI_NULL ((CHAR)0)
#define UNICODE_NULL ((WCHAR)0)

/* ---- Limits ---- */

#define MAXDWORD 0xFFFFFFFF
#define MAXLONG 0x7FFFFFFF
#define MAXULONG 0xFFFFFFFF
#define MAXLONGLONG 0x7FFFFFFFFFFFFFFFLL

/* ---- Small macros ---- */

#ifdef __cplusplus
extern "C++" {
template <class T, size_t N>
char (&tacho_compat_array(T (&)[N]))[N];
}
#define _countof(array) (sizeof(tacho_compat_array(array)))
#else
#define _countof(array) (sizeof(array) / sizeof((array)[0]))
#endif
#define ARRAYSIZE(array) _countof(array)
#define RTL_NUMBER_OF(array) _countof(array)
#define FIELD_OFFSET(type, field) ((LONG)offsetof(type, field))
#define RTL_FIELD_SIZE(type, field) (sizeof(((type *)0)->field))
#define CONTAINING_RECORD(address, type, field) ((type *)((char *)(address)-offsetof(type, field)))
#ifdef __cplusplus
#define C_ASSERT(condition) static_assert(condition, #condition)
#else
#define C_ASSERT(condition) typedef char tacho_compat_asserted[(condition) ? 1 : -1] __attribute__((unused))
#endif
#define INVALID_HANDLE_VALUE ((HANDLE)(LONG_PTR)-1)
#define UNREFERENCED_PARAMETER(name) ((void)(name))
#define DBG_UNREFERENCED_PARAMETER(name) ((void)(name))
#define UNREFERENCED_LOCAL_VARIABLE(name) ((void)(name))

#define ZeroMemory(to, bytes) memset((to), 0, (bytes))
#define RtlZeroMemory(to, bytes) memset((to), 0, (bytes))
#define SecureZeroMemory(to, bytes) memset((to), 0, (bytes))
#define FillMemory(to, bytes, value) memset((to), (value), (bytes))
#define CopyMemory(to, from, bytes) memcpy((to), (from), (bytes))
#define MoveMemory(to, from, bytes) memmove((to), (from), (bytes))
#define RtlCopyMemory(to, from, bytes) memcpy((to), (from), (bytes))

#define LANG_NEUTRAL 0x00
#define LANG_ENGLISH 0x09
#define SUBLANG_DEFAULT 0x01
#define SUBLANG_NEUTRAL 0x00
#define SUBLANG_ENGLISH_US 0x01
#define MAKELANGID(primary, sub) ((WORD)(((WORD)(sub) << 10) | (WORD)(primary)))
#define MAKELCID(language, sort) ((DWORD)(((DWORD)(WORD)(sort) << 16) | (DWORD)(WORD)(language)))
#define LANG_USER_DEFAULT MAKELANGID(LANG_NEUTRAL, SUBLANG_DEFAULT)

#endif
