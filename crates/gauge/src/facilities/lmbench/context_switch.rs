//! `ctxsw-Pp-Sk`: a ring of P processes that pass a token of 4 bytes over pipes. The process with the token adds up S
//! KiB of its own memory and passes the token on. The figure is the time of a hop, minus the cost of its pipe and its
//! sum in one process.
//!
//! The subtracted part follows the published description of the benchmark (McVoy and Staelin, "lmbench: Portable Tools
//! for Performance Analysis", 1996, section 6.6): one process with as many pipes and one array, which stays in the
//! cache. So the figure contains the switch and the resulting cache misses, but neither the calls nor the sum.
//!
//! Words of 8 bytes are added one by one to two alternating sums, as in the sums of files. A slower loop would hide
//! more of the cache misses; this one is as fast as the original's (docs/lmbench.md). The calls are those of the C
//! library, because its code is cold too after a switch.
//!
//! On two CPUs, neighbours in the ring run on different CPUs. With placement `free` the scheduler decides.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};

use headwater_os::child::Child;
use headwater_os::cpu;
use headwater_os::files::pipe;
use headwater_os_tools::limits::allow_descriptors;
use headwater_os_tools::mapping::Memory;

use super::memory_loops::sum;
use crate::facilities::operation::{Figure, Operation, Run};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;

/// The rows of one size, by the numbers of processes in the published table.
macro_rules! rows {
    ($($size:literal: $($processes:literal)*;)*) => {
        &[$($((
            concat!("ctxsw-", $processes, "p-", $size, "k"),
            concat!("a hop in a ring of ", $processes, " processes that each sum ", $size, " KiB, minus pipe and sum"),
        )),*),*]
    };
}

/// Number of rounds of the token in the check.
const CHECKED: u64 = 3;

/// File descriptors of a worker beside the pipes.
const OTHERS: u64 = 32;

/// The member of the ring that counts the rounds, and the other members.
#[derive(Debug)]
pub struct ContextSwitch {
    /// They must end before the pipes are closed.
    others: Vec<Child>,
    /// The pipe from the last member, and the pipe to the first of the others.
    own_pipes: (File, File),
    own_words: Array,
    /// The pipes of the subtracted part, in one process.
    alone: Vec<(File, File)>,
    /// Number of hops so far: each member adds 1 to the token.
    token: u32,
}

