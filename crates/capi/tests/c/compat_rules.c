/* The documented behaviour of the compatibility folder's functions. */
#include <windows.h>
#include <tchar.h>
#include <strsafe.h>
#include <errno.h>
#include <stdio.h>

static int failed;
#define HOLDS(condition)                                      \
    do {                                                      \
        if (!(condition)) {                                   \
            printf("line %d: check failed: %s\n", __LINE__, #condition); \
            failed = 1;                                       \
        }                                                     \
    } while (0)
#define W(text) TACHO_W(text)

DEFINE_GUID(SOME_GUID, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
C_ASSERT(sizeof(LARGE_INTEGER) == 8 && sizeof(LONG_PTR) == 8 && sizeof(BOOLEAN) == 1);

static void copying(void)
{
    WCHAR to[6];
    errno_t error;
    HOLDS(wcsncpy_s(to, 6, W("abc"), _TRUNCATE) == 0 && wcscmp(to, W("abc")) == 0);
    HOLDS(wcsncpy_s(to, 6, W("abcde"), _TRUNCATE) == 0 && wcslen(to) == 5);
    HOLDS(wcsncpy_s(to, 6, W("abcdef"), _TRUNCATE) == STRUNCATE && wcscmp(to, W("abcde")) == 0);
    HOLDS(wcsncpy_s(to, 6, W("abcdef"), 3) == 0 && wcscmp(to, W("abc")) == 0);
    HOLDS(wcsncpy_s(to, 6, W("abcdef"), 5) == 0 && wcscmp(to, W("abcde")) == 0);
    errno = 0;
    HOLDS(wcsncpy_s(to, 6, W("abcdef"), 6) == ERANGE && to[0] == 0 && errno == ERANGE);
    HOLDS(wcsncpy_s(to, 6, W("abc"), 0) == 0 && to[0] == 0);
    HOLDS(wcsncpy_s(NULL, 0, NULL, 0) == 0);
    HOLDS(wcsncpy_s(NULL, 6, W("abc"), 3) == EINVAL);
    to[0] = 'x';
    HOLDS(wcsncpy_s(to, 6, NULL, 3) == EINVAL && to[0] == 0);
    HOLDS(wcsncpy_s(to, 0, W("abc"), 3) == EINVAL);
    HOLDS(wcscpy_s(to, 6, W("abcde")) == 0 && wcscpy_s(to, 6, W("abcdef")) == ERANGE && to[0] == 0);
    HOLDS(wcscpy_s(to, 6, W("abc")) == 0 && wcscat_s(to, 6, W("de")) == 0 && wcscmp(to, W("abcde")) == 0);
    error = wcscat_s(to, 6, W("f"));
    HOLDS(error == ERANGE && to[0] == 0);
    HOLDS(StringCchCopyW(to, 6, W("abcdef")) == STRSAFE_E_INSUFFICIENT_BUFFER && wcscmp(to, W("abcde")) == 0);
    HOLDS(StringCchPrintfW(to, 6, W("%d-%ls"), 1, W("x")) == S_OK && wcscmp(to, W("1-x")) == 0);
    HOLDS(StringCchCatW(to, 6, W("yzuv")) == STRSAFE_E_INSUFFICIENT_BUFFER && wcscmp(to, W("1-xyz")) == 0);
}

static void searching(void)
{
    const WCHAR *const text = W("0,_Total");
    WCHAR *end;
    HOLDS(wcsnlen(W("_Total"), 16) == 6 && wcsnlen(W("_Total"), 3) == 3);
    HOLDS(wcschr(text, ',') == text + 1 && wcschr(text, 'z') == NULL && wcschr(text, 0) == text + 8);
    HOLDS(wcsrchr(text, 't') == text + 5 && wcsstr(text, W("Tot")) == text + 3);
    HOLDS(wcsstr(text, W("")) == text && wcsstr(text, W("Toto")) == NULL);
    HOLDS(wcscmp(W("a"), W("b")) < 0 && wcscmp(W("b"), W("a")) > 0 && wcsncmp(W("ab"), W("ac"), 1) == 0);
    HOLDS(_wcsicmp(W("_TOTAL"), W("_Total")) == 0 && _wcsicmp(W("a"), W("B")) < 0);
    HOLDS(wcstol(W(" -42x"), &end, 10) == -42 && *end == 'x');
    HOLDS(wcstol(W("0x1F"), NULL, 0) == 31 && wcstol(W("017"), NULL, 0) == 15);
    errno = 0;
    HOLDS(wcstol(W("2147483648"), NULL, 10) == 2147483647 && errno == ERANGE);
    HOLDS(wcstol(W("-2147483648"), NULL, 10) == -2147483647 - 1);
    HOLDS(wcstoul(W("4294967295"), NULL, 10) == 4294967295u && wcstoul(W("-1"), NULL, 10) == 4294967295u);
    HOLDS(_wcstoui64(W("18446744073709551615"), NULL, 10) == 18446744073709551615ULL);
    HOLDS(wcstol(W("x"), &end, 10) == 0 && *end == 'x');
}

static void formats(void)
{
    char narrow[64];
    WCHAR wide[16];
    HOLDS(snprintf(narrow, sizeof narrow, "%ls|%5d|%-5ls|%.3ls", W("_Total"), 7, W("ab"), W("abcdef")) == 22);
    HOLDS(strcmp(narrow, "_Total|    7|ab   |abc") == 0);
    HOLDS(snprintf(narrow, 4, "%ls", W("_Total")) == 6 && strcmp(narrow, "_To") == 0);
    HOLDS(swprintf(wide, 16, W("%s %d"), W("Wide"), 5) == 6 && wcscmp(wide, W("Wide 5")) == 0);
    HOLDS(swprintf(wide, 4, W("%d"), 12345) < 0 && wcscmp(wide, W("123")) == 0);
    HOLDS(swprintf_s(wide, 4, W("%d"), 12345) == -1 && wide[0] == 0);
    HOLDS(_snwprintf_s(wide, 4, _TRUNCATE, W("%d"), 12345) == -1 && wcscmp(wide, W("123")) == 0);
    HOLDS(swprintf(wide, 16, W("%hs"), "\xC3\xBC\xF0\x9F\x98\x80") == 3 && wide[0] == 0xFC && wide[1] == 0xD83D);
    /* Unpaired surrogates and invalid UTF-8 are replaced. */
    wide[0] = 0xD83D;
    wide[1] = 'a';
    wide[2] = 0;
    HOLDS(snprintf(narrow, sizeof narrow, "%ls", wide) == 4 && strcmp(narrow, "\xEF\xBF\xBD" "a") == 0);
    HOLDS(swprintf(wide, 16, W("%hs"), "\xFF") == 1 && wide[0] == 0xFFFD);
    /* A long has 32 bits on Windows. */
    snprintf(narrow, sizeof narrow, "%ld %lu %I64d %llx", (LONG)-1, (ULONG)4294967295u, (LONGLONG)-5, 255ULL);
    HOLDS(strcmp(narrow, "-1 4294967295 -5 ff") == 0);
    snprintf(narrow, sizeof narrow, "%*d|%-*d|%.*f|%05d|%+d", 4, 1, 4, 2, 2, 1.005, 42, 3);
    HOLDS(strcmp(narrow, "   1|2   |1.00|00042|+3") == 0);
    HOLDS(snprintf(narrow, sizeof narrow, "%s", (char *)NULL) == 6 && strcmp(narrow, "(null)") == 0);
    HOLDS(snprintf(narrow, sizeof narrow, "%100d", 1) == 100 && narrow[62] == ' ' && narrow[63] == 0);
    HOLDS(snprintf(narrow, sizeof narrow, "%600d", 1) == 600);
    /* %n and invalid conversions are rejected. */
    HOLDS(snprintf(narrow, sizeof narrow, "a%nb", (int *)NULL) == -1);
    HOLDS(snprintf(narrow, sizeof narrow, "a%yb", 1) == -1);
}

static void clocks(void)
{
    static const struct {
        LONGLONG units;
        WORD parts[8];
    } cases[] = {
        {131246703908743382LL, {2016, 11, 6, 26, 21, 46, 30, 874}},
        {116444736000000000LL, {1970, 1, 4, 1, 0, 0, 0, 0}},
        {0, {1601, 1, 1, 1, 0, 0, 0, 0}},
        {125911584000000000LL - 10000, {1999, 12, 5, 31, 23, 59, 59, 999}},
        {125911584000000000LL + 59 * 864000000000LL, {2000, 2, 2, 29, 0, 0, 0, 0}},
    };
    size_t i;
    FILETIME beyond = {0, 0x80000000};
    SYSTEMTIME time;
    LARGE_INTEGER before, after, frequency;
    for (i = 0; i < _countof(cases); i++) {
        FILETIME file_time;
        file_time.dwLowDateTime = (DWORD)cases[i].units;
        file_time.dwHighDateTime = (DWORD)(cases[i].units >> 32);
        HOLDS(FileTimeToSystemTime(&file_time, &time));
        HOLDS(memcmp(&time, cases[i].parts, sizeof time) == 0);
    }
    HOLDS(!FileTimeToSystemTime(&beyond, &time));
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&before);
    Sleep(10);
    QueryPerformanceCounter(&after);
    HOLDS(after.QuadPart - before.QuadPart >= frequency.QuadPart / 100);
    HOLDS(GetTickCount64() >= (ULONGLONG)before.QuadPart / 10000);
}

#ifndef __cplusplus
/* Declared here since strict C modes hide it. */
int setenv(const char *name, const char *value, int replaces);
#endif

static void time_conversions(void)
{
    static const FILETIME first = {0x0B5C9A6F, 0x01D2475E};
    FILETIME back;
    SYSTEMTIME time = {2023, 2, 0, 29, 0, 0, 0, 0};
    HOLDS(!SystemTimeToFileTime(&time, &back) && GetLastError() == ERROR_INVALID_PARAMETER);
    time.wYear = 2000;
    HOLDS(SystemTimeToFileTime(&time, &back));
    HOLDS((((LONGLONG)back.dwHighDateTime << 32) | back.dwLowDateTime) == 125911584000000000LL + 59 * 864000000000LL);
    HOLDS(FileTimeToSystemTime(&first, &time) && SystemTimeToFileTime(&time, &back));
    HOLDS(first.dwHighDateTime == back.dwHighDateTime && first.dwLowDateTime - back.dwLowDateTime < 10000);
    HOLDS(setenv("TZ", "XYZ-2", 1) == 0 && FileTimeToLocalFileTime(&first, &back));
    HOLDS((((LONGLONG)back.dwHighDateTime << 32) | back.dwLowDateTime) -
              (((LONGLONG)first.dwHighDateTime << 32) | first.dwLowDateTime) == 72000000000LL);
    GetLocalTime(&time);
    HOLDS(time.wYear >= 2024);
}

static void text_conversions(void)
{
    static const char text[] = "Z\xC3\xBC\xF0\x9F\x98\x80";
    WCHAR wide[8];
    char narrow[16];
    size_t length;
    HOLDS(MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0) == 5);
    HOLDS(MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, 4) == 0 && GetLastError() == ERROR_INSUFFICIENT_BUFFER);
    HOLDS(MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, 8) == 5 && wide[2] == 0xD83D && wide[4] == 0);
    HOLDS(WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL) == 8);
    HOLDS(WideCharToMultiByte(CP_UTF8, 0, wide, -1, narrow, 16, NULL, NULL) == 8 && strcmp(narrow, text) == 0);
    HOLDS(WideCharToMultiByte(CP_UTF8, 0, wide, 3, narrow, 16, NULL, NULL) == 6);
    HOLDS(WideCharToMultiByte(1252, 0, wide, -1, narrow, 16, NULL, NULL) == 0);
    HOLDS(lstrlenW(wide) == 4 && lstrlenA(NULL) == 0);
    HOLDS(StringCbCopyW(wide, 7, W("abc")) == STRSAFE_E_INSUFFICIENT_BUFFER && wcscmp(wide, W("ab")) == 0);
    HOLDS(StringCbPrintfW(wide, sizeof wide, W("%d"), 42) == S_OK && StringCbLengthW(wide, 16, &length) == S_OK && length == 4);
    HOLDS(StringCchLengthA("abc", 4, &length) == S_OK && length == 3 && StringCchLengthA("abc", 3, NULL) != S_OK);
    HOLDS(_snprintf(narrow, 4, "%d", 123) == 3 && _snprintf(narrow, 4, "%d", 1234) == -1 && strcmp(narrow, "123") == 0);
    HOLDS(memcpy_s(narrow, 2, "abc", 3) == ERANGE && narrow[0] == 0 && memcpy_s(narrow, 4, "abc", 4) == 0);
}

