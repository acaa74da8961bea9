//! What a message of the loop-back transports costs from one process to another, beside local sockets and UDP of the kernel: by turns,
//! the median of many rounds. Each message is one call at either side. Prints ns a message, and the quotients.
//!
//! `cargo bench -p headwater-streams --bench transport_cost [BYTES [KIND]]`

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::time::Instant;

use headwater_os::child::Child;
use headwater_streams::tpi::{Capabilities, InternetAddress, Primitive};
use headwater_streams::{DeviceOptions, Result, Stream};

const ROUNDS: usize = 11;
const MESSAGES: usize = 200_000;

/// One round: sends all messages from one process to another; ns a message.
type Measure = fn(&Path, usize) -> Result<f64>;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let size = words.first().map_or(64, |size| size.parse().expect("bytes"));
    let kinds: [(&str, Measure); 8] = [
        ("ticlts", ticlts),
        ("udp", own_udp),
        ("AF_UNIX datagrams", unix_datagrams),
        ("UDP, 127.0.0.1", udp),
        ("ticots", ticots),
        ("AF_UNIX stream", unix_stream),
        ("our pipe, messages", pipe_messages),
        ("our pipe, bytes", pipe),
    ];
    let mut found = kinds.map(|_| Vec::new());
    let only = words.get(1).cloned();
    for _ in 0..ROUNDS {
        for ((name, measure), found) in kinds.iter().zip(&mut found) {
            if only.as_ref().is_some_and(|only| only != name) {
                found.push(f64::NAN);
                continue;
            }
            let directory = tempfile::tempdir()?;
            found.push(measure(directory.path(), size)?);
        }
    }
    let medians = found.map(|mut found| {
        found.sort_by(f64::total_cmp);
        found[ROUNDS / 2]
    });
    for ((name, _), median) in kinds.iter().zip(medians) {
        println!("{name:>20}, {size} bytes: {median:>8.1} ns");
    }
    println!(
        "AF_UNIX / ticlts {:.1}, UDP / udp {:.1}, AF_UNIX / ticots {:.1}",
        medians[2] / medians[0],
        medians[3] / medians[1],
        medians[5] / medians[4]
    );
    Ok(())
}

/// A child receives; this process sends, and counts the time until the child has all.
fn timed(receive: impl FnOnce() -> Result<()>, mut send: impl FnMut() -> Result<()>) -> Result<f64> {
    let (mut done, said) = std::io::pipe()?;
    let mut child = Child::fork(|| {
        let received = receive();
        let _ = (&said).write_all(b"x");
        i32::from(received.is_err())
    })?;
    let start = Instant::now();
    for _ in 0..MESSAGES {
        send()?;
    }
    done.read_exact(&mut [0])?;
    let time = start.elapsed();
    assert!(child.wait()?.success(), "the receiver has failed");
    Ok(time.as_nanos() as f64 / MESSAGES as f64)
}

fn endpoint(directory: &Path, driver: &str, address: &[u8], waiting: u32) -> Result<Stream> {
    let endpoint = DeviceOptions::new().directory(directory.join("devices")).open(driver)?;
    endpoint.putmsg(Some(&Primitive::BindReq { address, waiting }.encode()), None)?;
    endpoint.receive()?;
    Ok(endpoint)
}

fn receive_all(endpoint: &Stream, size: usize) -> Result<()> {
    let (mut control, mut data) = ([0; 256], vec![0; size]);
    for _ in 0..MESSAGES {
        endpoint.getmsg(Some(&mut control), Some(&mut data))?;
    }
    Ok(())
}

fn ticlts(directory: &Path, size: usize) -> Result<f64> {
    let receiver = endpoint(directory, "ticlts", b"receiver", 0)?;
    let sender = endpoint(directory, "ticlts", b"sender", 0)?;
    let data = vec![1; size];
    timed(|| datagrams(&receiver, size), || sender.send_to(b"receiver", &[], &data))
}

fn own_udp(directory: &Path, size: usize) -> Result<f64> {
    let any = InternetAddress::from("127.0.0.1:0".parse::<SocketAddr>().expect("an address"));
    let receiver = endpoint(directory, "udp", any.bytes(), 0)?;
    let sender = endpoint(directory, "udp", any.bytes(), 0)?;
    receiver.putmsg(Some(&Primitive::AddrReq.encode()), None)?;
    let answer = receiver.receive()?.expect("an answer");
    let Ok(Primitive::AddrAck { local, .. }) = Primitive::decode(answer.control().unwrap_or_default()) else {
        panic!("{answer:?}")
    };
    let data = vec![1; size];
    timed(|| datagrams(&receiver, size), || sender.send_to(local, &[], &data))
}

