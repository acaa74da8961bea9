//! Events of the crate `tracing` are in the trace exactly once, with their values.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use headwater_trace::event::TEXT_MAX;
use headwater_trace::region::{Layout, Region};
use headwater_trace::{WhenFull, session};
use headwater_trace_tools::consumer::{self, Totals};
use headwater_trace_tools::ctf::{Reader, TraceItem};
use headwater_trace_tools::schema::Clock;
use tracing::{Level, event, info, info_span, trace, warn};
use tracing_subscriber::layer::SubscriberExt;

/// The contents of a trace: for each event its name and the program's fields as text, and separately the fields that the layer adds.
struct Seen {
    lines: Vec<String>,
    added: Vec<Added>,
    totals: Totals,
}

/// The fields that the layer adds to a record, as text; empty where there is none. Spans are numbered from 1 in the order in
/// which they begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Added {
    level: String,
    span: String,
    parent: String,
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
    let (lines, added) = read(&trace);
    Seen { lines, added, totals }
}

fn read(trace: &Path) -> (Vec<String>, Vec<Added>) {
    let (mut lines, mut all, mut spans) = (Vec::new(), Vec::new(), HashMap::from([("0".to_owned(), 0)]));
    let mut reader = Reader::open(&[trace.to_owned()]).expect("a trace");
    while let Some(item) = reader.next().expect("sound") {
        let TraceItem::Record(record) = item else { panic!("nothing is lost") };
        if record.kind.name != "headwater:thread" {
            let (mut line, mut added) = (record.kind.name.clone(), Added::default());
            for (name, value) in record.fields() {
                let value = value.to_string();
                let number = spans.len();
                let mut span = || spans.entry(value.clone()).or_insert(number).to_string();
                match name {
                    "level" => added.level = value,
                    "span" => added.span = span(),
                    "parent" => added.parent = span(),
                    _ => line += &format!(" {name}={value}"),
                }
            }
            lines.push(line);
            all.push(added);
        }
    }
    (lines, all)
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
    let long = "x".repeat(TEXT_MAX - 1) + "éé";
    let text = "t".repeat(1_400);
    let numbers = [9; 2_000];
    let seen = recorded(&["*"], || {
        info!(name: "cut", long = long.as_str(), nul = "a\0b", whole = "c");
        info!(name: "cut", long = ?numbers, nul = "", whole = "");
        info!(name: "fits", long = ?numbers[..100], nul = "", whole = "");
        info!(name: "full", a = text.as_str(), b = text.as_str(), c = text.as_str(), d = text.as_str(), e = 1_u8);
    });
    let shown = format!("{numbers:?}");
    let x = "x".repeat(TEXT_MAX - 1);
    assert_eq!(seen.lines[0], format!("from_tracing:cut long={x:?} nul=\"a\" whole=\"c\" cut=2"));
    assert_eq!(seen.lines[1], format!("from_tracing:cut long={:?} nul=\"\" whole=\"\" cut=1", &shown[..TEXT_MAX]));
    let shown = format!("{:?}", &numbers[..100]);
    assert_eq!(seen.lines[2], format!("from_tracing:fits long={shown:?} nul=\"\" whole=\"\""));
    // The third text takes what remains beside the span, the level and the number of cut fields; the others have no place.
    let last = &text[..4096 - 16 - 8 - 3 - 2 * 1_401 - 1];
    assert_eq!(seen.lines[3..], [format!("from_tracing:full a={text:?} b={text:?} c={last:?} cut=3")]);
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
fn records_name_their_level_span_and_parent() {
    let seen = recorded(&["*", "!from_tracing:unwanted*"], || {
        tracing::error!("outside");
        let outer = tracing::debug_span!("outer");
        let inner = outer.in_scope(|| {
            warn!("in the outer one");
            // A span that is not recorded is no span of the trace.
            let unwanted = tracing::error_span!("unwanted").entered();
            info!("in the outer one too");
            let inner = tracing::trace_span!("inner");
            drop(unwanted);
            inner
        });
        // In another scope than it was made in, and twice.
        for _ in 0..2 {
            inner.in_scope(|| trace!("in the inner one"));
            event!(parent: &outer, Level::DEBUG, "of the outer one");
        }
        let root = info_span!(parent: None, "root", span = "mine");
        let _root = root.enter();
        event!(parent: None, Level::INFO, "of none");
        std::thread::spawn(|| info!("in no span of this thread")).join().expect("it does not panic");
    });
    let added = |line: &Added| format!("{} {} {}", line.level, line.span, line.parent);
    let lines: Vec<String> = seen.added.iter().map(added).collect();
    let expected = [
        "error 0 ",
        "debug 1 0",
        "warn 1 ",
        "info 1 ",
        " 1 ",
        "trace 2 1",
        "trace 2 ",
        " 2 ",
        "debug 1 ",
        "trace 2 1",
        "trace 2 ",
        " 2 ",
        "debug 1 ",
        "info 3 0",
        "info 0 ",
        "info 0 ",
        " 3 ",
    ];
    assert_eq!(lines, expected);
    assert_eq!(seen.lines[13], "from_tracing:root_begin span_2=\"mine\"");
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
