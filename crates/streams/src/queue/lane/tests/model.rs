//! Random uses of a lane by two writers and two readers, against a queue of messages that is simple enough to be
//! trusted.

use proptest::prelude::*;

use super::*;

/// One use. `who` is the index of its writer or reader.
#[derive(Debug, Clone)]
enum Op {
    Plain {
        who: usize,
        len: usize,
        quick: bool,
        open: bool,
    },
    Message {
        who: usize,
        header: MessageHeader,
        control: Option<usize>,
        data: Option<usize>,
        open: bool,
    },
    /// Takes from the front, so much of plain data, or of the parts of a message.
    Take {
        who: usize,
        control: usize,
        data: usize,
        all: bool,
        look: bool,
        open: bool,
    },
    Quick {
        who: usize,
        len: usize,
    },
    Flush {
        who: usize,
    },
    /// Another member takes the place of one that ended between two stores of an operation with two.
    WriterDies {
        who: usize,
        len: u32,
    },
    TakerDies {
        who: usize,
        control: usize,
        data: usize,
    },
    DropperDies {
        who: usize,
    },
}

fn ops(len_max: usize) -> impl Strategy<Value = Vec<Op>> {
    let who = || 0..2usize;
    let len = move || prop_oneof![1 => Just(0), 8 => 0..len_max.min(20), 4 => 0..len_max + 2];
    let part = move || prop_oneof![1 => Just(None), 3 => len().prop_map(Some)];
    let header = (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(proto, delimited, marked)| MessageHeader {
        kind: if proto { Kind::Proto } else { Kind::Data },
        band: 0,
        whole: false,
        delimited,
        marked,
        turned: false,
    });
    let op = prop_oneof![
        6 => (who(), len(), any::<bool>(), any::<bool>())
            .prop_map(|(who, len, quick, open)| Op::Plain { who, len, quick, open }),
        6 => (who(), header, part(), part(), any::<bool>())
            .prop_map(|(who, header, control, data, open)| Op::Message { who, header, control, data, open }),
        10 => (who(), len(), len(), any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(who, control, data, all, look, open)| Op::Take { who, control, data, all, look, open }),
        4 => (who(), len()).prop_map(|(who, len)| Op::Quick { who, len }),
        1 => who().prop_map(|who| Op::Flush { who }),
        1 => (who(), 0..9u32).prop_map(|(who, len)| Op::WriterDies { who, len }),
        2 => (who(), len(), len()).prop_map(|(who, control, data)| Op::TakerDies { who, control, data }),
        1 => who().prop_map(|who| Op::DropperDies { who }),
    ];
    // Runs of one member give it the bias, and so the fast path.
    let run = (op, 1..4usize).prop_map(|(op, times)| vec![op; times]);
    prop::collection::vec(run, 1..120).prop_map(|runs| runs.concat())
}

