//! `testmod`: imitates drivers and other modules on request: hangs up, raises errors and signals, sets options. The
//! request is an M_PROTO from the head whose control part is a line of words, or an ioctl of [`ioctl`]; everything else
//! passes.
//!
//! | request | effect |
//! |---|---|
//! | `hangup`, `unhangup` | M_HANGUP, M_UNHANGUP to the module's own head |
//! | `hangup N` | M_HANGUP, and M_UNHANGUP ahead of the Nth message that then comes from the other end, as when a
//! line's carrier returns |
//! | `error R W` | M_ERROR with these errnos for reading and writing; 0 clears, 255 leaves |
//! | `signal N`, `pcsignal N` | M_SIG, M_PCSIG |
//! | `flush R W` | M_FLUSH with these flags, 0 or 1 |
//! | `hiwat N`, `lowat N` | M_SETOPTS that sets the head's water mark |
//! | `proto TEXT`, `pcproto TEXT` | M_PROTO, M_PCPROTO with that control part |

use crate::error::{Errno, Error, Result};
use crate::message::Message;
use crate::message::kind::{Flush, Kind, MessageHeader};
use crate::options::head::SetOptions;
use crate::plumb::module::{Module, ModuleInfo, Side};
use crate::plumb::queue::Queue;

pub mod ioctl;

/// The module.
#[derive(Debug)]
pub struct TestModule;

impl Module for TestModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("testmod")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Read {
            count_down(queue)?;
            return queue.put_next(message);
        }
        if matches!(message.header.kind, Kind::Ioctl | Kind::IocData) {
            return ioctl::put(message, queue);
        }
        let request = message.control().filter(|_| message.header.kind == Kind::Proto).map(String::from_utf8_lossy);
        let Some(request) = request else { return queue.put_next(message) };
        let reply = answer(&request)?;
        if let Some(count) = request.strip_prefix("hangup ").and_then(|count| count.trim().parse().ok()) {
            let mut state = queue.state();
            state[UNHANGUP_AFTER] = count;
            queue.set_state(state);
        }
        queue.reply(reply)
    }
}

/// The word of the state with the number of messages from the other end after which the hang-up is over; 0: not by
/// messages.
const UNHANGUP_AFTER: usize = 0;

/// Counts a message from the other end.
fn count_down(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let mut state = queue.state();
    if state[UNHANGUP_AFTER] == 0 {
        return Ok(());
    }
    state[UNHANGUP_AFTER] -= 1;
    queue.set_state(state);
    if state[UNHANGUP_AFTER] > 0 {
        return Ok(());
    }
    queue.put_next(Message::from_parts(MessageHeader::of(Kind::Unhangup), None, None))
}

fn answer(request: &str) -> Result<Message<'static>> {
    let (verb, rest) = request.split_once(' ').unwrap_or((request, ""));
    let unknown = || Error::new(Errno::Inval, format!("testmod does not know the request '{request}'"));
    let numbers = || rest.split_whitespace().map(|word| word.parse::<u32>().map_err(|_| unknown()));
    let number = |at: usize| numbers().nth(at).unwrap_or_else(|| Err(unknown()));
    let of = |kind: Kind, data: Option<Vec<u8>>| Message::from_parts(MessageHeader::of(kind), None, data);
    Ok(match verb {
        "hangup" => of(Kind::Hangup, None),
        "unhangup" => of(Kind::Unhangup, None),
        "error" => of(Kind::Error, Some(vec![number(0)? as u8, number(1)? as u8])),
        "signal" => of(Kind::Signal, Some(vec![number(0)? as u8])),
        "pcsignal" => of(Kind::PcSignal, Some(vec![number(0)? as u8])),
        "flush" => {
            let flush = Flush { read: number(0)? != 0, write: number(1)? != 0, band: None };
            of(Kind::Flush, Some(flush.bytes().to_vec()))
        }
        "hiwat" => SetOptions { hiwat: Some(number(0)?), ..SetOptions::default() }.message(),
        "lowat" => SetOptions { lowat: Some(number(0)?), ..SetOptions::default() }.message(),
        "proto" => Message::from_parts(MessageHeader::of(Kind::Proto), Some(rest.into()), None),
        "pcproto" => Message::from_parts(MessageHeader::of(Kind::PcProto), Some(rest.into()), None),
        _ => return Err(unknown()),
    })
}
