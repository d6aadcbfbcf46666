/* Starts short processes at a constant rate, for bench/owners. Usage: fork-storm KIND PROCESSES_PER_SECOND SECONDS
 *
 * plain     the parent waits for each process
 * exec      the same, and each process executes a program first
 * double    each process starts another, which init adopts
 * ignored   the parent ignores SIGCHLD
 * threads   each process runs two more threads
 *
 * Each process uses about 0.3 ms of processor time. Prints the number of processes that were started.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Uses this much processor time of the thread, partly in user mode and partly in the kernel. */
static void *work(void *seconds)
{
    double end = now(CLOCK_THREAD_CPUTIME_ID) + *(double *)seconds;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int step = 0; step < 1000; step++)
            ;
    return NULL;
}

static void child(const char *kind, const char *program)
{
    double seconds = 0.0003;
    if (!strcmp(kind, "exec")) {
        execl(program, program, "work", NULL);
        _exit(127);
    }
    if (!strcmp(kind, "double") && fork() > 0)
        _exit(0);
    if (!strcmp(kind, "threads")) {
        double part = seconds / 3;
        pthread_t threads[2];
        for (int index = 0; index < 2; index++)
            if (pthread_create(&threads[index], NULL, work, &part))
                _exit(1);
        work(&part);
        for (int index = 0; index < 2; index++)
            pthread_join(threads[index], NULL);
    } else {
        work(&seconds);
    }
    _exit(0);
}

int main(int count, char **arguments)
{
    if (count == 2) {
        double seconds = 0.0003;
        work(&seconds);
        return 0;
    }
    if (count != 4)
        return 2;
    const char *kind = arguments[1];
    double rate = atof(arguments[2]), seconds = atof(arguments[3]);
    if (!strcmp(kind, "ignored"))
        signal(SIGCHLD, SIG_IGN);
    double start = now(CLOCK_MONOTONIC);
    long started = 0;
    for (;;) {
        double elapsed = now(CLOCK_MONOTONIC) - start;
        if (elapsed >= seconds)
            break;
        for (; started < elapsed * rate; started++) {
            pid_t pid = fork();
            if (pid == 0)
                child(kind, "/proc/self/exe");
            if (pid < 0) {
                usleep(1000);
                break;
            }
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        usleep(1000);
    }
    while (wait(NULL) > 0)
        ;
    printf("%ld\n", started);
    return 0;
}
