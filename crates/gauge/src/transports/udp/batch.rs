//! `udp-mmsg`: up to 64 datagrams per system call, with `sendmmsg(2)` and `recvmmsg(2)`. A receiver takes the available
//! datagrams; it does not wait for a full batch. A round trip has one message at a time, sent as in `udp`.

use std::io;

use headwater_os_tools::datagrams::Batch;

use super::{INFO, SIZE_MAX, UdpSocket, is_refusal, pair};
use crate::harness::payload::{Payload, write_stamps};
use crate::transports::{Burst, Endpoint, Info, Setup, Transport, Unavailable};

/// Datagrams per call. Most servers use this number; with more, the cost of the system call is no longer visible.
const BATCH: usize = 64;

/// Minimum size of a slot in bytes: a stamp is stored as a whole.
const STAMP_BYTES: usize = 8;

/// UDP with several datagrams per call.
#[derive(Debug)]
pub struct UdpBatch;

impl Transport for UdpBatch {
    type End = UdpBatchEnd;

    const INFO: Info = Info {
        name: "udp-mmsg",
        summary: "UDP over loopback, 64 datagrams per sendmmsg and recvmmsg, socket buffers 131071",
        blocking: "receiver sleeps in recvmmsg; a sender never waits, what does not fit is dropped",
        ..INFO
    };

    fn open(setup: &Setup<'_>) -> Result<(UdpBatchEnd, UdpBatchEnd), Unavailable> {
        let (sender, receiver) = pair(setup, SIZE_MAX)?;
        Ok((UdpBatchEnd::new(sender), UdpBatchEnd::new(receiver)))
    }
}

/// A connected socket and its slots, which are allocated at the first burst: a round trip needs none.
#[derive(Debug)]
pub struct UdpBatchEnd {
    socket: UdpSocket,
    outgoing: Option<Batch>,
    incoming: Option<Batch>,
}

impl UdpBatchEnd {
    fn new(socket: UdpSocket) -> UdpBatchEnd {
        UdpBatchEnd { socket, outgoing: None, incoming: None }
    }
}

/// Returns slots that contain the constant part of a message each.
fn prepared(payload: &mut Payload) -> Batch {
    let size = payload.size();
    let mut batch = Batch::new(BATCH, size, STAMP_BYTES);
    for index in 0..BATCH {
        batch.slot(index)[..size].copy_from_slice(payload.message(0));
    }
    batch
}

impl Endpoint for UdpBatchEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.socket.send(message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.receive(buffer)
    }

    fn send_burst(&mut self, payload: &mut Payload, first: u64, count: u64) -> io::Result<Burst> {
        let batch = self.outgoing.get_or_insert_with(|| prepared(payload));
        let mut burst = Burst::default();
        let end = first + count;
        for start in (first..end).step_by(BATCH) {
            let slots = (end - start).min(BATCH as u64) as usize;
            for index in 0..slots {
                write_stamps(batch.slot(index), payload.size(), start + index as u64);
            }
            let mut done = 0;
            while done < slots {
                match batch.send(&self.socket.socket, done, slots - done) {
                    Ok(sent) => {
                        burst.sent += sent as u64;
                        done += sent;
                    }
                    // The error belongs to the first message of the call; the next call continues after it.
                    Err(error) if is_refusal(&error) => {
                        burst.refused += 1;
                        done += 1;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(burst)
    }

    #[inline]
    fn receive_burst(&mut self, space: &mut Payload, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.socket.time_out_after_silence()?;
        let batch = self.incoming.get_or_insert_with(|| Batch::new(BATCH, space.size(), STAMP_BYTES));
        let count = batch.receive(&self.socket.socket)?;
        (0..count).try_for_each(|index| each(batch.received(index)))
    }
}
