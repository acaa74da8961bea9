//! The mappings of this process (/proc/self/maps), read without calling the C library and without allocating.

use std::os::fd::IntoRawFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{close, read};

/// The number of bytes of /proc/self/maps that are read at once. Longer lines are ignored.
const PIECE: usize = 1024;

/// A line of /proc/self/maps (proc_pid_maps(5)).
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping<'a> {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub is_executable: bool,
    /// The inode of the file.
    pub inode: u64,
    pub path: &'a [u8],
}

/// Calls `visit` for each mapping until it returns false. Does not change errno: its system calls bypass the C library, whose
/// functions the program may have replaced, also by ours.
pub(super) fn each_mapping(mut visit: impl FnMut(Mapping<'_>) -> bool) {
    let Ok(file) = open(c"/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return };
    let (mut piece, mut filled, mut is_skipped) = ([0_u8; PIECE], 0, false);
    let mut goes_on = true;
    while goes_on {
        let Ok(read @ 1..) = read(&file, &mut piece[filled..]) else { break };
        filled += read;
        let mut from = 0;
        while let Some(len) = piece[from..filled].iter().position(|byte| *byte == b'\n').filter(|_| goes_on) {
            if !std::mem::replace(&mut is_skipped, false)
                && let Some(mapping) = parse(&piece[from..from + len])
            {
                goes_on = visit(mapping);
            }
            from += len + 1;
        }
        if from == 0 && filled == PIECE {
            (from, is_skipped) = (filled, true);
        }
        piece.copy_within(from..filled, 0);
        filled -= from;
    }
    // SAFETY: this function owns the descriptor, which is not used any more.
    unsafe { close(file.into_raw_fd()) };
}

pub(super) fn parse(line: &[u8]) -> Option<Mapping<'_>> {
    let mut words = line.splitn(6, |byte| *byte == b' ');
    let mut range = words.next()?.split(|byte| *byte == b'-');
    let [start, end] = [number(range.next()?)?, number(range.next()?)?];
    let is_executable = words.next()?.get(2) == Some(&b'x');
    let offset = number(words.next()?)?;
    let inode = str::from_utf8(words.nth(1)?).ok()?;
    // A line without a file ends after the inode.
    let (inode, path) = (inode.trim_ascii().parse().ok()?, words.next().unwrap_or_default().trim_ascii());
    Some(Mapping { start, end, offset, is_executable, inode, path })
}

/// Parses a hexadecimal number.
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |sum, digit| Some(sum << 4 | u64::from(char::from(*digit).to_digit(16)?)))
}
