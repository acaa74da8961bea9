//! Makes modules and drivers in C known: by their streamtab, by the path of a shared object, or by a name that a stream
//! has.
//!
//! Streams come from other processes, and so do the names of their modules. So a file is loaded by a name only if no
//! user but this process's and root can have put it there: see `search`. Which of the installed modules is loaded is
//! the stream's choice.

use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use headwater_streams::limits::INSTANCE_MAX;
use headwater_streams::{Errno, register, register_driver, set_module_resolver};

use super::bridge::{CDriver, CModule};
use super::instance::Definition;
use super::types::{CModuleInfo, D_DEVICE, Streamtab};

/// The longest name in bytes of a module that is searched (SVR4's FMNAMESZ).
pub const NAME_MAX: usize = 8;

/// The environment variable with directories of modules, separated by colons.
const VARIABLE: &str = "HEADWATER_MODULES";
/// The directory where modules are installed.
const DEFAULT: &str = match option_env!("HEADWATER_MODULES_DIR") {
    Some(directory) => directory,
    None => "/usr/local/lib/headwater/modules",
};

/// Why nothing was loaded: an errno.
type Failure = c_int;

static SEARCHES: AtomicBool = AtomicBool::new(true);

thread_local! {
    static IS_LOADING: Cell<bool> = const { Cell::new(false) };
}

/// Makes streams search unknown names from now on. Called before the first stream is opened; a second call does no
/// harm.
pub fn install() {
    set_module_resolver(resolve);
}

/// Turns the search on or off (hw_module_search).
pub fn set_search(is_on: bool) {
    SEARCHES.store(is_on, Ordering::Relaxed);
}

/// Searches a module that a stream has named and this process does not know. Returns whether it was found.
fn resolve(name: &str) -> bool {
    if !SEARCHES.load(Ordering::Relaxed) || IS_LOADING.replace(true) {
        return false;
    }
    let found = search(name).is_some();
    IS_LOADING.set(false);
    found
}

/// Returns whether a module with this name is searched: 1 to 8 of the characters a to z, 0 to 9 and _.
pub fn is_searched(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(fits)
}

/// Loads `NAME.so` from the first directory that has it. Only absolute paths are searched. The file and all directories
/// of its path must belong to root or to the process's effective user, and other users must not be able to write to
/// them. A process with more rights than its caller ignores the variable.
fn search(name: &str) -> Option<()> {
    if !is_searched(name) {
        return None;
    }
    let directory = directories().into_iter().find(|directory| directory.join(format!("{name}.so")).exists())?;
    let file = open_trusted(&directory, &format!("{name}.so")).ok()?;
    load(&file, Some(name)).ok()
}

fn directories() -> Vec<PathBuf> {
    // SAFETY: getauxval takes no pointer, and reads what the kernel has told this process at its start.
    let is_secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let listed = if is_secure { None } else { std::env::var_os(VARIABLE) };
    let mut found: Vec<PathBuf> = listed.iter().flat_map(std::env::split_paths).collect();
    found.push(PathBuf::from(DEFAULT));
    found.retain(|directory| directory.is_absolute());
    found
}

/// Returns whether only root and this process's user can change a file or directory. A directory may have the sticky
/// bit instead: other users can then not rename or remove files of its owner.
fn is_trusted(metadata: &std::fs::Metadata, may_be_sticky: bool) -> bool {
    // SAFETY: geteuid takes no argument and cannot fail.
    let own = unsafe { libc::geteuid() };
    let is_owned = metadata.uid() == 0 || metadata.uid() == own;
    let is_closed = metadata.mode() & 0o022 == 0;
    is_owned && (is_closed || may_be_sticky && metadata.mode() & 0o1000 != 0)
}

/// Opens a file of a directory, if no other user can have put it there.
fn open_trusted(directory: &Path, name: &str) -> Result<File, Failure> {
    let directory = directory.canonicalize().map_err(|error| errno_of(&error))?;
    for (above, parent) in directory.ancestors().enumerate() {
        let metadata = parent.symlink_metadata().map_err(|error| errno_of(&error))?;
        if !metadata.is_dir() || !is_trusted(&metadata, above > 0) {
            return Err(libc::EPERM);
        }
    }
    let mut options = OpenOptions::new();
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.read(true).custom_flags(flags).open(directory.join(name)).map_err(|error| errno_of(&error))?;
    let metadata = file.metadata().map_err(|error| errno_of(&error))?;
    if metadata.is_file() && is_trusted(&metadata, false) { Ok(file) } else { Err(libc::EPERM) }
}

fn errno_of(error: &std::io::Error) -> Failure {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// Loads a file that the program names (hw_module_load). Nothing is checked but what dlopen(3) checks.
pub fn load_path(path: &CStr) -> Result<(), Failure> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let name = path.file_stem().and_then(OsStr::to_str).filter(|name| is_searched(name)).ok_or(libc::EINVAL)?;
    let file = File::open(path).map_err(|error| errno_of(&error))?;
    load(&file, Some(name))
}

