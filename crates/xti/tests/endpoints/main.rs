//! Endpoints over the loop-back transports: their calls, their errors, and their events.

mod connections;
mod datagrams;
mod internet;
mod management;
mod release;
mod undelivered;

use std::path::Path;
use std::time::{Duration, Instant};

use headwater_xti::{Binding, Call, Endpoint, EndpointOptions, Look, Result, TransportError};

const PATIENCE: Duration = Duration::from_secs(30);

fn directory() -> tempfile::TempDir {
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    tempfile::Builder::new().permissions(private).tempdir().expect("a directory")
}

fn open(directory: &Path, transport: &str) -> Endpoint {
    EndpointOptions::new().directory(directory).open(transport).expect("a free number")
}

fn bound(directory: &Path, transport: &str, address: &[u8], waiting: u32) -> Endpoint {
    let endpoint = open(directory, transport);
    let binding = Binding::to(address).listening(waiting);
    assert_eq!(endpoint.bind(&binding).expect("a free address"), binding);
    endpoint
}

/// Two endpoints that are connected, and the listener.
fn connected(directory: &Path, transport: &str) -> (Endpoint, Endpoint, Endpoint) {
    let listener = bound(directory, transport, b"listener", 4);
    let (near, far) = (bound(directory, transport, b"near", 0), bound(directory, transport, b"far", 0));
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| near.connect(&Call::to(b"listener")).expect("accepted"));
        let incoming = listener.listen().expect("a caller");
        listener.accept(&far, incoming.sequence, &Call::default()).expect("it accepts");
        calling.join().expect("no panic");
    });
    (near, far, listener)
}

#[track_caller]
fn fails<T: std::fmt::Debug>(done: Result<T>, expected: TransportError) {
    let error = done.expect_err("it fails");
    assert_eq!(error.t_errno, expected, "{error}");
}

/// Waits for an event.
#[track_caller]
fn event(endpoint: &Endpoint, expected: Look) {
    let start = Instant::now();
    loop {
        let seen = endpoint.look().expect("no error");
        if seen == Some(expected) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{seen:?} instead of {expected:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
