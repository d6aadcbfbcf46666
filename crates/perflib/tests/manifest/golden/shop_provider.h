/*
 * The provider of shop.man: ids, GUIDs, and functions that start and stop it.
 * Generated: changes are lost.
 */
#ifndef TACHO_MANIFEST_SHOP_MAN_PROVIDER_H
#define TACHO_MANIFEST_SHOP_MAN_PROVIDER_H

#include <perflib.h>
#include <winperf.h>

/* Provider Shop */
static const GUID ShopProviderGuid = { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x40 } };
/* Shop: What the shop did & what it has. */
static const GUID ShopGuid = { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x41 } };
/* Shop Carts: Carts by kind. */
static const GUID CartsGuid = { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x42 } };

/* The handle, valid from CounterInitialize to CounterCleanup; all source files share it. */
#ifdef __cplusplus
extern "C" {
#endif
extern HANDLE ShopProvider;
HANDLE ShopProvider __attribute__((weak)) = 0;
#ifdef __cplusplus
}
#endif

/* Stops the provider and removes its sets and instances. */
static inline ULONG CounterCleanup(void)
{
    ULONG status = 0;
    if (ShopProvider != 0) {
        status = PerfStopProvider(ShopProvider);
        ShopProvider = 0;
    }
    return status;
}

/* Starts the provider and declares its counter sets. Returns 0, or an error code after cleaning up:
 * 183 (ERROR_ALREADY_EXISTS) if it is already running. */
static inline ULONG CounterInitialize(PERFLIBREQUEST callback, PERF_MEM_ALLOC allocate, PERF_MEM_FREE release)
{
    static struct {
        PERF_COUNTERSET_INFO set;
        PERF_COUNTER_INFO counters[7];
    } ShopTemplate = {
        { { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x41 } },
          { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x40 } },
          7, PERF_COUNTERSET_SINGLE_INSTANCE },
        {
            { 1, PERF_COUNTER_BULK_COUNT, 0x0, 8, 100, -2, 32 },
            { 2, PERF_COUNTER_LARGE_RAWCOUNT, 0x8, 8, 200, 0, 40 },
            { 3, PERF_AVERAGE_TIMER, 0x0, 4, 100, 0, 48 },
            { 4, PERF_AVERAGE_BASE, 0x2, 4, 100, 0, 56 },
            { 16, PERF_SAMPLE_FRACTION, 0x0, 4, 100, 0, 64 },
            { 17, PERF_SAMPLE_BASE, 0x3, 4, 100, 0, 72 },
            { 18, PERF_COUNTER_RAWCOUNT_HEX, 0x5, 4, 100, 0, 80 },
        },
    };
    static struct {
        PERF_COUNTERSET_INFO set;
        PERF_COUNTER_INFO counters[7];
    } CartsTemplate = {
        { { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x42 } },
          { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x40 } },
          7, PERF_COUNTERSET_MULTI_AGGREGATE },
        {
            { 0, PERF_AVERAGE_BULK, 0x0, 8, 100, 0, 32 },
            { 1, PERF_AVERAGE_BASE, 0x2, 4, 100, 0, 40 },
            { 2, PERF_OBJ_TIME_TIMER, 0x0, 8, 100, 0, 48 },
            { 3, PERF_COUNTER_MULTI_TIMER, 0x0, 8, 100, 0, 56 },
            { 4, PERF_COUNTER_RAWCOUNT, 0x0, 4, 100, 0, 64 },
            { 5, PERF_COUNTER_LARGE_RAWCOUNT, 0x2, 8, 100, 0, 72 },
            { 6, PERF_COUNTER_LARGE_RAWCOUNT, 0x2, 8, 100, 0, 80 },
        },
    };
    GUID provider = ShopProviderGuid;
    if (ShopProvider != 0) {
        return 183;
    }
    PERF_PROVIDER_CONTEXT context;
    context.ContextSize = sizeof(context);
    context.Reserved = 0;
    context.ControlCallback = callback;
    context.MemAllocRoutine = allocate;
    context.MemFreeRoutine = release;
    context.pMemContext = 0;
    ULONG status = PerfStartProviderEx(&provider, &context, &ShopProvider);
    if (status != 0) {
        return status;
    }
    status = PerfSetCounterSetInfo(ShopProvider, &ShopTemplate.set, sizeof(ShopTemplate));
    if (status != 0) {
        (void)CounterCleanup();
        return status;
    }
    status = PerfSetCounterSetInfo(ShopProvider, &CartsTemplate.set, sizeof(CartsTemplate));
    if (status != 0) {
        (void)CounterCleanup();
        return status;
    }
    return status;
}

/* Ids of the counters. */
#define ShopRequests 1 /* Requests/sec */
#define ShopOpenOrders 2 /* Open Orders */
#define ShopRequestTime 3 /* Avg. sec/Request */
#define ShopState 18 /* State */
#define CartsBytes 0 /* Avg. Bytes/Cart */
#define CartsBytesBase 1 /* Avg. Bytes/Cart Base */
#define CartsBusy 2 /* % Busy */
#define CartsWorkers 3 /* % Workers Busy */
#define CartsWorkerCount 4 /* Workers */

#endif
