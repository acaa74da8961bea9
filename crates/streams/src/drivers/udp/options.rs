//! T_OPTMGMT_REQ: options of the levels of IP and UDP. They are kept in the endpoint's memory, and set at its socket; so they can be
//! negotiated before a bind.

use std::os::fd::AsFd;

use headwater_os::udp_socket::{self, SocketOption};

use super::super::provider::answer::answer;
use super::super::provider::options::Answers;
use super::generic::{self, listed};
use super::{SOCKET, words};
use crate::drivers::provider::options::ALL;
use crate::error::Result;
use crate::plumb::queue::Queue;
use crate::tpi::{ManagementFlags, OptionStatus, Primitive, TransportOption, XTI_GENERIC};

/// The levels, as XNS 5.2 has them: INET_IP, INET_UDP.
const IP: u32 = 0;
const UDP: u32 = 17;

/// An option of a level.
#[derive(Debug)]
struct Known {
    level: u32,
    name: u32,
    socket: SocketOption,
    /// Bytes of its value.
    len: usize,
    least: i32,
    most: i32,
    /// What it is without the user's doing.
    usual: i32,
}

const fn flag(level: u32, name: u32, socket: SocketOption, usual: i32) -> Known {
    Known { level, name, socket, len: 4, least: 0, most: 1, usual }
}

/// IP_TOS, IP_TTL, IP_REUSEADDR, IP_DONTROUTE, IP_BROADCAST, UDP_CHECKSUM. Their order is that of the words in the memory.
const TABLE: [Known; words::OPTIONS_MAX] = [
    Known { level: IP, name: 2, socket: SocketOption::Tos, len: 1, least: 0, most: 255, usual: 0 },
    Known { level: IP, name: 3, socket: SocketOption::Ttl, len: 1, least: 1, most: 255, usual: 64 },
    flag(IP, 4, SocketOption::ReuseAddress, 0),
    flag(IP, 0x10, SocketOption::DontRoute, 0),
    flag(IP, 0x20, SocketOption::Broadcast, 0),
    flag(UDP, 0x600, SocketOption::NoChecksum, 1),
];
const REUSE_ADDRESS: usize = 2;

impl Known {
    /// The option's value as the socket has it, and the other way round.
    fn at_socket(&self, value: i32) -> i32 {
        if self.socket == SocketOption::NoChecksum { 1 - value } else { value }
    }

    /// The value of these bytes, if it is a possible one. A number may be longer than it needs to be.
    fn value(&self, bytes: &[u8]) -> Option<i32> {
        let value = match bytes.len() {
            1 => i64::from(bytes[0]),
            4 => i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)),
            8 => i64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        };
        i32::try_from(value).ok().filter(|value| (self.least..=self.most).contains(value))
    }

    /// A value as it is answered.
    fn bytes(&self, value: i32) -> Vec<u8> {
        if self.len == 1 { vec![value as u8] } else { value.to_ne_bytes().to_vec() }
    }
}

/// What the user has set: for a new socket.
pub(super) fn of_socket(queue: &Queue<'_, '_, '_>) -> Result<Vec<(SocketOption, i32)>> {
    let mut all = Vec::new();
    for (number, known) in TABLE.iter().enumerate() {
        if let Some(value) = words::option(queue, number)? {
            all.push((known.socket, known.at_socket(value)));
        }
    }
    Ok(all)
}

/// Whether several endpoints may have the address of this one.
pub(super) fn shares_address(queue: &Queue<'_, '_, '_>) -> Result<bool> {
    Ok(words::option(queue, REUSE_ADDRESS)? == Some(1))
}

pub(super) fn manage(queue: &mut Queue<'_, '_, '_>, list: &[u8], flags: ManagementFlags) -> Result<()> {
    let Some(mut asked) = listed(queue, list, flags, &[IP, UDP, XTI_GENERIC])? else { return Ok(()) };
    if list.is_empty() {
        let all = |level| TransportOption { level, name: ALL, status: OptionStatus::NONE, value: &[] };
        asked = [IP, UDP, XTI_GENERIC].map(all).to_vec();
    }
    let mut answers = Answers::new();
    for TransportOption { level, name, value, .. } in asked {
        if level == XTI_GENERIC {
            generic::add_generic(&mut answers, name, flags, value);
            continue;
        }
        let mut is_known = false;
        for (number, known) in TABLE.iter().enumerate() {
            if known.level == level && (name == ALL || known.name == name) {
                is_known = true;
                let value = (name != ALL).then_some(value);
                manage_one(queue, (number, known), value, flags, &mut answers)?;
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
    (number, known): (usize, &Known),
    value: Option<&[u8]>,
    flags: ManagementFlags,
    answers: &mut Answers,
) -> Result<()> {
    let mut add = |status, value: &[u8]| answers.add(known.level, known.name, status, value);
    match flags {
        ManagementFlags::DEFAULT => add(OptionStatus::SUCCESS, &known.bytes(known.usual)),
        ManagementFlags::NEGOTIATE => {
            let Some(wanted) = value.map_or(Some(known.usual), |value| known.value(value)) else {
                add(OptionStatus::FAILURE, value.unwrap_or_default());
                return Ok(());
            };
            let is_bound = words::own_address(queue)?.is_some();
            let is_set = if is_bound && number == REUSE_ADDRESS {
                // It says who may have the address, and that was decided.
                words::option(queue, number)?.unwrap_or(known.usual) == wanted
            } else {
                match queue.file(SOCKET)? {
                    Some(socket) if is_bound => {
                        udp_socket::set(socket.as_fd(), known.socket, known.at_socket(wanted)).is_ok()
                    }
                    _ => true,
                }
            };
            if !is_set {
                add(OptionStatus::FAILURE, &known.bytes(wanted));
                return Ok(());
            }
            words::set_option(queue, number, wanted)?;
            add(OptionStatus::SUCCESS, &known.bytes(wanted));
        }
        ManagementFlags::CHECK => {
            let is_possible = value.is_none_or(|value| value.is_empty() || known.value(value).is_some());
            let status = if is_possible { OptionStatus::SUCCESS } else { OptionStatus::FAILURE };
            add(status, value.unwrap_or_default());
        }
        _ => {
            let present = words::option(queue, number)?;
            add(OptionStatus::SUCCESS, &known.bytes(present.unwrap_or(known.usual)));
        }
    }
    Ok(())
}
