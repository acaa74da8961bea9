//! Calls that a C library may answer without entering the kernel, by the code that the kernel maps into every process
//! (vdso(7)): the call of the library, and the system call itself.

use std::io;

/// Fills `buffer` with random bytes by the C library's `getrandom(3)`; glibc asks the vDSO from version 2.41 on, where the
/// kernel (from 6.11) has it.
///
/// # Errors
/// What `getrandom(2)` reports; `UnexpectedEof` if there were fewer, which does not happen up to 256 bytes.
#[inline]
pub fn random_by_library(buffer: &mut [u8]) -> io::Result<()> {
    // SAFETY: the buffer is writable and as long as that.
    let count = unsafe { libc::getrandom(buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    filled(count, buffer)
}

/// Fills `buffer` with random bytes by the system call `getrandom(2)`.
///
/// # Errors
/// As [`random_by_library`].
#[inline]
pub fn random_by_system_call(buffer: &mut [u8]) -> io::Result<()> {
    // SAFETY: as above.
    let count = unsafe { libc::syscall(libc::SYS_getrandom, buffer.as_mut_ptr(), buffer.len(), 0) };
    filled(count as isize, buffer)
}

fn filled(count: isize, buffer: &[u8]) -> io::Result<()> {
    match usize::try_from(count) {
        Ok(count) if count == buffer.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC` by the C library's `clock_gettime(3)`, which asks the vDSO.
#[inline]
pub fn clock_by_library() -> io::Result<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place for the answer.
    nanoseconds(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) }.into(), &now)
}

/// Nanoseconds of `CLOCK_MONOTONIC` by the system call `clock_gettime(2)`.
#[inline]
pub fn clock_by_system_call() -> io::Result<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    nanoseconds(unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &mut now) }, &now)
}

#[inline]
fn nanoseconds(answer: libc::c_long, now: &libc::timespec) -> io::Result<u64> {
    match answer {
        0 => Ok(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_tell_the_same_time() {
        let readings: Vec<u64> = (0..8)
            .map(|turn| if turn % 2 == 0 { clock_by_library() } else { clock_by_system_call() }.expect("it is told"))
            .collect();
        assert!(readings.is_sorted() && readings[7] - readings[0] < 1_000_000_000, "{readings:?}");
    }

    #[test]
    fn both_ways_fill_the_buffer_with_something_else_each_time() {
        let mut taken = [[0u8; 16]; 4];
        let (by_library, by_call) = taken.split_at_mut(2);
        by_library.iter_mut().for_each(|buffer| random_by_library(buffer).expect("filled"));
        by_call.iter_mut().for_each(|buffer| random_by_system_call(buffer).expect("filled"));
        taken.sort_unstable();
        assert!(taken[0] != [0; 16] && taken.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
