/*
 * A function like the one in the article "Calculating Counter Values": prints the displayed value of two raw samples
 * by their counter type, with that article's integer arithmetic. It checks that winperf.h and windows.h support such
 * code, and its results are compared with the library's.
 *
 * Each line of input: type, data, time and multiplier of the older and of the newer sample, frequency.
 */
#include <windows.h>
#include <stdio.h>
#include <winperf.h>

#define ONE_SECOND_100NS 10000000.0

typedef struct _rawdata {
    DWORD CounterType;
    ULONGLONG Data;
    LONGLONG Time;
    DWORD MultiCounterData;
    LONGLONG Frequency;
} RAW_DATA, *PRAW_DATA;

static BOOL DisplayCalculatedValue(RAW_DATA *pSample0, RAW_DATA *pSample1)
{
    BOOL fSuccess = TRUE;
    ULONGLONG numerator = 0;
    LONGLONG denominator = 0;
    double doubleValue = 0;
    DWORD dwordValue = 0;

    if (pSample1 == NULL) {
        /* One sample is enough for these types. */
        pSample1 = pSample0;
    } else if (pSample0->Data > pSample1->Data) {
        /* A sample that is smaller than the previous one is rejected. */
        fSuccess = FALSE;
        goto cleanup;
    }

    switch (pSample1->CounterType) {
    case PERF_COUNTER_COUNTER:
    case PERF_SAMPLE_COUNTER:
    case PERF_COUNTER_BULK_COUNT:
        numerator = pSample1->Data - pSample0->Data;
        denominator = pSample1->Time - pSample0->Time;
        dwordValue = (DWORD)((double)numerator / ((double)denominator / (double)pSample1->Frequency));
        wprintf(TACHO_W("%lu%s\n"), dwordValue,
                pSample1->CounterType == PERF_SAMPLE_COUNTER ? TACHO_W("") : TACHO_W("/sec"));
        break;
    case PERF_COUNTER_TIMER:
    case PERF_100NSEC_TIMER:
    case PERF_OBJ_TIME_TIMER:
    case PERF_PRECISION_SYSTEM_TIMER:
    case PERF_PRECISION_100NS_TIMER:
    case PERF_PRECISION_OBJECT_TIMER:
    case PERF_SAMPLE_FRACTION:
        numerator = pSample1->Data - pSample0->Data;
        denominator = pSample1->Time - pSample0->Time;
        doubleValue = (double)(100 * numerator) / (double)denominator;
        wprintf(TACHO_W("%.17g%%\n"), doubleValue);
        break;
    case PERF_COUNTER_TIMER_INV:
    case PERF_100NSEC_TIMER_INV:
        numerator = pSample1->Data - pSample0->Data;
        denominator = pSample1->Time - pSample0->Time;
        doubleValue = 100 * (1.0 - ((double)numerator / (double)denominator));
        wprintf(TACHO_W("%.17g%%\n"), doubleValue < 0.0 ? 0.0 : doubleValue);
        break;
    case PERF_COUNTER_MULTI_TIMER:
        numerator = pSample1->Data - pSample0->Data;
        denominator = pSample1->Time - pSample0->Time;
        /* In whole seconds. */
        denominator /= pSample1->Frequency;
        if (denominator == 0) {
            fSuccess = FALSE;
            goto cleanup;
        }
        doubleValue = 100.0 * ((double)numerator / (double)denominator) / pSample1->MultiCounterData;
        wprintf(TACHO_W("%.17g%%\n"), doubleValue);
        break;
    case PERF_100NSEC_MULTI_TIMER:
        numerator = pSample1->Data - pSample0->Data;
        denominator = pSample1->Time - pSample0->Time;
        doubleValue = 100.0 * ((double)numerator / (double)denominator) / pSample1->MultiCounterData;
        wprintf(TACHO_W("%.17g%%\n"), doubleValue);
        break;
    case PERF_COUNTER_MULTI_TIMER_INV:
    case PERF_100NSEC_MULTI_TIMER_INV:
        numerator = pSample1->Data - pSample0->Data;
        denominator = pSample1->Time - pSample0->Time;
        doubleValue = 100.0 * (pSample1->MultiCounterData - ((double)numerator / (double)denominator));
        wprintf(TACHO_W("%.17g%%\n"), doubleValue);
        break;
    case PERF_COUNTER_RAWCOUNT:
    case PERF_COUNTER_LARGE_RAWCOUNT:
        wprintf(TACHO_W("%I64u\n"), pSample1->Data);
        break;
    case PERF_COUNTER_RAWCOUNT_HEX:
    case PERF_COUNTER_LARGE_RAWCOUNT_HEX:
        wprintf(TACHO_W("%#I64x\n"), pSample1->Data);
        break;
    case PERF_COUNTER_DELTA:
    case PERF_COUNTER_LARGE_DELTA:
        wprintf(TACHO_W("%I64u\n"), pSample1->Data - pSample0->Data);
        break;
    case PERF_RAW_FRACTION:
    case PERF_LARGE_RAW_FRACTION:
        doubleValue = (double)pSample1->Data * 100.0 / (double)pSample1->Time;
        wprintf(TACHO_W("%.17g%%\n"), doubleValue);
        break;
    case PERF_COUNTER_QUEUELEN_TYPE:
    case PERF_COUNTER_LARGE_QUEUELEN_TYPE:
    case PERF_COUNTER_100NS_QUEUELEN_TYPE:
    case PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE:
    case PERF_AVERAGE_BULK:
        numerator = pSample1->Data - pSample0->Data;
        denominator = pSample1->Time - pSample0->Time;
        doubleValue = denominator == 0 ? 0.0 : (double)numerator / (double)denominator;
        wprintf(TACHO_W("%.17g\n"), doubleValue);
        break;
    case PERF_AVERAGE_TIMER:
        numerator = pSample1->Data - pSample0->Data;
        denominator = pSample1->Time - pSample0->Time;
        doubleValue = (double)numerator / (double)pSample1->Frequency;
        wprintf(TACHO_W("%.17g seconds\n"), denominator == 0 ? 0.0 : doubleValue / (double)denominator);
        break;
    case PERF_ELAPSED_TIME:
        doubleValue = (double)(pSample1->Time - (LONGLONG)pSample1->Data) / (double)pSample1->Frequency;
        wprintf(TACHO_W("%.17g seconds\n"), doubleValue);
        break;
    case PERF_COUNTER_TEXT:
    case PERF_SAMPLE_BASE:
    case PERF_AVERAGE_BASE:
    case PERF_COUNTER_MULTI_BASE:
    case PERF_RAW_BASE:
    case PERF_COUNTER_NODATA:
    case PERF_PRECISION_TIMESTAMP:
        wprintf(TACHO_W("not calculated\n"));
        break;
    default:
        fSuccess = FALSE;
        break;
    }

cleanup:
    return fSuccess;
}

int wmain(void)
{
    unsigned long long type, data[2], multi[2];
    long long time[2], frequency;
    while (scanf("%llu %llu %lld %llu %llu %lld %llu %lld", &type, &data[0], &time[0], &multi[0], &data[1], &time[1],
                 &multi[1], &frequency) == 8) {
        RAW_DATA older = {(DWORD)type, data[0], time[0], (DWORD)multi[0], frequency};
        RAW_DATA newer = {(DWORD)type, data[1], time[1], (DWORD)multi[1], frequency};
        if (!DisplayCalculatedValue(&older, &newer)) {
            wprintf(TACHO_W("refused\n"));
        }
    }
    return 0;
}
