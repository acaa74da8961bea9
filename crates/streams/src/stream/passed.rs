//! Sending an end over another stream, and taking it up there.

use super::Stream;
use crate::error::Result;
use crate::head::ReceivedFile;
use crate::head::handle::Handle;

impl ReceivedFile {
    /// The end of a stream that was sent by [`Stream::send_stream`], or by the module `connld`.
    ///
    /// # Errors
    /// `ENOSTR` for any other file; `EPROTO` for a stream of another version of the library.
    #[doc = include_str!("../../doc/passed_streams.md")]
    #[doc(alias = "I_RECVFD")]
    pub fn into_stream(self) -> Result<Stream> {
        let ReceivedFile { file, others, .. } = self;
        if others.is_empty() {
            // The memory may have come another way.
            return Stream::from_fd(file);
        }
        Handle::of_files(std::iter::once(file).chain(others).collect()).map(Stream::from)
    }
}

impl Stream {
    /// Sends an end of a stream to the other end, where it is received as a file and taken up by
    /// [`ReceivedFile::into_stream`](crate::ReceivedFile::into_stream).
    ///
    /// # Errors
    /// As [`Handle::send_stream`](crate::Handle::send_stream), which says more.
    #[doc = include_str!("../../doc/passed_streams.md")]
    #[doc(alias = "I_SENDFD")]
    pub fn send_stream(&self, end: &Stream) -> Result<()> {
        let end = end.handle();
        self.call(|handle| handle.send_stream(&end))
    }
}
