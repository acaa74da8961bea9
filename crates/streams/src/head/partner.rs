//! A partner of a stream, whose driver pairs streams, that comes while the stream is open: it leaves in the doorbell what is needed to send
//! to it. `open` makes a stream of that.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use super::handle::Handle;
use crate::error::Result;
use crate::process::beyond::PartnerStream;

impl Handle {
    /// Looks whether a partner has come, of a stream whose driver pairs streams: it has then left what is needed in our doorbell.
    pub(super) fn meet_partner(&mut self) -> Result<()> {
        let endpoint = self.end.endpoint.clone();
        let device = &endpoint.region.fixed.device;
        // Acquire pairs with the store in `hand_over`.
        let cookie = device.partner.load(Ordering::Acquire);
        if cookie == 0 || endpoint.partner_to_come().is_none() {
            return Ok(());
        }
        let Some(opened) = endpoint.opened() else { return Ok(()) };
        let Some(files) = self.take_left_files()? else { return Ok(()) };
        opened.meet_partner(&endpoint, files)?;
        self.end.join()?;
        self.service_if_free(true)?;
        // What was read before has made room, and there was no partner to enable.
        endpoint.partner().map_or(Ok(()), PartnerStream::enable)
    }

    /// The two files that the partner has left. None if another thread or process takes them, or is in the middle of a read.
    fn take_left_files(&mut self) -> Result<Option<[OwnedFd; 2]>> {
        let last = self.end.peer_words().files_put.load(Ordering::Acquire);
        let options = self.read_options();
        let side = match self.back.begin_reading(&self.end, options) {
            Err(error) if error.is_held() => return Ok(None),
            side => side?,
        };
        let inbox = self.end.inbox();
        let taken = inbox.take_files(last.wrapping_sub(1)).and_then(|memory| Ok((memory, inbox.take_files(last)?)));
        // Bells that lay before them were thrown away.
        inbox.ring_by_driver();
        drop(side);
        match taken? {
            (Some(memory), Some(far)) => {
                Ok(memory.files.into_iter().next().zip(far.files.into_iter().next()).map(<[_; 2]>::from))
            }
            _ => Ok(None),
        }
    }
}
