/* The fake machine in the library that is built for tests: see tachograph-cpi. */
#ifndef FAKE_MACHINE_H
#define FAKE_MACHINE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
int TachoUseFakeMachine(uint32_t processors);
#ifdef __cplusplus
}
#endif
#endif
