//! I_SENDFD and I_RECVFD. An end of a stream that is passed has descriptors of its own, which are passed with it. An
//! end of a driver is received as a descriptor that stands for it; hw_take_stream makes it a stream.

use std::ffi::{c_char, c_int};
use std::os::fd::{AsRawFd, BorrowedFd};

use headwater_streams::{Errno, Stream};

use crate::abi::strrecvfd;
use crate::errno::{Called, Failure};
use crate::restart::restarting;
use crate::table::{self, Mode, Open};
use crate::{memory, own};

pub fn send(open: &Open, fd: c_int) -> Called<c_int> {
    if let Some(sent) = table::with(fd, |sent| Ok(sent.stream.clone())) {
        open.stream.files().send_stream(&sent?)?;
        return Ok(0);
    }
    if !own::is_open(fd) {
        return Err(Failure(libc::EBADF));
    }
    // SAFETY: the program has just been found to have `fd` open. If another thread closes it during the call, the
    // kernel refuses it.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    open.stream.files().send(file)?;
    Ok(0)
}

pub fn receive(open: &Open, place: *mut strrecvfd) -> Called<c_int> {
    memory::check_room(place)?;
    let received = restarting(|| Ok(open.stream.files().receive_from()?))?;
    let (uid, gid) = (received.user.unwrap_or(u32::MAX), received.group.unwrap_or(u32::MAX));
    let fd = if received.is_stream() {
        // For an end of a driver, the program has to call hw_take_stream.
        let bundle = received.into_bundle()?;
        match Stream::from_bundle(&bundle) {
            Ok(Some(stream)) => table::open(stream, Mode::BOTH, 0, false)?,
            Err(error) if error.errno() != Errno::Acces => return Err(error.into()),
            _ => own::duplicate(bundle.as_raw_fd(), 0, false)?,
        }
    } else {
        own::duplicate(received.file.as_raw_fd(), 0, false)?
    };
    memory::put(place, strrecvfd { fd, uid, gid, fill: [0 as c_char; 8] }).inspect_err(|_| close_received(fd))?;
    Ok(0)
}

fn close_received(fd: c_int) {
    match table::is_stream(fd) {
        true => crate::calls::close::close(fd),
        false => own::close(fd),
    }
}
