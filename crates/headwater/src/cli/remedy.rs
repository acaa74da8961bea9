//! What a user can do about an error of the system. Called where an error is printed.
//!
//! It reads the number of the error in the text, because many errors come as text: from a conductor, or from a program
//! that is measured.

use rustix::io::Errno;

/// The remedies by the number of the error.
const TABLE: [(Errno, &str); 14] = [
    (Errno::NOENT, "check the name, and that its directory exists"),
    (Errno::ACCESS, "this user may not do that: change its permissions, or be another user"),
    (Errno::PERM, "this user may not do that: run it as root, or as the owner"),
    (Errno::ROFS, "write elsewhere, or mount it for writing"),
    (Errno::NOSPC, "make room there, or write elsewhere"),
    (Errno::DQUOT, "make room there, or write elsewhere"),
    (Errno::FBIG, "allow larger files: `ulimit -f unlimited`"),
    (Errno::MFILE, "allow more open files: `ulimit -n 1024`"),
    (Errno::NFILE, "the machine has too many open files: end programs, or raise fs.file-max"),
    (Errno::NOTDIR, "a part of the path is a file: name another"),
    (Errno::ISDIR, "that is a directory: name a file in it"),
    (Errno::EXIST, "name another place"),
    (Errno::NAMETOOLONG, "choose a shorter name"),
    (Errno::NOMEM, "free memory, or choose fewer or smaller sizes"),
];

/// Adds the remedy to what was said, if that ends with an error of the system and names no remedy.
pub(super) fn add(said: String) -> String {
    match number(&said).and_then(|number| TABLE.iter().find(|(errno, _)| errno.raw_os_error() == number)) {
        Some((_, remedy)) => format!("{said}; {remedy}"),
        None => said,
    }
}

/// Returns the number of the error with which a text ends, as the standard library prints it.
fn number(said: &str) -> Option<i32> {
    said.strip_suffix(')')?.rsplit_once("(os error ")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_gets_its_remedy_once() {
        let full = std::io::Error::from(Errno::NOSPC).to_string();
        let said = add(format!("r/run.jsonl: {full}"));
        assert_eq!(said, format!("r/run.jsonl: {full}; make room there, or write elsewhere"));
        assert_eq!(add(said.clone()), said);
        let other = std::io::Error::from(Errno::DOM).to_string();
        assert_eq!(add(other.clone()), other, "nothing is known to help");
        assert_eq!(add("42)".to_owned()), "42)");
    }
}
