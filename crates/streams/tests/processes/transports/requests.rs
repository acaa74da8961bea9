//! Each primitive in each state, and what is none.

use headwater_streams::tpi::{
    Capabilities, Event, ManagementFlags, OptionStatus, Primitive, PrimitiveNumber, State, TransportError,
    TransportOption, XTI_GENERIC, XTI_RCVBUF,
};
use headwater_streams::{Errno, Stream};

use super::{PATIENCE, ask, ask_with, asked, bound, call, connected, is, next, open, refused, state, told};
use crate::common::{Random, in_own_process, private_directory, within};

/// One request of each kind, which no state but the right one takes.
fn requests() -> Vec<Primitive<'static>> {
    vec![
        Primitive::ConnReq { destination: b"nowhere", options: b"" },
        Primitive::ConnRes { acceptor: 1, options: b"", sequence: 4_000_000 },
        Primitive::DisconReq { sequence: 4_000_000 },
        Primitive::DataReq { more: false },
        Primitive::ExdataReq { more: false },
        Primitive::InfoReq,
        Primitive::BindReq { address: b"new", waiting: 0 },
        Primitive::UnbindReq,
        Primitive::UnitdataReq { destination: b"nowhere", options: b"" },
        Primitive::OptmgmtReq { options: b"", flags: ManagementFlags::CURRENT },
        Primitive::OrdrelReq,
        Primitive::AddrReq,
        Primitive::OptdataReq { more: false, expedited: false, options: b"" },
        Primitive::CapabilityReq { wanted: Capabilities { info: true, acceptor: false } },
    ]
}

/// An endpoint in a state, and what keeps it there.
fn in_state(directory: &std::path::Path, driver: &str, wanted: State) -> (Stream, Vec<Stream>) {
    match wanted {
        State::Unbound => (open(directory, driver), Vec::new()),
        State::Idle => (bound(directory, driver, b"idle", 0), Vec::new()),
        State::AwaitConfirm => {
            let (listener, caller) = (bound(directory, driver, b"l", 1), bound(directory, driver, b"c", 0));
            call(&caller, b"l");
            (caller, vec![listener])
        }
        State::AwaitResponse => {
            let (listener, caller) = (bound(directory, driver, b"l", 1), bound(directory, driver, b"c", 0));
            call(&caller, b"l");
            asked(&listener);
            (listener, vec![caller])
        }
        State::Connected => {
            let (caller, called) = connected(directory, driver);
            (caller, vec![called])
        }
        State::AwaitRelease | State::Releasing => {
            let (caller, called) = connected(directory, driver);
            ask(&caller, Primitive::OrdrelReq);
            told(&called, Primitive::OrdrelInd);
            if wanted == State::AwaitRelease { (caller, vec![called]) } else { (called, vec![caller]) }
        }
        other => panic!("{other:?} is over when the answer is sent"),
    }
}

/// What the specification says of a request in a state.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Refused(TransportError),
    Fatal,
    Discarded,
    Done,
}

fn expected(driver: &str, number: PrimitiveNumber, from: State) -> Expected {
    use PrimitiveNumber as N;
    let has = match number {
        N::UnitdataReq => driver == "ticlts",
        N::OrdrelReq => driver == "ticotsord",
        N::ConnReq | N::ConnRes | N::DisconReq | N::DataReq | N::ExdataReq | N::OptdataReq => driver != "ticlts",
        _ => true,
    };
    let Some(event) = number.request() else { return Expected::Done };
    match (has, from.after(event).is_some()) {
        (false, _) if number.is_acknowledged() => Expected::Refused(TransportError::NotSupported),
        (false, _) => Expected::Fatal,
        (true, true) if number == N::ConnRes || number == N::DisconReq && from == State::AwaitResponse => {
            Expected::Refused(TransportError::BadSequence)
        }
        (true, true) => Expected::Done,
        (true, false) if number.is_acknowledged() => Expected::Refused(TransportError::OutOfState),
        (true, false) if from == State::Idle && event != Event::UnitdataReq => Expected::Discarded,
        (true, false) => Expected::Fatal,
    }
}

