use std::fs::File;

use super::*;

fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("name");
    File::create(&path).expect("create");
    (directory, path)
}

fn open(path: &Path) -> OwnedFd {
    open_both(&find(path).expect("it is there").expect("a plain file")).expect("own")
}

#[test]
fn marks_are_seen_with_their_token_until_they_are_given_up() {
    let (_directory, path) = file();
    let (looks, other) = (open(&path), open(&path));
    assert!(look(&looks).expect("fcntl") == Look::Plain && !is_marked(&looks));
    let (marks, _listener) = Marks::set(open(&path)).expect("nothing is attached");
    assert_eq!(look(&looks).expect("fcntl"), Look::Marked(vec![marks.token]));
    assert!(is_marked(&looks));
    assert_eq!(Marks::set(other).expect_err("once").errno(), Errno::Busy);
    marks.give_up();
    assert!(look(&looks).expect("fcntl") == Look::Plain && !is_marked(&looks));
}

#[test]
fn a_program_that_locks_its_file_has_attached_nothing() {
    let (_directory, path) = file();
    let (looks, program) = (open(&path), open(&path));
    assert!(ofd_lock::mark(&program, 0, 0).expect("fcntl"), "the whole file");
    assert_eq!(look(&looks).expect("fcntl"), Look::Plain);
    assert_eq!(Marks::set(open(&path)).expect_err("it is in the way").errno(), Errno::Busy);
}

#[test]
fn tokens_of_strangers_hide_none() {
    let (_directory, path) = file();
    let looks = open(&path);
    let (marks, _listener) = Marks::set(open(&path)).expect("nothing is attached");
    let strangers: Vec<OwnedFd> = [0, 1 << 20, (1 << TOKEN_BITS) - 1]
        .into_iter()
        .map(|token| {
            let stranger = open(&path);
            assert!(ofd_lock::mark(&stranger, TOKENS + token, 1).expect("fcntl"));
            stranger
        })
        .collect();
    let Look::Marked(tokens) = look(&looks).expect("fcntl") else { panic!("it is marked") };
    assert!(tokens.len() == 4 && tokens.contains(&marks.token));
    drop(strangers);
}

#[test]
fn a_challenge_is_answered_with_both_rights_alone() {
    let (_directory, path) = file();
    let holder = open(&path);
    let challenge = Challenge::new().expect("getrandom");
    assert_eq!(Challenge::of(challenge.bytes()), challenge);
    let reader = OwnedFd::from(File::open(&path).expect("open"));
    let writer = OwnedFd::from(File::options().write(true).open(&path).expect("open"));
    assert!(challenge.answer(&reader).is_err() && challenge.answer(&writer).is_err());
    // What the one has locked for reading is no proof of the other's right.
    assert!(!challenge.is_answered(&holder).expect("fcntl"));
    drop((reader, writer));
    let both = open(&path);
    assert!(challenge.answer(&both).expect("fcntl") && challenge.is_answered(&holder).expect("fcntl"));
    let another = Challenge(challenge.0 ^ 1);
    assert!(!another.is_answered(&holder).expect("fcntl"));
    drop(both);
    // A process that another test has forked meanwhile has a copy, until it ends.
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while challenge.is_answered(&holder).expect("fcntl") {
        assert!(std::time::Instant::now() < give_up, "the last copy is closed");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
