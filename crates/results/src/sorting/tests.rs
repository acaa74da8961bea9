use super::*;
use crate::random::Random;

#[test]
fn the_order_is_that_of_the_standard_library_and_stable() {
    let mut random = Random::new(7);
    for count in (0..40).chain([1000]) {
        // Few keys, so that most of them are equal; the second word tells equal ones apart.
        let list: Vec<(u64, usize)> = (0..count).map(|place| (random.below(5), place)).collect();
        let (mut expected, mut by_key, mut by) = (list.clone(), list.clone(), list);
        expected.sort_by_key(|&(key, _)| key);
        by_key.arrange_by_key(|&(key, _)| key);
        assert_eq!(by_key, expected);
        expected.sort_by_key(|item| std::cmp::Reverse(item.0));
        by.arrange_by(|one, other| other.0.cmp(&one.0));
        assert_eq!(by, expected);
    }
}

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
