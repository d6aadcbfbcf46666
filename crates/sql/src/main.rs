//! `tacho-sql`: SQL over performance logs and archives.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tachograph_sql::main()
}