fn sizes(window: impl Strategy<Value = usize>, least: usize) -> impl Strategy<Value = Sizes> {
    window.prop_flat_map(move |window| (Just(window), least..window)).prop_flat_map(|(window, message_max)| {
        let hiwat = (window - message_max) as u32;
        (0..=hiwat + 2, 0..=hiwat + 2).prop_map(move |(hiwat, lowat)| Sizes {
            window,
            message_max,
            hiwat,
            lowat: lowat.min(hiwat),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Windows so small that everything wraps and is full all the time.
    #[test]
    fn a_small_lane_is_a_queue(
        sizes in sizes((3..9u32).prop_map(|log2| 1 << log2), 2),
        coalescing in any::<bool>(),
        ops in ops(40),
    ) {
        World::new(sizes, coalescing).run(ops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// With the fast path, and messages of several pieces.
    #[test]
    fn a_large_lane_is_a_queue(
        sizes in sizes(Just(32 << 10), PIECE),
        coalescing in prop_oneof![3 => Just(true), 1 => Just(false)],
        ops in ops(12_000),
    ) {
        World::new(sizes, coalescing).run(ops);
    }
}

/// A waiting entry of the model.
#[derive(Debug)]
enum Item {
    Plain(VecDeque<u8>),
    Record(Waiting),
}

#[derive(Debug)]
struct Waiting {
    header: MessageHeader,
    control: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
    control_taken: usize,
    data_taken: usize,
}

fn left(part: Option<&Vec<u8>>, taken: usize) -> &[u8] {
    part.map_or(&[], |bytes| &bytes[taken..])
}

impl Waiting {
    fn control_left(&self) -> &[u8] {
        left(self.control.as_ref(), self.control_taken)
    }

    fn data_left(&self) -> &[u8] {
        left(self.data.as_ref(), self.data_taken)
    }

    fn is_empty(&self) -> bool {
        self.control_left().is_empty() && self.data_left().is_empty()
    }

    /// Bytes of the window that it occupies, from its first byte that was not taken.
    fn count(&self) -> usize {
        let len = |part: Option<&Vec<u8>>| part.map_or(0, Vec::len);
        match (self.control_left().len(), self.data_left().len()) {
            (0, 0) => (len(self.control.as_ref()) + len(self.data.as_ref())).max(1),
            (0, data) => data,
            (control, _) => control + len(self.data.as_ref()),
        }
    }
}

struct World {
    room: Room,
    writers: [Writer; 2],
    readers: [Reader; 2],
    coalescing: bool,
    model: VecDeque<Item>,
    full: bool,
    /// So that each byte differs from its neighbours, and most from those a window before.
    written: u32,
    looks: bool,
}

impl World {
    fn new(sizes: Sizes, coalescing: bool) -> World {
        let room = Room::new(sizes);
        let writers = [(); 2].map(|()| Writer { coalescing, ..room.writer() });
        let readers = [(); 2].map(|()| room.reader());
        World { room, writers, readers, coalescing, model: VecDeque::new(), full: false, written: 0, looks: false }
    }

    fn run(&mut self, ops: Vec<Op>) {
        for op in ops {
            match op {
                Op::Plain { who, len, quick, open } => self.plain(who, len, quick, open),
                Op::Message { who, header, control, data, open } => self.message(who, header, control, data, open),
                Op::Take { who, control, data, all, look, open } => self.take(who, control, data, all, look, open),
                Op::Quick { who, len } => self.quick(who, len),
                Op::Flush { who } => {
                    self.readers[who].held(|lane| lane.flush()).expect("flush");
                    self.model.clear();
                }
                Op::WriterDies { who, len } => self.writer_dies(who, len),
                Op::TakerDies { who, control, data } => self.taker_dies(who, control, data),
                Op::DropperDies { who } => self.dropper_dies(who),
            }
            assert_eq!(self.readers[0].lane.bytes_there() as usize, self.count());
        }
        while !self.model.is_empty() {
            self.take(0, usize::MAX, usize::MAX, false, true, true);
        }
        assert!(self.readers[0].front().is_none());
        assert!(self.room.guards_stand());
    }

    fn count(&self) -> usize {
        let count = |item: &Item| match item {
            Item::Plain(bytes) => bytes.len(),
            Item::Record(message) => message.count(),
        };
        self.model.iter().map(count).sum()
    }

    /// Bytes for flow control: less than lie in the window, where data was taken before control.
    fn queued(&self) -> usize {
        let early = match self.model.front() {
            Some(Item::Record(message)) if !message.control_left().is_empty() => message.data_taken,
            _ => 0,
        };
        self.count() - early
    }

    /// Full above hiwat when a caller asks, and open again below lowat, or when empty.
    fn has_room(&mut self) -> bool {
        let Sizes { window, message_max, hiwat, lowat } = self.room.sizes;
        let hiwat = (hiwat as usize).min(window - message_max);
        let (count, lowat) = (self.queued(), (lowat as usize).min(hiwat));
        self.full = if self.full { count != 0 && count >= lowat } else { count > hiwat };
        let records = self.model.iter().filter(|item| matches!(item, Item::Record(_))).count();
        !self.full && records <= RECORDS - CUT_MAX && self.count() <= window - message_max
    }

    fn fresh(&mut self, len: usize) -> Vec<u8> {
        let bytes = (self.written..self.written + len as u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8);
        self.written += len as u32;
        bytes.collect()
    }

    fn push_plain(&mut self, bytes: Vec<u8>) {
        if !self.coalescing {
            return self.push(MessageHeader::of(Kind::Data), None, Some(bytes));
        }
        match self.model.back_mut() {
            _ if bytes.is_empty() => {}
            Some(Item::Plain(run)) => run.extend(bytes),
            _ => self.model.push_back(Item::Plain(bytes.into())),
        }
    }

    fn push(&mut self, header: MessageHeader, control: Option<Vec<u8>>, data: Option<Vec<u8>>) {
        self.model.push_back(Item::Record(Waiting { header, control, data, control_taken: 0, data_taken: 0 }));
    }

    fn plain(&mut self, who: usize, len: usize, quick: bool, open: bool) {
        let (bytes, count) = (self.fresh(len), self.count());
        let writer = &mut self.writers[who];
        if quick && writer.lane.quick(&writer.me, &bytes) != Quick::Refused {
            assert!(self.coalescing && !bytes.is_empty() && len <= self.room.sizes.message_max);
            assert!(!self.full && count <= self.room.sizes.hiwat as usize);
            return self.push_plain(bytes);
        }
        self.append(who, open, len, |lane| lane.append_plain(&bytes), |world| world.push_plain(bytes.clone()));
    }

    fn message(&mut self, who: usize, header: MessageHeader, control: Option<usize>, data: Option<usize>, open: bool) {
        let len = control.unwrap_or(0) + data.unwrap_or(0);
        let (control, data) = (control.map(|len| self.fresh(len)), data.map(|len| self.fresh(len)));
        self.append(
            who,
            open,
            len,
            |lane| lane.append(header, control.as_deref(), data.as_deref()),
            |world| world.push(header, control.clone(), data.clone()),
        );
    }

    fn append(
        &mut self,
        who: usize,
        open: bool,
        len: usize,
        append: impl FnOnce(&mut WriterGuard<'_>) -> Result<()>,
        push: impl FnOnce(&mut World),
    ) {
        let expected = self.has_room();
        let mut lane = self.writers[who].hold().expect("hold");
        let room = lane.has_room().expect("has_room");
        assert_eq!(room, expected);
        let appended = room.then(|| append(&mut lane));
        lane.open(if open { Open::Direct } else { Open::Closed });
        drop(lane);
        match appended {
            None => assert!(!self.writers[who].lane.may_go_on(), "a writer without room would not sleep"),
            Some(Ok(())) => {
                assert!(len <= self.room.sizes.message_max);
                push(self);
            }
            Some(Err(error)) => {
                assert_eq!(error.errno(), Errno::Range);
                assert!(len > self.room.sizes.message_max);
            }
        }
    }

    fn quick(&mut self, who: usize, len: usize) {
        let mut buffer = vec![0; len];
        let reader = &mut self.readers[who];
        // Every other time after a look.
        self.looks = !self.looks;
        let taken = match self.looks {
            true => reader.lane.look_and_take(&reader.me, &mut buffer, || true).expect("sound"),
            false => reader.lane.quick(&reader.me, &mut buffer),
        };
        if taken != Quick::Refused {
            self.pop_plain(&buffer);
        }
    }

    fn pop_plain(&mut self, taken: &[u8]) {
        pop_plain(&mut self.model, taken);
    }

    fn take(&mut self, who: usize, control: usize, data: usize, all: bool, look: bool, open: bool) {
        let count = self.count();
        let Reader { me, lane } = &mut self.readers[who];
        let (mut lane, _) = lane.hold(me).expect("hold");
        if look {
            lane.look().expect("look");
            assert_eq!(lane.known() as usize, count);
        }
        let model = &mut self.model;
        match lane.find().and_then(|()| lane.front()).expect("front") {
            None => assert!(model.is_empty()),
            Some(LaneFront::Plain(there)) => take_plain(&mut lane, model, there as usize, data, all, look),
            Some(LaneFront::Record(message)) => take_message(&mut lane, model, &message, control, data, all),
        }
        lane.open(open);
    }

    fn writer_dies(&mut self, who: usize, len: u32) {
        let expected = self.has_room();
        let mut lane = self.writers[who].hold().expect("hold");
        let room = lane.has_room().expect("has_room");
        assert_eq!(room, expected);
        if room {
            self.room.publish_mark_alone(len);
        }
        drop(lane);
        self.writers[who] = Writer { coalescing: self.coalescing, ..self.room.writer() };
    }

    /// It stores in the mark what it has taken, and dies before it releases the room.
    fn taker_dies(&mut self, who: usize, control: usize, data: usize) {
        let front = self.readers[who].front();
        if let (Some(LaneFront::Record(_)), Some(Item::Record(waiting))) = (front, self.model.front_mut()) {
            let control = waiting.control_taken + control.min(waiting.control_left().len());
            let data = waiting.data_taken + data.min(waiting.data_left().len());
            let before = (waiting.control_taken, waiting.data_taken);
            (waiting.control_taken, waiting.data_taken) = (control, data);
            if waiting.is_empty() {
                (waiting.control_taken, waiting.data_taken) = before;
            } else {
                let records = self.room.words().head.0.records.load(Ordering::Relaxed);
                let taken = control as u64 | (data as u64) << 32;
                self.room.records()[records as usize % RECORDS].taken.store(taken, Ordering::Relaxed);
            }
        }
        self.readers[who] = self.room.reader();
        // The next reader computes the position from the mark.
        let _ = self.readers[who].front();
    }

    /// It releases the room of a message, and dies before it counts the mark.
    fn dropper_dies(&mut self, who: usize) {
        if let Some(LaneFront::Record(message)) = self.readers[who].front() {
            self.room.words().head.0.early.store(0, Ordering::Relaxed);
            self.room.words().head.0.bytes.store(message.end(), Ordering::Relaxed);
            self.model.pop_front();
        }
        self.readers[who] = self.room.reader();
    }
}

fn flat(parts: [&[AtomicU8]; 2]) -> Vec<u8> {
    parts.into_iter().flatten().map(|byte| byte.load(Ordering::Relaxed)).collect()
}

fn pop_plain(model: &mut VecDeque<Item>, taken: &[u8]) {
    let Some(Item::Plain(run)) = model.front_mut() else { panic!("plain data out of its order") };
    assert!(taken.len() <= run.len());
    assert!(run.drain(..taken.len()).eq(taken.iter().copied()));
    if run.is_empty() {
        model.pop_front();
    }
}

fn take_plain(
    lane: &mut ReaderGuard<'_>,
    model: &mut VecDeque<Item>,
    there: usize,
    most: usize,
    in_place: bool,
    look: bool,
) {
    let Some(Item::Plain(run)) = model.front() else { panic!("plain data out of its order") };
    assert!(there > 0 && there <= run.len());
    assert!(!look || there == run.len());
    let mut buffer = vec![0; most.min(there + 1)];
    let count = lane.peek_plain(&mut buffer);
    assert_eq!(count, most.min(there));
    assert!(run.range(..count).eq(&buffer[..count]));
    assert_eq!(flat(lane.plain_in_place(&Kept(()), most)), buffer[..count]);
    if in_place {
        lane.drop_plain(most);
    } else {
        buffer.fill(0);
        assert_eq!(lane.take_plain(&mut buffer), count);
    }
    if !in_place || count > 0 {
        buffer.truncate(count);
        pop_plain(model, &buffer);
    }
}

fn take_message(
    lane: &mut ReaderGuard<'_>,
    model: &mut VecDeque<Item>,
    message: &Record,
    control: usize,
    data: usize,
    all: bool,
) {
    let Some(Item::Record(waiting)) = model.front_mut() else { panic!("a message out of its order") };
    assert_eq!(message.header, waiting.header);
    assert_eq!(message.control.is_some(), waiting.control.is_some());
    assert_eq!(message.data.is_some(), waiting.data.is_some());
    let mut buffer = vec![0; control.min(waiting.control_left().len() + 1)];
    let control = lane.copy_control(message, &mut buffer);
    assert_eq!(control, buffer.len().min(waiting.control_left().len()));
    assert_eq!(buffer[..control], waiting.control_left()[..control]);
    let mut buffer = vec![0; data.min(waiting.data_left().len() + 1)];
    let data = lane.copy_data(message, &mut buffer);
    assert_eq!(data, buffer.len().min(waiting.data_left().len()));
    assert_eq!(buffer[..data], waiting.data_left()[..data]);
    assert_eq!(flat(lane.data_in_place(&Kept(()), message)), waiting.data_left());
    lane.take_parts(message, Some(control), Some(data), all).expect("take_parts");
    waiting.control_taken += control;
    waiting.data_taken += data;
    if all || waiting.is_empty() {
        model.pop_front();
    }
}
