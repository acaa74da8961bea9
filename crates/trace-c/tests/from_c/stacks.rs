//! Stacks of a program in C: their frames, and the names of its functions.

use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_trace_tools::Value;
use headwater_trace_tools::ctf::{Reader, TraceItem};
use headwater_trace_tools::export::{self, Choice};
use headwater_trace_tools::stacks::{Modules, Shown};

use crate::{LANGUAGES, SOURCE, compiled, traced, traced_with};

/// A call's return address lies within the function, which is this short.
const FUNCTION_BYTES: u64 = 400;

#[test]
fn events_have_the_stacks_of_their_threads() {
    let directory = tempfile::tempdir().expect("a directory");
    for (logs, position) in [("", "-pie"), ("thread", "-pie"), ("", "-no-pie")] {
        let (compiler, options) = LANGUAGES[0];
        let options = [options, &[position]].concat();
        let Some(program) = compiled((compiler, &options), Path::new(SOURCE), directory.path()) else { return };
        let (directory, totals) = traced(&program, "stacks", 0, logs, &["test:*", "!test:bare"]);
        let trace = [directory.path().join("trace")];
        let (modules, mut reader) =
            (Modules::of(&trace, Shown::Offsets).expect("a trace"), Reader::open(&trace).expect("a trace"));
        let (mut found, mut bare) = (Vec::new(), 0);
        while let Some(item) = reader.next().expect("sound") {
            let TraceItem::Record(record) = item else { panic!("nothing is lost") };
            bare += u64::from(record.kind.name == "test:bare" && record.field("stack").is_none());
            let Some(Value::Array(frames)) = record.field("stack") else { continue };
            let frames: Vec<u64> = frames.filter_map(|frame| frame.as_u64()).collect();
            let number = |name| record.field(name).and_then(|value| value.as_u64()).expect("a number");
            let at = |function: u64| {
                frames.iter().position(|frame| (1..FUNCTION_BYTES).contains(&frame.wrapping_sub(function)))
            };
            let [middle, outer] = ["writer", "number"].map(number).map(at);
            if let Some(middle) = middle {
                let name = modules.name(record.tid, record.time, frames[middle]).expect("a module");
                assert!(name.starts_with("cc+0x"), "{name}");
                let offset = u64::from_str_radix(&name["cc+0x".len()..], 16).expect("a number");
                // The program is at the beginning of a page.
                assert_eq!((frames[middle] - offset) % 4096, 0);
            }
            // Before it there is the function with the event.
            found.push((middle == Some(1), middle < outer));
        }
        // On a foreign stack there are no frames.
        assert_eq!((found, bare), (vec![(true, true), (true, true), (false, false)], 1), "{totals:?}");
        let stacks = |shown| printed(&trace[0], shown);
        let (offsets, _) = stacks(Shown::Offsets);
        assert!(offsets[..2].iter().all(|stack| stack.starts_with("[cc+0x")) && offsets[2] == "[]", "{offsets:?}");
        let (named, replaced) = stacks(Shown::Functions);
        for stack in &named[..2] {
            let frames: Vec<&str> = stack.trim_start_matches('[').split(", ").collect();
            let expected = ["inner", "middle+0x", "outer+0x"];
            let is_named = |(frame, name): (&&str, &str)| frame.starts_with(name) && frame.ends_with(" (cc)");
            assert!(frames.iter().zip(expected).all(is_named), "{position} {stack}");
        }
        assert!(replaced.is_empty() && named[0].contains("main+0x") && named[1].contains("in_thread+0x"), "{named:?}");
        // Another program of the same name.
        std::fs::copy("/bin/true", &program).expect("copied");
        let (named, replaced) = stacks(Shown::Functions);
        assert!(named[..2].iter().all(|stack| stack.starts_with("[cc+0x") && !stack.contains("(cc)")), "{named:?}");
        assert_eq!(replaced, [program]);
    }
}

