//! Long output on a terminal goes through a pager.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Stdout, Write};
use std::process::{Child, Command, Stdio};

use crate::signals;

/// Standard output. On a terminal, output that is longer than the screen goes through the pager of the environment variable
/// PAGER, by default `less`. A pager that the user closes ends the output with an error of kind `BrokenPipe`.
pub(crate) struct PagedOutput {
    /// The output so far, while it fits on the screen.
    pending: Vec<u8>,
    /// The number of lines in `pending`.
    lines: usize,
    to: Target,
}

enum Target {
    /// Whether the output fits on the screen is not known yet.
    Undecided {
        pager: Command,
        max_lines: usize,
    },
    Direct(Stdout),
    Pager(Child),
}

impl PagedOutput {
    /// Uses a pager if `is_wanted`, standard output is a terminal, and PAGER is not empty or `cat`.
    pub(crate) fn new(is_wanted: bool) -> Self {
        let out = io::stdout();
        let height = match is_wanted && out.is_terminal() {
            true => rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_row)),
            false => None,
        };
        let to = match height.filter(|&rows| rows > 1).zip(command(std::env::var_os("PAGER"))) {
            // One line is for the prompt of the shell.
            Some((rows, pager)) => Target::Undecided { pager, max_lines: rows - 1 },
            None => Target::Direct(out),
        };
        Self { pending: Vec::new(), lines: 0, to }
    }

    /// Writes the rest, and waits until the user closes the pager.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if matches!(self.to, Target::Undecided { .. }) {
            self.to = Target::Direct(io::stdout());
        }
        self.flush()
    }

    /// Starts the pager. If it cannot be started, the output goes to the terminal directly.
    fn start(&mut self) {
        if let Target::Undecided { pager, .. } = &mut self.to {
            // Ctrl-C is for the pager. If this process ended first, the pager and the shell would both read the
            // keyboard.
            signals::survive_interrupts();
            self.to = match pager.spawn() {
                Ok(child) => Target::Pager(child),
                Err(_) => Target::Direct(io::stdout()),
            };
        }
    }
}

/// The command of the pager, with a pipe as standard input; `None` for no pager.
fn command(pager: Option<OsString>) -> Option<Command> {
    let pager = pager.unwrap_or_else(|| "less".into());
    let text = pager.to_string_lossy();
    let words: Vec<_> = text.split_whitespace().collect();
    let (program, options) = words.split_first().filter(|(program, _)| **program != "cat")?;
    // Uses no shell where possible, because a shell would report a missing program only after the output was written to it.
    let needs_shell = text.contains(|c: char| "\"'`$\\|&;<>()*?[]{}~#=".contains(c)) || text.contains('\n');
    let mut command = if needs_shell { Command::new("sh") } else { Command::new(program) };
    match needs_shell {
        true => command.arg("-c").arg(&pager),
        false => command.args(options),
    };
    if std::env::var_os("LESS").is_none() {
        // Quit if the text fits on the screen, show colours, and leave the text on the screen.
        command.env("LESS", "FRX");
    }
    command.stdin(Stdio::piped());
    Some(command)
}

impl Write for PagedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        self.lines += bytes.iter().filter(|&&byte| byte == b'\n').count();
        match &self.to {
            Target::Undecided { max_lines, .. } if self.lines <= *max_lines => return Ok(bytes.len()),
            Target::Undecided { .. } => self.start(),
            Target::Direct(_) | Target::Pager(_) => {}
        }
        self.flush()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = match &mut self.to {
            Target::Undecided { .. } => return Ok(()),
            Target::Direct(out) => out.write_all(&self.pending).and_then(|()| out.flush()),
            Target::Pager(child) => match &mut child.stdin {
                Some(pipe) => pipe.write_all(&self.pending),
                None => Ok(()),
            },
        };
        // Cleared even after an error, so that nothing is written twice.
        self.pending.clear();
        outcome
    }
}

impl Drop for PagedOutput {
    fn drop(&mut self) {
        if let Target::Pager(child) = &mut self.to {
            // Closing the pipe ends the pager's input.
            drop(child.stdin.take());
            // The pager's exit status says nothing about this command.
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pager: Option<&str>) -> Option<Vec<String>> {
        let command = command(pager.map(OsString::from))?;
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        Some(words.map(|word| word.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn the_environment_selects_the_pager() {
        let found = |text: &str| words(Some(text)).unwrap_or_default();
        assert_eq!(words(None), Some(vec!["less".to_owned()]));
        assert_eq!([words(Some("")), words(Some("  ")), words(Some("cat"))], [None, None, None]);
        assert_eq!(found("most -s +2"), ["most", "-s", "+2"]);
        assert_eq!(found("LESSCHARSET=utf-8 less"), ["sh", "-c", "LESSCHARSET=utf-8 less"]);
        assert_eq!(found("less | tee 'a b'"), ["sh", "-c", "less | tee 'a b'"]);
    }
}
