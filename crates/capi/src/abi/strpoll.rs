//! `sys/strpoll.h`: events of poll(2) that the system's header hides for some feature test macros.

use std::ffi::c_short;

constants! { STRPOLL:
    POLLRDNORM: c_short = 0x040;
    POLLRDBAND: c_short = 0x080;
    POLLWRNORM: c_short = 0x100;
    POLLWRBAND: c_short = 0x200;
}
