//! Datagrams of a transport: T_UNITDATA_REQ out, T_UNITDATA_IND in, without a primitive that the caller has to make or take apart.

use super::get::Taken;
use super::handle::Handle;
use super::state::{self, Call};
use crate::error::{Result, fixed};
use crate::tpi::Primitive;

/// Control parts of this length need no memory on the heap: the primitive, and the longest address.
const CONTROL_SHORT: usize = 160;

/// A datagram that was received: the length of each part. Of an address or options longer than the caller's buffer, the bytes that
/// fit were copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReceivedDatagram {
    /// Bytes of the sender's address; 0 for the rest of a datagram.
    pub address: usize,
    /// Bytes of options.
    pub options: usize,
    /// Bytes of data that were copied.
    pub data: usize,
    /// More data of the datagram wait (T_MORE): the next call takes them.
    pub more: bool,
}

impl Handle {
    pub(crate) fn send_to(&mut self, address: &[u8], options: &[u8], data: &[u8]) -> Result<()> {
        self.putmsg(Some(&Primitive::UnitdataReq { destination: address, options }.encode()), Some(data))
    }

    pub(crate) fn recv_from(
        &mut self,
        address: &mut [u8],
        options: &mut [u8],
        data: &mut [u8],
    ) -> Result<Option<ReceivedDatagram>> {
        self.attach_to_get()?;
        loop {
            state::check(self.end.words(), Call::Read)?;
            if !self.nonblocking {
                self.gather_messages();
            }
            let done = self.take_datagram(address, options, data);
            if let Some(received) = self.remember_failure(done)? {
                return Ok(Some(received));
            }
            if !self.wait_for_more(1)? {
                return Ok(None);
            }
        }
    }

    fn take_datagram(
        &mut self,
        address: &mut [u8],
        options: &mut [u8],
        data: &mut [u8],
    ) -> Result<Option<ReceivedDatagram>> {
        self.take_front(|front, item| {
            let mut received = ReceivedDatagram { address: 0, options: 0, data: 0, more: false };
            if let Some(len) = item.control {
                let (mut short, mut long) = ([0; CONTROL_SHORT], Vec::new());
                let control = short.get_mut(..len).unwrap_or_else(|| {
                    long.resize(len, 0);
                    &mut long
                });
                let len = front.copy_control(item, control)?;
                let Ok(Primitive::UnitdataInd { source, options: given }) = Primitive::decode(&control[..len]) else {
                    return Err(fixed!(Badmsg, "the first message is no datagram"));
                };
                received.address = copy(source, address);
                received.options = copy(given, options);
            }
            if item.data.is_some() {
                received.data = front.copy_data(item, data)?;
            }
            let (control, rest) = (item.control, item.data.unwrap_or(0) - received.data);
            received.more = rest > 0;
            let taken = Taken { control, data: item.data.map(|_| received.data), all: rest == 0 };
            Ok((received, Some(taken)))
        })
    }
}

/// Copies what fits. Returns the whole length.
fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let len = from.len().min(to.len());
    to[..len].copy_from_slice(&from[..len]);
    from.len()
}
