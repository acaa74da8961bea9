//! Events of the crate `tracing` are in the trace exactly once, with their values.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use headwater_trace::region::{Layout, Region};
use headwater_trace::{WhenFull, session};
use headwater_trace_tools::consumer::{self, Totals};
use headwater_trace_tools::ctf::{Reader, TraceItem};
use headwater_trace_tools::schema::Clock;
use tracing::{Level, event, info, info_span, trace, warn};
use tracing_subscriber::layer::SubscriberExt;

/// The contents of a trace: for each event its name and fields as text.
struct Seen {
    lines: Vec<String>,
    totals: Totals,
}

/// Runs a closure in a session, after installing the layer.
fn recorded(patterns: &[&str], run: impl FnOnce()) -> Seen {
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let subscriber = tracing_subscriber::registry().with(headwater_trace::tracing::layer());
    // Only the first test installs it.
    let _ = tracing::subscriber::set_global_default(subscriber);
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let path = directory.path().join("session");
    let clock = Clock { name: "tsc".into(), frequency_hz: 2_000_000_000, offset_s: 0, offset_ticks: 0 };
    let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    let layout = Layout { patterns, when_full: WhenFull::Refuse, cpu_bytes: 32 << 20, clock };
    let region = Region::create(&path, &layout).expect("a session");
    session::join(&path).expect("joined");
    run();
    session::leave();
    let trace = directory.path().join("trace");
    let totals = consumer::recover(region, &trace, Vec::new()).expect("the end");
    Seen { lines: lines(&trace), totals }
}

fn lines(trace: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut reader = Reader::open(&[trace.to_owned()]).expect("a trace");
    while let Some(item) = reader.next().expect("sound") {
        let TraceItem::Record(record) = item else { panic!("nothing is lost") };
        if record.kind.name != "headwater:thread" {
            let fields = record.fields().map(|(name, value)| format!(" {name}={value}"));
            lines.push(record.kind.name.clone() + &fields.collect::<String>());
        }
    }
    lines
}

#[test]
fn fields_arrive_with_their_types_and_values() {
    let seen = recorded(&["*"], || {
        for number in 0..2 {
            info!(
                name: "answered",
                request = 7_u64,
                left = -1_i64,
                took = 1.5,
                cached = true,
                path = "/cart",
                who = ?Some(number),
                "in {} ms",
                12
            );
        }
        event!(name: "query", target: "shop::db", Level::DEBUG, user.id = 3, r#type = "read");
        // Each time with another type.
        for value in [&1_u64 as &dyn tracing::Value, &-1_i64, &"one", &tracing::field::Empty] {
            trace!(name: "mixed", target: "shop", value, last = 5_u64);
        }
    });
    assert_eq!(
        seen.lines,
        [
            "from_tracing:answered message=\"in 12 ms\" request=7 left=-1 took=1.5 cached=1 path=\"/cart\" who=\"Some(0)\"",
            "from_tracing:answered message=\"in 12 ms\" request=7 left=-1 took=1.5 cached=1 path=\"/cart\" who=\"Some(1)\"",
            "shop_db:query user_id=3 type=\"read\"",
            "shop:mixed value=1 last=5",
            "shop:mixed value=-1 last=5",
            "shop:mixed value=\"one\" last=5",
            "shop:mixed last=5",
        ]
    );
}

#[test]
fn an_event_without_a_name_is_named_after_its_source_location() {
    let mut line = 0;
    let seen = recorded(&["*"], || {
        line = line!() + 1;
        warn!("here");
    });
    assert_eq!(seen.lines, [format!("from_tracing:main_rs_{line} message=\"here\"")]);
}

#[test]
fn long_values_are_cut_and_counted() {
    let long = "x".repeat(126) + "éé";
    let text = "t".repeat(125);
    let seen = recorded(&["*"], || {
        info!(name: "cut", long = long.as_str(), nul = "a\0b", whole = "c");
        info!(name: "cut", long = ?[9; 100], nul = "", whole = "");
        info!(name: "full", a = text.as_str(), b = text.as_str(), c = text.as_str(), d = text.as_str(), e = 1_u8);
    });
    let shown = format!("{:?}", [9; 100]);
    let x = "x".repeat(126);
    let full = format!("from_tracing:full a={text:?} b={text:?} c={text:?} e=1 cut=1");
    assert_eq!(seen.lines[0], format!("from_tracing:cut long={x:?} nul=\"a\" whole=\"c\" cut=2"));
    assert_eq!(seen.lines[1], format!("from_tracing:cut long={:?} nul=\"\" whole=\"\" cut=1", &shown[..127]));
    assert_eq!(seen.lines[2..], [full]);
}

#[test]
fn spans_begin_with_their_fields_and_end_with_later_ones() {
    let seen = recorded(&["*"], || {
        let outer = info_span!("outer", request = 5_u64, status = tracing::field::Empty);
        let _outer = outer.enter();
        info_span!("inner").in_scope(|| info!(name: "between", a = 1_u64));
        outer.record("status", 200_u64);
    });
    assert_eq!(
        seen.lines,
        [
            "from_tracing:outer_begin request=5",
            "from_tracing:inner_begin",
            "from_tracing:between a=1",
            "from_tracing:inner_end",
            "from_tracing:outer_end status=200",
        ]
    );
}

#[test]
fn threads_lose_nothing() {
    const COUNT: u64 = 20_000;
    let seen = recorded(&["*"], || {
        std::thread::scope(|scope| {
            for writer in 0..8_u64 {
                scope.spawn(move || {
                    for number in 0..COUNT {
                        let _span = (number % 4 == 0).then(|| info_span!("work", writer).entered());
                        info!(name: "step", writer, number);
                    }
                });
            }
        });
    });
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for line in &seen.lines {
        *counts.entry(line.split(' ').next().expect("a name")).or_default() += 1;
    }
    let expected = [
        ("from_tracing:step", 8 * COUNT),
        ("from_tracing:work_begin", 2 * COUNT),
        ("from_tracing:work_end", 2 * COUNT),
    ];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!((seen.totals.written, seen.totals.lost), (12 * COUNT + 8, 0), "and one record says who each thread is");
    for writer in 0..8 {
        let of = format!("from_tracing:step writer={writer} number=");
        let numbers = seen.lines.iter().filter_map(|line| line.strip_prefix(&of)?.parse::<u64>().ok());
        assert!(numbers.eq(0..COUNT), "writer {writer}");
    }
}

#[test]
fn call_sites_are_reevaluated_when_a_session_begins_or_ends() {
    let (mut built, is_on) = (0, || tracing::event_enabled!(target: "wanted", Level::INFO));
    let mut say = || {
        info!(name: "here", target: "wanted", value = { built += 1; built });
        info!(name: "here", target: "other", value = { built += 100; built });
    };
    let seen = recorded(&["wanted:*"], || {
        say();
        session::leave();
        say();
        assert!(!is_on());
    });
    assert_eq!(seen.lines, ["wanted:here value=1"]);
    say();
    assert_eq!(recorded(&["wanted:*"], &mut say).lines, ["wanted:here value=2"]);
    assert_eq!(built, 2, "values that are not recorded are not computed");
}
