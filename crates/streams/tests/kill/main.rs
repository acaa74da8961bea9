//! A process is killed at any place, and the remaining processes end well: no hang, no lost message, no message twice.
//!
//! With the feature `probes` the victim kills itself at the Nth place between two stores, for each N until it comes
//! through; without, it is killed after a random time. `cargo xtask crash` runs the long form.

#[cfg(feature = "probes")]
mod attached;
#[cfg(feature = "probes")]
mod autopush;
mod board;
#[cfg(feature = "probes")]
mod bufmod;
mod case;
#[cfg(feature = "probes")]
#[path = "../common/closing.rs"]
mod closing;
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "probes")]
#[path = "../common/datagrams.rs"]
mod datagrams;
#[cfg(feature = "probes")]
mod drivers;
#[cfg(feature = "probes")]
#[path = "../common/endpoints.rs"]
mod endpoints;
#[cfg(feature = "probes")]
mod files;
#[cfg(feature = "probes")]
mod ioctl;
#[cfg(feature = "probes")]
mod links;
#[cfg(feature = "probes")]
mod log;
mod meeting;
#[cfg(feature = "probes")]
mod refused;
#[cfg(feature = "probes")]
mod room;
#[cfg(feature = "probes")]
mod routes;
mod script;
#[cfg(feature = "probes")]
mod transports;

use std::time::Duration;

use case::{Case, Death, Part};
use common::{Random, in_own_process, setting};
use headwater_streams::Policy;
use script::Flavour;

const CASES: &[Case] = &[
    Case::new("a writer of bytes", Part::Writes, Flavour::Plain),
    Case::new("a writer of band 0", Part::Writes, Flavour::Lane),
    Case::new("a writer of all kinds", Part::Writes, Flavour::All),
    Case { hiwat: 400, ..Case::new("a writer that waits for room", Part::Writes, Flavour::All) },
    Case { policy: Policy::EAGER, ..Case::new("an eager writer", Part::Writes, Flavour::All) },
    Case::new("a writer that pushes and pops", Part::Writes, Flavour::Pushed),
    Case { modules: [None, Some("srvmod")], ..Case::new("a writer to a service module", Part::Writes, Flavour::All) },
    Case { fellow: true, ..Case::new("one of two writers", Part::Writes, Flavour::All) },
    Case {
        fellow: true,
        modules: [Some("srvmod"), None],
        hiwat: 2000,
        ..Case::new("one of two writers to a service module", Part::Writes, Flavour::All)
    },
    Case::new("a reader", Part::Reads, Flavour::All),
    Case { hiwat: 400, ..Case::new("a reader of one who waits for room", Part::Reads, Flavour::Pushed) },
    Case { fellow: true, ..Case::new("one of two readers", Part::Reads, Flavour::Bands) },
    Case { fellow: true, policy: Policy::EAGER, ..Case::new("one of two eager readers", Part::Reads, Flavour::Bands) },
    Case {
        fellow: true,
        modules: [Some("srvmod"), Some("srvmod")],
        hiwat: 2000,
        ..Case::new("one of two readers behind service modules", Part::Reads, Flavour::Bands)
    },
    Case::new("one that reads and writes", Part::Both, Flavour::All),
    Case {
        modules: [Some("srvmod"), Some("nullmod")],
        hiwat: 2000,
        ..Case::new("one that reads and writes through modules", Part::Both, Flavour::All)
    },
    Case { fifo: true, ..Case::new("a FIFO's writer", Part::Writes, Flavour::All) },
    Case { fifo: true, hiwat: 400, ..Case::new("a FIFO's writer that waits for room", Part::Writes, Flavour::Lane) },
    Case { fifo: true, fellow: true, ..Case::new("one of a FIFO's two writers", Part::Writes, Flavour::All) },
    Case { fifo: true, ..Case::new("a FIFO's reader", Part::Reads, Flavour::All) },
    Case { fifo: true, fellow: true, ..Case::new("one of a FIFO's two readers", Part::Reads, Flavour::Bands) },
];

/// The cases whose names hold the text in `HEADWATER_CASE`: all, without it.
fn cases() -> impl Iterator<Item = &'static Case> {
    let wanted = std::env::var("HEADWATER_CASE").unwrap_or_default();
    CASES.iter().filter(move |case| case.name.contains(&wanted))
}

/// The first round's seed is always the same; each further one has its own.
fn rounds(default: u64) -> impl Iterator<Item = u64> {
    let first = setting("HEADWATER_SEED", 1);
    (first..).take(setting("HEADWATER_ROUNDS", default) as usize)
}

#[test]
fn a_process_killed_at_any_time_leaves_a_whole_stream() {
    in_own_process!();
    let (mut runs, mut kills) = (0, 0);
    for seed in rounds(12) {
        for case in cases() {
            let mut random = Random(seed << 32 | 77);
            let seed = random.next();
            let time = Duration::from_micros(random.next() % 4000);
            runs += 1;
            kills += u32::from(case::run(case, seed, Death::After(time)));
        }
    }
    println!("{kills} kills in {runs} runs");
}

/// After this many runs in a row without a kill there is no later probe.
#[cfg(feature = "probes")]
const ESCAPES: u32 = 20;

#[cfg(feature = "probes")]
#[test]
fn a_process_killed_between_any_two_stores_leaves_a_whole_stream() {
    in_own_process!();
    let whole = std::env::var_os("HEADWATER_ROUNDS").is_some();
    let mut places = std::collections::BTreeMap::<String, u32>::new();
    let (mut runs, mut kills) = (0, 0);
    for seed in rounds(1) {
        for case in cases() {
            let mut random = Random(seed << 32 | 99);
            let seed = random.next();
            let mut place = setting("HEADWATER_PLACE", 0);
            let mut escapes = 0;
            loop {
                let report = std::sync::Arc::new(tempfile::tempfile().expect("a file"));
                runs += 1;
                let killed = case::run(case, seed, Death::At(place, report.clone()));
                if !killed {
                    // Where two share an end, the victim's progress is random.
                    escapes += 1;
                    if escapes > if case.fellow { ESCAPES } else { 0 } {
                        break;
                    }
                    place += 1;
                    continue;
                }
                escapes = 0;
                kills += 1;
                let mut text = String::new();
                std::io::Seek::rewind(&mut &*report).expect("a file");
                std::io::Read::read_to_string(&mut &*report, &mut text).expect("a file");
                *places.entry(text.trim().to_owned()).or_default() += 1;
                // The short form leaves places out, so that it stays short.
                place += if whole { 1 } else { 1 + random.next() % 49 };
            }
        }
    }
    println!("{kills} kills in {runs} runs, at {} different places", places.len());
    places.iter().for_each(|(place, count)| println!("{count:6} {place}"));
}
