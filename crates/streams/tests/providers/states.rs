//! Each primitive in each state of a real endpoint, held beside the table of states.

use std::time::Duration;

use headwater_streams::tpi::{
    Capabilities, Event, ManagementFlags, Primitive, PrimitiveNumber, Service, State, TransportError,
};
use headwater_streams::{Errno, Events, Stream};

use crate::common::{self, in_own_process, within};
use crate::{PATIENCE, Provider, acceptor, ask, asked, each_provider, next, state, told};

/// The states in which an endpoint can be found.
const STABLE: &[State] = &[
    State::Unbound,
    State::Idle,
    State::AwaitConfirm,
    State::AwaitResponse,
    State::Connected,
    State::AwaitRelease,
    State::Releasing,
];

/// An endpoint, the others that it needs to be in its state, the address of one that can be called or sent to, and the number of one that can
/// accept.
struct Found {
    endpoint: Stream,
    _others: Vec<Stream>,
    destination: Vec<u8>,
    acceptor: u32,
    sequence: u32,
}

/// An endpoint in a state. None: the service does not have it.
fn in_state(provider: Provider<'_>, wanted: State) -> Option<Found> {
    let has_connections = provider.service != Service::Datagrams;
    let is_of_connections = !matches!(wanted, State::Unbound | State::Idle);
    let is_orderly = provider.service == Service::OrderlyConnections;
    let is_of_orderly = matches!(wanted, State::AwaitRelease | State::Releasing);
    if is_of_connections && !has_connections || is_of_orderly && !is_orderly || !provider.can_bind() {
        return None;
    }
    let ((other, destination), free) = (provider.bound(u32::from(has_connections)), provider.open());
    let (mut others, mut sequence) = (vec![other], 1);
    let acceptor = acceptor(&free);
    let endpoint = match wanted {
        State::Unbound => provider.open(),
        State::Idle => provider.bound(0).0,
        // One that no one answers: the listener has as many calls as it takes, and so has the kernel.
        State::AwaitConfirm => loop {
            let (caller, _) = provider.bound(0);
            ask(&caller, Primitive::ConnReq { destination: &destination, options: b"" });
            told(&caller, Primitive::OkAck { of: PrimitiveNumber::ConnReq });
            if caller.poll(Events::IN, Some(Duration::from_millis(50))).expect("no error").is_empty() {
                break caller;
            }
            others.push(caller);
        },
        State::AwaitResponse => {
            let ((listener, address), (caller, _)) = (provider.bound(1), provider.bound(0));
            ask(&caller, Primitive::ConnReq { destination: &address, options: b"" });
            (sequence, _) = asked(&listener);
            others.push(caller);
            listener
        }
        _ => {
            let (caller, called, listener) = provider.connected();
            let (one, ends) = if wanted == State::Releasing { (caller, called) } else { (called, caller) };
            match wanted {
                State::Releasing => {
                    ask(&ends, Primitive::OrdrelReq);
                    told(&one, Primitive::OrdrelInd);
                }
                State::AwaitRelease => ask(&one, Primitive::OrdrelReq),
                _ => {}
            }
            others.extend([ends, listener]);
            one
        }
    };
    others.push(free);
    assert_eq!(state(&endpoint), wanted, "{}", provider.name);
    Some(Found { endpoint, _others: others, destination, acceptor, sequence })
}

