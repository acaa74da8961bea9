//! `udp-gso`: segmentation offload. The sender passes up to 64 KiB to the kernel, which splits them into datagrams as
//! late as possible (`UDP_SEGMENT`). Over loopback that is at the receiver, which requests the unsplit packet
//! (`UDP_GRO`). A round trip has one message at a time, sent as in `udp`.
//!
//! A call takes as many messages as fit into one IPv4 packet, and at most the number that the kernel allows (64
//! datagrams, in newer kernels 128). Opening the pair tries both options and that number.

use std::io;
use std::os::fd::AsFd;

use headwater_os_tools::datagrams::{accept_segments, receive_segments, set_segment_bytes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{INFO, SIZE_MAX, UdpSocket, is_refusal, pair};
use crate::harness::payload::{Payload, write_stamps};
use crate::transports::{Burst, Endpoint, Info, Setup, Transport, Unavailable};

/// The most datagrams that the kernel splits one buffer into, for several versions, the newest first.
const SEGMENTS_MAX: [usize; 2] = [128, 64];

/// Size of a receive buffer in bytes: no IPv4 packet is longer.
const PACKET_BYTES: usize = 1 << 16;

/// A stamp is stored as 8 bytes even if the message is shorter; the next message then overwrites the surplus.
const STAMP_BYTES: usize = 8;

/// How long to wait for the packet of the trial. Over loopback it has arrived when the send call returns.
const TRIAL_PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// UDP with segmentation offload.
#[derive(Debug)]
pub struct UdpSegment;

impl Transport for UdpSegment {
    type End = UdpSegmentEnd;

    const INFO: Info = Info {
        name: "udp-gso",
        summary: "UDP over loopback, up to 64 KiB of datagrams per call (UDP_SEGMENT, UDP_GRO), socket buffers 131071",
        blocking: "receiver sleeps in recvmsg; a sender never waits, what does not fit is dropped",
        // Two must fit into a packet; a single one would not be split.
        size_max: Some(SIZE_MAX / 2),
        ..INFO
    };

    fn open(setup: &Setup<'_>) -> Result<(UdpSegmentEnd, UdpSegmentEnd), Unavailable> {
        let (sender, receiver) = pair(setup, SIZE_MAX / 2)?;
        for socket in [&sender.socket, &receiver.socket] {
            set_segment_bytes(socket, setup.size as u16)
                .map_err(|error| Unavailable::call("setsockopt UDP_SEGMENT", error))?;
            accept_segments(socket).map_err(|error| Unavailable::call("setsockopt UDP_GRO", error))?;
        }
        let segments = try_segments(&sender, &receiver, setup.size)?;
        let end = |socket| UdpSegmentEnd { socket, segments, outgoing: Vec::new(), incoming: Vec::new() };
        Ok((end(sender), end(receiver)))
    }
}

/// Sends one buffer of datagrams of `size` bytes. Returns how many the kernel accepts in a call.
fn try_segments(sender: &UdpSocket, receiver: &UdpSocket, size: usize) -> Result<usize, Unavailable> {
    let mut buffer = vec![0; PACKET_BYTES];
    for segments_max in SEGMENTS_MAX {
        let segments = (SIZE_MAX / size).min(segments_max);
        match sender.send(&buffer[..segments * size]) {
            Ok(_) => {
                take_in(receiver, &mut buffer, segments * size)?;
                return Ok(segments);
            }
            // A kernel refuses too many segments with this error; it may also refuse the option with it.
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {}
            Err(error) => return Err(Unavailable::call("send of UDP_SEGMENT", error)),
        }
    }
    Err(Unavailable::call("send of UDP_SEGMENT", Errno::INVAL))
}

/// Receives `bytes` bytes, in any number of packets.
fn take_in(receiver: &UdpSocket, buffer: &mut [u8], bytes: usize) -> Result<(), Unavailable> {
    let mut received = 0;
    while received < bytes {
        let mut polled = [PollFd::from_borrowed_fd(receiver.socket.as_fd(), PollFlags::IN)];
        match poll(&mut polled, Some(&TRIAL_PATIENCE)) {
            Ok(0) => return Err(Unavailable(format!("of {bytes} B sent with UDP_SEGMENT {received} B arrived"))),
            Ok(_) => {
                let segments = receive_segments(&receiver.socket, buffer)
                    .map_err(|error| Unavailable::call("recvmsg of UDP_GRO", error))?;
                received += segments.bytes;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(Unavailable::call("poll", error)),
        }
    }
    Ok(())
}

/// A connected socket and its buffers, which are allocated at the first burst: a round trip needs none.
#[derive(Debug)]
pub struct UdpSegmentEnd {
    socket: UdpSocket,
    /// Messages per call.
    segments: usize,
    /// The messages of a call, one after the other.
    outgoing: Vec<u8>,
    /// The buffer for a received packet.
    incoming: Vec<u8>,
}

impl UdpSegmentEnd {
    /// Fills the outgoing buffer with the constant part of the messages of a call.
    fn prepare(&mut self, payload: &mut Payload) {
        for _ in 0..self.segments {
            self.outgoing.extend_from_slice(payload.message(0));
        }
        self.outgoing.extend_from_slice(&[0; STAMP_BYTES]);
    }
}

impl Endpoint for UdpSegmentEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.socket.send(message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.receive(buffer)
    }

    fn send_burst(&mut self, payload: &mut Payload, first: u64, count: u64) -> io::Result<Burst> {
        if self.outgoing.is_empty() {
            self.prepare(payload);
        }
        let size = payload.size();
        let mut burst = Burst::default();
        let end = first + count;
        for start in (first..end).step_by(self.segments) {
            let segments = (end - start).min(self.segments as u64) as usize;
            for index in 0..segments {
                write_stamps(&mut self.outgoing[index * size..], size, start + index as u64);
            }
            match self.socket.send(&self.outgoing[..segments * size]) {
                Ok(_) => burst.sent += segments as u64,
                Err(error) if is_refusal(&error) => burst.refused += segments as u64,
                Err(error) => return Err(error),
            }
        }
        Ok(burst)
    }

    #[inline]
    fn receive_burst(&mut self, _space: &mut Payload, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.socket.time_out_after_silence()?;
        if self.incoming.is_empty() {
            // Not zero: for zeros the allocator would return untouched pages.
            self.incoming.resize(PACKET_BYTES, 0xFF);
        }
        let packet = receive_segments(&self.socket.socket, &mut self.incoming)?;
        self.incoming[..packet.bytes].chunks(packet.segment_bytes.max(1)).try_for_each(each)
    }
}
