//! Standard output and standard error as the subcommands use them. Nothing else in the command writes to them, except
//! the processes that exchange messages with their parent by standard output.
//!
//! Whatever other users have named is printed here, so unfit characters are escaped here ([`printable`]), in text and in JSON.
//!
//! A reader that leaves early, as in `headwater list | head -1`, ends the output and is no error. Every other failure
//! is one, and names standard output.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};

use headwater_results::foreign::printable;

/// Prints a line on standard error, as [`say`].
macro_rules! note {
    ($($argument:tt)*) => {
        crate::cli::output::say(&format!($($argument)*))
    };
}
pub(crate) use note;

/// Prints a line on standard error. A standard error that cannot be written is ignored: nothing could say so.
pub(crate) fn say(words: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(words));
}

/// Returns standard output, locked, for text and JSON.
pub(crate) fn out() -> Output {
    Escaped(raw())
}

/// Returns standard output, locked, for what is harmless or no text: finished pages, which may have colours, and other formats.
pub(crate) fn raw() -> Raw {
    Raw(io::stdout().lock())
}

/// Standard output for text.
pub(crate) type Output = Escaped<Raw>;

/// Escapes what is written as text or JSON. A character must be written as a whole, as `write!` and buffers of the standard library do.
pub(crate) struct Escaped<W>(pub(crate) W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for chunk in bytes.utf8_chunks() {
            self.0.write_all(printable(chunk.valid()).as_bytes())?;
            for byte in chunk.invalid() {
                write!(self.0, "\\x{byte:02x}")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Standard output, whose errors are [`OutputError`].
pub(crate) struct Raw(StdoutLock<'static>);

impl Write for Raw {
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
    use std::io::Write;

    use super::Escaped;

    #[test]
    fn what_is_written_does_nothing_to_a_terminal() {
        let mut text = Vec::new();
        Escaped(&mut text).write_all(b"a\x1b[2J\xc2\x9b \xff\xe2\x80\xae\td\n\xc3\xa9\r").expect("memory");
        assert_eq!(String::from_utf8(text).expect("a text"), "a\\u001b[2J\\u009b \\xff\\u202e\td\n\u{e9}\\u000d");
    }
}
