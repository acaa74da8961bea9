//! The messages between an endpoint and its provider. All other files send and receive through this one.
//!
//! A message without data is an event for the user. A call that receives one keeps it here, in this process, and fails with TLOOK.
//! The call that belongs to the event then takes it. An acknowledgement goes to the call that waits for it, whichever thread has
//! received it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use headwater_streams::tpi::{Primitive, PrimitiveNumber};
use headwater_streams::{Errno, Events, Flush, IoctlTimeout, MessageFilter, Priority, Received, Stream};

use crate::endpoint::Look;
use crate::error::{Result, XtiError, or_if_it_waits};
use headwater_streams::tpi::TransportError;

/// The size of the buffer for a control part. Nearly all fit, with addresses of up to 108 bytes. The rest of a longer one is fetched
/// by another call.
const CONTROL: usize = 128;
/// The size of the buffer for an acknowledgement.
const ACKNOWLEDGEMENT: usize = 256;
/// The longest control part in bytes, which is the limit of a stream.
const CONTROL_MAX: usize = 4096;
/// The interval at which a call checks whether another thread has received its acknowledgement.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// The number of attempts to take a lock, which its holder has for a few instructions. There is a limit because a forked child may
/// have a copy of a locked lock, but not the thread that holds it.
const TRIES: u32 = 100_000;
/// How long a non-blocking call tries while another thread is in the middle of a call on the same stream. The kernel may have
/// suspended that thread for longer than a non-blocking call of a stream waits for it.
const HELD: Duration = Duration::from_secs(5);
/// The band of expedited data.
const EXPEDITED: u8 = 1;

/// An event that was received and not fetched yet.
#[derive(Debug)]
pub(crate) struct Indication {
    pub control: Vec<u8>,
    pub data: Vec<u8>,
}

impl Indication {
    /// Returns the primitive of the event.
    pub fn primitive(&self) -> Result<Primitive<'_>> {
        Primitive::decode(&self.control).map_err(|_| TransportError::Protocol.into())
    }

    fn event(&self) -> Option<Look> {
        Look::from_primitive(Primitive::number_of(&self.control).ok()?)
    }
}

/// A message that was received into the caller's buffer.
#[derive(Debug)]
pub(crate) struct Arrived<'c> {
    /// The control part; `None` for data without one, and for the rest of a message whose beginning was received before.
    pub control: Option<&'c [u8]>,
    /// The number of bytes of data.
    pub data: usize,
    /// More data of the message is waiting.
    pub more: bool,
    /// The message has arrived in the band of expedited data.
    pub expedited: bool,
}

/// A buffer for a control part.
#[derive(Debug)]
pub(crate) struct ControlRoom {
    short: [u8; CONTROL],
    long: Vec<u8>,
}

impl ControlRoom {
    pub fn new() -> ControlRoom {
        ControlRoom { short: [0; CONTROL], long: Vec::new() }
    }
}

/// A stream that ends in the provider of a transport, and the events and acknowledgements that were received and not fetched.
#[derive(Debug)]
pub(crate) struct Line {
    pub stream: Stream,
    /// The event that was received and not fetched. Locked for a few instructions.
    event: Mutex<Option<Indication>>,
    /// 1 if there is an event. Written while `event` is locked.
    has_event: AtomicU8,
    /// Acknowledgements that were received by calls that do not wait for them. Locked for a few instructions.
    acknowledgements: Mutex<Vec<Vec<u8>>>,
}

/// Takes a lock, which its holder has for a few instructions.
fn lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    for _ in 0..TRIES {
        match mutex.try_lock() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    Err(XtiError::system(Errno::Again))
}

/// Repeats a call on the stream while another user is in the middle of a call. A non-blocking endpoint (O_NONBLOCK) does not wait for
/// events, but the end of another user's call is not an event.
fn unless_held<T>(mut call: impl FnMut() -> headwater_streams::Result<T>) -> headwater_streams::Result<T> {
    let start = Instant::now();
    loop {
        match call() {
            Err(error) if error.is_held() && error.errno() == Errno::Again && start.elapsed() < HELD => {}
            done => return done,
        }
    }
}

