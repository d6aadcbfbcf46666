/*
 * Names, GUIDs and ids of counter sets, for consumers: tachograph/sets.h.
 * Generated: changes are lost.
 */
#ifndef TACHO_MANIFEST_TACHOGRAPH_SETS_H_H
#define TACHO_MANIFEST_TACHOGRAPH_SETS_H_H

#include <tachograph/types.h>

/* Battery Status: Batteries of the machine and of devices such as a wireless mouse: their charge, and how fast they charge or discharge. */
#define BatteryStatus_NAME TACHO_W("Battery Status")
static const GUID BatteryStatusGuid = { 0xdc541b91, 0xae56, 0x5412, { 0xa3, 0x59, 0x33, 0x06, 0xee, 0xb2, 0x46, 0x9c } };
#define BatteryStatus_PercentCharge 1 /* % Charge (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BatteryStatus_DischargeRate 2 /* Discharge Rate (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BatteryStatus_ChargeRate 3 /* Charge Rate (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BatteryStatus_RemainingCapacity 4 /* Remaining Capacity (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BatteryStatus_FullChargedCapacity 5 /* Full Charged Capacity (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BatteryStatus_DesignedCapacity 6 /* Designed Capacity (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BatteryStatus_Voltage 7 /* Voltage (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BatteryStatus_ChargeCycles 8 /* Charge Cycles (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Block Device: Input and output of block devices that are not disks themselves, but are built on disks, files or memory: volumes of LVM and of encryption, RAID arrays, loop and zram devices. */
#define BlockDevice_NAME TACHO_W("Block Device")
static const GUID BlockDeviceGuid = { 0xc2bec60a, 0x3aef, 0x5f56, { 0x96, 0xc2, 0x1f, 0x25, 0x26, 0x6b, 0x69, 0x0d } };
#define BlockDevice_CurrentDiskQueueLength 1 /* Current Disk Queue Length (PERF_COUNTER_RAWCOUNT) */
#define BlockDevice_PercentDiskTime 2 /* % Disk Time (PERF_PRECISION_100NS_TIMER) */
#define BlockDevice_PercentDiskReadTime 3 /* % Disk Read Time (PERF_PRECISION_100NS_TIMER) */
#define BlockDevice_PercentDiskWriteTime 4 /* % Disk Write Time (PERF_PRECISION_100NS_TIMER) */
#define BlockDevice_AvgDiskQueueLength 5 /* Avg. Disk Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define BlockDevice_AvgDiskReadQueueLength 6 /* Avg. Disk Read Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define BlockDevice_AvgDiskWriteQueueLength 7 /* Avg. Disk Write Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define BlockDevice_AvgDiskSecPerTransfer 8 /* Avg. Disk sec/Transfer (PERF_AVERAGE_TIMER) */
#define BlockDevice_AvgDiskSecPerRead 9 /* Avg. Disk sec/Read (PERF_AVERAGE_TIMER) */
#define BlockDevice_AvgDiskSecPerWrite 10 /* Avg. Disk sec/Write (PERF_AVERAGE_TIMER) */
#define BlockDevice_DiskTransfersPerSec 11 /* Disk Transfers/sec (PERF_COUNTER_COUNTER) */
#define BlockDevice_DiskReadsPerSec 12 /* Disk Reads/sec (PERF_COUNTER_COUNTER) */
#define BlockDevice_DiskWritesPerSec 13 /* Disk Writes/sec (PERF_COUNTER_COUNTER) */
#define BlockDevice_DiskBytesPerSec 14 /* Disk Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define BlockDevice_DiskReadBytesPerSec 15 /* Disk Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define BlockDevice_DiskWriteBytesPerSec 16 /* Disk Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define BlockDevice_AvgDiskBytesPerTransfer 17 /* Avg. Disk Bytes/Transfer (PERF_AVERAGE_BULK) */
#define BlockDevice_AvgDiskBytesPerRead 18 /* Avg. Disk Bytes/Read (PERF_AVERAGE_BULK) */
#define BlockDevice_AvgDiskBytesPerWrite 19 /* Avg. Disk Bytes/Write (PERF_AVERAGE_BULK) */
#define BlockDevice_PercentIdleTime 20 /* % Idle Time (PERF_PRECISION_100NS_TIMER) */
#define BlockDevice_MergedReadsPerSec 21 /* Merged Reads/sec (PERF_COUNTER_COUNTER) */
#define BlockDevice_MergedWritesPerSec 22 /* Merged Writes/sec (PERF_COUNTER_COUNTER) */
#define BlockDevice_DiskDiscardsPerSec 23 /* Disk Discards/sec (PERF_COUNTER_COUNTER) */
#define BlockDevice_MergedDiscardsPerSec 24 /* Merged Discards/sec (PERF_COUNTER_COUNTER) */
#define BlockDevice_DiskDiscardBytesPerSec 25 /* Disk Discard Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define BlockDevice_AvgDiskSecPerDiscard 26 /* Avg. Disk sec/Discard (PERF_AVERAGE_TIMER) */
#define BlockDevice_DiskFlushesPerSec 27 /* Disk Flushes/sec (PERF_COUNTER_COUNTER) */
#define BlockDevice_AvgDiskSecPerFlush 28 /* Avg. Disk sec/Flush (PERF_AVERAGE_TIMER) */
#define BlockDevice_DiskTimeBase 40 /* Disk Time Base (PERF_LARGE_RAW_BASE) */
#define BlockDevice_DiskTransfersBase 41 /* Disk Transfers Base (PERF_AVERAGE_BASE) */
#define BlockDevice_DiskReadsBase 42 /* Disk Reads Base (PERF_AVERAGE_BASE) */
#define BlockDevice_DiskWritesBase 43 /* Disk Writes Base (PERF_AVERAGE_BASE) */
#define BlockDevice_DiskDiscardsBase 44 /* Disk Discards Base (PERF_AVERAGE_BASE) */
#define BlockDevice_DiskFlushesBase 45 /* Disk Flushes Base (PERF_AVERAGE_BASE) */

/* Block Device Member: The underlying devices (disks, partitions and others) of each device of Block Device, with their input and output. */
#define BlockDeviceMember_NAME TACHO_W("Block Device Member")
static const GUID BlockDeviceMemberGuid = { 0x61a3e513, 0x6586, 0x5935, { 0x99, 0x47, 0x8a, 0xd6, 0xfc, 0x76, 0x51, 0x3d } };
#define BlockDeviceMember_CurrentDiskQueueLength 1 /* Current Disk Queue Length (PERF_COUNTER_RAWCOUNT) */
#define BlockDeviceMember_PercentDiskTime 2 /* % Disk Time (PERF_PRECISION_100NS_TIMER) */
#define BlockDeviceMember_PercentDiskReadTime 3 /* % Disk Read Time (PERF_PRECISION_100NS_TIMER) */
#define BlockDeviceMember_PercentDiskWriteTime 4 /* % Disk Write Time (PERF_PRECISION_100NS_TIMER) */
#define BlockDeviceMember_AvgDiskQueueLength 5 /* Avg. Disk Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define BlockDeviceMember_AvgDiskReadQueueLength 6 /* Avg. Disk Read Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define BlockDeviceMember_AvgDiskWriteQueueLength 7 /* Avg. Disk Write Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define BlockDeviceMember_AvgDiskSecPerTransfer 8 /* Avg. Disk sec/Transfer (PERF_AVERAGE_TIMER) */
#define BlockDeviceMember_AvgDiskSecPerRead 9 /* Avg. Disk sec/Read (PERF_AVERAGE_TIMER) */
#define BlockDeviceMember_AvgDiskSecPerWrite 10 /* Avg. Disk sec/Write (PERF_AVERAGE_TIMER) */
#define BlockDeviceMember_DiskTransfersPerSec 11 /* Disk Transfers/sec (PERF_COUNTER_COUNTER) */
#define BlockDeviceMember_DiskReadsPerSec 12 /* Disk Reads/sec (PERF_COUNTER_COUNTER) */
#define BlockDeviceMember_DiskWritesPerSec 13 /* Disk Writes/sec (PERF_COUNTER_COUNTER) */
#define BlockDeviceMember_DiskBytesPerSec 14 /* Disk Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define BlockDeviceMember_DiskReadBytesPerSec 15 /* Disk Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define BlockDeviceMember_DiskWriteBytesPerSec 16 /* Disk Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define BlockDeviceMember_AvgDiskBytesPerTransfer 17 /* Avg. Disk Bytes/Transfer (PERF_AVERAGE_BULK) */
#define BlockDeviceMember_AvgDiskBytesPerRead 18 /* Avg. Disk Bytes/Read (PERF_AVERAGE_BULK) */
#define BlockDeviceMember_AvgDiskBytesPerWrite 19 /* Avg. Disk Bytes/Write (PERF_AVERAGE_BULK) */
#define BlockDeviceMember_PercentIdleTime 20 /* % Idle Time (PERF_PRECISION_100NS_TIMER) */
#define BlockDeviceMember_MergedReadsPerSec 21 /* Merged Reads/sec (PERF_COUNTER_COUNTER) */
#define BlockDeviceMember_MergedWritesPerSec 22 /* Merged Writes/sec (PERF_COUNTER_COUNTER) */
#define BlockDeviceMember_DiskDiscardsPerSec 23 /* Disk Discards/sec (PERF_COUNTER_COUNTER) */
#define BlockDeviceMember_MergedDiscardsPerSec 24 /* Merged Discards/sec (PERF_COUNTER_COUNTER) */
#define BlockDeviceMember_DiskDiscardBytesPerSec 25 /* Disk Discard Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define BlockDeviceMember_AvgDiskSecPerDiscard 26 /* Avg. Disk sec/Discard (PERF_AVERAGE_TIMER) */
#define BlockDeviceMember_DiskFlushesPerSec 27 /* Disk Flushes/sec (PERF_COUNTER_COUNTER) */
#define BlockDeviceMember_AvgDiskSecPerFlush 28 /* Avg. Disk sec/Flush (PERF_AVERAGE_TIMER) */
#define BlockDeviceMember_DiskTimeBase 40 /* Disk Time Base (PERF_LARGE_RAW_BASE) */
#define BlockDeviceMember_DiskTransfersBase 41 /* Disk Transfers Base (PERF_AVERAGE_BASE) */
#define BlockDeviceMember_DiskReadsBase 42 /* Disk Reads Base (PERF_AVERAGE_BASE) */
#define BlockDeviceMember_DiskWritesBase 43 /* Disk Writes Base (PERF_AVERAGE_BASE) */
#define BlockDeviceMember_DiskDiscardsBase 44 /* Disk Discards Base (PERF_AVERAGE_BASE) */
#define BlockDeviceMember_DiskFlushesBase 45 /* Disk Flushes Base (PERF_AVERAGE_BASE) */

/* Bonding: Bonded network interfaces, and whether the links of their members are up. */
#define Bonding_NAME TACHO_W("Bonding")
static const GUID BondingGuid = { 0x559b1b01, 0xaf47, 0x55d4, { 0x9c, 0x94, 0x5f, 0xbe, 0xae, 0xe3, 0xa9, 0xa7 } };
#define Bonding_LinkUp 1 /* Link Up (PERF_COUNTER_RAWCOUNT) */
#define Bonding_Interfaces 2 /* Interfaces (PERF_COUNTER_RAWCOUNT) */
#define Bonding_InterfacesUp 3 /* Interfaces Up (PERF_COUNTER_RAWCOUNT) */
#define Bonding_Active 4 /* Active (PERF_COUNTER_RAWCOUNT) */
#define Bonding_LinkFailures 5 /* Link Failures (PERF_COUNTER_RAWCOUNT) */

/* Btrfs Device: Errors of the devices of btrfs file systems. The file system stores them; 'btrfs device stats -z' resets them. */
#define BtrfsDevice_NAME TACHO_W("Btrfs Device")
static const GUID BtrfsDeviceGuid = { 0x5d899d8a, 0xa04a, 0x5af4, { 0xbc, 0x7f, 0xcc, 0x8f, 0xbb, 0x87, 0xa0, 0x13 } };
#define BtrfsDevice_WriteErrors 1 /* Write Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BtrfsDevice_ReadErrors 2 /* Read Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BtrfsDevice_FlushErrors 3 /* Flush Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BtrfsDevice_CorruptionErrors 4 /* Corruption Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BtrfsDevice_GenerationErrors 5 /* Generation Errors (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Buddy Allocator: Free memory of all zones and nodes, by the size of its contiguous blocks. Large blocks are needed for huge pages and for some drivers; memory without them is fragmented. */
#define BuddyAllocator_NAME TACHO_W("Buddy Allocator")
static const GUID BuddyAllocatorGuid = { 0xcdc5eb23, 0x0352, 0x501e, { 0x82, 0x49, 0xc9, 0x64, 0xd6, 0x58, 0x00, 0x19 } };
#define BuddyAllocator_FreeBlocks 1 /* Free Blocks (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BuddyAllocator_FreeBytes 2 /* Free Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define BuddyAllocator_UsableBytes 3 /* Usable Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Cache: The page cache. Linux does not count hits, misses and background writing separately, as Windows does; Paging Activity has the total of written pages. */
#define Cache_NAME TACHO_W("Cache")
static const GUID CacheGuid = { 0x1876c4f6, 0xe192, 0x59fc, { 0x81, 0x4d, 0x07, 0x4b, 0xb8, 0x25, 0xd8, 0xe4 } };
#define Cache_DirtyPages 1 /* Dirty Pages (PERF_COUNTER_RAWCOUNT) */
#define Cache_DirtyPageThreshold 2 /* Dirty Page Threshold (PERF_COUNTER_RAWCOUNT) */

