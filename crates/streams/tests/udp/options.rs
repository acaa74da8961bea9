//! T_OPTMGMT_REQ: the options of IP and UDP.

use std::net::UdpSocket;

use headwater_streams::Stream;
use headwater_streams::tpi::{ManagementFlags, OptionStatus, Primitive, TransportOption, options};

use crate::common::{alone, calm, private_directory, within};
use crate::{PATIENCE, address, ask, bind, bound, open, received, reported, send};

const IP: u32 = 0;
const UDP: u32 = 17;
const TOS: u32 = 2;
const TTL: u32 = 3;
const REUSE_ADDRESS: u32 = 4;
const BROADCAST: u32 = 0x20;
const CHECKSUM: u32 = 0x600;
/// EACCES.
const NOT_PERMITTED: u32 = 13;

/// Asks about one option; the answer's flags, and the option's status and value.
fn manage(
    endpoint: &Stream,
    flags: ManagementFlags,
    (level, name): (u32, u32),
    value: &[u8],
) -> (ManagementFlags, OptionStatus, Vec<u8>) {
    let mut list = Vec::new();
    TransportOption { level, name, status: OptionStatus::NONE, value }.append_to(&mut list);
    ask(endpoint, Primitive::OptmgmtReq { options: &list, flags });
    let answer = endpoint.receive().expect("no error").expect("no end");
    let Ok(Primitive::OptmgmtAck { options: list, flags }) = Primitive::decode(answer.control().expect("an answer"))
    else {
        panic!("{answer:?}")
    };
    let all: Vec<_> = options(list).map(|option| option.expect("whole")).collect();
    let [option] = all[..] else { panic!("{all:?}") };
    assert_eq!((option.level, option.name), (level, name));
    (flags, option.status, option.value.to_vec())
}

fn set(endpoint: &Stream, option: (u32, u32), value: &[u8]) {
    let (flags, status, _) = manage(endpoint, ManagementFlags::NEGOTIATE, option, value);
    assert_eq!((flags, status), (ManagementFlags::SUCCESS, OptionStatus::SUCCESS));
}

#[test]
fn an_option_has_the_value_that_was_negotiated() {
    let _alone = alone();
    within(PATIENCE, "options are set and read".to_owned());
    let directory = private_directory();
    let endpoint = open(directory.path());
    let current = |option| manage(&endpoint, ManagementFlags::CURRENT, option, &[]).2;
    assert_eq!(current((IP, TTL)), [64]);
    set(&endpoint, (IP, TTL), &[7]);
    bind(&endpoint, address("127.0.0.1:0")).expect("free");
    set(&endpoint, (IP, TOS), &16_u64.to_ne_bytes());
    assert_eq!((current((IP, TTL)), current((IP, TOS))), (vec![7], vec![16]));
    assert_eq!(current((UDP, CHECKSUM)), 1_u32.to_ne_bytes());
    set(&endpoint, (UDP, CHECKSUM), &0_u32.to_ne_bytes());
    let failed = manage(&endpoint, ManagementFlags::NEGOTIATE, (IP, TTL), &0_u32.to_ne_bytes());
    assert_eq!((failed.0, failed.1), (ManagementFlags::FAILURE, OptionStatus::FAILURE));
    let unknown = manage(&endpoint, ManagementFlags::NEGOTIATE, (IP, 77), &[1]);
    assert_eq!((unknown.0, unknown.1), (ManagementFlags::NOT_SUPPORTED, OptionStatus::NOT_SUPPORTED));
    assert_eq!(manage(&endpoint, ManagementFlags::DEFAULT, (IP, TTL), &[]).2, [64]);
    ask(&endpoint, Primitive::OptmgmtReq { options: &[], flags: ManagementFlags::CURRENT });
    let answer = endpoint.receive().expect("no error").expect("no end");
    match Primitive::decode(answer.control().expect("an answer")) {
        Ok(Primitive::OptmgmtAck { options: list, .. }) => assert_eq!(options(list).count(), 8),
        other => panic!("{other:?}"),
    }
    calm();
}

#[test]
fn the_network_sees_the_options() {
    let _alone = alone();
    within(PATIENCE, "what a socket receives".to_owned());
    let directory = private_directory();
    let (endpoint, _) = bound(directory.path(), "127.0.0.1:0");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let on = 1_i32;
    // SAFETY: the option's value is that number.
    let done = unsafe {
        use std::os::fd::AsRawFd;
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_RECVTTL, (&raw const on).cast(), 4)
    };
    assert_eq!(done, 0);
    set(&endpoint, (IP, TTL), &[9]);
    send(&endpoint, socket.local_addr().expect("bound"), b"x");
    assert_eq!(ttl_received(&socket), 9);
    calm();
}

/// The time to live of the next datagram.
fn ttl_received(socket: &UdpSocket) -> i32 {
    use std::os::fd::AsRawFd;
    let (mut data, mut control) = ([0_u8; 16], [0_u64; 8]);
    let mut piece = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    // SAFETY: zeros are a value; the header describes buffers that live through the call; the kernel sets their length.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control);
        assert!(libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) >= 0);
        let message = libc::CMSG_FIRSTHDR(&raw const header);
        assert!(!message.is_null());
        libc::CMSG_DATA(message).cast::<i32>().read_unaligned()
    }
}

#[test]
fn a_broadcast_needs_its_option() {
    let _alone = alone();
    within(PATIENCE, "broadcasts".to_owned());
    let directory = private_directory();
    let (endpoint, _) = bound(directory.path(), "0.0.0.0:0");
    let to = address("127.255.255.255:9");
    send(&endpoint, to, b"x");
    assert_eq!(reported(&endpoint, to), NOT_PERMITTED);
    set(&endpoint, (IP, BROADCAST), &1_u32.to_ne_bytes());
    send(&endpoint, to, b"x");
    assert!(crate::is_empty(&endpoint));
    calm();
}

#[test]
fn endpoints_that_all_allow_it_have_one_address() {
    let _alone = alone();
    within(PATIENCE, "an address of two".to_owned());
    let directory = private_directory();
    let endpoints = [open(directory.path()), open(directory.path())];
    endpoints.iter().for_each(|endpoint| set(endpoint, (IP, REUSE_ADDRESS), &1_u32.to_ne_bytes()));
    let at = bind(&endpoints[0], address("127.0.0.1:0")).expect("free");
    assert_eq!(bind(&endpoints[1], at), Ok(at));
    let (sender, own) = bound(directory.path(), "127.0.0.1:0");
    send(&sender, at, b"x");
    let has = endpoints.iter().find(|endpoint| !crate::is_empty(endpoint)).expect("one of them has it");
    assert_eq!(received(has), (b"x".to_vec(), own));
    calm();
}
