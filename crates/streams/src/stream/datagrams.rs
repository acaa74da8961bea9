//! Datagrams of a transport, sent and received by the calling thread's handle.

use super::Stream;
use crate::error::Result;
use crate::head::ReceivedDatagram;

impl Stream {
    /// Sends a datagram (T_UNITDATA_REQ) to an address, over a transport of datagrams to which the stream is bound.
    ///
    /// # Errors
    /// As [`Handle::send_to`](crate::Handle::send_to), which says more.
    #[doc = include_str!("../../doc/datagrams.md")]
    #[doc(alias = "t_sndudata")]
    pub fn send_to(&self, address: &[u8], options: &[u8], data: &[u8]) -> Result<()> {
        self.call(|handle| handle.send_to(address, options, data))
    }

    /// Takes the first datagram (T_UNITDATA_IND), and waits for one if nothing is there. None at the end of the stream.
    ///
    /// # Errors
    /// As [`Handle::recv_from`](crate::Handle::recv_from), which says more.
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
