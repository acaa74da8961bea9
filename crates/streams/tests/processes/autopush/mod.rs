//! Autopush: which opens push which modules, who configures it, and what happens with a table that is not what it should be.

mod directories;
mod sad;

use crate::common;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::{calm, child, in_own_process, joined, private_directory, within};
use headwater_streams::autopush::{self, Autopush, Minors};
use headwater_streams::{
    DeviceOptions, Driver, DriverInfo, Errno, Error, Message, Module, ModuleInfo, Opening, Queue, Result, Stream,
    register, register_driver,
};

const PATIENCE: Duration = Duration::from_secs(30);

fn at(directory: &Path) -> DeviceOptions {
    DeviceOptions::new().directory(directory)
}

fn configure(options: &DeviceOptions, line: &str) -> std::result::Result<(), Errno> {
    line.parse().and_then(|entry| autopush::configure(options, entry)).map_err(|error| error.errno())
}

/// The modules of a stream, without its driver, the first pushed first.
fn modules(stream: &Stream) -> Vec<String> {
    let mut names = stream.modules().list().expect("no error");
    names.pop();
    names.reverse();
    names
}

/// Counts its opens and closes.
#[derive(Debug)]
struct Counted;

static OPENS: AtomicU32 = AtomicU32::new(0);
static CLOSES: AtomicU32 = AtomicU32::new(0);

impl Driver for Counted {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("counted")
    }

    fn open(&self, _: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        // The modules come after this.
        assert_eq!(queue.state()[0], 0);
        OPENS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn close(&self, _: &mut Queue<'_, '_, '_>) {
        CLOSES.fetch_add(1, Ordering::Relaxed);
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.reply(message)
    }
}

/// Cannot be pushed.
#[derive(Debug)]
struct Refusing;

impl Module for Refusing {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("refusing")
    }

    fn open(&self, _: &mut Queue<'_, '_, '_>) -> Result<()> {
        Err(Error::new(Errno::new(28), "no room for another"))
    }
}

/// Known when a test has registered it.
#[derive(Debug)]
struct Late;

impl Module for Late {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("late")
    }
}

fn know() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| {
        register_driver(Counted).expect("new");
        register(Refusing).expect("new");
    });
}

#[test]
fn each_first_open_pushes_the_modules_of_its_entry() {
    in_own_process!();
    within(PATIENCE, "opens".to_owned());
    let directory = private_directory();
    let options = at(directory.path());
    for line in ["echo 0 2 nullmod srvmod", "echo 5 0 bufmod", "nuls -1 0 nullmod nullmod"] {
        configure(&options, line).expect(line);
    }
    let minor = |minor| options.clone().minor(minor).open("echo").expect("open");
    let first = minor(1);
    assert_eq!(modules(&first), ["nullmod", "srvmod"]);
    // It is open, so nothing is pushed again; a module that a user has popped stays away.
    first.pop().expect("pushed");
    assert_eq!(modules(&minor(1)), ["nullmod"]);
    for (number, expected) in [(0, &["nullmod", "srvmod"][..]), (2, &["nullmod", "srvmod"]), (3, &[]), (5, &["bufmod"])]
    {
        assert_eq!(modules(&minor(number)), expected, "{number}");
    }
    assert_eq!(modules(&options.open_private("echo").expect("open")), ["nullmod", "srvmod"]);
    // Clone opens get the number first: 0, 2 and later ones.
    let clones: Vec<Stream> = (0..4).map(|_| options.open("echo").expect("free")).collect();
    for clone in &clones {
        let expected: &[&str] = if clone.minor().expect("a device") <= 2 { &["nullmod", "srvmod"] } else { &[] };
        assert_eq!(modules(clone), expected, "{:?}", clone.minor());
    }
    assert_eq!(modules(&options.open_path("/dev/streams/nuls/900").expect("open")), ["nullmod", "nullmod"]);
    // Data goes through them.
    first.write(b"hello").expect("room");
    assert_eq!(first.read(&mut [0; 8]).expect("an echo"), 5);
    calm();
}

#[test]
fn other_processes_find_the_configuration_and_the_modules() {
    in_own_process!();
    within(PATIENCE, "processes".to_owned());
    let directory = private_directory();
    let options = at(directory.path());
    joined(child(|| autopush::configure(&options, Autopush::new("echo", Minors::All, ["nullmod"]))));
    let stream = options.clone().minor(3).open("echo").expect("open");
    assert_eq!(modules(&stream), ["nullmod"]);
    joined(child(|| {
        assert_eq!(modules(&options.clone().minor(3).open("echo")?), ["nullmod"]);
        assert_eq!(modules(&options.clone().minor(4).open("echo")?), ["nullmod"]);
        autopush::clear(&options, "echo", 0).map(drop)
    }));
    assert_eq!(modules(&options.clone().minor(4).open("echo").expect("open")), [""; 0]);
    assert_eq!(modules(&stream), ["nullmod"]);
    calm();
}

