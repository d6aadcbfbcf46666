/* Checks of compat/windows.h. */
#include <windows.h>
#include <stdio.h>

static int failed;

static void check(const char *description, int holds)
{
    if (!holds) {
        printf("check failed: %s\n", description);
        failed = 1;
    }
}

int main(int count, char **arguments)
{
    char buffer[4096] = "as before";
    const char *folder = count > 1 ? arguments[1] : "";
    const DWORD length = (DWORD)strlen(folder);

    check("DWORD has 32 bits without a sign", sizeof(DWORD) == 4 && (DWORD)-1 > 0);
    /* The test sets TACHO_SHIM to "four". */
    check("no such variable", GetEnvironmentVariable("TACHO_NO_SHIM", buffer, sizeof buffer) == 0);
    check("too small for the final zero", GetEnvironmentVariable("TACHO_SHIM", buffer, 4) == 5);
    check("no room at all", GetEnvironmentVariable("TACHO_SHIM", buffer, 0) == 5);
    check("nothing was copied", strcmp(buffer, "as before") == 0);
    check("it fits", GetEnvironmentVariable("TACHO_SHIM", buffer, 5) == 4);
    check("it was copied", strcmp(buffer, "four") == 0);
    check("the folder does not fit", GetCurrentDirectory(length, buffer) == length + 1);
    check("nothing was copied", strcmp(buffer, "four") == 0);
    check("the folder fits", GetCurrentDirectory(length + 1, buffer) == length);
    check("the folder was copied", strcmp(buffer, folder) == 0);
    Sleep(0);
    Sleep(1);
    return failed;
}
