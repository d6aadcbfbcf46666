#include <windows.h>
#include <stdio.h>
#include <wchar.h>
#include <utility>
#include "cpu_perf.h"

#ifndef SAMPLES
#define SAMPLES 10
#endif
#ifndef PAUSE
#define PAUSE 1000
#endif

int __cdecl wmain(int argc, _In_count_(argc) PWSTR argv[])
{
    unsigned status;
    unsigned const maxCounters = 2048;
    CpuPerfReader reader;
    CpuTimes times[2];
    static CpuCounters counters[2][maxCounters];
    unsigned known[2] = {};
    unsigned older = 0, newer = 1;
    UNREFERENCED_PARAMETER(argv);

    status = reader.ReadData(&times[older], counters[older], _countof(counters[older]), &known[older]);
    for (int sample = 0; status == ERROR_SUCCESS && sample != SAMPLES; sample++) {
        Sleep(PAUSE);
        status = reader.ReadData(&times[newer], counters[newer], maxCounters, &known[newer]);
        for (unsigned i = 0; status == ERROR_SUCCESS && i != known[newer]; i++) {
            CpuCounters const &now = counters[newer][i];
            if (wcscmp(now.Name, L"_Total") != 0) {
                continue;
            }
            for (unsigned j = 0; j != known[older]; j++) {
                CpuCounters const &before = counters[older][j];
                if (wcscmp(before.Name, now.Name) == 0) {
                    // PERF_100NSEC_TIMER_INV
                    double const percent =
                        100.0 * (1.0 - static_cast<double>(now.PercentProcessorTime - before.PercentProcessorTime) /
                                           static_cast<double>(times[newer].PerfTime100NSec - times[older].PerfTime100NSec));
                    printf("%ls %f%% known %u\n", now.Name, percent, now.Known);
                }
            }
        }
        std::swap(older, newer);
    }
    if (status != ERROR_SUCCESS) {
        wprintf(L"Error %u with %d arguments\n", status, argc);
    }
    return static_cast<int>(status);
}
