//! What identifies the machine, whatever its name: derived from machine-id(5).

use headwater_os_tools::fingerprint::fingerprint_of;

use super::Source;

/// Captures the identity. `None` if the machine has no id yet, as in many containers.
pub fn capture(source: &Source) -> Option<String> {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(|path| parse_machine_id(&source.read(path)?))
}

/// Returns the identity for the text of an id: 64 bits of the hash of this program's name and the id. The id itself is
/// confidential (machine-id(5)): 2^64 ids have the same hash, so that it does not follow from a run.
pub fn parse_machine_id(text: &str) -> Option<String> {
    let is_id = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_id.then(|| fingerprint_of(&format!("headwater {}", text.to_ascii_lowercase())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_stable_and_does_not_contain_the_id() {
        let id = "0123456789abcdef0123456789abcdef";
        let identity = parse_machine_id(id).expect("an id");
        assert_eq!(identity, "a33b102cfff1d596");
        assert_eq!(parse_machine_id(&id.to_ascii_uppercase()), Some(identity.clone()));
        assert!(!id.contains(&identity[..8]));
        assert_ne!(parse_machine_id("0123456789abcdef0123456789abcdee"), Some(identity));
        // Before the first boot of an image, and what is no id.
        assert!(["uninitialized", "", "0123", "../../etc/passwd"].iter().all(|text| parse_machine_id(text).is_none()));
    }
}
