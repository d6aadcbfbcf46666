/* objbase.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_OBJBASE_H
#define TACHO_COMPAT_OBJBASE_H
#include <windows.h>
#endif