#[test]
fn every_request_in_every_state_is_answered_as_the_specification_says() {
    in_own_process!();
    within(4 * PATIENCE, "all requests in all states".to_owned());
    let directory = private_directory();
    let all = [
        State::Unbound,
        State::Idle,
        State::AwaitConfirm,
        State::AwaitResponse,
        State::Connected,
        State::AwaitRelease,
        State::Releasing,
    ];
    for (driver, states) in [("ticlts", &all[..2]), ("ticots", &all[..5]), ("ticotsord", &all[..])] {
        for from in states {
            for request in requests() {
                let (endpoint, others) = in_state(directory.path(), driver, *from);
                assert_eq!(state(&endpoint), *from);
                let (number, data) =
                    (request.number(), (request.number() == PrimitiveNumber::DataReq).then_some(&b"x"[..]));
                ask_with(&endpoint, request, data);
                let what = format!("{number:?} in {from:?} of {driver}");
                match expected(driver, number, *from) {
                    Expected::Refused(error) => {
                        refused(&endpoint, number, error);
                        assert_eq!(state(&endpoint), *from, "{what}");
                    }
                    Expected::Fatal => {
                        assert_eq!(endpoint.receive().expect_err(&what).errno(), Errno::Proto);
                        assert_eq!(endpoint.write(b"x").expect_err(&what).errno(), Errno::Proto);
                    }
                    Expected::Discarded => assert_eq!(state(&endpoint), *from, "{what}"),
                    Expected::Done => done(&endpoint, number, *from, &what),
                }
                drop(others);
            }
        }
    }
}

/// A request was done: its answer, and the state afterwards.
fn done(endpoint: &Stream, number: PrimitiveNumber, from: State, what: &str) {
    use PrimitiveNumber as N;
    let answer = match number {
        N::InfoReq => N::InfoAck,
        N::AddrReq => N::AddrAck,
        N::CapabilityReq => N::CapabilityAck,
        N::BindReq => N::BindAck,
        N::OptmgmtReq => N::OptmgmtAck,
        N::UnitdataReq => N::UderrorInd,
        N::ConnReq | N::UnbindReq | N::DisconReq => N::OkAck,
        _ => N::DataReq,
    };
    if answer != N::DataReq {
        let message = next(endpoint);
        assert_eq!(Primitive::number_of(message.control().expect(what)), Ok(answer), "{what}");
    }
    if number == N::ConnReq {
        // No endpoint has the address.
        told(endpoint, Primitive::DisconInd { reason: 111, sequence: Primitive::NO_SEQUENCE });
    }
    let to = match (number, from) {
        (N::BindReq, _) | (N::DisconReq, _) | (N::OrdrelReq, State::Releasing) => State::Idle,
        (N::UnbindReq, _) => State::Unbound,
        (N::OrdrelReq, State::Connected) => State::AwaitRelease,
        _ => from,
    };
    assert_eq!(state(endpoint), to, "{what}");
}

