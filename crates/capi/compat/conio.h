/*
 * conio.h: keyboard functions for programs that wait for a key. Part of the compatibility folder.
 */
#ifndef TACHO_COMPAT_CONIO_H
#define TACHO_COMPAT_CONIO_H

#include <stdio.h>
#include <sys/select.h>
#include <unistd.h>

/* Returns the next character of standard input. A terminal delivers input line by line. */
static inline int _getch(void)
{
    return getchar();
}

/* Returns whether standard input has data to read. */
static inline int _kbhit(void)
{
    struct timeval now = {0, 0};
    fd_set files;
    FD_ZERO(&files);
    FD_SET(STDIN_FILENO, &files);
    return select(STDIN_FILENO + 1, &files, NULL, NULL, &now) > 0;
}

#endif
