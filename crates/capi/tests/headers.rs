//! Checks that the headers in `include/` compile alone and in every dialect, and that they agree with `src/abi.rs` and
//! `headwater_streams`. Skipped if there is no compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater::abi::{self, HEADERS};
use headwater_streams::drivers::log::{self, LogControl, LogFlags, TraceId};
use headwater_streams::{Events, Flush, ReadOptions, SignalEvents, WriteOptions, link_command};

const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// The dialects in which programs for these headers are written: the compiler and its option.
const DIALECTS: [(&str, &str); 10] = [
    ("cc", "c89"),
    ("cc", "gnu89"),
    ("cc", "c99"),
    ("cc", "c11"),
    ("cc", "c17"),
    ("cc", "gnu17"),
    ("c++", "c++98"),
    ("c++", "c++11"),
    ("c++", "c++17"),
    ("c++", "c++20"),
];

/// The headers that define no constant and no structure. Headers for modules in C have tests of their own.
const WITHOUT_NAMES: [&str; 2] = ["stropts.h", "sys/poll.h"];

/// Compiles a text, which must cause no warning. Returns `None` if there is no such compiler.
fn compile(compiler: &str, dialect: &str, text: &str, program: &Path) -> Option<()> {
    let source = program.with_extension(if compiler == "cc" { "c" } else { "cc" });
    std::fs::write(&source, text).expect("room");
    let mut command = Command::new(compiler);
    command.arg(format!("-std={dialect}")).args(["-pedantic", "-Wall", "-Wextra", "-Werror", "-I", INCLUDE]);
    match command.arg(&source).arg("-o").arg(program).output() {
        Err(error) => {
            println!("skipped: {compiler}: {error}");
            None
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{compiler} -std={dialect}:\n{text}\n{said}");
            Some(())
        }
    }
}

/// Returns the names of the headers for programs.
fn headers() -> impl Iterator<Item = &'static str> {
    HEADERS.iter().map(|(header, ..)| *header).chain(WITHOUT_NAMES)
}

fn text(header: &str) -> String {
    std::fs::read_to_string(format!("{INCLUDE}/{header}")).expect("it is there")
}

/// Returns the names of the constants that a header defines.
fn defined(text: &str) -> BTreeSet<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("#define ")?.split_once(' '))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with('_') && !name.contains('('))
        .collect()
}

/// Returns the structures of a header, with their fields in order.
fn declared(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut structures = BTreeMap::new();
    let mut inside: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("struct ").and_then(|rest| rest.strip_suffix(" {")) {
            inside = Some((name, Vec::new()));
        } else if line == "};" {
            structures.extend(inside.take());
        } else if let (Some((_, fields)), Some((declaration, _))) = (&mut inside, line.split_once(';')) {
            let declaration = declaration.split('[').next().expect("a first part");
            fields.push(declaration.rsplit([' ', '*']).next().expect("a last part"));
        }
    }
    structures
}

/// Makes a temporary directory. Returns it, and the path of a program in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("program");
    (directory, program)
}

#[test]
fn every_header_compiles_alone_and_twice_in_every_dialect() {
    let each_in = |dialects: &[(&str, &str)]| {
        let (_directory, program) = place();
        for header in headers() {
            let text = format!("#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n");
            for (compiler, dialect) in dialects {
                compile(compiler, dialect, &text, &program);
            }
        }
    };
    std::thread::scope(|scope| DIALECTS.chunks(5).for_each(|dialects| drop(scope.spawn(|| each_in(dialects)))));
}

#[test]
fn all_headers_compile_together_with_the_systems() {
    let (_directory, program) = place();
    let system = ["errno.h", "fcntl.h", "poll.h", "signal.h", "sys/socket.h", "sys/stat.h", "termios.h", "time.h"];
    for (first, second) in [(true, false), (false, true)] {
        let ours: String = headers().map(|header| format!("#include <{header}>\n")).collect();
        let theirs: String = system.iter().map(|header| format!("#include <{header}>\n")).collect();
        let parts = [(first, &ours), (true, &theirs), (second, &ours)];
        let text: String = parts.iter().filter(|(is_in, _)| *is_in).map(|(_, part)| part.as_str()).collect();
        for (compiler, dialect) in DIALECTS {
            compile(compiler, dialect, &format!("{text}int main(void) {{ return 0; }}\n"), &program);
        }
    }
}

