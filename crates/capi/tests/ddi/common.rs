//! Builds the modules, and drives `ctest`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use headwater::ddi::exports;
use headwater_streams::{Events, IoctlTimeout, Result, Stream};

/// Makes streams search unknown names, as the C library does before it opens its first stream: these tests open streams
/// without the C library. It runs at the start, because the tests' processes fork and start others.
#[used]
#[unsafe(link_section = ".init_array")]
static INSTALL: extern "C" fn() = install;

extern "C" fn install() {
    headwater::ddi::load::install();
}

pub const REVERSE: u32 = 0x7401;
pub const REFUSE: u32 = 0x7402;
pub const TIMEOUT: u32 = 0x7403;
pub const QTIMEOUT: u32 = 0x7404;
pub const BUFCALL: u32 = 0x7405;
pub const UNTIMEOUT: u32 = 0x7406;
pub const SHARED: u32 = 0x7407;
pub const LOCAL: u32 = 0x7408;
pub const COPY: u32 = 0x7409;
pub const SPIN: u32 = 0x740a;
pub const BADTYPE: u32 = 0x740b;
pub const HIWAT: u32 = 0x740c;
pub const REORDER: u32 = 0x740d;
pub const HOLD: u32 = 0x740e;
pub const GO: u32 = 0x740f;
pub const CHECK: u32 = 0x7410;

pub const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a module.
pub fn compile(source: &Path, object: &Path, flags: &[&str]) {
    let include = root().join("crates/capi/include");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]).args(flags);
    let done = cc.arg("-I").arg(include).arg("-o").arg(object).arg(source).status().expect("cc");
    assert!(done.success(), "{} does not compile", source.display());
}

/// Prepares a directory that only this user can write, with the modules, and the variable that names it. The guard lets
/// one test run at a time: a forked child has copies of the descriptors of all tests, and modules belong to the
/// process.
pub fn prepare() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The functions that the modules call are kept in the program.
    assert!(std::hint::black_box(exports::all()).len() > 60);
    directory();
    alone
}

pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    static SET: Once = Once::new();
    let directory = DIRECTORY.get_or_init(|| {
        if let Some(inherited) = std::env::var_os("HEADWATER_MODULES") {
            return PathBuf::from(inherited);
        }
        let directory = tempfile::tempdir().expect("a directory").keep();
        let examples = root().join("examples/c-module");
        for (source, name) in [
            (examples.join("upper.c"), "upper.so"),
            (examples.join("rot.c"), "rot.so"),
            (root().join("crates/capi/tests/ddi/ctest.c"), "ctest.so"),
            (root().join("crates/capi/tests/ddi/relay.c"), "relay.so"),
        ] {
            compile(&source, &directory.join(name), &[]);
        }
        directory
    });
    SET.call_once(|| {
        // SAFETY: all tests wait in `call_once`, so no other thread reads the environment yet.
        unsafe { std::env::set_var("HEADWATER_MODULES", directory) };
    });
    directory
}

/// Makes an I_STR on a stream with `ctest`. Returns the value and the data of the answer.
pub fn ask(stream: &Stream, command: u32, data: &[u8]) -> Result<(i32, Vec<u8>)> {
    let mut data = data.to_vec();
    let value = stream.ioctl(command, &mut data, IoctlTimeout::from_seconds(10)?)?;
    Ok((value, data))
}

/// Returns what can be read from a stream within the time; an empty string if nothing.
pub fn read_within(stream: &Stream, time: Duration) -> String {
    let until = Instant::now() + time;
    let mut buffer = [0; 4096];
    while Instant::now() < until {
        if stream.poll(Events::IN, Some(Duration::from_millis(50))).expect("poll").contains(Events::IN) {
            let count = stream.read(&mut buffer).expect("there");
            return String::from_utf8_lossy(&buffer[..count]).into_owned();
        }
    }
    String::new()
}

/// Returns the value of a variable in a loaded module.
pub fn variable(object: &str, name: &str) -> i32 {
    let path = std::ffi::CString::new(directory().join(object).to_str().expect("text")).expect("no zero");
    let name = std::ffi::CString::new(name).expect("no zero");
    // SAFETY: `path` and `name` are strings; `name` is an int of the module, which one thread changes at a time.
    unsafe {
        let object = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        let found = libc::dlsym(object, name.as_ptr()).cast::<i32>();
        assert!(!found.is_null(), "there is no {name:?}");
        found.read_volatile()
    }
}
