//! A session, and what its trace must hold.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use headwater_trace::WhenFull;
use headwater_trace::region::{Layout, Region};
use headwater_trace_tools::Value;
use headwater_trace_tools::consumer::{Consumer, Totals};
use headwater_trace_tools::ctf::{Item, Reader};
use headwater_trace_tools::schema::Clock;

use crate::program;

/// A session's files, which go with it.
pub struct Stage {
    directory: tempfile::TempDir,
}

impl Stage {
    pub fn new(when_full: WhenFull, cpu_bytes: usize) -> Stage {
        // In memory: a disk would write the logs to itself all the while.
        let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
        let stage = Stage { directory };
        let clock = Clock { name: "tsc".into(), frequency_hz: 2_000_000_000, offset_s: 0, offset_ticks: 0 };
        let layout = Layout { patterns: vec!["test:*".into()], when_full, cpu_bytes, clock };
        Region::create(&stage.session(), &layout).expect("a session");
        stage
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

    /// Carries until the programs have ended, and then the rest.
    pub fn carry(&self, mut ended: impl FnMut() -> bool) -> Totals {
        let mut consumer = Consumer::begin(self.region(), &self.trace(), Vec::new()).expect("a trace");
        while !ended() {
            consumer.carry().expect("carried");
            std::thread::sleep(Duration::from_millis(2));
        }
        consumer.finish().expect("the end")
    }

    /// What the trace holds, after every record was looked at.
    pub fn read(&self) -> Seen {
        let mut seen = Seen::default();
        let mut reader = Reader::open(&[self.trace()]).expect("a trace");
        while let Some(item) = reader.next().expect("sound") {
            match item {
                Item::Record(record) => {
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
                    let told = step % 7 == 0;
                    assert_eq!(record.kind.name, if told { "test:told" } else { "test:step" });
                    if told {
                        assert_eq!(record.field("text"), Some(Value::Text(program::text(step).as_bytes())));
                    }
                    seen.steps.entry((writer, record.tid)).or_default().push((step, record.time));
                }
                Item::Loss(loss) => seen.lost += loss.count,
            }
        }
        seen
    }
}

/// What a trace holds.
#[derive(Debug, Default)]
pub struct Seen {
    /// Records of all kinds.
    pub records: u64,
    pub lost: u64,
    /// Threads that say who they are.
    pub named: u64,
    /// By writer and thread: numbers and times.
    pub steps: BTreeMap<(u64, u32), Vec<(u64, u64)>>,
}

impl Seen {
    /// All numbers of a writer, however many threads it had.
    pub fn numbers(&self, writer: u64) -> Vec<u64> {
        let of = self.steps.iter().filter(|((who, _), _)| *who == writer).flat_map(|(_, steps)| steps);
        of.map(|(number, _)| *number).collect()
    }

    /// Whether each thread's records came in the order in which it wrote them.
    pub fn is_in_order(&self) -> bool {
        self.steps.values().all(|steps| steps.is_sorted_by(|one, next| one.0 < next.0))
    }
}
