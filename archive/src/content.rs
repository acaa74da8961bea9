//! A run's file as parts that are compressed by zlib: a part is small enough for the memory of any machine, and a damaged
//! one can claim no more than its limit.

use anyhow::bail;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::record::BYTES_MAX;

/// The most bytes of a part before it is compressed.
const PART_BYTES_MAX: usize = 4 << 20;

/// Level 6 is zlib's own default.
const LEVEL: u8 = 6;

/// Returns the parts of a file.
pub fn parts(content: &[u8]) -> Vec<Vec<u8>> {
    content.chunks(PART_BYTES_MAX).map(|part| compress_to_vec_zlib(part, LEVEL)).collect()
}

/// Appends what a part contains.
///
/// # Errors
/// If it is damaged.
pub fn append(content: &mut Vec<u8>, part: &[u8]) -> anyhow::Result<()> {
    match decompress_to_vec_zlib_with_limit(part, PART_BYTES_MAX) {
        Ok(part) if (content.len() + part.len()) as u64 > BYTES_MAX => {
            bail!("its file has more than {BYTES_MAX} bytes in the database, the limit of a run")
        }
        Ok(part) => content.extend(part),
        Err(error) => bail!("a part of its file is damaged in the database ({error}); restore it from a backup"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_file_again_and_claim_no_more_than_their_limit() {
        let file: Vec<u8> = (0..PART_BYTES_MAX + 70_000).map(|at| (at * at / 7) as u8).collect();
        let compressed = parts(&file);
        assert_eq!(compressed.len(), 2);
        let mut again = Vec::new();
        compressed.iter().for_each(|part| append(&mut again, part).expect("whole"));
        assert_eq!(again, file);
        assert!(append(&mut again, &compressed[0][..1000]).is_err(), "torn");
        assert!(append(&mut again, &compress_to_vec_zlib(&vec![0; PART_BYTES_MAX + 1], 6)).is_err(), "too large");
    }
}
