//! Fills that end within a message, and faults in the transport.

use std::time::Instant;

use super::*;
use crate::patterns::testing::{open, round_of_both};
use crate::transports::Transport;
use crate::transports::null::Null;
use crate::transports::pipe::Pipe;
use crate::transports::pty::Pty;
use crate::transports::ring::{RingFutex, RingSpin};

fn check<T: Transport>(sizes: &[usize]) {
    for &size in sizes {
        let mut ends = open::<Single, T>(size);
        let mut first = 0;
        // Every byte of some messages, then the stamps of many.
        for (full_check, batch) in [(true, (400_000 / size as u64).clamp(4, 300)), (false, 300)] {
            let round = Round { first, batch, batches: 3, full_check, ..Round::default() };
            let report = round_of_both::<Single, _>(size, &mut ends, &round)
                .unwrap_or_else(|error| panic!("{} at {size} B: {error}", T::INFO.name));
            assert_eq!(report.stamps_ns.len(), 3);
            let (fills, in_flight_max) = (report.counters["fills"], report.counters["in_flight_max"]);
            assert!(in_flight_max <= batch as f64, "{} at {size} B: a batch starts empty", T::INFO.name);
            if batch as usize * size > 1 << 18 {
                assert!(fills >= 3.0, "{} at {size} B: {fills} fills", T::INFO.name);
            }
            first += round.messages();
        }
        let (_sender, mut receiver) = ends;
        let rest = receiver.receive_some(&mut [0; 16]).expect_err("the round left nothing");
        assert_eq!(rest.kind(), io::ErrorKind::WouldBlock);
    }
}

#[test]
fn a_pipe_passes_at_sizes_that_do_not_divide_it() {
    check::<Pipe>(&[1, 7, 3000, 4097, 10_000, 100_000]);
}

#[test]
fn rings_pass_by_their_operations_that_do_not_wait() {
    check::<RingSpin>(&[1, 7, 4097, 65_536, 100_000]);
    check::<RingFutex>(&[1, 7, 4097, 65_536, 100_000]);
}

#[test]
fn a_pty_passes_although_the_kernel_moves_its_data_later() {
    check::<Pty>(&[1, 7, 3000, 65_536]);
}

/// Takes everything and loses every tenth message.
struct Leaky {
    messages: std::rc::Rc<std::cell::RefCell<Vec<Vec<u8>>>>,
    sent: u64,
}

impl Endpoint for Leaky {
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.sent += 1;
        if !self.sent.is_multiple_of(10) {
            self.messages.borrow_mut().push(message.to_vec());
        }
        Ok(message.len())
    }

    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut messages = self.messages.borrow_mut();
        if messages.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        buffer.copy_from_slice(&messages.remove(0));
        Ok(buffer.len())
    }
}

fn leaky_round(messages: u64) -> io::ErrorKind {
    let queue = std::rc::Rc::default();
    let mut ends = (Leaky { messages: std::rc::Rc::clone(&queue), sent: 0 }, Leaky { messages: queue, sent: 0 });
    let round = Round { batch: messages, batches: 1, ..Round::default() };
    round_of_both::<Single, _>(16, &mut ends, &round).expect_err("messages were lost").kind()
}

#[test]
fn a_lost_message_is_seen_by_the_next_one() {
    assert_eq!(leaky_round(20), io::ErrorKind::InvalidData);
}

#[test]
fn a_lost_last_message_ends_the_round_after_a_bound() {
    let started = Instant::now();
    assert_eq!(leaky_round(10), io::ErrorKind::TimedOut);
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn what_is_never_full_is_not_accepted() {
    Single::accepts(&Null::INFO, 1).expect_err("null is never full");
    Single::accepts(&Pipe::INFO, 1).expect("a pipe refuses when it is full");
}
