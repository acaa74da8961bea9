//! T_OPTMGMT_REQ: options of XTI, IP, UDP and TCP as settings of the socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::internet::Setting;

use super::{LISTENER, Protocol, new_socket, number_of, socket};
use crate::drivers::internet_options::{Form, Known, OF_IP, OF_UDP, TCP, Wrong};
use crate::drivers::provider::answer::{answer, refuse, refuse_by};
use crate::drivers::provider::options::{ALL, Answers, check};
use crate::error::{Errno, Result};
use crate::plumb::queue::Queue;
use crate::tpi::{
    ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, TransportError, TransportOption, XTI_DEBUG, XTI_GENERIC,
    XTI_LINGER, XTI_RCVBUF, XTI_RCVLOWAT, XTI_SNDBUF, XTI_SNDLOWAT, options,
};

/// EOPNOTSUPP.
const NO_SOCKET: Errno = Errno::new(95);

const fn known(level: u32, name: u32, form: Form) -> Known {
    Known { level, name, form }
}

const GENERIC: [Known; 6] = [
    known(XTI_GENERIC, XTI_DEBUG, Form::Same(Setting::Debug)),
    known(XTI_GENERIC, XTI_LINGER, Form::Same(Setting::Linger)),
    known(XTI_GENERIC, XTI_SNDBUF, Form::Doubled(Setting::SendBuffer)),
    known(XTI_GENERIC, XTI_RCVBUF, Form::Doubled(Setting::ReceiveBuffer)),
    known(XTI_GENERIC, XTI_SNDLOWAT, Form::ReadOnly(Setting::SendLowWater)),
    known(XTI_GENERIC, XTI_RCVLOWAT, Form::Same(Setting::ReceiveLowWater)),
];
const OF_TCP: [Known; 3] = [
    known(TCP, 0x1, Form::Same(Setting::NoDelay)),
    known(TCP, 0x2, Form::Same(Setting::SegmentSize)),
    known(TCP, 0x8, Form::KeepAlive),
];

/// The options of a protocol.
fn of_protocol(protocol: Protocol) -> impl Iterator<Item = &'static Known> {
    let own: &[Known] = match protocol {
        Protocol::Udp => &[OF_UDP],
        Protocol::Tcp => &OF_TCP,
        Protocol::RawIp => &[],
    };
    GENERIC.iter().chain(&OF_IP).chain(own)
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
        return refuse_by(queue, of, &error);
    }
    let Some(fd) = usual.as_ref().map(|usual| usual.as_fd()).or(socket.as_ref().map(|socket| socket.as_fd())) else {
        return refuse(queue, of, TransportError::BadFile);
    };
    // Before any is changed.
    for option in options(list) {
        let Ok(option) = option else { return refuse(queue, of, TransportError::BadOptions) };
        if find(protocol, &option).is_some_and(|row| row.is_malformed(option.value, flags)) {
            return refuse(queue, of, TransportError::BadOptions);
        }
    }
    let mut answers = Answers::new();
    if list.is_empty() {
        for row in of_protocol(protocol) {
            tell(&mut answers, row, fd);
        }
    }
    for option in options(list).flatten() {
        if option.name == ALL && of_protocol(protocol).any(|row| row.level == option.level) {
            of_protocol(protocol).filter(|row| row.level == option.level).for_each(|row| tell(&mut answers, row, fd));
            continue;
        }
        let Some(row) = find(protocol, &option) else {
            answers.add(option.level, option.name, OptionStatus::NOT_SUPPORTED, option.value);
            continue;
        };
        match row.value(option.value) {
            Ok(asked) if flags == ManagementFlags::NEGOTIATE => {
                if let Err(error) = change(&mut answers, row, fd, &asked) {
                    let error = crate::Error::new(Errno::new(number_of(&error).cast_signed()), error.to_string());
                    return refuse_by(queue, of, &error);
                }
            }
            Ok(asked) if flags == ManagementFlags::CHECK => {
                let is_free = !matches!(row.form, Form::ReadOnly(_)) || row.get(fd).is_ok_and(|found| found == asked);
                let status = if is_free { OptionStatus::SUCCESS } else { OptionStatus::READ_ONLY };
                answers.add(option.level, option.name, status, option.value);
            }
            Err(Wrong::Value) if matches!(flags, ManagementFlags::NEGOTIATE | ManagementFlags::CHECK) => {
                answers.add(option.level, option.name, OptionStatus::FAILURE, option.value);
            }
            // Of a question whether there is such an option.
            Err(_) if flags == ManagementFlags::CHECK => {
                answers.add(option.level, option.name, OptionStatus::SUCCESS, &[]);
            }
            _ => tell(&mut answers, row, fd),
        }
    }
    // No state waits for the answer: the question and the answer are one step.
    answer(queue, Primitive::OptmgmtAck { options: &answers.list, flags: answers.worst })
}

fn find(protocol: Protocol, option: &TransportOption<'_>) -> Option<&'static Known> {
    of_protocol(protocol).find(|known| (known.level, known.name) == (option.level, option.name))
}

/// Changes an option. Only a lack of permission is an error of the whole request.
fn change(answers: &mut Answers, row: &Known, fd: BorrowedFd<'_>, asked: &[u8]) -> io::Result<()> {
    let mut add = |status, value: &[u8]| answers.add(row.level, row.name, status, value);
    if matches!(row.form, Form::ReadOnly(_)) {
        if let Ok(found) = row.get(fd) {
            add(if found == asked { OptionStatus::SUCCESS } else { OptionStatus::READ_ONLY }, &found);
        }
        return Ok(());
    }
    match row.set(fd, asked).and_then(|()| row.get(fd)) {
        Ok(found) => add(if found == asked { OptionStatus::SUCCESS } else { OptionStatus::PARTIAL }, &found),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
        Err(_) => add(OptionStatus::FAILURE, asked),
    }
    Ok(())
}

/// Adds the present value.
fn tell(answers: &mut Answers, row: &Known, fd: BorrowedFd<'_>) {
    match row.get(fd) {
        Ok(found) => answers.add(row.level, row.name, OptionStatus::SUCCESS, &found),
        Err(_) => answers.add(row.level, row.name, OptionStatus::NOT_SUPPORTED, &[]),
    }
}
