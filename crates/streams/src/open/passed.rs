//! An end that a program gets from the process that starts it: its descriptors are inherited, and an environment
//! variable contains their numbers. The numbers alone are not trusted: the variable also names their files and the end.
//!
//! The value: `headwater-stream`, the end's id, and each descriptor as NUMBER:INODE, in the order in which they are sent over a
//! socket.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

use headwater_os::fork_mutex::ForkMutex;
use headwater_os::{descriptors, environment, inherit};

use super::admission::Admission;
use super::device::DeviceOptions;
use crate::error::{Errno, Error, Result};
use crate::head::handle::Handle;
use crate::stream::Stream;

/// The beginning of the variable's value.
const MAGIC: &str = "headwater-stream";
/// Descriptors of an end, at most: those of a device of a driver with files.
const DESCRIPTORS_MAX: usize = 9;

/// Passes ends to a program that [`Command`] starts.
///
/// ```no_run
/// use headwater_streams::{CommandStream, Stream, pipe};
///
/// # fn parent() -> std::io::Result<()> {
/// // The parent:
/// let (near, far) = pipe()?;
/// let child = std::process::Command::new("worker").stream("WORK", &far)?.spawn()?;
/// # Ok(()) }
/// # fn child() -> std::io::Result<()> {
///
/// // The child, at its start:
/// let work = Stream::from_env("WORK")?;
/// # Ok(()) }
/// ```
///
/// For a command of tokio: `command.as_std_mut().stream(..)`.
pub trait CommandStream {
    /// Makes the programs that this command starts inherit this end, as [`Stream::from_env`] of `name`. The command
    /// holds a copy of the end's descriptors until it is dropped, so drop it, and `end`, before waiting for the end of
    /// the stream.
    ///
    /// # Errors
    /// `EINVAL` for a name that no environment variable can have; `EBADF` for an end that was closed; `EMFILE` without two to
    /// nine free descriptors.
    fn stream(&mut self, name: &str, end: &Stream) -> Result<&mut Self>;
}

impl CommandStream for Command {
    fn stream(&mut self, name: &str, end: &Stream) -> Result<&mut Command> {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Error::new(Errno::Inval, format!("{name:?} is no name of an environment variable")));
        }
        let handle = end.new_handle();
        handle.end.check_open()?;
        let files = || handle.end.endpoint.descriptors();
        let numbers = inherit::pass(self, files())?;
        let mut value = format!("{MAGIC} {:x}", handle.id());
        for (number, file) in numbers.into_iter().zip(files()) {
            value.push_str(&format!(" {number}:{}", descriptors::inode(file)?));
        }
        Ok(self.env(name, value))
    }
}

impl Stream {
    /// Describes this end's descriptors in words, for a program that inherits them under their present numbers
    /// ([`Stream::set_inheritable`]) and takes the end up by [`Stream::from_text`]. [`CommandStream::stream`] does it all for a
    /// program that a [`Command`] starts.
    ///
    /// ```
    /// use headwater_streams::{Errno, Stream, pipe};
    ///
    /// let (near, far) = pipe()?;
    /// assert!(far.to_text()?.starts_with("headwater-stream "));
    /// assert_eq!(Stream::from_text("headwater").unwrap_err().errno(), Errno::Inval);
    /// # Ok::<(), headwater_streams::Error>(())
    /// ```
    ///
    /// # Errors
    /// What fstat(2) reports; `EBADF` for an end that was closed.
    pub fn to_text(&self) -> Result<String> {
        let handle = self.new_handle();
        handle.end.check_open()?;
        let mut text = format!("{MAGIC} {:x}", handle.id());
        for file in handle.end.endpoint.descriptors() {
            text.push_str(&format!(" {}:{}", file.as_raw_fd(), descriptors::inode(file)?));
        }
        Ok(text)
    }

    /// Takes up an inherited end by its description, once. The description is not trusted blindly, as in [`Stream::from_env`].
    ///
    /// # Errors
    /// `EINVAL` for a text of another form; else as [`Stream::from_env`].
    #[doc = include_str!("../../doc/exec.md")]
    pub fn from_text(text: &str) -> Result<Stream> {
        Passed::described(text)?.take("the description")
    }

    /// As [`Stream::from_text`], for several ends that may have descriptors in common, as both ends of a pipe have its memory.
    ///
    /// ```
    /// use headwater_streams::{Errno, Stream};
    ///
    /// let [one, other] = &Stream::from_texts(&["headwater", "water"])[..] else { unreachable!() };
    /// assert!([one, other].iter().all(|end| end.as_ref().is_err_and(|error| error.errno() == Errno::Inval)));
    /// ```
    pub fn from_texts(texts: &[&str]) -> Vec<Result<Stream>> {
        let mut files: Vec<(u32, u64)> = Vec::new();
        let one = |text: &&str| {
            let passed = Passed::described(text)?;
            let end = passed.end("the description", inherit::copy)?;
            files.extend(&passed.files);
            Ok(end)
        };
        let ends = texts.iter().map(one).collect();
        files.sort_unstable();
        files.dedup();
        for (number, inode) in files {
            // The ends have their own; one that cannot be taken is left to the program.
            let _ = inherit::take(number, inode);
        }
        ends
    }

