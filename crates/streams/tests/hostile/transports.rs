//! Endpoints of transports whose memory is scribbled at, the provider's own memory above all.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;

use headwater_streams::tpi::{InternetAddress, ManagementFlags, Primitive};
use headwater_streams::{Device, DeviceOptions, Options, Stream};

use crate::common::{self, Random, child, in_own_process, joined};
use crate::{Done, inodes, memory_beside, run_cases, scribble};

/// The memory of any provider's endpoint, which is the last part.
const INSTANCE: u64 = 8 << 10;
/// Where a provider has most of its words: its state, addresses and connections.
const WORDS: u64 = 256;

#[test]
fn scribbled_memory_of_transports_makes_errors_and_nothing_worse() {
    in_own_process!();
    // In a process of its own: it keeps the memory of some peers.
    joined(child(|| {
        run_cases(case);
        Ok(())
    }));
}

fn case(seed: u64) -> Done {
    let mut random = Random(seed);
    let (directory, options) = (common::private_directory(), Options::new());
    let name = random.one_of(&["inet-udp", "inet-tcp", "udp", "ticlts", "ticots", "ticotsord"]);
    let open = || {
        if name.starts_with("inet") {
            Device::open_private(name)
        } else {
            DeviceOptions::new().directory(directory.path()).open(name)
        }
        .expect("known")
    };
    let before = inodes();
    let endpoint = open();
    let memory = memory_beside(&before);
    let len = memory.metadata().expect("fstat").len();
    let other = open();
    let loopback = InternetAddress::from(SocketAddr::from(([127, 0, 0, 1], 0)));
    let wanted = if name.starts_with("tic") { &b"other"[..] } else { loopback.bytes() };
    let mut done = Done::default();
    let mut destination = b"other".to_vec();
    other.putmsg(Some(&Primitive::BindReq { address: wanted, waiting: 3 }.encode()), None).expect("room");
    if let Ok(Primitive::BindAck { address, .. }) =
        Primitive::decode(other.receive().expect("no error").expect("an answer").control().expect("one"))
    {
        destination = address.to_vec();
    }
    let own = if name.starts_with("tic") { &b""[..] } else { loopback.bytes() };
    for end in [&endpoint, &other] {
        end.set_nonblocking(true).expect("arm");
    }
    for round in 0..60 {
        if round > 3 && random.one_in(3) {
            spoil(&memory, len, &options, &mut random);
        }
        let request = match if round == 0 { 0 } else { random.below(12) } {
            0 => Primitive::BindReq { address: own, waiting: random.below(3) as u32 },
            1 => Primitive::UnbindReq,
            2 => Primitive::OptmgmtReq { options: b"", flags: ManagementFlags::CURRENT },
            3 | 4 => Primitive::ConnReq { destination: &destination, options: b"" },
            5 => Primitive::ConnRes { acceptor: random.below(4) as u32, options: b"", sequence: 1 },
            6 => Primitive::DisconReq { sequence: random.one_of(&[1, Primitive::NO_SEQUENCE]) },
            7 => Primitive::AddrReq,
            8 => Primitive::InfoReq,
            9 => Primitive::OrdrelReq,
            _ if matches!(name, "inet-udp" | "udp" | "ticlts") => {
                Primitive::UnitdataReq { destination: &destination, options: b"" }
            }
            _ => Primitive::DataReq { more: false },
        };
        done.note(endpoint.putmsg(Some(&request.encode()), Some(b"data")));
        take(&endpoint, &mut done);
        if random.one_in(4) {
            take(&other, &mut Done::default());
        }
    }
    done
}

fn take(endpoint: &Stream, done: &mut Done) {
    for _ in 0..3 {
        let received = endpoint.receive();
        let is_over = received.is_err() || matches!(received, Ok(None));
        // That nothing is there is no error.
        if !received.as_ref().is_err_and(|error| error.errno() == headwater_streams::Errno::Again) {
            done.note(received.map(drop));
        }
        if is_over {
            break;
        }
    }
}

fn spoil(memory: &File, len: u64, options: &Options, random: &mut Random) {
    // Seldom: it is the end of most streams, and then no provider is asked any more.
    if random.one_in(50) {
        return scribble(memory, len, options, random);
    }
    let within = random.one_of(&[WORDS, INSTANCE]);
    for _ in 0..random.one_of(&[1, 1, 8]) {
        // One provider's memory is a page, another's two.
        let begin = len - random.one_of(&[INSTANCE / 2, INSTANCE]);
        let at = begin + 4 * (random.next() % (within / 4));
        let any = random.next();
        let word = random.one_of(&[0, 1, 3, 9, u64::MAX, 0x0000_0009_0000_0009, any]);
        memory.write_all_at(&word.to_ne_bytes(), at.min(len - 8)).expect("inside");
    }
}
