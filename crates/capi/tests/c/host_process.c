/*
 * The library does not change the limits, signal handlers (except that of SIGBUS), signal mask, working folder and
 * locale of its process, and leaves many descriptors free, among them low ones. There are more child processes than
 * files that the library may keep open.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pdh_checks.h"

enum { LIMIT = 256, CHILDREN = 150, FREE = 128, LOW = 64, ROUNDS = 3, SIGNALS = 65 };

static pid_t children[CHILDREN];

/* Starts children that wait until their parent ends. */
static void start_children(void)
{
    int ends[2], i;
    char byte;
    HOLDS(pipe(ends) == 0);
    for (i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(ends[1]);
            _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
        }
        HOLDS(children[i] > 0);
    }
    close(ends[0]);
    /* The other end stays open until this program ends. */
}

typedef struct {
    struct rlimit limits[RLIM_NLIMITS];
    struct sigaction actions[SIGNALS];
    sigset_t mask;
    char folder[4096];
    char locale[256];
    mode_t file_mask;
    int priority;
} STATE;

static void record_state(STATE *state)
{
    int i;
    memset(state, 0, sizeof *state);
    for (i = 0; i < (int)RLIM_NLIMITS; i++) {
        HOLDS(getrlimit((__rlimit_resource_t)i, &state->limits[i]) == 0);
    }
    for (i = 1; i < SIGNALS; i++) {
        if (i != SIGBUS) {
            sigaction(i, NULL, &state->actions[i]);
        }
    }
    HOLDS(sigprocmask(SIG_BLOCK, NULL, &state->mask) == 0);
    HOLDS(getcwd(state->folder, sizeof state->folder) != NULL);
    strncpy(state->locale, setlocale(LC_ALL, NULL), sizeof state->locale - 1);
    state->file_mask = umask(0);
    umask(state->file_mask);
    state->priority = getpriority(PRIO_PROCESS, 0);
}

static void check_unchanged(const STATE *initial)
{
    static STATE now;
    int i;
    record_state(&now);
    for (i = 0; i < (int)RLIM_NLIMITS; i++) {
        if (memcmp(&now.limits[i], &initial->limits[i], sizeof now.limits[i]) != 0) {
            printf("limit %d: %ju instead of %ju\n", i, (uintmax_t)now.limits[i].rlim_cur,
                   (uintmax_t)initial->limits[i].rlim_cur);
            failed = 1;
        }
    }
    for (i = 1; i < SIGNALS; i++) {
        if (now.actions[i].sa_handler != initial->actions[i].sa_handler
            || now.actions[i].sa_flags != initial->actions[i].sa_flags) {
            printf("signal %d has another handler\n", i);
            failed = 1;
        }
    }
    HOLDS(memcmp(&now.mask, &initial->mask, sizeof now.mask) == 0);
    HOLDS(strcmp(now.folder, initial->folder) == 0);
    HOLDS(strcmp(now.locale, initial->locale) == 0);
    HOLDS(now.file_mask == initial->file_mask);
    HOLDS(now.priority == initial->priority);
}

/* Checks that 128 descriptors are free, and that the first of them is low. */
static void check_free_descriptors(void)
{
    int files[FREE], i;
    for (i = 0; i < FREE; i++) {
        files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (files[i] < 0) {
            printf("only %d files can be opened\n", i);
            failed = 1;
            break;
        }
        if (i == 0 && files[i] >= LOW) {
            printf("the next file has the number %d\n", files[i]);
            failed = 1;
        }
    }
    while (i-- > 0) {
        close(files[i]);
    }
}

/* Checks that each child has values, although not all of their files can stay open. */
static void check_values(PDH_HCOUNTER ids, PDH_HCOUNTER memory)
{
    PDH_FMT_COUNTERVALUE_ITEM_A *items;
    DWORD size = 0, count = 0, i, found = 0;
    RETURNS(PdhGetFormattedCounterArrayA(ids, PDH_FMT_LARGE, &size, &count, NULL), PDH_MORE_DATA);
    items = (PDH_FMT_COUNTERVALUE_ITEM_A *)malloc(size);
    SUCCEEDS(PdhGetFormattedCounterArrayA(ids, PDH_FMT_LARGE, &size, &count, items));
    for (i = 0; i < count; i++) {
        int child;
        for (child = 0; child < CHILDREN; child++) {
            found += items[i].FmtValue.CStatus == 0 && items[i].FmtValue.largeValue == children[child];
        }
    }
    free(items);
    if (found != CHILDREN) {
        printf("%u of %d children have an id\n", (unsigned)found, CHILDREN);
        failed = 1;
    }
    size = count = found = 0;
    RETURNS(PdhGetFormattedCounterArrayA(memory, PDH_FMT_LARGE, &size, &count, NULL), PDH_MORE_DATA);
    items = (PDH_FMT_COUNTERVALUE_ITEM_A *)malloc(size);
    SUCCEEDS(PdhGetFormattedCounterArrayA(memory, PDH_FMT_LARGE, &size, &count, items));
    for (i = 0; i < count; i++) {
        found += items[i].FmtValue.CStatus == 0 && items[i].FmtValue.largeValue > 0;
    }
    free(items);
    /* Kernel threads have no memory. */
    HOLDS(found >= CHILDREN);
}

int main(void)
{
    static STATE initial;
    struct rlimit limit;
    PDH_HQUERY query;
    PDH_HCOUNTER ids, memory, unused_counter, groups;
    int i;

    HOLDS(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    HOLDS(limit.rlim_max > LIMIT);
    limit.rlim_cur = LIMIT;
    HOLDS(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    HOLDS(setlocale(LC_ALL, "C") != NULL);
    start_children();
    record_state(&initial);
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, "\\Process(*)\\ID Process", 0, &ids));
    SUCCEEDS(PdhAddCounterA(query, "\\Process(*)\\Working Set Peak", 0, &memory));
    SUCCEEDS(PdhAddCounterA(query, "\\Process V2(*)\\Handle Count", 0, &unused_counter));
    SUCCEEDS(PdhAddCounterA(query, "\\Thread(*)\\ID Thread", 0, &unused_counter));
    /* Not every machine has control groups of version 2. */
    PdhAddCounterA(query, "\\Cgroup(*)\\Processes", 0, &groups);
    for (i = 0; i < ROUNDS; i++) {
        SUCCEEDS(PdhCollectQueryData(query));
        check_values(ids, memory);
        check_unchanged(&initial);
        check_free_descriptors();
    }
    SUCCEEDS(PdhCloseQuery(query));
    check_unchanged(&initial);
    return failed;
}