fn datagrams(endpoint: &Stream, size: usize) -> Result<()> {
    let (mut source, mut data) = ([0; 128], vec![0; size]);
    for _ in 0..MESSAGES {
        endpoint.recv_from(&mut source, &mut [], &mut data)?;
    }
    Ok(())
}

fn ticots(directory: &Path, size: usize) -> Result<f64> {
    let listener = endpoint(directory, "ticots", b"listener", 1)?;
    let receiver = endpoint(directory, "ticots", b"receiver", 0)?;
    let sender = endpoint(directory, "ticots", b"sender", 0)?;
    sender.putmsg(Some(&Primitive::ConnReq { destination: b"listener", options: b"" }.encode()), None)?;
    sender.receive()?;
    let asked = listener.receive()?.expect("a connection");
    let Ok(Primitive::ConnInd { sequence, .. }) = Primitive::decode(asked.control().unwrap_or_default()) else {
        panic!("{asked:?}")
    };
    let wanted = Capabilities { info: false, acceptor: true };
    receiver.putmsg(Some(&Primitive::CapabilityReq { wanted }.encode()), None)?;
    let answer = receiver.receive()?.expect("an answer");
    let Ok(Primitive::CapabilityAck { acceptor, .. }) = Primitive::decode(answer.control().unwrap_or_default()) else {
        panic!("{answer:?}")
    };
    listener.putmsg(Some(&Primitive::ConnRes { acceptor, options: b"", sequence }.encode()), None)?;
    sender.receive()?;
    let control = Primitive::DataReq { more: false }.encode();
    let data = vec![1; size];
    timed(|| receive_all(&receiver, size), || sender.putmsg(Some(&control), Some(&data)).map(drop))
}

fn unix_datagrams(_: &Path, size: usize) -> Result<f64> {
    let (sender, receiver) = UnixDatagram::pair()?;
    let (data, mut buffer) = (vec![1; size], vec![0; size]);
    let receive = || {
        for _ in 0..MESSAGES {
            receiver.recv(&mut buffer)?;
        }
        Ok(())
    };
    timed(receive, || Ok(sender.send(&data).map(drop)?))
}

fn unix_stream(_: &Path, size: usize) -> Result<f64> {
    let (mut sender, mut receiver) = UnixStream::pair()?;
    let (data, mut buffer) = (vec![1; size], vec![0; size]);
    let receive = || {
        for _ in 0..MESSAGES {
            receiver.read_exact(&mut buffer)?;
        }
        Ok(())
    };
    timed(receive, || Ok(sender.write_all(&data)?))
}

/// What is lost is not counted: the time is the sender's.
fn udp(_: &Path, size: usize) -> Result<f64> {
    let (sender, receiver) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    sender.connect(receiver.local_addr()?)?;
    receiver.set_read_timeout(Some(std::time::Duration::from_millis(50)))?;
    let (data, mut buffer) = (vec![1; size], vec![0; size]);
    let (mut done, said) = std::io::pipe()?;
    let mut child = Child::fork(|| {
        let (mut start, mut last, mut count) = (Instant::now(), Instant::now(), 0u64);
        while receiver.recv(&mut buffer).is_ok() {
            last = Instant::now();
            if count == 0 {
                start = last;
            }
            count += 1;
        }
        let ns = (last - start).as_nanos() as u64 / count.max(1);
        i32::from((&said).write_all(&ns.to_le_bytes()).is_err())
    })?;
    for _ in 0..MESSAGES {
        sender.send(&data)?;
    }
    let mut ns = [0; 8];
    done.read_exact(&mut ns)?;
    child.wait()?;
    Ok(u64::from_le_bytes(ns) as f64)
}

fn pipe(_: &Path, size: usize) -> Result<f64> {
    let (sender, receiver) = headwater_streams::pipe()?;
    let (data, mut buffer) = (vec![1; size], vec![0; size]);
    let receive = || {
        let mut left = MESSAGES * size;
        while left > 0 {
            left -= receiver.read(&mut buffer)?;
        }
        Ok(())
    };
    timed(receive, || sender.write(&data).map(drop))
}

/// Messages of the same form as those of the transports.
fn pipe_messages(_: &Path, size: usize) -> Result<f64> {
    let (sender, receiver) = headwater_streams::pipe()?;
    let control = Primitive::UnitdataInd { source: b"sender", options: b"" }.encode();
    let data = vec![1; size];
    timed(|| receive_all(&receiver, size), || sender.putmsg(Some(&control), Some(&data)).map(drop))
}
