//! The short way of messages whose control part is that of one before: when it is used, and what ends it.

use headwater_streams::tpi::{Primitive, PrimitiveNumber, State};
use headwater_streams::{Message, Stream};

use super::{PATIENCE, ask, ask_with, bind, bound, connected, is, next, state, told};
use crate::common::{in_own_process, private_directory, within};

fn send(from: &Stream, destination: &[u8], data: &[u8]) {
    ask_with(from, Primitive::UnitdataReq { destination, options: b"" }, Some(data));
}

/// How many of the messages that `action` sends go the short way.
fn short_sends(from: &Stream, action: impl FnOnce()) -> u64 {
    let before = from.counters().short_sends;
    action();
    from.counters().short_sends - before
}

fn data(message: &Message<'_>) -> u32 {
    u32::from_ne_bytes(message.data().expect("data").try_into().expect("a number"))
}

#[test]
fn datagrams_after_the_first_go_the_short_way_past_modules_that_change_nothing() {
    in_own_process!();
    within(PATIENCE, "datagrams go the short way".to_owned());
    const COUNT: u32 = 100;
    for modules in [&[][..], &["timod"], &["timod", "nullmod"]] {
        let directory = private_directory();
        let receiver = bound(directory.path(), "ticlts", b"receiver", 0);
        let sender = bound(directory.path(), "ticlts", b"sender", 0);
        for (end, module) in modules.iter().flat_map(|module| [(&receiver, module), (&sender, module)]) {
            end.push(module).expect("known");
        }
        let by_route = short_sends(&sender, || {
            for number in 0..COUNT {
                send(&sender, b"receiver", &number.to_ne_bytes());
            }
        });
        // The first finds the receiver. A lock that has just changed hands costs some more.
        assert!(by_route >= u64::from(COUNT) / 2, "{by_route} of {COUNT} with {modules:?}");
        for number in 0..COUNT {
            let datagram = next(&receiver);
            is(&datagram, Primitive::UnitdataInd { source: b"sender", options: b"" });
            assert_eq!(data(&datagram), number);
        }
    }
}

#[test]
fn data_of_a_connection_go_the_short_way_with_their_boundaries() {
    in_own_process!();
    within(PATIENCE, "data go the short way".to_owned());
    const COUNT: u32 = 100;
    for driver in ["ticots", "ticotsord"] {
        let directory = private_directory();
        let (caller, called) = connected(directory.path(), driver);
        for (from, to) in [(&caller, &called), (&called, &caller)] {
            let by_route = short_sends(from, || {
                for number in 0..COUNT {
                    ask_with(from, Primitive::DataReq { more: number % 3 == 0 }, Some(&number.to_ne_bytes()));
                }
            });
            assert!(by_route >= u64::from(COUNT) / 2, "{by_route} of {COUNT}");
            for number in 0..COUNT {
                let message = next(to);
                is(&message, Primitive::DataInd { more: number % 3 == 0 });
                assert_eq!(data(&message), number);
            }
        }
        // The end of a connection ends the way.
        ask(&called, Primitive::DisconReq { sequence: u32::MAX });
        told(&called, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
        let by_route = short_sends(&caller, || ask_with(&caller, Primitive::DataReq { more: false }, Some(b"late")));
        assert_eq!(by_route, 0);
        assert_eq!(state(&called), State::Idle);
    }
}

#[test]
fn a_module_that_looks_at_messages_gets_all_of_them() {
    in_own_process!();
    within(PATIENCE, "a module is pushed in the way".to_owned());
    let directory = private_directory();
    for at_sender in [true, false] {
        let receiver = bound(directory.path(), "ticlts", b"receiver", 0);
        let sender = bound(directory.path(), "ticlts", b"sender", 0);
        for _ in 0..20 {
            send(&sender, b"receiver", b"before");
            next(&receiver);
        }
        let end = if at_sender { &sender } else { &receiver };
        end.push("srvmod").expect("known");
        let by_route = short_sends(&sender, || {
            for number in 0..20u32 {
                send(&sender, b"receiver", &number.to_ne_bytes());
            }
        });
        assert_eq!(by_route, 0);
        for number in 0..20 {
            assert_eq!(data(&next(&receiver)), number);
        }
        end.pop().expect("pushed");
        let by_route = short_sends(&sender, || {
            for _ in 0..40 {
                send(&sender, b"receiver", b"after");
                next(&receiver);
            }
        });
        assert!(by_route > 0, "the short way is open again");
    }
}

#[test]
fn another_address_at_either_end_ends_the_short_way() {
    in_own_process!();
    within(PATIENCE, "ends get other addresses".to_owned());
    let directory = private_directory();
    let receiver = bound(directory.path(), "ticlts", b"receiver", 0);
    let sender = bound(directory.path(), "ticlts", b"sender", 0);
    let arrives_from = |source: &[u8]| {
        for _ in 0..20 {
            send(&sender, b"receiver", b"x");
            is(&next(&receiver), Primitive::UnitdataInd { source, options: b"" });
        }
        assert!(sender.counters().short_sends > 0);
    };
    let unbind = |end: &Stream| {
        ask(end, Primitive::UnbindReq);
        told(end, Primitive::OkAck { of: PrimitiveNumber::UnbindReq });
    };
    arrives_from(b"sender");
    unbind(&receiver);
    bind(&receiver, b"elsewhere", 0);
    send(&sender, b"receiver", b"lost");
    told(&sender, Primitive::UderrorInd { destination: b"receiver", options: b"", error: 111 });
    unbind(&receiver);
    bind(&receiver, b"receiver", 0);
    arrives_from(b"sender");
    unbind(&sender);
    bind(&sender, b"renamed", 0);
    arrives_from(b"renamed");
}
