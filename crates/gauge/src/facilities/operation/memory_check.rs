//! Checks that there is enough memory for an operation before it is allocated. A process that exhausts the machine or
//! its control group is killed; a row that is skipped reports the reason.

use headwater_os_tools::machine::available_bytes;

use crate::transports::Unavailable;

/// Bytes that must remain for other processes.
const RESERVE: u64 = 32 << 20;

/// Checks that `bytes` of memory are available.
///
/// # Errors
/// [`Unavailable`] with both numbers if they are not.
pub fn need(bytes: u64) -> Result<(), Unavailable> {
    enough(bytes, available_bytes())
}

fn enough(bytes: u64, available: Option<u64>) -> Result<(), Unavailable> {
    match available {
        Some(available) if available < bytes.saturating_add(RESERVE) => Err(Unavailable(format!(
            "needs {} MiB of memory beside a reserve of {}; {} are available",
            bytes >> 20,
            RESERVE >> 20,
            available >> 20
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_beyond_the_reserve_is_refused_with_the_numbers() {
        assert_eq!(enough(8 << 20, Some(40 << 20)), Ok(()));
        assert_eq!(enough(u64::MAX, None), Ok(()), "available memory unknown");
        let refused = enough(9 << 20, Some(40 << 20)).expect_err("too little").to_string();
        assert_eq!(refused, "needs 9 MiB of memory beside a reserve of 32; 40 are available");
        assert!(enough(u64::MAX, Some(1 << 40)).is_err());
    }
}
