//! Directories and tables of other users, and such that are not what they should be.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headwater_os::{files, ofd_lock};
use headwater_streams::autopush::{self, Autopush, Minors};
use headwater_streams::{DeviceOptions, Errno, Error, Stream};

use super::{PATIENCE, at, configure, modules};
use crate::common::users::{NOBODY, become_user, is_root};
use crate::common::{calm, child, in_own_process, joined, private_directory, within};

const FILE: &str = ".autopush";

type Spoil<'s> = (&'s str, &'s dyn Fn(&Path), Errno);

/// Opens and changes fail where the table is spoilt so, and succeed when it is removed.
fn check((what, spoil, errno): &Spoil<'_>) {
    let directory = private_directory();
    let options = at(directory.path());
    configure(&options, "echo -1 0 nullmod").expect("valid");
    spoil(&directory.path().join(FILE));
    let fails = |error: Error| {
        assert!(error.to_string().contains(FILE), "{what}: {error}");
        error.errno()
    };
    let opened = |open: &dyn Fn() -> headwater_streams::Result<Stream>| open().map(drop).map_err(fails);
    assert_eq!(opened(&|| options.open("echo")), Err(*errno), "{what}");
    assert_eq!(opened(&|| options.open_private("echo")), Err(*errno), "{what}");
    assert_eq!(autopush::list(&options).map_err(fails), Err(*errno), "{what}");
    let entry = Autopush::new("nuls", Minors::All, ["nullmod"]);
    assert_eq!(autopush::configure(&options, entry).map_err(fails), Err(*errno), "{what}");
    let path = directory.path().join(FILE);
    if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) }.expect("there");
    configure(&options, "echo -1 0 nullmod").expect(what);
    assert_eq!(modules(&options.open("echo").expect(what)), ["nullmod"], "{what}");
}

fn replaced(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("own");
}

#[test]
fn a_table_that_another_user_can_have_made_is_refused() {
    in_own_process!();
    within(PATIENCE, "strange tables".to_owned());
    let victim = tempfile::NamedTempFile::new().expect("a file");
    let text = |path: &Path| fs::read_to_string(path).expect("there");
    let table: [Spoil<'_>; 9] = [
        ("half-written", &|path| replaced(path, &text(path).as_bytes()[..40]), Errno::Proto),
        ("empty", &|path| replaced(path, b""), Errno::Proto),
        ("no text", &|path| replaced(path, &[0xff; 100]), Errno::Proto),
        ("too long", &|path| replaced(path, &vec![b'\n'; 1 << 20]), Errno::Fbig),
        ("writable by others", &|path| mode(path, 0o602), Errno::Acces),
        ("writable by a group", &|path| mode(path, 0o620), Errno::Acces),
        (
            "a symbolic link",
            &|path| {
                fs::rename(path, victim.path()).expect("the same file system");
                symlink(victim.path(), path).expect("symlink");
            },
            Errno::new(libc::ELOOP),
        ),
        (
            "a directory",
            &|path| {
                fs::remove_file(path).expect("there");
                fs::create_dir(path).expect("mkdir");
            },
            Errno::Inval,
        ),
        (
            "a FIFO",
            &|path| {
                fs::remove_file(path).expect("there");
                files::make_fifo(path, 0o600).expect("mkfifo");
            },
            Errno::Inval,
        ),
    ];
    table.iter().for_each(check);
    if is_root() {
        check(&("another user's", &|path| chown(path, Some(NOBODY), None).expect("root may"), Errno::Acces));
    }
    calm();
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("own");
}