/* Cgroup: The resources that control groups use: processor time, memory, disk transfers, tasks, pressure. A group's values include those of all groups below it. A group that is in several hierarchies (version 2, and version 1 for each controller) is one instance. The nearest equivalent on Windows is Job Object. */
#define Cgroup_NAME TACHO_W("Cgroup")
static const GUID CgroupGuid = { 0x7face1da, 0x5ba1, 0x59f1, { 0xa5, 0xdd, 0x04, 0x9b, 0xfb, 0x6c, 0x90, 0x63 } };
#define Cgroup_PercentProcessorTime 1 /* % Processor Time (PERF_100NSEC_TIMER) */
#define Cgroup_PercentUserTime 2 /* % User Time (PERF_100NSEC_TIMER) */
#define Cgroup_PercentPrivilegedTime 3 /* % Privileged Time (PERF_100NSEC_TIMER) */
#define Cgroup_PeriodsPerSec 4 /* Periods/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_ThrottledPeriodsPerSec 5 /* Throttled Periods/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_PercentThrottledTime 6 /* % Throttled Time (PERF_100NSEC_TIMER) */
#define Cgroup_MemoryCurrentBytes 7 /* Memory Current Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_MemoryPeakBytes 8 /* Memory Peak Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_MemoryLimitBytes 9 /* Memory Limit Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_PercentMemoryLimitUsed 10 /* % Memory Limit Used (PERF_RAW_FRACTION) */
#define Cgroup_PercentMemoryLimitUsedBase 11 /* % Memory Limit Used Base (PERF_RAW_BASE) */
#define Cgroup_SwapCurrentBytes 12 /* Swap Current Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_MemoryLowEventsPerSec 13 /* Memory Low Events/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_MemoryHighEventsPerSec 14 /* Memory High Events/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_MemoryMaxEventsPerSec 15 /* Memory Max Events/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_OomEventsPerSec 16 /* OOM Events/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_OomKillsPerSec 17 /* OOM Kills/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_AnonymousBytes 18 /* Anonymous Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_FileBytes 19 /* File Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_KernelBytes 20 /* Kernel Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_SlabBytes 21 /* Slab Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_PageFaultsPerSec 22 /* Page Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_MajorPageFaultsPerSec 23 /* Major Page Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_ReadBytesPerSec 24 /* Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_WriteBytesPerSec 25 /* Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_DiscardBytesPerSec 26 /* Discard Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_ReadOperationsPerSec 27 /* Read Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_WriteOperationsPerSec 28 /* Write Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_DiscardOperationsPerSec 29 /* Discard Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Cgroup_Tasks 30 /* Tasks (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_TaskLimit 31 /* Task Limit (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Cgroup_PercentCpuSomeStallTime 32 /* % CPU Some Stall Time (PERF_100NSEC_TIMER) */
#define Cgroup_PercentCpuFullStallTime 33 /* % CPU Full Stall Time (PERF_100NSEC_TIMER) */
#define Cgroup_PercentMemorySomeStallTime 34 /* % Memory Some Stall Time (PERF_100NSEC_TIMER) */
#define Cgroup_PercentMemoryFullStallTime 35 /* % Memory Full Stall Time (PERF_100NSEC_TIMER) */
#define Cgroup_PercentIoSomeStallTime 36 /* % IO Some Stall Time (PERF_100NSEC_TIMER) */
#define Cgroup_PercentIoFullStallTime 37 /* % IO Full Stall Time (PERF_100NSEC_TIMER) */

/* Cgroup Disk: The transfers of control groups from and to each disk. A group's values include those of all groups below it. */
#define CgroupDisk_NAME TACHO_W("Cgroup Disk")
static const GUID CgroupDiskGuid = { 0x27bac0a5, 0x3c3a, 0x56de, { 0x9f, 0x20, 0x19, 0x2a, 0xe7, 0x5b, 0x70, 0x63 } };
#define CgroupDisk_ReadBytesPerSec 24 /* Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define CgroupDisk_WriteBytesPerSec 25 /* Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define CgroupDisk_DiscardBytesPerSec 26 /* Discard Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define CgroupDisk_ReadOperationsPerSec 27 /* Read Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define CgroupDisk_WriteOperationsPerSec 28 /* Write Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define CgroupDisk_DiscardOperationsPerSec 29 /* Discard Operations/sec (PERF_COUNTER_BULK_COUNT) */

/* Connection Tracking: Connections that the firewall tracks (netfilter's conntrack) in this network namespace. */
#define ConnectionTracking_NAME TACHO_W("Connection Tracking")
static const GUID ConnectionTrackingGuid = { 0x8c98d19a, 0xc8c3, 0x55c0, { 0x95, 0x6e, 0xdc, 0x00, 0x97, 0xd0, 0x5b, 0x5f } };
#define ConnectionTracking_Entries 1 /* Entries (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ConnectionTracking_Limit 2 /* Limit (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ConnectionTracking_PercentEntriesInUse 3 /* % Entries In Use (PERF_RAW_FRACTION) */
#define ConnectionTracking_PercentEntriesInUseBase 4 /* % Entries In Use Base (PERF_RAW_BASE) */
#define ConnectionTracking_InvalidPacketsPerSec 5 /* Invalid Packets/sec (PERF_COUNTER_BULK_COUNT) */
#define ConnectionTracking_InsertionFailuresPerSec 6 /* Insertion Failures/sec (PERF_COUNTER_BULK_COUNT) */
#define ConnectionTracking_DropsPerSec 7 /* Drops/sec (PERF_COUNTER_BULK_COUNT) */
#define ConnectionTracking_EarlyDropsPerSec 8 /* Early Drops/sec (PERF_COUNTER_BULK_COUNT) */
#define ConnectionTracking_SearchRestartsPerSec 9 /* Search Restarts/sec (PERF_COUNTER_BULK_COUNT) */

/* Container: The resources that containers, pods and systemd units use: the counters of the set Cgroup for these groups. */
#define Container_NAME TACHO_W("Container")
static const GUID ContainerGuid = { 0x62c9cc51, 0x4d85, 0x5bcd, { 0xa1, 0xf1, 0xa2, 0x36, 0x04, 0xb8, 0x9f, 0x7c } };
#define Container_PercentProcessorTime 1 /* % Processor Time (PERF_100NSEC_TIMER) */
#define Container_PercentUserTime 2 /* % User Time (PERF_100NSEC_TIMER) */
#define Container_PercentPrivilegedTime 3 /* % Privileged Time (PERF_100NSEC_TIMER) */
#define Container_PeriodsPerSec 4 /* Periods/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_ThrottledPeriodsPerSec 5 /* Throttled Periods/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_PercentThrottledTime 6 /* % Throttled Time (PERF_100NSEC_TIMER) */
#define Container_MemoryCurrentBytes 7 /* Memory Current Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_MemoryPeakBytes 8 /* Memory Peak Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_MemoryLimitBytes 9 /* Memory Limit Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_PercentMemoryLimitUsed 10 /* % Memory Limit Used (PERF_RAW_FRACTION) */
#define Container_PercentMemoryLimitUsedBase 11 /* % Memory Limit Used Base (PERF_RAW_BASE) */
#define Container_SwapCurrentBytes 12 /* Swap Current Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_MemoryLowEventsPerSec 13 /* Memory Low Events/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_MemoryHighEventsPerSec 14 /* Memory High Events/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_MemoryMaxEventsPerSec 15 /* Memory Max Events/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_OomEventsPerSec 16 /* OOM Events/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_OomKillsPerSec 17 /* OOM Kills/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_AnonymousBytes 18 /* Anonymous Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_FileBytes 19 /* File Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_KernelBytes 20 /* Kernel Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_SlabBytes 21 /* Slab Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_PageFaultsPerSec 22 /* Page Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_MajorPageFaultsPerSec 23 /* Major Page Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_ReadBytesPerSec 24 /* Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_WriteBytesPerSec 25 /* Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_DiscardBytesPerSec 26 /* Discard Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_ReadOperationsPerSec 27 /* Read Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_WriteOperationsPerSec 28 /* Write Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_DiscardOperationsPerSec 29 /* Discard Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Container_Tasks 30 /* Tasks (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_TaskLimit 31 /* Task Limit (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Container_PercentCpuSomeStallTime 32 /* % CPU Some Stall Time (PERF_100NSEC_TIMER) */
#define Container_PercentCpuFullStallTime 33 /* % CPU Full Stall Time (PERF_100NSEC_TIMER) */
#define Container_PercentMemorySomeStallTime 34 /* % Memory Some Stall Time (PERF_100NSEC_TIMER) */
#define Container_PercentMemoryFullStallTime 35 /* % Memory Full Stall Time (PERF_100NSEC_TIMER) */
#define Container_PercentIoSomeStallTime 36 /* % IO Some Stall Time (PERF_100NSEC_TIMER) */
#define Container_PercentIoFullStallTime 37 /* % IO Full Stall Time (PERF_100NSEC_TIMER) */

/* Current Sensor: Electric currents, as their drivers report them (hwmon). */
#define CurrentSensor_NAME TACHO_W("Current Sensor")
static const GUID CurrentSensorGuid = { 0xb156d976, 0x2047, 0x528e, { 0xa1, 0xad, 0x22, 0xe4, 0xee, 0xa5, 0x31, 0x71 } };
#define CurrentSensor_Current 1 /* Current (PERF_COUNTER_LARGE_RAWCOUNT) */
#define CurrentSensor_MaximumCurrent 4 /* Maximum Current (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Energy Meter: The power of processors, their parts and the memory, which the hardware measures or estimates (RAPL). */
#define EnergyMeter_NAME TACHO_W("Energy Meter")
static const GUID EnergyMeterGuid = { 0xacb1e715, 0x57ac, 0x5887, { 0x85, 0x3d, 0x10, 0x06, 0x03, 0x4c, 0xdb, 0x08 } };
#define EnergyMeter_Power 1 /* Power (PERF_COUNTER_BULK_COUNT) */
#define EnergyMeter_Energy 2 /* Energy (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Fan: Speeds of fans, as their drivers report them (hwmon). */
#define Fan_NAME TACHO_W("Fan")
static const GUID FanGuid = { 0x20dffbaa, 0x4e01, 0x52cc, { 0xb8, 0xe1, 0xe9, 0xa6, 0x23, 0xc3, 0xcd, 0x96 } };
#define Fan_Speed 1 /* Speed (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Fan_MinimumSpeed 3 /* Minimum Speed (PERF_COUNTER_LARGE_RAWCOUNT) */

/* File System: Size, space and inodes of mounted file systems: on devices (ext4, xfs, btrfs, zfs), in memory (tmpfs), layered on others (overlay), read-only images (squashfs, iso9660), on other machines (nfs, cifs) and provided by processes (fuse). */
#define FileSystem_NAME TACHO_W("File System")
static const GUID FileSystemGuid = { 0xd70264cb, 0xddb8, 0x5bd4, { 0xa2, 0xd4, 0xd4, 0xf5, 0x34, 0x5a, 0xc8, 0x03 } };
#define FileSystem_SizeBytes 1 /* Size Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define FileSystem_UsedBytes 2 /* Used Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define FileSystem_FreeBytes 3 /* Free Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define FileSystem_AvailableBytes 4 /* Available Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define FileSystem_PercentUsedSpace 5 /* % Used Space (PERF_RAW_FRACTION) */
#define FileSystem_Inodes 6 /* Inodes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define FileSystem_UsedInodes 7 /* Used Inodes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define FileSystem_FreeInodes 8 /* Free Inodes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define FileSystem_PercentUsedInodes 9 /* % Used Inodes (PERF_RAW_FRACTION) */
#define FileSystem_ReadOnly 10 /* Read Only (PERF_COUNTER_RAWCOUNT) */
#define FileSystem_PercentUsedSpaceBase 20 /* % Used Space Base (PERF_RAW_BASE) */
#define FileSystem_PercentUsedInodesBase 21 /* % Used Inodes Base (PERF_RAW_BASE) */

/* GPU Adapter: The load of graphics cards by all processes, as their drivers measure it. */
#define GpuAdapter_NAME TACHO_W("GPU Adapter")
static const GUID GpuAdapterGuid = { 0xfdc8c10b, 0x49d7, 0x5ca8, { 0xac, 0x43, 0x3d, 0xd6, 0xf3, 0xee, 0xf2, 0x7d } };
#define GpuAdapter_PercentBusy 1 /* % Busy (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuAdapter_PercentMemoryBusy 2 /* % Memory Busy (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuAdapter_Temperature 3 /* Temperature (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuAdapter_Power 4 /* Power (PERF_COUNTER_LARGE_RAWCOUNT) */

/* GPU Adapter Memory: The memory of graphics cards that is in use. */
#define GpuAdapterMemory_NAME TACHO_W("GPU Adapter Memory")
static const GUID GpuAdapterMemoryGuid = { 0xf7bbc97f, 0xd575, 0x5c05, { 0x9a, 0x85, 0x93, 0x62, 0x47, 0xce, 0x7e, 0xe8 } };
#define GpuAdapterMemory_DedicatedUsage 1 /* Dedicated Usage (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuAdapterMemory_SharedUsage 2 /* Shared Usage (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuAdapterMemory_TotalCommitted 3 /* Total Committed (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuAdapterMemory_DedicatedLimit 4 /* Dedicated Limit (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuAdapterMemory_SharedLimit 5 /* Shared Limit (PERF_COUNTER_LARGE_RAWCOUNT) */

/* GPU Engine: How much each process uses the engines of the graphics processors. Reading processes of other users requires privileges. */
#define GpuEngine_NAME TACHO_W("GPU Engine")
static const GUID GpuEngineGuid = { 0x0f3cfb40, 0x9d09, 0x532f, { 0xad, 0x8f, 0x4b, 0xdc, 0x73, 0x4b, 0x6b, 0x48 } };
#define GpuEngine_UtilizationPercentage 1 /* Utilization Percentage (PERF_100NSEC_TIMER) */
#define GpuEngine_RunningTime 2 /* Running Time (PERF_COUNTER_LARGE_RAWCOUNT) */

