//! Passes streams to a new program. The kernel keeps the program's descriptors of a stream open; exec keeps the
//! stream's own descriptors open too, and an environment variable says which of them belong to which of the program's
//! descriptors.
//!
//! The variable has an entry for each stream, with `;` between entries. An entry is the program's descriptors with
//! commas between, `r`, `w` or `rw` for the mode, `=`, and the words of [`Stream::to_text`]. A value that is too long
//! for a variable is stored in a sealed memfd, which is inherited too; the variable is then `@`, the memfd's
//! descriptor, `:` and its inode. The library of the new program checks what the variable says, and a program with more
//! rights than its starter does not read it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int};
use std::fmt::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use headwater_os::{descriptors, environment, inherit, sealed_bytes};
use headwater_streams::Stream;

use crate::errno::{Called, guarded};
use crate::own::hw_own_fcntl;
use crate::startup;
use crate::table::{self, Mode};

/// The name of the variable.
const VARIABLE: &str = "HEADWATER_STREAMS";

/// The longest value in bytes that is written in the variable. The kernel allows 128 KiB for one string, and a quarter
/// of the stack's limit for all.
const VALUE_MAX: usize = 32 << 10;
/// The longest value in bytes in a memfd, which suffices if all descriptors are streams.
const CONTENTS_MAX: usize = table::FDS_MAX * 512;