/// Loads an open file and registers its module. The file is open so that the loaded file is the one that was checked.
fn load(file: &File, name: Option<&str>) -> Result<(), Failure> {
    let path = CString::new(path_of(file.as_raw_fd())).map_err(|_| libc::EINVAL)?;
    // SAFETY: `path` is a string with a NUL. The code of the file runs with the trust that its place or the program
    // gives it.
    let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if object.is_null() {
        return Err(libc::ENOEXEC);
    }
    let prefixed = |what: &str| {
        let by_name = name.map(|name| symbol(object, &format!("{name}{what}")));
        by_name.filter(|found| !found.is_null())
    };
    let tab = prefixed("info").unwrap_or_else(|| symbol(object, "hw_streamtab"));
    let flag: *const c_int = prefixed("devflag").unwrap_or_else(|| symbol(object, "hw_devflag")).cast();
    let shared: *const usize = prefixed("shared").unwrap_or_else(|| symbol(object, "hw_shared")).cast();
    // SAFETY: strmod(9) says which types the symbols of these names have, and the object stays loaded.
    let registered = unsafe {
        let flag = flag.as_ref().copied().unwrap_or(0);
        let shared = shared.as_ref().copied().unwrap_or(0);
        register_tab(tab.cast::<Streamtab>(), flag, shared, name)
    };
    if registered.is_err() {
        // SAFETY: nothing of the object was registered, so nothing is in use.
        unsafe { libc::dlclose(object) };
    }
    registered
}

/// Returns a path of an open file that was never returned before. dlopen(3) takes a known path for the object that it
/// has loaded from there. So the path encodes how many loads there were before, in slashes and dots that change
/// nothing.
fn path_of(fd: RawFd) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let mut number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let mut path = String::from("/proc/self");
    while number > 0 {
        path += if number % 2 == 1 { "/." } else { "/" };
        number /= 2;
    }
    path + &format!("/fd/{fd}")
}

fn symbol(object: *mut c_void, name: &str) -> *mut c_void {
    let Ok(name) = CString::new(name) else { return ptr::null_mut() };
    // SAFETY: the object is loaded, and `name` is a string with a NUL.
    unsafe { libc::dlsym(object, name.as_ptr()) }
}

/// Registers a streamtab. If `expected` is given, the module must have that name.
///
/// # Safety
/// `tab` is null or a streamtab, which stays where it is and is not changed.
pub unsafe fn register_tab(
    tab: *const Streamtab,
    devflag: c_int,
    shared: usize,
    expected: Option<&str>,
) -> Result<(), Failure> {
    // SAFETY: the caller promises that `tab` is null or a streamtab that stays where it is.
    let definition = unsafe { definition(tab, devflag, shared)? };
    if expected.is_some_and(|expected| expected != definition.name) {
        return Err(libc::ENOEXEC);
    }
    let definition: &'static Definition = Box::leak(Box::new(definition));
    let done = if definition.is_driver { register_driver(CDriver(definition)) } else { register(CModule(definition)) };
    match done {
        // The module is known already; another thread may have loaded it at the same time.
        Err(error) if error.errno() == Errno::Busy && expected.is_some() => Ok(()),
        Err(error) => Err(error.errno().number()),
        Ok(()) => Ok(()),
    }
}

/// # Safety
/// `tab` is null or a streamtab, which stays where it is and is not changed.
unsafe fn definition(tab: *const Streamtab, devflag: c_int, shared: usize) -> Result<Definition, Failure> {
    // SAFETY: the caller promises that `tab` is null or a streamtab, whose parts are null or structures of C.
    unsafe {
        let tab = tab.as_ref().ok_or(libc::ENOEXEC)?;
        let (Some(read), Some(write)) = (tab.read.as_ref(), tab.write.as_ref()) else { return Err(libc::EINVAL) };
        if !tab.lower_read.is_null() || !tab.lower_write.is_null() || shared > INSTANCE_MAX {
            return Err(libc::EINVAL);
        }
        let info: &CModuleInfo = read.info.as_ref().or(write.info.as_ref()).ok_or(libc::EINVAL)?;
        let write_info: &CModuleInfo = write.info.as_ref().unwrap_or(info);
        let name = name_of(info.name)?;
        let size = |size: isize| u32::try_from(size).unwrap_or(0);
        let hiwat = u32::try_from(write_info.hiwat).unwrap_or(u32::MAX).max(1);
        let lowat = u32::try_from(write_info.lowat).unwrap_or(u32::MAX).min(hiwat);
        let (minpsz, maxpsz) = (size(write_info.minpsz), size(write_info.maxpsz));
        Ok(Definition {
            name: Box::leak(name.into_boxed_str()),
            read: tab.read,
            write: tab.write,
            is_driver: devflag & D_DEVICE != 0,
            shared,
            services: [read.service.is_some(), write.service.is_some()],
            hiwat,
            lowat,
            minpsz: if maxpsz == 0 { minpsz } else { minpsz.min(maxpsz) },
            maxpsz,
        })
    }
}

/// # Safety
/// `name` is null or a string.
unsafe fn name_of(name: *const c_char) -> Result<String, Failure> {
    if name.is_null() {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller promises that `name` is null or a string, and it is not null.
    let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| libc::EINVAL)?;
    if is_searched(name) { Ok(name.to_owned()) } else { Err(libc::EINVAL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_path_characters_are_not_searched() {
        for name in ["upper", "a", "a_b", "x25", "12345678"] {
            assert!(is_searched(name), "{name}");
        }
        for name in ["", ".", "..", "../x", "a/b", "/abs", "Upper", "123456789", "a.so", "a-b", "ä", "a\0b", "a b"] {
            assert!(!is_searched(name), "{name:?}");
        }
    }
}
