//! Modules that take plain data without a message around it: the output is the written data as changed by the modules,
//! in its order, on whichever path each write went.

use std::sync::Once;

use crate::common::Random;
use headwater_streams::{
    Errno, Kind, Message, Module, ModuleInfo, Next, Options, Queue, Result, Stream, known_modules, register,
    register_all,
};

/// A module's change of data, and whether it queues the data.
#[derive(Debug, Clone, Copy)]
struct Maker {
    name: &'static str,
    queues: bool,
    /// The pieces that it makes of data.
    make: fn(&[u8]) -> Vec<Vec<u8>>,
}

/// In another buffer; a half at a time; one half in another buffer; twice.
const MAKERS: [Maker; 7] = [
    Maker { name: "upper", queues: false, make: |data| vec![data.to_ascii_uppercase()] },
    Maker { name: "upper-queue", queues: true, make: |data| vec![data.to_ascii_uppercase()] },
    Maker { name: "halves", queues: false, make: halves },
    Maker { name: "halves-queue", queues: true, make: halves },
    Maker { name: "half-upper", queues: false, make: half_upper },
    Maker { name: "twice", queues: false, make: |data| vec![data.to_vec(), data.to_vec()] },
    Maker { name: "twice-queue", queues: true, make: |data| vec![data.to_vec(), data.to_vec()] },
];

fn halves(data: &[u8]) -> Vec<Vec<u8>> {
    let (first, second) = data.split_at(data.len() / 2);
    [first, second].into_iter().filter(|half| !half.is_empty()).map(<[u8]>::to_vec).collect()
}

fn half_upper(data: &[u8]) -> Vec<Vec<u8>> {
    let mut halves = halves(data);
    halves[0].make_ascii_uppercase();
    halves
}

impl Maker {
    /// The pieces, as parts of the data itself where they are the same.
    fn pieces<'d>(&self, data: &'d [u8], mut piece: impl FnMut(&'d [u8]) -> Result<()>) -> Result<()> {
        let mut at = 0;
        for made in (self.make)(data) {
            let part = data.get(at..at + made.len()).filter(|part| **part == made[..]);
            at += made.len();
            match part {
                Some(part) => piece(part)?,
                None => piece(Box::leak(made.into_boxed_slice()))?,
            }
        }
        Ok(())
    }
}

impl Module for Maker {
    fn info(&self) -> ModuleInfo {
        let mut info = ModuleInfo::new(self.name).data();
        info.services = [self.queues; 2];
        info
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if message.header.kind != Kind::Data {
            return queue.put_next(message);
        }
        for made in (self.make)(message.data().unwrap_or_default()) {
            let mut piece = message.clone();
            *piece.data_mut() = made;
            if self.queues { queue.put_queue(piece)? } else { queue.put_next(piece)? }
        }
        Ok(())
    }

    fn put_data(&self, data: &[u8], mut next: Next<'_, '_>) -> Result<()> {
        self.pieces(data, |piece| if self.queues { next.queue(piece) } else { next.put(piece) })
    }
}

fn know() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| MAKERS.into_iter().for_each(|maker| register(maker).expect("new")));
}

fn with_modules(names: &[&str], hiwat: u32) -> (Stream, Stream) {
    know();
    let (near, far) = Options::new().hiwat(hiwat).lowat(hiwat / 2).pipe().expect("pipe");
    names.iter().for_each(|name| near.push(name).expect("known"));
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

/// The written data as changed by the modules, the last one first.
fn expected(names: &[&str], written: &[u8]) -> Vec<u8> {
    let mut pieces = vec![written.to_vec()];
    for name in names.iter().rev() {
        let make = MAKERS.iter().find(|maker| maker.name == *name).map(|maker| maker.make);
        pieces = pieces.iter().flat_map(|piece| make.map_or_else(|| vec![piece.clone()], |make| make(piece))).collect();
    }
    pieces.concat()
}

#[test]
fn data_goes_through_modules_in_its_order_whichever_way_it_takes() {
    let names: Vec<&str> = MAKERS.iter().map(|maker| maker.name).chain(["srvmod", "nullmod", "testmod"]).collect();
    let mut service_runs = 0;
    for seed in 0..300 {
        let mut random = Random(seed);
        let modules: Vec<&str> = (0..random.below(5)).map(|_| random.one_of(&names)).collect();
        let hiwat = random.one_of(&[50, 2000, 65536]);
        let (near, far) = with_modules(&modules, hiwat);
        let (mut wanted, mut got) = (Vec::new(), Vec::new());
        for _ in 0..400 {
            if random.one_in(3) {
                let mut buffer = vec![0; 1 + random.below(3000)];
                match far.read(&mut buffer) {
                    Ok(count) => got.extend_from_slice(&buffer[..count]),
                    Err(error) => assert_eq!(error.errno(), Errno::Again),
                }
            } else {
                let bytes: Vec<u8> = (0..1 + random.below(200)).map(|_| b'a' + random.below(26) as u8).collect();
                match near.write(&bytes) {
                    Ok(count) => {
                        assert_eq!(count, bytes.len());
                        wanted.extend(expected(&modules, &bytes));
                    }
                    Err(error) => assert_eq!(error.errno(), Errno::Again, "{error}"),
                }
            }
        }
        service_runs += near.counters().service_runs;
        drop(near);
        loop {
            let mut buffer = [0; 5000];
            match far.read(&mut buffer).expect("data or the end") {
                0 => break,
                count => got.extend_from_slice(&buffer[..count]),
            }
        }
        assert_eq!(got.len(), wanted.len(), "seed {seed}, {modules:?}, hiwat {hiwat}");
        assert!(got == wanted, "seed {seed}, {modules:?}, hiwat {hiwat}");
    }
    assert!(service_runs > 1000);
}

#[test]
fn a_service_module_is_served_once_for_each_write() {
    let (near, far) = with_modules(&["srvmod", "nullmod", "srvmod"], 1 << 16);
    for count in 1..=100 {
        near.write(b"data").expect("room");
        assert_eq!(near.counters().service_runs, 2 * count);
    }
    let mut buffer = [0; 400];
    assert_eq!(far.read(&mut buffer).expect("there"), 400);
}

/// Sends each message 300 times.
#[derive(Debug)]
struct Flood;

impl Module for Flood {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("flood").data()
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        (0..300).try_for_each(|_| queue.put_next(message.clone()))
    }

    fn put_data(&self, data: &[u8], mut next: Next<'_, '_>) -> Result<()> {
        (0..300).try_for_each(|_| next.put(data))
    }
}

