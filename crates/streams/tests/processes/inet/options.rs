//! Options of the socket by T_OPTMGMT_REQ.

use std::net::{TcpListener, UdpSocket};

use headwater_streams::Stream;
use headwater_streams::tpi::{
    InternetAddress, ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, TransportError, TransportOption,
    XTI_GENERIC, XTI_LINGER, XTI_RCVBUF, XTI_SNDLOWAT, options,
};

use super::datagrams::send;
use super::{PATIENCE, ask, ask_with, bound_to, connected_to, is, next, open, refused, told};
use crate::common::{in_own_process, within};

const IP: u32 = 0;
const TCP: u32 = 6;
const UDP: u32 = 17;
const HEADER: (u32, u32) = (IP, 1);
const TOS: (u32, u32) = (IP, 2);
const TTL: (u32, u32) = (IP, 3);
const BROADCAST: (u32, u32) = (IP, 0x20);
const CHECKSUM: (u32, u32) = (UDP, 0x600);
const NODELAY: (u32, u32) = (TCP, 1);
const KEEPALIVE: (u32, u32) = (TCP, 8);

type Answer = (ManagementFlags, Vec<(u32, u32, OptionStatus, Vec<u8>)>);

fn ask_for(endpoint: &Stream, flags: ManagementFlags, list: &[((u32, u32), &[u8])]) {
    let mut bytes = Vec::new();
    for ((level, name), value) in list {
        let option = TransportOption { level: *level, name: *name, status: OptionStatus::NONE, value };
        option.append_to(&mut bytes);
    }
    ask(endpoint, Primitive::OptmgmtReq { options: &bytes, flags });
}

