/* initguid.h: from here on DEFINE_GUID defines. Part of the compatibility folder. */
#ifndef INITGUID
#define INITGUID
#endif
#include <guiddef.h>
