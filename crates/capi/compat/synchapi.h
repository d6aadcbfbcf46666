/* synchapi.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_SYNCHAPI_H
#define TACHO_COMPAT_SYNCHAPI_H
#include <windows.h>
#endif
