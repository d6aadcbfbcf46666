/* A library like NVIDIA's, with one card and known figures. It hangs while the file HANG exists. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define INSUFFICIENT_SIZE 7

struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
struct utilization { unsigned gpu, memory; };
struct memory { unsigned version; unsigned long long total, reserved, free, used; };
struct process { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; };
struct sample { unsigned pid; unsigned long long time; unsigned sm, memory, encoder, decoder; };

static int card;

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = &card; return index != 0; }

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci) {
    memset(pci, 0, sizeof *pci);
    pci->bus = 0x41;
    strcpy(pci->bus_id, "00000000:41:00.0");
    return device != &card;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates) {
    while (access(HANG, F_OK) == 0) usleep(1000);
    rates->gpu = 73;
    rates->memory = 21;
    return device != &card;
}

int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *degrees) {
    *degrees = 64;
    return device != &card || sensor != 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) { *milliwatts = 187654; return device != &card; }

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory *memory) {
    memory->total = 8ULL << 30;
    memory->used = 3ULL << 30;
    memory->free = 5ULL << 30;
    return device != &card;
}

static int list(unsigned *count, struct process *processes, const struct process *known, unsigned length) {
    unsigned room = *count;
    *count = length;
    if (room < length) return INSUFFICIENT_SIZE;
    memcpy(processes, known, length * sizeof *known);
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *processes) {
    static const struct process known[] = {{20, 1ULL << 30, -1, -1}, {30, 5000, -1, -1}};
    return list(count, processes, known, 2);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, struct process *processes) {
    static const struct process known[] = {{30, 5000, -1, -1}};
    return list(count, processes, known, 1);
}

int nvmlDeviceGetProcessUtilization(void *device, struct sample *samples, unsigned *count, unsigned long long since) {
    static const struct sample known[] = {{20, 999, 90, 0, 0, 0}, {20, 1000, 50, 5, 0, 25}};
    unsigned room = *count;
    *count = 2;
    if (samples == NULL || room < 2) return INSUFFICIENT_SIZE;
    memcpy(samples, known, sizeof known);
    return 0;
}
