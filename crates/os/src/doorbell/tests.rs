use std::fs::File;
use std::io::Read;

use super::*;

fn rung(bell: &Doorbell) -> Heard {
    bell.wait(Some(Duration::ZERO)).expect("poll")
}

#[test]
fn each_bell_is_answered_once() {
    let (near, far) = Doorbell::pair().expect("pair");
    assert_eq!(rung(&far), Heard::TimedOut);
    assert!(near.ring() && near.ring());
    assert_eq!(rung(&far), Heard::Rung);
    assert!(matches!(far.answer(), Ok(Answer::Bell)));
    assert!(matches!(far.answer(), Ok(Answer::Bell)));
    assert!(matches!(far.answer(), Ok(Answer::Nothing)));
    assert_eq!(rung(&near), Heard::TimedOut);
}

#[test]
fn ringing_in_vain_never_waits() {
    let (near, far) = Doorbell::pair().expect("pair");
    for _ in 0..100_000 {
        assert!(near.ring());
    }
    drop(far);
    assert!(!near.ring());
}

#[test]
fn only_the_last_copy_hangs_up() {
    let (near, far) = Doorbell::pair().expect("pair");
    let copy = far.try_clone().expect("dup");
    drop(far);
    assert!(!near.is_alone().expect("poll"));
    drop(copy);
    assert!(near.is_alone().expect("poll"));
    assert!(matches!(near.answer(), Ok(Answer::Gone)));
}

#[test]
fn a_file_is_passed() {
    let (near, far) = Doorbell::pair().expect("pair");
    near.ring();
    near.pass(File::open("/proc/self/stat").expect("open").as_fd()).expect("pass");
    assert!(matches!(far.answer(), Ok(Answer::Bell)));
    let Ok(Answer::File(file)) = far.answer() else { panic!("no file came") };
    let mut text = String::new();
    File::from(file).read_to_string(&mut text).expect("read");
    assert!(text.starts_with(&std::process::id().to_string()));
}

#[test]
fn copies_share_their_cookie() {
    let (near, far) = Doorbell::pair().expect("pair");
    assert_eq!(near.cookie().ok(), near.try_clone().expect("dup").cookie().ok());
    assert_ne!(near.cookie().ok(), far.cookie().ok());
}

#[test]
fn another_descriptor_is_refused() {
    let file = File::open("/dev/null").expect("open");
    assert_eq!(Doorbell::from_fd(file.into()).expect_err("no socket").kind(), io::ErrorKind::InvalidInput);
}

/// Two pipes, as two processes open them: each reads its own and rings the other's.
fn pipes() -> (Doorbell, Doorbell) {
    let open = |pipe: &io::PipeReader, flags| {
        let number = std::os::fd::AsRawFd::as_raw_fd(pipe).unsigned_abs();
        crate::descriptors::Found { pid: std::process::id(), number }.open(flags).expect("open")
    };
    let ((near, _near_in), (far, _far_in)) = (io::pipe().expect("pipe"), io::pipe().expect("pipe"));
    let both = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NONBLOCK;
    let (to_near, to_far) = (open(&near, both), open(&far, both));
    (Doorbell::of_pipes(near.into(), to_far).expect("near"), Doorbell::of_pipes(far.into(), to_near).expect("far"))
}

#[test]
fn pipes_ring_and_hang_up_like_sockets() {
    let (near, far) = pipes();
    assert_eq!(rung(&far), Heard::TimedOut);
    assert!(near.ring());
    assert_eq!(rung(&far), Heard::Rung);
    assert!(matches!(far.answer(), Ok(Answer::Bell)));
    assert!(matches!(far.answer(), Ok(Answer::Nothing)));
    drop(near);
    assert!(far.is_alone().expect("poll"));
    assert!(matches!(far.answer(), Ok(Answer::Gone)));
    assert!(far.ring(), "nobody hears it, and nobody is killed");
}
