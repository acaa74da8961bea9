//! T_OPTMGMT_REQ: options of the levels of IP and UDP. They are kept in the endpoint's memory, and set at its socket; so they can be
//! negotiated before a bind.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_os::internet::Fields;

use super::super::internet_options::{Form, Known, OF_IP, OF_UDP, UDP, fields_of};
use super::super::provider::answer::{answer, refuse};
use super::super::provider::options::Answers;
use super::generic::{self, listed};
use super::{SOCKET, memory, words};
use crate::drivers::internet_options::IP;
use crate::drivers::provider::options::ALL;
use crate::error::{Errno, Result};
use crate::plumb::queue::Queue;
use crate::tpi::{
    ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, TransportError, TransportOption, XTI_GENERIC,
};

/// The options, with the values that they have without the user's doing. Their order is that of their places in the memory.
const TABLE: [(Known, &[u8]); words::OPTIONS_MAX] = {
    let [header, tos, ttl, reuse_address, dont_route, broadcast] = OF_IP;
    let (off, on) = (&0_i32.to_ne_bytes(), &1_i32.to_ne_bytes());
    [(header, &[]), (tos, &[0]), (ttl, &[64]), (reuse_address, off), (dont_route, off), (broadcast, off), (OF_UDP, on)]
};
const HEADER: usize = 0;
const TOS: usize = 1;
const REUSE_ADDRESS: usize = 3;

/// Gives a new socket what the user has set.
pub(super) fn set_all(queue: &Queue<'_, '_, '_>, socket: BorrowedFd<'_>, is_v6: bool) -> io::Result<()> {
    for (number, (known, _)) in TABLE.iter().enumerate() {
        // IPv6 has no options in its header.
        if let Ok(Some(value)) = words::option(queue, number)
            && !(is_v6 && known.form == Form::Header)
        {
            known.set(socket, &value)?;
        }
    }
    Ok(())
}

/// Whether several endpoints may have the address of this one.
pub(super) fn shares_address(queue: &Queue<'_, '_, '_>) -> Result<bool> {
    Ok(words::option(queue, REUSE_ADDRESS)?.is_some_and(|value| value != TABLE[REUSE_ADDRESS].1))
}

/// The fields of a datagram with these options of its own: what they do not say is as the endpoint's options have it. None: the kernel
/// makes such a header, and no other does.
pub(super) fn fields(
    queue: &Queue<'_, '_, '_>,
    own: &[u8],
    is_v6: bool,
) -> Result<std::result::Result<Option<Fields>, Errno>> {
    let mut fields = match fields_of(own, is_v6) {
        Ok(fields) => fields,
        Err(error) => return Ok(Err(error)),
    };
    let has_header = !is_v6 && words::option(queue, HEADER)?.is_some_and(|value| !value.is_empty());
    if has_header || !fields.options.bytes().is_empty() {
        return Ok(Ok(None));
    }
    if fields.tos.is_none() {
        fields.tos = words::option(queue, TOS)?.and_then(|value| value.first().copied());
    }
    Ok(Ok(Some(fields)))
}

pub(super) fn manage(queue: &mut Queue<'_, '_, '_>, list: &[u8], flags: ManagementFlags) -> Result<()> {
    let Some(mut asked) = listed(queue, list, flags, &[IP, UDP, XTI_GENERIC])? else { return Ok(()) };
    if list.is_empty() {
        let all = |level| TransportOption { level, name: ALL, status: OptionStatus::NONE, value: &[] };
        asked = [IP, UDP, XTI_GENERIC].map(all).to_vec();
    }
    let is_malformed = |asked: &TransportOption<'_>| {
        let is_it = |(known, _): &&(Known, &[u8])| (known.level, known.name) == (asked.level, asked.name);
        TABLE.iter().find(is_it).is_some_and(|(known, _)| known.is_malformed(asked.value, flags))
    };
    if asked.iter().any(is_malformed) {
        return refuse(queue, PrimitiveNumber::OptmgmtReq, TransportError::BadOptions);
    }
    let mut answers = Answers::new();
    for TransportOption { level, name, value, .. } in asked {
        if level == XTI_GENERIC {
            generic::add_generic(&mut answers, name, flags, value);
            continue;
        }
        let mut is_known = false;
        for (number, (known, _)) in TABLE.iter().enumerate() {
            if known.level == level && (name == ALL || known.name == name) {
                is_known = true;
                let value = (name != ALL).then_some(value);
                manage_one(queue, number, value, flags, &mut answers)?;
            }
        }
        if !is_known {
            answers.add(level, name, OptionStatus::NOT_SUPPORTED, value);
        }
    }
    answer(queue, Primitive::OptmgmtAck { options: &answers.list, flags: answers.worst })
}

/// One option. `value`: what is asked for; None: of all options of a level, which are set to what is usual.
fn manage_one(
    queue: &mut Queue<'_, '_, '_>,
    number: usize,
    value: Option<&[u8]>,
    flags: ManagementFlags,
    answers: &mut Answers,
) -> Result<()> {
    let (known, usual) = &TABLE[number];
    let mut add = |status, value: &[u8]| answers.add(known.level, known.name, status, value);
    let bound = words::own_address(queue)?;
    if number == HEADER && bound.is_some_and(|own| own.is_ipv6()) {
        add(OptionStatus::NOT_SUPPORTED, value.unwrap_or_default());
        return Ok(());
    }
    match flags {
        ManagementFlags::DEFAULT => add(OptionStatus::SUCCESS, usual),
        ManagementFlags::NEGOTIATE => {
            let Some(wanted) = value.map_or(Some(usual.to_vec()), |value| known.value(value).ok()) else {
                add(OptionStatus::FAILURE, value.unwrap_or_default());
                return Ok(());
            };
            let is_bound = bound.is_some();
            let is_set = if is_bound && number == REUSE_ADDRESS {
                // It says who may have the address, and that was decided.
                words::option(queue, number)?.as_deref().unwrap_or(usual) == wanted
            } else {
                match queue.file(SOCKET)? {
                    Some(socket) if is_bound => known.set(socket.as_fd(), &wanted).is_ok(),
                    _ => true,
                }
            };
            if !is_set {
                add(OptionStatus::FAILURE, &wanted);
                return Ok(());
            }
            words::set_option(queue, number, &wanted)?;
            // The routes of earlier datagrams are for headers as they were.
            queue.along_own(memory::renew)?;
            add(OptionStatus::SUCCESS, &wanted);
        }
        ManagementFlags::CHECK => {
            let is_possible = value.is_none_or(|value| value.is_empty() || known.value(value).is_ok());
            let status = if is_possible { OptionStatus::SUCCESS } else { OptionStatus::FAILURE };
            add(status, value.unwrap_or_default());
        }
        _ => add(OptionStatus::SUCCESS, words::option(queue, number)?.as_deref().unwrap_or(usual)),
    }
    Ok(())
}
