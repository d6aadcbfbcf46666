/*
 * Many threads at once: each with handles of its own, and all with shared handles that any of them closes and
 * replaces. Arguments: a folder to write in; the code that CpiInit returns.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <windows.h>
#include "checks.h"
#ifdef MADE
#include "made.h"
#endif

#define THREADS 8
#ifndef ROUNDS
#define ROUNDS 400
#endif
#define SHARED 4

static int here;
static char path[4096];
static _Atomic(void *) shared[SHARED];
static atomic_uint gets, ends;
static atomic_bool is_done;

/* Checks that a call returns the code for an open handle, or for one that another thread has closed. */
#define RETURNS_IF_LIVE(call) returns_if_live(__LINE__, #call, call)

static int dead(void)
{
    return here == PU_SUCCESS ? PU_ERROR_INVALID_PARAMETER : PU_ERR_NULL_PTR;
}

/*
 * Each reading by any thread advances the fake machine. After readings by other threads in between, counters may seem
 * to be unchanged, so that there is no CPI.
 */
static int is_data(int rc)
{
    return rc == PU_SUCCESS || rc == PU_ERROR_INVALID_CPI_DATA;
}

static int returns_if_live(int line, const char *call, int rc)
{
    if (rc != dead() && !is_data(rc)) {
        check_code(line, call, rc, PU_SUCCESS);
    }
    return rc;
}

static void *work(void *number)
{
    unsigned state = *(const unsigned *)number;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        const CPI_DATA *cd;
        void *handle, *other;
        int rc;

        /* The thread's own handle. */
        RETURNS(CpiInit(CPI_TYPE_RAW | CPI_TYPE_SCALED | CPI_TYPE_ONTHREAD, &handle), here);
        if (here == PU_SUCCESS) {
            RETURNS(CpiStart(handle), PU_SUCCESS);
            HOLDS(is_data(CpiGet(handle, &cd)));
            HOLDS(cd != NULL && cd->num_cpus > 0 && cd->elapsed_cycles > 0);
            RETURNS(CpiTerminate(handle), PU_SUCCESS);
        }
        RETURNS(CpiTerminate(handle), dead());

        /* A shared handle: the thread that removes it closes it, while others may use it. */
        state = state * 1664525u + 1013904223u;
        other = atomic_load(&shared[state / 65536 % SHARED]);
        if (is_data(RETURNS_IF_LIVE(CpiGet(other, &cd)))) {
            atomic_fetch_add(&gets, 1);
        }
        RETURNS_IF_LIVE(CpiStart(other));
        rc = CpiGetAndTrace(other, 7, CPI_TYPE_TRACE_EVERYTHING, "shared", &cd);
        if (rc != PU_ERROR_NO_BUFFER) {
            RETURNS_IF_LIVE(rc);
        }
        if (state / 65536 / SHARED % 8 == 0) {
            void *made;
            RETURNS(CpiInit(CPI_TYPE_RAW, &made), here);
            other = atomic_exchange(&shared[state / 65536 % SHARED], made);
            RETURNS_IF_LIVE(CpiTerminate(other));
            atomic_fetch_add(&ends, 1);
        }
    }
    return NULL;
}

/* Opens and closes the trace until the other threads end. */
static void *trace(void *unused)
{
    (void)unused;
    do {
        RETURNS(TachoTraceOpen(path), PU_SUCCESS);
        /* Yields, so that others run even on one slow processor. */
        Sleep(1);
        RETURNS(TachoTraceClose(), PU_SUCCESS);
    } while (!atomic_load(&is_done));
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS], tracer;
    unsigned numbers[THREADS];
    int i;

    if (count != 3) {
        return 2;
    }
    snprintf(path, sizeof path, "%s/threads.nrm2", arguments[1]);
    here = atoi(arguments[2]);
#ifdef MADE
    TachoMadeMachine(4);
#endif
    for (i = 0; i < SHARED; i++) {
        void *handle;
        RETURNS(CpiInit(CPI_TYPE_RAW, &handle), here);
        atomic_store(&shared[i], handle);
    }
    for (i = 0; i < THREADS; i++) {
        numbers[i] = (unsigned)i;
        HOLDS(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    HOLDS(pthread_create(&tracer, NULL, trace, NULL) == 0);
    for (i = 0; i < THREADS; i++) {
        HOLDS(pthread_join(threads[i], NULL) == 0);
    }
    atomic_store(&is_done, 1);
    HOLDS(pthread_join(tracer, NULL) == 0);
    for (i = 0; i < SHARED; i++) {
        RETURNS(CpiTerminate(atomic_load(&shared[i])), here == PU_SUCCESS ? PU_SUCCESS : PU_ERR_NULL_PTR);
    }
    HOLDS(atomic_load(&ends) > 0);
    HOLDS(here != PU_SUCCESS || atomic_load(&gets) > 0);
    return failed;
}