/// The stacks of a trace as they are printed, and the files that were replaced.
fn printed(trace: &Path, shown: Shown) -> (Vec<String>, Vec<PathBuf>) {
    let choice = Choice { events: vec!["test:step".to_owned()], stacks: shown, ..Choice::default() };
    let mut text = Vec::new();
    let exported = export::text::export(&[trace], &choice, &mut text).expect("a trace");
    let text = String::from_utf8(text).expect("escaped");
    let stack = |line: &str| line.split_once(" stack=").expect("a stack").1.to_owned();
    (text.lines().map(stack).collect(), exported.replaced)
}

/// The compilers' default: no function keeps a frame pointer.
const WITHOUT_FRAME_POINTERS: &str = "-fomit-frame-pointer";

#[test]
fn copied_stacks_of_a_program_without_frame_pointers_are_unwound_also_behind_a_signal_handler() {
    let directory = tempfile::tempdir().expect("a directory");
    for position in ["-pie", "-no-pie"] {
        let (compiler, options) = LANGUAGES[0];
        let options = [options, &[position, WITHOUT_FRAME_POINTERS]].concat();
        let Some(program) = compiled((compiler, &options), Path::new(SOURCE), directory.path()) else { return };
        let printed_of = |part, are_copied| {
            let (directory, totals) = traced_with(&program, part, (0, ""), &["test:*", "!test:bare"], are_copied);
            assert_eq!(totals.lost, 0);
            printed(&directory.path().join("trace"), Shown::Functions).0
        };
        let names = |stack: &str, expected: &[&str]| {
            let frames: Vec<&str> = stack.trim_start_matches('[').split(", ").collect();
            let mut rest = frames.iter();
            // Compilers split functions, and name the parts `inner.cold`.
            let is_in = |frame: &str, name: &str| {
                frame.strip_prefix(name).is_some_and(|rest| rest.starts_with("+0x") || rest.starts_with('.'))
            };
            expected.iter().all(|name| rest.any(|frame| is_in(frame, name)))
        };
        let stacks = printed_of("stacks", true);
        let [main, thread, foreign] = &stacks[..] else { panic!("{stacks:?}") };
        assert!(names(main, &["inner", "middle", "outer", "main", "_start"]), "{main}");
        assert!(names(thread, &["inner", "middle", "outer", "in_thread"]), "{thread}");
        assert_eq!(foreign, "[]", "another stack than the thread's own is not copied");
        let raised = printed_of("raised", true);
        // Behind the handler are the C library's return from it, and what was interrupted. Where the kernel has put many registers on the
        // stack, the copy ends there.
        assert!(names(&raised[0], &["inner", "middle", "handle"]), "{raised:?}");
        assert!(raised[0].split(", ").filter(|frame| frame.contains("libc")).count() >= 2, "{raised:?}");
        // And not by frame pointers.
        let stacks = printed_of("stacks", false);
        assert!(!names(&stacks[0], &["inner", "middle", "outer", "main"]), "{stacks:?}");
    }
}

const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/from_c/plugin.c");

#[test]
fn files_that_are_opened_later_are_known_also_one_in_the_place_of_another_and_those_of_a_child() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compiled(LANGUAGES[0], Path::new(SOURCE), directory.path()) else { return };
    for name in ["first", "second"] {
        let library = directory.path().join(format!("cc.{name}.so"));
        let mut command = Command::new("cc");
        command.args(["-O2", "-shared", "-fPIC", "-fno-omit-frame-pointer", &format!("-DNAME={name}"), PLUGIN, "-o"]);
        assert!(command.arg(library).status().expect("it runs").success());
    }
    let (directory, totals) = traced(&program, "plugins", 0, "", &["test:*"]);
    let (stacks, _) = printed(&directory.path().join("trace"), Shown::Functions);
    let [before, first, second, child] = &stacks[..] else { panic!("{totals:?} {stacks:?}") };
    assert!(before.contains("outer+0x") && !before.contains(".so),"), "{before}");
    assert!(first.contains("middle+0x") && first.contains("first+0x") && first.contains("(cc.first.so)"), "{first}");
    assert!(second.contains("second+0x") && second.contains("(cc.second.so)"), "{second}");
    assert!(child.contains("outer+0x") && child.contains("main+0x"), "{child}");
}
