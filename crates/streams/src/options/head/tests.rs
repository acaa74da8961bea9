use super::*;
use crate::error::Errno;

#[test]
fn read_options_are_their_bits() {
    for bits in 0..0x40 {
        match ReadOptions::from_bits(bits) {
            // RPROTNORM may be given or left out.
            Ok(options) => assert_eq!(options.bits(), if bits & 0x1c == 0 { bits | 0x10 } else { bits }),
            Err(error) => assert_eq!(error.errno(), Errno::Inval),
        }
    }
    for bits in [0x3, 0xc, 0x14, 0x18, 0x40, 0x8000_0000] {
        assert!(ReadOptions::from_bits(bits).is_err(), "{bits:#x}");
    }
}

#[test]
fn write_options_are_their_bits() {
    for bits in 0..0x20 {
        assert_eq!(WriteOptions::from_bits(bits).expect("known bits").bits(), bits);
    }
    assert!(WriteOptions::from_bits(0x20).is_err());
}

#[test]
fn setoptions_says_what_it_was_told() {
    let set = SetOptions { hiwat: Some(u32::MAX), lowat: Some(0), ..SetOptions::default() };
    assert_eq!(SetOptions::of(&set.message()), set);
    assert_eq!(SetOptions::of(&Message::data_of(b"abc")), SetOptions::default());
}