/// A primitive of each number, well formed; for those of providers any.
fn primitive<'f>(number: PrimitiveNumber, found: &'f Found, wanted: &'f [u8]) -> Primitive<'f> {
    use PrimitiveNumber as N;
    let (destination, options) = (&found.destination[..], &b""[..]);
    match number {
        N::ConnReq => Primitive::ConnReq { destination, options },
        N::ConnRes => Primitive::ConnRes { acceptor: found.acceptor, options, sequence: found.sequence },
        N::DisconReq => Primitive::DisconReq { sequence: found.sequence },
        N::DataReq => Primitive::DataReq { more: false },
        N::ExdataReq => Primitive::ExdataReq { more: false },
        N::InfoReq => Primitive::InfoReq,
        N::BindReq => Primitive::BindReq { address: wanted, waiting: 0 },
        N::UnbindReq => Primitive::UnbindReq,
        N::UnitdataReq => Primitive::UnitdataReq { destination, options },
        N::OptmgmtReq => Primitive::OptmgmtReq { options, flags: ManagementFlags::CURRENT },
        N::OrdrelReq => Primitive::OrdrelReq,
        N::AddrReq => Primitive::AddrReq,
        N::OptdataReq => Primitive::OptdataReq { more: false, expedited: false, options },
        N::CapabilityReq => Primitive::CapabilityReq { wanted: Capabilities { info: true, acceptor: false } },
        N::ConnInd => Primitive::ConnInd { source: destination, options, sequence: 1 },
        N::ConnCon => Primitive::ConnCon { responder: destination, options },
        N::DisconInd => Primitive::DisconInd { reason: 1, sequence: 1 },
        N::DataInd => Primitive::DataInd { more: false },
        N::ExdataInd => Primitive::ExdataInd { more: false },
        N::BindAck => Primitive::BindAck { address: destination, waiting: 0 },
        N::ErrorAck => Primitive::ErrorAck { of: N::BindReq, error: TransportError::Access, errno: 0 },
        N::UnitdataInd => Primitive::UnitdataInd { source: destination, options },
        N::UderrorInd => Primitive::UderrorInd { destination, options, error: 1 },
        N::OptmgmtAck => Primitive::OptmgmtAck { options, flags: ManagementFlags::SUCCESS },
        N::OrdrelInd => Primitive::OrdrelInd,
        N::AddrAck => Primitive::AddrAck { local: destination, remote: options },
        N::OptdataInd => Primitive::OptdataInd { more: false, expedited: false, options },
        // T_INFO_ACK, T_OK_ACK, T_CAPABILITY_ACK.
        _ => Primitive::OkAck { of: N::BindReq },
    }
}

/// What a provider does with a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// M_ERROR: the stream cannot be used any more.
    Fatal,
    /// T_ERROR_ACK with this error.
    Refused(TransportError),
    /// Nothing: the connection has ended meanwhile.
    Discarded,
    /// Its answer, or that of a request that failed for another reason than the state.
    Done,
}

fn expected(service: Service, in_state: State, number: PrimitiveNumber) -> Expected {
    use PrimitiveNumber as N;
    let has = match number {
        N::UnitdataReq => service == Service::Datagrams,
        N::OrdrelReq => service == Service::OrderlyConnections,
        N::ConnReq | N::ConnRes | N::DisconReq | N::DataReq | N::ExdataReq | N::OptdataReq => {
            service != Service::Datagrams
        }
        _ => true,
    };
    let refuse = |error| if number.is_acknowledged() { Expected::Refused(error) } else { Expected::Fatal };
    match number.request() {
        _ if !number.is_request() => Expected::Fatal,
        None => Expected::Done,
        Some(_) if !has => refuse(TransportError::NotSupported),
        Some(event) if in_state.after(event).is_some() => Expected::Done,
        Some(Event::DataReq | Event::ExdataReq | Event::OrdrelReq) if in_state == State::Idle => Expected::Discarded,
        Some(_) => refuse(TransportError::OutOfState),
    }
}

/// The states to which a request leads: with each of the answers, and with what may follow at once.
fn may_follow(before: State, event: Event) -> Vec<State> {
    let asked = before.after(event).expect("allowed");
    let acks = [Event::BindAck, Event::OptmgmtAck, Event::ErrorAck, Event::OkAck1, Event::OkAck2, Event::OkAck3];
    let mut all: Vec<State> = acks.into_iter().chain([Event::OkAck4]).filter_map(|ack| asked.after(ack)).collect();
    if !matches!(event, Event::BindReq | Event::UnbindReq | Event::ConnReq | Event::ConnRes | Event::DisconReq) {
        all.push(asked);
    }
    let indications = [Event::ConnCon, Event::DisconInd1];
    let later: Vec<State> =
        all.iter().flat_map(|state| indications.iter().filter_map(|event| state.after(*event))).collect();
    all.extend(later);
    all
}

