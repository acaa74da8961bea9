//! Streams that are attached to names (fattach, fdetach): which end the openers get, for how long, and what fails.

mod connections;
mod holders;
mod users;

use crate::common;
use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::{calm, child, in_own_process, joined, reads, within};
use headwater_streams::attach::{AttachedOptions, detach, is_attached, is_attached_file};
use headwater_streams::{Access, Device, Errno, FifoOptions, Stream, pipe};

const PATIENCE: Duration = Duration::from_secs(60);

/// A plain file that this user alone may open.
fn file() -> (tempfile::TempDir, PathBuf) {
    file_in(&std::env::temp_dir())
}

/// As [`file`], in a directory of that place.
fn file_in(place: &Path) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(place).expect("a directory");
    let path = directory.path().join("name");
    fs::write(&path, "plain").expect("create");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("chmod");
    (directory, path)
}

/// Opens what is attached, which must be something.
fn open(path: &Path) -> Stream {
    Stream::open_attached(path).expect("no error").expect("it is attached")
}

/// Whether the name is plain again, for every user of the library.
fn is_plain(path: &Path) -> bool {
    Stream::open_attached(path).expect("no error").is_none() && !is_attached(path)
}

/// Waits until a condition holds that another process is about to bring about.
fn soon(what: &str, condition: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < give_up, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn every_process_that_opens_the_name_gets_the_same_end() {
    in_own_process!();
    within(PATIENCE, "several processes open one name".to_owned());
    let (_directory, path) = file();
    let (near, far) = pipe().expect("pipe");
    far.attach_to(&path).expect("own");
    drop(far);
    let openers: Vec<_> = (0..8)
        .map(|number: u8| {
            child(|| {
                // The parent's copies are the child's.
                open(&path).write(&[number])?;
                Ok(())
            })
        })
        .collect();
    openers.into_iter().for_each(joined);
    let mut numbers = Vec::<u8>::new();
    while numbers.len() < 8 {
        let mut bytes = [0; 8];
        let count = near.read(&mut bytes).expect("there");
        numbers.extend(&bytes[..count]);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    near.write(b"for one of them").expect("room");
    assert_eq!(reads(&open(&path)), "for one of them");
    assert_eq!(fs::read(&path).expect("own"), b"plain", "nothing is written to the file");
    detach(&path).expect("it is attached");
    calm();
}

#[test]
fn the_other_end_hangs_up_when_the_last_copy_and_the_attachment_are_gone() {
    in_own_process!();
    within(PATIENCE, "the end of an attached stream".to_owned());
    let (_directory, path) = file();
    let before = common::open_things();
    let (near, far) = pipe().expect("pipe");
    far.attach_to(&path).expect("own");
    far.write(b"from before").expect("room");
    far.close().expect("open");
    near.set_nonblocking(true).expect("open");
    assert_eq!(reads(&near), "from before");
    assert_eq!(near.read(&mut [0; 8]).expect_err("the attachment holds it").errno(), Errno::Again);
    let opened = open(&path);
    detach(&path).expect("it is attached");
    assert_eq!(near.read(&mut [0; 8]).expect_err("an opener has it").errno(), Errno::Again);
    near.write(b"still").expect("room");
    assert_eq!(reads(&opened), "still");
    drop(opened);
    assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0);
    assert_eq!(near.write(b"x").expect_err("the end").errno(), Errno::Pipe);
    drop(near);
    // Threads of an earlier test may have ended meanwhile.
    common::expect_nothing_left(before);
    calm();
}

#[test]
fn a_detached_name_is_a_plain_file_and_may_be_attached_again() {
    in_own_process!();
    within(PATIENCE, "attach and detach by turns".to_owned());
    let (_directory, path) = file();
    assert!(is_plain(&path));
    let mut old = Vec::new();
    for round in 0..20 {
        let (near, far) = pipe().expect("pipe");
        far.attach_to(&path).expect("own");
        assert!(is_attached(&path) && is_attached_file(fs::File::open(&path).expect("own").as_fd()));
        assert_eq!(near.attach_to(&path).expect_err("once").errno(), Errno::Busy);
        let opened = open(&path);
        near.write(format!("round {round}").as_bytes()).expect("room");
        assert_eq!(reads(&opened), format!("round {round}"));
        old.push((near, opened));
        if round % 2 == 0 {
            detach(&path).expect("it is attached");
        } else {
            // By a process that does not hold it: it is forked, so it has a copy of the attachment, and detaches that.
            joined(child(|| detach(&path)));
        }
        assert!(is_plain(&path));
        assert_eq!(detach(&path).expect_err("not attached").errno(), Errno::Inval);
    }
    for (near, opened) in old {
        opened.write(b"still").expect("room");
        assert_eq!(reads(&near), "still");
    }
    calm();
}

#[test]
fn one_end_may_have_several_names() {
    in_own_process!();
    within(PATIENCE, "two names".to_owned());
    let ((_one, one), (_other, other)) = (file(), file());
    let (near, far) = pipe().expect("pipe");
    far.attach_to(&one).expect("own");
    far.attach_to(&other).expect("own");
    drop(far);
    open(&one).write(b"one ").expect("room");
    detach(&one).expect("it is attached");
    open(&other).write(b"other").expect("room");
    assert_eq!(reads(&near), "one other");
    assert!(is_plain(&one));
    detach(&other).expect("it is attached");
    assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0);
    calm();
}