/* GPU Process Memory: The graphics memory of each process. Reading processes of other users requires privileges. */
#define GpuProcessMemory_NAME TACHO_W("GPU Process Memory")
static const GUID GpuProcessMemoryGuid = { 0x9e55e6ee, 0xe328, 0x5e52, { 0x9c, 0xcb, 0x7a, 0xac, 0x31, 0x8c, 0x79, 0xf5 } };
#define GpuProcessMemory_DedicatedUsage 1 /* Dedicated Usage (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuProcessMemory_SharedUsage 2 /* Shared Usage (PERF_COUNTER_LARGE_RAWCOUNT) */
#define GpuProcessMemory_TotalCommitted 3 /* Total Committed (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Huge Page: Huge pages that the administrator reserved (hugetlbfs), by size. Transparent huge pages are not included. */
#define HugePage_NAME TACHO_W("Huge Page")
static const GUID HugePageGuid = { 0xe768eb8d, 0xcdbf, 0x56c3, { 0x83, 0x26, 0xc9, 0x3f, 0x08, 0x3a, 0xab, 0x21 } };
#define HugePage_Pages 1 /* Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define HugePage_TotalBytes 2 /* Total Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define HugePage_FreePages 3 /* Free Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define HugePage_FreeBytes 4 /* Free Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define HugePage_ReservedPages 5 /* Reserved Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define HugePage_SurplusPages 6 /* Surplus Pages (PERF_COUNTER_LARGE_RAWCOUNT) */

/* ICMP: ICMP messages over IPv4 in this network namespace. */
#define Icmp_NAME TACHO_W("ICMP")
static const GUID IcmpGuid = { 0x6f652f52, 0x1e32, 0x50ce, { 0xbe, 0x0e, 0x68, 0xee, 0x4b, 0x94, 0xb2, 0xfc } };
#define Icmp_MessagesPerSec 1 /* Messages/sec (PERF_COUNTER_COUNTER) */
#define Icmp_MessagesReceivedPerSec 2 /* Messages Received/sec (PERF_COUNTER_COUNTER) */
#define Icmp_MessagesReceivedErrors 3 /* Messages Received Errors (PERF_COUNTER_RAWCOUNT) */
#define Icmp_ReceivedDestUnreachable 4 /* Received Dest. Unreachable (PERF_COUNTER_RAWCOUNT) */
#define Icmp_ReceivedTimeExceeded 5 /* Received Time Exceeded (PERF_COUNTER_RAWCOUNT) */
#define Icmp_ReceivedParameterProblem 6 /* Received Parameter Problem (PERF_COUNTER_RAWCOUNT) */
#define Icmp_ReceivedSourceQuench 7 /* Received Source Quench (PERF_COUNTER_RAWCOUNT) */
#define Icmp_ReceivedRedirectPerSec 8 /* Received Redirect/sec (PERF_COUNTER_COUNTER) */
#define Icmp_ReceivedEchoPerSec 9 /* Received Echo/sec (PERF_COUNTER_COUNTER) */
#define Icmp_ReceivedEchoReplyPerSec 10 /* Received Echo Reply/sec (PERF_COUNTER_COUNTER) */
#define Icmp_ReceivedTimestampPerSec 11 /* Received Timestamp/sec (PERF_COUNTER_COUNTER) */
#define Icmp_ReceivedTimestampReplyPerSec 12 /* Received Timestamp Reply/sec (PERF_COUNTER_COUNTER) */
#define Icmp_ReceivedAddressMask 13 /* Received Address Mask (PERF_COUNTER_RAWCOUNT) */
#define Icmp_ReceivedAddressMaskReply 14 /* Received Address Mask Reply (PERF_COUNTER_RAWCOUNT) */
#define Icmp_MessagesSentPerSec 15 /* Messages Sent/sec (PERF_COUNTER_COUNTER) */
#define Icmp_MessagesOutboundErrors 16 /* Messages Outbound Errors (PERF_COUNTER_RAWCOUNT) */
#define Icmp_SentDestinationUnreachable 17 /* Sent Destination Unreachable (PERF_COUNTER_RAWCOUNT) */
#define Icmp_SentTimeExceeded 18 /* Sent Time Exceeded (PERF_COUNTER_RAWCOUNT) */
#define Icmp_SentParameterProblem 19 /* Sent Parameter Problem (PERF_COUNTER_RAWCOUNT) */
#define Icmp_SentSourceQuench 20 /* Sent Source Quench (PERF_COUNTER_RAWCOUNT) */
#define Icmp_SentRedirectPerSec 21 /* Sent Redirect/sec (PERF_COUNTER_COUNTER) */
#define Icmp_SentEchoPerSec 22 /* Sent Echo/sec (PERF_COUNTER_COUNTER) */
#define Icmp_SentEchoReplyPerSec 23 /* Sent Echo Reply/sec (PERF_COUNTER_COUNTER) */
#define Icmp_SentTimestampPerSec 24 /* Sent Timestamp/sec (PERF_COUNTER_COUNTER) */
#define Icmp_SentTimestampReplyPerSec 25 /* Sent Timestamp Reply/sec (PERF_COUNTER_COUNTER) */
#define Icmp_SentAddressMask 26 /* Sent Address Mask (PERF_COUNTER_RAWCOUNT) */
#define Icmp_SentAddressMaskReply 27 /* Sent Address Mask Reply (PERF_COUNTER_RAWCOUNT) */

/* ICMPv6: ICMP messages over IPv6 in this network namespace. */
#define IcmPv6_NAME TACHO_W("ICMPv6")
static const GUID IcmPv6Guid = { 0x5a5a99d3, 0x7f13, 0x5e7e, { 0x99, 0x88, 0x92, 0xa1, 0x55, 0x2e, 0xe3, 0xee } };
#define IcmPv6_MessagesPerSec 1 /* Messages/sec (PERF_COUNTER_COUNTER) */
#define IcmPv6_MessagesReceivedPerSec 2 /* Messages Received/sec (PERF_COUNTER_COUNTER) */
#define IcmPv6_MessagesReceivedErrors 3 /* Messages Received Errors (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedDestUnreachable 4 /* Received Dest. Unreachable (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedPacketTooBig 5 /* Received Packet Too Big (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedTimeExceeded 6 /* Received Time Exceeded (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedParameterProblem 7 /* Received Parameter Problem (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedEchoPerSec 8 /* Received Echo/sec (PERF_COUNTER_COUNTER) */
#define IcmPv6_ReceivedEchoReplyPerSec 9 /* Received Echo Reply/sec (PERF_COUNTER_COUNTER) */
#define IcmPv6_ReceivedMembershipQuery 10 /* Received Membership Query (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedMembershipReport 11 /* Received Membership Report (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedMembershipReduction 12 /* Received Membership Reduction (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedRouterSolicit 13 /* Received Router Solicit (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedRouterAdvert 14 /* Received Router Advert (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedNeighborSolicit 15 /* Received Neighbor Solicit (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedNeighborAdvert 16 /* Received Neighbor Advert (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_ReceivedRedirectPerSec 17 /* Received Redirect/sec (PERF_COUNTER_COUNTER) */
#define IcmPv6_MessagesSentPerSec 18 /* Messages Sent/sec (PERF_COUNTER_COUNTER) */
#define IcmPv6_MessagesOutboundErrors 19 /* Messages Outbound Errors (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentDestinationUnreachable 20 /* Sent Destination Unreachable (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentPacketTooBig 21 /* Sent Packet Too Big (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentTimeExceeded 22 /* Sent Time Exceeded (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentParameterProblem 23 /* Sent Parameter Problem (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentEchoPerSec 24 /* Sent Echo/sec (PERF_COUNTER_COUNTER) */
#define IcmPv6_SentEchoReplyPerSec 25 /* Sent Echo Reply/sec (PERF_COUNTER_COUNTER) */
#define IcmPv6_SentMembershipQuery 26 /* Sent Membership Query (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentMembershipReport 27 /* Sent Membership Report (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentMembershipReduction 28 /* Sent Membership Reduction (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentRouterSolicit 29 /* Sent Router Solicit (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentRouterAdvert 30 /* Sent Router Advert (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentNeighborSolicit 31 /* Sent Neighbor Solicit (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentNeighborAdvert 32 /* Sent Neighbor Advert (PERF_COUNTER_RAWCOUNT) */
#define IcmPv6_SentRedirectPerSec 33 /* Sent Redirect/sec (PERF_COUNTER_COUNTER) */

/* IPv4: IPv4 datagrams in this network namespace. */
#define IPv4_NAME TACHO_W("IPv4")
static const GUID IPv4Guid = { 0xfdb3fb83, 0x1a1c, 0x5190, { 0xbf, 0x2b, 0x35, 0xc9, 0xf9, 0xf8, 0x8f, 0x18 } };
#define IPv4_DatagramsPerSec 1 /* Datagrams/sec (PERF_COUNTER_COUNTER) */
#define IPv4_DatagramsReceivedPerSec 2 /* Datagrams Received/sec (PERF_COUNTER_COUNTER) */
#define IPv4_DatagramsReceivedHeaderErrors 3 /* Datagrams Received Header Errors (PERF_COUNTER_RAWCOUNT) */
#define IPv4_DatagramsReceivedAddressErrors 4 /* Datagrams Received Address Errors (PERF_COUNTER_RAWCOUNT) */
#define IPv4_DatagramsForwardedPerSec 5 /* Datagrams Forwarded/sec (PERF_COUNTER_COUNTER) */
#define IPv4_DatagramsReceivedUnknownProtocol 6 /* Datagrams Received Unknown Protocol (PERF_COUNTER_RAWCOUNT) */
#define IPv4_DatagramsReceivedDiscarded 7 /* Datagrams Received Discarded (PERF_COUNTER_RAWCOUNT) */
#define IPv4_DatagramsReceivedDeliveredPerSec 8 /* Datagrams Received Delivered/sec (PERF_COUNTER_COUNTER) */
#define IPv4_DatagramsSentPerSec 9 /* Datagrams Sent/sec (PERF_COUNTER_COUNTER) */
#define IPv4_DatagramsOutboundDiscarded 10 /* Datagrams Outbound Discarded (PERF_COUNTER_RAWCOUNT) */
#define IPv4_DatagramsOutboundNoRoute 11 /* Datagrams Outbound No Route (PERF_COUNTER_RAWCOUNT) */
#define IPv4_FragmentsReceivedPerSec 12 /* Fragments Received/sec (PERF_COUNTER_COUNTER) */
#define IPv4_FragmentsReAssembledPerSec 13 /* Fragments Re-assembled/sec (PERF_COUNTER_COUNTER) */
#define IPv4_FragmentReAssemblyFailures 14 /* Fragment Re-assembly Failures (PERF_COUNTER_RAWCOUNT) */
#define IPv4_FragmentedDatagramsPerSec 15 /* Fragmented Datagrams/sec (PERF_COUNTER_COUNTER) */
#define IPv4_FragmentationFailures 16 /* Fragmentation Failures (PERF_COUNTER_RAWCOUNT) */
#define IPv4_FragmentsCreatedPerSec 17 /* Fragments Created/sec (PERF_COUNTER_COUNTER) */
#define IPv4_BytesReceivedPerSec 18 /* Bytes Received/sec (PERF_COUNTER_BULK_COUNT) */
#define IPv4_BytesSentPerSec 19 /* Bytes Sent/sec (PERF_COUNTER_BULK_COUNT) */
#define IPv4_MulticastDatagramsReceivedPerSec 20 /* Multicast Datagrams Received/sec (PERF_COUNTER_COUNTER) */
#define IPv4_MulticastDatagramsSentPerSec 21 /* Multicast Datagrams Sent/sec (PERF_COUNTER_COUNTER) */

/* IPv6: IPv6 datagrams in this network namespace. */
#define IPv6_NAME TACHO_W("IPv6")
static const GUID IPv6Guid = { 0xa67160bc, 0xb362, 0x5845, { 0xab, 0x05, 0x20, 0x6d, 0x21, 0xee, 0x4b, 0xe1 } };
#define IPv6_DatagramsPerSec 1 /* Datagrams/sec (PERF_COUNTER_COUNTER) */
#define IPv6_DatagramsReceivedPerSec 2 /* Datagrams Received/sec (PERF_COUNTER_COUNTER) */
#define IPv6_DatagramsReceivedHeaderErrors 3 /* Datagrams Received Header Errors (PERF_COUNTER_RAWCOUNT) */
#define IPv6_DatagramsReceivedAddressErrors 4 /* Datagrams Received Address Errors (PERF_COUNTER_RAWCOUNT) */
#define IPv6_DatagramsForwardedPerSec 5 /* Datagrams Forwarded/sec (PERF_COUNTER_COUNTER) */
#define IPv6_DatagramsReceivedUnknownProtocol 6 /* Datagrams Received Unknown Protocol (PERF_COUNTER_RAWCOUNT) */
#define IPv6_DatagramsReceivedDiscarded 7 /* Datagrams Received Discarded (PERF_COUNTER_RAWCOUNT) */
#define IPv6_DatagramsReceivedDeliveredPerSec 8 /* Datagrams Received Delivered/sec (PERF_COUNTER_COUNTER) */
#define IPv6_DatagramsSentPerSec 9 /* Datagrams Sent/sec (PERF_COUNTER_COUNTER) */
#define IPv6_DatagramsOutboundDiscarded 10 /* Datagrams Outbound Discarded (PERF_COUNTER_RAWCOUNT) */
#define IPv6_DatagramsOutboundNoRoute 11 /* Datagrams Outbound No Route (PERF_COUNTER_RAWCOUNT) */
#define IPv6_FragmentsReceivedPerSec 12 /* Fragments Received/sec (PERF_COUNTER_COUNTER) */
#define IPv6_FragmentsReAssembledPerSec 13 /* Fragments Re-assembled/sec (PERF_COUNTER_COUNTER) */
#define IPv6_FragmentReAssemblyFailures 14 /* Fragment Re-assembly Failures (PERF_COUNTER_RAWCOUNT) */
#define IPv6_FragmentedDatagramsPerSec 15 /* Fragmented Datagrams/sec (PERF_COUNTER_COUNTER) */
#define IPv6_FragmentationFailures 16 /* Fragmentation Failures (PERF_COUNTER_RAWCOUNT) */
#define IPv6_FragmentsCreatedPerSec 17 /* Fragments Created/sec (PERF_COUNTER_COUNTER) */
#define IPv6_BytesReceivedPerSec 18 /* Bytes Received/sec (PERF_COUNTER_BULK_COUNT) */
#define IPv6_BytesSentPerSec 19 /* Bytes Sent/sec (PERF_COUNTER_BULK_COUNT) */
#define IPv6_MulticastDatagramsReceivedPerSec 20 /* Multicast Datagrams Received/sec (PERF_COUNTER_COUNTER) */
#define IPv6_MulticastDatagramsSentPerSec 21 /* Multicast Datagrams Sent/sec (PERF_COUNTER_COUNTER) */