/// The first message that is no indication; None: there is none within a time.
fn answer(endpoint: &Stream) -> Result<Option<(PrimitiveNumber, Option<TransportError>)>, Errno> {
    while !endpoint.poll(Events::IN | Events::PRI, Some(Duration::from_millis(20))).expect("poll").is_empty() {
        let Some(message) = endpoint.receive().map_err(|error| error.errno())? else { return Ok(None) };
        let Some(control) = message.control() else { continue };
        match Primitive::decode(control).expect("of a provider") {
            Primitive::ErrorAck { of, error, .. } => return Ok(Some((of, Some(error)))),
            told if told.is_high_priority() || matches!(told, Primitive::OptmgmtAck { .. }) => {
                return Ok(Some((told.number(), None)));
            }
            _ => {}
        }
    }
    Ok(None)
}

#[test]
fn every_primitive_in_every_state_is_answered_as_the_table_of_states_says() {
    in_own_process!();
    let cells = std::cell::Cell::new(0);
    each_provider(|provider| {
        for before in STABLE.iter().copied() {
            for number in PrimitiveNumber::ALL.iter().copied() {
                let doing = format!("{}: {number:?} in {before:?}", provider.name);
                within(PATIENCE, doing.clone());
                let Some(found) = in_state(provider, before) else { continue };
                cells.set(cells.get() + 1);
                let wanted = provider.wanted();
                let control = primitive(number, &found, &wanted).encode();
                let sent = found.endpoint.putmsg(Some(&control), Some(b"x")).map_err(|error| error.errno());
                let told = sent.and_then(|()| answer(&found.endpoint));
                match expected(provider.service, before, number) {
                    Expected::Fatal => {
                        // Once it was told.
                        let again = found.endpoint.putmsg(Some(&control), None).map_err(|error| error.errno());
                        assert!(
                            told == Err(Errno::Proto) || again == Err(Errno::Proto),
                            "{doing}: {told:?}, {again:?}"
                        );
                        continue;
                    }
                    Expected::Refused(error) => assert_eq!(told, Ok(Some((number, Some(error)))), "{doing}"),
                    Expected::Discarded => assert_eq!(told, Ok(None), "{doing}"),
                    Expected::Done if number.is_acknowledged() => {
                        let Ok(Some((_, error))) = told else { panic!("{doing}: {told:?}") };
                        assert_ne!(error, Some(TransportError::OutOfState), "{doing}");
                        assert_ne!(error, Some(TransportError::NotSupported), "{doing}");
                    }
                    Expected::Done => assert!(matches!(told, Ok(None | Some((_, None)))), "{doing}: {told:?}"),
                }
                let after = state(&found.endpoint);
                let is_done = expected(provider.service, before, number) == Expected::Done;
                let allowed = match number.request() {
                    Some(event) if is_done => may_follow(before, event),
                    _ => vec![before],
                };
                assert!(allowed.contains(&after), "{doing}: {after:?}, expected {allowed:?}");
            }
        }
    });
    common::calm();
    println!("{} cells", cells.get());
    assert!(cells.get() > 700);
}

#[test]
fn an_answer_waits_for_no_reader() {
    in_own_process!();
    each_provider(|provider| {
        within(PATIENCE, format!("{}: an answer that is not read", provider.name));
        let endpoint = provider.open();
        // Only one answer waits at a head; the others are discarded, and none holds the caller up.
        for _ in 0..1000 {
            ask(&endpoint, Primitive::InfoReq);
        }
        assert!(matches!(Primitive::decode(next(&endpoint).control().unwrap()), Ok(Primitive::InfoAck(_))));
    });
    common::calm();
}
