//! Several processes have a multiplexer open: related ones, strangers, killed ones and stopped ones.

use std::path::Path;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::{DeviceOptions, Errno, MuxId, Result, Stream};

use super::{PATIENCE, echo, ends, errno, get, mux, send, text, until};
use crate::common::{Random, calm, child, in_own_process, joined, private_directory, setting, within};

#[test]
fn a_stream_is_unlinked_while_another_process_sends_there() {
    in_own_process!();
    for round in 0..20 {
        within(PATIENCE, format!("unlinking beside a sender, round {round}"));
        let (upper, (near, far)) = (mux(), ends());
        let id = upper.links().link(&near).expect("linked");
        let sender = child(|| {
            loop {
                match send(&upper, id, b"x") {
                    Ok(()) => {}
                    Err(error) if error.errno() == Errno::Nxio => return Ok(()),
                    other => return other,
                }
            }
        });
        assert!(text(&far).starts_with('x'));
        upper.links().unlink(Some(id)).expect("acknowledged");
        near.write(b"|").expect("it is ours");
        joined(sender);
        near.write(b".").expect("it is ours");
        let mut seen = String::new();
        while !seen.ends_with('.') {
            seen += &text(&far);
        }
        assert!(seen.ends_with("|."), "sent after the unlink: {seen}");
    }
    calm();
}

const PATIENCE_STOPPED: Duration = Duration::from_millis(700);

/// Calls `action` while a process is stopped, which continues after so long. Whether the action was over by then.
fn stopped_for(process: &mut Child, time: Duration, action: impl FnOnce()) -> bool {
    let signal = {
        let pid = process.id() as libc::pid_t;
        // SAFETY: only sends a signal, to a child that was not waited for.
        move |number| unsafe { libc::kill(pid, number) }
    };
    let (tell, told) = std::sync::mpsc::channel::<()>();
    process.stop().expect("our own child");
    let waker = std::thread::spawn(move || {
        let is_over = told.recv_timeout(time).is_ok();
        signal(libc::SIGCONT);
        is_over
    });
    action();
    let _ = tell.send(());
    waker.join().expect("no panic")
}

#[test]
fn a_process_that_serves_is_stopped_and_the_others_go_on_and_lose_nothing() {
    in_own_process!();
    let mut random = Random(setting("HEADWATER_SEED", 5));
    for round in 0..12 {
        within(PATIENCE, format!("a stopped server, round {round}"));
        let (mut upper, (near, far)) = (mux(), ends());
        let (pipe, echo) = (upper.links().link(&near).expect("linked"), upper.links().link(&echo()).expect("linked"));
        let mut server = stays(|| {
            send(&upper, pipe, b"here")?;
            std::mem::forget(upper.clone());
            Ok(())
        });
        assert_eq!(text(&far), "here");
        // Anywhere; no other process can have the locks that it holds before it continues.
        let (mut of_pipe, mut of_echo, stopped_at) = (0, 0, random.below(100) as u32);
        let send_both = |upper: &Stream, number: u32| {
            far.write(&number.to_ne_bytes()).expect("room");
            upper.putmsg(Some(&echo.bytes()), Some(&number.to_ne_bytes())).expect("room");
        };
        (0..stopped_at).for_each(|number| send_both(&mut upper, number));
        stopped_for(&mut server, Duration::from_millis(40), || {
            (stopped_at..100).for_each(|number| send_both(&mut upper, number));
            while of_pipe + of_echo < 200 {
                let message = upper.receive().expect("no error").expect("not the end");
                let (from, _) = MuxId::split_from(message.control().expect("an id")).expect("an id");
                let next = if from == pipe { &mut of_pipe } else { &mut of_echo };
                assert_eq!(message.data(), Some(&u32::to_ne_bytes(*next)[..]));
                *next += 1;
            }
        });
        // Stopped while it sleeps, which it does nearly always, it holds no lock.
        let in_nobodys_way = (0..10).any(|_| {
            stopped_for(&mut server, PATIENCE_STOPPED, || {
                for _ in 0..5 {
                    send(&upper, echo, b"on").expect("room");
                    assert_eq!(get(&upper), (echo, Some("on".to_owned())));
                    far.write(b"and on").expect("room");
                    assert_eq!(get(&upper), (pipe, Some("and on".to_owned())));
                }
            })
        });
        assert!(in_nobodys_way);
        kill(server);
    }
    calm();
}

