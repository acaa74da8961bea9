//! The conformance suite. It makes the library once, compiles each C program of `conformance/`, and runs it with a time
//! limit. A program prints each check that failed, and its exit status is how many failed.
//!
//! Each program runs linked with the library and preloaded with it, and some run in both ways at once. `--ignored
//! sanitized` runs the programs with AddressSanitizer. The library is a debug build (made/mod.rs).
//! `HEADWATER_CAPI_PROFILE=clib` tests the library that is installed, as `cargo xtask ci` does in its step `c-library`.

mod made;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The time limit of a program: enough for the longest one on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(400);

const SANITIZE: [&str; 2] = ["-fsanitize=address", "-fno-omit-frame-pointer"];

#[derive(Debug, Clone, Copy)]
enum Mode {
    Linked,
    Preloaded,
    /// Linked with the library, which is also preloaded.
    Both,
    Sanitized,
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Makes the library, once for all tests of this program. Returns the directory of the library.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| made::make(&["all"]))
}

/// Makes a library to link a program with that is meant to run with the preloaded one. All calls of this library fail.
fn unlinked() -> &'static Path {
    static UNLINKED: OnceLock<PathBuf> = OnceLock::new();
    UNLINKED.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libunlinked.so");
        let source = package().join("tests/conformance/unlinked/calls.c");
        let made =
            Command::new("cc").args(["-shared", "-fPIC", "-Wall", "-o"]).arg(&path).arg(source).output().expect("cc");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        path
    })
}

/// Compiles the source of a program, once for all modes, which wait for it. Returns the path of the object file.
fn object(name: &str, is_sanitized: bool) -> PathBuf {
    static OBJECTS: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let file = format!("{name}{}.o", if is_sanitized { "-sanitized" } else { "" });
    let object = Arc::clone(OBJECTS.lock().expect("no test panics with it").entry(file.clone()).or_default());
    let compile = || {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
        let mut compiler = Command::new("cc");
        compiler
            .args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
            .arg(package().join("include"))
            .arg("-c")
            .arg(package().join(format!("tests/conformance/{name}.c")))
            .arg("-o")
            .arg(&path);
        if is_sanitized {
            compiler.args(SANITIZE);
        }
        let output = compiler.output().expect("cc");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        path
    };
    object.get_or_init(compile).clone()
}

/// Links a program of the suite. Returns its path.
fn linked(name: &str, mode: Mode) -> PathBuf {
    let library = library();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{mode:?}"));
    let is_sanitized = matches!(mode, Mode::Sanitized);
    let mut compiler = Command::new("cc");
    compiler.arg("-pthread").arg(object(name, is_sanitized)).arg("-o").arg(&program);
    if name == "modules" {
        // The functions of the program are visible to modules that are loaded.
        compiler.arg("-rdynamic");
    }
    match mode {
        Mode::Preloaded => compiler.arg(unlinked()).arg(format!("-Wl,-rpath,{}", env!("CARGO_TARGET_TMPDIR"))),
        Mode::Linked | Mode::Both | Mode::Sanitized => {
            compiler.arg("-L").arg(library).arg("-lheadwater").arg(format!("-Wl,-rpath,{}", library.display()))
        }
    };
    if is_sanitized {
        compiler.args(SANITIZE);
    }
    let output = compiler.output().expect("cc");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Compiles the examples of modules in C.
fn compile_modules(to: &Path) {
    for module in ["upper", "rot"] {
        let source = package().join(format!("../../examples/c-module/{module}.c"));
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-I"]).arg(package().join("include")).arg("-o");
        let output = compiler.arg(to.join(format!("{module}.so"))).arg(source).output().expect("cc");
        assert!(output.status.success(), "{module}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn run(name: &str, mode: Mode) {
    let program = linked(name, mode);
    // Only the owner may use the directory, whatever the umask is: the library refuses any other.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    let devices = tempfile::Builder::new().permissions(private).tempdir().expect("a directory");
    // The output goes to a file, because a process that a test leaves behind would keep a pipe open.
    let log = devices.path().join("output");
    let output = File::create(&log).expect("a file");
    if name == "modules" {
        compile_modules(devices.path());
    }
    let mut command = Command::new(program);
    command
        .env("HEADWATER_MODULES", devices.path())
        .env("HEADWATER_RUNTIME_DIR", devices.path())
        .env_remove("HEADWATER_FIFO")
        .env_remove("HEADWATER_PIPE")
        .env_remove("HEADWATER_ATTACH")
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("a descriptor"))
        .stderr(output);
    // On a busy machine a rate says nothing about the library, so rates are measured only if the variable asks for it.
    if std::env::var_os("HEADWATER_CYCLES_MIN").is_none() {
        command.env("HEADWATER_CYCLES_MIN", "0");
    }
    match mode {
        Mode::Preloaded => {
            command
                .env("LD_PRELOAD", library().join("libheadwater.so"))
                .envs([("HEADWATER_PIPE", "1"), ("HEADWATER_ATTACH", "1")]);
        }
        Mode::Both => {
            command.env("LD_PRELOAD", library().join("libheadwater.so"));
        }
        // A program whose children are killed would report leaks, and sleeps of several seconds take longer.
        Mode::Sanitized => {
            command.env("ASAN_OPTIONS", "detect_leaks=0:allow_user_segv_handler=1").env("HEADWATER_CYCLES_MIN", "0");
        }
        Mode::Linked => {}
    }
    let mut child = command.spawn().expect("the program");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("wait") {
            break status;
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill().expect("kill");
            child.wait().expect("wait");
            panic!("{name}: not ended after {TIME_LIMIT:?}\n{}", fs::read_to_string(&log).expect("output"));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let output = String::from_utf8_lossy(&fs::read(&log).expect("output")).into_owned();
    println!("{output}");
    assert!(status.success(), "{name}: {status}\n{output}");
    // A program whose table of checks is empty would succeed.
    let checks = output.lines().rev().find_map(|line| line.strip_suffix(" checks, 0 failed")?.parse::<u32>().ok());
    assert!(checks.is_some_and(|checks| checks >= 10), "{name} has made no checks:\n{output}");
}

macro_rules! programs {
    ($($name:ident),+ $(,)?) => {
        const PROGRAMS: &[&str] = &[$(stringify!($name)),+];

        mod linked {
            $(#[test] fn $name() { super::run(stringify!($name), super::Mode::Linked); })+
        }

        mod preloaded {
            $(#[test] fn $name() { super::run(stringify!($name), super::Mode::Preloaded); })+
        }

        mod sanitized {
            $(#[test]
            #[ignore = "needs libasan, and takes twice as long"]
            fn $name() { super::run(stringify!($name), super::Mode::Sanitized); })+
        }
    };
}

programs! {
    attach, beside, bynumber, clones, descriptors, epoll, events, fault, fifo, handles, interrupts, ioctls, limits, links, matrix, messages, modes, modules,
    passing, points,
    processes, readiness, requests, stdio, terminals, threads, waits, xti_errors, xti_internet, xti_use,
}

/// Programs that make pipes and attach streams to names.
mod linked_and_preloaded {
    #[test]
    fn attach() {
        super::run("attach", super::Mode::Both);
    }

    #[test]
    fn points() {
        super::run("points", super::Mode::Both);
    }
}

#[test]
fn every_program_has_a_test() {
    let mut files: Vec<String> = fs::read_dir(package().join("tests/conformance"))
        .expect("the programs")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".c")?.to_owned()))
        .collect();
    files.sort();
    assert_eq!(files, PROGRAMS);
}
