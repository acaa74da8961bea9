//! Opening, binding, information, options, and endpoints from streams of other owners.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headwater_streams::tpi::{OptionStatus, XTI_GENERIC, XTI_LINGER, XTI_RCVBUF, XTI_SNDBUF};
use headwater_streams::{Device, DeviceOptions, Message, Module, ModuleInfo, Priority, Queue};
use headwater_xti::{
    Binding, Call, Endpoint, Look, ManagementFlags as F, OptionList, SendFlags, Service, State, TransportError as E,
};

use super::{bound, connected, directory, fails, open};

#[test]
fn info_is_that_of_the_transport() {
    let place = directory();
    for (transport, service) in
        [("ticlts", Service::Datagrams), ("ticots", Service::Connections), ("ticotsord", Service::OrderlyConnections)]
    {
        let info = open(place.path(), transport).info().expect("known");
        assert_eq!((info.service, info.address, info.sends_zero), (service, 108, true));
        let datagrams = service == Service::Datagrams;
        assert_eq!((info.tsdu, info.etsdu), if datagrams { (65536, -2) } else { (-1, -1) });
        assert_eq!((info.connect_data, info.disconnect_data), (-2, -2));
    }
}

#[test]
fn addresses_are_unique() {
    let place = directory();
    let _first = bound(place.path(), "ticots", b"taken", 0);
    let second = open(place.path(), "ticots");
    fails(second.bind(&Binding::to(b"taken")), E::AddressBusy);
    fails(second.bind(&Binding::to(&[1; 109])), E::BadAddress);
    assert_eq!(second.state(), State::Unbound);
    let chosen = second.bind(&Binding::any()).expect("any");
    assert_eq!((chosen.address.len(), second.addresses().expect("known").local), (4, chosen.address.clone()));
    fails(second.bind(&Binding::any()), E::OutOfState);
}

#[test]
fn options_are_read_but_not_changed() {
    let place = directory();
    let endpoint = open(place.path(), "ticots");
    let all = OptionList::new().with_all(XTI_GENERIC);
    let (options, status) = endpoint.manage_options(&all, F::DEFAULT).expect("they are there");
    let names: Vec<u32> = options.iter().map(|option| option.expect("well formed").name).collect();
    assert_eq!((names, status), (vec![XTI_SNDBUF, XTI_RCVBUF], F::SUCCESS));
    let other = OptionList::new().with(XTI_GENERIC, XTI_LINGER, &[0; 8]).with(XTI_GENERIC, XTI_SNDBUF, &[1, 0, 0, 0]);
    let (options, status) = endpoint.manage_options(&other, F::NEGOTIATE).expect("it answers");
    let statuses: Vec<OptionStatus> = options.iter().map(|option| option.expect("well formed").status).collect();
    assert_eq!((statuses, status), (vec![OptionStatus::NOT_SUPPORTED, OptionStatus::READ_ONLY], F::NOT_SUPPORTED));
    fails(endpoint.manage_options(&all, F::SUCCESS), E::BadFlag);
    fails(endpoint.manage_options(&OptionList::from(vec![1; 24]), F::CURRENT), E::BadOptions);
    fails(endpoint.manage_options(&OptionList::new().with_all(6), F::CURRENT), E::BadOptions);
    assert_eq!(endpoint.state(), State::Unbound);
}

#[test]
fn from_stream_finds_the_present_state() {
    let place = directory();
    let (near, far, listener) = connected(place.path(), "ticotsord");
    let sync = |endpoint: &Endpoint| Endpoint::from_stream(endpoint.stream().clone()).expect("a transport").state();
    assert_eq!([&near, &far, &listener].map(sync), [State::Connected, State::Connected, State::Idle]);
    near.send(b"x", SendFlags::default()).expect("sent");
    near.release(&[]).expect("it releases");
    assert_eq!((sync(&near), sync(&far)), (State::Releasing, State::Connected));
    let again = Endpoint::from_stream(far.stream().clone()).expect("a transport");
    again.receive(&mut [0; 8]).expect("it has come");
    again.receive_release().expect("it is there");
    assert_eq!((far.sync(), again.state()), (Ok(State::Released), State::Released));

    let caller = bound(place.path(), "ticotsord", b"caller", 0);
    caller.stream().set_nonblocking(true).expect("it can");
    fails(caller.connect(&Call::to(b"listener")), E::NoData);
    assert_eq!((sync(&caller), sync(&listener)), (State::Connecting, State::Idle));
    let incoming = listener.listen().expect("a caller");
    assert_eq!(sync(&listener), State::Listening);
    let acceptor = bound(place.path(), "ticotsord", b"acceptor", 0);
    listener.accept(&acceptor, incoming.sequence, &Call::default()).expect("it accepts");
    assert_eq!((sync(&caller), caller.look()), (State::Connecting, Ok(Some(Look::Connect))));
    caller.receive_connect().expect("accepted");
    assert_eq!(sync(&caller), State::Connected);
}

#[test]
fn stream_without_a_transport_is_refused() {
    let (near, _far) = headwater_streams::pipe().expect("a pipe");
    near.set_nonblocking(true).expect("it can");
    let echo = Device::open_private("nuls").expect("it is there");
    fails(Endpoint::from_stream(echo), E::BadFile);
    let place = directory();
    let stream = DeviceOptions::new().directory(place.path()).open("ticlts").expect("a transport");
    assert_eq!(Endpoint::from_stream(stream).expect("a transport").state(), State::Unbound);
}

/// Keeps the sender of the control part `stay` in its put procedure, for longer than a non-blocking call waits for it.
#[derive(Debug)]
struct Gate;

static IS_INSIDE: AtomicBool = AtomicBool::new(false);

impl Module for Gate {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("gate")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> headwater_streams::Result<()> {
        if message.control() != Some(b"stay") {
            return queue.put_next(message);
        }
        IS_INSIDE.store(true, Ordering::Release);
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    }
}

#[test]
fn nonblocking_requests_wait_for_calls_of_other_threads() {
    headwater_streams::register(Gate).expect("a free name");
    let place = directory();
    let endpoint = open(place.path(), "ticotsord");
    endpoint.stream().push("gate").expect("known");
    endpoint.stream().set_nonblocking(true).expect("it can");
    let while_another_calls = |request: &dyn Fn()| {
        IS_INSIDE.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope
                .spawn(|| endpoint.stream().putpmsg(Some(b"stay"), None, Priority::High).expect("the module drops it"));
            while !IS_INSIDE.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            request();
        });
    };
    while_another_calls(&|| {
        drop(endpoint.bind(&Binding::to(b"here").listening(1)).expect("it waits for the other thread"))
    });
    let caller = bound(place.path(), "ticotsord", b"caller", 0);
    caller.stream().set_nonblocking(true).expect("it can");
    fails(caller.connect(&Call::to(b"here")), E::NoData);
    let sequence = endpoint.listen().expect("a caller").sequence;
    while_another_calls(&|| endpoint.refuse(sequence, &[]).expect("it waits for the other thread"));
    while_another_calls(&|| endpoint.unbind().expect("it waits for the other thread"));
}
