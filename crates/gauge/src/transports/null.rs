//! `null`: a transport that moves nothing. Its rows are the harness's own cost: the loop, the stamps and their
//! verification.
//!
//! The receiving end writes the stamps that the sender would have sent, so its rows are an upper bound of that cost.

use std::hint::black_box;
use std::io;

use headwater_results::schema::Standing;

use super::{Endpoint, Info, Setup, Transport, Unavailable};
use crate::harness::payload::{Payload, stamp, write_stamps};
use crate::harness::rounds::FULL_CHECK_MESSAGES;

/// A transport that moves nothing.
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
        pollable: false,
        ..Info::BYTES
    };

    fn open(setup: &Setup<'_>) -> Result<(NullEnd, NullEnd), Unavailable> {
        Ok((NullEnd::new(setup.size), NullEnd::new(setup.size)))
    }
}

/// An end that generates the messages that it receives.
#[derive(Debug)]
pub struct NullEnd {
    /// Number of the next message to be received.
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

    // Always inlined, as a system call is: a function call here would be counted as the harness's cost.
    #[inline(always)]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = buffer.len();
        if size < 8 {
            // A plain loop: for one to seven bytes the library's copy costs more than everything else here.
            for (to, from) in buffer.iter_mut().zip(stamp(self.sequence).to_le_bytes()) {
                *to = from;
            }
        } else {
            // Between the stamps all messages are equal, so the buffer keeps what was delivered once. The receiver
            // overwrites and compares the whole buffer for the first messages only.
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
