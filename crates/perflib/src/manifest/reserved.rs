//! Reserved names, which cannot be symbols in a manifest because of the C headers that are generated from it.

/// The names that perflib.h, winperf.h and the headers that they include define. A test checks the list.
const HEADER_NAMES: &str = include_str!("reserved.txt");

/// Predefined macros of gcc, and macros in the C library.
const C_NAMES: &str = "BUFSIZ CHAR_BIT CHAR_MAX CHAR_MIN CLOCKS_PER_SEC EOF EXIT_FAILURE EXIT_SUCCESS FILENAME_MAX \
    FOPEN_MAX INT_MAX INT_MIN LLONG_MAX LLONG_MIN LONG_MAX LONG_MIN MB_CUR_MAX RAND_MAX SCHAR_MAX SCHAR_MIN SEEK_CUR \
    SEEK_END SEEK_SET SHRT_MAX SHRT_MIN SIG_DFL SIG_ERR SIG_IGN TMP_MAX UCHAR_MAX UINT_MAX ULLONG_MAX ULONG_MAX USHRT_MAX \
    WEOF assert complex errno linux setjmp stderr stdin stdout unix va_arg va_copy va_end va_list va_start";

/// Local names in the functions of a generated provider header. They would shadow a handle with the same name.
pub(super) const LOCALS: [&str; 6] = ["provider", "context", "status", "callback", "allocate", "release"];

/// The functions of a generated provider header, without the prefix.
pub(super) const FUNCTIONS: [&str; 2] = ["CounterInitialize", "CounterCleanup"];

/// The reason why C reserves a name; `None` if a manifest can use the name.
pub(super) fn reason_reserved(name: &str) -> Option<&'static str> {
    let is_compiler_name = name.strip_prefix('_').is_some_and(|rest| {
        rest.starts_with('_') || rest.starts_with(|letter: char| letter.is_ascii_uppercase())
    });
    if is_compiler_name {
        return Some(
            "C compilers reserve names that start with two underscores, or with one and a capital letter",
        );
    }
    let is_header_name = HEADER_NAMES.lines().any(|known| known == name);
    if is_header_name {
        return Some("perflib.h or a header that it includes defines this name");
    }
    C_NAMES.split_ascii_whitespace().any(|known| known == name).then_some("C defines this name")
}
