//! T_OPTMGMT_REQ: the options of IP and UDP.

use std::net::{SocketAddr, UdpSocket};

use headwater_streams::Stream;
use headwater_streams::tpi::{InternetAddress, ManagementFlags, OptionStatus, Primitive, TransportOption, options};

use super::{PATIENCE, address, ask, bind, bound, open, received, reported, send};
use crate::common::{calm, in_own_process, private_directory, within};

const IP: u32 = 0;
const UDP: u32 = 17;
const HEADER: u32 = 1;
const TOS: u32 = 2;
const TTL: u32 = 3;
const REUSE_ADDRESS: u32 = 4;
const BROADCAST: u32 = 0x20;
const CHECKSUM: u32 = 0x600;
/// EACCES.
const NOT_PERMITTED: u32 = 13;

/// A list of options.
fn list(of: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut list = Vec::new();
    for (level, name, value) in of {
        TransportOption { level: *level, name: *name, status: OptionStatus::NONE, value }.append_to(&mut list);
    }
    list
}

/// Asks about one option; the answer's flags, and the option's status and value.
fn manage(
    endpoint: &Stream,
    flags: ManagementFlags,
    (level, name): (u32, u32),
    value: &[u8],
) -> (ManagementFlags, OptionStatus, Vec<u8>) {
    ask(endpoint, Primitive::OptmgmtReq { options: &list(&[(level, name, value)]), flags });
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
    in_own_process!();
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
        Ok(Primitive::OptmgmtAck { options: list, .. }) => assert_eq!(options(list).count(), 9),
        other => panic!("{other:?}"),
    }
    calm();
}

#[test]
fn the_network_sees_the_options() {
    in_own_process!();
    within(PATIENCE, "what a socket receives".to_owned());
    let directory = private_directory();
    for (of, level, told) in [
        ("127.0.0.1:0", libc::IPPROTO_IP, [libc::IP_RECVTTL, libc::IP_RECVTOS]),
        ("[::1]:0", libc::IPPROTO_IPV6, [libc::IPV6_RECVHOPLIMIT, libc::IPV6_RECVTCLASS]),
    ] {
        let (endpoint, _) = bound(directory.path(), of);
        let socket = UdpSocket::bind(of).expect("a port");
        told.iter().for_each(|name| turn_on(&socket, level, *name));
        let to = socket.local_addr().expect("bound");
        set(&endpoint, (IP, TTL), &[9]);
        for _ in 0..3 {
            send(&endpoint, to, b"x");
            assert_eq!(fields_received(&socket), [9, 0], "{of}");
            // Of this datagram alone.
            send_with(&endpoint, to, &list(&[(IP, TTL, &[3]), (IP, TOS, &16_u32.to_ne_bytes())]), b"x");
            assert_eq!(fields_received(&socket), [3, 16], "{of}");
        }
    }
    calm();
}

