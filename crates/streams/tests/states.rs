//! The table of the stream head: the result of each call after a hang-up, a read error, a write error, and both; and
//! the signal that some of it raises.

mod common;

use std::io::{IoSlice, IoSliceMut};
use std::time::Duration;

use common::{child, in_own_process, joined};
use headwater_streams::modules::testmod::ioctl::REVERSE;
use headwater_streams::{
    Errno, ErrorOptions, Events, Flush, IoctlTimeout, MemoryAt, MessageFilter, Priority, ReadOptions, Result,
    SignalEvents, Stream, WriteOptions, pipe,
};

/// The raised states, in the order of the table's columns.
const RAISED: [&str; 4] = ["hangup", "error 71 0", "error 0 71", "error 71 71"];

fn raised(request: &str) -> (Stream, Stream) {
    let (mut near, mut far) = pipe().expect("pipe");
    for stream in [&mut near, &mut far] {
        stream.set_nonblocking(true).expect("arm");
    }
    near.push("testmod").expect("known");
    near.putmsg(Some(request.as_bytes()), None).expect("room");
    (near, far)
}

type Call<'c> = (&'c str, &'c dyn Fn(&Stream) -> Result<i64>);
/// A number that is returned, or an error.
type Cell = std::result::Result<i64, Errno>;

const PROTO: Cell = Err(Errno::Proto);
const AGAIN: Cell = Err(Errno::Again);
const NXIO: Cell = Err(Errno::Nxio);
const IO: Cell = Err(Errno::Io);
const OK: Cell = Ok(0);

