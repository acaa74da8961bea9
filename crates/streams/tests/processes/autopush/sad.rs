//! The ioctls of `sad`: what each structure gives, handed over in both ways.

use headwater_streams::autopush::{self, Autopush, Minors};
use headwater_streams::drivers::major;
use headwater_streams::drivers::sad::{NAME_BYTES, SAD_GAP, SAD_SAP, SAD_VML, SadCommand, SadRequest};
use headwater_streams::{Device, DeviceOptions, Errno, IoctlTimeout, MemoryAt, Result, Stream, known_drivers};

use super::{at, configure, modules};
use crate::common::{in_own_process, private_directory};

/// Where the structure lies in the caller's memory, and where a list of names.
const STRUCTURE: u64 = 4096;
const NAMES: u64 = 8192;

/// The two ways in which an ioctl gets its data.
#[derive(Debug, Clone, Copy)]
enum Way {
    Own,
    Transparent,
}

const WAYS: [Way; 2] = [Way::Own, Way::Transparent];

/// Makes an ioctl. Returns its value, and the structure then.
fn call(sad: &Stream, way: Way, command: u32, bytes: &[u8]) -> Result<(i32, Vec<u8>)> {
    let mut bytes = bytes.to_vec();
    let value = match way {
        Way::Own => sad.ioctl(command, &mut bytes, IoctlTimeout::Usual)?,
        Way::Transparent => {
            let mut memory = vec![MemoryAt::new(STRUCTURE, &mut bytes)];
            sad.transparent_ioctl(command, STRUCTURE, &mut memory)?
        }
    };
    Ok((value, bytes))
}

fn request(command: u32, driver: u32, minors: (u32, u32), modules: &[&str]) -> SadRequest {
    let mut request = SadRequest::new(SadCommand::One, driver).minors(minors.0, minors.1).modules(modules.to_vec());
    request.command = command;
    request
}

fn opened() -> (tempfile::TempDir, DeviceOptions, Stream) {
    let directory = private_directory();
    let options = at(directory.path());
    let sad = options.open("sad").expect("open");
    (directory, options, sad)
}

