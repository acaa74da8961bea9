//! The content security policy of the page: the one style sheet and the one script by their hashes, no request to
//! anywhere (Content Security Policy Level 3, section 6.7).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Returns the policy that permits `style` and `script` and nothing else. Images with `data:` and `blob:` addresses are
/// within the file.
pub(super) fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data: blob:; base-uri 'none'; form-action 'none'",
        hash(style),
        hash(script)
    )
}

/// Returns the source expression that matches the text of an element.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn hashes_are_those_of_the_specification() {
        // The example of Content Security Policy Level 2, section 7.17.2.
        assert_eq!(hash("alert('Hello, world.');"), "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=");
    }
}
