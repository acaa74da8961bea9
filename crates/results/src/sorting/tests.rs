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
