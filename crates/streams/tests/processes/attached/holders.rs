//! The processes that hold an attachment: their end, their children, and one that is stopped.

use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::attach::{AttachedOptions, detach};
use headwater_streams::{Errno, Result, Stream, pipe};

use super::{PATIENCE, file, is_plain, open, reads, soon};
use crate::common::{calm, child, in_own_process, joined, users, within};

/// A process that holds an attachment whose other end it answers, until it is killed.
fn echo(path: &std::path::Path) -> Child {
    users::started(|ready| {
        let (near, far) = pipe()?;
        far.attach_to(path)?;
        drop(far);
        ready();
        loop {
            let mut bytes = [0; 64];
            let count = near.read(&mut bytes)?;
            near.write(&bytes[..count])?;
        }
    })
}

fn ask(path: &std::path::Path) -> String {
    let stream = open(path);
    stream.write(b"question").expect("room");
    reads(&stream)
}

#[test]
fn the_name_is_plain_when_the_holder_was_killed() {
    in_own_process!();
    within(PATIENCE, "a killed holder".to_owned());
    let (_directory, path) = file();
    for _ in 0..5 {
        let mut holder = echo(&path);
        assert_eq!(ask(&path), "question");
        let opened = open(&path);
        holder.kill();
        holder.wait().expect("wait");
        assert!(is_plain(&path));
        // The end is the opener's alone now; the other one is gone with its process.
        assert_eq!(opened.read(&mut [0; 8]).expect("the end"), 0);
        assert_eq!(detach(&path).expect_err("plain").errno(), Errno::Inval);
    }
    calm();
}

#[test]
fn opens_while_the_holder_is_killed_get_the_stream_the_file_or_an_error_at_once() {
    in_own_process!();
    within(PATIENCE, "opens beside a kill".to_owned());
    let (_directory, path) = file();
    for round in 0..30 {
        let holder = echo(&path);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut holder = holder;
                std::thread::sleep(Duration::from_micros(200 * round));
                holder.kill();
                holder.wait().expect("wait");
            });
            let give_up = Instant::now() + Duration::from_secs(20);
            loop {
                assert!(Instant::now() < give_up, "it stays attached");
                match Stream::open_attached(&path) {
                    Ok(None) => break,
                    Ok(Some(stream)) => drop(stream),
                    Err(error) => assert_eq!(error.errno(), Errno::Nxio, "{error}"),
                }
            }
        });
        assert!(is_plain(&path));
    }
    calm();
}

#[test]
fn a_stopped_holder_makes_no_process_wait_for_ever() {
    in_own_process!();
    within(PATIENCE, "a stopped holder".to_owned());
    let (_directory, path) = file();
    let mut holder = echo(&path);
    holder.stop().expect("our own child");
    for (nonblocking, least_ms) in [(false, 400), (true, 150)] {
        let begin = Instant::now();
        let refused = AttachedOptions::new().nonblocking(nonblocking).open(&path).expect_err("it is stopped");
        assert_eq!(refused.errno(), Errno::Busy, "{refused}");
        let took = begin.elapsed();
        assert!(took >= Duration::from_millis(least_ms) && took < Duration::from_secs(10), "{took:?}");
    }
    assert_eq!(detach(&path).expect_err("it is stopped").errno(), Errno::Busy);
    holder.resume();
    assert_eq!(ask(&path), "question");
    detach(&path).expect("it goes on");
    assert!(is_plain(&path));
    holder.kill();
    holder.wait().expect("wait");
    calm();
}

#[test]
fn another_process_detaches_and_the_holder_closes_the_end() {
    in_own_process!();
    within(PATIENCE, "detached by another".to_owned());
    let (_directory, path) = file();
    let to = path.clone();
    let holder = users::started(|ready| {
        let (near, far) = pipe()?;
        far.attach_to(&to)?;
        drop(far);
        ready();
        assert_eq!(near.read(&mut [0; 8])?, 0, "the end");
        Ok(())
    });
    detach(&path).expect("own");
    assert!(is_plain(&path));
    joined(holder);
    calm();
}

/// What the daemon does.
fn serve_once(near: &Stream, tell: &std::os::unix::net::UnixStream) -> Result<()> {
    std::thread::sleep(Duration::from_millis(50));
    std::io::Write::write_all(&mut &*tell, b"x")?;
    let mut bytes = [0; 64];
    let count = near.read(&mut bytes)?;
    near.write(&bytes[..count])?;
    assert_eq!(near.read(&mut bytes)?, 0, "detached, and closed by the opener");
    std::io::Write::write_all(&mut &*tell, b"y")?;
    Ok(())
}

