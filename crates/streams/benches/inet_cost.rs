//! What the transports over kernel sockets cost beside plain sockets: messages of one size from one process to another over 127.0.0.1,
//! one call per message at either side, by turns, the median of many rounds. Of UDP the sender's and the receiver's time per message
//! and what was lost, and round trips; of TCP the time per message and round trips. The ends are two sockets, two endpoints of `inet-udp`,
//! or an endpoint of `udp` and a socket. Prints ns, and the quotients sockets / others.
//!
//! `cargo bench -p headwater-streams --bench inet_cost [ROUNDS [BYTES...]]`

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::tpi::{InternetAddress, Primitive};
use headwater_streams::{Device, DeviceOptions, Events, Result, Stream};

const MESSAGES: u64 = 50_000;
const TRIPS: u32 = 5_000;
/// After so long the receiver has taken all that were not lost.
const QUIET: Duration = Duration::from_millis(50);

fn main() -> Result<()> {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .map(|number| number.parse::<usize>().expect("a number"));
    let rounds = arguments.next().unwrap_or(11);
    let mut sizes: Vec<usize> = arguments.collect();
    if sizes.is_empty() {
        sizes = vec![1, 64, 256, 1024];
    }
    println!("bytes   what                ends                       ns   sockets / these");
    for size in sizes {
        let mut found = vec![Vec::new(); ENDS.len() * UDP.len()];
        let mut tcp = vec![Vec::new(); 2 * TCP.len()];
        for round in 0..rounds {
            for turn in 0..ENDS.len() {
                let at = (turn + round) % ENDS.len();
                let (_, sends, receives) = ENDS[at];
                let udp = send_all(sends, receives, size)?;
                let trip = trips(sends, receives, size)?;
                for (what, value) in [udp.sent, udp.received, udp.lost, trip].into_iter().enumerate() {
                    found[at * UDP.len() + what].push(value);
                }
            }
            for turn in 0..2 {
                let ours = (turn + round) % 2;
                let (stream, answers) = if ours == 1 { tcp_ours(size)? } else { tcp_plain(size)? };
                tcp[ours * TCP.len()].push(stream);
                tcp[ours * TCP.len() + 1].push(answers);
            }
        }
        print(size, &UDP, &ENDS.map(|(name, ..)| name), &mut found);
        print(size, &TCP, &["sockets", "inet-tcp to a socket"], &mut tcp);
    }
    Ok(())
}

const UDP: [&str; 4] = ["UDP sent", "UDP received", "UDP lost, percent", "UDP round trip"];
const TCP: [&str; 2] = ["TCP message", "TCP round trip"];

/// The drivers of the sender and the receiver; None is a socket.
const ENDS: [(&str, Option<&str>, Option<&str>); 4] = [
    ("sockets", None, None),
    ("inet-udp", Some("inet-udp"), Some("inet-udp")),
    ("udp to a socket", Some("udp"), None),
    ("a socket to udp", None, Some("udp")),
];

/// The medians: of each pair of ends all that was measured.
fn print(size: usize, what: &[&str], ends: &[&str], found: &mut [Vec<f64>]) {
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    for (number, what_it_is) in what.iter().enumerate() {
        let sockets = median(&mut found[number]);
        for (at, name) in ends.iter().enumerate() {
            let value = median(&mut found[at * what.len() + number]);
            println!("{size:>5}   {what_it_is:<18}  {name:<20} {value:>9.1}   {:>6.2}", sockets / value);
        }
    }
}

/// An end of UDP.
enum End {
    Socket(UdpSocket, Option<SocketAddr>),
    Endpoint(Box<Stream>, Vec<u8>),
}

impl End {
    /// An end with an address of its own.
    fn new(driver: Option<&str>) -> Result<(End, SocketAddr)> {
        let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let Some(driver) = driver else {
            let socket = UdpSocket::bind(any)?;
            let address = socket.local_addr()?;
            return Ok((End::Socket(socket, None), address));
        };
        let directory = std::env::temp_dir().join(format!("headwater-inet-cost-{}", std::process::id()));
        let opened = DeviceOptions::new().directory(&directory).open(driver)?;
        let endpoint = Box::new(opened);
        let bind = Primitive::BindReq { address: InternetAddress::from(any).bytes(), waiting: 0 }.encode();
        endpoint.putmsg(Some(&bind), None)?;
        let answer = endpoint.receive()?.expect("an answer");
        let Ok(Primitive::BindAck { address, .. }) = Primitive::decode(answer.control().unwrap_or_default()) else {
            panic!("{answer:?}")
        };
        let address = InternetAddress::decode(address).expect("an address");
        Ok((End::Endpoint(endpoint, Vec::new()), address))
    }

    fn aim(&mut self, to: SocketAddr) {
        match self {
            End::Socket(_, at) => *at = Some(to),
            End::Endpoint(_, request) => {
                let to = InternetAddress::from(to);
                *request = Primitive::UnitdataReq { destination: to.bytes(), options: b"" }.encode();
            }
        }
    }

    fn send(&mut self, data: &[u8]) -> Result<()> {
        match self {
            End::Socket(socket, to) => Ok(socket.send_to(data, to.expect("aimed")).map(drop)?),
            End::Endpoint(endpoint, request) => endpoint.putmsg(Some(request), Some(data)).map(drop),
        }
    }

    /// False: it is one of those behind the last one.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<bool> {
        let count = match self {
            End::Socket(socket, _) => Some(socket.recv_from(buffer)?.0),
            End::Endpoint(endpoint, _) => endpoint.getmsg(Some(&mut [0; 128]), Some(buffer))?.data,
        };
        Ok(count != Some(END))
    }
}

/// Bytes of the datagrams behind the last one.
const END: usize = 3000;

struct Datagram {
    sent: f64,
    received: f64,
    lost: f64,
}

fn send_all(sends: Option<&str>, receives: Option<&str>, size: usize) -> Result<Datagram> {
    let ((mut sender, _), (receiver, to)) = (End::new(sends)?, End::new(receives)?);
    sender.aim(to);
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

fn trips(calls: Option<&str>, answers: Option<&str>, size: usize) -> Result<f64> {
    let ((mut caller, from), (mut called, to)) = (End::new(calls)?, End::new(answers)?);
    caller.aim(to);
    called.aim(from);
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
    let sender = caller;
    let receiver = sender.clone();
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
