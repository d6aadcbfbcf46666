// A class like the one in the article "Using the PerfLib Functions to Consume Counter Data": it reads Processor Information by its
// GUID, and includes the same headers as such code, in the same order.
#pragma once
#include <sal.h>

struct CpuTimes {
    __int64 PerfTimeStamp;
    __int64 PerfTime100NSec;
    __int64 PerfFreq;
};

struct CpuCounters {
    wchar_t Name[16];
    unsigned __int64 PercentProcessorTime;
    unsigned __int64 PercentUserTime;
    unsigned __int32 InterruptsPerSec;
    // How many of the counters 0 to 30 exist.
    unsigned __int8 Known;
};

class CpuPerfReader
{
public:
    CpuPerfReader() noexcept;
    ~CpuPerfReader();
    CpuPerfReader(CpuPerfReader const &) = delete;
    CpuPerfReader &operator=(CpuPerfReader const &) = delete;

    _Success_(return == 0) unsigned ReadData(
        _Out_opt_ CpuTimes *pTimes,
        _Out_writes_to_(cMax, *pcActual) CpuCounters *pCounters,
        unsigned cMax,
        _Out_ unsigned *pcActual) noexcept;

private:
    void *m_hQuery;
    void *m_pData;
    unsigned m_cbData;
};
