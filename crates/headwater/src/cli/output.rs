//! Standard output and standard error as the subcommands use them. Nothing else in the command writes to them, except
//! the processes that exchange messages with their parent by standard output.
//!
//! A reader that leaves early, as in `headwater list | head -1`, ends the output and is no error. Every other failure
//! is one, and names standard output.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};

/// Prints a line on standard error, as [`say`].
macro_rules! note {
    ($($argument:tt)*) => {
        crate::cli::output::say(&format!($($argument)*))
    };
}
pub(crate) use note;

/// Prints a line on standard error, in which names of runs, which any program may have written, do nothing to the terminal. A
/// standard error that cannot be written is ignored: nothing could say so.
pub(crate) fn say(words: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(words));
}

/// Returns the text with `?` for control characters and for those that turn the direction of the text.
fn harmless(words: &str) -> String {
    let is_harmful = |character: char| {
        (character.is_control() && !matches!(character, '\n' | '\t'))
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    words.chars().map(|character| if is_harmful(character) { '?' } else { character }).collect()
}

/// Returns standard output, locked.
pub(crate) fn out() -> Output {
    Output(io::stdout().lock())
}

/// Standard output, whose errors are [`OutputError`].
pub(crate) struct Output(StdoutLock<'static>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(OutputError::wrap)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(OutputError::wrap)
    }
}

/// Standard output could not be written.
#[derive(Debug)]
struct OutputError(io::Error);

impl OutputError {
    fn wrap(error: io::Error) -> io::Error {
        match error.kind() {
            // `write_all` calls again.
            ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, OutputError(error)),
        }
    }
}

impl Error for OutputError {}

impl Display for OutputError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "standard output: {}", self.0)
    }
}

/// Whether an error says that the reader of standard output has left.
pub(super) fn is_closed(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            let is_ours = error.get_ref().is_some_and(|inner| inner.is::<OutputError>());
            return is_ours && error.kind() == ErrorKind::BrokenPipe;
        }
        // It keeps no more of the error than its kind; the command writes JSON directly to standard output only.
        let of_json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        of_json == Some(ErrorKind::BrokenPipe)
    })
}

/// Whether standard output is a terminal that shows colours, and the user wants them.
pub(super) fn has_colour() -> bool {
    // An empty NO_COLOR is none (no-color.org).
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !super::show::is_dumb() && !is_refused
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn words_do_nothing_to_a_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\u{9b}c\u{202e}\td\n\u{e9}\r"), "a?[2Jb?c?\td\n\u{e9}?");
    }
}
