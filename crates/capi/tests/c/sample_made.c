/* The sample, unchanged, over a made machine with as many processors as this one has. */
#define main sample
#include "sample.c"
#undef main
#include "made.h"

int main(void)
{
    TachoMadeMachine((uint32_t)GetActiveProcessorCount());
    return sample();
}
