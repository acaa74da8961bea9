use headwater_shm::Membership;

use super::*;
use crate::message::kind::Kind;
use crate::options::Options;
use crate::process::region::Region;

/// A store of a stream of its own, and a member of it.
fn store() -> (Region, Membership, Store) {
    let options = Options { hiwat: 10_000, lowat: 5000, strmsgsz: 20_000, maxpsz: 20_000, ..Options::default() };
    let region = Region::create(&options, [1, 2]).expect("memory");
    let me = Membership::join(&region.members, region.fence, &[]).expect("a slot");
    let store = region.store(0);
    (region, me, store)
}

fn message(len: usize, fill: u8) -> Message<'static> {
    Message::from_parts(MessageHeader::of(Kind::Proto), Some(vec![fill; 3]), Some(vec![fill; len]))
}

fn with<T>(store: &mut Store, me: &Membership, action: impl FnOnce(&mut StoreGuard<'_>) -> Result<T>) -> Result<T> {
    action(&mut store.side(me).lock()?)
}

fn put(store: &mut Store, me: &Membership, message: &Message<'_>) -> bool {
    with(store, me, |store| store.put(HEAD, message)).expect("sound")
}

/// Takes the message at the front, as a service procedure does that passes it on.
fn take_first(store: &mut StoreGuard<'_>) -> Result<Option<(Message<'static>, bool)>> {
    let taken = store.begin_transfer(HEAD, 0)?;
    store.commit_transfer()?;
    Ok(taken)
}

fn get(store: &mut Store, me: &Membership) -> Option<Message<'static>> {
    with(store, me, take_first).expect("sound").map(|(message, _)| message)
}

/// Puts messages of a length until there is no memory; returns how many.
fn fill(store: &mut Store, me: &Membership, len: usize) -> usize {
    (0..).take_while(|number| put(store, me, &message(len, *number as u8))).count()
}

#[test]
fn messages_of_any_length_come_back_whole() {
    let (_region, me, mut store) = store();
    // Around the fast buffer and the pages.
    for len in [0, 1, 252, 253, 254, 4092, 4093, 4094, 8189, 8190, 20_000] {
        let sent = message(len, len as u8);
        assert!(put(&mut store, &me, &sent));
        assert_eq!(get(&mut store, &me), Some(sent), "{len} bytes");
    }
    assert_eq!(get(&mut store, &me), None);
}

#[test]
fn memory_that_is_given_back_is_used_again() {
    let (_region, me, mut store) = store();
    for len in [10, 300, 5000] {
        let first = fill(&mut store, &me, len);
        assert!(first > 5 && !store.may_go_on(HEAD, 0));
        while get(&mut store, &me).is_some() {}
        assert_eq!(fill(&mut store, &me, len), first, "{len} bytes");
        assert!(with(&mut store, &me, |store| store.flush(HEAD, Which::All)).expect("sound") || store.is_empty(HEAD));
        assert!(store.is_empty(HEAD));
    }
}

#[test]
fn what_is_accepted_can_be_kept() {
    let (_region, me, mut store) = store();
    // As long as the store accepts, even the largest message finds room.
    while with(&mut store, &me, |store| Ok(store.can_put(HEAD, 0))).expect("sound") {
        assert!(put(&mut store, &me, &message(20_000, 1)));
    }
}

#[test]
fn what_was_got_can_be_put_back_into_a_store_without_memory() {
    for len in [1, 20_000] {
        let (_region, me, mut store) = store();
        fill(&mut store, &me, len);
        let back = with(&mut store, &me, |store| {
            let (message, _) = store.begin_transfer(HEAD, 0)?.expect("many");
            store.put_back(HEAD, &message)
        });
        assert!(back.expect("sound"), "messages of {len} bytes");
        assert!(!put(&mut store, &me, &message(len, 0)), "nothing new");
    }
}

#[test]
fn a_queue_back_enables_once_at_its_low_water_mark() {
    let (_region, me, mut store) = store();
    let can_put = |store: &mut Store| with(store, &me, |store| Ok(store.can_put(HEAD, 0))).expect("sound");
    while can_put(&mut store) {
        put(&mut store, &me, &message(997, 0));
    }
    // 11,000 bytes: full. Room is reported when less than 5000 are left, and no process waits afterwards.
    let said: Vec<bool> =
        (0..11).map(|_| with(&mut store, &me, take_first).expect("sound").expect("there").1).collect();
    let expected: Vec<bool> = (1..=11).map(|taken| taken == 7).collect();
    assert_eq!(said, expected);
}

#[test]
fn a_half_made_change_is_repaired() {
    let (_region, me, mut store) = store();
    let (small, large) = (message(100, 1), message(9000, 2));
    assert!(put(&mut store, &me, &small) && put(&mut store, &me, &large));
    let room = {
        let (_region, me, mut fresh) = self::store();
        assert!(put(&mut fresh, &me, &small) && put(&mut fresh, &me, &large));
        fill(&mut fresh, &me, 5000)
    };
    // A process died: the values derived from the links are wrong, and a block and a page have no owner.
    let queue = &store.words.queues[HEAD];
    queue.last.store(77, Ordering::Relaxed);
    queue.messages.store(0, Ordering::Relaxed);
    queue.bands[0].count.store(3, Ordering::Relaxed);
    store.words.used_blocks.fetch_add(1, Ordering::Relaxed);
    store.words.used_pages.fetch_add(1, Ordering::Relaxed);
    store.words.free_page.store(0, Ordering::Relaxed);
    store.words.dirty.store(1, Ordering::Relaxed);
    let size = with(&mut store, &me, |store| Ok(store.size(HEAD, 0))).expect("repaired");
    assert_eq!(size, (2, small.len() + large.len()));
    assert_eq!(fill(&mut store, &me, 5000), room, "nothing is lost");
    assert_eq!(get(&mut store, &me), Some(small));
    assert_eq!(get(&mut store, &me), Some(large));
}

