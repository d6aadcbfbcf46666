/* intsafe.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_INTSAFE_H
#define TACHO_COMPAT_INTSAFE_H
#include <windows.h>
#endif