/* Interrupt: Interrupts by line, summed over all processors. */
#define Interrupt_NAME TACHO_W("Interrupt")
static const GUID InterruptGuid = { 0x311425d6, 0x4071, 0x5f89, { 0xaa, 0x73, 0x1a, 0x14, 0xd1, 0x29, 0x6b, 0x0b } };
#define Interrupt_InterruptsPerSec 1 /* Interrupts/sec (PERF_COUNTER_BULK_COUNT) */

/* Kernel Samepage Merging: Pages with equal content that the kernel has merged (KSM), usually of virtual machines. */
#define KernelSamepageMerging_NAME TACHO_W("Kernel Samepage Merging")
static const GUID KernelSamepageMergingGuid = { 0xf6ff7cba, 0x7132, 0x5d69, { 0x98, 0x8a, 0x5e, 0xe8, 0x58, 0xa4, 0xa6, 0x93 } };
#define KernelSamepageMerging_SharedPages 1 /* Shared Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define KernelSamepageMerging_SharingPages 2 /* Sharing Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define KernelSamepageMerging_SavedBytes 3 /* Saved Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define KernelSamepageMerging_UnsharedPages 4 /* Unshared Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define KernelSamepageMerging_VolatilePages 5 /* Volatile Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define KernelSamepageMerging_ZeroPages 6 /* Zero Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define KernelSamepageMerging_FullScansPerSec 7 /* Full Scans/sec (PERF_COUNTER_BULK_COUNT) */
#define KernelSamepageMerging_Running 8 /* Running (PERF_COUNTER_RAWCOUNT) */

/* LogicalDisk: Space of mounted file systems that hold data, and input and output of their devices. */
#define LogicalDisk_NAME TACHO_W("LogicalDisk")
static const GUID LogicalDiskGuid = { 0x1e329d16, 0xc11d, 0x5ee7, { 0xa7, 0xd9, 0xa8, 0x26, 0x8f, 0x48, 0xef, 0xf6 } };
#define LogicalDisk_PercentFreeSpace 30 /* % Free Space (PERF_RAW_FRACTION) */
#define LogicalDisk_FreeMegabytes 31 /* Free Megabytes (PERF_COUNTER_RAWCOUNT) */
#define LogicalDisk_PercentFreeSpaceBase 46 /* % Free Space Base (PERF_RAW_BASE) */
#define LogicalDisk_CurrentDiskQueueLength 1 /* Current Disk Queue Length (PERF_COUNTER_RAWCOUNT) */
#define LogicalDisk_PercentDiskTime 2 /* % Disk Time (PERF_PRECISION_100NS_TIMER) */
#define LogicalDisk_PercentDiskReadTime 3 /* % Disk Read Time (PERF_PRECISION_100NS_TIMER) */
#define LogicalDisk_PercentDiskWriteTime 4 /* % Disk Write Time (PERF_PRECISION_100NS_TIMER) */
#define LogicalDisk_AvgDiskQueueLength 5 /* Avg. Disk Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define LogicalDisk_AvgDiskReadQueueLength 6 /* Avg. Disk Read Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define LogicalDisk_AvgDiskWriteQueueLength 7 /* Avg. Disk Write Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define LogicalDisk_AvgDiskSecPerTransfer 8 /* Avg. Disk sec/Transfer (PERF_AVERAGE_TIMER) */
#define LogicalDisk_AvgDiskSecPerRead 9 /* Avg. Disk sec/Read (PERF_AVERAGE_TIMER) */
#define LogicalDisk_AvgDiskSecPerWrite 10 /* Avg. Disk sec/Write (PERF_AVERAGE_TIMER) */
#define LogicalDisk_DiskTransfersPerSec 11 /* Disk Transfers/sec (PERF_COUNTER_COUNTER) */
#define LogicalDisk_DiskReadsPerSec 12 /* Disk Reads/sec (PERF_COUNTER_COUNTER) */
#define LogicalDisk_DiskWritesPerSec 13 /* Disk Writes/sec (PERF_COUNTER_COUNTER) */
#define LogicalDisk_DiskBytesPerSec 14 /* Disk Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define LogicalDisk_DiskReadBytesPerSec 15 /* Disk Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define LogicalDisk_DiskWriteBytesPerSec 16 /* Disk Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define LogicalDisk_AvgDiskBytesPerTransfer 17 /* Avg. Disk Bytes/Transfer (PERF_AVERAGE_BULK) */
#define LogicalDisk_AvgDiskBytesPerRead 18 /* Avg. Disk Bytes/Read (PERF_AVERAGE_BULK) */
#define LogicalDisk_AvgDiskBytesPerWrite 19 /* Avg. Disk Bytes/Write (PERF_AVERAGE_BULK) */
#define LogicalDisk_PercentIdleTime 20 /* % Idle Time (PERF_PRECISION_100NS_TIMER) */
#define LogicalDisk_MergedReadsPerSec 21 /* Merged Reads/sec (PERF_COUNTER_COUNTER) */
#define LogicalDisk_MergedWritesPerSec 22 /* Merged Writes/sec (PERF_COUNTER_COUNTER) */
#define LogicalDisk_DiskDiscardsPerSec 23 /* Disk Discards/sec (PERF_COUNTER_COUNTER) */
#define LogicalDisk_MergedDiscardsPerSec 24 /* Merged Discards/sec (PERF_COUNTER_COUNTER) */
#define LogicalDisk_DiskDiscardBytesPerSec 25 /* Disk Discard Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define LogicalDisk_AvgDiskSecPerDiscard 26 /* Avg. Disk sec/Discard (PERF_AVERAGE_TIMER) */
#define LogicalDisk_DiskFlushesPerSec 27 /* Disk Flushes/sec (PERF_COUNTER_COUNTER) */
#define LogicalDisk_AvgDiskSecPerFlush 28 /* Avg. Disk sec/Flush (PERF_AVERAGE_TIMER) */
#define LogicalDisk_DiskTimeBase 40 /* Disk Time Base (PERF_LARGE_RAW_BASE) */
#define LogicalDisk_DiskTransfersBase 41 /* Disk Transfers Base (PERF_AVERAGE_BASE) */
#define LogicalDisk_DiskReadsBase 42 /* Disk Reads Base (PERF_AVERAGE_BASE) */
#define LogicalDisk_DiskWritesBase 43 /* Disk Writes Base (PERF_AVERAGE_BASE) */
#define LogicalDisk_DiskDiscardsBase 44 /* Disk Discards Base (PERF_AVERAGE_BASE) */
#define LogicalDisk_DiskFlushesBase 45 /* Disk Flushes Base (PERF_AVERAGE_BASE) */

/* Memory: The machine's memory as a whole: free memory, committed memory, and paging. */
#define Memory_NAME TACHO_W("Memory")
static const GUID MemoryGuid = { 0xf4de74fe, 0x0368, 0x5a9d, { 0x9e, 0x6f, 0xc5, 0xf2, 0x48, 0x7d, 0xeb, 0x47 } };
#define Memory_AvailableBytes 1 /* Available Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_AvailableKBytes 2 /* Available KBytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_AvailableMBytes 3 /* Available MBytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_CommittedBytes 4 /* Committed Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_CommitLimit 5 /* Commit Limit (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_PercentCommittedBytesInUse 6 /* % Committed Bytes In Use (PERF_RAW_FRACTION) */
#define Memory_PercentCommittedBytesInUseBase 7 /* % Committed Bytes In Use Base (PERF_RAW_BASE) */
#define Memory_PageFaultsPerSec 8 /* Page Faults/sec (PERF_COUNTER_COUNTER) */
#define Memory_PagesPerSec 9 /* Pages/sec (PERF_COUNTER_COUNTER) */
#define Memory_PagesInputPerSec 10 /* Pages Input/sec (PERF_COUNTER_COUNTER) */
#define Memory_PageReadsPerSec 11 /* Page Reads/sec (PERF_COUNTER_COUNTER) */
#define Memory_PagesOutputPerSec 12 /* Pages Output/sec (PERF_COUNTER_COUNTER) */
#define Memory_TransitionPagesRePurposedPerSec 13 /* Transition Pages RePurposed/sec (PERF_COUNTER_COUNTER) */
#define Memory_PoolPagedBytes 14 /* Pool Paged Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_PoolPagedResidentBytes 15 /* Pool Paged Resident Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_PoolNonpagedBytes 16 /* Pool Nonpaged Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_CacheBytes 17 /* Cache Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_SystemCacheResidentBytes 18 /* System Cache Resident Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_FreeZeroPageListBytes 19 /* Free & Zero Page List Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_ModifiedPageListBytes 20 /* Modified Page List Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_TotalBytes 21 /* Total Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_UsedBytes 22 /* Used Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_SharedBytes 23 /* Shared Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_AnonymousBytes 24 /* Anonymous Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_MappedBytes 25 /* Mapped Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_ActiveBytes 26 /* Active Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_InactiveBytes 27 /* Inactive Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_PageTableBytes 28 /* Page Table Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_KernelStackBytes 29 /* Kernel Stack Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_LockedBytes 30 /* Locked Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_VmallocUsedBytes 31 /* Vmalloc Used Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_PerProcessorBytes 32 /* Per-Processor Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_AnonymousHugePageBytes 33 /* Anonymous Huge Page Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_SwapTotalBytes 34 /* Swap Total Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_SwapUsedBytes 35 /* Swap Used Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_SwapCachedBytes 36 /* Swap Cached Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_ZswapPoolBytes 37 /* Zswap Pool Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_ZswapStoredBytes 38 /* Zswap Stored Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Memory_PercentZswapCompressedSize 39 /* % Zswap Compressed Size (PERF_RAW_FRACTION) */
#define Memory_PercentZswapCompressedSizeBase 40 /* % Zswap Compressed Size Base (PERF_RAW_BASE) */

/* NFS Mount: The operations of mounted NFS file systems: their number, times and retransmissions. */
#define NfsMount_NAME TACHO_W("NFS Mount")
static const GUID NfsMountGuid = { 0x12687fd4, 0xf3e7, 0x500d, { 0x95, 0x48, 0x8f, 0x52, 0x21, 0xcc, 0xc1, 0x1e } };
#define NfsMount_OperationsPerSec 1 /* Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_RetransmissionsPerSec 2 /* Retransmissions/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_TimeoutsPerSec 3 /* Timeouts/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_ReadsPerSec 10 /* Reads/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_ReadBytesPerSec 11 /* Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_AvgSecPerRead 12 /* Avg. sec/Read (PERF_AVERAGE_TIMER) */
#define NfsMount_AvgRoundTripSecPerRead 13 /* Avg. Round Trip sec/Read (PERF_AVERAGE_TIMER) */
#define NfsMount_AvgQueueSecPerRead 14 /* Avg. Queue sec/Read (PERF_AVERAGE_TIMER) */
#define NfsMount_ReadRetransmissionsPerSec 15 /* Read Retransmissions/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_ReadErrorsPerSec 16 /* Read Errors/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_WritesPerSec 20 /* Writes/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_WriteBytesPerSec 21 /* Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_AvgSecPerWrite 22 /* Avg. sec/Write (PERF_AVERAGE_TIMER) */
#define NfsMount_AvgRoundTripSecPerWrite 23 /* Avg. Round Trip sec/Write (PERF_AVERAGE_TIMER) */
#define NfsMount_AvgQueueSecPerWrite 24 /* Avg. Queue sec/Write (PERF_AVERAGE_TIMER) */
#define NfsMount_WriteRetransmissionsPerSec 25 /* Write Retransmissions/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_WriteErrorsPerSec 26 /* Write Errors/sec (PERF_COUNTER_BULK_COUNT) */
#define NfsMount_ReadsBase 30 /* Reads Base (PERF_AVERAGE_BASE) */
#define NfsMount_WritesBase 31 /* Writes Base (PERF_AVERAGE_BASE) */

