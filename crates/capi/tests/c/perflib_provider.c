/*
 * The provider functions of perflib.h, and how a consumer in the same process sees the published values. The test
 * sets a runtime folder for this program only.
 */
#include <pthread.h>
#include <sys/select.h>
#include "perflib_checks.h"

static GUID provider_guid = {0x11111111, 0x2222, 0x3333, {0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55}};
static GUID set_guid = {0x5ab1fe37, 0x3d15, 0x4c7d, {0x8e, 0x3b, 0x0f, 0x1c, 0x4b, 0x6d, 0x2a, 0x90}};
static GUID control_guid = {0x5ab1fe38, 0x3d15, 0x4c7d, {0x8e, 0x3b, 0x0f, 0x1c, 0x4b, 0x6d, 0x2a, 0x90}};
static GUID single_guid = {0x5ab1fe39, 0x3d15, 0x4c7d, {0x8e, 0x3b, 0x0f, 0x1c, 0x4b, 0x6d, 0x2a, 0x90}};

static const WCHAR ELEVEN[] = {'1', '1', 0};
static const WCHAR OTHER[] = {'o', 't', 'h', 'e', 'r', 0};
static const WCHAR NOTHING[] = {0};

typedef struct {
    PERF_COUNTERSET_INFO set;
    PERF_COUNTER_INFO counters[4];
} TEMPLATE;

static TEMPLATE new_template(const GUID *set, ULONG counters, ULONG instance_type)
{
    TEMPLATE made;
    memset(&made, 0, sizeof made);
    made.set.CounterSetGuid = *set;
    /* The provider in the template may differ from the started one. */
    made.set.ProviderGuid = *set;
    made.set.NumCounters = counters;
    made.set.InstanceType = instance_type;
    return made;
}

static void set_counter(TEMPLATE *set, ULONG place, ULONG id, ULONG type, ULONGLONG attributes)
{
    PERF_COUNTER_INFO *const made = &set->counters[place];
    made->CounterId = id;
    made->Type = type;
    made->Attrib = attributes;
    made->DetailLevel = PERF_DETAIL_NOVICE;
    /* Both are ignored. */
    made->Size = sizeof *made;
    made->Offset = 0xDEADBEEF;
}

static ULONG template_size(const TEMPLATE *set)
{
    return (ULONG)(sizeof set->set + set->set.NumCounters * sizeof set->counters[0]);
}

static ULONG declare_set(HANDLE provider, TEMPLATE *set)
{
    return PerfSetCounterSetInfo(provider, &set->set, template_size(set));
}

/* Reads the values of one counter of all instances that match a name; returns their number. */
static DWORD values_of(const GUID *set, const char *name, ULONG id, ULONGLONG *values, DWORD *status)
{
    static BYTE block[65536];
    NAMED_IDENTIFIER wanted = named_identifier(set, name, id);
    const PERF_COUNTER_HEADER *head = (const PERF_COUNTER_HEADER *)(block + 48);
    const BYTE *at = (const BYTE *)(head + 1);
    HANDLE query;
    DWORD actual, count = 1, i;
    RETURNS(PerfOpenQueryHandle(NULL, &query), ERROR_SUCCESS);
    RETURNS(PerfAddCounters(query, &wanted.head, wanted.head.Size), ERROR_SUCCESS);
    *status = wanted.head.Status;
    if (*status == ERROR_SUCCESS) {
        RETURNS(PerfQueryCounterData(query, (PERF_DATA_HEADER *)block, sizeof block, &actual), ERROR_SUCCESS);
        *status = head->dwStatus;
    }
    RETURNS(PerfCloseQueryHandle(query), ERROR_SUCCESS);
    if (*status != ERROR_SUCCESS) {
        return 0;
    }
    if (head->dwType == PERF_MULTIPLE_INSTANCES) {
        count = ((const PERF_MULTI_INSTANCES *)at)->dwInstances;
        at += sizeof(PERF_MULTI_INSTANCES);
    }
    for (i = 0; i < count && i < 8; i++) {
        const PERF_COUNTER_DATA *data;
        if (head->dwType == PERF_MULTIPLE_INSTANCES) {
            at += ((const PERF_INSTANCE_HEADER *)at)->Size;
        }
        data = (const PERF_COUNTER_DATA *)at;
        values[i] = 0;
        memcpy(&values[i], data + 1, data->dwDataSize);
        at += data->dwSize;
    }
    return count;
}

