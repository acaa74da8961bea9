//! The text of the files that say where the parts of a recording begin: a signature, lines of a word and numbers, and a last line, so
//! that a file that was cut is noticed. Those of programs (`consumer/parts.rs`) and of the kernel (`kernel/parts.rs`) have it.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use headwater_os::files::private;
use headwater_os::plain_file;

/// The last line.
const END: &str = "end\n";

/// A line: what it says, and its numbers.
pub(crate) type Line<'t> = (&'t str, Vec<u64>);

/// Returns the text with these lines.
pub(crate) fn to_text<'t>(signature: &str, lines: impl IntoIterator<Item = Line<'t>>) -> String {
    let mut text = format!("{signature}\n");
    for (what, numbers) in lines {
        text.push_str(what);
        numbers.iter().for_each(|number| write!(text, " {number}").expect("a String takes everything"));
        text.push('\n');
    }
    text + END
}

/// The most bytes of such a file: a line for every CPU of every part that is kept.
const BYTES_MAX: u64 = 64 << 20;

/// Returns the text of a file; none if there is no file.
///
/// Errors: those of the file system.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    match plain_file::read_text(path, BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Returns the lines of a text. `None` if it has another signature, has no such lines, or was cut.
pub(crate) fn parse<'t>(signature: &str, text: &'t str) -> Option<Vec<Line<'t>>> {
    let lines = text.strip_prefix(signature)?.strip_suffix(END)?.lines().filter(|line| !line.is_empty());
    let line = |line: &'t str| {
        let (what, numbers) = line.split_once(' ')?;
        Some((what, numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?))
    };
    lines.map(line).collect()
}

/// Replaces a file by one with this text, which is written under a hidden name first.
///
/// Errors: those of the file system; then the file is as it was.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = &path.with_file_name(format!(".{name}.new"));
    // What a killed process has left there, or another user: it may be a symbolic link.
    let _ = fs::remove_file(new);
    let file = private().write(true).create_new(true).open(new);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.and_then(|()| fs::rename(new, path)).inspect_err(|_| drop(fs::remove_file(new)))
}
