// Counter sets of x.man. Generated: changes are lost.

/// Every "Type"
#[derive(::tachograph_publish::CounterSet)]
#[counter_set(
    name = "Every \"Type\"",
    guid = "{00000000-0000-0000-0000-00000000000b}",
    provider_guid = "{00000000-0000-0000-0000-00000000000a}",
    provider = "Counters",
    instances = "multiple",
    help = "",
)]
pub struct EveryType {
    /// A counter.
    #[counter(
        name = "perf_average_base 0",
        id = 0,
        type = "perf_average_base",
        help = "Of \"type\" perf_average_base * / \\ ??/ \n é.",
    )]
    pub counter_0: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_large_raw_base 3",
        id = 3,
        type = "perf_large_raw_base",
        help = "Of \"type\" perf_large_raw_base * / \\ ??/ \n é.",
    )]
    pub counter_3: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_multi_base 4",
        id = 4,
        type = "perf_counter_multi_base",
        help = "Of \"type\" perf_counter_multi_base * / \\ ??/ \n é.",
    )]
    pub counter_4: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_large_rawcount 5",
        id = 5,
        help = "Of \"type\" perf_counter_large_rawcount * / \\ ??/ \n é.",
    )]
    pub counter_5: ::tachograph_publish::Gauge,
    /// A counter.
    #[counter(
        name = "perf_counter_rawcount 6",
        id = 6,
        type = "perf_counter_rawcount",
        help = "Of \"type\" perf_counter_rawcount * / \\ ??/ \n é.",
    )]
    pub counter_6: ::tachograph_publish::Gauge,
    /// A counter.
    #[counter(
        name = "perf_counter_counter 100",
        id = 100,
        type = "perf_counter_counter",
        help = "Of \"type\" perf_counter_counter * / \\ ??/ \n é.",
    )]
    pub counter_100: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_timer 101",
        id = 101,
        type = "perf_counter_timer",
        help = "Of \"type\" perf_counter_timer * / \\ ??/ \n é.",
    )]
    pub counter_101: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_queuelen_type 102",
        id = 102,
        type = "perf_counter_queuelen_type",
        help = "Of \"type\" perf_counter_queuelen_type * / \\ ??/ \n é.",
    )]
    pub counter_102: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_large_queuelen_type 103",
        id = 103,
        type = "perf_counter_large_queuelen_type",
        help = "Of \"type\" perf_counter_large_queuelen_type * / \\ ??/ \n é.",
    )]
    pub counter_103: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_100ns_queuelen_type 104",
        id = 104,
        type = "perf_counter_100ns_queuelen_type",
        help = "Of \"type\" perf_counter_100ns_queuelen_type * / \\ ??/ \n é.",
    )]
    pub counter_104: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_obj_time_queuelen_type 105",
        id = 105,
        type = "perf_counter_obj_time_queuelen_type",
        time = counter_5,
        frequency = counter_5,
        help = "Of \"type\" perf_counter_obj_time_queuelen_type * / \\ ??/ \n é.",
    )]
    pub counter_105: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_bulk_count 106",
        id = 106,
        help = "Of \"type\" perf_counter_bulk_count * / \\ ??/ \n é.",
    )]
    pub counter_106: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_rawcount_hex 107",
        id = 107,
        type = "perf_counter_rawcount_hex",
        help = "Of \"type\" perf_counter_rawcount_hex * / \\ ??/ \n é.",
    )]
    pub counter_107: ::tachograph_publish::Gauge,
    /// A counter.
    #[counter(
        name = "perf_counter_large_rawcount_hex 108",
        id = 108,
        type = "perf_counter_large_rawcount_hex",
        help = "Of \"type\" perf_counter_large_rawcount_hex * / \\ ??/ \n é.",
    )]
    pub counter_108: ::tachograph_publish::Gauge,
    /// A counter.
    #[counter(
        name = "perf_sample_fraction 109",
        id = 109,
        base = "perf_sample_base 2",
        base_id = 2,
        help = "Of \"type\" perf_sample_fraction * / \\ ??/ \n é.",
    )]
    pub counter_109: ::tachograph_publish::Fraction,
    /// A counter.
    #[counter(
        name = "perf_sample_counter 110",
        id = 110,
        type = "perf_sample_counter",
        help = "Of \"type\" perf_sample_counter * / \\ ??/ \n é.",
    )]
    pub counter_110: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_timer_inv 111",
        id = 111,
        type = "perf_counter_timer_inv",
        help = "Of \"type\" perf_counter_timer_inv * / \\ ??/ \n é.",
    )]
    pub counter_111: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_average_timer 112",
        id = 112,
        type = "perf_average_timer",
        base = counter_0,
        help = "Of \"type\" perf_average_timer * / \\ ??/ \n é.",
    )]
    pub counter_112: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_average_bulk 113",
        id = 113,
        type = "perf_average_bulk",
        base = counter_0,
        help = "Of \"type\" perf_average_bulk * / \\ ??/ \n é.",
    )]
    pub counter_113: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_obj_time_timer 114",
        id = 114,
        type = "perf_obj_time_timer",
        time = counter_5,
        frequency = counter_5,
        help = "Of \"type\" perf_obj_time_timer * / \\ ??/ \n é.",
    )]
    pub counter_114: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_100nsec_timer 115",
        id = 115,
        type = "perf_100nsec_timer",
        help = "Of \"type\" perf_100nsec_timer * / \\ ??/ \n é.",
    )]
    pub counter_115: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_100nsec_timer_inv 116",
        id = 116,
        type = "perf_100nsec_timer_inv",
        help = "Of \"type\" perf_100nsec_timer_inv * / \\ ??/ \n é.",
    )]
    pub counter_116: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_multi_timer 117",
        id = 117,
        type = "perf_counter_multi_timer",
        multiplier = counter_6,
        help = "Of \"type\" perf_counter_multi_timer * / \\ ??/ \n é.",
    )]
    pub counter_117: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_multi_timer_inv 118",
        id = 118,
        type = "perf_counter_multi_timer_inv",
        base = counter_4,
        multiplier = counter_6,
        help = "Of \"type\" perf_counter_multi_timer_inv * / \\ ??/ \n é.",
    )]
    pub counter_118: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_100nsec_multi_timer 119",
        id = 119,
        type = "perf_100nsec_multi_timer",
        multiplier = counter_6,
        help = "Of \"type\" perf_100nsec_multi_timer * / \\ ??/ \n é.",
    )]
    pub counter_119: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_100nsec_multi_timer_inv 120",
        id = 120,
        type = "perf_100nsec_multi_timer_inv",
        multiplier = counter_6,
        help = "Of \"type\" perf_100nsec_multi_timer_inv * / \\ ??/ \n é.",
    )]
    pub counter_120: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_raw_fraction 121",
        id = 121,
        base = "perf_raw_base 1",
        base_id = 1,
        help = "Of \"type\" perf_raw_fraction * / \\ ??/ \n é.",
    )]
    pub counter_121: ::tachograph_publish::Ratio,
    /// A counter.
    #[counter(
        name = "perf_large_raw_fraction 122",
        id = 122,
        type = "perf_large_raw_fraction",
        base = counter_3,
        help = "Of \"type\" perf_large_raw_fraction * / \\ ??/ \n é.",
    )]
    pub counter_122: ::tachograph_publish::Gauge,
    /// A counter.
    #[counter(
        name = "perf_elapsed_time 123",
        id = 123,
        type = "perf_elapsed_time",
        time = counter_5,
        frequency = counter_5,
        help = "Of \"type\" perf_elapsed_time * / \\ ??/ \n é.",
    )]
    pub counter_123: ::tachograph_publish::Gauge,
    /// A counter.
    #[counter(
        name = "perf_counter_delta 124",
        id = 124,
        type = "perf_counter_delta",
        help = "Of \"type\" perf_counter_delta * / \\ ??/ \n é.",
    )]
    pub counter_124: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_counter_large_delta 125",
        id = 125,
        type = "perf_counter_large_delta",
        help = "Of \"type\" perf_counter_large_delta * / \\ ??/ \n é.",
    )]
    pub counter_125: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_precision_system_timer 126",
        id = 126,
        type = "perf_precision_system_timer",
        base = counter_3,
        help = "Of \"type\" perf_precision_system_timer * / \\ ??/ \n é.",
    )]
    pub counter_126: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_precision_100ns_timer 127",
        id = 127,
        type = "perf_precision_100ns_timer",
        base = counter_3,
        help = "Of \"type\" perf_precision_100ns_timer * / \\ ??/ \n é.",
    )]
    pub counter_127: ::tachograph_publish::Counter,
    /// A counter.
    #[counter(
        name = "perf_precision_object_timer 128",
        id = 128,
        type = "perf_precision_object_timer",
        time = counter_5,
        frequency = counter_5,
        help = "Of \"type\" perf_precision_object_timer * / \\ ??/ \n é.",
    )]
    pub counter_128: ::tachograph_publish::Counter,
}