#[test]
fn a_request_gives_what_sad_7_says() {
    in_own_process!();
    let (echo, pipes) = (major("echo"), 0x7eee_eeee);
    let (clear, one, range, all) = (0, 1, 2, 3);
    let (inval, nostr, exist) = (Err(Errno::Inval), Err(Errno::Nostr), Err(Errno::Exist));
    let (erange, nodev) = (Err(Errno::Range), Err(Errno::Nodev));
    let null = &["nullmod"][..];
    // Of the driver there is an entry for 4 to 8, and of `nuls` one for all.
    let table = [
        (SAD_SAP, request(one, echo, (0, 0), null), Ok(())),
        (SAD_SAP, request(one, echo, (0, 77), &["nullmod", "srvmod", "bufmod"]), Ok(())),
        (SAD_SAP, request(range, echo, (9, 10), null), Ok(())),
        (SAD_SAP, request(all, echo, (0, 0), null), exist),
        (SAD_SAP, request(one, echo, (5, 0), null), exist),
        (SAD_SAP, request(range, echo, (8, 9), null), exist),
        (SAD_SAP, request(one, major("nuls"), (3, 0), null), exist),
        (SAD_SAP, request(all, major("mux"), (3, 0), null), Ok(())),
        (SAD_SAP, request(range, echo, (10, 10), null), erange),
        (SAD_SAP, request(range, echo, (10, 9), null), erange),
        (SAD_SAP, request(4, echo, (0, 0), null), inval),
        (SAD_SAP, request(u32::MAX, echo, (0, 0), null), inval),
        (SAD_SAP, request(one, echo, (0, 0), &[]), inval),
        (SAD_SAP, request(one, echo, (0, 0), &["no-such"]), inval),
        (SAD_SAP, request(one, echo, (0, 0), &["nullmod", "echo"]), inval),
        (SAD_SAP, request(one, pipes, (0, 0), null), nostr),
        (SAD_SAP, request(one, 0, (0, 0), null), nostr),
        (SAD_SAP, request(clear, echo, (4, 0), &[]), Ok(())),
        (SAD_SAP, request(clear, echo, (5, 0), &[]), erange),
        (SAD_SAP, request(clear, echo, (3, 0), &[]), nodev),
        (SAD_SAP, request(clear, major("nuls"), (0, 0), &[]), Ok(())),
        (SAD_SAP, request(clear, major("nuls"), (1, 0), &[]), erange),
        (SAD_SAP, request(clear, pipes, (0, 0), &[]), nostr),
        (SAD_GAP, request(clear, echo, (6, 0), &[]), Ok(())),
        (SAD_GAP, request(u32::MAX, major("nuls"), (999, 0), &[]), Ok(())),
        (SAD_GAP, request(clear, echo, (9, 0), &[]), nodev),
        (SAD_GAP, request(clear, pipes, (0, 0), &[]), nostr),
        (SAD_VML + 1, request(one, echo, (0, 0), null), inval),
    ];
    for way in WAYS {
        for (command, request, expected) in &table {
            let (_directory, options, sad) = opened();
            configure(&options, "echo 4 8 nullmod srvmod").expect("valid");
            configure(&options, "nuls -1 0 nullmod").expect("valid");
            let before = autopush::list(&options).expect("readable");
            let bytes = request.bytes().expect("short names");
            let got = call(&sad, way, *command, &bytes);
            let what = format!("{command:#x} {request:?} {way:?}");
            assert_eq!(
                got.as_ref().map(|(value, _)| *value).map_err(|error| error.errno()),
                expected.map(|()| 0),
                "{what}"
            );
            let after = autopush::list(&options).expect("readable");
            let changes = expected.is_ok() && *command == SAD_SAP;
            assert_eq!(after != before, changes, "{what}");
        }
    }
}

#[test]
fn what_was_set_is_returned_and_pushed() {
    in_own_process!();
    for way in WAYS {
        let (_directory, options, sad) = opened();
        let echo = major("echo");
        for (set, asked) in [
            (request(1, echo, (0, 0), &["nullmod", "srvmod"]), 0),
            (request(2, echo, (2, 9), &["nullmod"; 8]), 5),
            (request(3, major("nuls"), (0, 0), &["bufmod"]), 700),
        ] {
            call(&sad, way, SAD_SAP, &set.bytes().expect("short names")).expect("valid");
            let question = request(99, set.major, (asked, 98), &["x"]).bytes().expect("short names");
            let (_, answer) = call(&sad, way, SAD_GAP, &question).expect("configured");
            assert_eq!(SadRequest::of(&answer).expect("whole"), set, "{way:?}");
        }
        assert_eq!(modules(&options.open("echo").expect("open")), ["nullmod", "srvmod"]);
        // A name that the structure has no room for.
        let long = Autopush::new("echo", Minors::One(30), ["nine-byte"]);
        autopush::configure(&options, long).expect("valid");
        let question = request(0, echo, (30, 0), &[]).bytes().expect("short");
        assert_eq!(call(&sad, way, SAD_GAP, &question).expect_err("no room").errno(), Errno::Overflow);
    }
}

