//! Lets recorders into a running program: a thread that waits at a socket until a recorder names a session.
//!
//! Without it a program is traced from its start on, or not at all: nothing of this library runs between two events. The
//! thread sleeps in the kernel; it gets no signals. The socket has an abstract name (unix(7)), which protects nothing: the
//! thread asks the kernel for the user of each peer.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use headwater_os::abstract_socket::{self, Connection, Listener};
use headwater_os::files::own_user;
use headwater_os::thread::Thread;

use crate::session;

/// The environment variable that makes a program listen from its first event on, if it is `1`; see
/// [`listen()`](crate::listen()).
///
/// ```
/// assert_eq!(headwater_trace::listen::VARIABLE, "HEADWATER_TRACE_LISTEN");
/// ```
pub const VARIABLE: &str = "HEADWATER_TRACE_LISTEN";

/// How long either side waits for the other's message.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest path of a session.
const PATH_MAX: usize = 4096;
/// The answer after success.
const JOINED: &[u8] = b"joined";

/// Lets recorders in from now on: `headwater trace attach PID` finds this process. A forked child calls it again.
///
/// It starts a thread, which blocks all signals and sleeps until a recorder connects. A recorder must run as the user of this
/// process or as root.
///
/// ```
/// headwater_trace::listen()?;
/// // The second time it does nothing.
/// headwater_trace::listen()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// `AddrInUse` if another process has taken the name of this one, `headwater-trace/PID`; what socket(2), bind(2), listen(2) and
/// pthread_create(3) report.
pub fn listen() -> io::Result<()> {
    static LISTENING: OnceLock<u32> = OnceLock::new();
    if LISTENING.get() == Some(&std::process::id()) {
        return Ok(());
    }
    let listener = Listener::bind(&name(std::process::id()))?;
    let _ = LISTENING.set(std::process::id());
    Thread::start(move || {
        while listener.wait().is_ok() {
            while let Ok(Some(socket)) = listener.accept() {
                // A peer that sends nothing, or nonsense, gets no answer.
                let _ = answer(&socket);
            }
        }
    })?;
    Ok(())
}

fn answer(socket: &Connection) -> io::Result<()> {
    let user = abstract_socket::peer_user(socket)?;
    if user != own_user() && user != 0 {
        return abstract_socket::send(socket, b"the process is another user's");
    }
    let mut path = [0; PATH_MAX];
    let count = abstract_socket::receive(socket, &mut path, PATIENCE)?;
    let path: &OsStr = OsStrExt::from_bytes(&path[..count]);
    match session::join_beside(Path::new(path)) {
        Ok(()) => abstract_socket::send(socket, JOINED),
        Err(error) => abstract_socket::send(socket, error.to_string().as_bytes()),
    }
}

/// Tells a process that listens of the session whose memory is that file. For recorders.
///
/// # Errors
/// `ConnectionRefused` if the process does not listen; `PermissionDenied` if it is another process that has taken its name, or
/// is of another user and this one's is not root; `Other` with the process's reason for refusing.
#[doc(hidden)]
pub fn attach(pid: u32, session: &Path) -> io::Result<()> {
    let socket = abstract_socket::connect(&name(pid), PATIENCE)?;
    abstract_socket::check_peer(&socket, pid)?;
    if own_user() != 0 && abstract_socket::peer_user(&socket)? != own_user() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the process is another user's"));
    }
    abstract_socket::send(&socket, session.as_os_str().as_bytes())?;
    let mut said = [0; 512];
    let count = abstract_socket::receive(&socket, &mut said, PATIENCE)?;
    match &said[..count] {
        JOINED => Ok(()),
        [] => Err(io::Error::other("the process has ended")),
        why => Err(io::Error::other(String::from_utf8_lossy(why).into_owned())),
    }
}

fn name(pid: u32) -> String {
    format!("headwater-trace/{pid}")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_took_the_name_of_another_is_not_believed() {
        let mut victim = Command::new("sleep").arg("60").spawn().expect("sleep(1)");
        let listener = Listener::bind(&name(victim.id())).expect("no process has this name");
        let impostor = std::thread::spawn(move || {
            listener.wait().expect("a recorder");
            let socket = listener.accept().expect("accept").expect("it waits");
            // The recorder may have gone.
            let _ = abstract_socket::send(&socket, JOINED);
            let mut path = [0; PATH_MAX];
            abstract_socket::receive(&socket, &mut path, PATIENCE).unwrap_or(0)
        });
        let error = attach(victim.id(), Path::new("/dev/shm/session")).expect_err("another process has answered");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        let says = format!("process {} that listens under the name of process {}", std::process::id(), victim.id());
        assert!(error.to_string().contains(&says), "{error}");
        assert_eq!(impostor.join().expect("no panic"), 0, "it does not learn the session's path");
        victim.kill().and_then(|()| victim.wait()).expect("it is our child");
    }
}
