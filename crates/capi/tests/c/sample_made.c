/* The unchanged sample, on a fake machine with as many processors as this one. */
#define main sample
#include "sample.c"
#undef main
#include "made.h"

int main(void)
{
    TachoMadeMachine((uint32_t)GetActiveProcessorCount());
    return sample();
}