#[test]
fn a_forked_child_holds_the_attachment_when_its_parent_has_ended() {
    in_own_process!();
    within(PATIENCE, "a daemon".to_owned());
    let (_directory, path) = file();
    let (tell, told) = std::os::unix::net::UnixStream::pair().expect("pair");
    let daemon = child(|| {
        let (near, far) = pipe()?;
        far.attach_to(&path)?;
        drop(far);
        // SAFETY: this process has one thread of the test's; the child ends by _exit. It lives on when its parent has ended, which a
        // `Child` does not.
        if unsafe { libc::fork() } == 0 {
            // SAFETY: takes a number. It does not outlive a test that has failed for long.
            unsafe { libc::alarm(40) };
            let served = serve_once(&near, &tell);
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(served.is_err())) };
        }
        Ok(())
    });
    joined(daemon);
    drop(tell);
    let mut byte = [0; 1];
    std::io::Read::read_exact(&mut &told, &mut byte).expect("it runs");
    // Its first call has started its thread.
    let give_up = Instant::now() + Duration::from_secs(20);
    let stream = loop {
        match Stream::open_attached(&path) {
            Ok(Some(stream)) => break stream,
            Ok(None) => panic!("the child holds it"),
            Err(error) => assert!(error.errno() == Errno::Busy && Instant::now() < give_up, "{error}"),
        }
    };
    stream.write(b"to the daemon").expect("room");
    assert_eq!(reads(&stream), "to the daemon");
    detach(&path).expect("own");
    assert!(is_plain(&path));
    drop(stream);
    std::io::Read::read_exact(&mut &told, &mut byte).expect("it has seen the end");
    calm();
}

#[test]
fn openers_that_are_killed_or_stopped_hold_nobody_up() {
    in_own_process!();
    within(PATIENCE, "killed and stopped openers".to_owned());
    let (_directory, path) = file();
    let (server, named) = pipe().expect("pipe");
    named.push("connld").expect("known");
    named.attach_to(&path).expect("own");
    drop(named);
    let opener = || child(|| Stream::open_attached(&path).map(drop));
    let mut stopped: Vec<Child> = (0..4).map(|_| opener()).collect();
    for (round, opener) in stopped.iter_mut().enumerate() {
        std::thread::sleep(Duration::from_micros(300 * round as u64));
        if round % 2 == 0 { opener.stop().expect("our own child") } else { opener.kill() }
    }
    let client = child(|| {
        let connection = open(&path);
        connection.write(b"alive").map(drop)
    });
    let received = loop {
        let connection = server.files().receive_from().expect("there").into_stream().expect("a stream");
        // The stopped ones say nothing, the killed ones are gone.
        if connection.poll(headwater_streams::Events::IN, Some(Duration::from_millis(300))).expect("poll").is_empty() {
            continue;
        }
        let text = reads(&connection);
        if text == "alive" {
            break text;
        }
    };
    assert_eq!(received, "alive");
    joined(client);
    for mut opener in stopped {
        opener.kill();
        opener.wait().expect("wait");
    }
    detach(&path).expect("it is attached");
    calm();
}

#[test]
fn a_call_of_the_library_beside_many_attachments_and_detachments_in_threads() {
    in_own_process!();
    within(PATIENCE, "threads attach, open and detach".to_owned());
    let files: Vec<_> = (0..4).map(|_| file()).collect();
    std::thread::scope(|scope| {
        for (_directory, path) in &files {
            scope.spawn(move || -> Result<()> {
                for round in 0..25_u8 {
                    let (near, far) = pipe()?;
                    far.attach_to(path)?;
                    drop(far);
                    open(path).write(&[round])?;
                    let mut byte = [0; 1];
                    assert_eq!((near.read(&mut byte)?, byte), (1, [round]));
                    detach(path)?;
                    assert_eq!(near.read(&mut byte)?, 0);
                }
                Ok(())
            });
        }
        scope.spawn(|| {
            for _ in 0..10 {
                joined(child(|| pipe().map(drop)));
            }
        });
    });
    for (_directory, path) in &files {
        soon("it is detached", || is_plain(path));
    }
    calm();
}