/* NUMA Node Memory: Memory by NUMA node, and how many allocations came from the preferred node. */
#define NumaNodeMemory_NAME TACHO_W("NUMA Node Memory")
static const GUID NumaNodeMemoryGuid = { 0xc29d68a3, 0xe552, 0x5be6, { 0xb6, 0x09, 0xcc, 0x65, 0x09, 0xc6, 0xf9, 0xcf } };
#define NumaNodeMemory_TotalMBytes 1 /* Total MBytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NumaNodeMemory_FreeZeroPageListMBytes 2 /* Free & Zero Page List MBytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NumaNodeMemory_StandbyListMBytes 3 /* Standby List MBytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NumaNodeMemory_ModifiedPageListMBytes 4 /* Modified Page List MBytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NumaNodeMemory_AvailableMBytes 5 /* Available MBytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NumaNodeMemory_HitsPerSec 6 /* Hits/sec (PERF_COUNTER_BULK_COUNT) */
#define NumaNodeMemory_MissesPerSec 7 /* Misses/sec (PERF_COUNTER_BULK_COUNT) */
#define NumaNodeMemory_ForeignPerSec 8 /* Foreign/sec (PERF_COUNTER_BULK_COUNT) */
#define NumaNodeMemory_InterleaveHitsPerSec 9 /* Interleave Hits/sec (PERF_COUNTER_BULK_COUNT) */
#define NumaNodeMemory_LocalAllocationsPerSec 10 /* Local Allocations/sec (PERF_COUNTER_BULK_COUNT) */
#define NumaNodeMemory_RemoteAllocationsPerSec 11 /* Remote Allocations/sec (PERF_COUNTER_BULK_COUNT) */

/* Neighbor Cache: Hardware addresses of network neighbors, found by ARP and neighbor discovery, on the whole machine. */
#define NeighborCache_NAME TACHO_W("Neighbor Cache")
static const GUID NeighborCacheGuid = { 0x5b6ca61f, 0x95b0, 0x59bf, { 0xb1, 0x8c, 0x0f, 0x93, 0xb0, 0xdd, 0xb1, 0x52 } };
#define NeighborCache_Entries 1 /* Entries (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NeighborCache_LookupsPerSec 5 /* Lookups/sec (PERF_COUNTER_BULK_COUNT) */
#define NeighborCache_HitsPerSec 6 /* Hits/sec (PERF_COUNTER_BULK_COUNT) */
#define NeighborCache_ResolutionFailuresPerSec 7 /* Resolution Failures/sec (PERF_COUNTER_BULK_COUNT) */
#define NeighborCache_UnresolvedDiscardsPerSec 8 /* Unresolved Discards/sec (PERF_COUNTER_BULK_COUNT) */
#define NeighborCache_TableOverflowsPerSec 9 /* Table Overflows/sec (PERF_COUNTER_BULK_COUNT) */
#define NeighborCache_ForcedCollectionsPerSec 10 /* Forced Collections/sec (PERF_COUNTER_BULK_COUNT) */

/* Network Interface: Bytes and packets of the network interfaces of this network namespace. */
#define NetworkInterface_NAME TACHO_W("Network Interface")
static const GUID NetworkInterfaceGuid = { 0xfe745151, 0xe7b2, 0x5bfb, { 0x9e, 0xc2, 0x12, 0x25, 0xf4, 0xd8, 0x86, 0xe5 } };
#define NetworkInterface_BytesTotalPerSec 1 /* Bytes Total/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsPerSec 2 /* Packets/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsReceivedPerSec 3 /* Packets Received/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsSentPerSec 4 /* Packets Sent/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_CurrentBandwidth 5 /* Current Bandwidth (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_BytesReceivedPerSec 6 /* Bytes Received/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsReceivedNonUnicastPerSec 7 /* Packets Received Non-Unicast/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsReceivedDiscarded 8 /* Packets Received Discarded (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_PacketsReceivedErrors 9 /* Packets Received Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_BytesSentPerSec 10 /* Bytes Sent/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsOutboundDiscarded 11 /* Packets Outbound Discarded (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_PacketsOutboundErrors 12 /* Packets Outbound Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_PacketsReceivedFifoErrors 20 /* Packets Received FIFO Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_PacketsReceivedFrameErrors 21 /* Packets Received Frame Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_PacketsOutboundFifoErrors 22 /* Packets Outbound FIFO Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_PacketsOutboundCarrierErrors 23 /* Packets Outbound Carrier Errors (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_PacketsOutboundCollisions 24 /* Packets Outbound Collisions (PERF_COUNTER_LARGE_RAWCOUNT) */
#define NetworkInterface_PacketsReceivedCompressedPerSec 25 /* Packets Received Compressed/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsSentCompressedPerSec 26 /* Packets Sent Compressed/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsReceivedDiscardedPerSec 27 /* Packets Received Discarded/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsReceivedErrorsPerSec 28 /* Packets Received Errors/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsOutboundDiscardedPerSec 29 /* Packets Outbound Discarded/sec (PERF_COUNTER_BULK_COUNT) */
#define NetworkInterface_PacketsOutboundErrorsPerSec 30 /* Packets Outbound Errors/sec (PERF_COUNTER_BULK_COUNT) */

/* Paging Activity: Linux memory management events: reads and writes, reclaim, swap, compaction, huge pages. */
#define PagingActivity_NAME TACHO_W("Paging Activity")
static const GUID PagingActivityGuid = { 0x0ea029cf, 0x81d6, 0x57f0, { 0x84, 0x96, 0xe3, 0xd2, 0x3e, 0x1e, 0xf3, 0x5f } };
#define PagingActivity_PageInBytesPerSec 1 /* Page In Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PageOutBytesPerSec 2 /* Page Out Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_SwapInPagesPerSec 3 /* Swap In Pages/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_SwapOutPagesPerSec 4 /* Swap Out Pages/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PageFaultsPerSec 5 /* Page Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_MajorPageFaultsPerSec 6 /* Major Page Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PagesAllocatedPerSec 7 /* Pages Allocated/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PagesFreedPerSec 8 /* Pages Freed/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PagesActivatedPerSec 9 /* Pages Activated/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PagesDeactivatedPerSec 10 /* Pages Deactivated/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PagesReusedPerSec 11 /* Pages Reused/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_AllocationStallsPerSec 12 /* Allocation Stalls/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_BackgroundPagesScannedPerSec 13 /* Background Pages Scanned/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_BackgroundPagesReclaimedPerSec 14 /* Background Pages Reclaimed/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_DirectPagesScannedPerSec 15 /* Direct Pages Scanned/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_DirectPagesReclaimedPerSec 16 /* Direct Pages Reclaimed/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_ProactivePagesScannedPerSec 17 /* Proactive Pages Scanned/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_ProactivePagesReclaimedPerSec 18 /* Proactive Pages Reclaimed/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_AnonymousPagesScannedPerSec 19 /* Anonymous Pages Scanned/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_AnonymousPagesReclaimedPerSec 20 /* Anonymous Pages Reclaimed/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_FilePagesScannedPerSec 21 /* File Pages Scanned/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_FilePagesReclaimedPerSec 22 /* File Pages Reclaimed/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_BackgroundReclaimRunsPerSec 23 /* Background Reclaim Runs/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_KernelObjectsScannedPerSec 24 /* Kernel Objects Scanned/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_AnonymousRefaultsPerSec 25 /* Anonymous Refaults/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_FileRefaultsPerSec 26 /* File Refaults/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PagesDirtiedPerSec 27 /* Pages Dirtied/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PagesWrittenBackPerSec 28 /* Pages Written Back/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_ReclaimPageWritesPerSec 29 /* Reclaim Page Writes/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_SwapReadaheadPagesPerSec 30 /* Swap Readahead Pages/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_SwapReadaheadHitsPerSec 31 /* Swap Readahead Hits/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_CompressedSwapInPagesPerSec 32 /* Compressed Swap In Pages/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_CompressedSwapOutPagesPerSec 33 /* Compressed Swap Out Pages/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_CompactionStallsPerSec 34 /* Compaction Stalls/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_CompactionSuccessesPerSec 35 /* Compaction Successes/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_CompactionFailuresPerSec 36 /* Compaction Failures/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_CompactionPagesScannedPerSec 37 /* Compaction Pages Scanned/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_BackgroundCompactionWakesPerSec 38 /* Background Compaction Wakes/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PagesMigratedPerSec 39 /* Pages Migrated/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_PageMigrationFailuresPerSec 40 /* Page Migration Failures/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_NumaHintFaultsPerSec 41 /* NUMA Hint Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_NumaLocalHintFaultsPerSec 42 /* NUMA Local Hint Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_NumaPagesMigratedPerSec 43 /* NUMA Pages Migrated/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_HugePageFaultsPerSec 44 /* Huge Page Faults/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_HugePageFaultFallbacksPerSec 45 /* Huge Page Fault Fallbacks/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_HugePageCollapsesPerSec 46 /* Huge Page Collapses/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_HugePageSplitsPerSec 47 /* Huge Page Splits/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_HugePageSwapOutsPerSec 48 /* Huge Page Swap Outs/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_OomKillsPerSec 49 /* OOM Kills/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_BalloonPagesInflatedPerSec 50 /* Balloon Pages Inflated/sec (PERF_COUNTER_BULK_COUNT) */
#define PagingActivity_BalloonPagesDeflatedPerSec 51 /* Balloon Pages Deflated/sec (PERF_COUNTER_BULK_COUNT) */

/* Paging File: Swap areas: files and partitions to which memory is swapped out. */
#define PagingFile_NAME TACHO_W("Paging File")
static const GUID PagingFileGuid = { 0x1a23d47d, 0x8bd1, 0x53f3, { 0xa8, 0xb4, 0x10, 0x2a, 0x5c, 0xe5, 0x6f, 0xd9 } };
#define PagingFile_PercentUsage 1 /* % Usage (PERF_RAW_FRACTION) */
#define PagingFile_PercentUsageBase 2 /* % Usage Base (PERF_RAW_BASE) */

/* PhysicalDisk: Input and output of whole disks, as the kernel counts it for block devices. */
#define PhysicalDisk_NAME TACHO_W("PhysicalDisk")
static const GUID PhysicalDiskGuid = { 0xa34e0800, 0x6dd3, 0x57e3, { 0x8f, 0x60, 0x33, 0x71, 0xe4, 0xb0, 0x5e, 0xb0 } };
#define PhysicalDisk_CurrentDiskQueueLength 1 /* Current Disk Queue Length (PERF_COUNTER_RAWCOUNT) */
#define PhysicalDisk_PercentDiskTime 2 /* % Disk Time (PERF_PRECISION_100NS_TIMER) */
#define PhysicalDisk_PercentDiskReadTime 3 /* % Disk Read Time (PERF_PRECISION_100NS_TIMER) */
#define PhysicalDisk_PercentDiskWriteTime 4 /* % Disk Write Time (PERF_PRECISION_100NS_TIMER) */
#define PhysicalDisk_AvgDiskQueueLength 5 /* Avg. Disk Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define PhysicalDisk_AvgDiskReadQueueLength 6 /* Avg. Disk Read Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define PhysicalDisk_AvgDiskWriteQueueLength 7 /* Avg. Disk Write Queue Length (PERF_COUNTER_100NS_QUEUELEN_TYPE) */
#define PhysicalDisk_AvgDiskSecPerTransfer 8 /* Avg. Disk sec/Transfer (PERF_AVERAGE_TIMER) */
#define PhysicalDisk_AvgDiskSecPerRead 9 /* Avg. Disk sec/Read (PERF_AVERAGE_TIMER) */
#define PhysicalDisk_AvgDiskSecPerWrite 10 /* Avg. Disk sec/Write (PERF_AVERAGE_TIMER) */
#define PhysicalDisk_DiskTransfersPerSec 11 /* Disk Transfers/sec (PERF_COUNTER_COUNTER) */
#define PhysicalDisk_DiskReadsPerSec 12 /* Disk Reads/sec (PERF_COUNTER_COUNTER) */
#define PhysicalDisk_DiskWritesPerSec 13 /* Disk Writes/sec (PERF_COUNTER_COUNTER) */
#define PhysicalDisk_DiskBytesPerSec 14 /* Disk Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define PhysicalDisk_DiskReadBytesPerSec 15 /* Disk Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define PhysicalDisk_DiskWriteBytesPerSec 16 /* Disk Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define PhysicalDisk_AvgDiskBytesPerTransfer 17 /* Avg. Disk Bytes/Transfer (PERF_AVERAGE_BULK) */
#define PhysicalDisk_AvgDiskBytesPerRead 18 /* Avg. Disk Bytes/Read (PERF_AVERAGE_BULK) */
#define PhysicalDisk_AvgDiskBytesPerWrite 19 /* Avg. Disk Bytes/Write (PERF_AVERAGE_BULK) */
#define PhysicalDisk_PercentIdleTime 20 /* % Idle Time (PERF_PRECISION_100NS_TIMER) */
#define PhysicalDisk_MergedReadsPerSec 21 /* Merged Reads/sec (PERF_COUNTER_COUNTER) */
#define PhysicalDisk_MergedWritesPerSec 22 /* Merged Writes/sec (PERF_COUNTER_COUNTER) */
#define PhysicalDisk_DiskDiscardsPerSec 23 /* Disk Discards/sec (PERF_COUNTER_COUNTER) */
#define PhysicalDisk_MergedDiscardsPerSec 24 /* Merged Discards/sec (PERF_COUNTER_COUNTER) */
#define PhysicalDisk_DiskDiscardBytesPerSec 25 /* Disk Discard Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define PhysicalDisk_AvgDiskSecPerDiscard 26 /* Avg. Disk sec/Discard (PERF_AVERAGE_TIMER) */
#define PhysicalDisk_DiskFlushesPerSec 27 /* Disk Flushes/sec (PERF_COUNTER_COUNTER) */
#define PhysicalDisk_AvgDiskSecPerFlush 28 /* Avg. Disk sec/Flush (PERF_AVERAGE_TIMER) */
#define PhysicalDisk_DiskTimeBase 40 /* Disk Time Base (PERF_LARGE_RAW_BASE) */
#define PhysicalDisk_DiskTransfersBase 41 /* Disk Transfers Base (PERF_AVERAGE_BASE) */
#define PhysicalDisk_DiskReadsBase 42 /* Disk Reads Base (PERF_AVERAGE_BASE) */
#define PhysicalDisk_DiskWritesBase 43 /* Disk Writes Base (PERF_AVERAGE_BASE) */
#define PhysicalDisk_DiskDiscardsBase 44 /* Disk Discards Base (PERF_AVERAGE_BASE) */
#define PhysicalDisk_DiskFlushesBase 45 /* Disk Flushes Base (PERF_AVERAGE_BASE) */