#[test]
fn headers_and_abi_define_the_same_names() {
    for header in headers() {
        let text = text(header);
        let (constants, structures) = (defined(&text), declared(&text));
        let (ours, layouts) =
            HEADERS.iter().find(|(name, ..)| *name == header).map_or((&[][..], &[][..]), |entry| (entry.1, entry.2));
        assert_eq!(ours.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), constants, "{header}");
        let layouts: BTreeMap<&str, Vec<&str>> =
            layouts.iter().map(|(name, _, fields)| (*name, fields.iter().map(|field| field.0).collect())).collect();
        assert_eq!(layouts, structures, "{header}");
    }
}

#[test]
fn headers_and_abi_have_the_same_values_and_layouts() {
    let (_directory, program) = place();
    let mut expected = String::new();
    let mut lines = String::new();
    let mut includes = String::from("#include <stdio.h>\n#include <stddef.h>\n");
    let print = "static void print(const char *name, unsigned long offset, unsigned long size) {\n    \
                 printf(\"%s %lu %lu\\n\", name, offset, size);\n}\n";
    for (header, constants, layouts) in HEADERS {
        writeln!(includes, "#include <{header}>").expect("text");
        for (name, value) in *constants {
            writeln!(lines, "    printf(\"{name} %ld\\n\", (long)({name}));").expect("text");
            writeln!(expected, "{name} {value}").expect("text");
        }
        for (name, size, fields) in *layouts {
            writeln!(lines, "    printf(\"{name} %lu\\n\", (unsigned long)sizeof(struct {name}));").expect("text");
            writeln!(expected, "{name} {size}").expect("text");
            for (field, offset, size) in *fields {
                let values = format!("offsetof(struct {name}, {field}), sizeof ((struct {name} *)0)->{field}");
                writeln!(lines, "    print(\"{name}.{field}\", {values});").expect("text");
                writeln!(expected, "{name}.{field} {offset} {size}").expect("text");
            }
        }
    }
    let text = format!("{includes}{print}int main(void) {{\n{lines}    return 0;\n}}\n");
    for (compiler, dialect) in DIALECTS {
        if compile(compiler, dialect, &text, &program).is_none() {
            continue;
        }
        let output = Command::new(&program).output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{compiler} -std={dialect}");
    }
}

#[test]
fn poll_h_has_the_events_of_streams_in_strict_c() {
    let (_directory, program) = place();
    for header in ["poll.h", "sys/poll.h"] {
        let text = format!(
            "#include <{header}>\nint main(void) {{\n    struct pollfd one;\n    \
             one.fd = -1;\n    one.events = POLLIN | POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND;\n    \
             return poll(&one, 1, 0);\n}}\n"
        );
        for (compiler, dialect) in DIALECTS {
            if compile(compiler, dialect, &text, &program).is_some() {
                assert!(Command::new(&program).status().expect("it runs").success());
            }
        }
    }
}

#[test]
fn major_number_is_a_hash_of_the_drivers_name() {
    let (_directory, program) = place();
    let text = "#include <stdio.h>\n#include <sys/sad.h>\nint main(void) {\n    \
                printf(\"%x %x %x\\n\", sad_major(\"echo\"), sad_major(\"\"), sad_major(\"\\377\"));\n    return 0;\n}\n";
    for (compiler, dialect) in DIALECTS {
        if compile(compiler, dialect, text, &program).is_some() {
            let output = Command::new(&program).output().expect("it runs");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "549dd484 11c9dc5 7a0b824e\n");
        }
    }
}

