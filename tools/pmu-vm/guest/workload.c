/* A program with a known number of instructions: a region of TURNS x 2 instructions in its first thread, in each of THREADS further
 * threads, and in each of CHILDREN forked children. Each child then executes this program with no further threads or children.
 *
 *   workload [wait] TURNS [THREADS [CHILDREN]]
 *
 * wait: runs the region once, starts the threads, prints "ready", and does all of the above when its standard input ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long turns;
static pthread_barrier_t begin;

static void region(void)
{
    unsigned long left = turns;
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(left) : : "cc");
}

static void *thread(void *unused)
{
    pthread_barrier_wait(&begin);
    region();
    return unused;
}

int main(int count, char **words)
{
    int waits = count > 1 && strcmp(words[1], "wait") == 0;
    char **numbers = words + 1 + waits;
    int given = count - 1 - waits;
    if (given < 1 || given > 3 || (turns = strtoul(numbers[0], NULL, 10)) == 0) {
        fputs("usage: workload [wait] TURNS [THREADS [CHILDREN]]\n", stderr);
        return 2;
    }
    unsigned threads = given > 1 ? (unsigned)strtoul(numbers[1], NULL, 10) : 0;
    unsigned children = given > 2 ? (unsigned)strtoul(numbers[2], NULL, 10) : 0;
    pthread_t *started = calloc(threads + 1, sizeof *started);
    if (started == NULL || pthread_barrier_init(&begin, NULL, threads + 1) != 0)
        return 1;
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&started[i], NULL, thread, NULL) != 0)
            return 1;
    if (waits) {
        region();
        puts("ready");
        fflush(stdout);
        while (getchar() != EOF)
            ;
    }
    pthread_barrier_wait(&begin);
    region();
    for (unsigned i = 0; i < threads; i++)
        if (pthread_join(started[i], NULL) != 0)
            return 1;
    for (unsigned i = 0; i < children; i++) {
        pid_t child = fork();
        if (child == 0) {
            region();
            execl(words[0], words[0], numbers[0], (char *)NULL);
            _exit(127);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    free(started);
    return 0;
}
