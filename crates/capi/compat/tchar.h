/*
 * tchar.h: names that are wide or narrow by UNICODE. Part of the compatibility folder.
 */
#ifndef TACHO_COMPAT_TCHAR_H
#define TACHO_COMPAT_TCHAR_H

#include <windows.h>

typedef TCHAR _TCHAR;
#define _T(text) TEXT(text)
#define _TEXT(text) TEXT(text)

#if defined(UNICODE) || defined(_UNICODE)
#define _tmain wmain
#define _tprintf wprintf
#define _ftprintf fwprintf
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
#define _tmain main
#define _tprintf printf
#define _ftprintf fprintf
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
