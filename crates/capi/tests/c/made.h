/* The fake machine in the library that is built for tests: see tachograph-cpi. */
#ifndef MADE_H
#define MADE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
int TachoMadeMachine(uint32_t processors);
#ifdef __cplusplus
}
#endif
#endif
