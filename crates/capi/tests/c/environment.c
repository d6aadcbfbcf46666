/* A trace that the environment asks for and that cannot be made. */
#include "checks.h"
#include "made.h"

int main(void)
{
    void *handle;

    TachoMadeMachine(1);
    RETURNS(CpiInit(CPI_TYPE_RAW, &handle), PU_ERR_FILE_ERROR);
    TELLS("TACHO_CPI_TRACE");
    HOLDS(handle == NULL);
    /* It is told again, until it can be made. */
    RETURNS(CpiInit(CPI_TYPE_RAW, &handle), PU_ERR_FILE_ERROR);
    RETURNS(CpiStart(&handle), PU_ERR_NOT_INITIALIZED);
    return failed;
}
