/*
 * The call sequence of the CPI facility's published sample: raw and busy CPI of the system and of each processor,
 * over a loop of library calls. -DROUNDS=n -DCALLS=n make the loop shorter.
 */
#include <stdio.h>
#include <windows.h>
#include "perfutil.h"

#ifndef ROUNDS
#define ROUNDS 500
#endif
#ifndef CALLS
#define CALLS 10000
#endif

static void work(void)
{
    char buffer[1024];
    DWORD length;
    int round, call;

    for (round = 0; round < ROUNDS; round++) {
        for (call = 0; call < CALLS; call++) {
            length = GetEnvironmentVariable("PATH", buffer, sizeof(buffer));
            length += GetCurrentDirectory(sizeof(buffer), buffer);
        }
        if (length == 0) {
            printf("neither PATH nor a working directory\n");
        }
        Sleep(10);
    }
}

int main(void)
{
    void *handle = NULL;
    const CPI_DATA *cd = NULL;
    int processors, i, rc;

    rc = CpiInit(CPI_TYPE_RAW | CPI_TYPE_SCALED, &handle);
    if (rc != PU_SUCCESS) {
        printf("CpiInit: rc = %d (%s)\n", rc, RcToString(rc));
        fprintf(stderr, "%s\n", TachoLastErrorText());
        return 1;
    }
    rc = CpiStart(handle);
    if (rc != PU_SUCCESS) {
        printf("CpiStart: rc = %d (%s)\n", rc, RcToString(rc));
        CpiTerminate(handle);
        return 1;
    }

    work();

    rc = CpiGet(handle, &cd);
    if (rc != PU_SUCCESS) {
        printf("CpiGet: rc = %d (%s)\n", rc, RcToString(rc));
        CpiTerminate(handle);
        return 1;
    }

    processors = GetActiveProcessorCount();
    printf("         System");
    for (i = 0; i < processors; i++) {
        printf("   CPU%-2d", i);
    }
    printf("\ncpi      %6.2f", cd->raw_sys_cpi);
    for (i = 0; i < processors; i++) {
        printf("  %6.2f", cd->raw_cpi[i]);
    }
    printf("\ncpi_wb   %6.2f", cd->scaled_sys_cpi);
    for (i = 0; i < processors; i++) {
        printf("  %6.2f", cd->scaled_cpi[i]);
    }
    printf("\nidle%%    %6.2f", 100.0 - cd->sys_busy);
    for (i = 0; i < processors; i++) {
        printf("  %6.2f", 100.0 - cd->cpu_busy[i]);
    }
    printf("\nbusy%%    %6.2f", cd->sys_busy);
    for (i = 0; i < processors; i++) {
        printf("  %6.2f", cd->cpu_busy[i]);
    }
    printf("\n");

    rc = CpiTerminate(handle);
    if (rc != PU_SUCCESS) {
        printf("CpiTerminate: rc = %d (%s)\n", rc, RcToString(rc));
        return 1;
    }
    return 0;
}
