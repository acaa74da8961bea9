//! A hostile member of a victim's streams: it has their memory mapped, and writes any word at any time while the victim makes every
//! call. The victim's system calls are supervised: none gets an argument that only the member can have chosen. A call that is not expected is
//! refused and reported with the seed; so is a call that does not end, and an end of the victim.
//!
//! Without a member, the same calls are all expected: that is the other half of the test.

mod attacker;
mod board;
mod places;
mod rules;
mod seccomp;
mod victim;

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use headwater_os::child::{self, Child};
use headwater_os::clock::now_ns;

use self::attacker::Targets;
use self::board::{Board, Cell};
use self::places::Places;
use self::rules::Expected;
use self::seccomp::Supervised;
use self::victim::Victim;
use crate::PATIENCE;
use crate::common::{self, Random, extent, in_own_process, setting};

/// The calls of one victim.
const CALLS_OF_A_VICTIM: usize = 150;
/// A call that lasts this long does not end. On a busy machine a call takes seconds.
const ENDLESS: Duration = PATIENCE;

/// Calls by which the report of a panic finds the names of functions.
const REPORT: [seccomp::Number; 3] = [libc::SYS_openat, libc::SYS_getcwd, libc::SYS_readlinkat];

/// What the victims of a campaign have done.
#[derive(Debug, Default)]
struct Sum {
    victims: u64,
    calls: u64,
    errors: u64,
    broken: u64,
    written: u64,
    supervised: u64,
    longest_ns: u64,
    /// What is wrong, without numbers: how often, and the first of each kind.
    wrong: BTreeMap<String, (u64, String)>,
}

#[test]
fn a_member_that_writes_anything_chooses_no_argument_of_a_system_call() {
    in_own_process!();
    let sum = campaign(true);
    // Otherwise the member has hit nothing.
    assert!(sum.victims < 20 || sum.broken * 20 > sum.victims && sum.written > sum.victims, "{sum:#?}");
}

/// Seed 2430 writes a chain of more than fifty modules, which the thread of an attached stream runs through: its stack was too small.
#[test]
fn a_chain_of_many_modules_fits_the_stack_of_a_thread_of_the_library() {
    in_own_process!();
    let (places, mut sum) = (Places::new(), Sum::default());
    let _holder = places.holder();
    (0..3).for_each(|_| case(2430, true, &places, &mut sum));
    let wrong: Vec<&String> = sum.wrong.values().map(|(_, text)| text).collect();
    assert!(wrong.is_empty() && sum.victims == 3, "{wrong:?}");
}

#[test]
fn without_a_hostile_member_every_system_call_is_expected() {
    in_own_process!();
    campaign(false);
}

fn campaign(hostile: bool) -> Sum {
    let places = Places::new();
    let _holder = places.holder();
    let first = setting("HEADWATER_SEED", 1);
    let until_ns = now_ns() + Duration::from_secs(extent("HEADWATER_SECONDS", 2)).as_nanos() as u64;
    let (mut seed, mut sum, mut told_ns) = (first, Sum::default(), now_ns());
    while now_ns() < until_ns {
        common::within(10 * PATIENCE, format!("a hostile member with seed {seed}"));
        case(seed, hostile, &places, &mut sum);
        seed += 1;
        if now_ns() - told_ns > 60_000_000_000 {
            told_ns = now_ns();
            println!("seed {seed}: {} calls of {} victims, {} wrong", sum.calls, sum.victims, sum.wrong.len());
        }
    }
    common::calm();
    places.check_foreign();
    println!(
        "seeds {first} to {}, {}: {} calls of {} victims, {} errors, {} of broken streams; {} system calls supervised, {} words written, longest call {:.1?}",
        seed - 1,
        if hostile { "with a hostile member" } else { "without one" },
        sum.calls,
        sum.victims,
        sum.errors,
        sum.broken,
        sum.supervised,
        sum.written,
        Duration::from_nanos(sum.longest_ns),
    );
    let wrong: Vec<String> = sum.wrong.values().map(|(count, text)| format!("{count} times: {text}")).collect();
    assert!(wrong.is_empty(), "{} different:\n{}", wrong.len(), wrong.join("\n"));
    sum
}

/// A process that a member could have signals sent to: it has no handler, and its own group.
fn bystander(maps: Option<u32>) -> Child {
    common::users::started(|ready| {
        child::lead_group();
        if let Some(victim) = maps {
            attacker::map(&attacker::memories(victim));
        }
        ready();
        std::thread::sleep(Duration::from_secs(600));
        Ok(())
    })
}

