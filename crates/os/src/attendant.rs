//! A thread that sends descriptors to every process that connects to a named socket.
//!
//! For processes that meet by a name and have no server. Each process that has the descriptors runs such a thread at the
//! same socket. So a connection is answered as long as one of the processes is alive. The permissions of the socket's node
//! decide which users may connect.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::abstract_socket::Listener;
use crate::background::Background;
use crate::descriptors;

/// How long the thread waits when the process has no free descriptor for a new connection.
const REST: Duration = Duration::from_millis(50);

/// Owns the thread. Dropping it ends the thread.
#[derive(Debug)]
pub struct Attendant {
    // The first field, so that the thread has ended before the files are closed.
    thread: Background,
    listener: OwnedFd,
    files: Vec<OwnedFd>,
}

impl Attendant {
    /// Starts a thread that sends copies of these files, at most eight, and then of the listening socket itself.
    ///
    /// # Errors
    /// `EMFILE` without two free descriptors; `EAGAIN` when the process has as many threads as it may.
    pub fn start(listener: Listener, files: Vec<OwnedFd>) -> io::Result<Attendant> {
        Attendant::with_socket(listener.into(), files)
    }

    fn with_socket(listener: OwnedFd, files: Vec<OwnedFd>) -> io::Result<Attendant> {
        let fd = listener.as_raw_fd();
        let fds: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).chain([fd]).collect();
        let thread = Background::start(move |stopped| attend(fd, &fds, stopped))?;
        Ok(Attendant { thread, listener, files })
    }

    /// Returns an attendant with a thread in this process. A forked child has no thread of its parent, so it starts its own.
    ///
    /// # Errors
    /// Those of [`Attendant::start`].
    pub fn here(self) -> io::Result<Attendant> {
        if self.thread.is_here() { Ok(self) } else { Attendant::with_socket(self.listener, self.files) }
    }
}

fn attend(listener: RawFd, files: &[RawFd], stopped: BorrowedFd<'_>) {
    // SAFETY: the attendant owns the listening socket and the files, and closes them only after this thread has ended. This
    // thread closes none of them.
    let (listener, files) = unsafe {
        let listener = ManuallyDrop::new(Listener::from(OwnedFd::from_raw_fd(listener)));
        let files: Vec<BorrowedFd<'_>> = files.iter().map(|fd| BorrowedFd::borrow_raw(*fd)).collect();
        (listener, files)
    };
    while let Ok(false) = listener.wait_beside(stopped) {
        match listener.accept() {
            // An error does not matter: the connecting process may be gone.
            Ok(Some(socket)) => drop(descriptors::send(socket.as_fd(), &files)),
            // Another process has accepted the connection.
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
    fn each_process_with_the_files_answers_connections() {
        let Some(_alone) = run_in_own_process() else { return };
        let path = std::env::temp_dir().join(format!("headwater-attendant-{}", std::process::id()));
        let (source, sink) = io::pipe().expect("pipe");
        let attendant = Attendant::start(Listener::bind_at(&path).expect("bind"), vec![sink.into()]).expect("start");
        let get = || descriptors::receive(local::connect_at(&path, PATIENCE).expect("it listens").as_fd());
        assert_eq!(get().expect("sent").len(), 2);
        // A child has no thread until it calls `here`.
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
        assert_eq!(
            local::connect_at(&path, PATIENCE).expect_err("no listener").kind(),
            io::ErrorKind::ConnectionRefused
        );
        std::fs::remove_file(&path).expect("it is there");
        // No copy of the file is left.
        assert_eq!(io::Read::read(&mut &source, &mut [0]).expect("the end"), 0);
        drop((waits, go));
    }
}
