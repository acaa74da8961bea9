//! Where the table of autopush is kept: a file in the directory of devices, which is replaced whole.
//!
//! The owner of the directory changes it, as the administrator does in SVR4; every process that may use the directory reads it. A
//! lock file gives those that change it turns; the kernel takes its lock from a process that is killed.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use headwater_os::clock::now_ns;
use headwater_os::files::{self, Status};
use headwater_os::{ofd_lock, replaced_file};
use headwater_shm::probe;

use crate::error::{Errno, Error, Result, fixed};

pub(crate) mod table;

use table::Table;

/// No name of a driver begins with a '.'.
const FILE: &str = ".autopush";
const NEW_FILE: &str = ".autopush.new";
const LOCK: &str = ".autopush.lock";

/// How long a change waits for others that are under way, each of which takes well below a millisecond, and how long between two looks.
const FOR_TURN: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

const GROUP: u32 = 0o070;
const OTHERS_WRITE: u32 = 0o022;

/// Reads the table of a directory of devices, which was checked; an empty one if there is none.
///
/// Errors: `EACCES` for a file that the directory's owner has not made, or that others may write; `EPROTO` for another content;
/// what open(2) reports, `ELOOP` for a symbolic link.
pub(crate) fn read(directory: BorrowedFd<'_>) -> Result<Table> {
    match replaced_file::read_at(directory, FILE, Table::LEN_MAX).map_err(|error| told(error.into()))? {
        None => Ok(Table::default()),
        Some((status, bytes)) => {
            check_owner(&files::status(directory)?, &status)?;
            Table::of(&bytes).map_err(told)
        }
    }
}

/// Changes the table.
///
/// Errors: `EPERM` unless the process acts as the directory's owner; `EBUSY` if others that change it do not come to an end; those of
/// [`read`] and of `change`.
pub(crate) fn change<T>(directory: BorrowedFd<'_>, change: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
    let status = files::status(directory)?;
    if files::own_user() != status.owner {
        let owner = status.owner;
        let why = format!("autopush is configured by the owner of the directory of devices, user {owner}");
        return Err(Error::new(Errno::Perm, why));
    }
    let lock = files::open_or_make_at(directory, LOCK, 0o600).map_err(|error| told(error.into()))?;
    check_owner(&status, &files::status(&lock)?)?;
    wait_for_turn(&lock)?;
    probe::at();
    let mut table = read(directory)?;
    let changed = change(&mut table)?;
    probe::at();
    // Members of the directory's group read it.
    let mode = if status.permissions & GROUP == 0 { 0o600 } else { 0o640 };
    let written = replaced_file::write_new_at(directory, NEW_FILE, table.text().as_bytes(), mode);
    probe::at();
    let replaced = written.and_then(|()| replaced_file::rename_at(directory, NEW_FILE, FILE));
    probe::at();
    replaced.map_err(|error| told(error.into()))?;
    Ok(changed)
}

fn wait_for_turn(lock: impl AsFd) -> Result<()> {
    let until_ns = now_ns() + FOR_TURN.as_nanos() as u64;
    while !ofd_lock::mark(&lock, 0, 1)? {
        if now_ns() >= until_ns {
            return Err(fixed!(Busy, "another process is configuring autopush, and does not come to an end"));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

/// Whether a file of the directory can only have been written by the owner of the directory, or root.
fn check_owner(directory: &Status, file: &Status) -> Result<()> {
    let why = if file.owner != directory.owner && file.owner != 0 {
        format!("it belongs to user {}", file.owner)
    } else if file.permissions & OTHERS_WRITE != 0 {
        format!("its permissions {:o} let others write it", file.permissions)
    } else {
        return Ok(());
    };
    Err(told(Error::new(Errno::Acces, why)))
}

fn told(error: Error) -> Error {
    Error::new(error.errno(), format!("the table of autopush, {FILE} in the directory of devices: {error}"))
}
