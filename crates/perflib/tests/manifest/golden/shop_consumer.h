/*
 * Names, GUIDs and ids of counter sets, for consumers: shop.man.
 * Generated: changes are lost.
 */
#ifndef TACHO_MANIFEST_SHOP_MAN_H
#define TACHO_MANIFEST_SHOP_MAN_H

#include <tachograph/types.h>

/* Shop: What the shop did & what it has. */
#define Shop_NAME TACHO_W("Shop")
static const GUID ShopGuid = { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x41 } };
#define ShopRequests 1 /* Requests/sec (PERF_COUNTER_BULK_COUNT) */
#define ShopOpenOrders 2 /* Open Orders (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ShopRequestTime 3 /* Avg. sec/Request (PERF_AVERAGE_TIMER) */
#define Shop_Counter4 4 /* (PERF_AVERAGE_BASE) */
#define Shop_PercentCacheHits 16 /* % Cache Hits (PERF_SAMPLE_FRACTION) */
#define Shop_LookupsBase 17 /* Lookups Base (PERF_SAMPLE_BASE) */
#define ShopState 18 /* State (PERF_COUNTER_RAWCOUNT_HEX) */

/* Shop Carts: Carts by kind. */
#define Carts_NAME TACHO_W("Shop Carts")
static const GUID CartsGuid = { 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x42 } };
#define CartsBytes 0 /* Avg. Bytes/Cart (PERF_AVERAGE_BULK) */
#define CartsBytesBase 1 /* Avg. Bytes/Cart Base (PERF_AVERAGE_BASE) */
#define CartsBusy 2 /* % Busy (PERF_OBJ_TIME_TIMER) */
#define CartsWorkers 3 /* % Workers Busy (PERF_COUNTER_MULTI_TIMER) */
#define CartsWorkerCount 4 /* Workers (PERF_COUNTER_RAWCOUNT) */
#define Carts_Counter5 5 /* (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Carts_Counter6 6 /* (PERF_COUNTER_LARGE_RAWCOUNT) */

#endif