static ULONGLONG value_of(const GUID *set, const char *name, ULONG id)
{
    ULONGLONG values[8] = {0};
    DWORD status, count = values_of(set, name, id, values, &status);
    check_code(__LINE__, "the value's status", status, ERROR_SUCCESS);
    HOLDS(count == 1);
    return values[0];
}

/* The behaviour that Wine's tests of these functions check, which also run on Windows. */
static void wine_tests(void)
{
    PERF_PROVIDER_CONTEXT context[2];
    HANDLE unchanged = (HANDLE)0xDEADBEEF, first, second;
    TEMPLATE set = new_template(&set_guid, 0, PERF_COUNTERSET_MULTI_INSTANCES);
    PERF_COUNTERSET_INSTANCE *instance;
    ULONGLONG here = 1, there = 2;

    RETURNS(PerfStartProvider(NULL, NULL, &unchanged), ERROR_INVALID_PARAMETER);
    HOLDS(unchanged == (HANDLE)0xDEADBEEF);
    RETURNS(PerfStartProvider(&provider_guid, NULL, NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfStartProvider(&provider_guid, NULL, &first), ERROR_SUCCESS);
    RETURNS(PerfStartProvider(&provider_guid, NULL, &second), ERROR_SUCCESS);
    HOLDS(first != second);
    RETURNS(PerfStopProvider(second), ERROR_SUCCESS);
    RETURNS(PerfStopProvider(first), ERROR_SUCCESS);
    RETURNS(PerfStopProvider(first), ERROR_INVALID_HANDLE);

    memset(context, 0, sizeof context);
    unchanged = (HANDLE)0xDEADBEEF;
    RETURNS(PerfStartProviderEx(NULL, context, &unchanged), ERROR_INVALID_PARAMETER);
    RETURNS(PerfStartProviderEx(&provider_guid, context, NULL), ERROR_INVALID_PARAMETER);
    context->ContextSize = 0;
    RETURNS(PerfStartProviderEx(&provider_guid, context, &unchanged), ERROR_INVALID_PARAMETER);
    HOLDS(unchanged == (HANDLE)0xDEADBEEF);
    context->ContextSize = sizeof *context + 1;
    RETURNS(PerfStartProviderEx(&provider_guid, context, &first), ERROR_SUCCESS);
    RETURNS(PerfStopProvider(first), ERROR_SUCCESS);
    context->ContextSize = sizeof *context;
    RETURNS(PerfStartProviderEx(&provider_guid, context, &first), ERROR_SUCCESS);

    /* No counters; the same set twice; an undeclared set. */
    RETURNS(declare_set(first, &set), ERROR_INVALID_PARAMETER);
    set = new_template(&set_guid, 2, PERF_COUNTERSET_MULTI_INSTANCES);
    set_counter(&set, 0, 1, PERF_COUNTER_COUNTER, PERF_ATTRIB_BY_REFERENCE);
    set_counter(&set, 1, 2, PERF_COUNTER_LARGE_RAWCOUNT, PERF_ATTRIB_BY_REFERENCE);
    TachoSetLastError(0xDEADBEEF);
    HOLDS(PerfCreateInstance(first, &set_guid, ELEVEN, 1) == NULL && TachoGetLastError() == ERROR_NOT_FOUND);
    RETURNS(declare_set(first, &set), ERROR_SUCCESS);
    RETURNS(declare_set(first, &set), ERROR_ALREADY_EXISTS);
    HOLDS(PerfCreateInstance(first, NULL, ELEVEN, 1) == NULL && TachoGetLastError() == ERROR_INVALID_PARAMETER);
    TachoSetLastError(0xDEADBEEF);
    HOLDS(PerfCreateInstance(first, &set_guid, NULL, 1) == NULL && TachoGetLastError() == ERROR_INVALID_PARAMETER);
    TachoSetLastError(0xDEADBEEF);

    /* Two counters by reference and the name "11". */
    instance = PerfCreateInstance(first, &set_guid, ELEVEN, 1);
    HOLDS(instance != NULL && TachoGetLastError() == 0xDEADBEEF);
    if (!instance) {
        printf("%s\n", TachoLastErrorText());
        exit(1);
    }
    HOLDS(memcmp(&instance->CounterSetGuid, &set_guid, 16) == 0 && instance->InstanceId == 1);
    HOLDS(instance->InstanceNameOffset == 48 && instance->InstanceNameSize == 6 && instance->dwSize == 56);
    HOLDS(memcmp((BYTE *)instance + 48, ELEVEN, 6) == 0);

    RETURNS(PerfSetCounterRefValue(first, instance, 0, &here), ERROR_NOT_FOUND);
    RETURNS(PerfSetCounterRefValue(first, instance, 3, &here), ERROR_NOT_FOUND);
    RETURNS(PerfSetCounterRefValue(NULL, instance, 1, &here), ERROR_INVALID_PARAMETER);
    RETURNS(PerfSetCounterRefValue(first, NULL, 1, &here), ERROR_INVALID_PARAMETER);
    RETURNS(PerfSetCounterRefValue(first, instance, 1, NULL), ERROR_INVALID_PARAMETER);
    RETURNS(PerfSetCounterRefValue(first, instance, 1, &here), ERROR_SUCCESS);
    HOLDS(*(ULONGLONG **)((BYTE *)instance + 32) == &here);

    /* References are read at collection; a reference that was never set has no data. */
    HOLDS(value_of(&set_guid, "11", 1) == 1);
    here = 5;
    HOLDS(value_of(&set_guid, "11", 1) == 5);
    {
        ULONGLONG none[8];
        DWORD status;
        HOLDS(values_of(&set_guid, "11", 2, none, &status) == 0);
        check_code(__LINE__, "a reference that was never set", status, ERROR_NO_DATA);
    }
    there = 0x123456789ABCDEFULL;
    RETURNS(PerfSetCounterRefValue(first, instance, 2, &there), ERROR_SUCCESS);
    HOLDS(value_of(&set_guid, "11", 2) == 0x123456789ABCDEFULL);

    RETURNS(PerfDeleteInstance(first, instance), ERROR_SUCCESS);
    RETURNS(PerfDeleteInstance(first, instance), ERROR_INVALID_PARAMETER);
    RETURNS(PerfStopProvider(first), ERROR_SUCCESS);
}

static void values(void)
{
    HANDLE provider;
    TEMPLATE set = new_template(&set_guid, 3, PERF_COUNTERSET_MULTI_INSTANCES);
    PERF_COUNTERSET_INSTANCE *first, *second;
    ULONGLONG all[8], foreign[8];
    DWORD status, actual;
    GUID guids[512];
    int i, found = 0;

    set_counter(&set, 0, 7, PERF_COUNTER_LARGE_RAWCOUNT, 0);
    set_counter(&set, 1, 8, PERF_COUNTER_RAWCOUNT, 0);
    set_counter(&set, 2, 9, PERF_COUNTER_BULK_COUNT, 0);
    RETURNS(PerfStartProvider(&provider_guid, NULL, &provider), ERROR_SUCCESS);
    RETURNS(PerfSetCounterSetInfo(provider, NULL, 40), ERROR_INVALID_PARAMETER);
    RETURNS(PerfSetCounterSetInfo(NULL, &set.set, 40), ERROR_INVALID_PARAMETER);
    for (i = 0; i < (int)template_size(&set); i++) {
        RETURNS(PerfSetCounterSetInfo(provider, &set.set, (ULONG)i), ERROR_INVALID_PARAMETER);
    }
    set.set.InstanceType = PERF_COUNTERSET_INSTANCE_AGGREGATE;
    RETURNS(declare_set(provider, &set), ERROR_NOT_SUPPORTED);
    set.set.InstanceType = 3;
    RETURNS(declare_set(provider, &set), ERROR_INVALID_PARAMETER);
    set.set.InstanceType = PERF_COUNTERSET_MULTI_INSTANCES;
    set.counters[1].CounterId = 7;
    RETURNS(declare_set(provider, &set), ERROR_INVALID_PARAMETER);
    set.counters[1].CounterId = 8;
    RETURNS(declare_set(provider, &set), ERROR_SUCCESS);

    first = PerfCreateInstance(provider, &set_guid, ELEVEN, 1);
    second = PerfCreateInstance(provider, &set_guid, OTHER, 2);
    HOLDS(first && second && first != second);
    HOLDS(PerfCreateInstance(provider, &set_guid, OTHER, 2) == NULL);
    HOLDS(TachoGetLastError() == ERROR_ALREADY_EXISTS);
    HOLDS(PerfQueryInstance(provider, &set_guid, ELEVEN, 1) == first);
    HOLDS(PerfQueryInstance(provider, &set_guid, ELEVEN, 2) == NULL && TachoGetLastError() == ERROR_NOT_FOUND);
    HOLDS(PerfQueryInstance(provider, &single_guid, ELEVEN, 1) == NULL && TachoGetLastError() == ERROR_NOT_FOUND);
    HOLDS(PerfQueryInstance(provider, NULL, ELEVEN, 1) == NULL);
    HOLDS(PerfQueryInstance(provider, &set_guid, NULL, 1) == NULL);
    HOLDS(PerfQueryInstance(NULL, &set_guid, ELEVEN, 1) == NULL);

    /* Consumers that were opened before the set was published find it. */
    RETURNS(PerfEnumerateCounterSet(NULL, guids, 512, &actual), ERROR_SUCCESS);
    for (i = 0; i < (int)actual; i++) {
        found += memcmp(&guids[i], &set_guid, 16) == 0;
    }
    HOLDS(found == 1);

    RETURNS(PerfSetULongLongCounterValue(provider, first, 7, 0xFFFFFFFFFFFFFFFFULL), ERROR_SUCCESS);
    RETURNS(PerfIncrementULongLongCounterValue(provider, first, 7, 3), ERROR_SUCCESS);
    HOLDS(value_of(&set_guid, "11", 7) == 2);
    RETURNS(PerfDecrementULongLongCounterValue(provider, first, 7, 3), ERROR_SUCCESS);
    HOLDS(value_of(&set_guid, "11", 7) == 0xFFFFFFFFFFFFFFFFULL);
    HOLDS(*(ULONGLONG *)((BYTE *)first + 32) == 0xFFFFFFFFFFFFFFFFULL);
    RETURNS(PerfSetULongCounterValue(provider, first, 8, 0xFFFFFFFF), ERROR_SUCCESS);
    RETURNS(PerfIncrementULongCounterValue(provider, first, 8, 2), ERROR_SUCCESS);
    HOLDS(value_of(&set_guid, "11", 8) == 1);
    RETURNS(PerfDecrementULongCounterValue(provider, first, 8, 2), ERROR_SUCCESS);
    HOLDS(value_of(&set_guid, "11", 8) == 0xFFFFFFFF);
    RETURNS(PerfSetULongLongCounterValue(provider, second, 7, 40), ERROR_SUCCESS);
    HOLDS(values_of(&set_guid, "*", 7, all, &status) == 2 && all[1] == 40);

    /* Invalid counters, instances and providers. */
    RETURNS(PerfSetULongCounterValue(provider, first, 6, 1), ERROR_NOT_FOUND);
    RETURNS(PerfIncrementULongLongCounterValue(provider, first, 0xFFFFFFFF, 1), ERROR_NOT_FOUND);
    RETURNS(PerfSetULongCounterValue(provider, NULL, 7, 1), ERROR_INVALID_PARAMETER);
    memcpy(foreign, first, sizeof foreign);
    RETURNS(PerfSetULongCounterValue(provider, (PERF_COUNTERSET_INSTANCE *)foreign, 7, 1), ERROR_INVALID_PARAMETER);
    RETURNS(PerfSetULongCounterValue(provider, (PERF_COUNTERSET_INSTANCE *)16, 7, 1), ERROR_INVALID_PARAMETER);
    LAST_ERROR_HAS("PerfCreateInstance");
    RETURNS(PerfSetULongCounterValue(NULL, first, 7, 1), ERROR_INVALID_PARAMETER);
    RETURNS(PerfSetULongCounterValue((HANDLE)foreign, first, 7, 1), ERROR_INVALID_HANDLE);
    RETURNS(PerfSetCounterRefValue(provider, first, 7, all), ERROR_INVALID_PARAMETER);
    RETURNS(PerfDeleteInstance(provider, NULL), ERROR_INVALID_PARAMETER);

    RETURNS(PerfDeleteInstance(provider, first), ERROR_SUCCESS);
    HOLDS(values_of(&set_guid, "*", 7, all, &status) == 1 && all[0] == 40);
    RETURNS(PerfSetULongCounterValue(provider, first, 7, 1), ERROR_INVALID_PARAMETER);
    RETURNS(PerfStopProvider(provider), ERROR_SUCCESS);
    RETURNS(PerfSetULongCounterValue(provider, second, 7, 1), ERROR_INVALID_HANDLE);
    values_of(&set_guid, "*", 7, all, &status);
    HOLDS(status != ERROR_SUCCESS || values_of(&set_guid, "*", 7, all, &status) == 0);
}

/* ---- The callback ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ULONG requests[10], requests_for_all_counters[10], last_id, answers[10];
static HANDLE controlled_provider;
static PERF_COUNTERSET_INSTANCE *controlled_instance;
static ULONGLONG calls;

static char machine[256];

/* Whether a text in a block equals an ASCII text. */
static int is_text(const void *block, ULONG offset, const char *text)
{
    const WCHAR *const found = (const WCHAR *)((const BYTE *)block + offset);
    size_t i;
    for (i = 0; text[i] && found[i] == (WCHAR)(unsigned char)text[i]; i++) {
    }
    return text[i] == 0 && found[i] == 0;
}

static ULONG WINAPI control(ULONG request, PVOID buffer, ULONG size)
{
    ULONG code;
    pthread_mutex_lock(&lock);
    HOLDS(request < 10 && buffer != NULL && size > 0);
    requests[request]++;
    code = answers[request];
    if (request == PERF_ADD_COUNTER || request == PERF_REMOVE_COUNTER) {
        const PERF_COUNTER_IDENTITY *const identity = (const PERF_COUNTER_IDENTITY *)buffer;
        HOLDS(size == identity->BufferSize && identity->MachineOffset == 40 && identity->NameOffset < size);
        HOLDS(memcmp(&identity->CounterSetGuid, &control_guid, 16) == 0);
        HOLDS(((const WCHAR *)((const BYTE *)buffer + size))[-1] == 0);
        HOLDS(identity->InstanceId == 0xFFFFFFFF && is_text(buffer, identity->NameOffset, "*"));
        HOLDS(is_text(buffer, identity->MachineOffset, machine));
        last_id = identity->CounterId;
        requests_for_all_counters[request] += last_id == 0xFFFFFFFF;
    } else if (request == PERF_COLLECT_START) {
        /* A provider may refresh values until this callback returns. */
        RETURNS(PerfSetULongLongCounterValue(controlled_provider, controlled_instance, 1, ++calls), ERROR_SUCCESS);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

/* Waits up to 10 seconds until a request has been counted. */
static int wait_for_request(const ULONG *requests)
{
    int round, has_arrived = 0;
    for (round = 0; round < 500 && !has_arrived; round++) {
        struct timeval pause = {0, 20000};
        pthread_mutex_lock(&lock);
        has_arrived = *requests > 0;
        pthread_mutex_unlock(&lock);
        if (!has_arrived) {
            select(0, NULL, NULL, NULL, &pause);
        }
    }
    return has_arrived;
}

static void callback(void)
{
    PERF_PROVIDER_CONTEXT context;
    TEMPLATE set = new_template(&control_guid, 2, PERF_COUNTERSET_MULTI_INSTANCES);
    ULONGLONG none[8];
    DWORD status;
    set_counter(&set, 0, 1, PERF_COUNTER_LARGE_RAWCOUNT, 0);
    set_counter(&set, 1, 2, PERF_COUNTER_LARGE_RAWCOUNT, 0);
    memset(&context, 0, sizeof context);
    context.ContextSize = sizeof context;
    context.ControlCallback = control;
    {
        FILE *const file = fopen("/proc/sys/kernel/hostname", "r");
        HOLDS(file && fscanf(file, "%255s", machine) == 1 && fclose(file) == 0);
    }
    RETURNS(PerfStartProviderEx(&provider_guid, &context, &controlled_provider), ERROR_SUCCESS);
    RETURNS(declare_set(controlled_provider, &set), ERROR_SUCCESS);
    controlled_instance = PerfCreateInstance(controlled_provider, &control_guid, ELEVEN, 1);
    HOLDS(controlled_instance != NULL);
    HOLDS(value_of(&control_guid, "11", 1) == 1);
    /* Consumers do not wait for the answer to COLLECT_END. */
    HOLDS(wait_for_request(&requests[PERF_COLLECT_END]) && wait_for_request(&requests[PERF_COLLECT_START]) && wait_for_request(&requests[PERF_ADD_COUNTER]));
    pthread_mutex_lock(&lock);
    HOLDS(last_id == 1 && requests_for_all_counters[PERF_ADD_COUNTER] == 0);
    requests[PERF_ADD_COUNTER] = 0;
    pthread_mutex_unlock(&lock);

    /* All counters are added by one request because they are one identifier. */
    {
        NAMED_IDENTIFIER every = named_identifier(&control_guid, "11", 0xFFFFFFFF);
        static BYTE block[65536];
        HANDLE query;
        DWORD actual;
        RETURNS(PerfOpenQueryHandle(NULL, &query), ERROR_SUCCESS);
        RETURNS(PerfAddCounters(query, &every.head, every.head.Size), ERROR_SUCCESS);
        RETURNS(every.head.Status, ERROR_SUCCESS);
        RETURNS(PerfQueryCounterData(query, (PERF_DATA_HEADER *)block, sizeof block, &actual), ERROR_SUCCESS);
        pthread_mutex_lock(&lock);
        HOLDS(requests[PERF_ADD_COUNTER] == 1 && requests_for_all_counters[PERF_ADD_COUNTER] == 1);
        pthread_mutex_unlock(&lock);
        RETURNS(PerfCloseQueryHandle(query), ERROR_SUCCESS);
        HOLDS(wait_for_request(&requests_for_all_counters[PERF_REMOVE_COUNTER]));
    }

    /* An error of COLLECT_START reaches the consumer. */
    pthread_mutex_lock(&lock);
    answers[PERF_COLLECT_START] = ERROR_ACCESS_DENIED;
    pthread_mutex_unlock(&lock);
    HOLDS(values_of(&control_guid, "11", 1, none, &status) == 0);
    check_code(__LINE__, "an error of the provider", status, ERROR_ACCESS_DENIED);
    RETURNS(PerfStopProvider(controlled_provider), ERROR_SUCCESS);
}

/* ---- A set with one instance, and averages ---- */

static void single(void)
{
    HANDLE provider;
    TEMPLATE set = new_template(&single_guid, 2, PERF_COUNTERSET_SINGLE_INSTANCE);
    PERF_COUNTERSET_INSTANCE *instance;
    set_counter(&set, 0, 1, PERF_AVERAGE_TIMER, 0);
    set_counter(&set, 1, 2, PERF_COUNTER_LARGE_RAWCOUNT, 0);
    RETURNS(PerfStartProvider(&provider_guid, NULL, &provider), ERROR_SUCCESS);
    /* An average without a base could not be displayed. */
    RETURNS(declare_set(provider, &set), ERROR_INVALID_PARAMETER);
    set_counter(&set, 1, 2, PERF_AVERAGE_BASE, PERF_ATTRIB_NO_DISPLAYABLE);
    RETURNS(declare_set(provider, &set), ERROR_SUCCESS);
    HOLDS(PerfCreateInstance(provider, &single_guid, NULL, 0) == NULL);
    instance = PerfCreateInstance(provider, &single_guid, NOTHING, 0);
    if (!instance) {
        instance = PerfCreateInstance(provider, &single_guid, OTHER, 0);
    }
    HOLDS(instance != NULL);
    RETURNS(PerfSetULongCounterValue(provider, instance, 1, 600), ERROR_SUCCESS);
    RETURNS(PerfSetULongCounterValue(provider, instance, 2, 3), ERROR_SUCCESS);
    HOLDS(value_of(&single_guid, "", 1) == 600);
    HOLDS(value_of(&single_guid, "", 2) == 3);
    RETURNS(PerfStopProvider(provider), ERROR_SUCCESS);
}

/* ---- Threads ---- */

#define THREADS 8
#define UPDATES 20000

static HANDLE shared;
static PERF_COUNTERSET_INSTANCE *shared_instance;

static void *update(void *unused)
{
    int i;
    (void)unused;
    for (i = 0; i < UPDATES; i++) {
        RETURNS(PerfIncrementULongLongCounterValue(shared, shared_instance, 1, 2), ERROR_SUCCESS);
        RETURNS(PerfDecrementULongLongCounterValue(shared, shared_instance, 1, 1), ERROR_SUCCESS);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t running[THREADS];
    TEMPLATE set = new_template(&set_guid, 1, PERF_COUNTERSET_MULTI_INSTANCES);
    int i;
    set_counter(&set, 0, 1, PERF_COUNTER_LARGE_RAWCOUNT, 0);
    RETURNS(PerfStartProvider(&provider_guid, NULL, &shared), ERROR_SUCCESS);
    RETURNS(declare_set(shared, &set), ERROR_SUCCESS);
    shared_instance = PerfCreateInstance(shared, &set_guid, ELEVEN, 0);
    for (i = 0; i < THREADS; i++) {
        if (pthread_create(&running[i], NULL, update, NULL) != 0) {
            exit(2);
        }
    }
    for (i = 0; i < 20; i++) {
        HOLDS(value_of(&set_guid, "11", 1) <= THREADS * UPDATES + THREADS);
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(running[i], NULL);
    }
    HOLDS(value_of(&set_guid, "11", 1) == THREADS * UPDATES);
    RETURNS(PerfStopProvider(shared), ERROR_SUCCESS);
}

int main(int count, char **arguments)
{
    const int part = count > 1 ? arguments[1][0] : 0;
    if (!part || part == 'w') {
        wine_tests();
    }
    if (!part || part == 'v') {
        values();
    }
    if (!part || part == 'c') {
        callback();
    }
    if (!part || part == 's') {
        single();
    }
    if (!part || part == 't') {
        threads();
    }
    return failed;
}
