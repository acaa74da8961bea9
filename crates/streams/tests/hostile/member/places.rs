//! The names of a campaign's streams, and the process that has some which are not the victim's.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use headwater_os::child::Child;
use headwater_streams::tpi::{Primitive, State};
use headwater_streams::{DeviceOptions, Result, Stream};

use crate::common::users;

/// A FIFO that every user may open, a file to attach streams to, and a directory of devices.
#[derive(Debug)]
pub struct Places {
    directory: tempfile::TempDir,
    fifo: PathBuf,
    node: PathBuf,
    devices: PathBuf,
    /// The minor number of the holder's devices.
    pub foreign_minor: u32,
}

impl Places {
    pub fn new() -> Places {
        let (directory, fifo) = users::fifo(0o666);
        let (node, devices) = (directory.path().join("node"), directory.path().join("devices"));
        std::fs::write(&node, "plain").expect("create");
        std::fs::create_dir(&devices).expect("create");
        std::fs::set_permissions(&devices, Permissions::from_mode(0o700)).expect("own");
        Places { directory, fifo, node, devices, foreign_minor: 0 }
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn fifo(&self) -> &Path {
        &self.fifo
    }

    pub fn node(&self) -> &Path {
        &self.node
    }

    pub fn devices(&self) -> &Path {
        &self.devices
    }

    /// What the victim says of its panic.
    pub fn report(&self) -> PathBuf {
        self.directory().join("panic")
    }

    /// The sockets of the holder's devices.
    pub fn foreign(&self) -> Vec<PathBuf> {
        FOREIGN.iter().map(|driver| self.foreign_socket(driver)).collect()
    }

    /// The one of them to which streams of the same driver send.
    pub fn foreign_endpoint(&self) -> PathBuf {
        self.foreign_socket(ENDPOINT)
    }

    fn foreign_socket(&self, driver: &str) -> PathBuf {
        self.devices.join(format!("{driver}.{}:", self.foreign_minor))
    }

    /// Starts a process that has a device of each driver, which the victim never opens.
    pub fn holder(&self) -> Child {
        users::started(|ready| {
            let _devices = FOREIGN.iter().map(|driver| self.open_foreign(driver)).collect::<Result<Vec<_>>>()?;
            ready();
            // Until it is killed.
            loop {
                std::thread::park();
            }
        })
    }

    fn open_foreign(&self, driver: &str) -> Result<Stream> {
        let options = DeviceOptions::new().directory(&self.devices).minor(self.foreign_minor);
        options.open(driver)
    }

    /// Whether the holder's devices are found by their names, and answer; and nothing has reached its endpoint, which has no address.
    pub fn check_foreign(&self) {
        for path in self.foreign() {
            assert!(path.exists(), "{} was removed", path.display());
        }
        let echo = self.open_foreign("echo").expect("the holder has it open");
        echo.write(b"is it here?").expect("room");
        let mut bytes = [0; 32];
        assert_eq!(echo.read(&mut bytes).expect("it answers"), 11);
        let endpoint = self.open_foreign(ENDPOINT).expect("the holder has it open");
        endpoint.putmsg(Some(&Primitive::InfoReq.encode()), None).expect("room");
        let first = endpoint.receive().expect("it answers").expect("an answer");
        let answer = first.control().map(Primitive::decode);
        assert!(matches!(&answer, Some(Ok(Primitive::InfoAck(info))) if info.state == State::Unbound), "{answer:?}");
    }
}

/// Drivers whose streams are found by number.
const FOREIGN: [&str; 3] = ["echo", ENDPOINT, "mux"];
const ENDPOINT: &str = "ticlts";
