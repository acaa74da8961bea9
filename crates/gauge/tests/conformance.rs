//! The requirements on every transport of the table, and on every pattern over it.
//!
//! A test target without libtest's harness, because conductors fork, and a process that forks must have one thread.
//! Each check runs in a child process with a time limit, so that a hang is a failure. An argument that is not an option
//! selects the checks whose name contains it: `cargo test -p headwater-gauge --test conformance -- unix-dgram`.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use headwater_gauge::harness::conduct::{Job, LaunchError, Measured};
use headwater_gauge::harness::payload::{Payload, StreamCheck};
use headwater_gauge::harness::rounds::{ATTEMPTS, VOLUME_S_MAX};
use headwater_gauge::patterns;
use headwater_gauge::transports::{DynEndpoint, Entry, Loss, Setup, TABLE, Unavailable};
use headwater_os::child::Child;
use headwater_results::schema::{Placement, Row, Standing};

/// Bytes per message: sizes around that of a stamp, a page, and the size of the kernel's buffers. A small one is beside a large one.
const SIZES: [usize; 6] = [1, 64, 7, 4096, 8, 65_536];

/// Sizes of a pattern in the brief form. Which ones depends on the pattern, so that every transport is used with each size.
const SIZES_BRIEF: usize = 2;

/// Bytes per message of the patterns of use: a multiple neither of a page nor of a stamp.
const SIZES_OF_USE: [usize; 1] = [4099];

/// Bytes per message if the size does not matter.
const SIZE: usize = 64;

/// Time limit of a check: what the volumes of a one-way rate may take by themselves, and long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60 + VOLUME_S_MAX as u64 * ATTEMPTS as u64);

/// Checks at a time. Each forks processes that mostly wait for each other.
const BESIDE: usize = 4;

/// Time within which the death of a peer must be noticed.
const DEATH_PATIENCE: Duration = Duration::from_secs(5);

/// A number of messages of [`SIZE`] that no transport can hold.
const FULL: u64 = 1 << 20;

/// Transports whose receiver is not notified of its sender's death, with the reason. In a run the harness detects it
/// from the sender's process.
const SENDER_DEATH_UNSEEN: [(&str, &str); 5] = [
    ("unix-dgram", "a datagram socket does not tell its peer"),
    ("xti-ticlts", "datagrams have no connection"),
    ("posix-mq", "a queue has no ends"),
    ("sysv-mq", "a queue has no ends"),
    ("null", "it has no peer"),
];

/// Transports whose sender is not notified of its receiver's death, with the reason.
const RECEIVER_DEATH_UNSEEN: [(&str, &str); 3] =
    [("posix-mq", "a queue has no ends"), ("sysv-mq", "a queue has no ends"), ("null", "it has no peer")];

/// Transports whose ends have names as long as they are open. They lie in the harness's directory, which it removes.
const NAMES_STAY: [(&str, &str); 3] = [
    ("xti-udp", "an endpoint is found by its address"),
    ("xti-ticlts", "an endpoint is found by its address"),
    ("xti-ticots", "an endpoint is found by its address"),
];

/// The result of a check that did not fail: `None`, or the reason why it was skipped.
type Finding = Result<Option<String>, String>;

fn main() -> ExitCode {
    let filter: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |check: &Check| filter.is_empty() || filter.iter().any(|wanted| check.name.contains(wanted));
    let (alone, beside): (Vec<_>, Vec<_>) = checks().into_iter().filter(is_wanted).partition(|check| check.is_alone);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut report = |name: &str, finding: Finding| match finding {
        Ok(None) => {
            passed += 1;
            println!("test {name} ... ok");
        }
        Ok(Some(reason)) => {
            skipped += 1;
            println!("test {name} ... skipped: {reason}");
        }
        Err(what) => {
            failed += 1;
            println!("test {name} ... FAILED: {what}");
        }
    };
    run_all(beside, BESIDE, &mut report);
    run_all(alone, 1, &mut report);
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A check of one transport.
struct Check {
    name: String,
    /// Its processes spin, and beside others each message would wait for the end of a time slice; or RLIMIT_MSGQUEUE bounds the
    /// queues of all checks together, and beside others it would be skipped.
    is_alone: bool,
    body: Box<dyn Fn(&Path) -> Finding>,
}

/// Every check.
fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    for entry in TABLE {
        let mut add = |name: &str, body: Box<dyn Fn(&Path) -> Finding>| {
            let name = format!("{}::{name}", entry.info.name);
            checks.push(Check { name, is_alone: entry.info.spins || entry.info.name == "posix-mq", body });
        };
        add("describes_itself", Box::new(|_| describes_itself(entry)));
        add("leaves_no_name", Box::new(|directory| leaves_no_name(entry, directory)));
        add("refuses_when_full", Box::new(|directory| refuses_when_full(entry, directory)));
        add("shows_that_the_sender_is_gone", Box::new(|directory| sender_gone(entry, directory)));
        add("shows_that_the_receiver_is_gone", Box::new(|directory| receiver_gone(entry, directory)));
        for pattern in patterns::TABLE {
            // Transports that belong to one suite only are not in the suite `use`.
            if entry.info.special && is_of_use(pattern.info.name) {
                continue;
            }
            add(pattern.info.name, Box::new(|directory| works_at_every_size(entry, pattern, directory)));
        }
    }
    checks
}