fn check(cells: [Cell; 4], calls: &[Call<'_>]) {
    for (name, call) in calls {
        for (request, cell) in RAISED.into_iter().zip(cells) {
            let (mut near, _far) = raised(request);
            assert_eq!(call(&mut near).map_err(|error| error.errno()), cell, "{name} after {request}");
        }
    }
}

fn done<T>(result: Result<T>) -> Result<i64> {
    result.map(|_| 0)
}

#[test]
fn calls_that_read() {
    check(
        [OK, PROTO, AGAIN, PROTO],
        &[
            ("read", &|near| near.read(&mut [0; 4]).map(|count| count as i64)),
            ("readv", &|near| {
                near.readv(&mut [IoSliceMut::new(&mut [0]), IoSliceMut::new(&mut [0])]).map(|count| count as i64)
            }),
            ("getmsg", &|near| {
                near.getmsg(Some(&mut [0]), Some(&mut [0]))
                    .map(|got| (got.control.unwrap_or(9) + got.data.unwrap_or(9)) as i64)
            }),
            ("getpmsg", &|near| done(near.getpmsg(None, None, MessageFilter::Any))),
            ("receive", &|near| near.receive().map(|message| i64::from(message.is_some()))),
            ("borrow", &|near| near.direct().borrow().map(|message| i64::from(message.is_some()))),
        ],
    );
    check([NXIO, PROTO, AGAIN, PROTO], &[("I_RECVFD", &|near| done(near.files().receive()))]);
}

#[test]
fn calls_that_write() {
    check(
        [NXIO, OK, PROTO, PROTO],
        &[
            ("write", &|near| done(near.write(b"x"))),
            ("writev", &|near| done(near.writev(&[IoSlice::new(b"x"), IoSlice::new(b"y")]))),
            ("write of nothing", &|near| done(near.write(b""))),
            ("putmsg", &|near| near.putmsg(None, Some(b"x")).map(|()| 0)),
            ("putpmsg", &|near| near.putpmsg(None, Some(b"x"), 4).map(|()| 0)),
            ("I_FDINSERT", &|near| {
                let (other, _peer) = pipe()?;
                near.pop().ok();
                near.putmsg_naming(b"proto 78", None, Priority::NORMAL, &other, 0).map(|()| 0).or_else(|error| {
                    // The module, where it could not be popped, does not know the request.
                    if error.errno() == Errno::Inval { Ok(0) } else { Err(error) }
                })
            }),
            ("I_SENDFD", &|near| done(near.files().send(std::os::fd::AsFd::as_fd(&std::io::stdin())))),
            ("I_SWROPT", &|near| near.settings().set_write_options(WriteOptions::PIPE).map(|()| 0)),
            ("I_CANPUT", &|near| done(near.can_put(0))),
            ("I_CANPUT of ANYBAND", &|near| done(near.can_put_in_any_band())),
        ],
    );
}

#[test]
fn calls_that_change_the_stream() {
    check(
        [NXIO, IO, IO, IO],
        &[("I_PUSH", &|near| near.push("nullmod").map(|()| 0)), ("I_POP", &|near| near.pop().map(|()| 0))],
    );
    check(
        [NXIO, PROTO, PROTO, PROTO],
        &[
            ("I_STR", &|near| done(near.ioctl(REVERSE, &mut Vec::new(), IoctlTimeout::Usual))),
            ("a transparent ioctl", &|near| done(near.transparent_ioctl(REVERSE, 0, &mut Vec::<MemoryAt<'_>>::new()))),
            ("I_FLUSH", &|near| near.flush_queues(Flush::ALL).map(|()| 0)),
            ("I_FLUSHBAND", &|near| near.flush_queues(Flush::ALL.in_band(1)).map(|()| 0)),
        ],
    );
    check(
        [OK, PROTO, OK, PROTO],
        &[("I_SRDOPT", &|near| near.settings().set_read_options(ReadOptions::default()).map(|()| 0))],
    );
}

#[test]
fn calls_that_look() {
    check(
        [OK, PROTO, OK, PROTO],
        &[
            ("I_PEEK", &|near| near.peek(None, None, MessageFilter::Any).map(|got| i64::from(got.is_some()))),
            ("I_NREAD", &|near| near.nread().map(|(bytes, messages)| (bytes + messages) as i64)),
            ("I_ATMARK of ANYMARK", &|near| near.is_at_mark().map(i64::from)),
            ("I_ATMARK of LASTMARK", &|near| near.is_at_last_mark().map(i64::from)),
            ("I_CKBAND", &|near| near.has_band(1).map(i64::from)),
        ],
    );
    check([Err(Errno::Nodata), PROTO, Err(Errno::Nodata), PROTO], &[("I_GETBAND", &|near| near.band().map(i64::from))]);
    check(
        [OK; 4],
        &[
            ("I_LOOK", &|near| done(near.modules().look())),
            ("I_FIND", &|near| done(near.modules().find("testmod"))),
            ("I_LIST", &|near| done(near.modules().list())),
            ("I_GRDOPT", &|near| Ok(i64::from(near.settings().read_options().fill))),
            ("I_GWROPT", &|near| Ok(i64::from(near.settings().write_options().hold))),
            ("I_GERROPT", &|near| Ok(i64::from(near.settings().error_options().read_once))),
            ("I_SERROPT", &|near| {
                near.settings().set_error_options(ErrorOptions::default());
                Ok(0)
            }),
            ("I_SETSIG and I_GETSIG", &|near| {
                near.signals().set(SignalEvents::HIPRI)?;
                done(near.signals().get())
            }),
            ("I_SETCLTIME and I_GETCLTIME", &|near| {
                near.settings().set_close_time(Duration::from_millis(7))?;
                Ok(near.settings().close_time().as_millis() as i64 - 7)
            }),
        ],
    );
}

#[test]
fn poll_shows_it() {
    let all = Events::IN | Events::PRI | Events::OUT;
    for (request, shown) in RAISED.into_iter().zip([Events::HUP, Events::ERR, Events::ERR, Events::ERR]) {
        let (near, _far) = raised(request);
        let ready = near.poll(all, Some(Duration::ZERO)).expect("no error");
        assert_eq!(ready & (Events::HUP | Events::ERR), shown, "{request}");
        assert_eq!(ready.intersects(Events::OUT), request == "error 71 0", "{request}");
    }
}

#[test]
fn an_error_that_is_told_once_is_told_once() {
    let (near, _far) = raised("error 71 71");
    near.settings().set_error_options(ErrorOptions::new().read_once(true).write_once(false));
    assert_eq!(near.read(&mut [0]).expect_err("told").errno(), Errno::Proto);
    assert_eq!(near.read(&mut [0]).expect_err("empty").errno(), Errno::Again);
    for _ in 0..2 {
        assert_eq!(near.write(b"x").expect_err("it stays").errno(), Errno::Proto);
    }
    near.settings().set_error_options(ErrorOptions::new().read_once(true).write_once(true));
    assert_eq!(near.write(b"x").expect_err("told").errno(), Errno::Proto);
    assert_eq!(near.write(b"x").expect("over"), 1);
}

/// Whether a call raises SIGPIPE: in a child, where it has its usual effect.
fn is_killed(call: impl FnOnce() -> Result<()>) -> bool {
    let mut writer = child(|| {
        // SAFETY: restores the usual effect, which a Rust program begins without.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let _ = call();
        Ok(())
    });
    let status = writer.wait().expect("wait");
    assert!(
        status.success() || std::os::unix::process::ExitStatusExt::signal(&status) == Some(libc::SIGPIPE),
        "{status}"
    );
    !status.success()
}

#[test]
fn a_write_that_nobody_will_read_raises_sigpipe_where_it_is_asked_for() {
    in_own_process!();
    for raises in [true, false] {
        let options = WriteOptions::PIPE.pipe(raises);
        let broken = |raise: &str| {
            let (near, far) = if raise.is_empty() { pipe().expect("pipe") } else { raised(raise) };
            if raise != "hangup" && raise != "error 0 71" {
                near.settings().set_write_options(options).expect("set");
            }
            if raise.is_empty() {
                drop(far);
                return (near, None);
            }
            (near, Some(far))
        };
        for write in [|near: &Stream| done(near.write(b"x")), |near: &Stream| done(near.putmsg(Some(b"c"), None))] {
            let (near, _far) = broken("");
            assert_eq!(is_killed(|| write(&near).map(drop)), raises);
        }
        // As the specification requires: no signal after a hang-up, nor for the calls that only look.
        let (near, _far) = broken("hangup");
        assert!(!is_killed(|| near.write(b"x").map(drop)));
        let (near, _far) = broken("");
        assert!(!is_killed(|| near.poll(Events::OUT, Some(Duration::ZERO)).map(drop)));
        assert!(!is_killed(|| near.ioctl(REVERSE, &mut Vec::new(), IoctlTimeout::Usual).map(drop)));
    }
    let (near, _far) = raised("error 0 71");
    assert!(is_killed(|| near.write(b"x").map(drop)), "a write error");
    // This process ignores it, as Rust programs do.
    let (near, far) = pipe().expect("pipe");
    drop(far);
    assert_eq!(near.write(b"x").expect_err("gone").errno(), Errno::Pipe);
    joined(child(|| Ok(())));
}