#[test]
fn a_change_that_was_left_or_does_not_end_stops_no_reader() {
    in_own_process!();
    within(PATIENCE, "locks".to_owned());
    let directory = private_directory();
    let options = at(directory.path());
    configure(&options, "echo -1 0 nullmod").expect("valid");
    // What a killed process has left, and a link in its place.
    for left in [true, false] {
        let new = directory.path().join(".autopush.new");
        let victim = directory.path().join("victim");
        if left {
            replaced(&new, b"half")
        } else {
            symlink(&victim, &new).expect("symlink")
        }
        assert_eq!(modules(&options.open("echo").expect("open")), ["nullmod"]);
        configure(&options, &format!("nuls {} 0 nullmod", u32::from(left))).expect("valid");
        assert!(!victim.exists());
    }
    let lock = fs::File::options().write(true).open(directory.path().join(".autopush.lock")).expect("there");
    assert!(ofd_lock::mark(&lock, 0, 1).expect("a file"));
    let started = Instant::now();
    assert_eq!(configure(&options, "nuls 7 0 nullmod"), Err(Errno::Busy));
    assert!(started.elapsed() >= Duration::from_secs(2));
    assert_eq!(modules(&options.open("echo").expect("open")), ["nullmod"]);
    assert_eq!(autopush::list(&options).expect("readable").len(), 3);
    drop(lock);
    configure(&options, "nuls 7 0 nullmod").expect("free again");

    fs::remove_file(directory.path().join(".autopush.lock")).expect("there");
    symlink("/etc/passwd", directory.path().join(".autopush.lock")).expect("symlink");
    assert_eq!(configure(&options, "nuls 8 0 nullmod"), Err(Errno::new(libc::ELOOP)));
    calm();
}

#[test]
fn processes_that_configure_at_the_same_time_lose_no_entry_and_readers_see_whole_tables() {
    in_own_process!();
    within(PATIENCE, "many changes".to_owned());
    let directory = private_directory();
    let options = at(directory.path());
    let writers: Vec<_> = (0..4_u32)
        .map(|writer| {
            child(|| {
                (0..20).try_for_each(|number| {
                    let entry = Autopush::new("echo", Minors::One(writer * 100 + number), ["nullmod"; 8]);
                    autopush::configure(&options, entry)
                })
            })
        })
        .collect();
    let have_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ended = std::panic::catch_unwind(|| writers.into_iter().for_each(joined));
            have_ended.store(true, Ordering::Relaxed);
            ended.expect("each has added its entries");
        });
        let mut seen = 0;
        while !have_ended.load(Ordering::Relaxed) {
            let entries = autopush::list(&options).expect("a whole table");
            assert!(entries.len() >= seen, "{} after {seen}", entries.len());
            seen = entries.len();
        }
    });
    assert_eq!(autopush::list(&options).expect("a whole table").len(), 80);
    calm();
}

#[test]
fn a_private_open_makes_no_directory_and_leaves_those_of_others_alone() {
    in_own_process!();
    let parent = private_directory();
    let path = parent.path().join("devices");
    let options = at(&path);
    assert_eq!(modules(&options.open_private("echo").expect("open")), [""; 0]);
    assert_eq!(autopush::list(&options).expect("empty"), []);
    assert!(!path.exists());
    configure(&options, "echo 0 0 nullmod").expect("valid");
    assert_eq!(modules(&options.open_private("echo").expect("open")), ["nullmod"]);
    // Others may use it now: what is configured cannot be relied on, and is not left out in silence.
    mode(&path, 0o707);
    assert_eq!(options.open_private("echo").expect_err("not safe").errno(), Errno::Acces);
    mode(&path, 0o700);
    if is_root() {
        chown(&path, Some(NOBODY), None).expect("root may");
        assert_eq!(modules(&options.open_private("echo").expect("open")), [""; 0]);
        assert_eq!(options.open("echo").expect_err("another user's").errno(), Errno::Acces);
    }
}

#[test]
fn members_of_a_directory_s_group_use_what_its_owner_configures() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "a group".to_owned());
    let parent = tempfile::tempdir().expect("a directory");
    mode(parent.path(), 0o755);
    let path = parent.path().join("devices");
    fs::create_dir(&path).expect("mkdir");
    chown(&path, None, Some(NOBODY)).expect("root may");
    mode(&path, 0o2770);
    let options = DeviceOptions::new().directory(&path);
    configure(&options, "echo -1 0 nullmod").expect("root is the owner");
    joined(child(|| {
        become_user(NOBODY);
        assert_eq!(modules(&options.open("echo")?), ["nullmod"]);
        assert_eq!(configure(&options, "nuls 0 0 nullmod"), Err(Errno::Perm));
        assert_eq!(autopush::clear(&options, "echo", 0).expect_err("not the owner").errno(), Errno::Perm);
        // A member can put a file of its own in the place of the table: then it is refused, and never used.
        fs::remove_file(path.join(FILE))?;
        fs::write(path.join(FILE), "# headwater autopush 1\necho -1 0 srvmod\n# end\n")?;
        Ok(())
    }));
    assert_eq!(options.open("echo").expect_err("a member's table").errno(), Errno::Acces);
    calm();
}
