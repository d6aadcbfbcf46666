/* wtypes.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_WTYPES_H
#define TACHO_COMPAT_WTYPES_H
#include <windows.h>
#endif