/* Power Sensor: Electric power, as their drivers report it (hwmon): of graphics cards, power supplies, processors. */
#define PowerSensor_NAME TACHO_W("Power Sensor")
static const GUID PowerSensorGuid = { 0x444962b8, 0x19aa, 0x590b, { 0x95, 0xc8, 0x23, 0xaa, 0xbb, 0x39, 0xdd, 0x89 } };
#define PowerSensor_Power 1 /* Power (PERF_COUNTER_LARGE_RAWCOUNT) */
#define PowerSensor_PowerLimit 4 /* Power Limit (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Pressure Stall: Time that tasks lost while waiting for processors, memory, disks or interrupts (Linux PSI). */
#define PressureStall_NAME TACHO_W("Pressure Stall")
static const GUID PressureStallGuid = { 0x68882bc1, 0xb59b, 0x5377, { 0xa4, 0xff, 0xed, 0xe6, 0x26, 0xc8, 0xdc, 0x4d } };
#define PressureStall_PercentSomeStallTime 1 /* % Some Stall Time (PERF_100NSEC_TIMER) */
#define PressureStall_PercentFullStallTime 2 /* % Full Stall Time (PERF_100NSEC_TIMER) */
#define PressureStall_PercentSomeStall10SAverage 3 /* % Some Stall, 10 s Average (PERF_RAW_FRACTION) */
#define PressureStall_PercentSomeStall60SAverage 4 /* % Some Stall, 60 s Average (PERF_RAW_FRACTION) */
#define PressureStall_PercentSomeStall300SAverage 5 /* % Some Stall, 300 s Average (PERF_RAW_FRACTION) */
#define PressureStall_PercentFullStall10SAverage 6 /* % Full Stall, 10 s Average (PERF_RAW_FRACTION) */
#define PressureStall_PercentFullStall60SAverage 7 /* % Full Stall, 60 s Average (PERF_RAW_FRACTION) */
#define PressureStall_PercentFullStall300SAverage 8 /* % Full Stall, 300 s Average (PERF_RAW_FRACTION) */
#define PressureStall_PercentStallAverageBase 9 /* % Stall Average Base (PERF_RAW_BASE) */

/* Process: The resources that each process uses: processor time, memory, threads, handles, input and output. */
#define Process_NAME TACHO_W("Process")
static const GUID ProcessGuid = { 0x70d0d093, 0x9ffb, 0x520a, { 0xa3, 0x45, 0xf2, 0xf1, 0xbe, 0xef, 0xbf, 0xdc } };
#define Process_PercentProcessorTime 1 /* % Processor Time (PERF_100NSEC_TIMER) */
#define Process_PercentUserTime 2 /* % User Time (PERF_100NSEC_TIMER) */
#define Process_PercentPrivilegedTime 3 /* % Privileged Time (PERF_100NSEC_TIMER) */
#define Process_VirtualBytesPeak 4 /* Virtual Bytes Peak (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Process_VirtualBytes 5 /* Virtual Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Process_PageFaultsPerSec 6 /* Page Faults/sec (PERF_COUNTER_COUNTER) */
#define Process_WorkingSetPeak 7 /* Working Set Peak (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Process_WorkingSet 8 /* Working Set (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Process_PageFileBytes 9 /* Page File Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Process_PrivateBytes 10 /* Private Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Process_ThreadCount 11 /* Thread Count (PERF_COUNTER_RAWCOUNT) */
#define Process_PriorityBase 12 /* Priority Base (PERF_COUNTER_RAWCOUNT) */
#define Process_ElapsedTime 13 /* Elapsed Time (PERF_ELAPSED_TIME) */
#define Process_IdProcess 14 /* ID Process (PERF_COUNTER_RAWCOUNT) */
#define Process_CreatingProcessId 15 /* Creating Process ID (PERF_COUNTER_RAWCOUNT) */
#define Process_HandleCount 16 /* Handle Count (PERF_COUNTER_RAWCOUNT) */
#define Process_IoReadOperationsPerSec 17 /* IO Read Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Process_IoWriteOperationsPerSec 18 /* IO Write Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Process_IoDataOperationsPerSec 19 /* IO Data Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define Process_IoReadBytesPerSec 20 /* IO Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Process_IoWriteBytesPerSec 21 /* IO Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Process_IoDataBytesPerSec 22 /* IO Data Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Process_WorkingSetPrivate 23 /* Working Set - Private (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Process_StorageReadBytesPerSec 24 /* Storage Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Process_StorageWriteBytesPerSec 25 /* Storage Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define Process_PercentRunQueueWaitTime 28 /* % Run Queue Wait Time (PERF_100NSEC_TIMER) */
#define Process_PercentBlockIoWaitTime 29 /* % Block IO Wait Time (PERF_100NSEC_TIMER) */
#define Process_PercentSwapWaitTime 30 /* % Swap Wait Time (PERF_100NSEC_TIMER) */
#define Process_PercentMemoryReclaimWaitTime 31 /* % Memory Reclaim Wait Time (PERF_100NSEC_TIMER) */
#define Process_PercentThrashingWaitTime 32 /* % Thrashing Wait Time (PERF_100NSEC_TIMER) */
#define Process_PercentMemoryCompactionWaitTime 33 /* % Memory Compaction Wait Time (PERF_100NSEC_TIMER) */
#define Process_ElapsedTimeClock 26 /* Elapsed Time Clock (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Process_ElapsedTimeFrequency 27 /* Elapsed Time Frequency (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Process V2: The resources that each process uses, as in the set Process, with the process id in the name. */
#define ProcessV2_NAME TACHO_W("Process V2")
static const GUID ProcessV2Guid = { 0xc4ad15a8, 0x1a8a, 0x5788, { 0x89, 0x4d, 0xec, 0xa3, 0x43, 0x02, 0xdd, 0x87 } };
#define ProcessV2_PercentProcessorTime 1 /* % Processor Time (PERF_100NSEC_TIMER) */
#define ProcessV2_PercentUserTime 2 /* % User Time (PERF_100NSEC_TIMER) */
#define ProcessV2_PercentPrivilegedTime 3 /* % Privileged Time (PERF_100NSEC_TIMER) */
#define ProcessV2_VirtualBytesPeak 4 /* Virtual Bytes Peak (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ProcessV2_VirtualBytes 5 /* Virtual Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ProcessV2_PageFaultsPerSec 6 /* Page Faults/sec (PERF_COUNTER_COUNTER) */
#define ProcessV2_WorkingSetPeak 7 /* Working Set Peak (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ProcessV2_WorkingSet 8 /* Working Set (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ProcessV2_PageFileBytes 9 /* Page File Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ProcessV2_PrivateBytes 10 /* Private Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ProcessV2_ThreadCount 11 /* Thread Count (PERF_COUNTER_RAWCOUNT) */
#define ProcessV2_PriorityBase 12 /* Priority Base (PERF_COUNTER_RAWCOUNT) */
#define ProcessV2_ElapsedTime 13 /* Elapsed Time (PERF_ELAPSED_TIME) */
#define ProcessV2_ProcessId 14 /* Process ID (PERF_COUNTER_RAWCOUNT) */
#define ProcessV2_CreatingProcessId 15 /* Creating Process ID (PERF_COUNTER_RAWCOUNT) */
#define ProcessV2_HandleCount 16 /* Handle Count (PERF_COUNTER_RAWCOUNT) */
#define ProcessV2_IoReadOperationsPerSec 17 /* IO Read Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessV2_IoWriteOperationsPerSec 18 /* IO Write Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessV2_IoDataOperationsPerSec 19 /* IO Data Operations/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessV2_IoReadBytesPerSec 20 /* IO Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessV2_IoWriteBytesPerSec 21 /* IO Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessV2_IoDataBytesPerSec 22 /* IO Data Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessV2_WorkingSetPrivate 23 /* Working Set - Private (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ProcessV2_StorageReadBytesPerSec 24 /* Storage Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessV2_StorageWriteBytesPerSec 25 /* Storage Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessV2_PercentRunQueueWaitTime 28 /* % Run Queue Wait Time (PERF_100NSEC_TIMER) */
#define ProcessV2_PercentBlockIoWaitTime 29 /* % Block IO Wait Time (PERF_100NSEC_TIMER) */
#define ProcessV2_PercentSwapWaitTime 30 /* % Swap Wait Time (PERF_100NSEC_TIMER) */
#define ProcessV2_PercentMemoryReclaimWaitTime 31 /* % Memory Reclaim Wait Time (PERF_100NSEC_TIMER) */
#define ProcessV2_PercentThrashingWaitTime 32 /* % Thrashing Wait Time (PERF_100NSEC_TIMER) */
#define ProcessV2_PercentMemoryCompactionWaitTime 33 /* % Memory Compaction Wait Time (PERF_100NSEC_TIMER) */
#define ProcessV2_ElapsedTimeClock 26 /* Elapsed Time Clock (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ProcessV2_ElapsedTimeFrequency 27 /* Elapsed Time Frequency (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Processor: How busy each processor is and with what. */
#define Processor_NAME TACHO_W("Processor")
static const GUID ProcessorGuid = { 0x60168abb, 0x3630, 0x5e93, { 0x82, 0xc5, 0xfa, 0x30, 0x74, 0xbb, 0xca, 0xd0 } };
#define Processor_PercentProcessorTime 0 /* % Processor Time (PERF_100NSEC_TIMER_INV) */
#define Processor_PercentUserTime 1 /* % User Time (PERF_100NSEC_TIMER) */
#define Processor_PercentPrivilegedTime 2 /* % Privileged Time (PERF_100NSEC_TIMER) */
#define Processor_InterruptsPerSec 3 /* Interrupts/sec (PERF_COUNTER_COUNTER) */
#define Processor_PercentDpcTime 4 /* % DPC Time (PERF_100NSEC_TIMER) */
#define Processor_PercentInterruptTime 5 /* % Interrupt Time (PERF_100NSEC_TIMER) */
#define Processor_DpCsQueuedPerSec 6 /* DPCs Queued/sec (PERF_COUNTER_COUNTER) */
#define Processor_PercentIdleTime 8 /* % Idle Time (PERF_100NSEC_TIMER) */
#define Processor_PercentC1Time 9 /* % C1 Time (PERF_100NSEC_TIMER) */
#define Processor_PercentC2Time 10 /* % C2 Time (PERF_100NSEC_TIMER) */
#define Processor_PercentC3Time 11 /* % C3 Time (PERF_100NSEC_TIMER) */
#define Processor_C1TransitionsPerSec 12 /* C1 Transitions/sec (PERF_COUNTER_BULK_COUNT) */
#define Processor_C2TransitionsPerSec 13 /* C2 Transitions/sec (PERF_COUNTER_BULK_COUNT) */
#define Processor_C3TransitionsPerSec 14 /* C3 Transitions/sec (PERF_COUNTER_BULK_COUNT) */
#define Processor_PercentStealTime 100 /* % Steal Time (PERF_100NSEC_TIMER) */
#define Processor_PercentIoWaitTime 101 /* % IO Wait Time (PERF_100NSEC_TIMER) */
#define Processor_PercentGuestTime 102 /* % Guest Time (PERF_100NSEC_TIMER) */
#define Processor_PercentNiceTime 103 /* % Nice Time (PERF_100NSEC_TIMER) */

/* Processor CPI: Cycles per instruction of each processor, by NUMA node, from hardware counters. */
#define ProcessorCpi_NAME TACHO_W("Processor CPI")
static const GUID ProcessorCpiGuid = { 0x3723d365, 0x8949, 0x58a1, { 0x90, 0xa0, 0x8f, 0x2f, 0x9c, 0xa6, 0x41, 0x36 } };
#define ProcessorCpi_CyclesPerInstruction 1 /* Cycles Per Instruction (PERF_AVERAGE_BULK) */
#define ProcessorCpi_CyclesPerInstructionWhileBusy 2 /* Cycles Per Instruction While Busy (PERF_AVERAGE_BULK) */
#define ProcessorCpi_CoreCyclesPerInstruction 3 /* Core Cycles Per Instruction (PERF_AVERAGE_BULK) */
#define ProcessorCpi_InstructionsPerSec 4 /* Instructions/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorCpi_CyclesPerSec 5 /* Cycles/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorCpi_PercentCounterRunningTime 6 /* % Counter Running Time (PERF_SAMPLE_FRACTION) */
#define ProcessorCpi_InstructionsBase 7 /* Instructions Base (PERF_AVERAGE_BASE) */
#define ProcessorCpi_InstructionsWhileBusyBase 8 /* Instructions While Busy Base (PERF_AVERAGE_BASE) */
#define ProcessorCpi_CounterEnabledTimeBase 9 /* Counter Enabled Time Base (PERF_SAMPLE_BASE) */
#define ProcessorCpi_InstructionsInElapsedTimeBase 10 /* Instructions In Elapsed Time Base (PERF_AVERAGE_BASE) */

