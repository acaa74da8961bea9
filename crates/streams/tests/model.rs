//! A stream against a naive model: any sequence of calls gives what a list of messages would give, under every policy and
//! with modules in between.

mod common;

use std::collections::VecDeque;

use headwater_streams::{
    ControlMode, Errno, Flush, MessageFilter, Options, Policy, Priority, ReadMode, ReadOptions, Received, Stream,
};
use proptest::prelude::*;

/// One call.
#[derive(Debug, Clone)]
enum Call {
    Write(usize),
    Put { control: Option<usize>, data: Option<usize>, band: u8 },
    PutHigh { control: usize, data: Option<usize> },
    Read(usize),
    Get { control: Option<usize>, data: Option<usize>, select: MessageFilter },
    Peek(MessageFilter),
    ReadMode(ReadMode),
    ControlMode(ControlMode),
    Flush(Option<u8>),
    CanPut(u8),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let size = || prop_oneof![0..5usize, 0..40usize, 200..600usize];
    let part = move || prop::option::weighted(0.8, size());
    let band = || prop_oneof![Just(0u8), 0..4u8, Just(255u8)];
    let select = move || prop_oneof![4 => Just(MessageFilter::Any), 1 => Just(MessageFilter::HighPriority), 1 => band().prop_map(MessageFilter::Band)];
    let mode = prop_oneof![
        2 => Just(ReadMode::Bytes),
        1 => Just(ReadMode::MessageKeep),
        1 => Just(ReadMode::MessageDiscard)
    ];
    let control = prop_oneof![Just(ControlMode::Refuse), Just(ControlMode::AsData), Just(ControlMode::Discard)];
    prop::collection::vec(
        prop_oneof![
            6 => size().prop_map(Call::Write),
            4 => (part(), part(), band()).prop_map(|(control, data, band)| Call::Put { control, data, band }),
            1 => (size(), part()).prop_map(|(control, data)| Call::PutHigh { control, data }),
            6 => size().prop_map(Call::Read),
            5 => (part(), part(), select()).prop_map(|(control, data, select)| Call::Get { control, data, select }),
            1 => select().prop_map(Call::Peek),
            1 => mode.prop_map(Call::ReadMode),
            1 => control.prop_map(Call::ControlMode),
            1 => prop::option::of(band()).prop_map(Call::Flush),
            2 => band().prop_map(Call::CanPut),
        ],
        1..120,
    )
}

#[derive(Debug, Clone)]
struct Message {
    /// Above all bands: 256.
    rank: u16,
    /// Plain writes may be appended.
    plain: bool,
    control: Option<VecDeque<u8>>,
    data: Option<VecDeque<u8>>,
}

impl Message {
    fn left(&self) -> usize {
        self.control.as_ref().map_or(0, VecDeque::len) + self.data.as_ref().map_or(0, VecDeque::len)
    }

    /// Its bytes in flow control. In a lane one without bytes takes a place.
    fn weight(&self, lane: bool) -> usize {
        if lane && self.rank == 0 { self.left().max(1) } else { self.left() }
    }
}

/// The expected behaviour of the stream.
struct Model {
    queue: Vec<Message>,
    policy: Policy,
    hiwat: usize,
    lowat: usize,
    full: [bool; 256],
    read: ReadOptions,
    next: u8,
}

type Parts = (Option<Vec<u8>>, Option<Vec<u8>>);

