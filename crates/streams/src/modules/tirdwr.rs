//! `tirdwr`: read(2) and write(2) over a connection of a transport, as tirdwr(7) of SVR4. It is pushed on an endpoint that is connected.
//!
//! - What is written goes as plain data; of what comes, the data are read. A user's control part is an error: EPROTO.
//! - An orderly release of the other end reads as the end of the file. A disconnect is a hang-up.
//! - Messages that came to the head before the module was pushed are taken as if they had come through it, as far as they are data,
//!   an orderly release or a disconnect. Others stay as they are: EBADMSG for a read. SVR4's refuses to be pushed then.
//! - When the stream is closed, an orderly release is answered, if one has come: the transport does that. SVR4's does so also when the
//!   module is popped; here the user then answers it.
//! - Expedited data and whatever else comes are an error: EPROTO.
//!
//! ```
//! use headwater_streams::tpi::Primitive;
//!
//! // A module's stream, whose other end stands in the provider's place.
//! let (user, provider) = headwater_streams::pipe()?;
//! user.push("tirdwr")?;
//! provider.putmsg(Some(&Primitive::DataInd { more: false }.encode()), Some(b"data"))?;
//! provider.putmsg(Some(&Primitive::OrdrelInd.encode()), None)?;
//! let mut text = [0; 16];
//! assert_eq!((user.read(&mut text)?, &text[..4]), (4, &b"data"[..]));
//! assert_eq!(user.read(&mut text)?, 0);
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::module::{Earlier, Module, ModuleInfo, Side};
use crate::plumb::queue::Queue;
use crate::tpi::Primitive;

/// The word of the state that says that the stream cannot be used any more.
const FAILED: usize = 0;

/// The module.
#[derive(Debug)]
pub struct ReadWriteModule;

impl Module for ReadWriteModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("tirdwr").earlier()
    }

    fn treat_earlier(&self, control: &[u8]) -> Earlier {
        match Primitive::decode(control) {
            Ok(Primitive::DataInd { .. }) => Earlier::Data,
            Ok(Primitive::OrdrelInd) => Earlier::End,
            Ok(Primitive::DisconInd { .. }) => Earlier::Hangup,
            _ => Earlier::Stays,
        }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match (message.header.kind, queue.side()) {
            (Kind::Data, Side::Write) if queue.state()[FAILED] != 0 => Ok(()),
            // A message of no bytes would be the end of the file.
            (Kind::Data, Side::Read) if message.len() == 0 => Ok(()),
            (Kind::Proto | Kind::PcProto, Side::Write) => fail(queue),
            (Kind::Proto | Kind::PcProto, Side::Read) => arrive(message, queue),
            _ => queue.put_next(message),
        }
    }
}

/// A primitive of the provider.
fn arrive<'m>(mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    match Primitive::decode(message.control().unwrap_or_default()) {
        Ok(Primitive::DataInd { .. }) if message.data().is_none_or(<[u8]>::is_empty) => Ok(()),
        Ok(Primitive::DataInd { .. }) => {
            message.drop_control();
            queue.put_next(message)
        }
        Ok(Primitive::OrdrelInd) => queue.put_next(Message::new(MessageHeader::of(Kind::Data), None, Some(&[]))),
        Ok(Primitive::DisconInd { .. }) => queue.put_next(Message::new(MessageHeader::of(Kind::Hangup), None, None)),
        _ => fail(queue),
    }
}

/// The stream cannot be used any more: M_ERROR with EPROTO.
fn fail(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    queue.set_state_word(FAILED, 1);
    let message = Message::of_errors(Some(Errno::Proto), Some(Errno::Proto));
    if queue.side() == Side::Read { queue.put_next(message) } else { queue.reply(message) }
}
