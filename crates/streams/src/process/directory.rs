//! The directory in which devices are found by name.
//!
//! For each driver it has a file whose bytes are locked, one for each minor number that is open, and a socket for each of these
//! streams. It belongs to one user, or to a group that an administrator chose by making a directory for it. What is in it is
//! reached through a descriptor of it, so it cannot be exchanged after it was checked.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use headwater_os::abstract_socket::Listener;
use headwater_os::environment;
use headwater_os::file_facts;
use headwater_os::files::{self, Status};
use headwater_os::notice::Notice;

use crate::error::{Errno, Error, Result};
use crate::message::link::MuxId;

/// The variable that names another directory.
const VARIABLE: &str = "HEADWATER_RUNTIME_DIR";

const ALL: u32 = 0o7;
const GROUP: u32 = 0o70;

/// A directory that was checked.
#[derive(Debug)]
pub(crate) struct Directory {
    fd: OwnedFd,
    /// For messages.
    path: PathBuf,
    /// Whether its group may use it.
    is_shared: bool,
}

impl Directory {
    /// A directory that was asked for, or the user's own. It is made, for this user alone, if it is not there.
    ///
    /// Errors: `EACCES` for one that others than its owner, or than its group if it was asked for, may use, or that is another
    /// user's; what mkdir(2) and open(2) report.
    pub fn open(asked: Option<&Path>) -> Result<Directory> {
        match place(asked) {
            Place::Chosen { path, may_be_shared } => Directory::make(path, may_be_shared),
            Place::Fallback { shared, own } => Directory::open_fallback(shared, own),
        }
    }

    fn make(path: PathBuf, may_be_shared: bool) -> Result<Directory> {
        files::make_private_directory(&path).map_err(|error| told(&path, error.into()))?;
        Directory::open_existing(path, may_be_shared)
    }

    fn open_existing(path: PathBuf, may_be_shared: bool) -> Result<Directory> {
        let told = |error: std::io::Error| told(&path, error.into());
        let fd = files::find_directory(&path).map_err(told)?;
        let status = files::status(&fd).map_err(told)?;
        Directory::checked(fd, path, may_be_shared, status)
    }

