//! A proxy before the server's socket, which cuts every connection after so many bytes of both directions.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

/// The name of PostgreSQL's socket at its usual port.
const SOCKET: &str = ".s.PGSQL.5432";

/// A proxy that runs as long as the test.
pub struct Proxy {
    directory: TempDir,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    limit: AtomicU64,
    /// The bytes of the newest connection.
    bytes: AtomicU64,
}

impl Proxy {
    pub fn start(server: &Path) -> Proxy {
        let directory = TempDir::new().expect("a temporary directory");
        let listener = UnixListener::bind(directory.path().join(SOCKET)).expect("a socket");
        let state = Arc::new(State::default());
        let (own, server) = (Arc::clone(&state), server.join(SOCKET));
        std::thread::spawn(move || serve(&listener, &server, &own));
        Proxy { directory, state }
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Cuts the connections from now on after so many bytes.
    pub fn cut_after(&self, bytes: u64) {
        self.state.limit.store(bytes, Ordering::SeqCst);
    }

    /// Returns the bytes of the newest connection.
    pub fn bytes(&self) -> u64 {
        self.state.bytes.load(Ordering::SeqCst)
    }
}

fn serve(listener: &UnixListener, server: &PathBuf, state: &Arc<State>) {
    for client in listener.incoming() {
        let (Ok(client), Ok(server)) = (client, UnixStream::connect(server)) else { continue };
        state.bytes.store(0, Ordering::SeqCst);
        let left = Arc::new(AtomicU64::new(state.limit.load(Ordering::SeqCst)));
        for (mut from, mut to) in [(clone(&client), clone(&server)), (clone(&server), clone(&client))] {
            let (left, state) = (Arc::clone(&left), Arc::clone(state));
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                loop {
                    let read = from.read(&mut buffer).unwrap_or(0) as u64;
                    let before =
                        left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(read)));
                    let passed = read.min(before.unwrap_or(0));
                    state.bytes.fetch_add(passed, Ordering::SeqCst);
                    let sent = to.write_all(&buffer[..passed as usize]);
                    if read == 0 || passed < read || sent.is_err() {
                        // In both directions, as when a cable is cut.
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                        return;
                    }
                }
            });
        }
    }
}

fn clone(stream: &UnixStream) -> UnixStream {
    stream.try_clone().expect("a descriptor")
}
