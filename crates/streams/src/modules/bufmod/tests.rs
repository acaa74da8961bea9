//! The settings' ioctls without a stream: what each returns and changes, and which data it refuses.

use std::time::Duration;

use super::ioctl::{
    CLEAR_TIME, GET_CHUNK, GET_FLAGS, GET_SNAP, GET_TIME, LEN, SET_CHUNK, SET_FLAGS, SET_SNAP, SET_TIME, Settings,
    is_own, timeval,
};
use super::{BufferFlags, CHUNK, CHUNK_MAX};
use crate::error::Errno;

const SECOND: Settings =
    Settings { time: Some(Duration::from_secs(1)), chunk: 100, snap: 7, flags: BufferFlags::NO_DROPS, requests: 3 };

fn times(seconds: i64, microseconds: i64) -> Vec<u8> {
    [seconds.to_ne_bytes(), microseconds.to_ne_bytes()].concat()
}

fn word(word: u32) -> Vec<u8> {
    word.to_ne_bytes().to_vec()
}

/// What a command returns and whether the chunk is passed on, or its error; and the settings then.
fn check(command: u32, data: &[u8], expected: Result<(Vec<u8>, bool), Errno>, then: Settings) {
    let mut settings = SECOND;
    let got = settings.apply(command, data).map_err(|error| error.errno());
    assert_eq!((got, settings), (expected, then), "{command:#x} with {data:?}");
}

#[test]
fn each_command_changes_its_setting_alone() {
    let done = || Ok((Vec::new(), true));
    check(SET_TIME, &times(2, 500_000), done(), Settings { time: Some(Duration::from_millis(2500)), ..SECOND });
    check(SET_TIME, &times(0, 0), done(), Settings { time: Some(Duration::ZERO), chunk: 0, ..SECOND });
    check(SET_TIME, &times(i64::MAX, 0), done(), Settings { time: Some(Duration::from_secs(1 << 40)), ..SECOND });
    check(CLEAR_TIME, &[], done(), Settings { time: None, ..SECOND });
    check(SET_CHUNK, &word(CHUNK_MAX), done(), Settings { chunk: CHUNK_MAX, ..SECOND });
    check(SET_CHUNK, &word(0), done(), Settings { chunk: 0, ..SECOND });
    check(SET_SNAP, &word(u32::MAX), Ok((Vec::new(), false)), Settings { snap: u32::MAX, ..SECOND });
    check(SET_FLAGS, &word(0x0f), done(), Settings { flags: BufferFlags::from_bits_truncate(0x0f), ..SECOND });
    check(GET_TIME, &[], Ok((timeval(Duration::from_secs(1)).to_vec(), false)), SECOND);
    for (command, value) in [(GET_CHUNK, 100), (GET_SNAP, 7), (GET_FLAGS, 0x10)] {
        check(command, &[], Ok((word(value), false)), SECOND);
    }
}

#[test]
fn what_makes_no_sense_changes_nothing() {
    for time in [times(-1, 0), times(0, -1), times(0, 1_000_000), times(i64::MIN, i64::MAX), Vec::new()] {
        check(SET_TIME, &time, Err(Errno::Inval), SECOND);
    }
    check(SET_CHUNK, &word(CHUNK_MAX + 1), Err(Errno::Inval), SECOND);
    check(SET_FLAGS, &word(0x20), Err(Errno::Inval), SECOND);
    check(GET_FLAGS + 1, &[], Err(Errno::Inval), SECOND);
    assert!(!is_own(SET_TIME - 1) && !is_own(GET_FLAGS + 1));
}

#[test]
fn without_a_time_there_is_none_to_return() {
    let mut settings = Settings::default();
    assert_eq!((settings.chunk, settings.time), (CHUNK, None));
    assert_eq!(settings.apply(GET_TIME, &[]).expect_err("never set").errno(), Errno::Range);
}

#[test]
fn any_bytes_in_the_memory_are_settings_in_their_limits() {
    for settings in [SECOND, Settings::default()] {
        assert_eq!(Settings::of(&settings.bytes()), settings);
    }
    let settings = Settings::of(&[0xfe; LEN]);
    assert!(settings.chunk <= CHUNK_MAX && settings.time.is_some());
    assert_eq!(BufferFlags::from_bits(settings.flags.bits()), Some(settings.flags));
}
