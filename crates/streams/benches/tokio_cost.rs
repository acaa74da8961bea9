//! What streams cost in tasks of tokio, beside `UnixStream` and beside a `UnixStream` whose task looks for 20 us before it
//! sleeps: `cargo bench -p headwater-streams --features tokio --bench tokio_cost [FILTER]`.
//!
//! A client and a server are processes of their own, each with a runtime of one thread (`multi`: of two). The three kinds take
//! turns within each round. A line has the median over the rounds, for each kind, of the time of an operation and of the CPU time of
//! both processes for it; and how many times as fast a stream is as either socket, medians of ratios within the rounds.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream as StdSocket;
use std::task::Poll;
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_os::cpu;
use headwater_os_tools::usage::Usage;
use headwater_streams::{AsyncStream, pipe};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};

const ROUNDS: usize = 9;
const LOOK: Duration = Duration::from_micros(20);
const KINDS: [Kind; 3] = [Kind::Stream, Kind::Socket, Kind::Looking];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
    Socket,
    /// A socket whose reader looks before it sleeps, through the scheduler.
    Looking,
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
struct Row {
    name: &'static str,
    /// Bytes of a request, and of its answer; 0: there is no answer, the client only sends.
    request: usize,
    answer: usize,
    connections: usize,
    /// Operations of each connection.
    count: usize,
    /// Between two requests.
    pause: Option<Duration>,
    two_cpus: bool,
    threads: usize,
    /// Programs that use the CPUs beside the two.
    busy: usize,
}

const RTT: Row = Row {
    name: "64 B and back, two CPUs",
    request: 64,
    answer: 64,
    connections: 1,
    count: 20_000,
    pause: None,
    two_cpus: true,
    threads: 1,
    busy: 0,
};

const ROWS: &[Row] = &[
    RTT,
    Row { name: "64 B and back, one CPU", two_cpus: false, ..RTT },
    Row { name: "64 B and back, two CPUs, multi", threads: 2, ..RTT },
    Row { name: "64 B and back, two busy programs", count: 5_000, busy: 2, ..RTT },
    Row { name: "64 B and back, 10 connections", connections: 10, count: 4_000, ..RTT },
    Row { name: "64 B and back, 100 connections", connections: 100, count: 400, ..RTT },
    Row { name: "64 B each ms", count: 300, pause: Some(Duration::from_millis(1)), ..RTT },
    Row { name: "1 KiB and 16 KiB back", request: 1024, answer: 16 << 10, ..RTT },
    Row { name: "1 KiB and 256 KiB back", request: 1024, answer: 256 << 10, count: 2_000, ..RTT },
    Row { name: "64 KiB one way", request: 64 << 10, answer: 0, ..RTT },
    Row { name: "64 B one way", request: 64, answer: 0, count: 200_000, ..RTT },
];

/// One end of a connection.
enum End {
    Stream(Box<AsyncStream>),
    Socket(UnixStream, bool),
}

impl End {
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            End::Stream(stream) => stream.write_all(bytes).await,
            End::Socket(socket, _) => socket.write_all(bytes).await,
        }
    }

    async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            End::Stream(stream) => stream.read_exact(buffer).await.map(drop),
            End::Socket(socket, false) => socket.read_exact(buffer).await.map(drop),
            End::Socket(socket, true) => {
                let mut filled = 0;
                while filled < buffer.len() {
                    let until = Instant::now() + LOOK;
                    let count = poll_fn(|context| match socket.try_read(&mut buffer[filled..]) {
                        Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                            context.waker().wake_by_ref();
                            Poll::Pending
                        }
                        done => Poll::Ready(done),
                    })
                    .await;
                    filled += match count {
                        Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                        Ok(count) => count,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            socket.readable().await?;
                            0
                        }
                        Err(error) => return Err(error),
                    };
                }
                Ok(())
            }
        }
    }
}

/// An end that is open and not yet a runtime's.
enum Closed {
    Stream(headwater_streams::Stream),
    Socket(StdSocket, bool),
}

impl Closed {
    fn pair(kind: Kind) -> (Closed, Closed) {
        if kind == Kind::Stream {
            let (near, far) = pipe().expect("a pipe");
            return (Closed::Stream(near), Closed::Stream(far));
        }
        let (near, far) = StdSocket::pair().expect("a pair");
        (Closed::Socket(near, kind == Kind::Looking), Closed::Socket(far, kind == Kind::Looking))
    }

    fn open(self) -> End {
        match self {
            Closed::Stream(stream) => End::Stream(Box::new(AsyncStream::new(stream).expect("a descriptor"))),
            Closed::Socket(socket, looks) => {
                socket.set_nonblocking(true).expect("a socket");
                End::Socket(UnixStream::from_std(socket).expect("a runtime"), looks)
            }
        }
    }
}