#[test]
fn an_open_whose_module_cannot_be_pushed_fails_and_leaves_nothing() {
    in_own_process!();
    within(PATIENCE, "refused opens".to_owned());
    know();
    let directory = private_directory();
    let options = at(directory.path()).minor(7);
    for (line, errno) in [
        ("counted 7 0 nullmod no-such", Errno::Inval),
        ("counted 7 0 echo", Errno::Inval),
        ("counted 7 0 nullmod refusing", Errno::new(28)),
    ] {
        configure(&options, line).expect(line);
        let before = (common::open_things(), OPENS.load(Ordering::Relaxed), CLOSES.load(Ordering::Relaxed));
        for _ in 0..2 {
            let error = options.open("counted").expect_err(line);
            assert_eq!(error.errno(), errno, "{line}: {error}");
            assert!(error.to_string().contains("autopush of"), "{error}");
        }
        assert_eq!((OPENS.load(Ordering::Relaxed), CLOSES.load(Ordering::Relaxed)), (before.1 + 2, before.2 + 2));
        common::expect_nothing_left(before.0);
        // The number is free, and the driver's file is all that is left of it.
        let mut left: Vec<_> = std::fs::read_dir(directory.path())
            .expect("there")
            .map(|node| node.expect("a node").file_name().into_string().expect("text"))
            .collect();
        left.sort();
        assert_eq!(left, [".autopush", ".autopush.lock", "counted"]);
        autopush::clear(&options, "counted", 7).expect("configured");
        drop(options.open("counted").expect("without modules"));
    }
    configure(&options, "counted 7 0 late").expect("it need not be known");
    options.open("counted").expect_err("unknown");
    register(Late).expect("new");
    assert_eq!(modules(&options.open("counted").expect("known now")), ["late"]);
    calm();
}

#[test]
fn more_modules_than_the_stream_takes_make_the_open_fail() {
    in_own_process!();
    let directory = private_directory();
    let options = at(directory.path());
    configure(&options, "echo -1 0 nullmod nullmod nullmod").expect("valid");
    let mut few = options.clone();
    few.stream.nstrpush = 2;
    assert_eq!(few.open("echo").expect_err("2 modules").errno(), Errno::Inval);
    few.stream.nstrpush = 3;
    assert_eq!(modules(&few.open("echo").expect("3 modules")).len(), 3);
}

#[test]
fn entries_are_added_found_and_removed_with_the_errors_of_sad() {
    in_own_process!();
    let directory = private_directory();
    let options = at(directory.path());
    let error = |error: Error| error.errno();
    assert_eq!(autopush::list(&options).expect("empty"), []);
    assert_eq!(autopush::get(&options, "echo", 0).map_err(error), Err(Errno::Nodev));
    assert_eq!(autopush::clear(&options, "echo", 0).map_err(error), Err(Errno::Nodev));
    assert_eq!(configure(&options, "echo 4 8 nullmod srvmod"), Ok(()));
    assert_eq!(configure(&options, "echo 8 9 nullmod"), Err(Errno::Exist));
    let modules = |count: usize| Autopush::new("nuls", Minors::All, vec!["nullmod"; count]);
    for count in [0, 9, 65] {
        assert_eq!(autopush::configure(&options, modules(count)).map_err(error), Err(Errno::Inval), "{count}");
    }
    let range = Autopush::new("nuls", Minors::Range(3, 3), ["nullmod"]);
    assert_eq!(autopush::configure(&options, range).map_err(error), Err(Errno::Range));
    assert_eq!(configure(&options, "nuls -1 0 nullmod"), Ok(()));
    assert_eq!(autopush::get(&options, "echo", 6).expect("configured").to_string(), "echo 4 8 nullmod srvmod");
    let lines = |entries: Vec<Autopush>| entries.iter().map(Autopush::to_string).collect::<Vec<_>>();
    let listed = lines(autopush::list(&options).expect("readable"));
    assert_eq!(listed, ["echo 4 8 nullmod srvmod", "nuls -1 0 nullmod"]);
    assert_eq!(autopush::clear(&options, "echo", 6).map_err(error), Err(Errno::Range));
    assert_eq!(autopush::clear(&options, "echo", 4).expect("configured").modules, ["nullmod", "srvmod"]);
    assert_eq!(lines(autopush::list(&options).expect("readable")), ["nuls -1 0 nullmod"]);
}