#[test]
fn the_name_follows_its_file_and_ends_with_it() {
    in_own_process!();
    within(PATIENCE, "rename and unlink".to_owned());
    let (directory, path) = file();
    let (near, far) = pipe().expect("pipe");
    let (link, moved, second) =
        (directory.path().join("link"), directory.path().join("moved"), directory.path().join("second"));
    symlink(&path, &link).expect("symlink");
    far.attach_to(&link).expect("the file that it leads to");
    drop(far);
    open(&path).write(b"path ").expect("room");
    open(&link).write(b"link ").expect("room");
    fs::rename(&path, &moved).expect("own");
    open(&moved).write(b"moved ").expect("room");
    assert_eq!(Stream::open_attached(&path).expect_err("it is not there").errno(), Errno::Noent);
    fs::write(&path, "another file").expect("create");
    assert!(is_plain(&path));
    fs::hard_link(&moved, &second).expect("own");
    fs::remove_file(&moved).expect("own");
    open(&second).write(b"second").expect("room");
    assert_eq!(reads(&near), "path link moved second");
    // The last name.
    fs::remove_file(&second).expect("own");
    assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0);
    calm();
}

#[test]
fn attaching_fails_as_specified() {
    in_own_process!();
    let (directory, path) = file();
    let (near, far) = pipe().expect("pipe");
    let refused = |path: &Path| far.attach_to(path).expect_err("refused").errno();
    let other = |name: &str| directory.path().join(name);
    assert_eq!(refused(&other("missing")), Errno::Noent);
    assert_eq!(refused(&path.join("below")), Errno::new(libc::ENOTDIR));
    assert_eq!(refused(&other(&"n".repeat(300))), Errno::new(libc::ENAMETOOLONG));
    symlink(other("circle"), other("circle")).expect("symlink");
    assert_eq!(refused(&other("circle")), Errno::new(libc::ELOOP));
    assert_eq!(refused(directory.path()), Errno::Inval);
    assert_eq!(refused(Path::new("/dev/null")), Errno::Inval);
    let clone = near.clone();
    near.close().expect("open");
    assert_eq!(clone.attach_to(&path).expect_err("closed").errno(), Errno::Badf);
    for (call, missing) in [(detach(other("missing")), Errno::Noent), (detach(directory.path()), Errno::Inval)] {
        assert_eq!(call.expect_err("refused").errno(), missing);
    }
    assert_eq!(Stream::open_attached(other("missing")).expect_err("refused").errno(), Errno::Noent);
    for plain in [directory.path(), Path::new("/dev/null")] {
        assert!(is_plain(plain));
    }
    assert!(!is_attached(other("missing")));
    let text = far.attach_to(other("missing")).expect_err("refused").to_string();
    assert!(text.contains("missing"), "{text}");
    assert!(is_plain(&path), "what has failed has left nothing");
}

#[test]
fn a_program_that_locks_its_file_whole_is_not_disturbed() {
    in_own_process!();
    within(PATIENCE, "a lock of the whole file".to_owned());
    let (_directory, path) = file();
    let program = fs::OpenOptions::new().write(true).open(&path).expect("own");
    assert!(headwater_os::ofd_lock::mark(&program, 0, 0).expect("fcntl"));
    assert!(is_attached(&path), "the cheap question cannot tell");
    assert!(Stream::open_attached(&path).expect("no error").is_none());
    let (_near, far) = pipe().expect("pipe");
    assert_eq!(far.attach_to(&path).expect_err("in the way").errno(), Errno::Busy);
    drop(program);
    far.attach_to(&path).expect("it is free");
    detach(&path).expect("it is attached");
    calm();
}

#[test]
fn devices_and_fifos_have_names_too() {
    in_own_process!();
    within(PATIENCE, "a device and a FIFO".to_owned());
    let (_directory, path) = file();
    let device = Device::open_private("echo").expect("known");
    device.attach_to(&path).expect("own");
    drop(device);
    let opened = open(&path);
    assert_eq!(opened.modules().look().expect("a driver"), "echo");
    opened.write(b"hello").expect("room");
    drop(opened);
    joined(child(|| {
        assert_eq!(reads(&open(&path)), "hello");
        Ok(())
    }));
    detach(&path).expect("it is attached");
    let (_fifo_directory, fifo) = common::fifo();
    let options = FifoOptions::new().nonblocking(true);
    let reader = options.open(&fifo, Access::Read).expect("own");
    let writer = options.open(&fifo, Access::Write).expect("a reader is there");
    reader.attach_to(&path).expect("own");
    drop(reader);
    writer.write(b"through a FIFO").expect("the attachment reads");
    let opened = open(&path);
    assert_eq!(reads(&opened), "through a FIFO");
    assert_eq!(opened.write(b"x").expect_err("a reader").errno(), Errno::Badf);
    drop(opened);
    detach(&path).expect("it is attached");
    assert_eq!(writer.write(b"x").expect_err("no reader").errno(), Errno::Pipe);
    calm();
}

#[test]
fn an_open_by_a_descriptor_finds_what_is_attached() {
    in_own_process!();
    within(PATIENCE, "open_file".to_owned());
    let (_directory, path) = file();
    let (near, far) = pipe().expect("pipe");
    far.attach_to(&path).expect("own");
    let file = fs::File::open(&path).expect("own");
    fs::rename(&path, path.with_extension("moved")).expect("own");
    let opened = AttachedOptions::new().nonblocking(true).open_file(&file).expect("no error").expect("it is attached");
    assert!(opened.is_nonblocking());
    assert_eq!(opened.read(&mut [0; 8]).expect_err("empty").errno(), Errno::Again);
    near.write(b"x").expect("room");
    assert_eq!(reads(&opened), "x");
    let (pipe, _) = std::io::pipe().expect("pipe");
    assert!(AttachedOptions::new().open_file(&pipe).expect("no error").is_none());
    detach(path.with_extension("moved")).expect("it is attached");
    let mut text = String::new();
    (&file).read_to_string(&mut text).expect("own");
    assert_eq!(text, "plain");
    calm();
}
