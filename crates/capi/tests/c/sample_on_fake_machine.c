/* The unchanged sample, on a fake machine with as many processors as this one. */
#define main sample
#include "sample.c"
#undef main
#include "fake_machine.h"

int main(void)
{
    TachoUseFakeMachine((uint32_t)GetActiveProcessorCount());
    return sample();
}
