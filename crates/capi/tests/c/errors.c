/* Errors that do not depend on the machine. Arguments: a folder to write in; the code that CpiInit returns on this machine. */
#include <stdlib.h>
#include "checks.h"

int main(int count, char **arguments)
{
    int foreign = 7;
    void *handle = &foreign;
    const CPI_DATA *cd;
    CPI_DATA unused;
    char path[4096];
    UINT64 cycles;
    int init_code, code, known_codes = 0;

    if (count != 3) {
        return 2;
    }
    init_code = atoi(arguments[2]);

    HOLDS(strcmp(TachoLastErrorText(), "") == 0);

    /* Before any CpiInit. */
    RETURNS(CpiStart(&foreign), PU_ERR_NOT_INITIALIZED);
    LAST_ERROR_HAS("CpiInit");
    cd = &unused;
    RETURNS(CpiGet(&foreign, &cd), PU_ERR_NOT_INITIALIZED);
    HOLDS(cd == NULL);
    cd = &unused;
    RETURNS(CpiGetAndTrace(&foreign, 0, 0, NULL, &cd), PU_ERR_NOT_INITIALIZED);
    HOLDS(cd == NULL);
    RETURNS(CpiSetTraceHookId(&foreign, 0, NULL), PU_ERR_NOT_INITIALIZED);
    RETURNS(CpiTerminate(&foreign), PU_ERR_NOT_INITIALIZED);
    HOLDS(CpiGetCurrentMode(&foreign) == 0);

    /* Null pointers. */
    RETURNS(CpiInit(CPI_TYPE_RAW, NULL), PU_ERR_NULL_PTR);
    LAST_ERROR_HAS("handle");
    RETURNS(CpiStart(NULL), PU_ERR_NULL_PTR);
    RETURNS(CpiTerminate(NULL), PU_ERR_NULL_PTR);
    cd = &unused;
    RETURNS(CpiGet(NULL, &cd), PU_ERR_NULL_PTR);
    HOLDS(cd == NULL);
    RETURNS(CpiGet(&foreign, NULL), PU_ERR_NULL_PTR);
    LAST_ERROR_HAS("cd");
    RETURNS(CpiGet(NULL, NULL), PU_ERR_NULL_PTR);
    RETURNS(CpiGetAndTrace(NULL, 0, 0, "label", &cd), PU_ERR_NULL_PTR);
    RETURNS(CpiGetAndTrace(&foreign, 0, 0, "label", NULL), PU_ERR_NULL_PTR);
    RETURNS(CpiSetTraceHookId(NULL, 0, NULL), PU_ERR_NULL_PTR);
    HOLDS(CpiGetCurrentMode(NULL) == 0);
    RETURNS(TachoTraceOpen(NULL), PU_ERR_NULL_PTR);
    LAST_ERROR_HAS("path");

    /* Modes. */
    RETURNS(CpiInit(0x80, &handle), PU_ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("0x80");
    HOLDS(handle == NULL);
    RETURNS(CpiInit(0xFFFFFFFF, &handle), PU_ERROR_INVALID_PARAMETER);
    handle = &foreign;
    RETURNS(CpiInit(CPI_TYPE_RAW | CPI_TYPE_SCALED, &handle), init_code);
    HOLDS((handle == NULL) == (init_code != PU_SUCCESS));
    HOLDS(IsCpiSupported() == (init_code == PU_SUCCESS));
    if (init_code == PU_SUCCESS) {
        RETURNS(CpiTerminate(handle), PU_SUCCESS);
        RETURNS(CpiTerminate(handle), PU_ERROR_INVALID_PARAMETER);
    } else {
        HOLDS(strlen(TachoLastErrorText()) > 20);
    }

    /* The trace. */
    RETURNS(TachoTraceClose(), PU_ERROR_NO_BUFFER);
    snprintf(path, sizeof path, "%s/no such folder/trace.nrm2", arguments[1]);
    RETURNS(TachoTraceOpen(path), PU_ERR_FILE_ERROR);
    LAST_ERROR_HAS("no such folder");
    RETURNS(TachoTraceOpen("/dev/full"), PU_ERR_FILE_ERROR);
    snprintf(path, sizeof path, "%s/trace.nrm2", arguments[1]);
    RETURNS(TachoTraceOpen(path), PU_SUCCESS);
    RETURNS(TachoTraceOpen(path), PU_ERROR_INCORRECT_STATE);
    LAST_ERROR_HAS("TachoTraceClose");
    RETURNS(TachoTraceClose(), PU_SUCCESS);
    RETURNS(TachoTraceClose(), PU_ERROR_NO_BUFFER);

    /* Names. */
    for (code = -300; code <= 300; code++) {
        const char *name = RcToString(code);
        if (strcmp(name, "Not a PerfUtil return code") != 0) {
            HOLDS(strncmp(name, "PU_", 3) == 0);
            known_codes++;
        }
    }
    HOLDS(known_codes == 25);
    HOLDS(strcmp(RcToString(PU_SUCCESS), "PU_SUCCESS") == 0);
    HOLDS(strcmp(RcToString(PU_ERROR_NOT_VALID_IN_VM), "PU_ERROR_NOT_VALID_IN_VM") == 0);
    HOLDS(strcmp(RcToString(-259), "Not a PerfUtil return code") == 0);

    /* Processors and cycles. */
    HOLDS(GetActiveProcessorCount() >= 1);
    HOLDS(GetActiveProcessorCount() == PiGetActiveProcessorCount());
    cycles = ReadCycles();
    HOLDS(cycles != 0 && cycles <= ReadCycles());
    return failed;
}