fn answer(endpoint: &Stream) -> Answer {
    let message = next(endpoint);
    match Primitive::decode(message.control().expect("an answer")) {
        Ok(Primitive::OptmgmtAck { options: list, flags }) => {
            let each = options(list).map(|option| option.expect("well formed"));
            (flags, each.map(|option| (option.level, option.name, option.status, option.value.to_vec())).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// Sets an option, and finds the result and the value of the answer.
pub fn negotiate(endpoint: &Stream, name: (u32, u32), value: &[u8]) -> (OptionStatus, Vec<u8>) {
    ask_for(endpoint, ManagementFlags::NEGOTIATE, &[(name, value)]);
    let (flags, mut list) = answer(endpoint);
    let (_, _, status, value) = list.remove(0);
    assert_eq!(flags.bits(), status.bits());
    (status, value)
}

pub fn current(endpoint: &Stream, name: (u32, u32)) -> Vec<u8> {
    ask_for(endpoint, ManagementFlags::CURRENT, &[(name, b"")]);
    answer(endpoint).1.remove(0).3
}

fn word(word: i32) -> Vec<u8> {
    word.to_ne_bytes().to_vec()
}

#[test]
fn options_are_set_read_and_have_their_usual_values() {
    in_own_process!();
    within(PATIENCE, "options".to_owned());
    let (endpoint, _) = bound_to("inet-udp", "127.0.0.1:0", 0);
    let done = |value: i32| (OptionStatus::SUCCESS, word(value));
    let byte = |value: u8| (OptionStatus::SUCCESS, vec![value]);
    assert_eq!(current(&endpoint, TTL), [64]);
    // As a word, as a long, and as a byte.
    assert_eq!(negotiate(&endpoint, TTL, &word(9)), byte(9));
    assert_eq!(negotiate(&endpoint, TTL, &11i64.to_ne_bytes()), byte(11));
    assert_eq!(negotiate(&endpoint, TOS, &[0x10]), byte(0x10));
    assert_eq!((current(&endpoint, TTL), current(&endpoint, TOS)), (vec![11], vec![0x10]));
    assert_eq!(negotiate(&endpoint, HEADER, &[1, 1, 1, 0]), (OptionStatus::SUCCESS, vec![1, 1, 1, 0]));
    assert_eq!(current(&endpoint, HEADER), [1, 1, 1, 0]);
    assert_eq!(negotiate(&endpoint, HEADER, &[1, 1, 1]).0, OptionStatus::PARTIAL);
    assert_eq!(negotiate(&endpoint, HEADER, &[]), (OptionStatus::SUCCESS, vec![]));
    ask_for(&endpoint, ManagementFlags::DEFAULT, &[(TTL, b"")]);
    assert_eq!(answer(&endpoint).1[0].3, [64]);
    assert_eq!(negotiate(&endpoint, BROADCAST, &word(1)), done(1));
    assert_eq!(current(&endpoint, CHECKSUM), word(1));
    assert_eq!(negotiate(&endpoint, CHECKSUM, &word(0)), done(0));
    let linger = [1i32.to_ne_bytes(), 5i32.to_ne_bytes()].concat();
    assert_eq!(negotiate(&endpoint, (XTI_GENERIC, XTI_LINGER), &linger), (OptionStatus::SUCCESS, linger));
    assert_eq!(negotiate(&endpoint, (XTI_GENERIC, XTI_RCVBUF), &word(30_000)), done(30_000));
    assert_eq!(negotiate(&endpoint, (XTI_GENERIC, XTI_SNDLOWAT), &word(77)), (OptionStatus::READ_ONLY, word(1)));
    assert_eq!(negotiate(&endpoint, TTL, &word(256)), (OptionStatus::FAILURE, word(256)));
    assert_eq!(negotiate(&endpoint, NODELAY, &word(1)), (OptionStatus::NOT_SUPPORTED, word(1)));
    // The worst of several, and each of them.
    ask_for(&endpoint, ManagementFlags::NEGOTIATE, &[(TTL, &word(20)), (NODELAY, &word(1)), (TOS, &word(0))]);
    let (flags, list) = answer(&endpoint);
    let results: Vec<_> = list.iter().map(|(_, _, status, _)| *status).collect();
    assert_eq!(flags, ManagementFlags::NOT_SUPPORTED);
    assert_eq!(results, [OptionStatus::SUCCESS, OptionStatus::NOT_SUPPORTED, OptionStatus::SUCCESS]);
    ask_for(&endpoint, ManagementFlags::CURRENT, &[]);
    assert_eq!(answer(&endpoint).1.len(), 13);
}

#[test]
fn options_of_a_wrong_form_are_refused_and_change_nothing() {
    in_own_process!();
    within(PATIENCE, "wrong options".to_owned());
    let of = PrimitiveNumber::OptmgmtReq;
    let (endpoint, _) = bound_to("inet-udp", "127.0.0.1:0", 0);
    for wrong in [&b""[..], b"ab", b"abc", b"abcde"] {
        ask_for(&endpoint, ManagementFlags::NEGOTIATE, &[(TTL, &word(3)), (TOS, wrong)]);
        refused(&endpoint, of, TransportError::BadOptions);
    }
    for cut in [1, 15, 19] {
        let mut list = Vec::new();
        TransportOption { level: IP, name: 3, status: OptionStatus::NONE, value: &word(3) }.append_to(&mut list);
        ask(&endpoint, Primitive::OptmgmtReq { options: &list[..cut], flags: ManagementFlags::NEGOTIATE });
        refused(&endpoint, of, TransportError::BadOptions);
    }
    ask(&endpoint, Primitive::OptmgmtReq { options: b"", flags: ManagementFlags::SUCCESS });
    refused(&endpoint, of, TransportError::BadFlag);
    assert_eq!(current(&endpoint, TTL), [64]);
    ask_for(&endpoint, ManagementFlags::NEGOTIATE, &[(TTL, &word(3)), (HEADER, &[1; 41])]);
    refused(&endpoint, of, TransportError::BadOptions);
    // A raw endpoint without an address has no socket yet: it tells the usual values, and takes no others.
    let raw = open("inet-rawip");
    assert_eq!(current(&raw, TTL), [64]);
    ask_for(&raw, ManagementFlags::NEGOTIATE, &[(TTL, &word(9))]);
    told(&raw, Primitive::ErrorAck { of, error: TransportError::System, errno: libc::EOPNOTSUPP as u32 });
}

#[test]
fn an_option_changes_what_the_network_sees() {
    in_own_process!();
    within(PATIENCE, "broadcasts".to_owned());
    let (endpoint, _) = bound_to("inet-udp", "0.0.0.0:0", 0);
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    // The broadcast address of the loop-back network.
    let everyone = ("127.255.255.255".parse::<std::net::Ipv4Addr>().unwrap(), socket.local_addr().unwrap().port());
    send(&endpoint, everyone.into(), b"x");
    let message = next(&endpoint);
    let refused = Primitive::decode(message.control().unwrap());
    assert!(matches!(refused, Ok(Primitive::UderrorInd { error, .. }) if error == libc::EACCES as u32), "{refused:?}");
    assert_eq!(negotiate(&endpoint, BROADCAST, &word(1)).0, OptionStatus::SUCCESS);
    send(&endpoint, everyone.into(), b"x");
    assert_eq!(socket.recv(&mut [0; 8]).expect("sent"), 1);
}

#[test]
fn a_datagram_has_options_of_its_own_and_is_told_with_its_fields() {
    in_own_process!();
    within(PATIENCE, "options of datagrams".to_owned());
    let list = |status, of: &[((u32, u32), &[u8])]| {
        let mut list = Vec::new();
        for ((level, name), value) in of {
            TransportOption { level: *level, name: *name, status, value }.append_to(&mut list);
        }
        list
    };
    let header = [1, 1, 1, 0];
    for of in ["127.0.0.1:0", "[::1]:0"] {
        let ((one, from), (two, to)) = (bound_to("inet-udp", of, 0), bound_to("inet-udp", of, 0));
        let (from, to) = (InternetAddress::from(from), InternetAddress::from(to));
        let sent = |options: &[u8]| {
            ask_with(&one, Primitive::UnitdataReq { destination: to.bytes(), options }, Some(b"x"));
        };
        for tos in [0, 4, 4, 4, 8, 8, 0] {
            // The one without options makes a route, which one with options neither makes nor takes.
            sent(b"");
            is(&next(&two), Primitive::UnitdataInd { source: from.bytes(), options: b"" });
            sent(&list(OptionStatus::NONE, &[(TOS, &[tos]), (TTL, &[2])]));
            let told = if tos > 0 { list(OptionStatus::SUCCESS, &[(TOS, &[tos])]) } else { Vec::new() };
            is(&next(&two), Primitive::UnitdataInd { source: from.bytes(), options: &told });
        }
        let asked = list(OptionStatus::NONE, &[(HEADER, &header)]);
        sent(&asked);
        if of.starts_with('[') {
            // IPv6 has none.
            told(&one, Primitive::UderrorInd { destination: to.bytes(), options: &asked, error: 22 });
        } else {
            let options = list(OptionStatus::SUCCESS, &[(HEADER, &header)]);
            is(&next(&two), Primitive::UnitdataInd { source: from.bytes(), options: &options });
        }
        let wrong = list(OptionStatus::NONE, &[(BROADCAST, &word(1))]);
        sent(&wrong);
        told(&one, Primitive::UderrorInd { destination: to.bytes(), options: &wrong, error: 22 });
    }
}

#[test]
fn an_option_that_was_set_before_holds_for_each_connection() {
    in_own_process!();
    within(PATIENCE, "options of connections".to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = listener.local_addr().unwrap();
    let endpoint = connected_to(to);
    assert_eq!(current(&endpoint, NODELAY), word(0));
    assert_eq!(negotiate(&endpoint, NODELAY, &word(1)).0, OptionStatus::SUCCESS);
    let alive = [1i32.to_ne_bytes(), 3i32.to_ne_bytes()].concat();
    assert_eq!(negotiate(&endpoint, KEEPALIVE, &alive), (OptionStatus::SUCCESS, alive.clone()));
    ask(&endpoint, Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE });
    next(&endpoint);
    super::call(&endpoint, to);
    next(&endpoint);
    assert_eq!((current(&endpoint, NODELAY), current(&endpoint, KEEPALIVE)), (word(1), alive));
}
