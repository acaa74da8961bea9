//! What the transports over kernel sockets cost beside plain sockets: messages of one size from one process to another over 127.0.0.1,
//! one call per message at either side, by turns, the median of many rounds. Of UDP the sender's and the receiver's time per message
//! and what was lost, and round trips; of TCP the time per message and round trips. Prints ns, and the quotients plain / ours.
//!
//! `cargo run --release -p headwater-streams --example inet_cost [ROUNDS [BYTES...]]`

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::tpi::{InternetAddress, Primitive};
use headwater_streams::{Device, Events, Handle, Result};

const MESSAGES: u64 = 50_000;
const TRIPS: u32 = 5_000;
/// A receiver of datagrams that gets none for so long has all that were not lost.
const QUIET: Duration = Duration::from_millis(50);

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|number| number.parse::<usize>().expect("a number"));
    let rounds = arguments.next().unwrap_or(11);
    let mut sizes: Vec<usize> = arguments.collect();
    if sizes.is_empty() {
        sizes = vec![1, 64, 256, 1024];
    }
    println!("bytes   what                plain ns   ours ns   plain / ours");
    for size in sizes {
        let mut found: Vec<[Vec<f64>; 2]> = WHAT.iter().map(|_| [Vec::new(), Vec::new()]).collect();
        for round in 0..rounds {
            for turn in 0..2 {
                let ours = (turn + round) % 2;
                let udp =
                    if ours == 1 { send_all(&mut Ours::new()?, size)? } else { send_all(&mut Plain::new()?, size)? };
                let trip = if ours == 1 { trips(&mut Ours::new()?, size)? } else { trips(&mut Plain::new()?, size)? };
                let (stream, answers) = if ours == 1 { tcp_ours(size)? } else { tcp_plain(size)? };
                for (found, value) in found.iter_mut().zip([udp.sent, udp.received, udp.lost, trip, stream, answers]) {
                    found[ours].push(value);
                }
            }
        }
        for (what, found) in WHAT.iter().zip(&mut found) {
            let [plain, ours] = found.each_mut().map(|found| {
                found.sort_by(f64::total_cmp);
                found[found.len() / 2]
            });
            println!("{size:>5}   {what:<18} {plain:>9.1} {ours:>9.1}   {:>6.2}", plain / ours);
        }
    }
    Ok(())
}

const WHAT: [&str; 6] =
    ["UDP sent", "UDP received", "UDP lost, percent", "UDP round trip", "TCP message", "TCP round trip"];

/// An endpoint of UDP.
trait Datagrams {
    fn address(&self) -> SocketAddr;
    fn aim(&mut self, to: SocketAddr);
    fn send(&mut self, data: &[u8]) -> Result<()>;
    /// False: none came for [`QUIET`].
    fn receive(&mut self, buffer: &mut [u8]) -> Result<bool>;
    fn other(&self) -> Result<Self>
    where
        Self: Sized;
}

struct Plain(UdpSocket, Option<SocketAddr>);

impl Plain {
    fn new() -> Result<Plain> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        Ok(Plain(socket, None))
    }
}

impl Datagrams for Plain {
    fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("bound")
    }

    fn aim(&mut self, to: SocketAddr) {
        self.1 = Some(to);
    }

    fn send(&mut self, data: &[u8]) -> Result<()> {
        Ok(self.0.send_to(data, self.1.expect("aimed")).map(drop)?)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<bool> {
        match self.0.recv_from(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
            got => Ok(got.map(|_| true)?),
        }
    }

    fn other(&self) -> Result<Plain> {
        let other = Plain::new()?;
        other.0.set_read_timeout(Some(QUIET))?;
        Ok(other)
    }
}

struct Ours {
    endpoint: Handle,
    address: SocketAddr,
    request: Vec<u8>,
}

impl Ours {
    fn new() -> Result<Ours> {
        let mut endpoint = Device::open_private("inet-udp")?.into_handle();
        let any = InternetAddress::from("127.0.0.1:0".parse::<SocketAddr>().expect("an address"));
        endpoint.putmsg(Some(&Primitive::BindReq { address: any.bytes(), waiting: 0 }.encode()), None)?;
        let answer = endpoint.receive()?.expect("an answer");
        let Ok(Primitive::BindAck { address, .. }) = Primitive::decode(answer.control().unwrap_or_default()) else {
            panic!("{answer:?}")
        };
        let address = InternetAddress::decode(address).expect("an address");
        Ok(Ours { endpoint, address, request: Vec::new() })
    }
}

impl Datagrams for Ours {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn aim(&mut self, to: SocketAddr) {
        let to = InternetAddress::from(to);
        self.request = Primitive::UnitdataReq { destination: to.bytes(), options: b"" }.encode();
    }

