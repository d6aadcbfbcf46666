/*
 * tchar.h: names that are wide if UNICODE or _UNICODE is defined, otherwise narrow. Part of the compatibility folder.
 */
#ifndef TACHO_COMPAT_TCHAR_H
#define TACHO_COMPAT_TCHAR_H

#include <windows.h>

#if defined(UNICODE) || defined(_UNICODE)
typedef WCHAR _TCHAR;
#define _T(text) TACHO_W(text)
#define _TEXT(text) TACHO_W(text)
#define _tmain wmain
#define _tprintf wprintf
#define _ftprintf fwprintf
#define _stprintf _swprintf
#define _sntprintf _snwprintf
#define _tprintf_s wprintf_s
#define _stprintf_s swprintf_s
#define _sntprintf_s _snwprintf_s
#define _tcslen wcslen
#define _tcsnlen wcsnlen
#define _tcscmp wcscmp
#define _tcsncmp wcsncmp
#define _tcsicmp _wcsicmp
#define _tcschr wcschr
#define _tcsrchr wcsrchr
#define _tcsstr wcsstr
#define _tcscpy_s wcscpy_s
#define _tcsncpy_s wcsncpy_s
#define _tcscat_s wcscat_s
#define _tcsdup _wcsdup
#define _tcstol wcstol
#define _tcstoul wcstoul
#define _ttoi _wtoi
#define _putts _putws
#else
typedef CHAR _TCHAR;
#define _T(text) text
#define _TEXT(text) text
#define _tmain main
#define _tprintf printf
#define _ftprintf fprintf
#define _stprintf sprintf
#define _sntprintf _snprintf
#define _tprintf_s printf_s
#define _stprintf_s sprintf_s
#define _sntprintf_s _snprintf_s
#define _tcslen strlen
#define _tcsnlen strnlen
#define _tcscmp strcmp
#define _tcsncmp strncmp
#define _tcsicmp _stricmp
#define _tcschr strchr
#define _tcsrchr strrchr
#define _tcsstr strstr
#define _tcscpy_s strcpy_s
#define _tcsncpy_s strncpy_s
#define _tcscat_s strcat_s
#define _tcsdup _strdup
#define _tcstol strtol
#define _tcstoul strtoul
#define _ttoi atoi
#define _putts puts
#endif

#endif