#[test]
fn an_endpoint_is_told_with_which_fields_a_datagram_was_sent() {
    in_own_process!();
    within(PATIENCE, "fields of datagrams".to_owned());
    let directory = private_directory();
    let told = |tos: u8| if tos > 0 { fields_told(&[(IP, TOS, &[tos])]) } else { Vec::new() };
    for of in ["127.0.0.1:0", "[::1]:0"] {
        let ((one, from), (two, to)) = (bound(directory.path(), of), bound(directory.path(), of));
        let socket = UdpSocket::bind(of).expect("a port");
        // Through memory, with the procedures and by a route, each with options of its own.
        for round in 0..20 {
            let tos = [0, 4, 8][round % 3];
            send_with(&one, to, &list(&[(IP, TOS, &[tos])]), b"own");
            assert_eq!(next(&two), (told(tos), b"own".to_vec(), from), "{of}");
        }
        assert!(one.counters().short_sends > 10);
        // What the endpoint has set holds for those that say nothing, also where earlier ones have made a route.
        for tos in [0, 12, 20, 0] {
            set(&one, (IP, TOS), &[tos]);
            for _ in 0..3 {
                send(&one, to, b"set");
                assert_eq!(next(&two), (told(tos), b"set".to_vec(), from), "{of}");
                send_with(&one, to, &list(&[(IP, TOS, &[24])]), b"own");
                assert_eq!(next(&two).0, told(24), "{of}");
            }
        }
        // From any socket.
        let (level, name) =
            if from.is_ipv6() { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
        for tos in [8, 0, 16] {
            set_word(&socket, level, name, tos);
            socket.send_to(b"plain", to).expect("sent");
            assert_eq!(next(&two), (told(tos as u8), b"plain".to_vec(), socket.local_addr().unwrap()), "{of}");
        }
    }
    calm();
}

#[test]
fn options_of_the_header_are_made_by_the_kernel() {
    in_own_process!();
    within(PATIENCE, "options of the header".to_owned());
    let directory = private_directory();
    let ((one, from), (two, to)) = (bound(directory.path(), "127.0.0.1:0"), bound(directory.path(), "127.0.0.1:0"));
    // No operation, three times, and the end.
    let header = [1, 1, 1, 0];
    let told = fields_told(&[(IP, HEADER, &header)]);
    for _ in 0..3 {
        send_with(&one, to, &list(&[(IP, HEADER, &header)]), b"own");
        assert_eq!(next(&two), (told.clone(), b"own".to_vec(), from));
        send(&one, to, b"without");
        assert_eq!(next(&two), (Vec::new(), b"without".to_vec(), from));
    }
    set(&one, (IP, HEADER), &header);
    for _ in 0..3 {
        send(&one, to, b"set");
        assert_eq!(next(&two), (told.clone(), b"set".to_vec(), from));
    }
    set(&one, (IP, HEADER), &[]);
    send(&one, to, b"without");
    assert_eq!(next(&two), (Vec::new(), b"without".to_vec(), from));
    // What is no option, or none of a single datagram, or none of this family.
    let (six, own) = bound(directory.path(), "[::1]:0");
    for (endpoint, to, wrong) in [
        (&one, to, list(&[(IP, HEADER, &[1; 41])])),
        (&one, to, list(&[(IP, TTL, &[0])])),
        (&one, to, list(&[(IP, REUSE_ADDRESS, &1_i32.to_ne_bytes())])),
        (&one, to, list(&[(UDP, CHECKSUM, &1_i32.to_ne_bytes())])),
        (&one, to, list(&[(IP, TOS, &[4])])[..10].to_vec()),
        (&six, own, list(&[(IP, HEADER, &header)])),
    ] {
        send_with(endpoint, to, &wrong, b"x");
        let report = endpoint.receive().expect("no error").expect("no end");
        match Primitive::decode(report.control().expect("a report")) {
            Ok(Primitive::UderrorInd { options, error: 22, .. }) => assert_eq!(options, wrong),
            other => panic!("{wrong:?}: {other:?}"),
        }
    }
    assert!(super::is_empty(&two));
    calm();
}

fn send_with(from: &Stream, to: SocketAddr, options: &[u8], data: &[u8]) {
    from.send_to(InternetAddress::from(to).bytes(), options, data).expect("sent");
}

/// The options with which a receiver is told of a datagram's fields.
fn fields_told(of: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut list = Vec::new();
    for (level, name, value) in of {
        TransportOption { level: *level, name: *name, status: OptionStatus::SUCCESS, value }.append_to(&mut list);
    }
    list
}

/// The next datagram: its options, its data, and its source.
fn next(endpoint: &Stream) -> (Vec<u8>, Vec<u8>, SocketAddr) {
    let (mut source, mut options, mut data) = ([0; 28], [0; 256], [0; 64]);
    let received = endpoint.recv_from(&mut source, &mut options, &mut data).expect("no error").expect("no end");
    let source = InternetAddress::decode(&source[..received.address]).expect("an address");
    (options[..received.options].to_vec(), data[..received.data].to_vec(), source)
}

fn turn_on(socket: &UdpSocket, level: i32, name: i32) {
    set_word(socket, level, name, 1);
}

fn set_word(socket: &UdpSocket, level: i32, name: i32, word: i32) {
    use std::os::fd::AsRawFd;
    // SAFETY: the option's value is that number.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const word).cast(), 4) };
    assert_eq!(done, 0);
}

/// The time to live, or hop limit, of the next datagram, and its type of service, or traffic class.
fn fields_received(socket: &UdpSocket) -> [i32; 2] {
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
        let mut fields = [0; 2];
        let mut part = libc::CMSG_FIRSTHDR(&raw const header);
        while let Some(of) = part.as_ref() {
            let is_byte = of.cmsg_type == libc::IP_TOS && of.cmsg_level == libc::IPPROTO_IP;
            let at = libc::CMSG_DATA(part);
            let value = if is_byte { i32::from(at.read()) } else { at.cast::<i32>().read_unaligned() };
            fields[usize::from(is_byte || of.cmsg_type == libc::IPV6_TCLASS)] = value;
            part = libc::CMSG_NXTHDR(&raw const header, part);
        }
        fields
    }
}

#[test]
fn a_broadcast_needs_its_option() {
    in_own_process!();
    within(PATIENCE, "broadcasts".to_owned());
    let directory = private_directory();
    let (endpoint, _) = bound(directory.path(), "0.0.0.0:0");
    let to = address("127.255.255.255:9");
    send(&endpoint, to, b"x");
    assert_eq!(reported(&endpoint, to), NOT_PERMITTED);
    set(&endpoint, (IP, BROADCAST), &1_u32.to_ne_bytes());
    send(&endpoint, to, b"x");
    assert!(super::is_empty(&endpoint));
    calm();
}

#[test]
fn endpoints_that_all_allow_it_have_one_address() {
    in_own_process!();
    within(PATIENCE, "an address of two".to_owned());
    let directory = private_directory();
    let endpoints = [open(directory.path()), open(directory.path())];
    endpoints.iter().for_each(|endpoint| set(endpoint, (IP, REUSE_ADDRESS), &1_u32.to_ne_bytes()));
    let at = bind(&endpoints[0], address("127.0.0.1:0")).expect("free");
    assert_eq!(bind(&endpoints[1], at), Ok(at));
    let (sender, own) = bound(directory.path(), "127.0.0.1:0");
    send(&sender, at, b"x");
    let has = endpoints.iter().find(|endpoint| !super::is_empty(endpoint)).expect("one of them has it");
    assert_eq!(received(has), (b"x".to_vec(), own));
    calm();
}