/// Runs the checks, `limit` at a time, and reports each when it has ended.
fn run_all(checks: Vec<Check>, limit: usize, report: &mut dyn FnMut(&str, Finding)) {
    let mut waiting = checks.into_iter();
    let mut running: Vec<Running> = Vec::new();
    loop {
        while running.len() < limit {
            let Some(check) = waiting.next() else { break };
            match Running::start(check.name.clone(), &*check.body) {
                Ok(started) => running.push(started),
                Err(what) => report(&check.name, Err(what)),
            }
        }
        if running.is_empty() {
            return;
        }
        let mut at = 0;
        while at < running.len() {
            match running[at].ended() {
                Some(finding) => report(&running.swap_remove(at).name, finding),
                None => at += 1,
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Whether a pattern belongs only to the suite `use`. Its launches have many processes or few messages and take long,
/// and its loops are those of other patterns or have no message size.
fn is_of_use(pattern: &str) -> bool {
    ["rtt-two-channels", "paced-", "pairs-", "epoll-", "poll-"].iter().any(|prefix| pattern.starts_with(prefix))
}

/// A check in a child process with a directory of its own. A child that dies or exceeds the time limit has failed.
struct Running {
    name: String,
    child: Child,
    /// The child writes its finding, which is short, before it ends.
    from_child: io::PipeReader,
    deadline: Instant,
    _directory: tempfile::TempDir,
}

impl Running {
    fn start(name: String, check: &dyn Fn(&Path) -> Finding) -> Result<Running, String> {
        let directory = tempfile::tempdir().map_err(words)?;
        let (from_child, to_parent) = io::pipe().map_err(words)?;
        let mut to_parent = Some(to_parent);
        let child = Child::fork(|| {
            let finding = check(directory.path());
            let text = serde_json::to_vec(&finding).unwrap_or_default();
            let written = to_parent.take().map(|mut pipe| pipe.write_all(&text));
            i32::from(!matches!(written, Some(Ok(()))))
        })
        .map_err(words)?;
        Ok(Running { name, child, from_child, deadline: Instant::now() + PATIENCE, _directory: directory })
    }

    /// Returns the finding, if the child has ended or its time is over.
    fn ended(&mut self) -> Option<Finding> {
        let status = match self.child.try_wait() {
            Ok(None) if Instant::now() < self.deadline => return None,
            Ok(None) => {
                self.child.kill();
                return Some(Err(format!("stuck for {PATIENCE:?}")));
            }
            Ok(Some(status)) => status,
            Err(error) => return Some(Err(words(error))),
        };
        let mut text = Vec::new();
        Some(
            self.from_child.read_to_end(&mut text).map_err(words).and_then(|_| {
                serde_json::from_slice(&text).map_err(|_| format!("the check's process died ({status})"))?
            }),
        )
    }
}

/// Waits for a child, for at most `patience`.
fn wait(child: &mut Child, patience: Duration) -> Result<String, String> {
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait().map_err(words)? {
            Some(status) => return Ok(status.to_string()),
            None if Instant::now() >= deadline => return Err(format!("stuck for {patience:?}")),
            None => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

fn words(error: impl ToString) -> String {
    error.to_string()
}

fn setup(directory: &Path) -> Setup<'_> {
    Setup { size: SIZE, duplex: false, nonblocking: false, same_cpu: false, directory, options: "" }
}

/// Opens a transport, or returns the reason why it is not available.
fn open(entry: &Entry, setup: &Setup<'_>) -> Result<(DynEndpoint, DynEndpoint), Option<String>> {
    (entry.open)(setup).map_err(|Unavailable(reason)| Some(reason))
}

/// `let ... else` for the ends of a transport that may not be available.
macro_rules! ends {
    ($entry:expr, $setup:expr) => {
        match open($entry, $setup) {
            Ok(ends) => ends,
            Err(reason) => return Ok(reason),
        }
    };
}

fn describes_itself(entry: &Entry) -> Finding {
    let info = entry.info;
    let named = TABLE.iter().filter(|other| other.info.name == info.name).count();
    let plain = info.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    match () {
        () if named != 1 => Err(format!("{named} transports have this name")),
        () if !plain || info.name.is_empty() => Err("a name has lower-case letters, digits and -".into()),
        () if info.summary.is_empty() || info.blocking.is_empty() => {
            Err("has no summary or no description of its waiting".into())
        }
        () => Ok(None),
    }
}

fn leaves_no_name(entry: &Entry, directory: &Path) -> Finding {
    if let Some((_, reason)) = NAMES_STAY.iter().find(|(name, _)| *name == entry.info.name) {
        return Ok(Some((*reason).into()));
    }
    let _ends = ends!(entry, &Setup { duplex: true, ..setup(directory) });
    match directory.read_dir().map_err(words)?.next() {
        None => Ok(None),
        Some(left) => Err(format!("left {}", left.map_err(words)?.path().display())),
    }
}

/// Fills a non-blocking transport until it refuses a message, then drains it: all messages must arrive, in order.
fn refuses_when_full(entry: &Entry, directory: &Path) -> Finding {
    if entry.info.loss == Loss::Possible || entry.info.standing == Standing::Null {
        return Ok(Some("it never refuses".into()));
    }
    let (mut sender, mut receiver) = ends!(entry, &Setup { nonblocking: true, ..setup(directory) });
    sender.attach().and_then(|()| receiver.attach()).map_err(words)?;
    let mut payload = Payload::new(SIZE);
    let mut bytes_in = 0;
    for sequence in 0.. {
        match sender.send_some(payload.message(sequence)) {
            Ok(SIZE) => bytes_in += SIZE,
            // After a partial write the rest does not fit either.
            Ok(part) => {
                bytes_in += part;
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(format!("the sender got {error}")),
        }
        if sequence == FULL {
            return Err(format!("took {FULL} messages and did not refuse"));
        }
    }
    if bytes_in == 0 {
        return Err("refused the first message".into());
    }
    let mut check = StreamCheck::new(SIZE, 0);
    let bytes_out = |check: &StreamCheck| check.sequence() as usize * SIZE + check.offset();
    let deadline = Instant::now() + DEATH_PATIENCE;
    let mut buffer = [0; SIZE];
    loop {
        match receiver.receive_some(&mut buffer) {
            Ok(0) => return Err("end of file while the sender lives".into()),
            Ok(count) => check.push(&buffer[..count]).map_err(words)?,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(format!("the receiver got {error}")),
            // Over a network the rest may still be in transit.
            Err(_) if bytes_out(&check) < bytes_in && Instant::now() < deadline => std::thread::yield_now(),
            Err(_) => break,
        }
    }
    match bytes_out(&check) {
        bytes if bytes == bytes_in => Ok(None),
        bytes => Err(format!("{bytes_in} B went in and {bytes} B came out")),
    }
}

/// Returns the reason why a transport does not notify, if it is in the list of exceptions.
fn unseen(entry: &Entry, exceptions: &[(&str, &str)]) -> Option<String> {
    if entry.info.loss != Loss::Never {
        return Some("datagrams have no connection".into());
    }
    exceptions.iter().find(|(name, _)| *name == entry.info.name).map(|(_, reason)| (*reason).to_owned())
}

fn sender_gone(entry: &Entry, directory: &Path) -> Finding {
    if let Some(reason) = unseen(entry, &SENDER_DEATH_UNSEEN) {
        return Ok(Some(reason));
    }
    let (sender, receiver) = ends!(entry, &setup(directory));
    let mut payload = Payload::new(SIZE);
    survive_peer(
        sender,
        receiver,
        |mut sender| sender.send(payload.message(0)),
        |mut receiver| {
            let mut payload = Payload::new(SIZE);
            receiver.receive(payload.space())?;
            payload.verify(0)?;
            receiver.receive(payload.space())
        },
    )
}

fn receiver_gone(entry: &Entry, directory: &Path) -> Finding {
    if let Some(reason) = unseen(entry, &RECEIVER_DEATH_UNSEEN) {
        return Ok(Some(reason));
    }
    let (sender, receiver) = ends!(entry, &setup(directory));
    let mut payload = Payload::new(SIZE);
    survive_peer(
        receiver,
        sender,
        |mut receiver| receiver.receive(payload.space()),
        |mut sender| {
            let mut payload = Payload::new(SIZE);
            (0..FULL).try_for_each(|sequence| sender.send(payload.message(sequence)))
        },
    )
}

/// Makes one process run `dying` with the first end and exit, and another run `surviving` with the second end, which
/// must fail within the time limit.
fn survive_peer(
    first: DynEndpoint,
    second: DynEndpoint,
    dying: impl FnOnce(DynEndpoint) -> io::Result<()>,
    surviving: impl FnOnce(DynEndpoint) -> io::Result<()>,
) -> Finding {
    let (mut first, mut second) = (Some(first), Some(second));
    let run = |end: Option<DynEndpoint>, body: &mut dyn FnMut(DynEndpoint) -> io::Result<()>| {
        let mut end = end.expect("taken once in each process");
        end.attach().and_then(|()| body(end))
    };
    let (mut dying, mut surviving) = (Some(dying), Some(surviving));
    let mut mortal = Child::fork(|| {
        drop(second.take());
        let done = run(first.take(), &mut |end| dying.take().expect("called once")(end));
        i32::from(done.is_err())
    })
    .map_err(words)?;
    let mut survivor = Child::fork(|| {
        drop(first.take());
        let done = run(second.take(), &mut |end| surviving.take().expect("called once")(end));
        i32::from(done.is_err())
    })
    .map_err(words)?;
    drop((first, second));
    match (wait(&mut mortal, DEATH_PATIENCE)?.as_str(), wait(&mut survivor, DEATH_PATIENCE)?.as_str()) {
        ("exit status: 0", "exit status: 1") => Ok(None),
        ("exit status: 0", "exit status: 0") => Err("did not see that the other end is gone".into()),
        (dead, survived) => Err(format!("the dying process ended with {dead}, the other with {survived}")),
    }
}

/// Runs a pattern at every size. Skipped only if the pattern or the machine accepts none of them.
fn works_at_every_size(entry: &Entry, pattern: &patterns::Entry, directory: &Path) -> Finding {
    sizes_of(pattern)
        .into_iter()
        .map(|size| {
            yields_its_metrics(entry, pattern, size, directory)
                .map_err(|what| format!("with messages of {size} B {what}"))
        })
        .reduce(|all, next| match (all?, next?) {
            (Some(reason), Some(_)) => Ok(Some(reason)),
            _ => Ok(None),
        })
        .unwrap_or(Ok(None))
}

/// The sizes with which a pattern is checked: all in the long form (`HEADWATER_TIMES`).
fn sizes_of(pattern: &patterns::Entry) -> Vec<usize> {
    if is_of_use(pattern.info.name) {
        return SIZES_OF_USE.to_vec();
    }
    if std::env::var_os("HEADWATER_TIMES").is_some() {
        return SIZES.to_vec();
    }
    let place = patterns::TABLE.iter().position(|entry| entry.info.name == pattern.info.name).unwrap_or(0);
    let mut sizes = SIZES;
    sizes.rotate_left(place * SIZES_BRIEF % SIZES.len());
    sizes[..SIZES_BRIEF].to_vec()
}

/// Runs a very short launch, with all its processes and with every byte verified, as a conductor does.
fn yields_its_metrics(entry: &Entry, pattern: &patterns::Entry, size: usize, directory: &Path) -> Finding {
    if let Err(reason) = (pattern.accepts)(entry.info, size) {
        return Ok(Some(reason));
    }
    let one_cpu = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1);
    if entry.info.spins && one_cpu {
        return Ok(Some("on one CPU each message would wait for the end of a time slice".into()));
    }
    let info = pattern.info;
    let metrics: Vec<_> = info.metrics.iter().map(patterns::MetricInfo::metric).collect();
    let row = Row {
        id: format!("{}/{}/{size}/free", entry.info.name, info.name),
        subject: entry.info.name.into(),
        pattern: info.name.into(),
        definition_version: info.definition_version,
        standing: entry.info.standing,
        placement: Placement::Free,
        size_bytes: Some(size as u64),
        messages: info.counted.then_some(20),
        workers: None,
        worker_kind: None,
        policy: None,
        variant: None,
        metrics,
    };
    let job = Job {
        row,
        time_s: 0.005,
        warm_up_s: 0.001,
        cpus: None,
        directory: directory.into(),
        token: format!("conformance-{}", std::process::id()),
        repetitions: 2,
        command: None,
        patience_s: 10.0,
    };
    match launch(entry, pattern, &job) {
        Ok(measured) => has_values(&measured, info),
        Err(LaunchError::Unavailable(reason)) => Ok(Some(reason)),
        Err(LaunchError::Failed(reason)) => Err(reason),
    }
}

fn launch(entry: &Entry, pattern: &patterns::Entry, job: &Job) -> Result<Measured, LaunchError> {
    let mut team = (entry.fork)(pattern, job)?;
    let measured = (pattern.conduct)(&mut team, job)?;
    team.finish()?;
    Ok(measured)
}

fn has_values(measured: &Measured, info: &patterns::Info) -> Finding {
    for metric in info.metrics {
        let values = measured.series.get(metric.name).map_or(&[][..], |values| values);
        // The null transport may take no time, and a ratio may be zero.
        let sane = |&value: &f64| value.is_finite() && (value > 0.0 || metric.unit == "ratio" && value == 0.0);
        if values.is_empty() || !values.iter().all(sane) {
            return Err(format!("{} has the values {values:?}", metric.name));
        }
    }
    match measured.counters.get("operations") {
        Some(&operations) if operations > 0.0 => Ok(None),
        operations => Err(format!("counted {operations:?} operations")),
    }
}
