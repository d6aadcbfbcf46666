/* A library like NVIDIA's, with one card and known figures. Files in the folder STATE change what it does:
   hang: calls hang; no-pci: the card has no address; quiet: no newer samples; invalid: loads above 100;
   other: samples of process 30 only. The file dev is open while the library is initialized. */
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7

struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
struct utilization { unsigned gpu, memory; };
struct memory { unsigned version; unsigned long long total, reserved, free, used; };
struct process { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; };
struct sample { unsigned pid; unsigned long long time; unsigned sm, memory, encoder, decoder; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int card, file, users;

static int is(const char *path) { return access(path, F_OK) == 0; }

int nvmlInit_v2(void) {
    pthread_mutex_lock(&lock);
    if (users++ == 0) file = open(STATE "/dev", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    pthread_mutex_unlock(&lock);
    return 0;
}

int nvmlShutdown(void) {
    pthread_mutex_lock(&lock);
    if (--users == 0) close(file);
    pthread_mutex_unlock(&lock);
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = &card; return index != 0; }

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci) {
    memset(pci, 0, sizeof *pci);
    pci->bus = 0x41;
    strcpy(pci->bus_id, "00000000:41:00.0");
    return device != &card || is(STATE "/no-pci");
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates) {
    while (is(STATE "/hang")) usleep(1000);
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

/* Each request for the number of samples finds two newer samples. */
int nvmlDeviceGetProcessUtilization(void *device, struct sample *samples, unsigned *count, unsigned long long since) {
    static unsigned long long now = 1000;
    unsigned room = *count, length = 0;
    if (samples == NULL && !is(STATE "/quiet")) now += 10;
    for (unsigned index = 0; index < 2; index++) {
        struct sample sample = {20, now - 1, 90, 0, 0, 0};
        if (index == 1) sample = (struct sample){20, now, 50, 5, 0, 25};
        if (is(STATE "/invalid")) sample.sm = 150;
        if (is(STATE "/other")) sample.pid = 30;
        if (sample.time <= since) continue;
        if (samples != NULL && length < room) samples[length] = sample;
        length++;
    }
    *count = length;
    if (length == 0) return NOT_FOUND;
    return samples == NULL || room < length ? INSUFFICIENT_SIZE : 0;
}