/* Processor Information: How busy each processor is and with what, by NUMA node. */
#define ProcessorInformation_NAME TACHO_W("Processor Information")
static const GUID ProcessorInformationGuid = { 0xb4fc721a, 0x0378, 0x476f, { 0x89, 0xba, 0xa5, 0xa7, 0x9f, 0x81, 0x0b, 0x36 } };
#define ProcessorInformation_PercentProcessorTime 0 /* % Processor Time (PERF_100NSEC_TIMER_INV) */
#define ProcessorInformation_PercentUserTime 1 /* % User Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_PercentPrivilegedTime 2 /* % Privileged Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_InterruptsPerSec 3 /* Interrupts/sec (PERF_COUNTER_COUNTER) */
#define ProcessorInformation_PercentDpcTime 4 /* % DPC Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_PercentInterruptTime 5 /* % Interrupt Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_DpCsQueuedPerSec 6 /* DPCs Queued/sec (PERF_COUNTER_COUNTER) */
#define ProcessorInformation_PercentIdleTime 8 /* % Idle Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_PercentC1Time 9 /* % C1 Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_PercentC2Time 10 /* % C2 Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_PercentC3Time 11 /* % C3 Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_C1TransitionsPerSec 12 /* C1 Transitions/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_C2TransitionsPerSec 13 /* C2 Transitions/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_C3TransitionsPerSec 14 /* C3 Transitions/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_PercentPriorityTime 15 /* % Priority Time (PERF_100NSEC_TIMER_INV) */
#define ProcessorInformation_ProcessorFrequency 17 /* Processor Frequency (PERF_COUNTER_RAWCOUNT) */
#define ProcessorInformation_PercentOfMaximumFrequency 18 /* % of Maximum Frequency (PERF_COUNTER_RAWCOUNT) */
#define ProcessorInformation_ClockInterruptsPerSec 20 /* Clock Interrupts/sec (PERF_COUNTER_COUNTER) */
#define ProcessorInformation_IdleBreakEventsPerSec 23 /* Idle Break Events/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_PercentProcessorPerformance 24 /* % Processor Performance (PERF_AVERAGE_BULK) */
#define ProcessorInformation_PercentProcessorPerformanceBase 25 /* % Processor Performance Base (PERF_AVERAGE_BASE) */
#define ProcessorInformation_PercentPerformanceLimit 30 /* % Performance Limit (PERF_COUNTER_RAWCOUNT) */
#define ProcessorInformation_PercentStealTime 100 /* % Steal Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_PercentIoWaitTime 101 /* % IO Wait Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_PercentGuestTime 102 /* % Guest Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_PercentNiceTime 103 /* % Nice Time (PERF_100NSEC_TIMER) */
#define ProcessorInformation_HighPriorityTaskletSoftIrQsPerSec 110 /* High-Priority Tasklet SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_TimerSoftIrQsPerSec 111 /* Timer SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_NetworkTransmitSoftIrQsPerSec 112 /* Network Transmit SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_NetworkReceiveSoftIrQsPerSec 113 /* Network Receive SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_BlockSoftIrQsPerSec 114 /* Block SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_InterruptPollSoftIrQsPerSec 115 /* Interrupt Poll SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_TaskletSoftIrQsPerSec 116 /* Tasklet SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_SchedulerSoftIrQsPerSec 117 /* Scheduler SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_HighResolutionTimerSoftIrQsPerSec 118 /* High-Resolution Timer SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_RcuSoftIrQsPerSec 119 /* RCU SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_NetworkPacketsProcessedPerSec 120 /* Network Packets Processed/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_NetworkPacketsDroppedPerSec 121 /* Network Packets Dropped/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_NetworkTimeSqueezesPerSec 122 /* Network Time Squeezes/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_NetworkRpsWakeupsPerSec 123 /* Network RPS Wakeups/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_NetworkFlowLimitDropsPerSec 124 /* Network Flow Limit Drops/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_NetworkBacklog 125 /* Network Backlog (PERF_COUNTER_RAWCOUNT) */

/* Queueing Discipline: The queues from which network interfaces send: packets sent, dropped and waiting. Network Interface does not include these drops. */
#define QueueingDiscipline_NAME TACHO_W("Queueing Discipline")
static const GUID QueueingDisciplineGuid = { 0x7b2bf688, 0xea62, 0x50a0, { 0xb2, 0xa3, 0xb3, 0xa9, 0xd1, 0x94, 0xc6, 0x34 } };
#define QueueingDiscipline_BytesSentPerSec 1 /* Bytes Sent/sec (PERF_COUNTER_BULK_COUNT) */
#define QueueingDiscipline_PacketsSentPerSec 2 /* Packets Sent/sec (PERF_COUNTER_BULK_COUNT) */
#define QueueingDiscipline_PacketsDroppedPerSec 3 /* Packets Dropped/sec (PERF_COUNTER_BULK_COUNT) */
#define QueueingDiscipline_OverlimitsPerSec 4 /* Overlimits/sec (PERF_COUNTER_BULK_COUNT) */
#define QueueingDiscipline_RequeuesPerSec 5 /* Requeues/sec (PERF_COUNTER_BULK_COUNT) */
#define QueueingDiscipline_BacklogBytes 6 /* Backlog Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define QueueingDiscipline_BacklogPackets 7 /* Backlog Packets (PERF_COUNTER_LARGE_RAWCOUNT) */

/* RAID Array: The state of the RAID arrays of the md driver: missing disks, and the progress of a resync. */
#define RaidArray_NAME TACHO_W("RAID Array")
static const GUID RaidArrayGuid = { 0x13e0a480, 0xcb1b, 0x5eab, { 0xb5, 0x99, 0xb4, 0x76, 0x8e, 0x2e, 0x82, 0x24 } };
#define RaidArray_Disks 1 /* Disks (PERF_COUNTER_LARGE_RAWCOUNT) */
#define RaidArray_DegradedDisks 2 /* Degraded Disks (PERF_COUNTER_LARGE_RAWCOUNT) */
#define RaidArray_State 3 /* State (PERF_COUNTER_LARGE_RAWCOUNT) */
#define RaidArray_SyncAction 4 /* Sync Action (PERF_COUNTER_LARGE_RAWCOUNT) */
#define RaidArray_PercentSyncCompleted 5 /* % Sync Completed (PERF_RAW_FRACTION) */
#define RaidArray_PercentSyncCompletedBase 6 /* % Sync Completed Base (PERF_RAW_BASE) */
#define RaidArray_SyncBytesPerSecond 7 /* Sync Bytes Per Second (PERF_COUNTER_LARGE_RAWCOUNT) */
#define RaidArray_MismatchedSectors 8 /* Mismatched Sectors (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Socket: Sockets of this network namespace, and problems of TCP connections. Buffer memory is that of the whole machine. */
#define Socket_NAME TACHO_W("Socket")
static const GUID SocketGuid = { 0xcdff718c, 0xa406, 0x5777, { 0x9a, 0x90, 0xe9, 0x5f, 0x34, 0x38, 0x0e, 0x48 } };
#define Socket_SocketsUsed 1 /* Sockets Used (PERF_COUNTER_RAWCOUNT) */
#define Socket_TcpSocketsInUse 2 /* TCP Sockets In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_TcpSocketsOrphaned 3 /* TCP Sockets Orphaned (PERF_COUNTER_RAWCOUNT) */
#define Socket_TcpSocketsTimeWait 4 /* TCP Sockets Time Wait (PERF_COUNTER_RAWCOUNT) */
#define Socket_TcpSocketsAllocated 5 /* TCP Sockets Allocated (PERF_COUNTER_RAWCOUNT) */
#define Socket_TcpMemoryBytes 6 /* TCP Memory Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Socket_UdpSocketsInUse 7 /* UDP Sockets In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_UdpMemoryBytes 8 /* UDP Memory Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Socket_UdpliteSocketsInUse 9 /* UDPLITE Sockets In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_RawSocketsInUse 10 /* RAW Sockets In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_FragmentQueuesInUse 11 /* Fragment Queues In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_FragmentMemoryBytes 12 /* Fragment Memory Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Socket_TcPv6SocketsInUse 13 /* TCPv6 Sockets In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_UdPv6SocketsInUse 14 /* UDPv6 Sockets In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_UdplitEv6SocketsInUse 15 /* UDPLITEv6 Sockets In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_RaWv6SocketsInUse 16 /* RAWv6 Sockets In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_FragmentQueuesV6InUse 17 /* Fragment Queues v6 In Use (PERF_COUNTER_RAWCOUNT) */
#define Socket_FragmentV6MemoryBytes 18 /* Fragment v6 Memory Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Socket_ListenOverflowsPerSec 30 /* Listen Overflows/sec (PERF_COUNTER_COUNTER) */
#define Socket_ListenDropsPerSec 31 /* Listen Drops/sec (PERF_COUNTER_COUNTER) */
#define Socket_BacklogDropsPerSec 32 /* Backlog Drops/sec (PERF_COUNTER_COUNTER) */
#define Socket_RequestQueueFullDropsPerSec 33 /* Request Queue Full Drops/sec (PERF_COUNTER_COUNTER) */
#define Socket_SynCookiesSentPerSec 34 /* SYN Cookies Sent/sec (PERF_COUNTER_COUNTER) */
#define Socket_SynCookiesReceivedPerSec 35 /* SYN Cookies Received/sec (PERF_COUNTER_COUNTER) */
#define Socket_SynCookiesFailedPerSec 36 /* SYN Cookies Failed/sec (PERF_COUNTER_COUNTER) */
#define Socket_RetransmissionTimeoutsPerSec 37 /* Retransmission Timeouts/sec (PERF_COUNTER_COUNTER) */
#define Socket_FastRetransmitsPerSec 38 /* Fast Retransmits/sec (PERF_COUNTER_COUNTER) */
#define Socket_SlowStartRetransmitsPerSec 39 /* Slow Start Retransmits/sec (PERF_COUNTER_COUNTER) */
#define Socket_LostRetransmitsPerSec 40 /* Lost Retransmits/sec (PERF_COUNTER_COUNTER) */
#define Socket_SynRetransmitsPerSec 41 /* SYN Retransmits/sec (PERF_COUNTER_COUNTER) */
#define Socket_SpuriousTimeoutsPerSec 42 /* Spurious Timeouts/sec (PERF_COUNTER_COUNTER) */
#define Socket_TailLossProbesPerSec 43 /* Tail Loss Probes/sec (PERF_COUNTER_COUNTER) */
#define Socket_OutOfOrderSegmentsPerSec 44 /* Out Of Order Segments/sec (PERF_COUNTER_COUNTER) */
#define Socket_ReceiveBufferPrunedPerSec 45 /* Receive Buffer Pruned/sec (PERF_COUNTER_COUNTER) */
#define Socket_ReceiveBufferCollapsedPerSec 46 /* Receive Buffer Collapsed/sec (PERF_COUNTER_COUNTER) */
#define Socket_MemoryPressuresPerSec 47 /* Memory Pressures/sec (PERF_COUNTER_COUNTER) */
#define Socket_AbortedOnTimeoutPerSec 48 /* Aborted On Timeout/sec (PERF_COUNTER_COUNTER) */
#define Socket_AbortedOnDataPerSec 49 /* Aborted On Data/sec (PERF_COUNTER_COUNTER) */
#define Socket_AbortedOnMemoryPerSec 50 /* Aborted On Memory/sec (PERF_COUNTER_COUNTER) */
#define Socket_TimeWaitOverflowsPerSec 51 /* Time Wait Overflows/sec (PERF_COUNTER_COUNTER) */
#define Socket_KeepalivesSentPerSec 52 /* Keepalives Sent/sec (PERF_COUNTER_COUNTER) */

/* SoftIRQ: Soft interrupts, the kernel's deferred work, by their kind, summed over all processors. The nearest equivalent on Windows is DPCs. */
#define SoftIrq_NAME TACHO_W("SoftIRQ")
static const GUID SoftIrqGuid = { 0x6e7c8898, 0xe964, 0x5e54, { 0x82, 0x40, 0xaf, 0x46, 0xb7, 0xff, 0x79, 0xb0 } };
#define SoftIrq_SoftIrQsPerSec 1 /* SoftIRQs/sec (PERF_COUNTER_BULK_COUNT) */

/* System: The machine as a whole: processes, threads, the processor queue, and the up time. */
#define System_NAME TACHO_W("System")
static const GUID SystemGuid = { 0x389eb515, 0xbc27, 0x581e, { 0x96, 0x88, 0x99, 0xe7, 0x94, 0xdd, 0x4f, 0x85 } };
#define System_ContextSwitchesPerSec 1 /* Context Switches/sec (PERF_COUNTER_COUNTER) */
#define System_Processes 2 /* Processes (PERF_COUNTER_RAWCOUNT) */
#define System_Threads 3 /* Threads (PERF_COUNTER_RAWCOUNT) */
#define System_ProcessorQueueLength 4 /* Processor Queue Length (PERF_COUNTER_RAWCOUNT) */
#define System_SystemUpTime 5 /* System Up Time (PERF_ELAPSED_TIME) */
#define System_SystemUpTimeTime 6 /* System Up Time Time (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_SystemUpTimeFrequency 7 /* System Up Time Frequency (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_ForksPerSec 8 /* Forks/sec (PERF_COUNTER_COUNTER) */
#define System_ProcessesBlocked 9 /* Processes Blocked (PERF_COUNTER_RAWCOUNT) */
#define System_LoadAverage1Min 10 /* Load Average, 1 min (PERF_RAW_FRACTION) */
#define System_LoadAverage5Min 11 /* Load Average, 5 min (PERF_RAW_FRACTION) */
#define System_LoadAverage15Min 12 /* Load Average, 15 min (PERF_RAW_FRACTION) */
#define System_LoadAverageBase 13 /* Load Average Base (PERF_RAW_BASE) */
#define System_ThreadsRunnable 14 /* Threads Runnable (PERF_COUNTER_RAWCOUNT) */
#define System_FileHandles 15 /* File Handles (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_FileHandleLimit 16 /* File Handle Limit (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_InodesInUse 17 /* Inodes In Use (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_UnusedDirectoryEntries 18 /* Unused Directory Entries (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_PseudoTerminals 19 /* Pseudo Terminals (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_PseudoTerminalLimit 20 /* Pseudo Terminal Limit (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_ClockOffset 21 /* Clock Offset (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_ClockMaximumError 22 /* Clock Maximum Error (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_ClockEstimatedError 23 /* Clock Estimated Error (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_ClockFrequencyAdjustment 24 /* Clock Frequency Adjustment (PERF_COUNTER_LARGE_RAWCOUNT) */
#define System_ClockSynchronized 25 /* Clock Synchronized (PERF_COUNTER_RAWCOUNT) */