    fn send(&mut self, data: &[u8]) -> Result<()> {
        self.endpoint.putmsg(Some(&self.request), Some(data)).map(drop)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<bool> {
        let mut control = [0; 128];
        // The last one says so, since a stream's getmsg has no time limit.
        let got = self.endpoint.getmsg(Some(&mut control), Some(buffer))?;
        Ok(got.data != Some(END))
    }

    fn other(&self) -> Result<Ours> {
        Ours::new()
    }
}

/// Bytes of the datagrams behind the last one.
const END: usize = 3000;

struct Datagram {
    sent: f64,
    received: f64,
    lost: f64,
}

fn send_all<D: Datagrams>(sender: &mut D, size: usize) -> Result<Datagram> {
    let receiver = sender.other()?;
    sender.aim(receiver.address());
    // The child's alone.
    let mut receiver = Some(receiver);
    let (mut results, result) = std::io::pipe()?;
    let mut child = Child::fork(|| {
        let mut receiver = receiver.take().expect("here");
        let mut buffer = vec![0; END];
        let (mut count, mut first, mut last) = (0u64, Instant::now(), Instant::now());
        while matches!(receiver.receive(&mut buffer), Ok(true)) {
            last = Instant::now();
            count += 1;
            if count == 1 {
                first = last;
            }
            if count == MESSAGES {
                break;
            }
        }
        let ns = (last - first).as_nanos() as u64;
        let bytes = [count.to_le_bytes(), ns.to_le_bytes()].concat();
        i32::from((&result).write_all(&bytes).is_err())
    })?;
    drop(receiver);
    let data = vec![1; size];
    let start = Instant::now();
    for _ in 0..MESSAGES {
        sender.send(&data)?;
    }
    let sent = start.elapsed().as_nanos() as f64 / MESSAGES as f64;
    for _ in 0..5 {
        std::thread::sleep(QUIET / 5);
        sender.send(&vec![0; END])?;
    }
    let mut bytes = [0; 16];
    results.read_exact(&mut bytes)?;
    child.wait()?;
    let [count, ns] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte])));
    let lost = 100.0 * (MESSAGES - count.min(MESSAGES)) as f64 / MESSAGES as f64;
    Ok(Datagram { sent, received: ns as f64 / count.max(1) as f64, lost })
}

fn trips<D: Datagrams>(caller: &mut D, size: usize) -> Result<f64> {
    let mut called = caller.other()?;
    caller.aim(called.address());
    called.aim(caller.address());
    let data = vec![1; size];
    let mut called = Some(called);
    let mut child = Child::fork(|| {
        let mut called = called.take().expect("here");
        let mut buffer = vec![0; size + 1];
        for _ in 0..TRIPS {
            let done = called.receive(&mut buffer).and_then(|_| called.send(&buffer[..size]));
            if done.is_err() {
                return 1;
            }
        }
        0
    })?;
    drop(called);
    let mut buffer = vec![0; size + 1];
    let start = Instant::now();
    for _ in 0..TRIPS {
        caller.send(&data)?;
        caller.receive(&mut buffer)?;
    }
    let time = start.elapsed();
    child.wait()?;
    Ok(time.as_nanos() as f64 / f64::from(TRIPS))
}

/// Has a child take all messages and then echo each; ns a message of a stream, and of a round trip.
fn tcp(
    size: usize,
    mut send: impl FnMut(&[u8]) -> Result<()>,
    mut receive: impl FnMut(&mut [u8]) -> Result<()>,
    mut child: Child,
) -> Result<(f64, f64)> {
    let (data, mut buffer) = (vec![1; size], vec![0; size]);
    let start = Instant::now();
    for _ in 0..MESSAGES {
        send(&data)?;
    }
    receive(&mut buffer[..1])?;
    let stream = start.elapsed().as_nanos() as f64 / MESSAGES as f64;
    let start = Instant::now();
    for _ in 0..TRIPS {
        send(&data)?;
        receive(&mut buffer)?;
    }
    let trips = start.elapsed().as_nanos() as f64 / f64::from(TRIPS);
    child.wait()?;
    Ok((stream, trips))
}

fn echo(
    size: usize,
    mut receive: impl FnMut(&mut [u8]) -> Result<()>,
    mut send: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; size];
    for _ in 0..MESSAGES {
        receive(&mut buffer)?;
    }
    send(&[1])?;
    for _ in 0..TRIPS {
        receive(&mut buffer)?;
        send(&buffer)?;
    }
    Ok(())
}

fn sockets() -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let to = listener.local_addr()?;
    Ok((listener, to))
}

fn tcp_plain(size: usize) -> Result<(f64, f64)> {
    let (listener, to) = sockets()?;
    let caller = TcpStream::connect(to)?;
    let (called, _) = listener.accept()?;
    let child = Child::fork(|| {
        let echoed = echo(size, |buffer| Ok((&called).read_exact(buffer)?), |data| Ok((&called).write_all(data)?));
        i32::from(echoed.is_err())
    })?;
    tcp(size, |data| Ok((&caller).write_all(data)?), |buffer| Ok((&caller).read_exact(buffer)?), child)
}

/// Our endpoint sends to a plain socket, and gets its answers.
fn tcp_ours(size: usize) -> Result<(f64, f64)> {
    let (listener, to) = sockets()?;
    let caller = Device::open_private("inet-tcp")?;
    caller.putmsg(Some(&Primitive::BindReq { address: b"", waiting: 0 }.encode()), None)?;
    caller.receive()?;
    let to = InternetAddress::from(to);
    caller.putmsg(Some(&Primitive::ConnReq { destination: to.bytes(), options: b"" }.encode()), None)?;
    caller.receive()?;
    caller.poll(Events::IN, None)?;
    caller.receive()?;
    let (called, _) = listener.accept()?;
    let child = Child::fork(|| {
        let echoed = echo(size, |buffer| Ok((&called).read_exact(buffer)?), |data| Ok((&called).write_all(data)?));
        i32::from(echoed.is_err())
    })?;
    caller.push("tirdwr")?;
    let mut sender = caller.into_handle();
    let mut receiver = sender.another();
    let send = |data: &[u8]| sender.write(data).map(drop);
    let receive = |buffer: &mut [u8]| {
        let mut count = 0;
        while count < buffer.len() {
            count += receiver.read(&mut buffer[count..])?;
        }
        Ok(())
    };
    tcp(size, send, receive, child)
}
