use std::cell::Cell;
use std::mem::offset_of;

use super::copy::Source;
use super::decode::{Decoded, decode};
use crate::layout::{Fixed, Header, MAGIC, VERSION};
use crate::limits::{BLOCKS, NSTRPUSH, RECORDS};
use crate::process::region::Sizes;

/// A memory whose words are random numbers of a kind, behind a sound header.
struct Hostile {
    seed: u64,
    len: u64,
    version: u32,
    /// Of these bits: small numbers pass more checks.
    mask: u64,
    reads: Cell<usize>,
}

const SIZES: Sizes = Sizes { strmsgsz: 1000, strctlsz: 100, nstrpush: 64, window: 4096, pages: 64, instance: 0 };

impl Hostile {
    fn new(seed: u64) -> Hostile {
        let mask = [u64::MAX, 0xff, 0x3, 0xffff_ffff, 0x40_0000_0040][seed as usize % 5];
        let len = SIZES.offsets().expect("within the limits").region() as u64;
        Hostile { seed, len, version: VERSION, mask, reads: Cell::new(0) }
    }

    fn byte(&self, at: u64) -> u8 {
        let header = offset_of!(Fixed, header) as u64;
        let fields: [(usize, &[u8]); 9] = [
            (offset_of!(Header, magic), &MAGIC.to_ne_bytes()),
            (offset_of!(Header, version), &self.version.to_ne_bytes()),
            (offset_of!(Header, strmsgsz), &SIZES.strmsgsz.to_ne_bytes()),
            (offset_of!(Header, strctlsz), &SIZES.strctlsz.to_ne_bytes()),
            (offset_of!(Header, nstrpush), &SIZES.nstrpush.to_ne_bytes()),
            (offset_of!(Header, window), &SIZES.window.to_ne_bytes()),
            (offset_of!(Header, pages), &SIZES.pages.to_ne_bytes()),
            (offset_of!(Header, instance), &SIZES.instance.to_ne_bytes()),
            (offset_of!(Header, policy), &0x1fu32.to_ne_bytes()),
        ];
        let of_field = |(field, bytes): &(usize, &[u8])| {
            let place = at.checked_sub(header + *field as u64)?;
            bytes.get(place as usize).copied()
        };
        fields.iter().find_map(of_field).unwrap_or_else(|| {
            let mixed = (self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (at / 8)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
            // Of every other seed each read finds other numbers.
            let mixed = if self.seed.is_multiple_of(2) { mixed } else { mixed ^ (self.reads.get() as u64) };
            ((mixed ^ (mixed >> 32)) & self.mask).to_ne_bytes()[at as usize % 8]
        })
    }
}

impl Source for Hostile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> bool {
        self.reads.set(self.reads.get() + 1);
        if at.checked_add(bytes.len() as u64).is_none_or(|end| end > self.len) {
            return false;
        }
        bytes.iter_mut().zip(at..).for_each(|(byte, at)| *byte = self.byte(at));
        true
    }
}

#[test]
fn any_words_behind_a_sound_header_are_decoded_within_bounds() {
    let mut contradictions = 0;
    for seed in 0..200 {
        let source = Hostile::new(seed);
        let Decoded::Stream(state, _) = decode(&source) else { panic!("the header is sound, seed {seed}") };
        for end in &state.ends {
            assert!(end.modules.len() <= NSTRPUSH, "seed {seed}");
            assert!(end.modules.iter().all(|module| !module.name.chars().any(char::is_control)), "seed {seed}");
        }
        for direction in &state.directions {
            assert!(direction.lane_written.wrapping_sub(direction.lane_read) <= SIZES.window, "seed {seed}");
            let messages = direction.lane_messages_written.wrapping_sub(direction.lane_messages_read);
            assert!(messages <= RECORDS as u64, "seed {seed}");
            let _ =
                (direction.queued(), direction.queued_messages(), direction.written(), direction.messages_written());
        }
        contradictions += usize::from(!state.contradictions.is_empty());
        // Each module has two queues, and nothing is read in a loop.
        assert!(source.reads.get() < 300, "seed {seed}: {} reads", source.reads.get());
    }
    assert!(contradictions > 100, "{contradictions}");
}

#[test]
fn a_memory_that_ends_anywhere_is_no_stream() {
    let whole = Hostile::new(3);
    for len in (0..256).chain([4096, size_of::<Fixed>() as u64, whole.len - 1]) {
        let short = Hostile { len, ..Hostile::new(3) };
        assert!(matches!(decode(&short), Decoded::Unreadable(_)), "{len} bytes");
    }
    assert!(matches!(decode(&whole), Decoded::Stream(..)));
    // One that has grown.
    let longer = Hostile { len: whole.len + (16 << 20), ..Hostile::new(3) };
    assert!(matches!(decode(&longer), Decoded::Stream(..)));
}

#[test]
fn a_stream_of_another_version_is_told_from_something_else() {
    let older = Hostile { version: VERSION - 1, ..Hostile::new(1) };
    assert_eq!(decode(&older), Decoded::OtherVersion(VERSION - 1));
    let nothing = Hostile { mask: 0, version: 0, ..Hostile::new(1) };
    assert!(matches!(decode(&nothing), Decoded::OtherVersion(0)));
    struct Zeros;
    impl Source for Zeros {
        fn len(&self) -> u64 {
            1 << 20
        }
        fn read(&self, _at: u64, bytes: &mut [u8]) -> bool {
            bytes.fill(0);
            true
        }
    }
    assert_eq!(decode(&Zeros), Decoded::Unreadable("its maker has not filled it in yet"));
}

#[test]
fn a_band_beyond_the_last_used_one_and_an_empty_one_are_left_out() {
    let source = Hostile::new(1);
    let Decoded::Stream(state, _) = decode(&source) else { panic!("the header is sound") };
    for queue in state.directions.iter().map(|direction| &direction.stored) {
        assert!(queue.bands.windows(2).all(|pair| pair[0].band < pair[1].band));
        assert_eq!(queue.bands.first().map(|band| band.band), Some(0));
        assert!(queue.messages as usize <= BLOCKS || !state.contradictions.is_empty());
    }
}