#[test]
fn options_and_events_match_those_of_streams() {
    let read = [abi::RNORM, abi::RMSGD, abi::RMSGN].map(|mode| ReadOptions::from_bits(mode as u32));
    use headwater_streams::{ControlMode, ReadMode};
    let modes = [ReadMode::Bytes, ReadMode::MessageDiscard, ReadMode::MessageKeep];
    assert_eq!(read.map(|options| options.expect("valid").mode), modes);
    let control = [abi::RPROTNORM, abi::RPROTDAT, abi::RPROTDIS].map(|mode| ReadOptions::from_bits(mode as u32));
    let controls = [ControlMode::Refuse, ControlMode::AsData, ControlMode::Discard];
    assert_eq!(control.map(|options| options.expect("valid").control), controls);
    assert!(ReadOptions::from_bits(abi::RFILL as u32).expect("valid").fill);

    let write = |bits: i32| WriteOptions::from_bits(bits as u32).expect("valid");
    let none = write(0);
    assert_eq!(write(abi::SNDZERO), none.zero(true));
    assert_eq!(write(abi::SNDPIPE), none.pipe(true));
    assert_eq!(write(abi::SNDHOLD), none.hold(true));
    assert_eq!(write(abi::SNDDELIM), none.delimit(true));
    assert_eq!(write(abi::SNDMREAD), none.notify(true));

    for (number, events) in [
        (abi::S_INPUT, SignalEvents::INPUT),
        (abi::S_HIPRI, SignalEvents::HIPRI),
        (abi::S_OUTPUT, SignalEvents::OUTPUT),
        (abi::S_MSG, SignalEvents::MSG),
        (abi::S_ERROR, SignalEvents::ERROR),
        (abi::S_HANGUP, SignalEvents::HANGUP),
        (abi::S_RDNORM, SignalEvents::RDNORM),
        (abi::S_RDBAND, SignalEvents::RDBAND),
        (abi::S_WRBAND, SignalEvents::WRBAND),
        (abi::S_BANDURG, SignalEvents::BANDURG),
    ] {
        assert_eq!(number as u32, events.bits(), "{events:?}");
    }
    for (number, events) in [
        (abi::POLLRDNORM, Events::RDNORM),
        (abi::POLLRDBAND, Events::RDBAND),
        (abi::POLLWRNORM, Events::WRNORM),
        (abi::POLLWRBAND, Events::WRBAND),
        (libc::POLLIN, Events::IN),
        (libc::POLLPRI, Events::PRI),
        (libc::POLLOUT, Events::OUT),
    ] {
        assert_eq!(number as u16, events.bits(), "{events:?}");
    }
    for (number, flush) in [(abi::FLUSHR, Flush::READ), (abi::FLUSHW, Flush::WRITE), (abi::FLUSHRW, Flush::ALL)] {
        assert_eq!([number as u8, 0], flush.bytes());
        assert_eq!([(number | abi::FLUSHBAND) as u8, 3], flush.in_band(3).bytes());
    }
    for (number, command) in [
        (abi::I_LINK, link_command::LINK),
        (abi::I_UNLINK, link_command::UNLINK),
        (abi::I_PLINK, link_command::PERSISTENT_LINK),
        (abi::I_PUNLINK, link_command::PERSISTENT_UNLINK),
    ] {
        assert_eq!(number, u64::from(command));
    }
}

#[test]
fn log_constants_and_layouts_match_the_log_driver() {
    assert_eq!([abi::I_TRCLOG, abi::I_ERRLOG, abi::I_LOGLOST], [log::TRCLOG, log::ERRLOG, log::LOST]);
    assert_eq!((abi::LOGMAX, abi::LOGIDSMAX, abi::LOG_MID), (log::TEXT_MAX, log::IDS_MAX, log::MID));
    for (number, flag) in [
        (abi::SL_FATAL, LogFlags::FATAL),
        (abi::SL_NOTIFY, LogFlags::NOTIFY),
        (abi::SL_ERROR, LogFlags::ERROR),
        (abi::SL_TRACE, LogFlags::TRACE),
        (abi::SL_CONSOLE, LogFlags::CONSOLE),
        (abi::SL_WARN, LogFlags::WARN),
        (abi::SL_NOTE, LogFlags::NOTE),
    ] {
        assert_eq!(number, flag.bits(), "{flag:?}");
    }
    assert_eq!((size_of::<abi::log_ctl>(), size_of::<abi::trace_ids>()), (LogControl::LEN, TraceId::LEN));

    let flags = LogFlags::ERROR | LogFlags::CONSOLE;
    let bytes = LogControl::new(-3, flags).with_priority(0x0102_0304).bytes();
    // SAFETY: a log_ctl has `LogControl::LEN` bytes, which was asserted above, and any bytes are a valid one.
    let control: abi::log_ctl = unsafe { std::mem::transmute(bytes) };
    assert_eq!((control.level, control.flags, control.pri), (-3, flags.bits(), 0x0102_0304));
    // All bytes differ, so that each field that the driver sets is recognised.
    let bytes: [u8; LogControl::LEN] = std::array::from_fn(|byte| byte as u8 + 1);
    let read = LogControl::of(&bytes).expect("long enough");
    // SAFETY: a log_ctl has `LogControl::LEN` bytes, which was asserted above, and any bytes are a valid one.
    let control: abi::log_ctl = unsafe { std::mem::transmute(bytes) };
    assert_eq!((control.mid, control.sid, control.level), (read.mid(), read.sid(), read.level()));
    assert_eq!((control.ltime, control.ttime, control.seq_no as u32), (read.ltime(), read.ttime(), read.seq_no()));

    // SAFETY: a trace_ids has `TraceId::LEN` bytes, which was asserted above, and any bytes are a valid one.
    let ids: abi::trace_ids =
        unsafe { std::mem::transmute(TraceId { mid: Some(7), sid: Some(8), level: Some(9) }.bytes()) };
    assert_eq!((ids.ti_mid, ids.ti_sid, ids.ti_level), (7, 8, 9));
}

