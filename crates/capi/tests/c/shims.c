/* Checks of compat/windows.h. */
#include <windows.h>
#include <stdio.h>

static int failed;

static void is(const char *what, int holds)
{
    if (!holds) {
        printf("not so: %s\n", what);
        failed = 1;
    }
}

int main(int count, char **arguments)
{
    char buffer[4096] = "as before";
    const char *folder = count > 1 ? arguments[1] : "";
    const DWORD length = (DWORD)strlen(folder);

    is("DWORD has 32 bits without a sign", sizeof(DWORD) == 4 && (DWORD)-1 > 0);
    /* The test sets TACHO_SHIM to "four". */
    is("no such variable", GetEnvironmentVariable("TACHO_NO_SHIM", buffer, sizeof buffer) == 0);
    is("too small for the final zero", GetEnvironmentVariable("TACHO_SHIM", buffer, 4) == 5);
    is("no room at all", GetEnvironmentVariable("TACHO_SHIM", buffer, 0) == 5);
    is("nothing was copied", strcmp(buffer, "as before") == 0);
    is("it fits", GetEnvironmentVariable("TACHO_SHIM", buffer, 5) == 4);
    is("it was copied", strcmp(buffer, "four") == 0);
    is("the folder does not fit", GetCurrentDirectory(length, buffer) == length + 1);
    is("nothing was copied", strcmp(buffer, "four") == 0);
    is("the folder fits", GetCurrentDirectory(length + 1, buffer) == length);
    is("the folder was copied", strcmp(buffer, folder) == 0);
    Sleep(0);
    Sleep(1);
    return failed;
}
