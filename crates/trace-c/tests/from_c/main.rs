//! Programs in C and C++ have events: each is in the trace once, with its arguments. Skipped where there is no
//! compiler.

mod stacks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_trace::WhenFull;
use headwater_trace::region::{Layout, Region};
use headwater_trace_tools::consumer::{self, Totals};
use headwater_trace_tools::ctf::{Reader, TraceItem};
use headwater_trace_tools::schema::Clock;
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/from_c/program.c");
const HANDLER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/from_c/handler.c");
const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// The languages that the header is for: compiler and options.
const LANGUAGES: [(&str, &[&str]); 2] =
    [("cc", &["-std=c11", "-D_DEFAULT_SOURCE"]), ("c++", &["-std=c++11", "-x", "c++"])];

/// The library's name for the run-time linker.
const SONAME: &str = "libheadwater_trace_c.so.1";

/// The library that Cargo has built, beside this program.
fn library() -> PathBuf {
    let place = std::env::current_exe().expect("an executable").parent().expect("a directory").to_owned();
    assert!(place.join("libheadwater_trace_c.so").exists(), "no library in {}", place.display());
    place
}

/// Compiles a program without a warning. None if there is no such compiler.
fn compiled((compiler, options): (&str, &[&str]), source: &Path, directory: &Path) -> Option<PathBuf> {
    let program = directory.join(compiler);
    let mut command = Command::new(compiler);
    command.arg("-fno-omit-frame-pointer").args(options).args([
        "-O2",
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        "-pthread",
        "-I",
        INCLUDE,
    ]);
    command.arg(source);
    command.arg("-L").arg(library()).args(["-lheadwater_trace_c", "-o"]).arg(&program);
    match command.output() {
        Err(error) => println!("skipped: {compiler}: {error}"),
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return Some(program);
        }
    }
    None
}

/// The events in the program's trace: name and fields as text.
fn played(program: &Path, part: &str, count: u64, logs: &str) -> (Vec<String>, Totals) {
    let (directory, totals) = traced(program, part, count, logs, &[]);
    let mut reader = Reader::open(&[directory.path().join("trace")]).expect("a trace");
    let mut lines = Vec::new();
    while let Some(item) = reader.next().expect("sound") {
        let TraceItem::Record(record) = item else { panic!("nothing is lost") };
        if record.kind.name != "headwater:thread" {
            let fields = record.fields().map(|(name, value)| format!(" {name}={value}"));
            lines.push(record.kind.name.clone() + &fields.collect::<String>());
        }
    }
    (lines, totals)
}

/// Runs a part of the program in a session; the trace is in the directory.
fn traced(program: &Path, part: &str, count: u64, logs: &str, stacks: &[&str]) -> (TempDir, Totals) {
    traced_with(program, part, (count, logs), stacks, false)
}

/// As [`traced`], with copies of the stacks if `are_copied`.
fn traced_with(
    program: &Path,
    part: &str,
    (count, logs): (u64, &str),
    stacks: &[&str],
    are_copied: bool,
) -> (TempDir, Totals) {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let session = directory.path().join("session");
    let clock = Clock { name: "tsc".into(), frequency_hz: 2_000_000_000, offset_s: 0, offset_ticks: 0 };
    let layout = Layout { patterns: vec!["test:*".into()], when_full: WhenFull::Refuse, cpu_bytes: 16 << 20, clock };
    let region = Region::create(&session, &layout).expect("a session");
    region
        .set_stacks(&stacks.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>(), are_copied)
        .expect("short");
    let mut command = Command::new(program);
    // As it is installed: under the name that programs ask for.
    let installed = directory.path().join(SONAME);
    std::os::unix::fs::symlink(library().join("libheadwater_trace_c.so"), &installed).expect("a link");
    command.args([part, &count.to_string()]).env("LD_LIBRARY_PATH", directory.path());
    let status = command.env("HEADWATER_TRACE", &session).env("HEADWATER_TRACE_LOGS", logs).status();
    assert!(status.expect("it runs").success(), "{part}");
    let totals = consumer::recover(region, &directory.path().join("trace"), Vec::new()).expect("the end");
    (directory, totals)
}

#[test]
fn every_type_arrives_with_its_value() {
    let directory = tempfile::tempdir().expect("a directory");
    for language in LANGUAGES {
        let Some(program) = compiled(language, Path::new(SOURCE), directory.path()) else { continue };
        let (lines, _) = played(&program, "fields", 0, "");
        let [short, long, texts] = [126, 2046, 2047].map(|len| "x".repeat(len));
        // A record has 4096 bytes, of which the head has 16.
        let rest = "x".repeat(4096 - 16 - 2048 - 1 - 4);
        assert_eq!(
            lines,
            [
                "test:all a=255 b=-128 c=65535 d=-2147483648 e=0.5 f=-0.25 g=\"grün\" h=-1",
                "test:bare",
                &format!("test:texts first=\"{texts}\" second=\"{rest}\" behind=6"),
                &format!("test:text text=\"{short}ü\" behind=7"),
                &format!("test:text text=\"{long}\" behind=7"),
                "test:text text=\"\" behind=8",
                "test:text text=\"(null)\" behind=9",
            ]
        );
    }
}