#[test]
fn transport_constants_are_those_of_tpi_and_xti() {
    use headwater_streams::modules::{sockmod, timod};
    use headwater_streams::tpi::{self, ManagementFlags as F, PrimitiveNumber, TransportError};
    use headwater_xti::{Event, Look, State};

    // The table has the primitives in the order of their numbers.
    let primitives: Vec<&(&str, i64)> = abi::TIHDR.iter().filter(|(name, _)| name.starts_with("T_")).collect();
    assert_eq!(primitives.len(), PrimitiveNumber::ALL.len());
    for (number, (name, value)) in PrimitiveNumber::ALL.iter().zip(primitives) {
        let spelled: String = name
            .strip_prefix("T_")
            .expect("filtered")
            .split('_')
            .map(|word| {
                let (first, rest) = word.split_at(1);
                first.to_owned() + &rest.to_lowercase()
            })
            .collect();
        assert_eq!((format!("{number:?}"), i64::from(number.value())), (spelled, *value));
    }
    let states: Vec<i64> =
        abi::TIHDR.iter().filter(|(name, _)| name.starts_with("TS_")).map(|(_, value)| *value).collect();
    let ours: Vec<i64> = tpi::State::ALL.iter().map(|state| state.number().into()).chain([17]).collect();
    assert_eq!(states, ours);
    let errors: Vec<i64> = abi::XTI.iter().take(29).map(|(_, value)| *value).collect();
    assert_eq!(errors, (1..=29).collect::<Vec<i64>>());
    for (number, error) in [
        (abi::TBADADDR, TransportError::BadAddress),
        (abi::TOUTSTATE, TransportError::OutOfState),
        (abi::TSYSERR, TransportError::System),
        (abi::TLOOK, TransportError::Look),
        (abi::TNODATA, TransportError::NoData),
        (abi::TBADNAME, TransportError::BadName),
        (abi::TPROTO, TransportError::Protocol),
    ] {
        assert_eq!(number as u32, error.number(), "{error:?}");
    }
    assert!(TransportError::of(30).is_none());
    for (number, state) in [
        (abi::T_UNINIT, State::Uninitialized),
        (abi::T_UNBND, State::Unbound),
        (abi::T_IDLE, State::Idle),
        (abi::T_OUTCON, State::Connecting),
        (abi::T_INCON, State::Listening),
        (abi::T_DATAXFER, State::Connected),
        (abi::T_OUTREL, State::Releasing),
        (abi::T_INREL, State::Released),
    ] {
        assert_eq!(number, i32::from(state.number()), "{state:?}");
    }
    assert_eq!(State::Idle.after(Event::Listen), Some(State::Listening));
    for (number, event) in [
        (abi::T_LISTEN, Look::Listen),
        (abi::T_CONNECT, Look::Connect),
        (abi::T_DATA, Look::Data),
        (abi::T_EXDATA, Look::ExpeditedData),
        (abi::T_DISCONNECT, Look::Disconnect),
        (abi::T_UDERR, Look::DatagramError),
        (abi::T_ORDREL, Look::Release),
        (abi::T_GODATA, Look::RoomForData),
        (abi::T_GOEXDATA, Look::RoomForExpeditedData),
    ] {
        assert_eq!(number, event.number(), "{event:?}");
    }
    for (number, flag) in [
        (abi::T_NEGOTIATE, F::NEGOTIATE),
        (abi::T_CHECK, F::CHECK),
        (abi::T_DEFAULT, F::DEFAULT),
        (abi::T_SUCCESS, F::SUCCESS),
        (abi::T_FAILURE, F::FAILURE),
        (abi::T_CURRENT, F::CURRENT),
        (abi::T_PARTSUCCESS, F::PARTIAL),
        (abi::T_READONLY, F::READ_ONLY),
        (abi::T_NOTSUPPORT, F::NOT_SUPPORTED),
    ] {
        assert_eq!(number as u32, flag.bits(), "{flag:?}");
    }
    for (number, service) in [
        (abi::T_COTS, tpi::Service::Connections),
        (abi::T_COTS_ORD, tpi::Service::OrderlyConnections),
        (abi::T_CLTS, tpi::Service::Datagrams),
    ] {
        assert_eq!(number, service as i32, "{service:?}");
    }
    for (number, option) in [
        (abi::XTI_GENERIC, tpi::XTI_GENERIC),
        (abi::XTI_DEBUG, tpi::XTI_DEBUG),
        (abi::XTI_LINGER, tpi::XTI_LINGER),
        (abi::XTI_SNDBUF, tpi::XTI_SNDBUF),
        (abi::XTI_RCVBUF, tpi::XTI_RCVBUF),
        (abi::XTI_SNDLOWAT, tpi::XTI_SNDLOWAT),
        (abi::XTI_RCVLOWAT, tpi::XTI_RCVLOWAT),
        (abi::T_ALLOPT, headwater_xti::ALL_OPTIONS),
    ] {
        assert_eq!(number as u32, option);
    }
    for (number, request) in [
        (abi::TI_GETINFO, timod::GETINFO),
        (abi::TI_OPTMGMT, timod::OPTMGMT),
        (abi::TI_BIND, timod::BIND),
        (abi::TI_UNBIND, timod::UNBIND),
        (abi::TI_GETADDRS, timod::GETADDRS),
        (abi::TI_CAPABILITY, timod::CAPABILITY),
        (abi::SI_CONNECT, sockmod::CONNECT),
        (abi::SI_START_CONNECT, sockmod::START_CONNECT),
        (abi::SI_FINISH_CONNECT, sockmod::FINISH_CONNECT),
        (abi::SI_ACCEPT, sockmod::ACCEPT),
        (abi::SI_SHUTDOWN, sockmod::SHUTDOWN),
        (abi::SI_SETPEERNAME, sockmod::SET_PEER),
        (abi::SI_GETPEERNAME, sockmod::GET_PEER),
        (abi::SI_GETERROR, sockmod::GET_ERROR),
        (abi::SI_AWAIT_CONNECT, sockmod::AWAIT_CONNECT),
    ] {
        assert_eq!(number as u32, request);
    }
    assert_eq!(abi::T_IOV_MAX as usize, headwater_xti::VECTOR_MAX);
    assert_eq!(size_of::<abi::t_opthdr>(), tpi::OPTION_HEADER);
}

#[test]
fn primitives_are_laid_out_as_tpi_encodes_them() {
    use headwater_streams::tpi::Primitive;
    let encoded = Primitive::ConnInd { source: b"from", options: b"", sequence: 7 }.encode();
    let made = abi::T_conn_ind {
        PRIM_type: abi::T_CONN_IND,
        SRC_length: 4,
        SRC_offset: size_of::<abi::T_conn_ind>() as i32,
        OPT_length: 0,
        OPT_offset: 0,
        SEQ_number: 7,
    };
    // SAFETY: T_conn_ind consists of words without gaps, so all of its bytes are initialised.
    let bytes: [u8; size_of::<abi::T_conn_ind>()] = unsafe { std::mem::transmute(made) };
    assert_eq!(bytes, encoded[..bytes.len()]);
    let wanted = headwater_streams::tpi::Capabilities { info: true, acceptor: true };
    let encoded = Primitive::CapabilityReq { wanted }.encode();
    assert_eq!(encoded.len(), size_of::<abi::T_capability_req>());
    assert_eq!(size_of::<abi::T_capability_ack>(), 56);
}
