//! T_OPTMGMT_REQ: options of XTI, IP, UDP and TCP as settings of the socket. Levels, names and values are those of XNS 5.2 (`xti.h`,
//! `xti_inet.h`); docs/streams.md lists them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::internet::Setting;

use super::{LISTENER, Protocol, new_socket, number_of, socket};
use crate::drivers::provider::answer::{answer, refuse};
use crate::drivers::provider::options::{ALL, Answers, check};
use crate::error::{Errno, Result};
use crate::plumb::queue::Queue;
use crate::tpi::{
    ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, TransportError, TransportOption, XTI_DEBUG, XTI_GENERIC,
    XTI_LINGER, XTI_RCVBUF, XTI_RCVLOWAT, XTI_SNDBUF, XTI_SNDLOWAT, options,
};

/// The levels: the numbers of the protocols.
const INET_IP: u32 = 0;
const INET_TCP: u32 = 6;
const INET_UDP: u32 = 17;

/// How the words of an option stand for those of the setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The same.
    Same,
    /// The kernel keeps and tells twice the value.
    Doubled,
    /// On is off.
    Inverse,
    /// On or off, and minutes of silence: of T_TCP_KEEPALIVE.
    KeepAlive,
    /// It cannot be changed.
    ReadOnly,
}

/// EOPNOTSUPP.
const NO_SOCKET: Errno = Errno::new(95);

/// An option: level, name, the setting, and its form.
type Row = (u32, u32, Setting, Form);

const GENERIC_AND_IP: [Row; 11] = [
    (XTI_GENERIC, XTI_DEBUG, Setting::Debug, Form::Same),
    (XTI_GENERIC, XTI_LINGER, Setting::Linger, Form::Same),
    (XTI_GENERIC, XTI_SNDBUF, Setting::SendBuffer, Form::Doubled),
    (XTI_GENERIC, XTI_RCVBUF, Setting::ReceiveBuffer, Form::Doubled),
    (XTI_GENERIC, XTI_SNDLOWAT, Setting::SendLowWater, Form::ReadOnly),
    (XTI_GENERIC, XTI_RCVLOWAT, Setting::ReceiveLowWater, Form::Same),
    (INET_IP, 0x02, Setting::TypeOfService, Form::Same),
    (INET_IP, 0x03, Setting::TimeToLive, Form::Same),
    (INET_IP, 0x04, Setting::ReuseAddress, Form::Same),
    (INET_IP, 0x10, Setting::DontRoute, Form::Same),
    (INET_IP, 0x20, Setting::Broadcast, Form::Same),
];
const UDP: [Row; 1] = [(INET_UDP, 0x0600, Setting::NoChecksum, Form::Inverse)];
const TCP: [Row; 3] = [
    (INET_TCP, 0x1, Setting::NoDelay, Form::Same),
    (INET_TCP, 0x2, Setting::SegmentSize, Form::Same),
    (INET_TCP, 0x8, Setting::KeepAlive, Form::KeepAlive),
];

/// The options of a protocol.
fn rows(protocol: Protocol) -> impl Iterator<Item = &'static Row> {
    let own: &[Row] = match protocol {
        Protocol::Udp => &UDP,
        Protocol::Tcp => &TCP,
        Protocol::RawIp => &[],
    };
    GENERIC_AND_IP.iter().chain(own)
}

pub(super) fn manage(
    queue: &mut Queue<'_, '_, '_>,
    protocol: Protocol,
    list: &[u8],
    flags: ManagementFlags,
) -> Result<()> {
    let of = PrimitiveNumber::OptmgmtReq;
    if !check(queue, list, flags)? {
        return Ok(());
    }
    let socket = match socket(queue)? {
        Some(socket) => Some(socket),
        None => queue.file(LISTENER)?,
    };
    // Before a raw endpoint has an address, it has no socket, and the values are the usual ones.
    let usual = if socket.is_none() || flags == ManagementFlags::DEFAULT && protocol != Protocol::RawIp {
        Some(new_socket(protocol, false)?)
    } else {
        None
    };
    if socket.is_none() && flags == ManagementFlags::NEGOTIATE {
        let error =
            crate::Error::new(NO_SOCKET, "an endpoint of a raw protocol has options from its bind on".to_owned());
        return crate::drivers::provider::answer::refuse_by(queue, of, &error);
    }
    let Some(fd) = usual.as_ref().map(|usual| usual.as_fd()).or(socket.as_ref().map(|socket| socket.as_fd())) else {
        return refuse(queue, of, TransportError::BadFile);
    };
    // Before any is changed.
    for option in options(list) {
        let Ok(option) = option else { return refuse(queue, of, TransportError::BadOptions) };
        let is_asked = matches!(flags, ManagementFlags::NEGOTIATE | ManagementFlags::CHECK);
        let row = find(protocol, &option);
        if is_asked && row.is_some_and(|row| value_of(row, option.value).is_none()) {
            return refuse(queue, of, TransportError::BadOptions);
        }
    }
    let mut answers = Answers::new();
    if list.is_empty() {
        for row in rows(protocol) {
            tell(&mut answers, row, fd);
        }
    }
    for option in options(list).flatten() {
        if option.name == ALL && rows(protocol).any(|row| row.0 == option.level) {
            rows(protocol).filter(|row| row.0 == option.level).for_each(|row| tell(&mut answers, row, fd));
            continue;
        }
        let Some(row) = find(protocol, &option) else {
            answers.add(option.level, option.name, OptionStatus::NOT_SUPPORTED, option.value);
            continue;
        };
        match value_of(row, option.value) {
            Some(asked) if flags == ManagementFlags::NEGOTIATE => {
                if let Err(error) = change(&mut answers, row, fd, asked, &option) {
                    let error = crate::Error::new(Errno::new(number_of(&error).cast_signed()), error.to_string());
                    return crate::drivers::provider::answer::refuse_by(queue, of, &error);
                }
            }
            Some(asked) if flags == ManagementFlags::CHECK => {
                let is_so = get(row, fd).is_ok_and(|words| words == asked);
                let status =
                    if is_so || row.3 != Form::ReadOnly { OptionStatus::SUCCESS } else { OptionStatus::READ_ONLY };
                answers.add(option.level, option.name, status, option.value);
            }
            _ => tell(&mut answers, row, fd),
        }
    }
    // No state waits for the answer: the question and the answer are one step.
    answer(queue, Primitive::OptmgmtAck { options: &answers.list, flags: answers.worst })
}

