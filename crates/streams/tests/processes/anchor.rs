//! The anchor of a device's modules (I_ANCHOR): which pops it refuses, for which processes.

use crate::common;
use crate::common::users::{NOBODY, become_user, is_root};
use crate::common::{child, in_own_process, joined};
use headwater_streams::{Access, Device, Errno, Error, FifoOptions, Result, Stream};

fn device() -> Stream {
    Device::open_private("echo").expect("known")
}

/// Runs as a user without privileges.
fn unprivileged(body: impl FnOnce() -> Result<()>) {
    if headwater_os::files::own_user() != 0 {
        return body().expect("as expected");
    }
    joined(child(|| {
        become_user(NOBODY);
        body()
    }));
}

/// What pops give until one is refused or no module is left, and the modules then.
fn pops(stream: &Stream) -> Result<(usize, Errno, Vec<String>)> {
    let mut count = 0;
    loop {
        match stream.pop() {
            Ok(()) => count += 1,
            Err(error) => return Ok((count, error.errno(), stream.modules().list()?)),
        }
    }
}

fn check(what: &str, prepare: impl Fn(&Stream) -> Result<()>, pops_expected: usize, errno: Errno, left: &[&str]) {
    let stream = device();
    prepare(&stream).expect("a device takes it");
    unprivileged(|| {
        let (count, refused, list) = pops(&stream)?;
        let is_so = (count, refused) == (pops_expected, errno) && list == left;
        let why = || Error::new(Errno::Inval, format!("{what}: {count} pops, then {refused:?}, left are {list:?}"));
        if is_so { Ok(()) } else { Err(why()) }
    });
}

#[test]
fn modules_above_the_anchor_are_popped_and_no_others() {
    in_own_process!();
    let push = |stream: &Stream, names: &[&str]| names.iter().try_for_each(|name| stream.push(name));
    check("no anchor", |s| push(s, &["nullmod", "srvmod"]), 2, Errno::Inval, &["echo"]);
    check("no module", |s| s.modules().anchor().and_then(|()| push(s, &["nullmod"])), 1, Errno::Inval, &["echo"]);
    check(
        "one below",
        |s| {
            push(s, &["nullmod"])?;
            s.modules().anchor()?;
            push(s, &["srvmod", "nullmod"])
        },
        2,
        Errno::Perm,
        &["nullmod", "echo"],
    );
    check(
        "anchored again",
        |s| {
            push(s, &["nullmod"])?;
            s.modules().anchor()?;
            push(s, &["srvmod"])?;
            s.modules().anchor()?;
            push(s, &["nullmod"])
        },
        1,
        Errno::Perm,
        &["srvmod", "nullmod", "echo"],
    );
}

#[test]
fn root_pops_anchored_modules_and_what_comes_in_their_place_is_free() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let stream = device();
    for name in ["nullmod", "srvmod"] {
        stream.push(name).expect("known");
    }
    stream.modules().anchor().expect("a device");
    stream.pop().expect("root may");
    stream.push("nullmod").expect("known");
    unprivileged(|| {
        stream.pop()?;
        match stream.pop() {
            Err(error) if error.errno() == Errno::Perm => Ok(()),
            other => Err(Error::new(Errno::Inval, format!("the first module is still anchored: {other:?}"))),
        }
    });
}

#[test]
fn a_pipe_and_a_fifo_have_no_anchor() {
    in_own_process!();
    let (near, far) = headwater_streams::pipe().expect("pipe");
    near.push("nullmod").expect("known");
    for end in [&near, &far] {
        assert_eq!(end.modules().anchor().expect_err("a pipe").errno(), Errno::Inval);
    }
    near.pop().expect("not anchored");
    let (_directory, path) = common::fifo();
    let reader = FifoOptions::new().nonblocking(true).open(&path, Access::Read).expect("open");
    assert_eq!(reader.modules().anchor().expect_err("a FIFO").errno(), Errno::Inval);
}

#[test]
fn an_anchor_is_refused_as_a_push_is_after_a_hang_up_and_an_error() {
    in_own_process!();
    for (request, errno) in [("hangup", Errno::Nxio), ("error 71 0", Errno::Io), ("error 0 71", Errno::Io)] {
        let stream = device().clone();
        stream.set_nonblocking(true).expect("arm");
        stream.push("testmod").expect("known");
        stream.putmsg(Some(request.as_bytes()), None).expect("room");
        assert_eq!(stream.modules().anchor().expect_err("raised").errno(), errno, "{request}");
    }
}