#[test]
fn lists_that_make_no_sense_are_an_error() {
    let (_region, me, mut store) = store();
    for _ in 0..3 {
        put(&mut store, &me, &message(5000, 1));
    }
    let corrupt = |store: &mut Store| with(store, &me, take_first).is_err();
    let first = store.words.queues[HEAD].first.load(Ordering::Relaxed);
    store.words.queues[HEAD].first.store(u32::MAX, Ordering::Relaxed);
    assert!(corrupt(&mut store));
    store.words.queues[HEAD].first.store(first, Ordering::Relaxed);
    // A cycle: a search of it ends.
    for block in &store.words.blocks {
        block.next.store(first, Ordering::Relaxed);
    }
    assert!(with(&mut store, &me, |store| store.find(HEAD, |_| false)).is_err());
}

#[test]
fn a_header_without_room_for_a_byte_is_refused() {
    let (region, ..) = store();
    let header = &region.fixed.header.0;
    for word in [&header.strmsgsz, &header.strctlsz] {
        let before = word.swap(0, Ordering::Relaxed);
        let memory = std::os::fd::AsFd::as_fd(&region).try_clone_to_owned().expect("dup");
        assert_eq!(Region::open(memory).expect_err("refused").errno(), crate::Errno::Proto);
        word.store(before, Ordering::Relaxed);
    }
    let memory = std::os::fd::AsFd::as_fd(&region).try_clone_to_owned().expect("dup");
    Region::open(memory).expect("as it was");
}

#[test]
fn a_length_beyond_the_streams_is_no_buffer() {
    let (region, me, mut store) = store();
    put(&mut store, &me, &message(100, 1));
    let block = store.words.queues[HEAD].first.load(Ordering::Relaxed) as usize - 1;
    // The stream's own limit, and what the store's memory could hold.
    for len in [region.message_max() as u32, 1 << 20, u32::MAX - 1] {
        store.words.blocks[block].data.store(len, Ordering::Relaxed);
        assert!(with(&mut store, &me, |store| store.first(HEAD)).is_err(), "{len}");
        assert!(with(&mut store, &me, take_first).is_err(), "{len}");
    }
}

/// A hostile process that writes to the words of the store while it is used. What it changes between a check and the use of
/// what was checked must not matter: each word is read once.
#[test]
fn words_that_change_all_the_time_are_harmless() {
    let (region, me, mut store) = store();
    let hostile = region.store(0);
    let (words, links) = (&*hostile.words, &hostile.links[..]);
    let done = std::sync::atomic::AtomicBool::new(false);
    let (mut fine, mut corrupt) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The first blocks and pages are those in use. Each word changes between what fits and what does not.
            let values = [0, 1, 2, 3, 4, 253, 4096, 20_000, BLOCKS as u32, u32::MAX - 1, u32::MAX];
            let (mut at, mut writes) = (0_usize, 0_u64);
            // Also if the other thread fails.
            let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while !done.load(Ordering::Relaxed) {
                at = at.wrapping_mul(0x5851_f42d).wrapping_add(0x1405_7b7e);
                let (which, value) = ((at >> 8) % 4, values[(at >> 16) % values.len()]);
                let block = &words.blocks[which];
                let StoreWords { free_block, free_page, used_blocks, used_pages, in_transfer, transfer_from, .. } =
                    words;
                let [first, last] = [&words.queues[HEAD].first, &words.queues[HEAD].last];
                let targets = [
                    &block.next,
                    &block.control,
                    &block.data,
                    &block.control_taken,
                    &block.data_taken,
                    &block.page,
                    &block.page,
                    &links[which],
                    free_block,
                    free_page,
                    used_blocks,
                    used_pages,
                    in_transfer,
                    transfer_from,
                    first,
                    last,
                ];
                targets[(at >> 24) % targets.len()].store(value, Ordering::Relaxed);
                writes += 1;
                if writes % 4096 == 0 {
                    // On a single CPU it comes in between as often as it wakes.
                    std::thread::sleep(std::time::Duration::from_micros(1));
                    if std::time::Instant::now() > end {
                        return;
                    }
                }
            }
        });
        let start = std::time::Instant::now();
        let goes_on = |fine: u32, corrupt: u32| {
            let least = std::time::Duration::from_millis(if fine.min(corrupt) > 100 { 500 } else { 30_000 });
            start.elapsed() < least
        };
        let mut round = 0_usize;
        // On a loaded machine one of the two may have no CPU for long.
        while goes_on(fine, corrupt) {
            round += 1;
            let message = message([0, 10, 300, 5000][round % 4], round as u8);
            let (mut control, mut data) = ([0; 3], [0; 300]);
            let done = with(&mut store, &me, |store| {
                store.put(HEAD, &message)?;
                if let Some(stored) = store.first(HEAD)? {
                    store.copy_control(&stored, &mut control)?;
                    store.copy_data(&stored, &mut data)?;
                    store.take(HEAD, &stored, Some(1), Some(2), false)?;
                }
                match round % 3 {
                    0 => store.flush(HEAD, Which::All).map(drop),
                    1 => take_first(store).map(drop),
                    _ => store.recover_transfer(0),
                }
            });
            match done {
                Ok(()) => fine += 1,
                Err(error) => {
                    assert!(error.is_fatal(), "{error}");
                    corrupt += 1;
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(fine > 100 && corrupt > 100, "{fine} calls went well, {corrupt} found the store corrupt");
}
