/*
 * A forked child measures itself with handles of its own, and has a trace of its own; its parent's thread, pages and
 * trace are not affected. The argument is a folder; TACHO_CPI_TRACE names a file with %p in it.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "checks.h"
#ifdef FAKE_MACHINE
#include "fake_machine.h"
#endif

#define PAGES 8

static void work(void)
{
    volatile int i;
    for (i = 0; i < 1000000; i++) {
    }
}

/* One interval of the calling thread, traced with a label. */
static void measure(void *handle, const char *label)
{
    const CPI_DATA *cd;
    RETURNS(CpiStart(handle), PU_SUCCESS);
    work();
    RETURNS(CpiGetAndTrace(handle, 1, CPI_TYPE_TRACE_SUMMARY, label, &cd), PU_SUCCESS);
    HOLDS(cd != NULL && cd->thread_cpi > 0 && cd->tid > 0);
}

/* Whether a trace contains a label. */
static int trace_contains(const char *folder, long process, const char *label)
{
    static char text[1 << 20];
    char name[4096];
    size_t length, i;
    FILE *file;
    snprintf(name, sizeof name, "%s/trace-%ld.nrm2", folder, process);
    file = fopen(name, "rb");
    if (file == NULL) {
        return 0;
    }
    length = fread(text, 1, sizeof text, file);
    fclose(file);
    for (i = 0; i + strlen(label) <= length; i++) {
        if (memcmp(text + i, label, strlen(label)) == 0) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    void *handle, *child_handle;
    int status, i;
    pid_t child;

    if (argc < 2) {
        return 2;
    }
#ifdef FAKE_MACHINE
    TachoUseFakeMachine(1);
#endif
    RETURNS(CpiInit(CPI_TYPE_ONTHREAD, &handle), PU_SUCCESS);
    measure(handle, "parent-1");
    child = fork();
    if (child == 0) {
        /* The addresses of the parent's counter pages are other memory in the child. */
        char *pages = (char *)mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        HOLDS(pages != (char *)MAP_FAILED);
        RETURNS(CpiInit(CPI_TYPE_ONTHREAD, &child_handle), PU_SUCCESS);
        measure(child_handle, "child-1");
        RETURNS(CpiTerminate(handle), PU_SUCCESS);
        for (i = 0; i < PAGES; i++) {
            pages[i * 4096] = 1;
        }
        measure(child_handle, "child-2");
        RETURNS(CpiTerminate(child_handle), PU_SUCCESS);
        exit(failed);
    }
    measure(handle, "parent-2");
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    measure(handle, "parent-3");
    RETURNS(CpiTerminate(handle), PU_SUCCESS);
    HOLDS(trace_contains(argv[1], getpid(), "parent-1") && trace_contains(argv[1], getpid(), "parent-2"));
    HOLDS(trace_contains(argv[1], getpid(), "parent-3") && !trace_contains(argv[1], getpid(), "child-1"));
    HOLDS(trace_contains(argv[1], child, "child-1") && trace_contains(argv[1], child, "child-2"));
    HOLDS(!trace_contains(argv[1], child, "parent-2"));
    return failed;
}
