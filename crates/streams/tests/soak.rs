//! Long traffic: messages by the hundred million arrive in order and complete, and a thousand pipes work at once.
//!
//! `cargo xtask soak` runs the long form, `HEADWATER_MESSAGES` sets the number of messages.

mod common;

use std::time::{Duration, Instant};

use common::{Random, in_own_process, setting};
use headwater_os::child::Child;
use headwater_streams::{ControlMode, MessageFilter, Options, ReadOptions, Result, Stream, pipe};

/// One message of this many is longer than its number.
const LONG_EVERY: u64 = 64;
/// Words of the longest message.
const WORDS_MAX: usize = 512;

/// The length of message `number` in words, each of which is the number.
fn words_of(number: u64) -> usize {
    if number.is_multiple_of(LONG_EVERY) { 1 + Random(number).below(WORDS_MAX) } else { 1 }
}

/// Checks a stream of words against the written ones, regardless of the pieces.
#[derive(Debug, Default)]
struct Check {
    number: u64,
    /// Words of it that have come.
    words: usize,
}

impl Check {
    fn take(&mut self, bytes: &[u8]) {
        assert_eq!(bytes.len() % 8, 0, "half a word came");
        for word in bytes.chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("eight"));
            assert_eq!(word, self.number, "out of order");
            self.words += 1;
            if self.words == words_of(self.number) {
                *self = Check { number: self.number + 1, words: 0 };
            }
        }
    }
}

fn write_all(stream: &Stream, messages: u64, as_messages: bool) -> Result<()> {
    let mut buffer = vec![0u8; WORDS_MAX * 8];
    for number in 0..messages {
        let words = words_of(number);
        buffer[..words * 8].chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&number.to_le_bytes()));
        let bytes = &buffer[..words * 8];
        match number % 1000 {
            // Boundaries among the bytes.
            500 if as_messages => stream.putmsg(Some(&bytes[..8]), Some(&bytes[8..]))?,
            501 if as_messages => stream.putmsg(None, Some(bytes))?,
            _ => assert_eq!(stream.write(bytes)?, bytes.len()),
        }
    }
    Ok(())
}

/// Two processes, one of which is this; returns the messages that came.
fn soak(options: &Options, messages: u64, as_messages: bool) -> u64 {
    let (near, far) = options.pipe().expect("pipe");
    far.settings().set_read_options(ReadOptions::new().control(ControlMode::AsData)).expect("no error");
    let mut near = Some(near);
    let mut far = Some(far);
    let mut writer = Child::fork(|| {
        drop(far.take());
        i32::from(write_all(near.as_mut().expect("there"), messages, as_messages).is_err())
    })
    .expect("fork");
    drop(near);
    let far = far.expect("the child has a copy");
    let mut check = Check::default();
    let mut random = Random(7);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let len = random.one_of(&[8, 64, 4096, 1 << 16]);
        // Many reads of one size, as programs do.
        for _ in 0..100 {
            let count = far.read(&mut buffer[..len]).expect("no error");
            check.take(&buffer[..count]);
            if count == 0 {
                assert!(writer.wait().expect("wait").success());
                assert_eq!(check.words, 0, "the last message is not whole");
                return check.number;
            }
        }
    }
}

#[test]
fn messages_arrive_in_order_and_complete() {
    in_own_process!();
    let messages = setting("HEADWATER_MESSAGES", 3_000_000);
    for (name, options, share) in [
        ("default", Options::default(), 1),
        ("small queue", Options::new().hiwat(600).lowat(300), 20),
        ("eager", Options::new().policy(headwater_streams::Policy::EAGER), 50),
    ] {
        let start = Instant::now();
        let wanted = messages / share;
        common::within(Duration::from_secs(60 + messages / 100_000), format!("{name}: {wanted} messages"));
        assert_eq!(soak(&options, wanted, true), wanted);
        println!("{name}: {wanted} messages in {:.1} s", start.elapsed().as_secs_f64());
    }
    common::calm();
}

/// Traffic through a thousand pipes, by two processes: the child sends its data back.
#[test]
fn a_thousand_pipes_carry_traffic_at_once() {
    in_own_process!();
    let rounds = setting("HEADWATER_MESSAGES", 3_000_000) / 1_000_000;
    let before = common::open_things();
    let start = Instant::now();
    common::within(Duration::from_secs(60 + 5 * rounds), "a thousand pipes".into());
    let pipes: Vec<(Stream, Stream)> = (0..1000).map(|_| pipe().expect("pipe (ulimit -n)")).collect();
    let (mut near, far): (Vec<Stream>, Vec<Stream>) = pipes.into_iter().unzip();
    let mut far = Some(far);
    let mut child = Child::fork(|| i32::from(answer(far.as_mut().expect("there"), rounds).is_err())).expect("fork");
    drop(far);
    let mut sent = 0u64;
    for round in 0..rounds {
        for (number, stream) in near.iter_mut().enumerate() {
            let word = (round << 32 | number as u64).to_le_bytes();
            let long = word.repeat(1 + (number + round as usize) % 500);
            assert_eq!(stream.write(&long).expect("the child reads"), long.len());
            stream.putpmsg(Some(&word), Some(&long), 1).expect("the child reads");
            sent += 2;
        }
        for (number, stream) in near.iter_mut().enumerate() {
            let word = (round << 32 | number as u64).to_le_bytes();
            let long = word.repeat(1 + (number + round as usize) % 500);
            let mut back = vec![0; long.len()];
            read_exact(stream, &mut back).expect("the child writes");
            assert_eq!(back, long, "pipe {number}, round {round}");
        }
    }
    drop(near);
    assert!(child.wait().expect("wait").success());
    common::expect_nothing_left(before);
    common::calm();
    println!("1000 pipes: {sent} messages there and half as many back in {:.1} s", start.elapsed().as_secs_f64());
}

/// Takes of each pipe the message in band 1, which comes first, then the bytes, and sends these back.
fn answer(far: &mut [Stream], rounds: u64) -> Result<()> {
    let (mut control, mut data, mut bytes) = ([0; 8], vec![0; 4096], vec![0; 4096]);
    for _ in 0..rounds {
        for stream in &mut *far {
            // The bytes may be there before the message is.
            let got = stream.getpmsg(Some(&mut control), Some(&mut data), MessageFilter::Band(1))?;
            let len = got.data.unwrap_or(0);
            read_exact(stream, &mut bytes[..len])?;
            assert_eq!(data[..len], bytes[..len]);
            assert_eq!(data[..8], control);
            stream.write(&bytes[..len])?;
        }
    }
    Ok(())
}

fn read_exact(stream: &Stream, mut bytes: &mut [u8]) -> Result<()> {
    while !bytes.is_empty() {
        let count = stream.read(bytes)?;
        assert!(count > 0, "the stream ended");
        bytes = &mut bytes[count..];
    }
    Ok(())
}
