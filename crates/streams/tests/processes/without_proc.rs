//! Devices where /proc is not mounted, as in a changed root directory or a small container.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::tpi::{InternetAddress, Primitive, PrimitiveNumber};
use headwater_streams::{Access, DeviceOptions, Errno, Fifo, FifoOptions, IoctlTimeout, Result, Stream};
use headwater_terminals::pty;

use crate::common::users::{NOBODY, become_user, is_root, public_place, started};
use crate::common::{child, in_own_process, joined, private_directory, within};
use crate::endpoints::{ask, ask_with, is, next, told};

const PATIENCE: Duration = Duration::from_secs(30);

/// Takes /proc away from this process and those that it forks. False where that is not allowed.
fn leave_proc() -> bool {
    // SAFETY: calls with constant texts that end in a zero; the child has one thread.
    let done = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::umount2(c"/proc".as_ptr(), libc::MNT_DETACH) == 0
    };
    done && !Path::new("/proc/self").exists()
}

/// Runs `body` in a process without /proc.
fn without_proc(body: impl FnOnce() -> Result<()>) {
    if !is_root() {
        return;
    }
    joined(child(|| {
        if !leave_proc() {
            eprintln!("left out: no mount namespace");
            return Ok(());
        }
        body()
    }));
}

fn killed(mut process: Child) {
    process.kill();
    process.wait().expect("wait");
}

/// A process that holds a value until it is killed.
fn holding<T>(make: impl FnOnce() -> Result<T>) -> Child {
    started(|ready| {
        let _made = make()?;
        ready();
        std::thread::sleep(2 * PATIENCE);
        Ok(())
    })
}

#[test]
fn devices_are_opened_and_found_by_other_processes() {
    in_own_process!();
    within(PATIENCE, "devices without /proc".to_owned());
    let directory = private_directory();
    // Too long for the address of a socket.
    let path = directory.path().join("a-name-that-is-long".repeat(8));
    without_proc(|| {
        let options = DeviceOptions::new().directory(&path);
        let echo = options.open("echo")?;
        echo.write(b"back")?;
        assert_eq!(echo.read(&mut [0; 9])?, 4);
        let socket = std::fs::metadata(path.join("echo.0:"))?;
        assert_eq!(socket.permissions().mode() & 0o777, 0o600);
        // The stream of a number, in unrelated processes.
        let holder = holding(|| options.clone().minor(7).open("echo"));
        let same = options.clone().minor(7).open("echo")?;
        same.write(b"x")?;
        assert_eq!(same.read(&mut [0; 9])?, 1);
        killed(holder);
        drop(same);
        // Its partner, which is killed.
        let holder = holding(|| options.clone().minor(7).open("loop"));
        let partner = options.clone().minor(6).open("loop")?;
        partner.write(b"x")?;
        killed(holder);
        assert_eq!(partner.read(&mut [0; 9])?, 0, "the partner's last process was killed");
        drop(partner);
        options.clone().minor(7).open("loop")?;
        // What cannot be done says so.
        let mux = options.open("mux")?;
        let echo = options.open("echo")?;
        let fifo = directory.path().join("fifo");
        Fifo::create(&fifo, 0o600)?;
        for error in [
            mux.links().link(&echo).expect_err("a link needs /proc"),
            FifoOptions::new().nonblocking(true).open(&fifo, Access::Read).expect_err("a FIFO needs /proc"),
        ] {
            assert_eq!(error.errno(), Errno::Noent);
            assert!(error.to_string().contains("mount -t proc"), "{error}");
        }
        Ok(())
    });
}

#[test]
fn pseudo_terminals_and_transports_work() {
    in_own_process!();
    within(PATIENCE, "transports without /proc".to_owned());
    let directory = private_directory();
    without_proc(|| {
        let options = DeviceOptions::new().directory(directory.path());
        headwater_terminals::register()?;
        let master = options.open("ptm")?;
        master.ioctl(pty::UNLOCK, &mut Vec::new(), IoctlTimeout::Usual)?;
        let slave = options.clone().minor(master.minor().expect("a device")).open("pts")?;
        slave.write(b"x")?;
        assert_eq!(master.read(&mut [0; 9])?, 1);
        let bound = |driver: &str, address: &[u8]| -> Result<Stream> {
            let endpoint = options.open(driver)?;
            ask(&endpoint, Primitive::BindReq { address, waiting: 0 });
            next(&endpoint);
            Ok(endpoint)
        };
        let holder = holding(|| bound("ticlts", b"you"));
        let (me, other) = (bound("ticlts", b"me")?, bound("ticlts", b"other")?);
        ask_with(&me, Primitive::UnitdataReq { destination: b"other", options: b"" }, Some(b"x"));
        is(&next(&other), Primitive::UnitdataInd { source: b"me", options: b"" });
        ask_with(&me, Primitive::UnitdataReq { destination: b"you", options: b"" }, Some(b"x"));
        killed(holder);
        let heir = options.open("ticlts")?;
        ask(&heir, Primitive::BindReq { address: b"you", waiting: 0 });
        told(&heir, Primitive::BindAck { address: b"you", waiting: 0 });
        let local = InternetAddress::from(std::net::SocketAddr::from(([127, 0, 0, 1], 0)));
        for driver in ["udp", "inet-udp"] {
            let endpoint = bound(driver, local.bytes())?;
            ask(&endpoint, Primitive::UnbindReq);
            told(&endpoint, Primitive::OkAck { of: PrimitiveNumber::UnbindReq });
        }
        Ok(())
    });
}

#[test]
fn users_of_a_group_share_its_directory() {
    in_own_process!();
    within(PATIENCE, "a group's directory without /proc".to_owned());
    let parent = tempfile::tempdir_in(public_place()).expect("a directory");
    without_proc(|| {
        std::fs::set_permissions(parent.path(), std::fs::Permissions::from_mode(0o755))?;
        let path = parent.path().join("devices");
        std::fs::create_dir(&path)?;
        std::os::unix::fs::chown(&path, None, Some(NOBODY))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o2770))?;
        let options = DeviceOptions::new().directory(&path);
        let _echo = options.clone().minor(3).open("echo")?;
        assert_eq!(std::fs::metadata(path.join("echo.3:"))?.permissions().mode() & 0o777, 0o660);
        joined(child(|| {
            become_user(NOBODY);
            DeviceOptions::new().directory(&path).minor(3).open("echo").map(drop)
        }));
        Ok(())
    });
}
