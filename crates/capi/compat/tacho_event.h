/*
 * tacho_event.h: Windows events on eventfd, as PdhCollectQueryDataEx accepts them.
 *
 * windows.h includes it. The HANDLE of an event is its file descriptor * 4, with bit 0 set and bit 1 for manual
 * reset. Events belong to the process and have no names.
 */
#ifndef TACHO_COMPAT_EVENT_H
#define TACHO_COMPAT_EVENT_H

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/times.h>
#include <unistd.h>

#include "tachograph/errors.h"
#include "tachograph/types.h"

#ifdef __cplusplus
extern "C" {
#endif
void TachoSetLastError(DWORD code);
#ifdef __cplusplus
}
#endif

#ifndef INFINITE
#define INFINITE 0xFFFFFFFF
#endif
#ifndef WAIT_OBJECT_0
#define WAIT_OBJECT_0 ((DWORD)0)
#endif
#ifndef WAIT_TIMEOUT
#define WAIT_TIMEOUT ((DWORD)258)
#endif
#ifndef WAIT_FAILED
#define WAIT_FAILED ((DWORD)0xFFFFFFFF)
#endif

/* Sets the last error from errno and returns FALSE. */
static inline BOOL tacho_compat_fail(void)
{
    TachoSetLastError(errno == EBADF                        ? ERROR_INVALID_HANDLE
                      : errno == ENOMEM                     ? ERROR_NOT_ENOUGH_MEMORY
                      : errno == EMFILE || errno == ENFILE  ? ERROR_NO_SYSTEM_RESOURCES
                                                            : ERROR_INTERNAL_ERROR);
    return FALSE;
}

/* Returns whether the handle is an event; if not, sets the last error. */
static inline int tacho_compat_is_event(HANDLE event)
{
    if (((uintptr_t)event & 1) == 0) {
        TachoSetLastError(ERROR_INVALID_HANDLE);
        return 0;
    }
    return 1;
}

static inline int tacho_compat_event_file(HANDLE event)
{
    return (int)((uintptr_t)event >> 2);
}

/* Resets the event; FALSE if it was not set. */
static inline BOOL tacho_compat_reset(HANDLE event)
{
    uint64_t count;
    return read(tacho_compat_event_file(event), &count, sizeof count) == (ssize_t)sizeof count;
}

/* Sets an event, until a wait (without manual reset) or ResetEvent resets it. */
static inline BOOL SetEvent(HANDLE event)
{
    const uint64_t one = 1;
    if (!tacho_compat_is_event(event)) {
        return FALSE;
    }
    return write(tacho_compat_event_file(event), &one, sizeof one) == (ssize_t)sizeof one ||
           errno == EAGAIN || tacho_compat_fail();
}

static inline BOOL ResetEvent(HANDLE event)
{
    return tacho_compat_is_event(event) &&
           (tacho_compat_reset(event) || errno == EAGAIN || tacho_compat_fail());
}

/* Creates an event; null on error, and if a name is passed, which is not supported. */
static inline HANDLE CreateEventA(void *attributes, BOOL manual, BOOL is_set, LPCSTR name)
{
    int file;
    (void)attributes;
    if (name) {
        TachoSetLastError(ERROR_NOT_SUPPORTED);
        return NULL;
    }
    file = eventfd(is_set ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (file < 0) {
        (void)tacho_compat_fail();
        return NULL;
    }
    return (HANDLE)((uintptr_t)file << 2 | (manual ? 2 : 0) | 1);
}

static inline HANDLE CreateEventW(void *attributes, BOOL manual, BOOL is_set, LPCWSTR name)
{
    return CreateEventA(attributes, manual, is_set, name ? "" : NULL);
}

#ifdef UNICODE
#define CreateEvent CreateEventW
#else
#define CreateEvent CreateEventA
#endif

/* Waits until an event is set, or for this many milliseconds. */
static inline DWORD WaitForSingleObject(HANDLE event, DWORD milliseconds)
{
    const clock_t start = times(NULL);
    const long ticks_per_second = sysconf(_SC_CLK_TCK);
    struct pollfd file;
    DWORD remaining = milliseconds;
    if (!tacho_compat_is_event(event)) {
        return WAIT_FAILED;
    }
    file.fd = tacho_compat_event_file(event);
    file.events = POLLIN;
    for (;;) {
        const int is_infinite = milliseconds == INFINITE;
        const int found = poll(&file, 1, is_infinite ? -1 : remaining > 0x7FFFFFFF ? 0x7FFFFFFF : (int)remaining);
        if (found < 0 && errno != EINTR) {
            (void)tacho_compat_fail();
            return WAIT_FAILED;
        }
        if (found > 0) {
            if (file.revents & (POLLNVAL | POLLERR)) {
                TachoSetLastError(ERROR_INVALID_HANDLE);
                return WAIT_FAILED;
            }
            if (((uintptr_t)event & 2) || tacho_compat_reset(event)) {
                return WAIT_OBJECT_0;
            }
            /* Another thread was first. */
        }
        if (!is_infinite) {
            const unsigned long long elapsed =
                (unsigned long long)(times(NULL) - start) * 1000 / (unsigned long long)ticks_per_second;
            if ((found == 0 && remaining <= 0x7FFFFFFF) || elapsed >= milliseconds) {
                return WAIT_TIMEOUT;
            }
            remaining = milliseconds - (DWORD)elapsed;
        }
    }
}

/* Closes an event. */
static inline BOOL CloseHandle(HANDLE event)
{
    return tacho_compat_is_event(event) &&
           (close(tacho_compat_event_file(event)) == 0 || tacho_compat_fail());
}

#endif
