use proptest::prelude::*;

use super::super::fixtures::{HEADER_PAGE, OVERWRITTEN, OVERWRITTEN_EVENTS, WHOLE};
use super::*;

fn layout() -> Layout {
    Layout::parse(HEADER_PAGE).expect("the kernel's own text")
}

/// Returns a page with this length word after the time stamp, and these words of data.
fn page(time: u64, commit: u64, data: &[u32]) -> Vec<u8> {
    let mut page = [time.to_le_bytes(), commit.to_le_bytes()].concat();
    page.extend(data.iter().flat_map(|word| word.to_le_bytes()));
    page.resize(layout().page_bytes(), 0);
    page
}

/// Checks the events of a page with this data, and whether it is torn.
fn check(data: &[u32], expect: &[(u64, usize)], torn: bool) {
    let page = page(1000, data.len() as u64 * 4, data);
    let mut events = Page::new(&page, &layout()).expect("a whole page").events();
    let seen: Vec<(u64, usize)> = events.by_ref().map(|(time, content)| (time, content.len())).collect();
    assert_eq!((seen.as_slice(), events.torn()), (expect, torn), "{data:x?}");
}

fn first(kind: u32, delta: u32) -> u32 {
    delta << 5 | kind
}

#[test]
fn events_have_their_time_and_their_length() {
    check(&[], &[], false);
    check(&[first(1, 5), 7, first(2, 0), 7, 7], &[(1005, 4), (1005, 8)], false);
    // A length in a word of its own, which includes that word.
    check(&[first(0, 1), 12, 7, 7, first(1, 1), 7], &[(1001, 8), (1002, 4)], false);
    // 2^27 ticks and 3 more, then an absolute time.
    check(&[first(30, 3), 1, first(1, 1), 7], &[(1004 + (1 << 27), 4)], false);
    check(&[first(31, 3), 1, first(1, 1), 7], &[(4 + (1 << 27), 4)], false);
    // A discarded event, then unused space.
    check(&[first(29, 2), 8, 7, first(1, 1), 7, first(29, 0), 9, 9], &[(1003, 4)], false);
}

#[test]
fn an_invalid_event_ends_the_page() {
    check(&[first(28, 1), 7], &[], true);
    check(&[first(1, 1), 7, first(0, 1)], &[(1001, 4)], true);
    check(&[first(0, 1), 3, 7], &[], true);
    check(&[first(0, 1), 0, 7], &[], true);
    check(&[first(0, 1), u32::MAX, 7], &[], true);
    check(&[first(29, 1), u32::MAX, 7], &[], true);
    check(&[first(30, 1)], &[], true);
    let long = page(0, 4081, &[]);
    let mut events = Page::new(&long, &layout()).expect("a whole page").events();
    assert!(events.by_ref().count() < 4080 && events.torn());
}

#[test]
fn losses_are_flagged_in_the_length_word() {
    let missed = |commit: u64, data: &[u32]| Page::new(&page(0, commit, data), &layout()).expect("whole").missed;
    let data = [first(1, 1), 7, 42, 0];
    assert_eq!(missed(8, &data), Missed::Nothing);
    assert_eq!(missed(8 | 1 << 31, &data), Missed::Some);
    assert_eq!(missed(8 | 1 << 31 | 1 << 30, &data), Missed::Counted(42));
    assert_eq!(missed(4080 | 1 << 31 | 1 << 30, &[]), Missed::Some, "no room for a count");
}

#[test]
fn absolute_times_take_the_high_bits_from_the_time_before() {
    assert_eq!(stamp(0, 5), 5);
    assert_eq!(stamp(3 << 59, 5), 3 << 59 | 5);
    assert_eq!(stamp(3 << 59 | 9, 5), 4 << 59 | 5, "it went over");
}

#[test]
fn an_unknown_layout_is_refused() {
    for (of, other) in
        [("offset:0;\tsize:8", "offset:4;\tsize:8"), ("local_t commit", "local_t fate"), ("size:4080", "size:0")]
    {
        assert!(HEADER_PAGE.contains(of));
        assert_eq!(Layout::parse(&HEADER_PAGE.replace(of, other)), None, "{of}");
    }
    assert!(Page::new(&[0; 4095], &layout()).is_none());
}

#[test]
fn the_kernels_own_count_of_what_it_overwrote_is_found() {
    let page = Page::new(OVERWRITTEN, &layout()).expect("a page");
    assert_eq!(page.missed, Missed::Counted(OVERWRITTEN_EVENTS.trim().parse().expect("a number")));
}

proptest! {
    #[test]
    fn random_pages_are_parsed_safely(mut bytes in prop::collection::vec(any::<u8>(), 4096), commit in any::<u16>()) {
        bytes[8..16].copy_from_slice(&u64::from(commit).to_le_bytes());
        walk(&bytes)?;
    }

    #[test]
    fn damaged_pages_are_parsed_safely(changes in prop::collection::vec((0..8192usize, any::<u8>()), 1..40)) {
        let mut bytes = WHOLE.to_vec();
        changes.into_iter().for_each(|(at, value)| bytes[at] = value);
        bytes.chunks(4096).try_for_each(walk)?;
    }
}

fn walk(bytes: &[u8]) -> Result<(), TestCaseError> {
    let events: Vec<_> = Page::new(bytes, &layout()).expect("a whole page").events().collect();
    // No event is shorter than its first word.
    prop_assert!(events.len() <= 4080 / 4);
    prop_assert!(events.iter().map(|(_, content)| content.len() + 4).sum::<usize>() <= 4080);
    Ok(())
}
