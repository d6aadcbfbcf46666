/* sysinfoapi.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_SYSINFOAPI_H
#define TACHO_COMPAT_SYSINFOAPI_H
#include <windows.h>
#endif
