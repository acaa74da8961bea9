//! I_SENDFD and I_RECVFD. An end of a stream that is passed has descriptors of its own, which go with it.

use std::ffi::{c_char, c_int};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use headwater_streams::Stream;

use crate::abi::strrecvfd;
use crate::errno::{Called, Failure};
use crate::restart::restarting;
use crate::table::{self, Mode, Open};
use crate::{memory, own};

pub fn send(open: &Open, number: c_int) -> Called<c_int> {
    if let Some(bundle) = table::with(number, |sent| Ok(sent.stream.to_bundle()?)) {
        open.stream.send_file(bundle?.as_fd())?;
        return Ok(0);
    }
    if !own::is_open(number) {
        return Err(Failure(libc::EBADF));
    }
    // SAFETY: an open file of the program, for one call; one that another thread closes meanwhile is refused by the kernel.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    open.stream.send_file(file)?;
    Ok(0)
}

pub fn receive(open: &Open, place: *mut strrecvfd) -> Called<c_int> {
    memory::check_room(place)?;
    let received = restarting(|| Ok(open.stream.receive_file_from()?))?;
    let fd = received_number(received.file, false)?;
    let (uid, gid) = (received.user.unwrap_or(u32::MAX), received.group.unwrap_or(u32::MAX));
    memory::put(place, strrecvfd { fd, uid, gid, fill: [0 as c_char; 8] }).inspect_err(|_| close_received(fd))?;
    Ok(0)
}

/// Gives the program a received file: a stream if it stands for one.
///
/// Errors: `EMFILE`.
pub fn received_number(file: OwnedFd, closed_by_exec: bool) -> Called<c_int> {
    match Stream::from_bundle(&file)? {
        Some(stream) => {
            drop(file);
            table::open(stream, Mode::BOTH, 0, closed_by_exec)
        }
        None => own::duplicate(file.as_raw_fd(), 0, closed_by_exec),
    }
}

fn close_received(number: c_int) {
    match table::is_stream(number) {
        true => crate::calls::close::close(number),
        false => own::close(number),
    }
}