static void system_calls(void)
{
    volatile LONG number = 1;
    volatile LONG64 large = 1;
    char text[64];
    WCHAR *message = NULL;
    DWORD size = sizeof text;
    FILE *file;
    HANDLE event;
    HOLDS(InterlockedIncrement(&number) == 2 && InterlockedDecrement(&number) == 1);
    HOLDS(InterlockedExchangeAdd(&number, 5) == 1 && number == 6 && InterlockedExchangeAdd64(&large, 5) == 1);
    HOLDS(InterlockedIncrement64(&large) == 7 && InterlockedCompareExchange(&number, 9, 6) == 6 && number == 9);
    HOLDS(GetComputerNameA(text, &size) && size == strlen(text) && size > 0);
    size = 1;
    HOLDS(!GetComputerNameA(text, &size) && size > 1);
    HOLDS(LoadLibraryA("pdh.dll") == NULL && GetLastError() == ERROR_MOD_NOT_FOUND);
    HOLDS(FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM, NULL, 0xC0000BB8u, 0, text, sizeof text, NULL) == 17);
    HOLDS(strcmp(text, "code 0xC0000BB8\r\n") == 0);
    HOLDS(FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_ALLOCATE_BUFFER, NULL, 5, 0, (WCHAR *)&message, 0, NULL) == 17);
    HOLDS(message && message[16] == '\n' && message[17] == 0 && LocalFree(message) == NULL);
    HOLDS(fopen_s(&file, "/no/such/file", "r") == ENOENT && file == NULL);
    HOLDS(CreateEventA(NULL, TRUE, FALSE, "named") == NULL && GetLastError() == ERROR_NOT_SUPPORTED);
    HOLDS(!CloseHandle((HANDLE)(uintptr_t)4096) && GetLastError() == ERROR_INVALID_HANDLE);
    event = CreateEvent(NULL, TRUE, FALSE, NULL);
    HOLDS(event && WaitForSingleObject(event, 0) == WAIT_TIMEOUT && SetEvent(event) && CloseHandle(event));
    HOLDS(!CloseHandle(event) && GetLastError() == ERROR_INVALID_HANDLE);
    HOLDS(INVALID_HANDLE_VALUE != NULL && MAXULONG == 0xFFFFFFFFu && _WIN32_WINNT > 0);
}

