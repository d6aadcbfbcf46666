/* Writes three MMV files with PCP's own library, of versions 1, 2 and 3. Used by peers.rs. */
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>
#include <stdio.h>

#define LONG "a.name.that.is.longer.than.the.sixty.four.bytes.which.version.1.has.room.for"

static mmv_instances_t products[] = {
    { .internal = 0, .external = "Anvils" },
    { .internal = 1, .external = "Rockets" },
    { .internal = 2, .external = "Giant_Rubber_Bands" },
};

static mmv_instances_t shops[] = {
    { .internal = 10, .external = "north" },
    { .internal = 20, .external = "south" },
};

static mmv_indom_t indoms[] = {
    { .serial = 61, .count = 3, .instances = products, .shorttext = "Products", .helptext = "What is made" },
    { .serial = 62, .count = 2, .instances = shops },
};

static mmv_metric_t metrics[] = {
    { "products.count", 7, MMV_TYPE_U64, MMV_SEM_COUNTER, MMV_UNITS(0, 0, 1, 0, 0, PM_COUNT_ONE), 61, "Made", "Since start" },
    { "products.time", 8, MMV_TYPE_U64, MMV_SEM_COUNTER, MMV_UNITS(0, 1, 0, 0, PM_TIME_USEC, 0), 61, NULL, NULL },
    { "shops.open", 9, MMV_TYPE_I32, MMV_SEM_DISCRETE, MMV_UNITS(0, 0, 0, 0, 0, 0), 62, NULL, NULL },
    { "i32", 1, MMV_TYPE_I32, MMV_SEM_INSTANT, MMV_UNITS(0, 0, 0, 0, 0, 0), 0, NULL, NULL },
    { "u32", 2, MMV_TYPE_U32, MMV_SEM_COUNTER, MMV_UNITS(1, 0, 0, PM_SPACE_KBYTE, 0, 0), 0, NULL, NULL },
    { "i64", 3, MMV_TYPE_I64, MMV_SEM_INSTANT, MMV_UNITS(1, -1, 0, PM_SPACE_MBYTE, PM_TIME_SEC, 0), 0, NULL, NULL },
    { "float", 4, MMV_TYPE_FLOAT, MMV_SEM_INSTANT, MMV_UNITS(0, 0, 0, 0, 0, 0), 0, NULL, NULL },
    { "double", 5, MMV_TYPE_DOUBLE, MMV_SEM_INSTANT, MMV_UNITS(0, 1, -1, 0, PM_TIME_MSEC, 0), 0, NULL, NULL },
    { "text", 6, MMV_TYPE_STRING, MMV_SEM_DISCRETE, MMV_UNITS(0, 0, 0, 0, 0, 0), 0, NULL, NULL },
    { "elapsed", 10, MMV_TYPE_ELAPSED, MMV_SEM_COUNTER, MMV_UNITS(0, 1, 0, 0, PM_TIME_USEC, 0), 0, NULL, NULL },
    { "waiting", 11, MMV_TYPE_ELAPSED, MMV_SEM_INSTANT, MMV_UNITS(0, 1, 0, 0, PM_TIME_USEC, 0), 0, NULL, NULL },
};

static void fill(void *file)
{
    pmAtomValue *waiting = mmv_lookup_value_desc(file, "waiting", "");

    mmv_stats_set(file, "products.count", "Anvils", 1234567890123.0);
    mmv_stats_set(file, "products.count", "Giant_Rubber_Bands", 3);
    mmv_stats_set(file, "products.time", "Rockets", 2500000);
    mmv_stats_set(file, "shops.open", "south", -1);
    mmv_stats_set(file, "i32", "", -2147483648.0);
    mmv_stats_set(file, "u32", "", 4294967295.0);
    mmv_stats_set(file, "i64", "", -5000000000.0);
    mmv_stats_set(file, "float", "", 0.5);
    mmv_stats_set(file, "double", "", -0.1);
    mmv_stats_set_string(file, "text", "", "words");
    mmv_stats_set(file, "elapsed", "", 987654321);
    mmv_stats_interval_start(file, waiting, "waiting", "");
}

int main(void)
{
    int count = sizeof(metrics) / sizeof(metrics[0]), i, j;
    mmv_registry_t *registry;
    void *file;

    if (!(file = mmv_stats_init("peer1", 321, 0, metrics, count, indoms, 2)))
        return perror("version 1"), 1;
    fill(file);

    /* A long name makes it version 2, a label version 3. */
    for (i = 2; i <= 3; i++) {
        registry = mmv_stats_registry(i == 2 ? "peer2" : "peer3", 320 + i, i == 2 ? 0 : MMV_FLAG_PROCESS);
        for (j = 0; j < 2; j++) {
            unsigned k;
            mmv_stats_add_indom(registry, indoms[j].serial, indoms[j].shorttext, indoms[j].helptext);
            for (k = 0; k < indoms[j].count; k++)
                mmv_stats_add_instance(registry, indoms[j].serial, indoms[j].instances[k].internal,
                                       indoms[j].instances[k].external);
        }
        for (j = 0; j < count; j++)
            mmv_stats_add_metric(registry, metrics[j].name, metrics[j].item, metrics[j].type, metrics[j].semantics,
                                 metrics[j].dimension, metrics[j].indom, metrics[j].shorttext, metrics[j].helptext);
        mmv_stats_add_metric(registry, LONG, 12, MMV_TYPE_U32, MMV_SEM_INSTANT, metrics[3].dimension, 0, "", "");
        if (i == 3)
            mmv_stats_add_registry_label(registry, "branch", "north", MMV_STRING_TYPE, 0);
        if (!(file = mmv_stats_start(registry)))
            return perror("version 2 or 3"), 1;
        fill(file);
        mmv_stats_set(file, LONG, "", 42);
    }
    puts("ready");
    fflush(stdout);
    /* Run until the test closes the input. */
    getchar();
    return 0;
}