#[test]
fn arguments_that_make_no_sense_are_refused_and_change_nothing() {
    in_own_process!();
    within(PATIENCE, "arguments".to_owned());
    let directory = private_directory();
    let endpoint = open(directory.path(), "ticots");
    ask(&endpoint, Primitive::BindReq { address: &[7; 109], waiting: 0 });
    refused(&endpoint, PrimitiveNumber::BindReq, TransportError::BadAddress);
    ask(&endpoint, Primitive::BindReq { address: &[7; 108], waiting: 1000 });
    told(&endpoint, Primitive::BindAck { address: &[7; 108], waiting: 64 });
    let connect = |destination: &[u8], options: &[u8], data: Option<&[u8]>, error| {
        ask_with(&endpoint, Primitive::ConnReq { destination, options }, data);
        refused(&endpoint, PrimitiveNumber::ConnReq, error);
    };
    connect(b"", b"", None, TransportError::BadAddress);
    connect(&[1; 109], b"", None, TransportError::BadAddress);
    connect(b"x", b"options", None, TransportError::BadOptions);
    connect(b"x", b"", Some(b"data"), TransportError::BadData);
    let mut list = Vec::new();
    let option = TransportOption {
        level: XTI_GENERIC,
        name: XTI_RCVBUF,
        status: OptionStatus::NONE,
        value: &1u32.to_ne_bytes(),
    };
    option.append_to(&mut list);
    let manage = |options: &[u8], flags| ask(&endpoint, Primitive::OptmgmtReq { options, flags });
    manage(&list, ManagementFlags::SUCCESS);
    refused(&endpoint, PrimitiveNumber::OptmgmtReq, TransportError::BadFlag);
    manage(&list[..17], ManagementFlags::CHECK);
    refused(&endpoint, PrimitiveNumber::OptmgmtReq, TransportError::BadOptions);
    manage(&list, ManagementFlags::NEGOTIATE);
    let mut answers = Vec::new();
    TransportOption { status: OptionStatus::READ_ONLY, value: &65536u32.to_ne_bytes(), ..option }
        .append_to(&mut answers);
    told(&endpoint, Primitive::OptmgmtAck { options: &answers, flags: ManagementFlags::READ_ONLY });
    assert_eq!(state(&endpoint), State::Idle);
}

#[test]
fn any_bytes_end_in_an_answer_or_in_the_fatal_error() {
    in_own_process!();
    let directory = private_directory();
    let mut random = Random(crate::common::setting("HEADWATER_SEED", 11));
    within(6 * PATIENCE, "random control parts".to_owned());
    for _ in 0..crate::common::extent("HEADWATER_ROUNDS", 70) {
        let driver = random.one_of(&["ticlts", "ticots", "ticotsord"]);
        let endpoint = bound(directory.path(), driver, b"fuzzed", u32::from(driver != "ticlts"));
        for _ in 0..20 {
            // A number of a primitive more often than not, and small words behind it.
            let words: Vec<u32> =
                (0..1 + random.below(12)).map(|at| random.below(if at == 0 { 34 } else { 60 }) as u32).collect();
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            bytes.truncate(1 + random.below(bytes.len()));
            let is_primitive = Primitive::decode(&bytes).is_ok_and(|primitive| primitive.number().is_request());
            endpoint.putmsg(Some(&bytes), None).expect("sent");
            endpoint.set_nonblocking(true).expect("set");
            let answer = loop {
                match endpoint.receive() {
                    Ok(Some(message)) => {
                        let number = Primitive::number_of(message.control().expect("a primitive")).expect("known");
                        assert!(!number.is_request());
                    }
                    Ok(None) => panic!("no end was sent"),
                    Err(error) => break error.errno(),
                }
            };
            endpoint.set_nonblocking(false).expect("set");
            if answer == Errno::Proto {
                break;
            }
            assert_eq!(answer, Errno::Again);
            assert!(is_primitive, "{bytes:?} is none, and was not refused");
        }
    }
    let endpoint = open(directory.path(), "ticlts");
    is_fatal(&endpoint, b"abc");
}

fn is_fatal(endpoint: &Stream, control: &[u8]) {
    endpoint.putmsg(Some(control), None).expect("sent");
    assert_eq!(endpoint.receive().expect_err("fatal").errno(), Errno::Proto);
}

#[test]
fn an_unknown_ioctl_is_refused() {
    let directory = private_directory();
    let endpoint = open(directory.path(), "ticots");
    let refused = endpoint.ioctl(77, &mut Vec::new(), headwater_streams::IoctlTimeout::Usual);
    assert_eq!(refused.expect_err("unknown").errno(), Errno::Inval);
    is(
        &{
            ask(&endpoint, Primitive::AddrReq);
            next(&endpoint)
        },
        Primitive::AddrAck { local: b"", remote: b"" },
    );
}
