#include "cpu_perf.h"

#include <windows.h>
#include <winperf.h>
#include <perflib.h>
#include <stdlib.h>

#pragma comment(lib, "advapi32.lib")

static GUID const ProcessorSet = {0xb4fc721a, 0x0378, 0x476f, 0x89, 0xba, 0xa5, 0xa7, 0x9f, 0x81, 0x0b, 0x36};

CpuPerfReader::CpuPerfReader() noexcept : m_hQuery(nullptr), m_pData(nullptr), m_cbData(0) {}

CpuPerfReader::~CpuPerfReader()
{
    if (m_hQuery != nullptr) {
        PerfCloseQueryHandle(m_hQuery);
    }
    HeapFree(GetProcessHeap(), 0, m_pData);
}

_Use_decl_annotations_ unsigned CpuPerfReader::ReadData(CpuTimes *pTimes, CpuCounters *pCounters, unsigned cMax,
                                                        unsigned *pcActual) noexcept
{
    unsigned status;
    DWORD cbData;
    unsigned cActual = 0;

    if (m_hQuery == nullptr) {
        HANDLE hQuery = 0;
        struct {
            PERF_COUNTER_IDENTIFIER Identifier;
            WCHAR Name[4];
        } querySpec = {
            {
                {0xb4fc721a, 0x0378, 0x476f, {0x89, 0xba, 0xa5, 0xa7, 0x9f, 0x81, 0x0b, 0x36}},
                0,
                sizeof(querySpec),
                PERF_WILDCARD_COUNTER,
                0xffffffff,
                0,
                0,
            },
            PERF_WILDCARD_INSTANCE,
        };
        if (querySpec.Identifier.CounterSetGuid != ProcessorSet || !IsEqualGUID(ProcessorSet, ProcessorSet)) {
            return ERROR_INVALID_DATA;
        }
        status = PerfOpenQueryHandle(nullptr, &hQuery);
        if (status != ERROR_SUCCESS) {
            goto Done;
        }
        status = PerfAddCounters(hQuery, &querySpec.Identifier, sizeof(querySpec));
        if (status == ERROR_SUCCESS) {
            status = querySpec.Identifier.Status;
        }
        if (status != ERROR_SUCCESS) {
            PerfCloseQueryHandle(hQuery);
            goto Done;
        }
        m_hQuery = hQuery;
    }

    for (;;) {
        status = PerfQueryCounterData(m_hQuery, static_cast<PERF_DATA_HEADER *>(m_pData), m_cbData, &cbData);
        if (status == ERROR_SUCCESS) {
            break;
        }
        if (status != ERROR_NOT_ENOUGH_MEMORY) {
            goto Done;
        }
        HeapFree(GetProcessHeap(), 0, m_pData);
        m_cbData = 0;
        m_pData = HeapAlloc(GetProcessHeap(), 0, cbData);
        if (m_pData == nullptr) {
            status = ERROR_OUTOFMEMORY;
            goto Done;
        }
        m_cbData = cbData;
    }

    {
        LPCBYTE pbNext = static_cast<LPCBYTE>(m_pData);
        LPCBYTE const pbEnd = pbNext + cbData;
        auto const pHeader = reinterpret_cast<PERF_DATA_HEADER const *>(pbNext);
        pbNext += sizeof(PERF_DATA_HEADER);
        auto const pCounterHeader = reinterpret_cast<PERF_COUNTER_HEADER const *>(pbNext);
        pbNext += sizeof(PERF_COUNTER_HEADER);
        if (pHeader->dwTotalSize != cbData || pHeader->dwNumCounters != 1 ||
            pCounterHeader->dwType != PERF_COUNTERSET) {
            status = ERROR_INVALID_DATA;
            goto Done;
        }
        auto const pMultiCounters = reinterpret_cast<PERF_MULTI_COUNTERS const *>(pbNext);
        auto const pIds = reinterpret_cast<DWORD const *>(pMultiCounters + 1);
        pbNext += pMultiCounters->dwSize;
        auto const pMultiInstances = reinterpret_cast<PERF_MULTI_INSTANCES const *>(pbNext);
        pbNext += sizeof(PERF_MULTI_INSTANCES);
        cActual = pMultiInstances->dwInstances;
        if (cActual > cMax) {
            status = ERROR_MORE_DATA;
            goto Done;
        }
        for (DWORD i = 0; i != cActual; i++) {
            auto const pInstance = reinterpret_cast<PERF_INSTANCE_HEADER const *>(pbNext);
            auto const pName = reinterpret_cast<wchar_t const *>(pInstance + 1);
            size_t const cbName = pInstance->Size - sizeof(PERF_INSTANCE_HEADER);
            if (wcsnlen(pName, cbName / sizeof(WCHAR)) == cbName / sizeof(WCHAR)) {
                status = ERROR_INVALID_DATA;
                goto Done;
            }
            memset(&pCounters[i], 0, sizeof(pCounters[i]));
            wcsncpy_s(pCounters[i].Name, pName, _TRUNCATE);
            pbNext += pInstance->Size;
            for (DWORD iCounter = 0; iCounter != pMultiCounters->dwCounters; iCounter++) {
                auto const pValue = reinterpret_cast<PERF_COUNTER_DATA const *>(pbNext);
                unsigned __int64 value = 0;
                if (pValue->dwDataSize == 4 || pValue->dwDataSize == 8) {
                    memcpy(&value, pValue + 1, pValue->dwDataSize);
                    pCounters[i].Known = static_cast<unsigned __int8>(pCounters[i].Known + 1);
                }
                switch (pIds[iCounter]) {
                case 0: pCounters[i].PercentProcessorTime = value; break;
                case 1: pCounters[i].PercentUserTime = value; break;
                case 3: pCounters[i].InterruptsPerSec = static_cast<unsigned __int32>(value); break;
                default: break;
                }
                pbNext += pValue->dwSize;
            }
        }
        if (pbNext != pbEnd) {
            status = ERROR_INVALID_DATA;
            goto Done;
        }
        if (pTimes != nullptr) {
            pTimes->PerfTimeStamp = pHeader->PerfTimeStamp;
            pTimes->PerfTime100NSec = pHeader->PerfTime100NSec;
            pTimes->PerfFreq = pHeader->PerfFreq;
        }
    }

Done:
    *pcActual = cActual;
    return status;
}