/// A child that does something, says so, and then waits to be killed.
fn stays(body: impl FnOnce() -> Result<()>) -> Child {
    let (ready, told) = std::io::pipe().expect("pipe");
    let child = child(|| {
        body()?;
        std::io::Write::write_all(&mut &told, b"x").expect("the test waits");
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    drop(told);
    std::io::Read::read_exact(&mut &ready, &mut [0]).expect("it is ready");
    child
}

fn kill(mut child: Child) {
    child.kill();
    child.wait().expect("wait");
}

#[test]
fn the_death_of_the_last_process_that_has_the_upper_stream_gives_the_lower_one_back() {
    in_own_process!();
    for killed in [false, true] {
        within(PATIENCE, format!("the end of a multiplexer; killed: {killed}"));
        let (near, far) = ends();
        near.attach().expect("room");
        let holder = stays(|| {
            let upper = mux();
            let id = upper.links().link(&near)?;
            send(&upper, id, b"linked")?;
            if killed {
                std::mem::forget(upper);
            }
            Ok(())
        });
        assert_eq!(text(&far), "linked");
        if killed {
            assert_eq!(errno(near.write(b"x")), Errno::Inval);
            assert_eq!(errno(near.read(&mut [0])), Errno::Inval);
        } else {
            near.write(b"closed").expect("nobody has it any more");
            assert_eq!(text(&far), "closed");
        }
        kill(holder);
        near.write(b"free").expect("nobody has it any more");
        assert_eq!(text(&far), "free");
        far.write(b"back").expect("room");
        assert_eq!(text(&near), "back");
        let upper = mux();
        let id = upper.links().link(&near).expect("free again");
        send(&upper, id, b"anew").expect("room");
        assert_eq!(text(&far), "anew");
        drop(near);
        drop(upper);
        assert_eq!(far.read(&mut [0; 8]).expect("the end"), 0, "the last that had the lower end was the multiplexer");
    }
    calm();
}

#[test]
fn a_forked_child_serves_the_links_on_when_its_parent_is_killed() {
    in_own_process!();
    within(PATIENCE, "a multiplexer of two processes".to_owned());
    let (near, far) = ends();
    let holder = stays(|| {
        let upper = mux();
        let (id, other) = (upper.links().link(&near)?, upper.links().link(&echo())?);
        drop(near);
        // In the child of the child, which outlives it.
        // Not one of those that die with their parent.
        // SAFETY: the child has one thread, which is this one's copy.
        if unsafe { libc::fork() } == 0 {
            loop {
                let (from, words) = get(&upper);
                let Some(words) = words else { break };
                assert_eq!(from, id);
                send(&upper, other, b"through echo")?;
                assert_eq!(get(&upper), (other, Some("through echo".to_owned())));
                send(&upper, id, words.to_uppercase().as_bytes())?;
            }
            // SAFETY: it ends the process.
            unsafe { libc::_exit(0) };
        }
        std::mem::forget(upper);
        Ok(())
    });
    far.write(b"one").expect("room");
    assert_eq!(text(&far), "ONE");
    kill(holder);
    for _ in 0..20 {
        far.write(b"two").expect("room");
        assert_eq!(text(&far), "TWO");
        std::thread::sleep(Duration::from_millis(3));
    }
    far.shutdown(std::net::Shutdown::Write).expect("open");
    assert_eq!(far.read(&mut [0; 8]).expect("the end"), 0);
    calm();
}

fn named(directory: &Path) -> Result<Stream> {
    let options = DeviceOptions::new().minor(3).directory(directory);
    options.open("mux")
}

#[test]
fn an_unrelated_process_that_opens_the_upper_stream_by_name_serves_its_links() {
    in_own_process!();
    within(PATIENCE, "a named multiplexer".to_owned());
    let directory = private_directory();
    let (near, far) = ends();
    let ids = std::fs::File::create_new(directory.path().join("ids")).expect("new");
    let holder = stays(|| {
        let upper = named(directory.path())?;
        let (pipe, echo) = (upper.links().link(&near)?, upper.links().link(&echo())?);
        std::io::Write::write_all(&mut &ids, &[pipe.bytes(), echo.bytes()].concat()).expect("room");
        std::mem::forget((near, upper));
        Ok(())
    });
    let ids = std::fs::read(directory.path().join("ids")).expect("written");
    let (pipe, rest) = MuxId::split_from(&ids).expect("an id");
    let (echo, _) = MuxId::split_from(rest).expect("an id");
    let upper = named(directory.path()).expect("handed over");
    send(&upper, pipe, b"to the pipe").expect("reached");
    assert_eq!(text(&far), "to the pipe");
    send(&upper, echo, b"to echo").expect("reached");
    assert_eq!(get(&upper), (echo, Some("to echo".to_owned())));
    far.write(b"from the pipe").expect("room");
    assert_eq!(get(&upper), (pipe, Some("from the pipe".to_owned())));
    kill(holder);
    // What it has linked is ours as well.
    send(&upper, echo, b"still").expect("reached");
    assert_eq!(get(&upper), (echo, Some("still".to_owned())));
    far.write(b"there").expect("room");
    assert_eq!(get(&upper), (pipe, Some("there".to_owned())));
    // A link that is made later is handed to those that were there before.
    let (other, end) = ends();
    let later = child(|| {
        let upper = named(directory.path())?;
        std::io::Write::write_all(&mut &std::fs::File::create(directory.path().join("later")).expect("new"), b"x")
            .expect("room");
        until("the id of the later link", || {
            std::fs::read(directory.path().join("later")).is_ok_and(|bytes| bytes.len() == MuxId::LEN)
        });
        let bytes = std::fs::read(directory.path().join("later")).expect("there");
        send(&upper, MuxId::split_from(&bytes).expect("an id").0, b"later")
    });
    until("it has opened the stream", || directory.path().join("later").exists());
    let id = upper.links().link(&other).expect("linked");
    std::fs::write(directory.path().join("new"), id.bytes()).expect("room");
    std::fs::rename(directory.path().join("new"), directory.path().join("later")).expect("there");
    assert_eq!(text(&end), "later");
    joined(later);
    drop(upper);
    drop(other);
    assert_eq!((far.read(&mut [0; 8]).expect("the end"), end.read(&mut [0; 8]).expect("the end")), (0, 0));
    let left: Vec<_> =
        std::fs::read_dir(directory.path()).expect("there").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains(':')), "sockets are left: {left:?}");
    calm();
}