    /// One of the two fallbacks. A directory that is there goes before one that would have to be made, so that all processes of the user
    /// come to the same.
    fn open_fallback(shared: PathBuf, own: Option<PathBuf>) -> Result<Directory> {
        let Some(own) = own else { return Directory::make(shared, false) };
        let existing = Directory::open_existing(shared.clone(), false);
        let why = match existing {
            Ok(directory) => return Ok(directory),
            Err(error) if error.errno() == Errno::Noent => {
                if let Ok(directory) = Directory::open_existing(own.clone(), false) {
                    return Ok(directory);
                }
                match Directory::make(shared, false) {
                    Ok(directory) => return Ok(directory),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        let Ok(directory) = Directory::make(own, false) else { return Err(why) };
        FELL_BACK.give(&format!(
            "{why}. Devices are found in {} instead, and by processes of this user that use it too; {VARIABLE} names one for all",
            directory.path.display()
        ));
        Ok(directory)
    }

    /// As [`Directory::open`], but it is not made. None if it is not there, cannot be reached, or is another user's: nothing in it is
    /// then of this one.
    pub fn find(asked: Option<&Path>) -> Result<Option<Directory>> {
        let (path, may_be_shared) = match place(asked) {
            Place::Chosen { path, may_be_shared } => (path, may_be_shared),
            Place::Fallback { shared, own } => {
                let safe = [Some(&shared), own.as_ref()].into_iter().flatten();
                let found = safe.map(|path| Directory::open_existing(path.clone(), false)).find_map(Result::ok);
                if found.is_some() || own.is_some() {
                    return Ok(found);
                }
                (shared, false)
            }
        };
        let Ok(fd) = files::find_directory(&path) else { return Ok(None) };
        let status = files::status(&fd).map_err(|error| told(&path, error.into()))?;
        if status.owner != files::own_user() && status.owner != 0 {
            return Ok(None);
        }
        Directory::checked(fd, path, may_be_shared, status).map(Some)
    }

    fn checked(fd: OwnedFd, path: PathBuf, may_be_shared: bool, status: Status) -> Result<Directory> {
        let Status { owner, permissions, .. } = status;
        let own = files::own_user();
        let is_shared = permissions & GROUP != 0;
        let why = if owner != own && owner != 0 {
            format!("it belongs to user {owner}")
        } else if permissions & ALL != 0 || is_shared && !may_be_shared {
            format!("its permissions {permissions:o} let others use it")
        } else {
            return Ok(Directory { fd, path, is_shared });
        };
        let what = format!("the directory of devices, {}, is not safe: {why}", path.display());
        Err(Error::new(Errno::Acces, format!("{what} ({VARIABLE} names another)")))
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The same, for who opens files in it.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// The file of a driver, whose bytes stand for its minor numbers: another open file description with each call.
    pub fn table(&self, driver: &str) -> Result<OwnedFd> {
        files::open_or_make_at(&self.fd, driver, self.mode()).map_err(|error| self.told(error))
    }

    /// Whether an open file is that of a driver.
    pub fn is_table(&self, driver: &str, file: &OwnedFd) -> Result<bool> {
        let Some(table) = files::status_at(&self.fd, driver)? else { return Ok(false) };
        let status = files::status(file)?;
        Ok(file_facts::is_read_write(file)? && [status.device, status.number] == [table.device, table.number])
    }

    /// Removes what a process that was killed has left of a socket. For one that has locked the minor number.
    pub fn remove_socket(&self, node: &str) -> Result<()> {
        Ok(files::remove_at(&self.fd, node)?)
    }

    /// Listens at a socket, to which users of the directory may connect.
    pub fn listen(&self, node: &str) -> Result<Listener> {
        Listener::bind_in(self.fd.as_fd(), node, self.mode()).map_err(|error| self.told(error))
    }

    /// An error that something in the directory has made: it names the directory.
    pub fn told(&self, error: impl Into<Error>) -> Error {
        told(&self.path, error.into())
    }

    /// The permissions of what is made in it.
    pub fn mode(&self) -> u32 {
        if self.is_shared { 0o660 } else { 0o600 }
    }
}

fn told(path: &Path, error: Error) -> Error {
    Error::new(error.errno(), format!("the directory of devices, {}: {error}", path.display()))
}

/// The name of a stream's socket. A driver's name has no '/'; and the file of one whose name has a '.' is no socket.
pub(crate) fn node(driver: &str, minor: u32) -> String {
    format!("{driver}.{minor}:")
}

/// The name of the socket of a stream that is linked below another.
pub(crate) fn link_node(driver: &str, minor: u32, id: MuxId) -> String {
    format!("{driver}.{minor}:{}", id.number())
}

/// Which directory it is.
enum Place {
    /// The one that was asked for, or that the environment or the session names.
    Chosen { path: PathBuf, may_be_shared: bool },
    /// No directory is named. In the directory for temporary files any user can make one of that name first; in the user's own no other
    /// user can.
    Fallback { shared: PathBuf, own: Option<PathBuf> },
}

/// The first fallback was not safe.
static FELL_BACK: Notice = Notice::new();

fn place(asked: Option<&Path>) -> Place {
    let named = |name: &str| environment::trusted(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(path) = asked.map(Path::to_owned).or_else(|| named(VARIABLE)) {
        return Place::Chosen { path, may_be_shared: true };
    }
    let user = files::own_user();
    let of_session = named("XDG_RUNTIME_DIR")
        .or_else(|| Some(format!("/run/user/{user}").into()).filter(|path: &PathBuf| path.is_dir()));
    match of_session {
        Some(path) => Place::Chosen { path: path.join("headwater"), may_be_shared: false },
        None => Place::Fallback {
            shared: std::env::temp_dir().join(format!("headwater-{user}")),
            own: named("HOME").filter(|home| home.is_dir()).map(|home| home.join(".headwater")),
        },
    }
}
