/*
 * Handlers of SIGBUS that the program installs before and between calls of the library receive the signals of the
 * program's own reads. The library handles the signals of its reads, for example of a published file that is truncated
 * meanwhile. The test sets a runtime folder for this program only.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "perflib_checks.h"

static GUID set_guid = {0x5ab1fe47, 0x3d15, 0x4c7d, {0x8e, 0x3b, 0x0f, 0x1c, 0x4b, 0x6d, 0x2a, 0x90}};

static const WCHAR NAME[] = {'o', 'n', 'e', 0};

/* Publishes a set until the parent ends. */
static void publish(int ready, int end)
{
    struct {
        PERF_COUNTERSET_INFO set;
        PERF_COUNTER_INFO counter;
    } set;
    HANDLE provider;
    char byte = 0;
    memset(&set, 0, sizeof set);
    set.set.CounterSetGuid = set.set.ProviderGuid = set_guid;
    set.set.NumCounters = 1;
    set.set.InstanceType = PERF_COUNTERSET_MULTI_INSTANCES;
    set.counter.CounterId = 1;
    set.counter.Type = PERF_COUNTER_LARGE_RAWCOUNT;
    set.counter.DetailLevel = PERF_DETAIL_NOVICE;
    set.counter.Size = sizeof set.counter;
    RETURNS(PerfStartProvider(&set_guid, NULL, &provider), ERROR_SUCCESS);
    RETURNS(PerfSetCounterSetInfo(provider, &set.set, sizeof set), ERROR_SUCCESS);
    HOLDS(PerfCreateInstance(provider, &set_guid, NAME, 1) != NULL);
    fflush(stdout);
    HOLDS(write(ready, &byte, 1) == 1);
    /* Does not stop the provider, because its file is truncated. */
    _exit(read(end, &byte, 1) == 0 ? failed : 1);
}

static pid_t publisher;
static int publisher_end;