/* TCPv4: TCP segments and connections in this network namespace. The kernel counts those over IPv4 and over IPv6 together, so this set contains both. */
#define TcPv4_NAME TACHO_W("TCPv4")
static const GUID TcPv4Guid = { 0x25a04d9e, 0x89dc, 0x5783, { 0xbc, 0xbb, 0x09, 0xbb, 0x2b, 0x89, 0xb9, 0x92 } };
#define TcPv4_SegmentsPerSec 1 /* Segments/sec (PERF_COUNTER_COUNTER) */
#define TcPv4_ConnectionsEstablished 2 /* Connections Established (PERF_COUNTER_RAWCOUNT) */
#define TcPv4_ConnectionsActive 3 /* Connections Active (PERF_COUNTER_RAWCOUNT) */
#define TcPv4_ConnectionsPassive 4 /* Connections Passive (PERF_COUNTER_RAWCOUNT) */
#define TcPv4_ConnectionFailures 5 /* Connection Failures (PERF_COUNTER_RAWCOUNT) */
#define TcPv4_ConnectionsReset 6 /* Connections Reset (PERF_COUNTER_RAWCOUNT) */
#define TcPv4_SegmentsReceivedPerSec 7 /* Segments Received/sec (PERF_COUNTER_COUNTER) */
#define TcPv4_SegmentsSentPerSec 8 /* Segments Sent/sec (PERF_COUNTER_COUNTER) */
#define TcPv4_SegmentsRetransmittedPerSec 9 /* Segments Retransmitted/sec (PERF_COUNTER_COUNTER) */
#define TcPv4_SegmentsReceivedErrors 10 /* Segments Received Errors (PERF_COUNTER_RAWCOUNT) */
#define TcPv4_ResetsSentPerSec 11 /* Resets Sent/sec (PERF_COUNTER_COUNTER) */

/* TCPv6: TCP connections over IPv6 in this network namespace. Linux counts segments and connection attempts of both address families together; see TCPv4. */
#define TcPv6_NAME TACHO_W("TCPv6")
static const GUID TcPv6Guid = { 0x09a81725, 0xd664, 0x5be2, { 0xb4, 0xb4, 0x4b, 0x88, 0xd2, 0x35, 0x55, 0x97 } };
#define TcPv6_ConnectionsEstablished 2 /* Connections Established (PERF_COUNTER_RAWCOUNT) */

/* Temperature Sensor: Temperatures of processors, disks, graphics cards and mainboards, as their drivers report them (hwmon). */
#define TemperatureSensor_NAME TACHO_W("Temperature Sensor")
static const GUID TemperatureSensorGuid = { 0x7db6878e, 0x4002, 0x577e, { 0x9d, 0xdb, 0xc1, 0x55, 0x60, 0x96, 0x25, 0xd5 } };
#define TemperatureSensor_Temperature 1 /* Temperature (PERF_COUNTER_LARGE_RAWCOUNT) */
#define TemperatureSensor_HighPrecisionTemperature 2 /* High Precision Temperature (PERF_COUNTER_LARGE_RAWCOUNT) */
#define TemperatureSensor_MaximumTemperature 4 /* Maximum Temperature (PERF_COUNTER_LARGE_RAWCOUNT) */
#define TemperatureSensor_CriticalTemperature 5 /* Critical Temperature (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Thermal Zone: Temperatures of the machine's thermal zones. The Windows set Thermal Zone Information reports kelvins; this one reports degrees Celsius. */
#define ThermalZone_NAME TACHO_W("Thermal Zone")
static const GUID ThermalZoneGuid = { 0xd198a5a6, 0xeb72, 0x55a1, { 0xaf, 0xd1, 0x24, 0xda, 0x3f, 0x3c, 0xed, 0xfa } };
#define ThermalZone_Temperature 1 /* Temperature (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ThermalZone_HighPrecisionTemperature 2 /* High Precision Temperature (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ThermalZone_PassiveTripPoint 3 /* Passive Trip Point (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ThermalZone_CriticalTripPoint 4 /* Critical Trip Point (PERF_COUNTER_LARGE_RAWCOUNT) */

/* Thread: The resources that each thread uses: processor time, switches, priority and state. */
#define Thread_NAME TACHO_W("Thread")
static const GUID ThreadGuid = { 0xb50d4960, 0x380e, 0x579e, { 0xbe, 0xf5, 0xd2, 0x08, 0x85, 0x62, 0xb7, 0x81 } };
#define Thread_PercentProcessorTime 1 /* % Processor Time (PERF_100NSEC_TIMER) */
#define Thread_PercentUserTime 2 /* % User Time (PERF_100NSEC_TIMER) */
#define Thread_PercentPrivilegedTime 3 /* % Privileged Time (PERF_100NSEC_TIMER) */
#define Thread_ContextSwitchesPerSec 4 /* Context Switches/sec (PERF_COUNTER_COUNTER) */
#define Thread_ElapsedTime 5 /* Elapsed Time (PERF_ELAPSED_TIME) */
#define Thread_PriorityCurrent 6 /* Priority Current (PERF_COUNTER_RAWCOUNT) */
#define Thread_PriorityBase 7 /* Priority Base (PERF_COUNTER_RAWCOUNT) */
#define Thread_ThreadState 8 /* Thread State (PERF_COUNTER_RAWCOUNT) */
#define Thread_IdProcess 9 /* ID Process (PERF_COUNTER_RAWCOUNT) */
#define Thread_IdThread 10 /* ID Thread (PERF_COUNTER_RAWCOUNT) */
#define Thread_PercentRunQueueWaitTime 13 /* % Run Queue Wait Time (PERF_100NSEC_TIMER) */
#define Thread_PercentBlockIoWaitTime 14 /* % Block IO Wait Time (PERF_100NSEC_TIMER) */
#define Thread_ElapsedTimeClock 11 /* Elapsed Time Clock (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Thread_ElapsedTimeFrequency 12 /* Elapsed Time Frequency (PERF_COUNTER_LARGE_RAWCOUNT) */

/* UDPv4: UDP datagrams over IPv4 in this network namespace. */
#define UdPv4_NAME TACHO_W("UDPv4")
static const GUID UdPv4Guid = { 0x9788f29f, 0xb3d8, 0x5b4c, { 0x9f, 0x7b, 0x45, 0x0b, 0x1b, 0x6f, 0x00, 0x5c } };
#define UdPv4_DatagramsPerSec 1 /* Datagrams/sec (PERF_COUNTER_COUNTER) */
#define UdPv4_DatagramsReceivedPerSec 2 /* Datagrams Received/sec (PERF_COUNTER_COUNTER) */
#define UdPv4_DatagramsNoPortPerSec 3 /* Datagrams No Port/sec (PERF_COUNTER_COUNTER) */
#define UdPv4_DatagramsReceivedErrors 4 /* Datagrams Received Errors (PERF_COUNTER_RAWCOUNT) */
#define UdPv4_DatagramsSentPerSec 5 /* Datagrams Sent/sec (PERF_COUNTER_COUNTER) */
#define UdPv4_DatagramsReceiveBufferFullPerSec 6 /* Datagrams Receive Buffer Full/sec (PERF_COUNTER_COUNTER) */
#define UdPv4_DatagramsSendBufferFullPerSec 7 /* Datagrams Send Buffer Full/sec (PERF_COUNTER_COUNTER) */
#define UdPv4_DatagramsChecksumErrorsPerSec 8 /* Datagrams Checksum Errors/sec (PERF_COUNTER_COUNTER) */

/* UDPv6: UDP datagrams over IPv6 in this network namespace. */
#define UdPv6_NAME TACHO_W("UDPv6")
static const GUID UdPv6Guid = { 0x6396914c, 0x10ba, 0x57f1, { 0x89, 0xa9, 0x1f, 0x10, 0x2e, 0x08, 0x65, 0x48 } };
#define UdPv6_DatagramsPerSec 1 /* Datagrams/sec (PERF_COUNTER_COUNTER) */
#define UdPv6_DatagramsReceivedPerSec 2 /* Datagrams Received/sec (PERF_COUNTER_COUNTER) */
#define UdPv6_DatagramsNoPortPerSec 3 /* Datagrams No Port/sec (PERF_COUNTER_COUNTER) */
#define UdPv6_DatagramsReceivedErrors 4 /* Datagrams Received Errors (PERF_COUNTER_RAWCOUNT) */
#define UdPv6_DatagramsSentPerSec 5 /* Datagrams Sent/sec (PERF_COUNTER_COUNTER) */
#define UdPv6_DatagramsReceiveBufferFullPerSec 6 /* Datagrams Receive Buffer Full/sec (PERF_COUNTER_COUNTER) */
#define UdPv6_DatagramsSendBufferFullPerSec 7 /* Datagrams Send Buffer Full/sec (PERF_COUNTER_COUNTER) */
#define UdPv6_DatagramsChecksumErrorsPerSec 8 /* Datagrams Checksum Errors/sec (PERF_COUNTER_COUNTER) */

/* Voltage Sensor: Voltages, as their drivers report them (hwmon). */
#define VoltageSensor_NAME TACHO_W("Voltage Sensor")
static const GUID VoltageSensorGuid = { 0x1128523d, 0x8332, 0x5758, { 0x98, 0x08, 0x29, 0x0d, 0x9c, 0xe9, 0x52, 0x81 } };
#define VoltageSensor_Voltage 1 /* Voltage (PERF_COUNTER_LARGE_RAWCOUNT) */
#define VoltageSensor_MinimumVoltage 3 /* Minimum Voltage (PERF_COUNTER_LARGE_RAWCOUNT) */
#define VoltageSensor_MaximumVoltage 4 /* Maximum Voltage (PERF_COUNTER_LARGE_RAWCOUNT) */

/* ZFS ARC: The adaptive replacement cache of ZFS, which is the page cache of its file systems: its size, and how often data was found there. */
#define ZfsArc_NAME TACHO_W("ZFS ARC")
static const GUID ZfsArcGuid = { 0xf7bfe803, 0xb9f6, 0x50a6, { 0xa1, 0xa5, 0x59, 0x35, 0x7f, 0xa7, 0xf7, 0x92 } };
#define ZfsArc_SizeBytes 1 /* Size Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_TargetBytes 2 /* Target Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_MinimumBytes 3 /* Minimum Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_MaximumBytes 4 /* Maximum Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_DataBytes 5 /* Data Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_MetadataBytes 6 /* Metadata Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_RecentlyUsedBytes 7 /* Recently Used Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_FrequentlyUsedBytes 8 /* Frequently Used Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_CompressedBytes 9 /* Compressed Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_UncompressedBytes 10 /* Uncompressed Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_HitsPerSec 11 /* Hits/sec (PERF_COUNTER_BULK_COUNT) */
#define ZfsArc_MissesPerSec 12 /* Misses/sec (PERF_COUNTER_BULK_COUNT) */
#define ZfsArc_PrefetchMissesPerSec 13 /* Prefetch Misses/sec (PERF_COUNTER_BULK_COUNT) */
#define ZfsArc_ThrottlesPerSec 14 /* Throttles/sec (PERF_COUNTER_BULK_COUNT) */
#define ZfsArc_L2SizeBytes 15 /* L2 Size Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define ZfsArc_L2HitsPerSec 16 /* L2 Hits/sec (PERF_COUNTER_BULK_COUNT) */
#define ZfsArc_L2MissesPerSec 17 /* L2 Misses/sec (PERF_COUNTER_BULK_COUNT) */
#define ZfsArc_L2ReadBytesPerSec 18 /* L2 Read Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define ZfsArc_L2WriteBytesPerSec 19 /* L2 Write Bytes/sec (PERF_COUNTER_BULK_COUNT) */
#define ZfsArc_PercentHits 20 /* % Hits (PERF_SAMPLE_FRACTION) */
#define ZfsArc_PercentHitsBase 21 /* % Hits Base (PERF_SAMPLE_BASE) */

/* Zram: Compressed block devices in memory, which are usually used for swap: the size of their content and the memory that they occupy. */
#define Zram_NAME TACHO_W("Zram")
static const GUID ZramGuid = { 0x8df09cfb, 0x50ad, 0x5d54, { 0xb0, 0x48, 0x29, 0x4d, 0x61, 0xd2, 0xe4, 0x76 } };
#define Zram_OriginalBytes 1 /* Original Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_CompressedBytes 2 /* Compressed Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_MemoryUsedBytes 3 /* Memory Used Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_MemoryLimitBytes 4 /* Memory Limit Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_PeakMemoryUsedBytes 5 /* Peak Memory Used Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_SameFilledPages 6 /* Same-Filled Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_CompactedPages 7 /* Compacted Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_IncompressiblePages 8 /* Incompressible Pages (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_DiskSizeBytes 9 /* Disk Size Bytes (PERF_COUNTER_LARGE_RAWCOUNT) */
#define Zram_PercentCompressedSize 10 /* % Compressed Size (PERF_RAW_FRACTION) */
#define Zram_PercentCompressedSizeBase 11 /* % Compressed Size Base (PERF_RAW_BASE) */

#endif
