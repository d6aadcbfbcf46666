/*
 * Other machines in pdh.h: web2 and web3, whose only set is Processor Information with the instances 0,0, 0,1 and _Total,
 * each of which is busy for three quarters of each second. web3 closes its connection at the third collection, and the
 * next connection at once.
 */
#include "pdh_checks.h"

#include <sys/wait.h>
#include <unistd.h>

#define BUSY "\\Processor Information(_Total)\\% Processor Time"

/* Whether a list of names has a name. */
static int list_contains(const char *list, const char *name)
{
    for (; *list; list += strlen(list) + 1) {
        if (strcmp(list, name) == 0) {
            return 1;
        }
    }
    return 0;
}

static int list_length(const char *list)
{
    int names = 0;
    for (; *list; list += strlen(list) + 1) {
        names++;
    }
    return names;
}

static void connect_to_machines(void)
{
    static char list[65536];
    DWORD size = sizeof list;
    SUCCEEDS(PdhEnumMachinesA(NULL, list, &size));
    HOLDS(list_length(list) == 1 && !list_contains(list, "\\\\web2"));
    SUCCEEDS(PdhConnectMachineA(NULL));
    SUCCEEDS(PdhConnectMachineA("."));
    SUCCEEDS(PdhConnectMachineW(wide("\\\\web2")));
    SUCCEEDS(PdhConnectMachineA("WEB3"));
    RETURNS(PdhConnectMachineA("\\\\nobody"), PDH_CSTATUS_NO_MACHINE);
    HOLDS(strstr(TachoLastErrorText(), "PDH_CSTATUS_NO_MACHINE: unknown machine 'nobody'") != NULL);
    RETURNS(PdhConnectMachineA("\\\\wrong-token"), PDH_CANNOT_CONNECT_MACHINE);
    HOLDS(strstr(TachoLastErrorText(), "token") != NULL);
    RETURNS(PdhConnectMachineA("\\\\nothing-listens"), PDH_CSTATUS_NO_MACHINE);
    HOLDS(strstr(TachoLastErrorText(), "tacho agent") != NULL);
    RETURNS(PdhConnectMachineA("\\\\never-answers"), PDH_CSTATUS_NO_MACHINE);
    HOLDS(strstr(TachoLastErrorText(), "in time") != NULL);
    size = sizeof list;
    SUCCEEDS(PdhEnumMachinesA(NULL, list, &size));
    HOLDS(list_length(list) == 3 && list_contains(list, "\\\\web2") && list_contains(list, "\\\\web3"));
}

static void names(void)
{
    static char list[65536], instances[65536];
    PDH_COUNTER_PATH_ELEMENTS_A *elements = (PDH_COUNTER_PATH_ELEMENTS_A *)list;
    DWORD size = sizeof list, more_size = sizeof instances;
    SUCCEEDS(PdhEnumObjectsA(NULL, "\\\\web2", list, &size, PERF_DETAIL_WIZARD, FALSE));
    HOLDS(list_length(list) == 1 && list_contains(list, "Processor Information"));
    size = sizeof list;
    SUCCEEDS(PdhEnumObjectItemsA(NULL, "web2", "Processor Information", list, &size, instances, &more_size,
                                 PERF_DETAIL_WIZARD, 0));
    HOLDS(list_contains(list, "% Processor Time"));
    HOLDS(list_length(instances) == 3 && list_contains(instances, "0,0") && list_contains(instances, "0,1") && list_contains(instances, "_Total"));
    size = sizeof list;
    RETURNS(PdhEnumObjectItemsA(NULL, "web2", "Memory", list, &size, instances, &more_size, PERF_DETAIL_WIZARD, 0),
            PDH_CSTATUS_NO_OBJECT);
    size = sizeof list;
    SUCCEEDS(PdhGetDefaultPerfObjectA(NULL, "\\\\web2", list, &size));
    HOLDS(strcmp(list, "Processor Information") == 0);
    size = sizeof list;
    SUCCEEDS(PdhGetDefaultPerfCounterA(NULL, "\\\\web2", "Processor Information", list, &size));
    HOLDS(list[0] != 0);
    size = sizeof list;
    SUCCEEDS(PdhExpandCounterPathA("\\\\web2\\Processor Information(*)\\% Processor Time", list, &size));
    HOLDS(list_length(list) == 3 && list_contains(list, "\\\\web2" BUSY));
    size = sizeof list;
    SUCCEEDS(PdhExpandWildCardPathA(NULL, "\\\\web2\\*(0*)\\% Processor Time", list, &size, 0));
    HOLDS(list_length(list) == 2);
    SUCCEEDS(PdhValidatePathA("\\\\web2" BUSY));
    RETURNS(PdhValidatePathA("\\\\web2\\Processor Information(9,9)\\% Processor Time"), PDH_CSTATUS_NO_INSTANCE);
    RETURNS(PdhValidatePathA("\\\\web2\\Processor Information(_Total)\\no"), PDH_CSTATUS_NO_COUNTER);
    RETURNS(PdhValidatePathA("\\\\nobody" BUSY), PDH_CSTATUS_NO_MACHINE);
    size = sizeof list;
    SUCCEEDS(PdhParseCounterPathA("\\\\web2" BUSY, elements, &size, 0));
    HOLDS(strcmp(elements->szMachineName, "\\\\web2") == 0);
}

