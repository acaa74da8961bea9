//! Tests of the names and places from which modules are loaded, and of those from which they are not.

use std::ffi::CString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use headwater::ddi::types::layouts;
use headwater::ddi::{exports, load};
use headwater_streams::{Errno, pipe};

use super::common::*;

/// Not a separate test: a program that pushes a module and prints what happened.
#[test]
fn program_that_pushes() {
    let Ok(name) = std::env::var("DDI_TEST_PUSH") else { return };
    std::hint::black_box(exports::all());
    if std::env::var_os("DDI_TEST_OFF").is_some() {
        // SAFETY: hw_module_search takes no pointer.
        unsafe { exports::hw_module_search(0) };
    }
    let (near, far) = pipe().expect("pipe");
    match near.push(&name) {
        Ok(()) => {
            near.write(b"text").expect("room");
            println!("pushed: {}", read_within(&far, PATIENCE));
        }
        Err(error) => println!("refused: {:?}", error.errno()),
    }
}

fn pushed(name: &str, modules: &str, more: &[(&str, &str)]) -> String {
    let mut program = Command::new(std::env::current_exe().expect("our own path"));
    program.args(["--exact", "loading::program_that_pushes", "--nocapture"]).env("DDI_TEST_PUSH", name);
    let done = program.env("HEADWATER_MODULES", modules).envs(more.iter().copied()).output().expect("it starts");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let line = said.lines().find_map(|line| line.split_once("pushed: ").or_else(|| line.split_once("refused: ")));
    let kind = if said.contains("pushed: ") { "pushed" } else { "refused" };
    line.map_or_else(|| said.clone(), |(_, what)| format!("{kind} {what}"))
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("own");
}

#[test]
fn modules_are_loaded_only_from_trusted_places() {
    let _alone = prepare();
    let known = directory().to_str().expect("text");
    assert_eq!(pushed("upper", known, &[]), "pushed TEXT");
    // The module is taken from the first directory that has it, whatever the directories before it contain.
    assert_eq!(pushed("upper", &format!("/nowhere::relative:{known}"), &[]), "pushed TEXT");
    assert_eq!(pushed("upper", known, &[("DDI_TEST_OFF", "1")]), "refused Inval");
    assert_eq!(pushed("other", known, &[]), "refused Inval");
    assert_eq!(pushed("upper", "", &[]), "refused Inval");

    let place = tempfile::tempdir().expect("a directory");
    let (below, path) = (place.path().join("below"), place.path().join("below/upper.so"));
    std::fs::create_dir(&below).expect("new");
    std::fs::copy(directory().join("upper.so"), &path).expect("copied");
    let text = below.to_str().expect("text");
    mode(place.path(), 0o755);
    mode(&below, 0o755);
    mode(&path, 0o644);
    assert_eq!(pushed("upper", text, &[]), "pushed TEXT");
    for (what, wrong, right) in
        [(&path, 0o664, 0o644), (&path, 0o646, 0o644), (&below, 0o775, 0o755), (&below, 0o757, 0o755)]
    {
        mode(what, wrong);
        assert_eq!(pushed("upper", text, &[]), "refused Inval", "{} with {wrong:o}", what.display());
        mode(what, right);
    }
    // A user who can write to a directory above may replace the one below, unless the directory above has the sticky
    // bit.
    mode(place.path(), 0o777);
    assert_eq!(pushed("upper", text, &[]), "refused Inval");
    mode(place.path(), 0o1777);
    assert_eq!(pushed("upper", text, &[]), "pushed TEXT");
    // A link is not followed: the file itself is checked.
    std::fs::rename(&path, place.path().join("real.so")).expect("moved");
    std::os::unix::fs::symlink(place.path().join("real.so"), &path).expect("new");
    assert_eq!(pushed("upper", text, &[]), "refused Inval");
    // A path relative to the working directory is not searched.
    let done = Command::new(std::env::current_exe().expect("our own path"))
        .args(["--exact", "loading::program_that_pushes", "--nocapture"])
        .envs([("DDI_TEST_PUSH", "upper"), ("HEADWATER_MODULES", ".")])
        .current_dir(directory())
        .output()
        .expect("it starts");
    assert!(String::from_utf8_lossy(&done.stdout).contains("refused: Inval"));
    if std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        // The file of another user is refused: its mode cannot stop that user from changing it.
        let (theirs, object) = (place.path().join("theirs"), place.path().join("theirs/upper.so"));
        std::fs::create_dir(&theirs).expect("new");
        std::fs::copy(directory().join("upper.so"), &object).expect("copied");
        mode(&object, 0o644);
        std::os::unix::fs::chown(&object, Some(12345), None).expect("root may");
        assert_eq!(pushed("upper", theirs.to_str().expect("text"), &[]), "refused Inval");
    }
}

