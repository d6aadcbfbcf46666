/*
 * CPI_TYPE_ONTHREAD alone measures what the machine allows: processors and the thread, or only the thread. Prints
 * which, or the code if nothing can be counted.
 */
#include "checks.h"

int main(void)
{
    const CPI_DATA *cd;
    void *handle;
    const int processors = CpiInit(CPI_TYPE_RAW, &handle);
    int rc;

    if (processors == PU_SUCCESS) {
        RETURNS(CpiTerminate(handle), PU_SUCCESS);
    }
    rc = CpiInit(CPI_TYPE_ONTHREAD, &handle);
    if (rc != PU_SUCCESS) {
        printf("%s\n", RcToString(rc));
        HOLDS(processors != PU_SUCCESS && handle == NULL);
        return failed;
    }
    RETURNS(CpiGet(handle, &cd), PU_SUCCESS);
    HOLDS(cd->thread_cpi > 0 && cd->tid > 0);
    if (processors == PU_SUCCESS) {
        HOLDS(CpiGetCurrentMode(handle) == (CPI_TYPE_RAW | CPI_TYPE_ONTHREAD));
        HOLDS(cd->num_cpus > 0 && cd->raw_sys_cpi > 0);
        printf("processors and the thread\n");
    } else {
        void *both;
        HOLDS(CpiGetCurrentMode(handle) == CPI_TYPE_ONTHREAD);
        HOLDS(cd->num_cpus == 0 && cd->raw_sys_cpi == 0);
        /* Explicitly requested processors are an error. */
        RETURNS(CpiInit(CPI_TYPE_RAW | CPI_TYPE_ONTHREAD, &both), processors);
        RETURNS(CpiInit(CPI_TYPE_SCALED | CPI_TYPE_ONTHREAD, &both), processors);
        printf("the thread alone\n");
    }
    RETURNS(CpiTerminate(handle), PU_SUCCESS);
    return failed;
}
