//! `pckt`: pushed on the master's side of a pseudo-terminal, makes each message that comes from the slave's side an M_PROTO whose
//! control part begins with the message's type, four bytes in the order of the machine; the data part is the message's. So the
//! master's user gets flushes, stops and starts of the slave's side as messages, by getmsg, and nothing at its head is flushed.
//!
//! The types are those of [`Kind`]: M_DATA, M_PROTO, M_PCPROTO, M_FLUSH, M_STOP, M_START, M_STOPI, M_STARTI, M_READ and M_IOCTL.
//! Others pass. Written from pckt(7) of SVR4's manuals.

use headwater_streams::{Kind, Message, MessageHeader, Module, ModuleInfo, Queue, Result, Side};

/// The module.
#[derive(Debug)]
pub struct PacketMode;

impl Module for PacketMode {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("pckt").service(Side::Read)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Write || !is_packed(message.header.kind) {
            return queue.put_next(message);
        }
        let packet = packet(&message);
        if queue.size(0).0 == 0 && queue.can_put_next(0)? { queue.put_next(packet) } else { queue.put_queue(packet) }
    }
}

fn is_packed(kind: Kind) -> bool {
    let ends_or_begins = matches!(kind, Kind::Stop | Kind::Start | Kind::StopInput | Kind::StartInput);
    let carries = matches!(kind, Kind::Data | Kind::Proto | Kind::PcProto | Kind::Flush | Kind::Read | Kind::Ioctl);
    ends_or_begins || carries
}

/// The message with its type before it. Its band and its priority are gone, so that the order is that of sending.
fn packet(message: &Message<'_>) -> Message<'static> {
    let kind = (message.header.kind as u32).to_ne_bytes();
    let control = [&kind, message.control().unwrap_or_default()].concat();
    Message::from_parts(MessageHeader::of(Kind::Proto), Some(control), message.data().map(<[u8]>::to_vec))
}
