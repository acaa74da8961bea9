//! T_OPTMGMT_REQ: options of XTI, IP, UDP and TCP as settings of the socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::internet::{IpOptions, Setting};

use super::{LISTENER, Protocol, new_socket, number_of, socket};
use crate::drivers::internet_options::{Form, Known, OF_IP, OF_UDP, TCP, Wrong, is_v6};
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
    known(TCP, 0x2, Form::ReadOnly(Setting::SegmentSize)),
    known(TCP, 0x8, Form::KeepAlive),
];

/// What a socket keeps that replaces another one of an endpoint. Two more are kept if the user has set them: the sizes of the buffers,
/// which the kernel chooses else.
const KEPT: [Setting; 11] = [
    Setting::Debug,
    Setting::Linger,
    Setting::ReceiveLowWater,
    Setting::TypeOfService,
    Setting::TimeToLive,
    Setting::DontRoute,
    Setting::Broadcast,
    Setting::NoChecksum,
    Setting::NoDelay,
    Setting::KeepAlive,
    Setting::KeepAliveAfter,
];

/// Gives a socket the settings of the one that it replaces. `usual`: those that this one has too are left alone.
pub(super) fn keep(old: BorrowedFd<'_>, new: BorrowedFd<'_>, usual: Option<BorrowedFd<'_>>) {
    for setting in KEPT {
        // Of a protocol or of IPv4 alone, some of them.
        let Ok(words) = setting.get(old) else { continue };
        if usual.is_none_or(|usual| setting.get(usual).ok() != Some(words)) {
            let _ = setting.set(new, words);
        }
    }
    let locks = Setting::BufferLocks.get(old).map_or(0, |words| words[0]);
    for (bit, buffer) in [(1, Setting::SendBuffer), (2, Setting::ReceiveBuffer)] {
        if locks & bit != 0 {
            // The kernel tells twice what it was given.
            let _ = buffer.get(old).and_then(|words| buffer.set(new, [words[0] / 2, 0]));
        }
    }
    if let Ok(header) = IpOptions::get(old)
        && !header.bytes().is_empty()
        && !is_v6(new)
    {
        let _ = header.set(new);
    }
}

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
    let asks_usual = flags == ManagementFlags::DEFAULT || flags == ManagementFlags::NEGOTIATE;
    let usual = if socket.is_none() || asks_usual && protocol != Protocol::RawIp {
        Some(new_socket(protocol, false)?)
    } else {
        None
    };
    if socket.is_none() && flags == ManagementFlags::NEGOTIATE {
        let error =
            crate::Error::new(NO_SOCKET, "an endpoint of a raw protocol has options from its bind on".to_owned());
        return refuse_by(queue, of, &error);
    }
    let own = socket.as_ref().map(|socket| socket.as_fd());
    let usual = usual.as_ref().map(|usual| usual.as_fd());
    let is_negotiation = flags == ManagementFlags::NEGOTIATE;
    let Some(fd) = (if is_negotiation { own.or(usual) } else { usual.or(own) }) else {
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
            for row in of_protocol(protocol).filter(|row| row.level == option.level) {
                // All are set to what is usual. A size that is already is left alone: the kernel changes it as it needs.
                let wanted = usual.filter(|_| is_negotiation).and_then(|usual| row.get(usual).ok());
                match wanted.filter(|wanted| row.get(fd).ok().as_ref() != Some(wanted)) {
                    Some(wanted) => {
                        if let Err(error) = change(&mut answers, row, fd, &wanted) {
                            return refuse_by(queue, of, &of_system(&error));
                        }
                    }
                    None => tell(&mut answers, row, fd),
                }
            }
            continue;
        }
        let Some(row) = find(protocol, &option) else {
            answers.add(option.level, option.name, OptionStatus::NOT_SUPPORTED, option.value);
            continue;
        };
        match row.value(option.value) {
            Ok(asked) if is_negotiation => {
                if let Err(error) = change(&mut answers, row, fd, &asked) {
                    return refuse_by(queue, of, &of_system(&error));
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

/// What a call to the kernel reports.
fn of_system(error: &io::Error) -> crate::Error {
    crate::Error::new(Errno::new(number_of(error).cast_signed()), error.to_string())
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
    if row.get(fd).is_err() {
        add(OptionStatus::NOT_SUPPORTED, asked);
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
