/* Empty: tests that a header compiles when it is included first. */
typedef int tacho_empty;