#[test]
fn a_module_that_makes_more_than_there_is_room_for_is_told_and_spoils_nothing() {
    register(Flood).expect("new");
    let (near, far) = with_modules(&["flood"], 2000);
    let block = [7; 5000];
    // As a message, then as plain data.
    near.write(&[7; 1]).expect("300 bytes");
    for _ in 0..2 {
        let error = near.write(&block).expect_err("1.5 MB");
        assert_eq!(error.errno(), Errno::Nosr, "{error}");
        let mut count = 0;
        let mut buffer = [0; 4096];
        while let Ok(read) = far.read(&mut buffer) {
            assert!(buffer[..read].iter().all(|byte| *byte == 7));
            count += read;
        }
        assert!(count > 100_000);
        near.write(&[7; 1]).expect("room again");
    }
}

#[test]
fn a_full_module_refuses_and_loses_nothing_however_small_the_messages_are() {
    let (near, far) = with_modules(&["srvmod", "upper-queue"], 100);
    let mut wanted = Vec::new();
    for round in 0..5 {
        loop {
            let byte = b'A' + (wanted.len() % 26) as u8;
            match near.write(&[byte]) {
                Ok(_) => wanted.push(byte),
                Err(error) => {
                    assert_eq!(error.errno(), Errno::Again, "{error}");
                    break;
                }
            }
        }
        assert!(wanted.len() > 1000, "more than the head takes");
        let mut got = Vec::new();
        let mut buffer = [0; 7];
        while let Ok(count) = far.read(&mut buffer) {
            got.extend_from_slice(&buffer[..count]);
        }
        assert!(got == wanted, "round {round}");
        wanted.clear();
    }
}

#[test]
fn who_waits_for_room_goes_on_when_a_module_is_pushed_in_between() {
    let (near, far) = with_modules(&["srvmod"], 2000);
    let (mut sent, mut got, mut buffer) = (0, 0, [0; 300]);
    while let Ok(count) = near.write(&[1; 400]) {
        sent += count;
    }
    // From now on it is this module's queue that has room first.
    far.push("srvmod").expect("known");
    while let Ok(count) = far.read(&mut buffer) {
        got += count;
    }
    assert_eq!(got, sent, "the rest waits in the writer's module");
    near.write(b"room").expect("all is read");
}

#[test]
fn the_modules_of_a_crate_are_registered_all_or_none() {
    #[derive(Debug)]
    struct Named(&'static str);
    impl Module for Named {
        fn info(&self) -> ModuleInfo {
            ModuleInfo::new(self.0)
        }
    }
    #[derive(Debug)]
    struct Other;
    impl Module for Other {
        fn info(&self) -> ModuleInfo {
            ModuleInfo::new("both-2")
        }
    }
    static BOTH: &[&dyn Module] = &[&Named("both-1"), &Named("both-2")];
    static CLASHING: &[&dyn Module] = &[&Named("both-3"), &Other];
    for _ in 0..2 {
        register_all(BOTH, &[]).expect("its own names");
    }
    assert_eq!(register_all(CLASHING, &[]).expect_err("another both-2").errno(), Errno::Busy);
    let known = known_modules();
    assert!(known.contains(&"both-1") && known.contains(&"both-2") && !known.contains(&"both-3"));
}
