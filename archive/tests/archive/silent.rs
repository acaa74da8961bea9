//! Databases that others have made: a server that says nothing or stops in the middle, that announces more than fits into memory,
//! that makes the proof of a password endless; a file whose tables never end. Each is an error within the time of HEADWATER_ARCHIVE_WAIT.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::sample::Sample;
use crate::support::{TestDir, expect, text};

/// The answers of a server that trusts: authentication is done, and it waits for a statement.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

/// Sends `said` to everything that connects, and then nothing.
fn server(dir: &TestDir, said: Vec<u8>) -> String {
    let directory = dir.path("server");
    fs::create_dir_all(&directory).expect("a directory");
    let socket = directory.join(".s.PGSQL.5432");
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(socket).expect("a socket");
    thread::spawn(move || {
        // Connections stay open until the test ends.
        let mut kept: Vec<UnixStream> = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut heard = [0; 512];
            if stream.read(&mut heard).unwrap_or(0) > 0 {
                let _ = stream.write_all(&said);
            }
            kept.push(stream);
        }
    });
    format!("postgres://postgres@{}/archive", text(&directory).replace('/', "%2F"))
}

/// Runs the program with a wait of one second and 512 MB of memory; it is killed after 20 seconds.
fn archive(dir: &TestDir, place: &str, arguments: &[&str]) -> (Output, Duration) {
    let own = dir.command(place, arguments);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 524288; exec timeout -s KILL 20 \"$@\"", "sh"]);
    command.arg(own.get_program()).args(own.get_args());
    if let Some(directory) = own.get_current_dir() {
        command.current_dir(directory);
    }
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let begun = Instant::now();
    let output = command.env("HEADWATER_ARCHIVE_WAIT", "1s").output().expect("sh(1) starts");
    (output, begun.elapsed())
}

#[test]
fn a_server_that_falls_silent_at_any_point_is_given_up_in_time() {
    let half_a_message = [WELCOME, b"T\0\0\x10\0"].concat();
    for (point, said) in
        [("at once", Vec::new()), ("after the greeting", WELCOME.to_vec()), ("in a message", half_a_message)]
    {
        let dir = TestDir::new();
        let place = server(&dir, said);
        let run = dir.run("one", &Sample::default().lines());
        for arguments in [vec!["list"], vec!["add", "--spool", "--quiet", text(&run)]] {
            let (output, took) = archive(&dir, &place, &arguments);
            expect(&output, 2, &["the server has said nothing for 1s", "HEADWATER_ARCHIVE_WAIT"]);
            assert!(took < Duration::from_secs(10), "{point}: {arguments:?} took {took:?}");
        }
        assert!(dir.path("state/headwater/archive-spool").exists(), "the next call adds the run");
    }
}

#[test]
fn a_message_longer_than_the_limit_is_refused_before_there_is_room_for_it() {
    for said in [b"R\x7f\xff\xff\xff".to_vec(), b"E\x7f\0\0\0".to_vec(), [WELCOME, b"T\x7f\xff\xff\xf0\0\0"].concat()] {
        let dir = TestDir::new();
        let place = server(&dir, said);
        let (output, took) = archive(&dir, &place, &["list"]);
        expect(&output, 2, &["announces a message of 2", "the limit is 67108864"]);
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
fn a_password_whose_proof_would_not_end_is_refused() {
    let dir = TestDir::new();
    // The server asks for SCRAM, and then for as many rounds as the number can say. The client's own nonce is not known, so the
    // answer is made of what it sends.
    let directory = dir.path("server");
    fs::create_dir_all(&directory).expect("a directory");
    let listener = UnixListener::bind(directory.join(".s.PGSQL.5432")).expect("a socket");
    thread::spawn(move || {
        let mut kept: Vec<UnixStream> = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut heard = [0; 1024];
            let _ = stream.read(&mut heard);
            let asked = b"\0\0\0\x0aSCRAM-SHA-256\0\0";
            let _ = stream.write_all(&message(asked));
            let count = stream.read(&mut heard).unwrap_or(0);
            let first = String::from_utf8_lossy(&heard[..count]).into_owned();
            let nonce = first.rsplit_once("r=").map(|(_, nonce)| nonce.to_owned()).unwrap_or_default();
            let next = format!("r={nonce}more,s=c2FsdHNhbHRzYWx0c2FsdA==,i=4294967295");
            let _ = stream.write_all(&message(&[b"\0\0\0\x0b", next.as_bytes()].concat()));
            kept.push(stream);
        }
    });
    let place = format!("postgres://postgres@{}/archive", text(&directory).replace('/', "%2F"));
    let begun = Instant::now();
    let mut command = dir.command(&place, &["list"]);
    let output = command.env("PGPASSWORD", "secret").env("HEADWATER_ARCHIVE_WAIT", "1s").output().expect("it starts");
    expect(&output, 2, &["iteration count"]);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// Returns a message of authentication.
fn message(body: &[u8]) -> Vec<u8> {
    [&b"R"[..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

#[test]
fn a_file_that_is_none_or_whose_tables_never_end_is_refused_in_time() {
    let dir = TestDir::new();
    for (name, says) in [("zero", "it is a device"), ("fifo", "it is a FIFO")] {
        let path = dir.path(name);
        match name {
            "zero" => symlink("/dev/zero", &path).expect("symlink"),
            _ => assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo(1)").success()),
        }
        let (output, took) = archive(&dir, text(&path), &["list"]);
        expect(&output, 2, &[says]);
        assert!(took < Duration::from_secs(10), "{name}: {took:?}");
    }
    let path = dir.path("endless.sqlite");
    dir.add(text(&path), &dir.run("one", &Sample::default().lines()));
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";
    let change = format!(
        "ALTER TABLE label RENAME TO label_before; \
         CREATE VIEW label AS {endless} SELECT 'a' AS name, 'b' AS value, -x AS run FROM n"
    );
    rusqlite::Connection::open(&path).expect("a file").execute_batch(&change).expect("it is changed");
    let (output, took) = archive(&dir, text(&path), &["list"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn a_name_of_any_length_is_listed_and_a_run_with_one_is_not_added() {
    let dir = TestDir::new();
    let path = dir.path("archive.sqlite");
    let long = Sample { host: "h".repeat(100_000), ..Sample::named("long") };
    let run = dir.run("long", &long.lines());
    expect(&dir.archive(text(&path), &["add", text(&run)]), 2, &["host has 100000 bytes"]);
    dir.add(text(&path), &dir.run("one", &Sample::default().lines()));
    let change = "UPDATE machine SET host = replace(hex(zeroblob(50000)), '00', 'hh')";
    rusqlite::Connection::open(&path).expect("a file").execute_batch(change).expect("it is changed");
    let output = dir.archive(text(&path), &["list"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