/* Whether the processor was busy for three quarters of the last interval, as on web2 and web3. */
static int is_busy(PDH_HCOUNTER counter)
{
    PDH_FMT_COUNTERVALUE value;
    return PdhGetFormattedCounterValue(counter, PDH_FMT_DOUBLE, NULL, &value) == 0 && value.doubleValue > 74.999 &&
           value.doubleValue < 75.001;
}

static void one_machine(void)
{
    static char info[4096];
    PDH_FMT_COUNTERVALUE_ITEM_A *items = (PDH_FMT_COUNTERVALUE_ITEM_A *)info;
    PDH_HQUERY query;
    PDH_HCOUNTER total, all;
    DWORD size = sizeof info, instances = 0;
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterW(query, wide("\\\\WEB2" BUSY), 0, &total));
    SUCCEEDS(PdhAddEnglishCounterA(query, "\\\\web2\\Processor Information(*)\\% Processor Time", 0, &all));
    SUCCEEDS(PdhCollectQueryData(query));
    SUCCEEDS(PdhCollectQueryData(query));
    HOLDS(is_busy(total));
    SUCCEEDS(PdhGetFormattedCounterArrayA(all, PDH_FMT_DOUBLE, &size, &instances, items));
    HOLDS(instances == 3 && items[0].FmtValue.doubleValue > 74.999 && items[0].FmtValue.doubleValue < 75.001);
    SUCCEEDS(PdhCloseQuery(query));
}

/* This machine and two others, of which one fails. */
static void several_machines(void)
{
    PDH_HQUERY query;
    PDH_HCOUNTER memory, web2, web3;
    PDH_FMT_COUNTERVALUE value;
    PDH_RAW_COUNTER raw;
    int tries, status;
    pid_t child;
    SUCCEEDS(PdhOpenQueryA(NULL, 0, &query));
    SUCCEEDS(PdhAddCounterA(query, "\\Memory\\Available Bytes", 0, &memory));
    SUCCEEDS(PdhAddCounterA(query, "\\\\web2" BUSY, 0, &web2));
    SUCCEEDS(PdhAddCounterA(query, "\\\\web3" BUSY, 0, &web3));
    RETURNS(PdhAddCounterA(query, "\\\\nothing-listens" BUSY, 0, &web3), PDH_CSTATUS_NO_MACHINE);
    SUCCEEDS(PdhAddCounterA(query, "\\\\web3" BUSY, 0, &web3));
    SUCCEEDS(PdhCollectQueryData(query));
    SUCCEEDS(PdhCollectQueryData(query));
    HOLDS(is_busy(web2) && is_busy(web3));
    SUCCEEDS(PdhGetFormattedCounterValue(memory, PDH_FMT_LARGE, NULL, &value));
    HOLDS(value.largeValue > 1000000);
    /* The connection of web3 is lost: its counter has the status of the machine, and the others have values. */
    SUCCEEDS(PdhCollectQueryData(query));
    HOLDS(is_busy(web2));
    RETURNS(PdhGetFormattedCounterValue(web3, PDH_FMT_DOUBLE, NULL, &value), PDH_INVALID_DATA);
    HOLDS(value.CStatus == PDH_CSTATUS_NO_MACHINE);
    SUCCEEDS(PdhGetRawCounterValue(web3, NULL, &raw));
    HOLDS(raw.CStatus == PDH_CSTATUS_NO_MACHINE);
    /* web3 answers again some time later; its counter has a value after a second sample. */
    for (tries = 0; tries < 200 && !is_busy(web3); tries++) {
        usleep(50000);
        SUCCEEDS(PdhCollectQueryData(query));
        HOLDS(is_busy(web2));
    }
    HOLDS(is_busy(web3));
    /* A forked child has threads and connections of its own. */
    child = fork();
    if (child == 0) {
        PdhCollectQueryData(query);
        PdhCollectQueryData(query);
        _exit(is_busy(web2) ? 0 : 9);
    }
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    SUCCEEDS(PdhCollectQueryData(query));
    HOLDS(is_busy(web2));
    SUCCEEDS(PdhCloseQuery(query));
}

int main(void)
{
    connect_to_machines();
    names();
    one_machine();
    several_machines();
    return failed;
}
