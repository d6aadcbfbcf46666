/* basetsd.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_BASETSD_H
#define TACHO_COMPAT_BASETSD_H
#include <minwindef.h>
#endif