impl Model {
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len)
            .map(|_| {
                self.next = self.next.wrapping_add(1);
                self.next
            })
            .collect()
    }

    fn can_put(&mut self, band: u8) -> bool {
        let of_band = self.queue.iter().filter(|message| message.rank == u16::from(band));
        let count: usize = of_band.map(|message| message.weight(self.policy.lane)).sum();
        let low = count == 0 || count < self.lowat;
        let full = &mut self.full[usize::from(band)];
        *full = if *full { !low } else { count > self.hiwat };
        !*full
    }

    fn insert(&mut self, message: Message) {
        let at = self.queue.iter().position(|other| other.rank < message.rank).unwrap_or(self.queue.len());
        self.queue.insert(at, message);
    }

    fn send(&mut self, rank: u16, plain: bool, control: Option<&[u8]>, data: Option<&[u8]>) {
        let own = |part: Option<&[u8]>| part.map(|bytes| bytes.iter().copied().collect::<VecDeque<u8>>());
        self.insert(Message { rank, plain, control: own(control), data: own(data) });
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if !self.can_put(0) {
            return Err(Errno::Again);
        }
        let coalescing = self.policy.coalescing && self.policy.lane && self.read.mode == ReadMode::Bytes;
        match self.queue.last_mut() {
            Some(last) if coalescing && last.rank == 0 && last.plain => {
                last.data.as_mut().expect("plain bytes are data").extend(bytes);
            }
            _ => self.send(0, coalescing, None, Some(bytes)),
        }
        Ok(bytes.len())
    }

    fn put(&mut self, control: Option<&[u8]>, data: Option<&[u8]>, band: u8) -> Result<(), Errno> {
        // Neither nothing nor data without bytes is sent.
        if control.is_none() && data.is_none_or(<[u8]>::is_empty) {
            return Ok(());
        }
        if !self.can_put(band) {
            return Err(Errno::Again);
        }
        self.send(u16::from(band), false, control, data);
        Ok(())
    }

    fn put_high(&mut self, control: &[u8], data: Option<&[u8]>) {
        if !self.queue.iter().any(|message| message.rank == 256) {
            self.send(256, false, Some(control), data);
        }
    }

    fn read(&mut self, len: usize) -> Result<Vec<u8>, Errno> {
        let mut read = Vec::new();
        if len == 0 {
            return Ok(read);
        }
        let ReadOptions { mode, control, .. } = self.read;
        loop {
            let Some(first) = self.queue.first_mut() else {
                return if read.is_empty() { Err(Errno::Again) } else { Ok(read) };
            };
            if first.plain {
                let data = first.data.as_mut().expect("plain bytes are data");
                read.extend(data.drain(..data.len().min(len - read.len())));
                if data.is_empty() || mode == ReadMode::MessageDiscard {
                    self.queue.remove(0);
                }
                if read.len() == len || mode != ReadMode::Bytes {
                    return Ok(read);
                }
                continue;
            }
            if first.control.is_some() && control == ControlMode::Refuse {
                return if read.is_empty() { Err(Errno::Badmsg) } else { Ok(read) };
            }
            let discarded = first.control.is_some() && control == ControlMode::Discard;
            let controls = if discarded { 0 } else { first.control.as_ref().map_or(0, VecDeque::len) };
            let datas = first.data.as_ref().map_or(0, VecDeque::len);
            if controls + datas == 0 {
                // A message whose only part, a control part, is discarded leaves nothing, not even a message without
                // bytes.
                let ends = first.data.is_some() || !discarded;
                if ends && !read.is_empty() {
                    return Ok(read);
                }
                self.queue.remove(0);
                if ends {
                    return Ok(read);
                }
                continue;
            }
            if discarded {
                first.control = None;
            }
            for part in [&mut first.control, &mut first.data] {
                let Some(bytes) = part else { continue };
                read.extend(bytes.drain(..bytes.len().min(len - read.len())));
                if bytes.is_empty() {
                    *part = None;
                }
            }
            if first.control.is_none() && first.data.is_none() || mode == ReadMode::MessageDiscard {
                self.queue.remove(0);
            }
            if read.len() == len || mode != ReadMode::Bytes {
                return Ok(read);
            }
        }
    }

    fn get(
        &mut self,
        control: Option<usize>,
        data: Option<usize>,
        select: MessageFilter,
        take: bool,
    ) -> Result<(Parts, bool, bool), Errno> {
        let Some(first) = self.queue.first_mut() else { return Err(Errno::Again) };
        let wanted = match select {
            MessageFilter::Any => true,
            MessageFilter::HighPriority => first.rank == 256,
            MessageFilter::Band(band) => first.rank >= u16::from(band),
        };
        if !wanted {
            return Err(Errno::Again);
        }
        let mut copy = first.clone();
        let part = |part: &mut Option<VecDeque<u8>>, most: Option<usize>| {
            let (bytes, most) = (part.as_mut()?, most?);
            let taken = bytes.drain(..bytes.len().min(most)).collect::<Vec<u8>>();
            if bytes.is_empty() {
                *part = None;
            }
            Some(taken)
        };
        let parts = (part(&mut copy.control, control), part(&mut copy.data, data));
        let more = (copy.control.is_some(), copy.data.is_some());
        if take {
            if more.0 || more.1 { *first = copy } else { drop(self.queue.remove(0)) }
        }
        Ok((parts, more.0, more.1))
    }

    fn flush(&mut self, band: Option<u8>) {
        self.queue.retain(|message| band.is_some_and(|band| message.rank != u16::from(band)));
    }
}

