//! The events of a stream, or of a driver's file.

bitflags::bitflags! {
    /// The events for which a stream may be ready; the values are those of poll(2) on Linux.
    ///
    /// ```
    /// use headwater_streams::Events;
    ///
    /// let wanted = Events::IN | Events::PRI;
    /// assert!(wanted.contains(Events::IN) && !wanted.intersects(Events::OUT));
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
    pub struct Events: u16 {
        /// A message that is not of high priority is at the front (POLLIN). Excludes [`Events::PRI`].
        #[doc(alias = "POLLIN")]
        const IN = 0x001;
        /// A message of high priority is at the front (POLLPRI).
        #[doc(alias = "POLLPRI")]
        const PRI = 0x002;
        /// A message of band 0 can be written (POLLOUT, POLLWRNORM).
        #[doc(alias = "POLLOUT")]
        const OUT = 0x004;
        /// The stream has an error (POLLERR). Always reported.
        #[doc(alias = "POLLERR")]
        const ERR = 0x008;
        /// The stream has been hung up, or the other end is gone (POLLHUP). Always reported.
        #[doc(alias = "POLLHUP")]
        const HUP = 0x010;
        /// A message of band 0 is at the front (POLLRDNORM).
        #[doc(alias = "POLLRDNORM")]
        const RDNORM = 0x040;
        /// A message of another band is at the front (POLLRDBAND).
        #[doc(alias = "POLLRDBAND")]
        const RDBAND = 0x080;
        /// As [`Events::OUT`] (POLLWRNORM).
        #[doc(alias = "POLLWRNORM")]
        const WRNORM = 0x100;
        /// A message can be written in some band above 0 that was used before (POLLWRBAND).
        #[doc(alias = "POLLWRBAND")]
        const WRBAND = 0x200;
    }
}
