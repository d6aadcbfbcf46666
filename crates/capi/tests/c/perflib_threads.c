/* Many threads at once, with handles of their own and with a shared one that is closed meanwhile. */
#include <pthread.h>
#include "perflib_checks.h"

#define THREADS 8
#define ROUNDS 100

static HANDLE shared;

static void *consume(void *unused)
{
    BYTE block[65536];
    DWORD actual;
    int round;
    (void)unused;
    for (round = 0; round < ROUNDS; round++) {
        NAMED_IDENTIFIER wanted = named_identifier(&PROCESSORS, "*", PERF_WILDCARD_COUNTER);
        NAMED_IDENTIFIER other = named_identifier(&PROCESSORS, "_Total", (ULONG)round % 3);
        HANDLE own;
        ULONG code;
        RETURNS(PerfOpenQueryHandle(NULL, &own), ERROR_SUCCESS);
        RETURNS(PerfAddCounters(own, &wanted.head, wanted.head.Size), ERROR_SUCCESS);
        RETURNS(PerfQueryCounterData(own, (PERF_DATA_HEADER *)block, sizeof block, &actual), ERROR_SUCCESS);
        RETURNS(PerfCloseQueryHandle(own), ERROR_SUCCESS);
        RETURNS(PerfCloseQueryHandle(own), ERROR_INVALID_HANDLE);
        code = PerfAddCounters(shared, &other.head, other.head.Size);
        HOLDS(code == ERROR_SUCCESS || code == ERROR_INVALID_HANDLE);
        code = PerfQueryCounterData(shared, (PERF_DATA_HEADER *)block, sizeof block, &actual);
        HOLDS(code == ERROR_SUCCESS || code == ERROR_INVALID_HANDLE);
        code = PerfDeleteCounters(shared, &other.head, other.head.Size);
        HOLDS(code == ERROR_SUCCESS || code == ERROR_INVALID_HANDLE);
        if (round == ROUNDS / 2) {
            code = PerfCloseQueryHandle(shared);
            HOLDS(code == ERROR_SUCCESS || code == ERROR_INVALID_HANDLE);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int i;
    RETURNS(PerfOpenQueryHandle(NULL, &shared), ERROR_SUCCESS);
    for (i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, consume, NULL) != 0) {
            return 2;
        }
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return failed;
}