fn get(
    stream: &Stream,
    control: Option<usize>,
    data: Option<usize>,
    select: MessageFilter,
    take: bool,
) -> Result<(Parts, bool, bool), Errno> {
    let (mut control, mut data) = (control.map(|len| vec![0; len]), data.map(|len| vec![0; len]));
    let got = if take {
        stream.getpmsg(control.as_deref_mut(), data.as_deref_mut(), select).map(Some)
    } else {
        stream.peek(control.as_deref_mut(), data.as_deref_mut(), select)
    };
    let Some(Received { control: control_len, data: data_len, more_control, more_data, .. }) =
        got.map_err(|error| error.errno())?
    else {
        return Err(Errno::Nodata);
    };
    let cut = |part: Option<Vec<u8>>, len: Option<usize>| len.map(|len| part.expect("asked for")[..len].to_vec());
    Ok(((cut(control, control_len), cut(data, data_len)), more_control, more_data))
}

/// Makes the calls on a stream and on the model.
fn agree(policy: Policy, modules: &[&str], calls: Vec<Call>) {
    let options = Options::new().hiwat(1000).lowat(300).maxpsz(4096).policy(policy);
    let (near, far) = options.pipe().expect("pipe");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    modules.iter().for_each(|name| near.push(name).expect("known"));
    let lowat = if policy.hysteresis { 300 } else { 1001 };
    let read = ReadOptions::default();
    let mut model = Model { queue: Vec::new(), policy, hiwat: 1000, lowat, full: [false; 256], read, next: 0 };
    for (number, call) in calls.into_iter().enumerate() {
        let told = format!("call {number}: {call:?}");
        match call {
            Call::Write(len) => {
                let bytes = model.bytes(len);
                let wrote = near.write(&bytes).map_err(|error| error.errno());
                assert_eq!(wrote, model.write(&bytes), "{told}");
            }
            Call::Put { control, data, band } => {
                let (control, data) = (control.map(|len| model.bytes(len)), data.map(|len| model.bytes(len)));
                let put = near.putpmsg(control.as_deref(), data.as_deref(), band).map_err(|error| error.errno());
                assert_eq!(put, model.put(control.as_deref(), data.as_deref(), band), "{told}");
            }
            Call::PutHigh { control, data } => {
                let (control, data) = (model.bytes(control), data.map(|len| model.bytes(len)));
                near.putpmsg(Some(&control), data.as_deref(), Priority::High).expect("never waits");
                model.put_high(&control, data.as_deref());
            }
            Call::Read(len) => {
                let mut buffer = vec![0; len];
                let read = far.read(&mut buffer).map(|count| buffer[..count].to_vec()).map_err(|error| error.errno());
                assert_eq!(read, model.read(len), "{told}");
            }
            Call::Get { control, data, select } => {
                assert_eq!(get(&far, control, data, select, true), model.get(control, data, select, true), "{told}");
            }
            Call::Peek(select) => {
                let peeked = get(&far, Some(9), Some(9), select, false).map_err(|_| ());
                assert_eq!(peeked, model.get(Some(9), Some(9), select, false).map_err(|_| ()), "{told}");
            }
            Call::ReadMode(mode) => {
                model.read.mode = mode;
                far.settings().set_read_options(model.read).expect("fine");
            }
            Call::ControlMode(control) => {
                model.read.control = control;
                far.settings().set_read_options(model.read).expect("fine");
            }
            Call::Flush(band) => {
                near.flush_queues(band.map_or(Flush::READ, |band| Flush::READ.in_band(band))).expect("fine");
                model.flush(band);
            }
            Call::CanPut(band) => assert_eq!(near.can_put(band).expect("fine"), model.can_put(band), "{told}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(common::extent("HEADWATER_CASES", 80) as u32))]

    #[test]
    fn a_stream_is_a_list_of_messages(calls in calls()) {
        agree(Policy::DEFAULT, &[], calls);
    }

    #[test]
    fn so_it_is_without_a_lane(calls in calls()) {
        agree(Policy::EAGER, &[], calls);
    }

    #[test]
    fn so_it_is_without_coalescing_and_hysteresis(calls in calls()) {
        agree(Policy::DEFAULT.coalescing(false).hysteresis(false), &[], calls);
    }

    #[test]
    fn so_it_is_through_put_procedures(calls in calls()) {
        agree(Policy::DEFAULT, &["nullmod", "nullmod"], calls);
    }
}