#[test]
fn a_persistent_link_outlasts_the_upper_stream_in_its_process() {
    in_own_process!();
    within(PATIENCE, "a persistent link".to_owned());
    let directory = private_directory();
    let (near, far) = ends();
    let upper = named(directory.path()).expect("free");
    let id = upper.links().link_persistent(&near).expect("linked");
    drop(near);
    assert_eq!(errno(upper.links().unlink(Some(id))), Errno::Inval);
    upper.links().unlink(None).expect("there is none that does not last");
    drop(upper);
    far.write(b"kept").expect("the multiplexer has it open");
    let upper = named(directory.path()).expect("the same");
    assert_eq!(get(&upper), (id, Some("kept".to_owned())));
    send(&upper, id, b"down").expect("reached");
    assert_eq!(text(&far), "down");
    upper.links().unlink_persistent(None).expect("acknowledged");
    assert_eq!(far.read(&mut [0; 8]).expect("the end"), 0);
    drop(upper);
    calm();
}

#[test]
fn what_a_process_sends_that_cannot_use_the_link_another_one_sends() {
    in_own_process!();
    within(PATIENCE, "a link of another process".to_owned());
    let (upper, (near, far)) = (mux(), ends());
    let (mut told, tell) = std::io::pipe().expect("pipe");
    // Forked before there was a link, and no process hands it one.
    let sender = child(|| {
        let mut id = [0; MuxId::LEN];
        std::io::Read::read_exact(&mut told, &mut id).expect("the test says it");
        let (id, _) = MuxId::split_from(&id).expect("an id");
        send(&upper, id, b"one")?;
        send(&upper, id, b"two")?;
        assert_eq!(errno(send(&upper, MuxId::new(99).expect("a number"), b"x")), Errno::Nxio);
        Ok(())
    });
    let id = upper.links().link(&near).expect("linked");
    std::io::Write::write_all(&mut &tell, &id.bytes()).expect("it waits");
    joined(sender);
    let mut seen = String::new();
    while seen != "onetwo" {
        seen += &text(&far);
    }
    calm();
}