fn case(seed: u64, hostile: bool, places: &Places, sum: &mut Sum) {
    let (mut random, board) = (Random(seed), Arc::new(Board::new()));
    let seeds = [random.next(), random.next()];
    let mut victim = Child::fork(|| victim(seeds[0], places, &board)).expect("fork");
    let listener = board.wait(Cell::Listener);
    let supervised = listener.checked_sub(1).map(|number| Supervised::of(victim.id(), number as i32));
    let Some(supervised) = supervised else {
        let status = victim.try_wait().expect("wait");
        panic!("the victim of seed {seed} is not ready: {status:?}");
    };
    let supervised = supervised.expect("the victim is supervised");
    let mut processes: Vec<Child> = Vec::new();
    let mut members = Vec::new();
    if hostile {
        processes.extend([bystander(None), bystander(Some(victim.id()))]);
        let targets = Targets { victim: victim.id(), others: processes.iter().map(Child::id).collect() };
        members.push(processes[1].id());
        let attacker = Child::fork(|| attacker::rage(seeds[1], &targets, &board)).expect("fork");
        members.push(attacker.id());
        processes.push(attacker);
    } else {
        board.set(Cell::Go, 1);
    }
    let expected = Expected {
        victim: victim.id(),
        memory: File::open(format!("/proc/{}/mem", victim.id())).expect("our own child"),
        members,
        directory: places.directory().to_owned(),
        foreign: places.foreign(),
        endpoint: places.foreign_endpoint(),
    };
    let mut wrong = |text: String| {
        let in_call = match board.get(Cell::Call).checked_sub(1) {
            Some(call) => format!(" (in {})", victim::name(call as usize)),
            None => String::new(),
        };
        let kind = text.replace(|letter: char| letter.is_ascii_digit(), "");
        let (count, _) = sum.wrong.entry(kind).or_insert_with(|| {
            let text = format!("seed {seed}: {text}{in_call}");
            println!("{text}");
            (0, text)
        });
        *count += 1;
    };
    let status = loop {
        while let Some(asked) = supervised.next(Duration::from_millis(20)) {
            sum.supervised += 1;
            let verdict = expected.check(&asked);
            // What was read of a thread or a process that has ended meanwhile was nothing.
            let refusal = match verdict {
                Err(_) if board.get(Cell::Panics) != 0 && REPORT.contains(&asked.number) => None,
                Err(text) if supervised.waits(&asked) && expected.sees() => {
                    wrong(format!("{}: {text}", system_call(asked.number)));
                    Some(libc::EPERM)
                }
                _ => None,
            };
            supervised.answer(&asked, refusal);
        }
        if let Some(status) = victim.try_wait().expect("wait") {
            break Some(status);
        }
        let (call, begun) = (board.get(Cell::Call), board.get(Cell::Begun));
        if call != 0 && now_ns().saturating_sub(begun) > ENDLESS.as_nanos() as u64 {
            wrong(format!("a call does not end:\n{}", waits(victim.id())));
            break None;
        }
    };
    match status {
        Some(status) if !status.success() || board.get(Cell::Finished) == 0 => {
            let report = std::fs::read_to_string(places.report()).unwrap_or_default();
            let _ = std::fs::remove_file(places.report());
            wrong(format!("the victim has ended: {status}: {report}"));
        }
        _ => {}
    }
    for (process, what) in processes.iter_mut().zip(["a process without the memory", "a member that takes no signals"])
    {
        if let Some(status) = process.try_wait().expect("wait") {
            wrong(format!("{what} has ended: {status}"));
        }
    }
    sum.victims += 1;
    sum.calls += board.get(Cell::Calls);
    sum.errors += board.get(Cell::Errors);
    sum.broken += u64::from(board.get(Cell::Broken) > 0);
    sum.written += board.get(Cell::Written);
    sum.longest_ns = sum.longest_ns.max(board.get(Cell::Longest));
}

/// In the victim's process; returns its status.
fn victim(seed: u64, places: &Places, board: &Arc<Board>) -> i32 {
    child::lead_group();
    // A panic of any thread, also of the library's own.
    let (hook, own, path) = (std::panic::take_hook(), board.clone(), places.report());
    std::panic::set_hook(Box::new(move |information| {
        own.set(Cell::Panics, 1);
        let _ = std::fs::write(&path, information.to_string());
        hook(information);
        std::process::abort();
    }));
    extern "C" fn nothing(_: libc::c_int) {}
    for number in [libc::SIGPOLL, libc::SIGURG] {
        // SAFETY: installs a handler that does nothing.
        unsafe { libc::signal(number, nothing as extern "C" fn(libc::c_int) as usize) };
    }
    let victim = match Victim::new(seed, places) {
        Ok(victim) => victim,
        Err(error) => {
            eprintln!("the victim has no streams: {error}");
            return 1;
        }
    };
    let listener = seccomp::install(rules::FREE, rules::ASKED).expect("Linux 5.19 or later, and no other supervisor");
    board.set(Cell::Listener, listener as u64 + 1);
    if board.wait(Cell::Go) != 0 {
        victim.run(CALLS_OF_A_VICTIM, board);
    }
    0
}

/// Where the threads of a process are in the kernel.
fn waits(process: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let text = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let of = |task: std::fs::DirEntry| {
        let place = task.path();
        format!("{} {} [{}]", text(place.join("comm")), text(place.join("wchan")), text(place.join("syscall")))
    };
    tasks.map(of).collect::<Vec<_>>().join("\n")
}

fn system_call(number: seccomp::Number) -> String {
    let mut names = headwater_os_tools::syscalls::names();
    let name = names.find(|(known, _)| *known == number as u64).map(|(_, name)| name.to_owned());
    name.unwrap_or_else(|| format!("system call {number}"))
}
