/*
 * Traces every combination of kinds, hooks, label and variant of calls on the fake machine. Arguments: the number of
 * processors; the file, unless TACHO_CPI_TRACE names it. In each case, CpiInit and CpiGet or CpiGetAndTrace read the
 * counters once each.
 */
#include <stdlib.h>
#include "checks.h"
#include "fake_machine.h"

static const UINT32 all_kinds[] = {CPI_TYPE_RAW, CPI_TYPE_SCALED, CPI_TYPE_ONTHREAD,
                                   CPI_TYPE_SCALED | CPI_TYPE_ONTHREAD};
static const UINT32 all_hooks[] = {0, CPI_TYPE_TRACE_SUMMARY, CPI_TYPE_TRACE_DETAILED,
                                   CPI_TYPE_TRACE_EVERYTHING};
static const char *const all_labels[] = {NULL, "region \xc3\xa9"};

/* One case. `call_variant` selects the calls and flags that determine what is traced. */
static void trace(UINT32 kinds, UINT32 hooks, const char *label, int call_variant, int minor_code)
{
    static const UINT32 on_get[] = {CPI_TYPE_TRACE_ON_GET, CPI_TYPE_TRACE_ONLY_ON_GET, 0, 0};
    const UINT32 mode = kinds | on_get[call_variant] | (call_variant == 2 ? 0 : hooks);
    const CPI_DATA *cd = NULL;
    void *handle;

    RETURNS(CpiInit(mode, &handle), PU_SUCCESS);
    if (call_variant < 2) {
        RETURNS(CpiSetTraceHookId(handle, minor_code, label), PU_SUCCESS);
        RETURNS(CpiGet(handle, &cd), PU_SUCCESS);
    } else {
        RETURNS(CpiGetAndTrace(handle, minor_code, call_variant == 2 ? hooks : 0, label, &cd), PU_SUCCESS);
    }
    HOLDS(cd != NULL && cd->elapsed_cycles == 1000000);
    RETURNS(CpiTerminate(handle), PU_SUCCESS);
}

int main(int count, char **arguments)
{
    int kinds, hooks, label, call_variant, number = 0;

    if (count < 2) {
        return 2;
    }
    TachoUseFakeMachine((uint32_t)atoi(arguments[1]));
    if (count > 2) {
        RETURNS(TachoTraceOpen(arguments[2]), PU_SUCCESS);
    }
    for (kinds = 0; kinds < 4; kinds++) {
        for (hooks = 0; hooks < 4; hooks++) {
            for (label = 0; label < 2; label++) {
                for (call_variant = 0; call_variant < 4; call_variant++) {
                    trace(all_kinds[kinds], all_hooks[hooks], all_labels[label], call_variant, number++);
                }
            }
        }
    }
    if (count > 2) {
        RETURNS(TachoTraceClose(), PU_SUCCESS);
    }
    return failed;
}
