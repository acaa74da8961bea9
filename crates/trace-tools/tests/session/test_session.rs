//! A session for a test, and the checks of its trace.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use headwater_shm::logs::{Log, Logs};
use headwater_trace::WhenFull;
use headwater_trace::region::{Layout, Region};
use headwater_trace_tools::Value;
use headwater_trace_tools::consumer::{Consumer, Totals};
use headwater_trace_tools::ctf::{Reader, TraceItem};
use headwater_trace_tools::schema::Clock;

use crate::program;

/// The files of a session. They are removed on drop.
pub struct TestSession {
    directory: tempfile::TempDir,
}

impl TestSession {
    pub fn new(when_full: WhenFull, cpu_bytes: usize) -> TestSession {
        // In memory: on a disk, the kernel would write the logs back all the time.
        let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
        let test = TestSession { directory };
        let clock = Clock { name: "tsc".into(), frequency_hz: 2_000_000_000, offset_s: 0, offset_ticks: 0 };
        let layout = Layout { patterns: vec!["test:*".into()], when_full, cpu_bytes, clock };
        Region::create(&test.session(), &layout).expect("a session");
        test
    }

    /// A session in which events wait for room.
    pub fn waiting(cpu_bytes: usize, longest: Duration) -> TestSession {
        let test = TestSession::new(WhenFull::Refuse, cpu_bytes);
        test.region().set_wait(longest).expect("not too long");
        test
    }

    pub fn session(&self) -> PathBuf {
        self.directory.path().join("session")
    }

    pub fn trace(&self) -> PathBuf {
        self.directory.path().join("trace")
    }

    pub fn region(&self) -> Region {
        Region::open(&self.session()).expect("a session")
    }

    /// Copies events until the programs have ended, and then the rest.
    pub fn carry(&self, ended: impl FnMut() -> bool) -> Totals {
        let mut consumer = Consumer::begin(self.region(), &self.trace(), Vec::new()).expect("a trace");
        carry_until(&mut consumer, ended);
        consumer.finish().expect("the end")
    }

    /// Reads the trace, and checks every record.
    pub fn read(&self) -> Seen {
        let mut seen = Seen::default();
        let mut reader = Reader::open(&[self.trace()]).expect("a trace");
        while let Some(item) = reader.next().expect("sound") {
            match item {
                TraceItem::Record(record) => {
                    seen.records += 1;
                    if record.kind.name == "headwater:thread" {
                        seen.named += 1;
                        continue;
                    }
                    let number = |name| match record.field(name) {
                        Some(Value::Unsigned { value, .. }) => value,
                        other => panic!("{name} is {other:?}"),
                    };
                    let (writer, step) = (number("writer"), number("number"));
                    assert_eq!(number("check"), program::check(writer, step), "a torn record");
                    let is_long = step % 7 == 0;
                    assert_eq!(record.kind.name, if is_long { "test:long_step" } else { "test:step" });
                    if is_long {
                        assert_eq!(record.field("text"), Some(Value::Text(program::text(step).as_bytes())));
                    }
                    seen.steps.entry((writer, record.tid)).or_default().push((step, record.time));
                }
                TraceItem::Loss(loss) => seen.lost += loss.count,
            }
        }
        seen
    }
}

/// Copies events until the programs have ended.
pub fn carry_until(consumer: &mut Consumer, mut ended: impl FnMut() -> bool) {
    while !ended() {
        consumer.carry().expect("carried");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns all logs of a session.
pub fn logs(region: &Region) -> Vec<Log> {
    let of = |logs: &Logs| (0..logs.len()).filter_map(|number| logs.log(number)).collect::<Vec<_>>();
    [of(region.cpu_logs()), of(region.thread_logs())].concat()
}

/// The contents of a trace.
#[derive(Debug, Default)]
pub struct Seen {
    /// Number of records of all types.
    pub records: u64,
    pub lost: u64,
    /// Number of records that name a thread.
    pub named: u64,
    /// By writer and thread: numbers and times of events.
    pub steps: BTreeMap<(u64, u32), Vec<(u64, u64)>>,
}

impl Seen {
    /// Returns all numbers of a writer's events, from all of its threads.
    pub fn numbers(&self, writer: u64) -> Vec<u64> {
        let of = self.steps.iter().filter(|((who, _), _)| *who == writer).flat_map(|(_, steps)| steps);
        of.map(|(number, _)| *number).collect()
    }

    /// Whether the records of each thread are in the order in which it wrote them.
    pub fn is_in_order(&self) -> bool {
        self.steps.values().all(|steps| steps.is_sorted_by(|one, next| one.0 < next.0))
    }
}