impl Line {
    pub fn new(stream: Stream) -> Line {
        Line { stream, event: Mutex::default(), has_event: AtomicU8::new(0), acknowledgements: Mutex::default() }
    }

    /// Sends a request as an ioctl of timod, and returns the answer.
    pub fn ioctl(&self, command: u32, request: Primitive<'_>) -> Result<Vec<u8>> {
        ioctl(&self.stream, IoctlTimeout::Usual, command, request)
    }

    /// Sends a request, and waits for its acknowledgement (T_OK_ACK). A signal does not end the wait, because the request cannot be
    /// withdrawn.
    pub fn ask(&self, request: Primitive<'_>, data: Option<&[u8]>) -> Result<()> {
        let control = request.encode();
        unless_held(|| self.stream.putmsg(Some(&control), data))?;
        self.answer(request.number())
    }

    /// Like [`Line::ask`], for a request that must not wait for room. If there is none, data that waits to be sent is dropped.
    pub fn ask_before_data(&self, request: Primitive<'_>, data: Option<&[u8]>) -> Result<()> {
        let (mut handle, control) = (self.stream.direct(), request.encode());
        handle.set_nonblocking(true)?;
        let mut tries = TRIES;
        loop {
            match unless_held(|| handle.putmsg(Some(&control), data)) {
                // There is no room. Another thread that sends may fill it again each time.
                Err(error) if error.errno() == Errno::Again && tries > 0 => {
                    unless_held(|| self.stream.flush_queues(Flush::WRITE))?;
                    tries -= 1;
                }
                sent => break sent?,
            }
        }
        self.answer(request.number())
    }

