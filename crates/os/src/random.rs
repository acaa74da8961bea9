//! Numbers that no other process can guess.

use std::io;

/// Returns 64 random bits.
///
/// # Errors
/// The errors of getrandom(2).
pub fn number() -> io::Result<u64> {
    let mut bytes = [0; 8];
    let mut count = 0;
    while count < bytes.len() {
        let rest = &mut bytes[count..];
        // SAFETY: the kernel writes at most `rest.len()` bytes.
        match unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) } {
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            more => count += more.unsigned_abs(),
        }
    }
    Ok(u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_differ() {
        let numbers: std::collections::HashSet<u64> = (0..100).map(|_| super::number().expect("getrandom")).collect();
        assert_eq!(numbers.len(), 100);
        assert!(numbers.iter().any(|number| number >> 63 == 1) && numbers.iter().any(|number| number & 1 == 1));
    }
}
