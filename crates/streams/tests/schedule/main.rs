//! Every form of waiting, for the reader and for the writer, alone and in pairs, while one of the processes is killed,
//! stopped, replaced by exec or forked: no wait lasts longer than its bound, and no message is lost or doubled.
//!
//! `cargo xtask schedule` runs the long form. A failure names its forms and its seed; `HEADWATER_CASE=edge/tokio` and
//! `HEADWATER_SEED` repeat it; `HEADWATER_EVENT=Kill` selects rounds with that event only. With `HEADWATER_JOBS=6`
//! and `HEADWATER_JOB=0` to 5 six runs divide the pairs.

mod board;
#[path = "../common/mod.rs"]
mod common;
mod form;
mod process;
mod round;
mod setup;
mod threads;
mod worker;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use board::Board;
use common::{in_own_process, setting};
use form::{FORMS, Form};
use round::Outcome;
use setup::Setup;

/// The time limit of a round besides the stalls that it detects itself.
const PATIENCE: Duration = Duration::from_secs(120);

/// The results of the rounds of one pair of forms, or of one kind of event.
#[derive(Debug, Default)]
struct Counts {
    rounds: u64,
    words: u64,
    late: u64,
    longest: Duration,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        self.rounds += 1;
        self.words += outcome.words;
        self.late += u64::from(outcome.longest > LATE);
        self.longest = self.longest.max(outcome.longest);
    }
}

/// A round without any progress for so long is counted.
const LATE: Duration = Duration::from_millis(300);

#[test]
fn no_wait_lasts_long_and_no_message_is_lost_in_any_form() {
    in_own_process!();
    let wanted = std::env::var("HEADWATER_CASE").unwrap_or_default();
    let event = std::env::var("HEADWATER_EVENT").unwrap_or_default();
    let pairs = FORMS.iter().flat_map(|writer| FORMS.map(|reader| [*writer, reader]));
    let pairs = pairs.filter(|forms| setup::name(*forms).contains(&wanted)).enumerate();
    // Every how many-th pair, and from which on: for several runs at once.
    let (jobs, job) = (setting("HEADWATER_JOBS", 1), setting("HEADWATER_JOB", 0));
    let pairs: Vec<[Form; 2]> = pairs.filter(|(at, _)| *at as u64 % jobs == job).map(|(_, forms)| forms).collect();
    // The short form takes all pairs by turns; the long form gives each pair its time.
    let long_s = setting("HEADWATER_SECONDS", 0);
    let until = Instant::now() + Duration::from_secs(3 * setting("HEADWATER_TIMES", 1));
    let board = Board::create();
    let mut seed = setting("HEADWATER_SEED", 1);
    let rounds = setting("HEADWATER_ROUNDS", u64::MAX);
    let (mut by_pair, mut by_event) = (BTreeMap::new(), BTreeMap::new());
    let mut play = |forms: [Form; 2], seed: u64| {
        let setup = Setup::of(forms, seed);
        if !setup.label().contains(&event) {
            return;
        }
        common::within(PATIENCE, format!("{setup:?}"));
        let outcome = round::run(&setup, &board);
        by_pair.entry(setup::name(forms)).or_insert_with(Counts::default).add(&outcome);
        by_event.entry(setup.label()).or_insert_with(Counts::default).add(&outcome);
    };
    if long_s > 0 {
        for forms in &pairs {
            let until = Instant::now() + Duration::from_secs(long_s);
            while Instant::now() < until {
                play(*forms, seed);
                seed += 1;
            }
        }
    } else {
        for forms in pairs.iter().cycle().take(rounds.min(1 << 20) as usize) {
            play(*forms, seed);
            seed += 1;
            if Instant::now() >= until {
                break;
            }
        }
    }
    common::calm();
    println!("writer/reader: rounds, words, rounds with {LATE:?} without progress, longest");
    for (name, Counts { rounds, words, late, longest }) in by_pair.iter().chain(&by_event) {
        println!("{name:24} {rounds:6} {words:10} {late:4} {longest:8.1?}");
    }
}

/// Not a separate test: the program of a process that executes itself in the middle of a round.
#[test]
fn carries_on_after_exec() {
    if let Some((setup, board, process, stream)) = process::of_environment() {
        process::carry_on(&setup, &board, process, stream);
    }
}
