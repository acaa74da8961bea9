//! The fingerprint of an executable, which tells builds of a program apart, and that of a machine. The command takes both at the
//! start of each run.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Returns the FNV-1a hash of a file, 64 bits in hexadecimal. It distinguishes builds; it does not protect against
/// tampering.
///
/// # Errors
/// If the file cannot be read.
pub fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 1 << 20];
    let mut hash = START;
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(format!("{hash:016x}")),
            count => hash = extended(hash, &piece[..count]),
        }
    }
}

/// Returns the same hash of a text.
pub fn fingerprint_of(text: &str) -> String {
    format!("{:016x}", extended(START, text.as_bytes()))
}

const START: u64 = 0xcbf2_9ce4_8422_2325;

fn extended(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_the_definition() {
        let file = std::env::temp_dir().join(format!("fingerprint-{}", std::process::id()));
        // From the FNV authors' test vectors.
        for (bytes, expected) in [("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8")] {
            std::fs::write(&file, bytes).expect("room on the disk");
            assert_eq!(fingerprint(&file).expect("it is there"), expected, "{bytes}");
            assert_eq!(fingerprint_of(bytes), expected);
        }
        std::fs::remove_file(&file).expect("it is there");
    }
}
