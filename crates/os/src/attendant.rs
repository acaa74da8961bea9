//! A thread that sends descriptors to every process that connects to a named socket.
//!
//! It is for processes that meet by a name and have no server: each process that has the descriptors keeps such a
//! thread, at the same socket, so that one of them answers as long as one is alive. The permissions of the socket's
//! name decide who may connect.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::abstract_socket::Listener;
use crate::background::Background;
use crate::descriptors;

/// How long it waits when it has no descriptor left for a process that connects.
const REST: Duration = Duration::from_millis(50);

/// The thread, until it is dropped.
#[derive(Debug)]
pub struct Attendant {
    // First, so that it has ended before the files are closed.
    thread: Background,
    listener: OwnedFd,
    files: Vec<OwnedFd>,
}

impl Attendant {
    /// Starts a thread that sends copies of these files, at most eight, and of the listening socket itself, which comes last.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors; `EAGAIN` when the process has as many threads as it may.
    pub fn start(listener: Listener, files: Vec<OwnedFd>) -> io::Result<Attendant> {
        Attendant::of(listener.into(), files)
    }

    fn of(listener: OwnedFd, files: Vec<OwnedFd>) -> io::Result<Attendant> {
        let number = listener.as_raw_fd();
        let numbers: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).chain([number]).collect();
        let thread = Background::start(move |stopped| attend(number, &numbers, stopped))?;
        Ok(Attendant { thread, listener, files })
    }

    /// The attendant in this process: another one in a forked child, which has none of its parent's threads.
    ///
    /// # Errors
    /// Those of [`Attendant::start`].
    pub fn here(self) -> io::Result<Attendant> {
        if self.thread.is_here() { Ok(self) } else { Attendant::of(self.listener, self.files) }
    }
}

fn attend(listener: RawFd, files: &[RawFd], stopped: BorrowedFd<'_>) {
    // SAFETY: the attendant owns the listening socket and the files, and closes them only after it has waited for this thread.
    // Nothing here is closed by this thread.
    let (listener, files) = unsafe {
        let listener = ManuallyDrop::new(Listener::from(OwnedFd::from_raw_fd(listener)));
        let files: Vec<BorrowedFd<'_>> = files.iter().map(|number| BorrowedFd::borrow_raw(*number)).collect();
        (listener, files)
    };
    while let Ok(false) = listener.wait_beside(stopped) {
        match listener.accept() {
            // A process that has left meanwhile gets nothing.
            Ok(Some(socket)) => drop(descriptors::send(socket.as_fd(), &files)),
            // Another process has been faster.
            Ok(None) => {}
            Err(_) => std::thread::sleep(REST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abstract_socket as local;
    use crate::child::Child;
    use crate::own_process::run_in_own_process;

    const PATIENCE: Duration = Duration::from_secs(5);

    #[test]
    fn whoever_connects_gets_the_files_from_any_process_that_has_them() {
        let Some(_alone) = run_in_own_process() else { return };
        let path = std::env::temp_dir().join(format!("headwater-attendant-{}", std::process::id()));
        let (source, sink) = io::pipe().expect("pipe");
        let attendant = Attendant::start(Listener::bind_at(&path).expect("bind"), vec![sink.into()]).expect("start");
        let get = || descriptors::receive(local::connect_at(&path, PATIENCE).expect("it listens").as_fd());
        assert_eq!(get().expect("sent").len(), 2);
        // A child has no thread until it asks for one.
        let (ready, told) = io::pipe().expect("pipe");
        let (waits, go) = io::pipe().expect("pipe");
        let mut attendant = Some(attendant);
        let mut child = Child::fork(|| {
            let _attendant = attendant.take().expect("there").here().expect("start");
            io::Write::write_all(&mut &told, b"x").expect("pipe");
            drop(go.try_clone());
            let _ = io::Read::read(&mut &waits, &mut [0]);
            0
        })
        .expect("fork");
        io::Read::read_exact(&mut &ready, &mut [0]).expect("the child is ready");
        drop(attendant);
        assert_eq!(get().expect("sent by the child").len(), 2);
        child.kill();
        child.wait().expect("wait");
        assert_eq!(local::connect_at(&path, PATIENCE).expect_err("nobody").kind(), io::ErrorKind::ConnectionRefused);
        std::fs::remove_file(&path).expect("it is there");
        // No copy of the file is left.
        assert_eq!(io::Read::read(&mut &source, &mut [0]).expect("the end"), 0);
        drop((waits, go));
    }
}
