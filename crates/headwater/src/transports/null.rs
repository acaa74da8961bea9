//! `null`: a transport that moves nothing. Its rows are the harness's own cost: the loop, the stamps and their check.
//!
//! The receiving end writes the stamps that the sender would have sent, so its rows are an upper bound of that cost.

use std::hint::black_box;
use std::io;

use headwater_results::schema::Standing;

use super::{Endpoint, Info, Setup, Transport, Unavailable};
use crate::harness::payload::{Payload, stamp, write_stamps};
use crate::harness::rounds::FULL_CHECK_MESSAGES;

/// Moves nothing.
#[derive(Debug)]
pub struct Null;

impl Transport for Null {
    type End = NullEnd;

    const INFO: Info = Info {
        name: "null",
        summary: "moves nothing: the harness's own cost per message",
        blocking: "never waits",
        standing: Standing::Null,
        keeps_boundaries: true,
        lossy: false,
        size_max: None,
        spins: false,
        policy: None,
        pollable: false,
        special: false,
        unfit: &[],
    };

    fn open(setup: &Setup<'_>) -> Result<(NullEnd, NullEnd), Unavailable> {
        Ok((NullEnd::new(setup.size), NullEnd::new(setup.size)))
    }
}

/// An end that makes up what it receives.
#[derive(Debug)]
pub struct NullEnd {
    /// Number of the message that is received next.
    sequence: u64,
    background: Payload,
}

impl NullEnd {
    fn new(size: usize) -> NullEnd {
        NullEnd { sequence: 0, background: Payload::new(size) }
    }
}

impl Endpoint for NullEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        black_box(message.as_ptr());
        Ok(message.len())
    }

    // Always inline, as a system call is: a call of its own would be counted as the harness's cost.
    #[inline(always)]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = buffer.len();
        if size < 8 {
            // A loop of its own: for one to seven bytes the library's copy costs more than the rest together.
            for (to, from) in buffer.iter_mut().zip(stamp(self.sequence).to_le_bytes()) {
                *to = from;
            }
        } else {
            // Between the stamps a message never changes: what was once delivered stays. The receiver compares it, and
            // spoils it before, in the first messages only.
            if self.sequence < FULL_CHECK_MESSAGES {
                buffer.copy_from_slice(self.background.space());
            }
            write_stamps(buffer, size, self.sequence);
        }
        self.sequence += 1;
        black_box(buffer.as_ptr());
        Ok(size)
    }
}
