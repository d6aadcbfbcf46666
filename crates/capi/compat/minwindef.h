/*
 * minwindef.h: base types of Windows that tachograph/types.h lacks. Part of the compatibility folder.
 */
#ifndef TACHO_COMPAT_MINWINDEF_H
#define TACHO_COMPAT_MINWINDEF_H

#include <sal.h>
#include <tachograph/types.h>

/* ---- Keywords ---- */

#define __fastcall
#define __thiscall
#define __vectorcall
#define _cdecl
#define _stdcall
#define CDECL
#define STDMETHODCALLTYPE
#define WINAPIV
#define APIENTRY
#define NTAPI
#define UNALIGNED
#define WINBASEAPI
#define DECLSPEC_IMPORT
#define DECLSPEC_NORETURN
/* The linker uses one of several definitions. */
#define DECLSPEC_SELECTANY __attribute__((weak))
#define DECLSPEC_ALIGN(bytes) __attribute__((aligned(bytes)))
/* dllimport, dllexport, noinline and others: without effect on Linux. */
#ifndef __declspec
#define __declspec(...)
#endif
#define __forceinline inline __attribute__((always_inline))
#define __assume(condition) ((void)0)
#define __noop(...) ((void)0)
#define FORCEINLINE static __forceinline
#ifdef __cplusplus
#define EXTERN_C extern "C"
#else
#define EXTERN_C extern
#endif
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef OPTIONAL
#define OPTIONAL
#endif
#ifndef CONST
#define CONST const
#endif

/* ---- Numbers ---- */

#ifndef VOID
#define VOID void
#endif
typedef short SHORT;
typedef int INT;
typedef unsigned char UCHAR;
typedef unsigned short USHORT;
typedef unsigned int UINT;
typedef float FLOAT;
typedef BYTE BOOLEAN;
typedef int8_t INT8;
typedef int16_t INT16;
typedef int32_t INT32;
typedef int64_t INT64;
typedef uint8_t UINT8;
typedef uint16_t UINT16;
typedef LONGLONG LONG64;
typedef ULONGLONG ULONG64, DWORD64, DWORDLONG;
typedef LONG LONG32;
typedef ULONG ULONG32, DWORD32;
typedef intptr_t INT_PTR, LONG_PTR;
typedef uintptr_t UINT_PTR, ULONG_PTR;
typedef ptrdiff_t SSIZE_T;
typedef LONG HRESULT;
typedef LONG NTSTATUS;
typedef LONG LSTATUS;
typedef WORD ATOM;
typedef WORD LANGID;
typedef DWORD LCID;
typedef UINT_PTR WPARAM;
typedef LONG_PTR LPARAM, LRESULT;

/* ---- Addresses ---- */

typedef SHORT *PSHORT;
typedef INT *PINT, *LPINT;
typedef UCHAR *PUCHAR;
typedef CHAR *PCHAR;
typedef USHORT *PUSHORT;
typedef UINT *PUINT;
typedef FLOAT *PFLOAT;
typedef BOOLEAN *PBOOLEAN;
typedef ULONG_PTR *PULONG_PTR;
typedef INT64 *PINT64;
typedef UINT64 *PUINT64;
typedef HANDLE HINSTANCE, HMODULE, HKEY, HWND, HLOCAL, HGLOBAL;

typedef int(WINAPI *FARPROC)(void);

/* ---- Parts of integers ---- */

#define LOBYTE(w) ((BYTE)((DWORD_PTR)(w) & 0xFF))
#define HIBYTE(w) ((BYTE)(((DWORD_PTR)(w) >> 8) & 0xFF))
#define LOWORD(l) ((WORD)((DWORD_PTR)(l) & 0xFFFF))
#define HIWORD(l) ((WORD)(((DWORD_PTR)(l) >> 16) & 0xFFFF))
#define MAKEWORD(a, b) ((WORD)(((BYTE)((DWORD_PTR)(a) & 0xFF)) | ((WORD)((BYTE)((DWORD_PTR)(b) & 0xFF)) << 8)))
#define MAKELONG(a, b) ((LONG)(((WORD)((DWORD_PTR)(a) & 0xFFFF)) | ((DWORD)((WORD)((DWORD_PTR)(b) & 0xFFFF)) << 16)))

#define MAX_PATH 260

/* ---- Minimum and maximum ---- */

#ifndef NOMINMAX
#ifdef __cplusplus
/* Functions instead of macros, which would hide std::min and std::max. */
extern "C++" {
template <class A, class B>
constexpr auto min(const A &a, const B &b) -> decltype(a < b ? a : b)
{
    return a < b ? a : b;
}
template <class A, class B>
constexpr auto max(const A &a, const B &b) -> decltype(a > b ? a : b)
{
    return a > b ? a : b;
}
}
#else
#ifndef min
#define min(a, b) (((a) < (b)) ? (a) : (b))
#endif
#ifndef max
#define max(a, b) (((a) > (b)) ? (a) : (b))
#endif
#endif
#endif

#endif
