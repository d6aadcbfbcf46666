/*
 * tachograph/errors.h: the Win32 error codes of perflib.h, which includes this header. Functions return them, and
 * results and identifiers carry them as statuses. The values are those of Windows.
 */
#ifndef TACHO_ERRORS_H
#define TACHO_ERRORS_H

#ifndef ERROR_SUCCESS
#define ERROR_SUCCESS 0
#endif
#define ERROR_PATH_NOT_FOUND 3
#define ERROR_ACCESS_DENIED 5
#define ERROR_INVALID_HANDLE 6
#define ERROR_NOT_ENOUGH_MEMORY 8
#define ERROR_INVALID_DATA 13
#define ERROR_OUTOFMEMORY 14
#define ERROR_WRITE_FAULT 29
#define ERROR_NOT_SUPPORTED 50
#define ERROR_BAD_NETPATH 53
#define ERROR_INVALID_PARAMETER 87
#define ERROR_ALREADY_EXISTS 183
#define ERROR_NO_DATA 232
#define ERROR_NOT_FOUND 1168
#define ERROR_NO_SUCH_GROUP 1319
#define ERROR_INTERNAL_ERROR 1359
#define ERROR_NO_SYSTEM_RESOURCES 1450
#define ERROR_TIMEOUT 1460
#define RPC_S_SERVER_UNAVAILABLE 1722
#define ERROR_RESOURCE_LANG_NOT_FOUND 1815
#define ERROR_WMI_GUID_NOT_FOUND 4200
#define ERROR_WMI_INSTANCE_NOT_FOUND 4201
#define ERROR_WMI_ITEMID_NOT_FOUND 4202
#define ERROR_WMI_INVALID_REGINFO 4211

#endif