    /// The end that the process that started this program has passed under this name ([`CommandStream::stream`]). It can be
    /// taken once: its descriptors are not passed on to programs that this one starts, and the variable is removed as long as
    /// this process has one thread.
    ///
    /// The variable is not trusted blindly. A descriptor that has become another file, because a program in between
    /// closed it and opened something else, is refused and left alone. A program with more rights than its starter
    /// (set-user-ID) reads no variable.
    ///
    /// ```
    /// use headwater_streams::{Errno, Stream};
    ///
    /// let error = Stream::from_env("NOT_PASSED").unwrap_err();
    /// assert_eq!(error.errno(), Errno::Noent);
    /// ```
    ///
    /// # Errors
    /// `ENOENT` without the variable; `EINVAL` if its value is not of this form; `EBADF` if a descriptor is not open, as after
    /// a first call; `ENOSTR` if it is another file, or not of that stream; `EPROTO` for a stream of another version of the
    /// library.
    pub fn from_env(name: &str) -> Result<Stream> {
        // Two threads must not both take the numbers, which may belong to another file after the first.
        static TAKING: ForkMutex<()> = ForkMutex::new(());
        TAKING.with(|()| Stream::take_from_env(name))
    }

    fn take_from_env(name: &str) -> Result<Stream> {
        let value = environment::trusted(name).ok_or_else(|| {
            let why =
                format!("no stream was passed as {name}: the environment has no such variable that may be trusted");
            Error::new(Errno::Noent, why)
        })?;
        let value = value.to_string_lossy();
        let passed = Passed::of(&value).ok_or_else(|| {
            Error::new(Errno::Inval, format!("the environment variable {name} names no stream: its value is {value:?}"))
        })?;
        let taken = passed.take(name);
        // It names nothing any more. If it cannot be removed, a later call that uses it is refused as well.
        environment::forget(name);
        taken
    }
}

/// The contents of the variable.
#[derive(Debug, PartialEq, Eq)]
struct Passed {
    id: u64,
    /// Number and inode of each descriptor.
    files: Vec<(u32, u64)>,
}

impl Passed {
    fn of(value: &str) -> Option<Passed> {
        let mut words = value.split(' ');
        if words.next() != Some(MAGIC) {
            return None;
        }
        let id = u64::from_str_radix(words.next()?, 16).ok()?;
        let file = |word: &str| {
            let (number, inode) = word.split_once(':')?;
            Some((number.parse().ok()?, inode.parse().ok()?))
        };
        let files = words.map(file).collect::<Option<Vec<(u32, u64)>>>()?;
        (2..=DESCRIPTORS_MAX).contains(&files.len()).then_some(Passed { id, files })
    }

    /// Errors: `EINVAL` for a text of another form.
    fn described(text: &str) -> Result<Passed> {
        let why = || Error::new(Errno::Inval, format!("{text:?} does not describe a stream's descriptors"));
        Passed::of(text).ok_or_else(why)
    }

    /// Takes the descriptors, all of them or none.
    fn take(&self, name: &str) -> Result<Stream> {
        for &(number, inode) in &self.files {
            let file = descriptors::duplicate(number);
            let file = file.map_err(|error| {
                let why = format!("descriptor {number}, which {name} names, cannot be used: {error}. It is taken once");
                Error::new(Error::from(error).errno(), why)
            })?;
            if descriptors::inode(&file)? != inode {
                return Err(other_file(name, number));
            }
        }
        self.end(name, inherit::take)
    }

    /// The end of what `take` gives for each descriptor.
    fn end(&self, name: &str, take: impl Fn(u32, u64) -> std::io::Result<Option<OwnedFd>>) -> Result<Stream> {
        let file = |&(number, inode): &(u32, u64)| take(number, inode)?.ok_or_else(|| other_file(name, number));
        let files = self.files.iter().map(file).collect::<Result<_>>()?;
        let handle = Handle::of_files(files, Admission::described(), &DeviceOptions::new())?;
        if handle.id() != self.id {
            let why = format!("{name} names another stream than its descriptors are");
            return Err(Error::new(Errno::Nostr, why));
        }
        Ok(handle.into())
    }
}

fn other_file(name: &str, number: u32) -> Error {
    let why = format!(
        "descriptor {number}, which {name} names as a stream's, is another file now: a program in between has closed it"
    );
    Error::new(Errno::Nostr, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_form_is_refused() {
        let good = "headwater-stream 1f 5:70 6:71";
        assert_eq!(Passed::of(good), Some(Passed { id: 0x1f, files: vec![(5, 70), (6, 71)] }));
        for bad in [
            "",
            "headwater-stream",
            "headwater-stream 1f",
            "headwater-stream 1f 5:70",
            "other 1f 5:70 6:71",
            "headwater-stream x 5:70 6:71",
            "headwater-stream 1f 5:70 6:",
            "headwater-stream 1f 5:70 -6:71",
            "headwater-stream 1f 5:70  6:71",
            "headwater-stream 1f 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10",
        ] {
            assert_eq!(Passed::of(bad), None, "{bad:?}");
        }
    }
}