fn find(protocol: Protocol, option: &TransportOption<'_>) -> Option<&'static Row> {
    rows(protocol).find(|(level, name, ..)| (*level, *name) == (option.level, option.name))
}

/// Words of an option's value.
const fn words(row: &Row) -> usize {
    if matches!(row.3, Form::KeepAlive) { 2 } else { row.2.words() }
}

/// The words of a value: each of 4 bytes, or a single one of 1 or 8 bytes too. None: it is of another length.
fn value_of(row: &Row, value: &[u8]) -> Option<[i32; 2]> {
    let word = |at: usize| value.get(at..).and_then(<[u8]>::first_chunk).map(|bytes| i32::from_ne_bytes(*bytes));
    match (words(row), value.len()) {
        (1, 1) => Some([value[0].into(), 0]),
        (1, 4) => Some([word(0)?, 0]),
        (1, 8) => Some([i64::from_ne_bytes(*value.first_chunk()?).try_into().ok()?, 0]),
        (2, 8) => Some([word(0)?, word(4)?]),
        (2, 16) => {
            let long = |at: usize| i64::from_ne_bytes(std::array::from_fn(|byte| value[at + byte])).try_into().ok();
            Some([long(0)?, long(8)?])
        }
        _ => None,
    }
}

/// Changes an option. Only a lack of permission is an error of the whole request.
fn change(
    answers: &mut Answers,
    row: &Row,
    fd: BorrowedFd<'_>,
    asked: [i32; 2],
    option: &TransportOption<'_>,
) -> io::Result<()> {
    let (level, name, ..) = *row;
    let done = match row.3 {
        Form::ReadOnly if get(row, fd).is_ok_and(|words| words != asked) => {
            let _ = get(row, fd).map(|found| answers.add(level, name, OptionStatus::READ_ONLY, &bytes(row, found)));
            return Ok(());
        }
        _ => set(row, fd, asked),
    };
    match done.and_then(|()| get(row, fd)) {
        Ok(found) => {
            let status = if found == asked { OptionStatus::SUCCESS } else { OptionStatus::PARTIAL };
            answers.add(level, name, status, &bytes(row, found));
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        Err(_) => answers.add(level, name, OptionStatus::FAILURE, option.value),
    }
    Ok(())
}

/// Adds the present value.
fn tell(answers: &mut Answers, row: &Row, fd: BorrowedFd<'_>) {
    match get(row, fd) {
        Ok(found) => answers.add(row.0, row.1, OptionStatus::SUCCESS, &bytes(row, found)),
        Err(_) => answers.add(row.0, row.1, OptionStatus::NOT_SUPPORTED, &[]),
    }
}

fn bytes(row: &Row, found: [i32; 2]) -> Vec<u8> {
    found[..words(row)].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The option's words as they are set.
fn get(row: &Row, fd: BorrowedFd<'_>) -> io::Result<[i32; 2]> {
    let found = row.2.get(fd)?;
    Ok(match row.3 {
        Form::Same | Form::ReadOnly => found,
        Form::Doubled => [found[0] / 2, 0],
        Form::Inverse => [i32::from(found[0] == 0), 0],
        Form::KeepAlive => [found[0], Setting::KeepAliveAfter.get(fd)?[0] / SECONDS],
    })
}

/// Seconds of the minutes in which T_TCP_KEEPALIVE counts.
const SECONDS: i32 = 60;

fn set(row: &Row, fd: BorrowedFd<'_>, asked: [i32; 2]) -> io::Result<()> {
    match row.3 {
        Form::ReadOnly => Ok(()),
        Form::Same | Form::Doubled => row.2.set(fd, asked),
        Form::Inverse => row.2.set(fd, [i32::from(asked[0] == 0), 0]),
        Form::KeepAlive => {
            // T_UNSPEC, a timeout of no meaning: the present one.
            if asked[1] > 0 {
                Setting::KeepAliveAfter.set(fd, [asked[1].saturating_mul(SECONDS), 0])?;
            }
            row.2.set(fd, [asked[0], 0])
        }
    }
}