impl Operation for ContextSwitch {
    const ROWS: &'static [(&'static str, &'static str)] = rows! {
        0: 2 4 8 16 32 64 96;
        4: 2 4 8 16 32 64 96;
        8: 2 4 8 16 32 64 96;
        16: 2 4 8 16 32 64 96;
        32: 2 4 8 16 32 64 96;
        64: 2 4 8 16 32 64 96;
    };
    const FIGURE: Figure = Figure::Microseconds;
    const COST: LaunchCost = LaunchCost::fixed(0.015);
    const SUBTRACTED: Option<Run<Self>> = Some(ContextSwitch::round_in_one_process);

    /// A round of the token has as many hops as there are processes.
    fn quantity(job: &Job) -> f64 {
        parameters(&job.row.subject).map_or(1.0, |(processes, _)| processes as f64)
    }

    fn prepare(job: &Job) -> Result<ContextSwitch, Unavailable> {
        let (processes, words) = parameters(&job.row.subject)?;
        let own_words = Array::new(words).map_err(|error| Unavailable::call("mmap", error))?;
        allow_descriptors(4 * processes as u64 + OTHERS).map_err(|error| Unavailable::call("setrlimit", error))?;
        let ring = pipes(processes)?;
        // Member N reads pipe N and writes the next one.
        let mut others = Vec::with_capacity(processes - 1);
        for place in 1..processes {
            let (input, output) = (&ring[place].0, &ring[(place + 1) % processes].1);
            let cpu = job.cpus.map(|(first, second)| if place % 2 == 0 { first } else { second });
            let child =
                Child::fork(|| match cpu.map_or(Ok(()), cpu::bind).and_then(|()| pass_token(input, output, words)) {
                    Ok(()) => 0,
                    Err(_) => 1,
                });
            others.push(child.map_err(|error| Unavailable::call("fork", error))?);
        }
        let mut ends = ring.into_iter();
        let (Some((input, _)), Some((_, output))) = (ends.next(), ends.next()) else {
            return Err(Unavailable("a ring has two processes or more".to_owned()));
        };
        let own_pipes = (input, output);
        Ok(ContextSwitch { others, own_pipes, own_words, alone: pipes(processes)?, token: 0 })
    }

    fn check(&mut self) -> io::Result<()> {
        let hops = CHECKED as u32 * (self.others.len() as u32 + 1);
        let before = self.token;
        self.run(CHECKED)?;
        let by_others = self.token.wrapping_sub(before);
        self.round_in_one_process(CHECKED)?;
        match (by_others, self.token.wrapping_sub(before).wrapping_sub(by_others)) {
            both if both == (hops, hops) => Ok(()),
            other => Err(io::Error::other(format!(
                "{hops} hops should have been made in the ring and in one process: {other:?}"
            ))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        let (input, output) = &self.own_pipes;
        for _ in 0..operations {
            give(output, self.token)?;
            self.token = take(input)?.wrapping_add(1);
            self.own_words.add_up();
        }
        Ok(())
    }
}

impl ContextSwitch {
    /// Makes as many hops over as many pipes, within this process.
    fn round_in_one_process(&mut self, rounds: u64) -> io::Result<()> {
        for _ in 0..rounds {
            for (input, output) in &self.alone {
                give(output, self.token)?;
                self.token = take(input)?.wrapping_add(1);
                self.own_words.add_up();
            }
        }
        Ok(())
    }
}

/// The loop of a member of the ring. It ends when it is killed or a pipe has no other end.
fn pass_token(input: &File, output: &File, words: usize) -> io::Result<()> {
    let own_words = Array::new(words)?;
    loop {
        let token = take(input)?;
        own_words.add_up();
        give(output, token.wrapping_add(1))?;
    }
}

fn take(mut input: &File) -> io::Result<u32> {
    let mut token = [0; 4];
    match input.read(&mut token)? {
        4 => Ok(u32::from_ne_bytes(token)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn give(mut output: &File, token: u32) -> io::Result<()> {
    match output.write(&token.to_ne_bytes())? {
        4 => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// The words that a process adds up: memory of its own, whose pages are resident.
#[derive(Debug)]
struct Array {
    memory: Option<Memory>,
    words: usize,
}

impl Array {
    fn new(words: usize) -> io::Result<Array> {
        let memory = if words == 0 { None } else { Some(Memory::populated(words * size_of::<u64>())?) };
        Ok(Array { memory, words })
    }

    fn add_up(&self) {
        if let Some(memory) = &self.memory {
            black_box(sum(&memory.words()[..self.words]));
        }
    }
}

fn pipes(count: usize) -> Result<Vec<(File, File)>, Unavailable> {
    let one = || pipe().map(|(input, output)| (File::from(input), File::from(output)));
    (0..count).map(|_| one().map_err(|error| Unavailable::call("pipe2", error))).collect()
}

/// Parses the number of processes and the words of 8 bytes of each from the name of the row: `ctxsw-16p-64k`.
fn parameters(subject: &str) -> Result<(usize, usize), Unavailable> {
    let parts = subject.strip_prefix("ctxsw-").and_then(|rest| rest.strip_suffix('k')?.split_once("p-"));
    parts
        .and_then(|(processes, size)| Some((processes.parse().ok()?, size.parse::<usize>().ok()? * 1024 / 8)))
        .ok_or_else(|| Unavailable(format!("{subject} is not of the form ctxsw-<processes>p-<size>k")))
}
