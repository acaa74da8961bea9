//! Checks the man pages of the C libraries: mandoc reports no warning; each call, request, module and driver is
//! described; references name pages that exist. Skipped if mandoc is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater::abi::{HEADERS, STRCONF};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// The folders of man pages.
const FOLDERS: [&str; 2] = ["man", "../trace-c/man"];

/// Pages of the system, of the C library and of the command to which our pages refer.
const OTHERS: [&str; 30] = [
    "recvmsg.2",
    "chmod.2",
    "close.2",
    "dlopen.3",
    "epoll.7",
    "fdopen.3",
    "fork.2",
    "headwater-trace-attach.1",
    "headwater-trace-record.1",
    "headwater-trace-show.1",
    "ioctl.2",
    "mkfifo.3",
    "mmap.2",
    "null.4",
    "open.2",
    "pipe.2",
    "pkg-config.1",
    "poll.2",
    "popen.3",
    "printf.3",
    "pthread_cancel.3",
    "read.2",
    "readv.2",
    "select.2",
    "stat.2",
    "system.3",
    "tcsetattr.3",
    "termios.3",
    "write.2",
    "writev.2",
];

fn pages() -> Vec<PathBuf> {
    let folder = |folder: &str| std::fs::read_dir(Path::new(CRATE).join(folder)).expect("a folder");
    FOLDERS.iter().flat_map(|name| folder(name).map(|entry| entry.expect("an entry").path())).collect()
}

fn name(page: &Path) -> String {
    page.file_name().expect("a name").to_string_lossy().into_owned()
}

fn text(page: &str) -> String {
    std::fs::read_to_string(format!("{CRATE}/man/{page}")).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// Returns whether a page has a word, as a whole word.
fn has(page: &str, word: &str) -> bool {
    page.split(|c: char| !c.is_alphanumeric() && c != '_').any(|other| other == word)
}

#[test]
fn mandoc_reports_no_warning() {
    let mut command = Command::new("mandoc");
    match command.args(["-T", "lint", "-W", "warning"]).args(pages()).output() {
        Err(error) => println!("skipped: mandoc: {error}"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{said}");
        }
    }
}

#[test]
fn every_function_of_the_headers_has_a_page_that_names_it() {
    let mut count = 0;
    for header in ["stropts.h", "sys/strlog.h", "xti.h"] {
        let header = std::fs::read_to_string(format!("{CRATE}/include/{header}")).expect("it is there");
        let declared = |line| ["int ", "void *", "const char *"].iter().find_map(|kind| str::strip_prefix(line, kind));
        for function in header.lines().filter_map(|line| declared(line)?.split_once('(')) {
            assert!(text(&format!("{}.3", function.0)).contains(&format!(".Nm {}", function.0)), "{}", function.0);
            count += 1;
        }
    }
    assert_eq!(count, 43);
}

#[test]
fn every_constant_and_structure_of_the_headers_is_described() {
    for (header, constants, layouts) in HEADERS {
        let page = match *header {
            "sys/stropts.h" => text("streamio.7") + &text("getmsg.3") + &text("putmsg.3"),
            "sys/strpoll.h" => text("streams.7"),
            "sys/strconf.h" => text("libheadwater.7"),
            "sys/strlog.h" => text("strlog.3"),
            "sys/ptms.h" => text("ptm.7"),
            "sys/tihdr.h" => text("tpi.7"),
            "tiuser.h" => text("xti.7"),
            other => text(&format!("{}.7", other.trim_start_matches("sys/").trim_end_matches(".h"))),
        };
        // The letters of requests, and a limit that the page describes in words.
        let unnamed = ["LOGCTL", "SADIOC", "SBIOC", "PTMIOC", "LOGMAX", "LOGIDSMAX", "TIMOD"];
        for (constant, _) in constants.iter().filter(|(constant, _)| !unnamed.contains(constant)) {
            assert!(has(&page, constant), "{header}: {constant}");
        }
        for (structure, ..) in *layouts {
            assert!(has(&page, structure) || *structure == "str_mlist", "{header}: {structure}");
        }
    }
    let page = text("libheadwater.7");
    for (limit, value) in STRCONF {
        let line = page.lines().find(|line| line.starts_with(&format!(".It Dv {limit} "))).expect("a line");
        assert_eq!(line.split(" Ta ").nth(2), Some(value.to_string().as_str()), "{limit}");
    }
}

#[test]
fn every_module_and_driver_has_a_page() {
    let unknown = headwater_streams::pipe().expect("a pipe").0.push("no such").expect_err("unknown").to_string();
    let of_driver = headwater_streams::Device::open_private("no such").expect_err("unknown").to_string();
    for list in [unknown, of_driver] {
        let names = list.rsplit_once("known are ").expect("names").1;
        let names: Vec<&str> = names.split([',', ' ']).filter(|name| !name.is_empty()).collect();
        assert!(names.len() > 3, "{list}");
        for name in names {
            assert!(text(&format!("{name}.7")).contains(&format!(".Nm {name}\n")), "{name}");
        }
    }
}

#[test]
fn references_name_pages_and_titles_match_file_names() {
    let names: BTreeSet<String> = pages().iter().map(|page| name(page)).collect();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("it is there");
        let mut words = text.lines().find_map(|line| line.strip_prefix(".Dt ")).expect("a title").split(' ');
        let title = format!("{}.{}", words.next().expect("a name").to_lowercase(), words.next().expect("a section"));
        assert_eq!(title, name(&std::fs::canonicalize(&page).expect("a file")));
        for reference in text.lines().filter_map(|line| line.strip_prefix(".Xr ")) {
            let mut words = reference.split(' ');
            let other = format!("{}.{}", words.next().expect("a name"), words.next().expect("a section"));
            assert!(names.contains(&other) || OTHERS.contains(&other.as_str()), "{}: {other}", page.display());
        }
    }
}
