/*
 * Many threads at once: each with handles of its own, and all with shared handles that any of them closes and
 * replaces. Arguments: a folder to write in; the code that CpiInit returns.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <windows.h>
#include "checks.h"
#ifdef FAKE_MACHINE
#include "fake_machine.h"
#endif

#define THREADS 8
#ifndef ROUNDS
#define ROUNDS 400
#endif
#define SHARED 4

static int init_code;
static char path[4096];
static _Atomic(void *) shared[SHARED];
static atomic_uint gets, replaced;
static atomic_bool is_done;

/* Checks that a call returns the code for an open handle, or for one that another thread has closed. */
#define RETURNS_OPEN_OR_CLOSED(call) check_open_or_closed(__LINE__, #call, call)

static int code_if_closed(void)
{
    return init_code == PU_SUCCESS ? PU_ERROR_INVALID_PARAMETER : PU_ERR_NULL_PTR;
}

/*
 * Each reading by any thread advances the fake machine. After readings by other threads in between, counters may seem
 * to be unchanged, so that there is no CPI.
 */
static int has_data(int rc)
{
    return rc == PU_SUCCESS || rc == PU_ERROR_INVALID_CPI_DATA;
}

static int check_open_or_closed(int line, const char *call, int rc)
{
    if (rc != code_if_closed() && !has_data(rc)) {
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
        RETURNS(CpiInit(CPI_TYPE_RAW | CPI_TYPE_SCALED | CPI_TYPE_ONTHREAD, &handle), init_code);
        if (init_code == PU_SUCCESS) {
            RETURNS(CpiStart(handle), PU_SUCCESS);
            HOLDS(has_data(CpiGet(handle, &cd)));
            HOLDS(cd != NULL && cd->num_cpus > 0 && cd->elapsed_cycles > 0);
            RETURNS(CpiTerminate(handle), PU_SUCCESS);
        }
        RETURNS(CpiTerminate(handle), code_if_closed());

        /* A shared handle: the thread that removes it closes it, while others may use it. */
        state = state * 1664525u + 1013904223u;
        other = atomic_load(&shared[state / 65536 % SHARED]);
        if (has_data(RETURNS_OPEN_OR_CLOSED(CpiGet(other, &cd)))) {
            atomic_fetch_add(&gets, 1);
        }
        RETURNS_OPEN_OR_CLOSED(CpiStart(other));
        rc = CpiGetAndTrace(other, 7, CPI_TYPE_TRACE_EVERYTHING, "shared", &cd);
        if (rc != PU_ERROR_NO_BUFFER) {
            RETURNS_OPEN_OR_CLOSED(rc);
        }
        if (state / 65536 / SHARED % 8 == 0) {
            void *replacement;
            RETURNS(CpiInit(CPI_TYPE_RAW, &replacement), init_code);
            other = atomic_exchange(&shared[state / 65536 % SHARED], replacement);
            RETURNS_OPEN_OR_CLOSED(CpiTerminate(other));
            atomic_fetch_add(&replaced, 1);
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
    init_code = atoi(arguments[2]);
#ifdef FAKE_MACHINE
    TachoUseFakeMachine(4);
#endif
    for (i = 0; i < SHARED; i++) {
        void *handle;
        RETURNS(CpiInit(CPI_TYPE_RAW, &handle), init_code);
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
        RETURNS(CpiTerminate(atomic_load(&shared[i])), init_code == PU_SUCCESS ? PU_SUCCESS : PU_ERR_NULL_PTR);
    }
    HOLDS(atomic_load(&replaced) > 0);
    HOLDS(init_code != PU_SUCCESS || atomic_load(&gets) > 0);
    return failed;
}
