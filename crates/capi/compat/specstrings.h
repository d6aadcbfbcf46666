/* specstrings.h: part of the compatibility folder. */
#ifndef TACHO_COMPAT_SPECSTRINGS_H
#define TACHO_COMPAT_SPECSTRINGS_H
#include <sal.h>
#endif
