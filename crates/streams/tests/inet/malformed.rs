//! Primitives that are none: whatever a user sends is answered, or ends the stream by M_ERROR, and never this process.

use std::net::UdpSocket;
use std::time::Duration;

use headwater_streams::tpi::{InternetAddress, ManagementFlags, Primitive, PrimitiveNumber};
use headwater_streams::{Errno, Events, Priority, Stream};

use crate::common::{Random, alone, setting, within};
use crate::{PATIENCE, bound_to, open};

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

#[test]
fn every_truncation_of_every_primitive_and_many_changes_are_answered() {
    let _alone = alone();
    within(PATIENCE, "malformed primitives".to_owned());
    let target = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = InternetAddress::from(target.local_addr().unwrap());
    let mut random = Random(setting("HEADWATER_SEED", 1));
    for driver in ["inet-udp", "inet-tcp", "inet-rawip"] {
        for is_bound in [false, true] {
            for primitive in primitives(address.bytes()) {
                let whole = primitive.encode();
                let mut forms: Vec<Vec<u8>> = (0..=whole.len()).map(|len| whole[..len].to_vec()).collect();
                for _ in 0..setting("HEADWATER_ROUNDS", 20) {
                    let mut changed = whole.clone();
                    for _ in 0..=random.below(3) {
                        let at = random.below(changed.len());
                        changed[at] = random.one_of(&[0, 1, 0x7f, 0x80, 0xff, 17]);
                    }
                    forms.push(changed);
                }
                for form in forms {
                    let is_possible = is_bound && driver != "inet-rawip";
                    let endpoint = if is_possible { bound_to(driver, "127.0.0.1:0", 0).0 } else { open(driver) };
                    let data = random.one_of(&[None, Some(&b"data"[..]), Some(b"")]);
                    try_out(&endpoint, &form, data, &mut random);
                }
            }
        }
    }
}
