/* windef.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_WINDEF_H
#define TACHO_COMPAT_WINDEF_H
#include <winnt.h>
#endif