#[test]
fn a_first_event_may_stand_in_a_signal_handler_which_allocates_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compiled(LANGUAGES[0], Path::new(HANDLER), directory.path()) else { return };
    for logs in ["", "thread"] {
        let (lines, totals) = played(&program, "handler", 100, logs);
        let expected = (0..100).map(|number| format!("test:first number={number} text=\"in a handler\""));
        assert!(lines.iter().cloned().eq(expected), "{lines:?}");
        assert_eq!((totals.written, totals.lost), (2 * 100, 0));
        // Each thread's name and its event, and at least the files of the program, the two libraries and the kernel.
        let (_, totals) = traced(&program, "handler", 100, logs, &["*"]);
        assert!(totals.written >= 2 * 100 + 4 && totals.lost == 0, "{totals:?}");
    }
}

#[test]
fn the_header_s_example_compiles() {
    let header = std::fs::read_to_string(format!("{INCLUDE}/headwater/trace.h")).expect("it is there");
    let mut lines = header.lines().filter_map(|line| line.strip_prefix(" *     "));
    let (declaration, call) = (lines.next().expect("a declaration"), lines.next().expect("a call"));
    let directory = tempfile::tempdir().expect("a directory");
    let source = directory.path().join("example.c");
    let text = format!("#include <headwater/trace.h>\n{declaration}\nint main(void) {{\n{call}\nreturn 0;\n}}\n");
    std::fs::write(&source, text).expect("room");
    for language in LANGUAGES {
        compiled(language, &source, directory.path());
    }
}

#[test]
fn the_library_gives_what_the_header_declares_and_nothing_else() {
    let library = library().join("libheadwater_trace_c.so");
    let listed = |tool: &str, options: &[&str]| {
        let output = Command::new(tool).args(options).arg(&library).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let header = std::fs::read_to_string(format!("{INCLUDE}/headwater/trace.h")).expect("it is there");
    // A declaration begins a line and ends with a semicolon; what is inline is no symbol.
    let declared = header.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()));
    let declared = declared.filter(|line| line.ends_with(");") && !line.contains("inline"));
    let mut declared: Vec<&str> =
        declared.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next()).collect();
    declared.sort_unstable();
    assert_eq!(declared.len(), 5, "{declared:?}");
    let Some(symbols) = listed("nm", &["-D", "--defined-only"]) else {
        println!("skipped: there is no nm");
        return;
    };
    let mut given: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next_back()).collect();
    given.sort_unstable();
    assert_eq!(given, declared);
    let dynamic = listed("readelf", &["-d"]).expect("it comes with nm");
    assert!(dynamic.contains(&format!("soname: [{SONAME}]")), "{dynamic}");
    let abi = header.lines().find_map(|line| line.strip_prefix("#define HW_TRACE_ABI "));
    assert_eq!(abi.map(|abi| abi.trim_end_matches('u')), SONAME.rsplit('.').next(), "the name has the ABI's number");
}

#[test]
fn threads_and_children_lose_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    for language in LANGUAGES {
        let Some(program) = compiled(language, Path::new(SOURCE), directory.path()) else { continue };
        // A thread's own log has room for some 2000 events, and all threads may use it one after the other.
        for (part, logs, count) in [("threads", "", 20_000), ("fork", "", 20_000), ("threads", "thread", 200)] {
            let (lines, totals) = played(&program, part, count, logs);
            let mut steps: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for line in lines {
                let step = line.strip_prefix("test:step writer=").and_then(|rest| rest.split_once(" number="));
                let (writer, number) = step.unwrap_or_else(|| panic!("{line}"));
                steps.entry(writer.parse().expect("a number")).or_default().push(number.parse().expect("a number"));
            }
            assert!(steps.keys().copied().eq(0..8), "{part} {logs}");
            assert!(steps.values().all(|numbers| numbers.iter().copied().eq(0..count)), "{part} {logs}");
            assert_eq!((totals.written, totals.lost), (8 * count + 8, 0), "and one record says who each thread is");
        }
    }
}

#[test]
fn a_session_that_is_left_gets_nothing_and_a_wrong_name_is_switched_off() {
    let directory = tempfile::tempdir().expect("a directory");
    for language in LANGUAGES {
        let Some(program) = compiled(language, Path::new(SOURCE), directory.path()) else { continue };
        let (lines, _) = played(&program, "leave", 0, "");
        assert_eq!(lines, ["test:twice number=1", "test:twice number=3"]);
    }
}