static void start_publisher(void)
{
    int ready[2], end[2];
    char byte;
    HOLDS(pipe(ready) == 0 && pipe(end) == 0);
    publisher = fork();
    if (publisher == 0) {
        close(end[1]);
        publish(ready[1], end[0]);
    }
    close(end[0]);
    publisher_end = end[1];
    HOLDS(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
}

static void end_publisher(void)
{
    int status;
    close(publisher_end);
    HOLDS(waitpid(publisher, &status, 0) == publisher && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Collects the published set; returns the number of its instances. */
static DWORD collect(HANDLE query)
{
    static BYTE block[65536];
    const PERF_COUNTER_HEADER *head = (const PERF_COUNTER_HEADER *)(block + 48);
    DWORD actual;
    RETURNS(PerfQueryCounterData(query, (PERF_DATA_HEADER *)block, sizeof block, &actual), ERROR_SUCCESS);
    if (head->dwType != PERF_MULTIPLE_INSTANCES) {
        return 0;
    }
    return ((const PERF_MULTI_INSTANCES *)(head + 1))->dwInstances;
}

static HANDLE open_query(void)
{
    NAMED_IDENTIFIER wanted = named_identifier(&set_guid, "*", 1);
    HANDLE query;
    RETURNS(PerfOpenQueryHandle(NULL, &query), ERROR_SUCCESS);
    RETURNS(PerfAddCounters(query, &wanted.head, wanted.head.Size), ERROR_SUCCESS);
    RETURNS(wanted.head.Status, ERROR_SUCCESS);
    return query;
}

/* Truncates the published file after its header. */
static void truncate_published_file(void)
{
    const char *const folder = getenv("TACHO_RUNTIME_DIR");
    DIR *const files = opendir(folder);
    struct dirent *entry;
    char path[4096];
    int count = 0;
    HOLDS(files != NULL);
    while ((entry = readdir(files)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count += entry->d_type == DT_REG && truncate(path, 4096) == 0;
    }
    closedir(files);
    HOLDS(count == 1);
}

/* ---- The program's own handlers ---- */

static volatile sig_atomic_t expects_signal;
static sigjmp_buf jump_target;
static char called[8];
static sigset_t masked;
static struct sigaction previous;

static void record_call(char name)
{
    const size_t length = strlen(called);
    if (!expects_signal) {
        static const char text[] = "the program got a signal meant for the library\n";
        _exit(write(1, text, sizeof text - 1) > 0 ? 1 : 2);
    }
    if (length < sizeof called - 1) {
        called[length] = name;
    }
}

static void plain_handler(int signal)
{
    (void)signal;
    record_call('p');
    sigprocmask(SIG_BLOCK, NULL, &masked);
    siglongjmp(jump_target, 1);
}

/* Calls the previously installed handler. */
static void chaining_handler(int signal, siginfo_t *info, void *context)
{
    record_call('c');
    sigprocmask(SIG_BLOCK, NULL, &masked);
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else {
        previous.sa_handler(signal);
    }
}

static void one_time_handler(int signal)
{
    (void)signal;
    record_call('o');
    siglongjmp(jump_target, 1);
}

static void install_handler(void (*handler)(int), int flags, int blocked, struct sigaction *old_action)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    if (blocked) {
        sigaddset(&action.sa_mask, blocked);
    }
    HOLDS(sigaction(SIGBUS, &action, old_action) == 0);
}

/* Reads the program's own memory of a truncated file; `called` records the handlers that ran. */
static void read_truncated_memory(void)
{
    FILE *const file = tmpfile();
    volatile char *memory;
    HOLDS(file != NULL && ftruncate(fileno(file), 4096) == 0);
    memory = (volatile char *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
    HOLDS(memory != MAP_FAILED && ftruncate(fileno(file), 0) == 0);
    memset(called, 0, sizeof called);
    expects_signal = 1;
    if (sigsetjmp(jump_target, 1) == 0) {
        (void)memory[0];
        printf("a read of truncated memory returned\n");
        failed = 1;
    }
    expects_signal = 0;
    munmap((void *)(uintptr_t)memory, 4096);
    fclose(file);
}

/* Installs `chaining_handler`; `previous` is the handler before it. */
static void install_chaining_handler(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = chaining_handler;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    HOLDS(sigaction(SIGBUS, &action, &previous) == 0);
}

/*
 * Installs the same chaining handler twice. The second time, its previous handler is the library's, whose previous
 * handler is the chaining one again. Because the program has no other handler, the default action ends the process.
 */
static void end_by_default(int is_raised)
{
    const pid_t child = fork();
    int status;
    if (child == 0) {
        HANDLE query = open_query();
        install_chaining_handler();
        HOLDS(collect(query) == 1);
        install_chaining_handler();
        HOLDS(collect(query) == 1);
        fflush(stdout);
        expects_signal = 1;
        if (is_raised) {
            raise(SIGBUS);
        } else {
            read_truncated_memory();
        }
        _exit(1);
    }
    HOLDS(waitpid(child, &status, 0) == child);
    HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

int main(void)
{
    static char stack[65536];
    const stack_t alternate_stack = {.ss_sp = stack, .ss_size = sizeof stack};
    HANDLE query;
    int i;

    start_publisher();
    end_by_default(0);
    end_by_default(1);
    end_publisher();

    install_handler(plain_handler, 0, SIGUSR1, NULL);
    start_publisher();
    query = open_query();
    HOLDS(collect(query) == 1);
    read_truncated_memory();
    HOLDS(strcmp(called, "p") == 0);
    HOLDS(sigismember(&masked, SIGUSR1) == 1 && sigismember(&masked, SIGBUS) == 1);

    /* Between two calls, a handler that calls its predecessor. */
    install_chaining_handler();
    for (i = 0; i < 3; i++) {
        HOLDS(collect(query) == 1);
        read_truncated_memory();
        HOLDS(strcmp(called, "cp") == 0);
    }

    /* The same again: the previous handler is now the library's, which calls the chaining handler. On an alternate
     * stack, the frames of all signals have the same address, even after a handler that left with siglongjmp. */
    HOLDS(sigaltstack(&alternate_stack, NULL) == 0);
    for (i = 0; i < 3; i++) {
        install_chaining_handler();
        HOLDS(collect(query) == 1);
        read_truncated_memory();
        HOLDS(strcmp(called, "cp") == 0);
        read_truncated_memory();
        HOLDS(strcmp(called, "cp") == 0);
    }

    /* A truncated published file is handled by the library, whatever was installed meanwhile. */
    install_handler(plain_handler, 0, 0, NULL);
    truncate_published_file();
    HOLDS(collect(query) == 0);
    read_truncated_memory();
    HOLDS(strcmp(called, "p") == 0);
    RETURNS(PerfCloseQueryHandle(query), ERROR_SUCCESS);
    end_publisher();

    /* A handler that is removed after one signal (SA_RESETHAND); then ignored signals. */
    start_publisher();
    query = open_query();
    install_handler(one_time_handler, (int)SA_RESETHAND, 0, NULL);
    HOLDS(collect(query) == 1);
    read_truncated_memory();
    HOLDS(strcmp(called, "o") == 0);
    install_handler(SIG_IGN, 0, 0, NULL);
    HOLDS(collect(query) == 1);
    HOLDS(raise(SIGBUS) == 0);
    truncate_published_file();
    HOLDS(collect(query) == 0);
    RETURNS(PerfCloseQueryHandle(query), ERROR_SUCCESS);
    end_publisher();
    return failed;
}
