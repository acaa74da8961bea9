use std::cmp::Ordering;

use super::natural;

#[test]
fn numbers_in_names_are_compared_as_numbers() {
    let cases = [
        ("6.9.1", "6.12.0", Ordering::Less),
        ("6.12.0-rc2", "6.12.0-rc10", Ordering::Less),
        ("6.12", "6.12.1", Ordering::Less),
        ("6.12.0-rc2", "6.12.0", Ordering::Less),
        ("6.12.0", "6.12.0-arch1", Ordering::Less),
        ("6.12.0-rc9", "6.12.0-arch1", Ordering::Less),
        ("host-2", "host-10", Ordering::Less),
        ("5.10.0", "5.10.0", Ordering::Equal),
        ("b1", "a2", Ordering::Greater),
    ];
    for (one, other, expected) in cases {
        assert_eq!(natural(one, other), expected, "{one} {other}");
        assert_eq!(natural(other, one), expected.reverse(), "{other} {one}");
    }
}
