//! Datagrams of a transport (TPI).

use super::Stream;
use crate::error::Result;
use crate::head::ReceivedDatagram;

impl Stream {
    /// Sends a datagram (T_UNITDATA_REQ) to an address, over a transport of datagrams to which the stream is bound.
    ///
    /// # Errors
    /// As [`Stream::putmsg`]. What the transport finds later it reports as a T_UDERROR_IND.
    #[doc = include_str!("../../doc/datagrams.md")]
    #[doc(alias = "t_sndudata")]
    pub fn send_to(&self, address: &[u8], options: &[u8], data: &[u8]) -> Result<()> {
        self.call(|handle| handle.send_to(address, options, data))
    }

    /// Takes the first datagram (T_UNITDATA_IND), and waits for one if nothing is there. Data for which the buffer has no room stay;
    /// the next call takes them, with an address of 0 bytes. None at the end of the stream.
    ///
    /// # Errors
    /// `EBADMSG` if the first message is another primitive, a T_UDERROR_IND perhaps: it stays, and [`Stream::getmsg`] takes it; else as
    /// [`Stream::getmsg`].
    #[doc = include_str!("../../doc/datagrams.md")]
    #[doc(alias = "t_rcvudata")]
    pub fn recv_from(
        &self,
        address: &mut [u8],
        options: &mut [u8],
        data: &mut [u8],
    ) -> Result<Option<ReceivedDatagram>> {
        self.call(|handle| handle.recv_from(address, options, data))
    }
}
