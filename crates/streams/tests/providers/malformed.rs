//! Primitives that are none: whatever a user sends is answered, or ends the stream by M_ERROR, and never this process.

use std::cell::Cell;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use headwater_streams::tpi::{InternetAddress, ManagementFlags, Primitive, PrimitiveNumber};
use headwater_streams::{Errno, Events, Priority, Stream};

use crate::common::{Random, calm, extent, in_own_process, setting, within};
use crate::{PATIENCE, Provider, each_provider};

fn primitives(address: &[u8]) -> Vec<Primitive<'_>> {
    use Primitive as P;
    let options = b"0123456789abcdef";
    vec![
        P::ConnReq { destination: address, options },
        P::ConnReq { destination: address, options: b"" },
        P::ConnRes { acceptor: 1, options, sequence: 1 },
        P::DisconReq { sequence: 1 },
        P::DataReq { more: false },
        P::ExdataReq { more: true },
        P::InfoReq,
        P::BindReq { address, waiting: 2 },
        P::UnbindReq,
        P::UnitdataReq { destination: address, options },
        P::UnitdataReq { destination: address, options: b"" },
        P::OptmgmtReq { options, flags: ManagementFlags::NEGOTIATE },
        P::OptmgmtReq { options: b"", flags: ManagementFlags::CURRENT },
        P::OrdrelReq,
        P::AddrReq,
        P::OptdataReq { more: false, expedited: true, options },
        P::OkAck { of: PrimitiveNumber::BindReq },
    ]
}

/// Sends it, and takes all answers. An error is that of M_ERROR.
fn try_out(endpoint: &Stream, control: &[u8], data: Option<&[u8]>, random: &mut Random) {
    let is_high = random.one_in(2);
    let priority = if is_high { Priority::High } else { Priority::NORMAL };
    let fatal = |error: headwater_streams::Error| {
        assert!(matches!(error.errno(), Errno::Proto | Errno::Range | Errno::Nxio), "{error:?} of {control:x?}");
    };
    if let Err(error) = endpoint.putpmsg(Some(control), data, priority) {
        return fatal(error);
    }
    while !endpoint.poll(Events::IN | Events::PRI, Some(Duration::ZERO)).expect("poll").is_empty() {
        match endpoint.receive() {
            Ok(Some(answer)) => assert!(answer.control().is_none_or(|control| Primitive::decode(control).is_ok())),
            Ok(None) => break,
            Err(error) => return fatal(error),
        }
    }
}

/// Sends one form of a primitive to an endpoint of its own.
fn try_form(provider: Provider<'_>, is_bound: bool, form: &[u8], random: &mut Random) {
    let is_possible = is_bound && provider.can_bind();
    let endpoint = if is_possible { provider.bound(0).0 } else { provider.open() };
    let data = random.one_of(&[None, Some(&b"data"[..]), Some(b"")]);
    try_out(&endpoint, form, data, random);
}

fn changed(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut changed = whole.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(changed.len());
        changed[at] = random.one_of(&[0, 1, 0x7f, 0x80, 0xff, 17]);
    }
    changed
}

#[test]
fn every_truncation_of_every_primitive_is_answered() {
    in_own_process!();
    let target = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = InternetAddress::from(target.local_addr().unwrap());
    let seed = setting("HEADWATER_SEED", 1);
    each_provider(|provider| {
        within(PATIENCE, format!("{}: truncated primitives", provider.name));
        let mut random = Random(seed);
        for is_bound in [false, true] {
            for primitive in primitives(address.bytes()) {
                let whole = primitive.encode();
                (0..=whole.len()).for_each(|len| try_form(provider, is_bound, &whole[..len], &mut random));
            }
        }
    });
    calm();
}

/// The long form is a part of `cargo xtask fuzz`.
#[test]
fn fuzzed_primitives_are_answered() {
    in_own_process!();
    let target = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = InternetAddress::from(target.local_addr().unwrap());
    let (start, seconds) = (Instant::now(), extent("HEADWATER_SECONDS", 1));
    let (mut seed, count) = (setting("HEADWATER_SEED", 1), Cell::new(0u64));
    while start.elapsed().as_secs() < seconds {
        each_provider(|provider| {
            within(PATIENCE, format!("{}: fuzzed primitives, seed {seed}", provider.name));
            let mut random = Random(seed);
            let endpoint = if random.one_in(2) || !provider.can_bind() { provider.open() } else { provider.bound(0).0 };
            for primitive in primitives(address.bytes()) {
                let form = changed(&primitive.encode(), &mut random);
                try_form(provider, random.one_in(2), &form, &mut random);
                // One that has had others before.
                try_out(&endpoint, &changed(&primitive.encode(), &mut random), Some(b"data"), &mut random);
                count.set(count.get() + 2);
            }
        });
        seed += 1;
    }
    calm();
    println!("{} primitives of {} seeds", count.get(), seed - setting("HEADWATER_SEED", 1));
}