#[test]
fn structures_that_make_no_sense_are_refused() {
    in_own_process!();
    let (_directory, options, sad) = opened();
    let valid = request(1, major("echo"), (0, 0), &["nullmod"]).bytes().expect("short names");
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = valid;
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    for way in WAYS {
        for (what, bytes) in [
            ("9 modules", with(16, &9_u32.to_ne_bytes())),
            ("65 modules", with(16, &65_u32.to_ne_bytes())),
            ("all modules there are", with(16, &u32::MAX.to_ne_bytes())),
            ("a name without an end", with(20, &[b'n'; NAME_BYTES])),
            ("a name without a beginning", with(20, &[0; NAME_BYTES])),
            ("a name that is no text", with(20, &[0xff, 0xfe])),
            ("a path", with(20, b"../x\0")),
        ] {
            assert_eq!(call(&sad, way, SAD_SAP, &bytes).expect_err(what).errno(), Errno::Inval, "{what} {way:?}");
        }
    }
    let short = call(&sad, Way::Own, SAD_SAP, &valid[..91]).expect_err("short");
    assert_eq!(short.errno(), Errno::Inval);
    for (command, len) in [(SAD_SAP, 91), (SAD_GAP, 91), (SAD_VML, 15)] {
        let mut bytes = valid[..len].to_vec();
        let mut memory = vec![MemoryAt::new(STRUCTURE, &mut bytes)];
        let lost = sad.transparent_ioctl(command, STRUCTURE, &mut memory).expect_err("no memory behind it");
        assert_eq!(lost.errno(), Errno::Fault, "{command:#x}");
    }
    assert_eq!(autopush::list(&options).expect("readable"), []);
    assert_eq!(Device::open_private("sad").expect_err("no directory").errno(), Errno::Inval);
}

#[test]
fn a_list_of_modules_is_valid_if_all_are_known() {
    in_own_process!();
    let (_directory, _options, sad) = opened();
    let names = |names: &[&str]| {
        names
            .iter()
            .flat_map(|name| {
                let mut bytes = [0; NAME_BYTES];
                bytes[..name.len()].copy_from_slice(name.as_bytes());
                bytes
            })
            .collect::<Vec<u8>>()
    };
    let list = |count: i32| {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&count.to_ne_bytes());
        bytes[8..].copy_from_slice(&NAMES.to_ne_bytes());
        bytes
    };
    let inval = Err(Errno::Inval);
    for (given, expected) in [
        (names(&["nullmod"]), Ok(0)),
        (names(&["nullmod", "srvmod", "bufmod"]), Ok(0)),
        (names(&["nullmod", "no-such"]), Ok(1)),
        (names(&["echo"]), Ok(1)),
        (names(&["nullmod"; 64]), Ok(0)),
        (names(&["nullmod"; 65]), inval),
        (names(&[]), inval),
        (vec![b'n'; NAME_BYTES], inval),
    ] {
        let own = sad.ioctl(SAD_VML, &mut given.clone(), IoctlTimeout::Usual).map_err(|error| error.errno());
        assert_eq!(own, expected, "{given:?}");
        let (mut structure, mut bytes) = (list((given.len() / NAME_BYTES) as i32), given.clone());
        let mut memory = vec![MemoryAt::new(STRUCTURE, &mut structure), MemoryAt::new(NAMES, &mut bytes)];
        let transparent = sad.transparent_ioctl(SAD_VML, STRUCTURE, &mut memory).map_err(|error| error.errno());
        assert_eq!(transparent, expected, "{given:?}");
    }
    for count in [-1, i32::MIN, i32::MAX] {
        let mut structure = list(count);
        let mut memory = vec![MemoryAt::new(STRUCTURE, &mut structure)];
        let refused = sad.transparent_ioctl(SAD_VML, STRUCTURE, &mut memory).expect_err("no list");
        assert_eq!(refused.errno(), Errno::Inval, "{count}");
    }
    // The names are where the caller has no memory.
    let mut structure = list(1);
    let mut memory = vec![MemoryAt::new(STRUCTURE, &mut structure)];
    let lost = sad.transparent_ioctl(SAD_VML, STRUCTURE, &mut memory).expect_err("no memory");
    assert_eq!(lost.errno(), Errno::Fault);
}

#[test]
fn drivers_have_different_major_numbers_that_never_change() {
    let mut majors: Vec<u32> = known_drivers().into_iter().map(major).collect();
    let count = majors.len();
    majors.sort_unstable();
    majors.dedup();
    assert_eq!(majors.len(), count);
    assert_eq!(["echo", "log", "sad"].map(major), [0x549d_d484, 0x3f51_5151, 0x661c_ac07]);
}
