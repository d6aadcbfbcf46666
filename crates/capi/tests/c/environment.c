/* TACHO_CPI_TRACE names a trace that cannot be created. */
#include "checks.h"
#include "fake_machine.h"

int main(void)
{
    void *handle;

    TachoUseFakeMachine(1);
    RETURNS(CpiInit(CPI_TYPE_RAW, &handle), PU_ERR_FILE_ERROR);
    LAST_ERROR_HAS("TACHO_CPI_TRACE");
    HOLDS(handle == NULL);
    /* The error is reported again by each call until the file can be created. */
    RETURNS(CpiInit(CPI_TYPE_RAW, &handle), PU_ERR_FILE_ERROR);
    RETURNS(CpiStart(&handle), PU_ERR_NOT_INITIALIZED);
    return failed;
}