#[test]
fn objects_without_the_named_module_are_refused() {
    let _alone = prepare();
    let place = tempfile::tempdir().expect("a directory");
    let make = |name: &str, code: &str| {
        let source = place.path().join(format!("{name}.c"));
        std::fs::write(&source, format!("#include <sys/stream.h>\n{code}")).expect("written");
        compile(&source, &place.path().join(format!("{name}.so")), &[]);
    };
    make("empty", "int empty;");
    make(
        "misnamed",
        "static struct module_info i = {1, \"another\", 0, -1, 1, 0};\nstatic struct qinit q = {0, 0, 0, 0, 0, &i, 0};\nstruct streamtab misnamedinfo = {&q, &q, 0, 0};",
    );
    make(
        "nameless",
        "static struct module_info i = {1, 0, 0, -1, 1, 0};\nstatic struct qinit q = {0, 0, 0, 0, 0, &i, 0};\nstruct streamtab namelessinfo = {&q, &q, 0, 0};",
    );
    make("null", "struct streamtab nullinfo = {0, 0, 0, 0};");
    make(
        "muxer",
        "static struct module_info i = {1, \"muxer\", 0, -1, 1, 0};\nstatic struct qinit q = {0, 0, 0, 0, 0, &i, 0};\nstruct streamtab muxerinfo = {&q, &q, &q, &q};",
    );
    make(
        "plain",
        "static struct module_info i = {1, \"plain\", 0, -1, 1, 0};\nstatic struct qinit q = {0, 0, 0, 0, 0, &i, 0};\nstruct streamtab hw_streamtab = {&q, &q, 0, 0};",
    );
    std::fs::write(place.path().join("text.so"), "no object").expect("written");
    let load = |name: &str| {
        let path = CString::new(place.path().join(format!("{name}.so")).to_str().expect("text")).expect("no zero");
        // SAFETY: `path` is a string.
        unsafe { exports::hw_module_load(path.as_ptr()) }
    };
    for (name, errno) in [("empty", libc::ENOEXEC), ("misnamed", libc::ENOEXEC), ("nameless", libc::EINVAL)] {
        assert_eq!(load(name), errno, "{name}");
    }
    for (name, errno) in
        [("null", libc::EINVAL), ("muxer", libc::EINVAL), ("text", libc::ENOEXEC), ("absent", libc::ENOENT)]
    {
        assert_eq!(load(name), errno, "{name}");
    }
    // A module without procedures passes everything on.
    assert_eq!((load("plain"), load("plain")), (0, 0));
    let (near, far) = pipe().expect("pipe");
    near.push("plain").expect("known");
    near.write(b"through").expect("room");
    assert_eq!(read_within(&far, PATIENCE), "through");
    assert_eq!(near.push("no/such").expect_err("refused").errno(), Errno::Inval);
    assert!(!load::is_searched("../plain"));
}

#[test]
fn header_layouts_and_ddi_symbols_match_the_crate() {
    let _alone = prepare();
    let place = tempfile::tempdir().expect("a directory");
    let (source, program) = (root().join("crates/capi/tests/ddi/layout.c"), place.path().join("layout"));
    let include = root().join("crates/capi/include");
    let built = Command::new("cc").arg("-I").arg(include).arg("-o").arg(&program).arg(source).status().expect("cc");
    assert!(built.success());
    let said = Command::new(program).output().expect("it runs").stdout;
    let expected: String = layouts().iter().map(|(name, size)| format!("{name} {size}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&said), expected);
    let listed = std::fs::read_to_string(root().join("crates/capi/ddi.symbols")).expect("there");
    let names: Vec<&str> = exports::all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), names);
    // Each symbol is declared in a header, or used by a macro of one.
    let headers: String = ["stream.h", "ddi.h", "cmn_err.h"]
        .map(|name| std::fs::read_to_string(root().join("crates/capi/include/sys").join(name)).expect("there"))
        .concat();
    for name in names {
        let form = match name.strip_prefix("hw_ddi_") {
            Some(first) => format!(") HW_DDI_NAME({first});"),
            None => format!("{name}("),
        };
        assert!(headers.contains(&form), "{form} is in no header");
    }
}