    /// Waits for the acknowledgement of a request.
    fn answer(&self, of: PrimitiveNumber) -> Result<()> {
        // The handle is non-blocking, whatever the stream is.
        let mut handle = self.stream.direct();
        handle.set_nonblocking(true)?;
        loop {
            if let Some(answer) = self.acknowledged(of)? {
                return answer;
            }
            let mut room = [0; ACKNOWLEDGEMENT];
            match handle.getpmsg(Some(&mut room), None, MessageFilter::HighPriority) {
                Ok(got) => {
                    let len = got.control.unwrap_or(0);
                    lock(&self.acknowledgements)?.push(room[..len].to_vec());
                }
                // There is no message, or an ordinary one.
                Err(error) if matches!(error.errno(), Errno::Again | Errno::Badmsg | Errno::Intr) => {
                    match self.stream.poll(Events::PRI, Some(LOOK_AGAIN)) {
                        Err(error) if error.errno() != Errno::Intr => return Err(error.into()),
                        _ => {}
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the answer to a request, if it was received. Drops acknowledgements beyond a limit.
    fn acknowledged(&self, of: PrimitiveNumber) -> Result<Option<Result<()>>> {
        let mut waiting = lock(&self.acknowledgements)?;
        let answer = |bytes: &Vec<u8>| match Primitive::decode(bytes) {
            Ok(Primitive::OkAck { of: other }) if other == of => Some(Ok(())),
            Ok(Primitive::ErrorAck { of: other, error, errno }) if other == of => Some(Err(refused(error, errno))),
            _ => None,
        };
        let found = waiting.iter().enumerate().find_map(|(at, bytes)| Some((at, answer(bytes)?)));
        // A hostile provider could send any number of acknowledgements.
        waiting.truncate(16);
        Ok(found.map(|(at, answer)| {
            if at < waiting.len() {
                waiting.remove(at);
            }
            answer
        }))
    }

    /// Sends data, or a request that the provider does not acknowledge. Fails with TFLOW if the endpoint is non-blocking and there is
    /// no room.
    pub fn send(&self, control: &[u8], data: Option<&[u8]>, expedited: bool) -> Result<()> {
        let priority = if expedited { Priority::Band(EXPEDITED) } else { Priority::NORMAL };
        self.stream.putpmsg(Some(control), data, priority).map_err(|error| or_if_it_waits(error, TransportError::Flow))
    }

    /// Receives data into the caller's buffer. Waits for data unless the stream is non-blocking. Fails with TLOOK if an event is in
    /// front.
    pub fn receive<'c>(&self, room: &'c mut ControlRoom, data: &mut [u8]) -> Result<Arrived<'c>> {
        loop {
            if self.has_event.load(Ordering::Acquire) != 0 {
                return Err(TransportError::Look.into());
            }
            let got = self.get(room, data)?;
            let control = control_of(room, &got);
            let Some(number) = control.map(Primitive::number_of) else { break self.arrived(room, &got) };
            match number {
                Ok(number) if is_data(number) => break self.arrived(room, &got),
                Ok(number) if number.is_high_priority() => {
                    lock(&self.acknowledgements)?.push(control.unwrap_or_default().to_vec());
                }
                Ok(number) if Look::from_primitive(number).is_some() => {
                    let mut rest = data[..got.data.unwrap_or(0)].to_vec();
                    self.take_rest(&got, &mut rest)?;
                    let control = control.unwrap_or_default().to_vec();
                    self.keep(Indication { control, data: rest })?;
                    return Err(TransportError::Look.into());
                }
                _ => return Err(TransportError::Protocol.into()),
            }
        }
    }

    fn arrived<'c>(&self, room: &'c ControlRoom, got: &Received) -> Result<Arrived<'c>> {
        // Two empty parts are the end of the stream: the provider has hung up.
        if (got.control, got.data) == (Some(0), Some(0)) {
            return Err(XtiError::system(Errno::Nxio));
        }
        let expedited = got.priority == Priority::Band(EXPEDITED);
        Ok(Arrived { control: control_of(room, got), data: got.data.unwrap_or(0), more: got.more_data, expedited })
    }

    fn get(&self, room: &mut ControlRoom, data: &mut [u8]) -> Result<Received> {
        let got = self
            .stream
            .getmsg(Some(&mut room.short), Some(data))
            .map_err(|error| or_if_it_waits(error, TransportError::NoData))?;
        room.long.clear();
        if got.more_control {
            room.long.extend_from_slice(&room.short);
            let mut rest = vec![0; CONTROL_MAX];
            let more = self.stream.getmsg(Some(&mut rest), None)?;
            room.long.extend_from_slice(&rest[..more.control.unwrap_or(0)]);
        }
        Ok(got)
    }

    /// Receives the rest of the data of an event.
    fn take_rest(&self, got: &Received, data: &mut Vec<u8>) -> Result<()> {
        let mut more = got.more_data;
        while more {
            let mut piece = [0; 1024];
            let next = self.stream.getmsg(None, Some(&mut piece))?;
            data.extend_from_slice(&piece[..next.data.unwrap_or(0)]);
            more = next.more_data;
        }
        Ok(())
    }

    fn keep(&self, indication: Indication) -> Result<()> {
        *lock(&self.event)? = Some(indication);
        self.has_event.store(1, Ordering::Release);
        Ok(())
    }

    /// Returns the event in front, if there is one, and leaves it there. A provider with a file of its own delivers messages only when
    /// a user waits or polls. So this call polls if there is no event.
    pub fn look(&self) -> Result<Option<Look>> {
        match self.look_now()? {
            None => {
                unless_held(|| self.stream.poll(Events::IN | Events::PRI, Some(Duration::ZERO)))?;
                self.look_now()
            }
            found => Ok(found),
        }
    }

    /// Returns the event that is already in front.
    pub fn look_now(&self) -> Result<Option<Look>> {
        if self.has_event.load(Ordering::Acquire) != 0
            && let Some(kept) = &*lock(&self.event)?
        {
            return Ok(kept.event());
        }
        let mut control = [0; 4];
        let Some(front) = self.stream.peek(Some(&mut control), None, MessageFilter::Any)? else { return Ok(None) };
        let expedited = front.priority == Priority::Band(EXPEDITED);
        let data = if expedited { Look::ExpeditedData } else { Look::Data };
        Ok(match front.control {
            Some(4) => match Primitive::number_of(&control) {
                Ok(number) if is_data(number) => Some(data),
                Ok(number) => Look::from_primitive(number),
                Err(_) => None,
            },
            None => Some(data),
            Some(_) => None,
        })
    }

    /// Fetches an event. If `waits`, waits for a message. Returns `None` if there is none, or another one is in front.
    pub fn fetch(&self, wanted: Look, waits: bool) -> Result<Option<Indication>> {
        loop {
            if self.has_event.load(Ordering::Acquire) != 0 {
                let mut kept = lock(&self.event)?;
                let is_it = kept.as_ref().and_then(Indication::event) == Some(wanted);
                if kept.is_some() {
                    if is_it {
                        self.has_event.store(0, Ordering::Release);
                        return Ok(kept.take());
                    }
                    return Ok(None);
                }
            }
            match self.look()? {
                Some(Look::Data | Look::ExpeditedData) => return Ok(None),
                None if !waits => return Ok(None),
                // An acknowledgement may be in front. This call takes it, or the call that waits for it.
                _ => {}
            }
            match self.receive(&mut ControlRoom::new(), &mut []) {
                Err(error) if error.t_errno == TransportError::Look => {}
                Err(error) => return Err(error),
                // Data has arrived meanwhile, and none of it was taken.
                Ok(_) => return Ok(None),
            }
        }
    }

    /// Returns whether this event is already in front. A call must not pass over it.
    pub fn is_in_front(&self, event: Look) -> Result<bool> {
        Ok(self.look_now()? == Some(event))
    }

    /// Drops the messages of a connection that has ended. A request for a new connection stays.
    pub fn drain(&self) -> Result<()> {
        let mut room = ControlRoom::new();
        let mut sink = [0; 1024];
        loop {
            match self.look()? {
                None | Some(Look::Listen) => return Ok(()),
                Some(_) => {}
            }
            let mut kept = lock(&self.event)?;
            if kept.take().is_some() {
                self.has_event.store(0, Ordering::Release);
                continue;
            }
            drop(kept);
            match self.receive(&mut room, &mut sink) {
                Err(error) if error.t_errno != TransportError::Look => return Err(error),
                _ => {}
            }
        }
    }

    /// Returns whether there is room for data.
    pub fn has_room(&self, expedited: bool) -> Result<bool> {
        Ok(self.stream.can_put(if expedited { EXPEDITED } else { 0 })?)
    }
}

/// Sends a request as an ioctl of timod, and returns the answer.
pub(crate) fn ioctl(stream: &Stream, time: IoctlTimeout, command: u32, request: Primitive<'_>) -> Result<Vec<u8>> {
    let mut data = request.encode();
    let value = unless_held(|| stream.ioctl(command, &mut data, time))?.cast_unsigned();
    if value == 0 {
        return Ok(data);
    }
    let t_errno = TransportError::of(value & 0xff).unwrap_or(TransportError::Protocol);
    Err(refused(t_errno, value >> 8 & 0xff))
}

fn control_of<'c>(room: &'c ControlRoom, got: &Received) -> Option<&'c [u8]> {
    got.control.map(|len| if room.long.is_empty() { &room.short[..len] } else { &room.long[..] })
}

fn is_data(number: PrimitiveNumber) -> bool {
    use PrimitiveNumber::{DataInd, ExdataInd, OptdataInd, UnitdataInd};
    matches!(number, DataInd | ExdataInd | OptdataInd | UnitdataInd)
}

/// Converts the error of a T_ERROR_ACK.
fn refused(t_errno: TransportError, errno: u32) -> XtiError {
    match t_errno {
        TransportError::System => XtiError::system(Errno::new(errno.cast_signed())),
        t_errno => t_errno.into(),
    }
}
