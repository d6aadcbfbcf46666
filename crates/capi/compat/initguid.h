/* initguid.h: makes DEFINE_GUID define instead of declare. Part of the compatibility folder. */
#ifndef INITGUID
#define INITGUID
#endif
#include <guiddef.h>
