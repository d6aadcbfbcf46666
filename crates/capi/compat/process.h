/* process.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_PROCESS_H
#define TACHO_COMPAT_PROCESS_H
#include <windows.h>
#endif