fn runtime(threads: usize) -> Runtime {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.worker_threads(threads).enable_all().build().expect("a runtime")
}

fn serve(row: Row, ends: Vec<Closed>) -> io::Result<()> {
    runtime(row.threads).block_on(async {
        let tasks: Vec<_> = ends
            .into_iter()
            .map(|end| {
                let mut end = end.open();
                tokio::spawn(async move {
                    let (mut request, answer) = (vec![0; row.request], vec![1; row.answer]);
                    for _ in 0..row.count {
                        end.receive(&mut request).await?;
                        if row.answer > 0 {
                            end.send(&answer).await?;
                        }
                    }
                    // The client knows that all has arrived.
                    if row.answer == 0 { end.send(&[1]).await } else { Ok(()) }
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        Ok(())
    })
}

fn ask(row: Row, ends: Vec<Closed>) -> io::Result<Duration> {
    runtime(row.threads).block_on(async {
        let begin = Instant::now();
        let tasks: Vec<_> = ends
            .into_iter()
            .map(|end| {
                let mut end = end.open();
                tokio::spawn(async move {
                    let (request, mut answer) = (vec![2; row.request], vec![0; row.answer]);
                    for _ in 0..row.count {
                        if let Some(pause) = row.pause {
                            tokio::time::sleep(pause).await;
                        }
                        end.send(&request).await?;
                        if row.answer > 0 {
                            end.receive(&mut answer).await?;
                        }
                    }
                    if row.answer == 0 { end.receive(&mut [0]).await } else { Ok::<(), io::Error>(()) }
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        Ok(begin.elapsed())
    })
}

/// The time and the CPU time of an operation, us.
fn measure(row: Row, kind: Kind) -> (f64, f64) {
    let (clients, servers): (Vec<_>, Vec<_>) = (0..row.connections).map(|_| Closed::pair(kind)).unzip();
    let (mut clients, mut servers) = (Some(clients), Some(servers));
    let cpus = cpu::allowed().expect("a mask");
    let bind = |at: usize| {
        if row.threads == 1 {
            cpu::bind(cpus[if row.two_cpus { at % cpus.len() } else { 0 }]).expect("allowed");
        }
    };
    let (mut told, tell) = io::pipe().expect("pipe");
    let mut busy: Vec<Child> = (0..row.busy)
        .map(|_| {
            Child::fork(|| {
                loop {
                    std::hint::spin_loop();
                }
            })
            .expect("fork")
        })
        .collect();
    let before = Usage::of_children();
    let mut server = Child::fork(|| {
        bind(1);
        drop(clients.take());
        serve(row, servers.take().expect("once")).map_or(1, |()| 0)
    })
    .expect("fork");
    let mut client = Child::fork(|| {
        bind(0);
        drop(servers.take());
        let Ok(took) = ask(row, clients.take().expect("once")) else { return 1 };
        let took = (took.as_nanos() as u64).to_ne_bytes();
        io::Write::write_all(&mut &tell, &took).map_or(1, |()| 0)
    })
    .expect("fork");
    drop((clients, servers, tell));
    assert!(client.wait().expect("wait").success() && server.wait().expect("wait").success(), "{kind:?}");
    let used = Usage::of_children().since(&before);
    for program in &mut busy {
        program.kill();
        let _ = program.wait();
    }
    let mut took = [0; 8];
    io::Read::read_exact(&mut told, &mut took).expect("the client has written it");
    let operations = (row.count * row.connections) as f64;
    (u64::from_ne_bytes(took) as f64 / 1e3 / operations, (used.user_s + used.system_s) * 1e6 / operations)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let filter = std::env::args().skip(1).find(|word| !word.starts_with("--")).unwrap_or_default();
    println!(
        "{:34} {:>20} {:>20} {:>20} {:>9} {:>9}",
        "us an operation (CPU)", "stream", "UnixStream", "looking UnixStream", "x Unix", "x looking"
    );
    for row in ROWS.iter().filter(|row| row.name.contains(&filter)) {
        let rounds: Vec<[(f64, f64); 3]> = (0..ROUNDS).map(|_| KINDS.map(|kind| measure(*row, kind))).collect();
        let figure = |at: usize| {
            format!(
                "{:.2} ({:.2})",
                median(rounds.iter().map(|round| round[at].0)),
                median(rounds.iter().map(|round| round[at].1))
            )
        };
        let times = |at: usize| median(rounds.iter().map(|round| round[at].0 / round[0].0));
        println!(
            "{:34} {:>20} {:>20} {:>20} {:>9.2} {:>9.2}",
            row.name,
            figure(0),
            figure(1),
            figure(2),
            times(1),
            times(2)
        );
    }
}
