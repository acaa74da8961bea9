//! How long a close of `inet-tcp` waits for what the other end has not taken: XTI_LINGER, and SO_LINGER of another process.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use headwater_streams::Stream;
use headwater_streams::tpi::{OptionStatus, XTI_GENERIC, XTI_LINGER};

use super::connections::{listener, send};
use super::options::{current, negotiate};
use super::{PATIENCE, connected_to};
use crate::common::{in_own_process, within};

/// More than the other end takes without reading, and less than the kernel takes.
const SENT: usize = 8192;

fn set(number: i32, name: i32, words: [i32; 2], len: usize) {
    // SAFETY: the kernel reads as many bytes as are there.
    let done =
        unsafe { libc::setsockopt(number, libc::SOL_SOCKET, name, words.as_ptr().cast(), len as libc::socklen_t) };
    assert_eq!(done, 0);
}

/// A connection whose other end does not take what was sent, and that end.
fn stalled() -> (Stream, TcpStream) {
    let (listener, to) = listener("127.0.0.1:0");
    set(listener.as_raw_fd(), libc::SO_RCVBUF, [2048, 0], 4);
    let endpoint = connected_to(to);
    let (socket, _) = listener.accept().expect("called");
    send(&endpoint, &[7; SENT]);
    (endpoint, socket)
}

/// Sets SO_LINGER of the kernel's socket of a stream, as any process that has the stream can.
fn linger_behind(peer: SocketAddr) {
    let numbers = std::fs::read_dir("/proc/self/fd").expect("proc").flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_of_stream = |number: &i32| {
        // SAFETY: all zeros are an address, and the kernel writes no more than there is room for.
        unsafe {
            let (mut own, mut len) = (std::mem::zeroed::<libc::sockaddr_in>(), size_of::<libc::sockaddr_in>() as u32);
            libc::getsockname(*number, (&raw mut own).cast(), &raw mut len) == 0
                && own.sin_family == libc::AF_INET as u16
                && own.sin_port == peer.port().to_be()
        }
    };
    let found: Vec<i32> = numbers.filter(is_of_stream).collect();
    assert!(!found.is_empty());
    found.iter().for_each(|number| set(*number, libc::SO_LINGER, [1, 300], 8));
}

/// How long the end of a stream takes; then the other end has all that was sent.
fn time_of(stalled: (Stream, TcpStream), end: impl FnOnce(Stream)) -> Duration {
    let (endpoint, mut socket) = stalled;
    let from = Instant::now();
    end(endpoint);
    let took = from.elapsed();
    let mut all = Vec::new();
    socket.read_to_end(&mut all).expect("sent");
    assert_eq!(all, [7; SENT]);
    took
}

fn close(endpoint: Stream, nonblocking: bool, close_time: Duration) {
    endpoint.settings().set_close_time(close_time).expect("short");
    let handle = endpoint;
    handle.set_nonblocking(nonblocking).expect("open");
    handle.drain();
}

#[test]
fn no_close_waits_because_another_process_has_set_so_linger() {
    in_own_process!();
    within(PATIENCE, "the linger of another process".to_owned());
    let ends: [fn(Stream); 3] = [
        drop,
        |endpoint| close(endpoint, true, PATIENCE),
        |endpoint| close(endpoint, false, Duration::from_millis(200)),
    ];
    for end in ends {
        let stalled = stalled();
        linger_behind(stalled.1.peer_addr().expect("connected"));
        let took = time_of(stalled, end);
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}

#[test]
fn a_close_that_blocks_waits_as_long_as_xti_linger_says() {
    in_own_process!();
    within(PATIENCE, "XTI_LINGER".to_owned());
    let lingering = |seconds: i32| {
        let stalled = stalled();
        let value = [1, seconds].map(i32::to_ne_bytes).concat();
        let name = (XTI_GENERIC, XTI_LINGER);
        assert_eq!(negotiate(&stalled.0, name, &value), (OptionStatus::SUCCESS, value.clone()));
        assert_eq!(current(&stalled.0, name), value);
        stalled
    };
    let second = Duration::from_secs(1);
    let took = time_of(lingering(1), |endpoint| close(endpoint, false, PATIENCE));
    assert!(took >= second && took < 20 * second, "{took:?}");
    for (nonblocking, close_time) in [(true, PATIENCE), (false, second / 5)] {
        let took = time_of(lingering(300), |endpoint| close(endpoint, nonblocking, close_time));
        assert!(took < 20 * second, "{took:?}");
    }
    // Until everything was taken.
    let (endpoint, mut socket) = lingering(300);
    let reader = std::thread::spawn(move || socket.read_to_end(&mut Vec::new()).expect("sent"));
    let from = Instant::now();
    close(endpoint, false, PATIENCE);
    assert!(from.elapsed() < 20 * second);
    assert_eq!(reader.join().expect("read"), SENT);
}