static void other_functions(void)
{
    GUID none;
    BYTE *memory = (BYTE *)HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, 16);
    HOLDS(memory && memory[15] == 0 && HeapFree(GetProcessHeap(), 0, memory));
    HOLDS(LocalFree(LocalAlloc(LPTR, 8)) == NULL);
    memset(&none, 0, sizeof none);
#ifdef __cplusplus
    HOLDS(IsEqualGUID(none, GUID_NULL) && none == GUID_NULL);
#else
    HOLDS(IsEqualGUID(&none, &GUID_NULL));
#endif
    SetLastError(ERROR_MORE_DATA);
    HOLDS(GetLastError() == 234);
    HOLDS(HRESULT_FROM_WIN32(ERROR_INVALID_PARAMETER) == E_INVALIDARG && FAILED(E_FAIL) && SUCCEEDED(S_OK));
    HOLDS(LOWORD(0x12345678) == 0x5678 && HIWORD(0x12345678) == 0x1234);
    HOLDS(min(3, 4) == 3 && max(3, 4) == 4);
}

void __cdecl wmain(int argc, WCHAR **argv, WCHAR **envp)
{
    HOLDS(argc == 2 && argv[2] == NULL && envp != NULL);
    HOLDS(argv[1][0] == 'Z' && argv[1][1] == 0xFC && argv[1][2] == 0xD83D);
    copying();
    searching();
    formats();
    clocks();
    time_conversions();
    text_conversions();
    system_calls();
    other_functions();
    if (failed) {
        exit(1);
    }
}