/// Returns whether a string of an environment is this variable.
pub fn is_variable(text: &CStr) -> bool {
    text.to_bytes().strip_prefix(VARIABLE.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
}

/// The descriptors that are streams, and for each whether exec closes it.
#[derive(Debug, Default)]
pub struct OpenFds(BTreeMap<c_int, (Kept, bool)>);

/// A stream, and what the program may do with it.
pub type Kept = (Stream, Mode);

/// Returns the descriptors of this process that are streams.
pub fn open_fds() -> OpenFds {
    table::changing(|changes| {
        let each = changes.streams().map(|(fd, open)| {
            // SAFETY: F_GETFD takes no pointer and changes nothing.
            let flags = unsafe { hw_own_fcntl(fd, libc::F_GETFD, 0) };
            // SAFETY: a stream in the table is not freed while the table is locked.
            (fd, (unsafe { ((*open).stream.clone(), (*open).mode) }, flags & libc::FD_CLOEXEC != 0))
        });
        OpenFds(each.collect())
    })
}

/// Returns the descriptors that exec leaves open.
pub fn kept_open() -> Vec<(c_int, Kept)> {
    open_fds().kept_by_exec()
}

impl OpenFds {
    pub fn close(&mut self, fd: c_int) {
        self.0.remove(&fd);
    }

    pub fn close_from(&mut self, first: c_int) {
        self.0.retain(|fd, _| *fd < first);
    }

    /// Applies dup2(2) as a file action: a descriptor that is copied to itself stays open in the new program.
    pub fn copy(&mut self, fd: c_int, other: c_int) {
        match self.0.get(&fd).map(|(stream, _)| stream.clone()) {
            Some(stream) => drop(self.0.insert(other, (stream, false))),
            None => self.close(other),
        }
    }

    pub fn kept_by_exec(self) -> Vec<(c_int, Kept)> {
        let kept = self.0.into_iter().filter(|(_, (_, closed))| !closed);
        kept.map(|(fd, (stream, _))| (fd, stream)).collect()
    }
}

/// Streams whose descriptors a new program inherits.
#[derive(Debug)]
pub struct Passed {
    streams: Vec<(Kept, Vec<c_int>)>,
    /// The value of the variable; `None` if there is no stream.
    value: Option<String>,
    /// The memfd with the long value, if `value` names one.
    _contents: Option<OwnedFd>,
}

/// Makes the own descriptors of these streams inheritable by the next program.
pub fn pass(fds: Vec<(c_int, Kept)>) -> Passed {
    let mut streams: Vec<(Kept, Vec<c_int>)> = Vec::new();
    for (fd, stream) in fds {
        match streams.iter_mut().find(|((known, _), _)| known.is_same(&stream.0)) {
            Some((_, fds)) => fds.push(fd),
            None => streams.push((stream, vec![fd])),
        }
    }
    for ((stream, _), _) in &streams {
        // If this fails, the new program has its descriptor alone, and finds no stream there.
        let _ = stream.set_inheritable(true);
    }
    let value = described(&streams);
    // If there is no memfd, the kernel may find the variable too long: then the start of the program fails with E2BIG.
    match if value.len() > VALUE_MAX { in_memory(&value).ok() } else { None } {
        Some((value, contents)) => Passed { streams, value: Some(value), _contents: Some(contents) },
        None => Passed { streams, value: Some(value).filter(|value| !value.is_empty()), _contents: None },
    }
}

/// Returns the value that describes these streams.
fn described(streams: &[(Kept, Vec<c_int>)]) -> String {
    let mut value = String::new();
    for ((stream, mode), fds) in streams {
        let Ok(text) = stream.to_text() else { continue };
        let fds = fds.iter().map(c_int::to_string).collect::<Vec<_>>().join(",");
        let separator = if value.is_empty() { "" } else { ";" };
        let mode = [if mode.reads { "r" } else { "" }, if mode.writes { "w" } else { "" }].concat();
        let _ = write!(value, "{separator}{fds}{mode}={text}");
    }
    value
}

/// Stores a long value in a memfd. Returns the value that names the memfd, and the memfd.
fn in_memory(value: &str) -> std::io::Result<(String, OwnedFd)> {
    let contents = sealed_bytes::create("headwater-passed", value.as_bytes())?;
    descriptors::set_inheritable(contents.as_fd(), true)?;
    Ok((format!("@{}:{}", contents.as_raw_fd(), descriptors::inode(&contents)?), contents))
}

impl Passed {
    /// Returns whether the new program gets a stream.
    pub fn is_any(&self) -> bool {
        self.value.is_some()
    }

    /// Returns the variable as NAME=VALUE; `None` if there is no stream.
    pub fn variable(&self) -> Option<CString> {
        CString::new(format!("{VARIABLE}={}", self.value.as_ref()?)).ok()
    }

    /// Makes the descriptors close on exec again. Called when no program was started, or when the new program has its
    /// own copies.
    pub fn take_back(self) {
        for ((stream, _), _) in &self.streams {
            let _ = stream.set_inheritable(false);
        }
    }
}

/// Opens the streams that this program has inherited.
pub fn take_up() {
    let Some(value) = environment::trusted(VARIABLE) else { return };
    startup::prepare();
    environment::forget(VARIABLE);
    let value = value.to_string_lossy();
    let Some(value) = in_full(&value) else { return };
    let entries: Vec<(&str, &str)> = value.split(';').filter_map(|entry| entry.split_once('=')).collect();
    let texts: Vec<&str> = entries.iter().map(|(_, text)| *text).collect();
    let ends = guarded(|| Ok(Stream::from_texts(&texts))).unwrap_or_default();
    // A stream whose descriptors were closed by a program in between is left out.
    for ((fds, _), end) in entries.iter().zip(ends).filter_map(|(entry, end)| Some((entry, end.ok()?))) {
        let _ = guarded(|| take_one(fds, end));
    }
}

/// Returns the full value. If the variable names a memfd, the value is read from there, and the memfd is closed: a
/// program that this one starts gets another.
fn in_full(value: &str) -> Option<Cow<'_, str>> {
    let Some(place) = value.strip_prefix('@') else { return Some(value.into()) };
    let (fd, inode) = place.split_once(':')?;
    let contents = inherit::take(fd.parse().ok()?, inode.parse().ok()?).ok()??;
    let bytes = sealed_bytes::read(&contents, CONTENTS_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned().into())
}

fn take_one(fds: &str, stream: Stream) -> Called<()> {
    let mode = Mode { reads: fds.contains('r'), writes: fds.contains('w') };
    let fds: Vec<c_int> = fds.trim_end_matches(['r', 'w']).split(',').filter_map(|fd| fd.parse().ok()).collect();
    table::adopt(stream, mode, &fds)
}
