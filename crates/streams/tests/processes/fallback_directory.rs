//! The directory of devices where none is named: in the directory for temporary files any user can make one of that name first.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use headwater_streams::{DeviceOptions, Errno};

use crate::common::users::{NOBODY, become_user, is_root, public_place, started};
use crate::common::{child, in_own_process, joined};

/// Another user than the one that opens devices.
const OTHER: u32 = 1;

struct Places {
    _parent: tempfile::TempDir,
    shared: PathBuf,
    home: PathBuf,
}

impl Places {
    fn new() -> Places {
        let parent = tempfile::tempdir_in(public_place()).expect("a directory");
        let (shared, home) = (parent.path().join("tmp"), parent.path().join("home"));
        for (path, permissions) in [(parent.path(), 0o755), (&shared, 0o1777), (&home, 0o755)] {
            fs::create_dir_all(path).expect("mkdir");
            fs::set_permissions(path, fs::Permissions::from_mode(permissions)).expect("chmod");
        }
        chown(&home, Some(NOBODY), None).expect("root may");
        Places { _parent: parent, shared, home }
    }

    fn first(&self) -> PathBuf {
        self.shared.join(format!("headwater-{NOBODY}"))
    }

    fn second(&self) -> PathBuf {
        self.home.join(".headwater")
    }

    /// Makes this process one of a user whose environment names no directory of devices. Standard error goes to a file.
    fn enter(&self, home: Option<&Path>, told: &File) {
        // SAFETY: the child has one thread.
        unsafe {
            ["HEADWATER_RUNTIME_DIR", "XDG_RUNTIME_DIR", "HOME"].iter().for_each(|name| std::env::remove_var(name));
            std::env::set_var("TMPDIR", &self.shared);
            home.iter().for_each(|home| std::env::set_var("HOME", home));
            libc::dup2(told.as_raw_fd(), 2);
        }
        become_user(NOBODY);
    }
}

/// The reason that is told, and what makes the path unsafe.
type Squatter = (&'static str, fn(&Path));

fn skipped() -> bool {
    !is_root() || Path::new(&format!("/run/user/{NOBODY}")).exists()
}

#[test]
fn a_directory_that_is_not_safe_makes_devices_fall_back_to_the_user_s_own() {
    in_own_process!();
    if skipped() {
        return;
    }
    let make: [Squatter; 5] = [
        ("it belongs to user 1", |path| {
            fs::create_dir(path).expect("mkdir");
            chown(path, Some(OTHER), Some(OTHER)).expect("root may");
        }),
        ("it belongs to user 1", |path| {
            fs::create_dir(path).expect("mkdir");
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("chmod");
            chown(path, Some(OTHER), Some(OTHER)).expect("root may");
        }),
        ("its permissions 777", |path| {
            fs::create_dir(path).expect("mkdir");
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("chmod");
            chown(path, Some(NOBODY), None).expect("root may");
        }),
        ("Not a directory", |path| symlink("/", path).expect("symlink")),
        ("Not a directory", |path| fs::write(path, "x").expect("room")),
    ];
    for (why, make) in make {
        let (places, told) = (Places::new(), tempfile::tempfile().expect("a file"));
        make(&places.first());
        joined(child(|| {
            places.enter(Some(&places.home), &told);
            let (one, two) = (DeviceOptions::new().open("echo")?, DeviceOptions::new().open("echo")?);
            assert_ne!(one.minor(), two.minor());
            Ok(())
        }));
        let made = fs::metadata(places.second()).expect("it was made");
        assert_eq!((made.uid(), made.permissions().mode() & 0o777), (NOBODY, 0o700), "{why}");
        if let Ok(entries) = fs::read_dir(places.first())
            && !places.first().is_symlink()
        {
            assert_eq!(entries.count(), 0, "{why}: nothing is put there");
        }
        let told = said(told);
        assert_eq!(told.lines().count(), 1, "{why}: once in a process: {told}");
        for text in [
            why,
            places.first().to_str().expect("text"),
            places.second().to_str().expect("text"),
            "HEADWATER_RUNTIME_DIR",
        ] {
            assert!(told.contains(text), "{text}: {told}");
        }
    }
}

fn said(mut file: File) -> String {
    use std::io::{Read, Seek};
    let mut text = String::new();
    file.rewind().expect("a file");
    file.read_to_string(&mut text).expect("text");
    text
}

#[test]
fn processes_of_a_user_meet_in_the_fallback_also_when_the_first_place_is_free_again() {
    in_own_process!();
    if skipped() {
        return;
    }
    let (places, told) = (Places::new(), tempfile::tempfile().expect("a file"));
    fs::create_dir(places.first()).expect("mkdir");
    chown(places.first(), Some(OTHER), None).expect("root may");
    let mut holder = started(|ready| {
        places.enter(Some(&places.home), &told);
        let device = DeviceOptions::new().minor(7).open("loop")?;
        ready();
        std::thread::sleep(std::time::Duration::from_secs(60));
        drop(device);
        Ok(())
    });
    fs::remove_dir(places.first()).expect("empty");
    joined(child(|| {
        places.enter(Some(&places.home), &told);
        let partner = DeviceOptions::new().minor(6).open("loop")?;
        assert!(places.second().join("loop.6:").exists() && places.second().join("loop.7:").exists());
        drop(partner);
        assert!(!places.first().exists());
        Ok(())
    }));
    holder.kill();
    holder.wait().expect("wait");
}

#[test]
fn without_a_place_of_the_user_s_own_the_error_says_what_to_do() {
    in_own_process!();
    if skipped() {
        return;
    }
    let (places, told) = (Places::new(), tempfile::tempfile().expect("a file"));
    fs::create_dir(places.first()).expect("mkdir");
    chown(places.first(), Some(OTHER), None).expect("root may");
    for home in [None, Some(Path::new("/no-such-home")), Some(Path::new("/"))] {
        joined(child(|| {
            places.enter(home, &told);
            let error = DeviceOptions::new().open("echo").expect_err("no safe place");
            assert_eq!(error.errno(), Errno::Acces);
            assert!(error.to_string().contains("HEADWATER_RUNTIME_DIR"), "{error}");
            assert!(DeviceOptions::new().open_private("echo").is_ok(), "a private stream needs none");
            Ok(())
        }));
    }
    assert_eq!(said(told), "");
}
