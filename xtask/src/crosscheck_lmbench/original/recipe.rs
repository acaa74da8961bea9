//! For each row the original program, its arguments, the position of the figure in its output, and known causes of
//! differences.

use headwater_gauge::facilities::lmbench::memory_latency;

/// How to measure a row with an original program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    pub program: &'static str,
    /// The arguments of each call, without the repetitions; `FILE` stands for a cached file. The figure is the mean of
    /// all calls.
    pub calls: Vec<Vec<String>>,
    pub server: Server,
    pub printed: Printed,
}

/// The server process that a program needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    None,
    /// The program itself with `-s`; `-S localhost` ends it.
    Program,
    /// `lmhttp`, which serves its working directory until it is killed. The client reads the list of pages from its
    /// input, and has no repetitions: the list is written several times.
    Http,
}

/// The position of a figure in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Printed {
    /// The number before this word.
    Before(&'static str),
    /// `size value`: the second number of the last line.
    Second,
    /// A line `processes us`.
    Switch,
    /// Lines `size files creates-per-second deletes-per-second` for every size: the time per operation in us, from the
    /// line with this size and from this column.
    PerSecond { kib: u32, column: usize },
    /// Lines `MiB ns`: the value of the line whose size is nearest to this one, in KiB.
    Latency(u32),
}

impl Recipe {
    /// Whether it uses a file.
    pub fn takes_file(&self) -> bool {
        self.calls.iter().flatten().any(|word| word == "FILE")
    }

    /// Whether it prints nanoseconds instead of microseconds.
    pub fn prints_ns(&self) -> bool {
        matches!(self.printed, Printed::Latency(_))
    }
}

impl Printed {
    /// Returns the figure in `text`, a positive number.
    pub fn value(self, text: &str) -> Option<f64> {
        let numbers =
            |line: &str| -> Option<Vec<f64>> { line.split_whitespace().map(|word| word.parse().ok()).collect() };
        let pairs = || text.lines().filter_map(numbers).filter(|numbers| numbers.len() == 2);
        let value = match self {
            Printed::Before(unit) => {
                let words: Vec<&str> = text.split_whitespace().collect();
                let at = words.iter().rposition(|word| word.trim_end_matches(',') == unit)?;
                words.get(at.checked_sub(1)?)?.parse().ok()?
            }
            Printed::Second | Printed::Switch => pairs().next_back()?[1],
            Printed::PerSecond { kib, column } => {
                let words = |line: &'_ str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                let is_of_size = |line: &Vec<String>| line.len() == 4 && line[0] == format!("{kib}k");
                1e6 / text.lines().map(words).find(is_of_size)?[column].parse::<f64>().ok()?
            }
            Printed::Latency(kib) => {
                let distance = |mib: f64| (mib * 1024.0 / f64::from(kib)).ln().abs();
                pairs().min_by(|one, other| distance(one[0]).total_cmp(&distance(other[0])))?[1]
            }
        };
        Some(value).filter(|value: &f64| value.is_finite() && *value > 0.0)
    }
}

/// Returns the recipe of a row, or `None` if no original program measures it.
pub fn recipe(subject: &str) -> Option<Recipe> {
    use Printed::{Before, Latency, PerSecond, Second, Switch};
    use Server::{None as Alone, Program};
    let us = Before("microseconds");
    let one = |program, words: &str, printed| Some(of(program, &[words], Alone, printed));
    let served = |program, words: &str, printed| Some(of(program, &[words], Program, printed));
    let memory = |what: &str| one("bw_mem", what, Second);
    // Where the size of a cache is not known, our row is not measured either.
    let latency = || Latency(memory_latency::set_bytes(subject).map_or(0, |bytes| (bytes >> 10) as u32));
    match subject {
        "null-call" => one("lat_syscall", "null", us),
        "null-io" => Some(of("lat_syscall", &["read", "write"], Alone, us)),
        "stat" => one("lat_syscall", "stat FILE", us),
        "fstat" => one("lat_syscall", "fstat FILE", us),
        "open-close" => one("lat_syscall", "open FILE", us),
        "signal-install" => one("lat_sig", "install", us),
        "signal-handle" => one("lat_sig", "catch", us),
        "prot-fault" => one("lat_sig", "prot FILE", us),
        "fork" => one("lat_proc", "fork", us),
        "execve" => one("lat_proc", "exec", us),
        "sh" => one("lat_proc", "shell", us),
        "pipe" => one("lat_pipe", "", us),
        "unix-stream" => one("lat_unix", "", us),
        "udp" => served("lat_udp", "localhost", us),
        "tcp" => served("lat_tcp", "localhost", us),
        "tcp-connect" => served("lat_connect", "localhost", us),
        "http" => Some(of("lat_http", &["localhost"], Server::Http, Before("MB/sec"))),
        "mmap-latency" => one("lat_mmap", "64m FILE", Second),
        "page-fault" => one("lat_pagefault", "FILE", us),
        "pipe-bandwidth" => one("bw_pipe", "", Before("MB/sec")),
        "af-unix-bandwidth" => one("bw_unix", "", Before("MB/sec")),
        "tcp-bandwidth" => served("bw_tcp", "-m 10000000 localhost", Before("MB/sec")),
        "file-reread" => one("bw_file_rd", "64m io_only FILE", Second),
        "file-open-close" => one("bw_file_rd", "64m open2close FILE", Second),
        "mmap-reread" => one("bw_mmap_rd", "64m mmap_only FILE", Second),
        "mmap-open-close" => one("bw_mmap_rd", "64m open2close FILE", Second),
        "bcopy-libc" => memory("64m bcopy"),
        "aligned-bcopy-libc" => memory("64m bcopy conflict"),
        "bcopy-hand" => memory("64m fcp"),
        "partial-bcopy-hand" => memory("64m cp"),
        "memory-read" => memory("256m frd"),
        "memory-write" => memory("256m fwr"),
        "partial-mmap-read" => memory("256m rd"),
        "partial-mmap-write" => memory("256m wr"),
        "partial-mmap-read-write" => memory("256m rdwr"),
        "bzero-copy" => memory("256m bzero"),
        "mhz" => one("mhz", "", Before("MHz")),
        "l1-cache" | "l2-cache" => one("lat_mem_rd", "1 128", latency()),
        "main-memory" => one("lat_mem_rd", "192 128", latency()),
        _ => {
            if let Some((what, size)) = subject.split_once('-').filter(|(what, _)| ["create", "delete"].contains(what))
            {
                let kib = size.strip_suffix('k')?.parse().ok()?;
                let column = if what == "create" { 2 } else { 3 };
                return one("lat_fs", &format!("-s {size}"), PerSecond { kib, column });
            }
            if let Some((count, what)) = subject.strip_prefix("select-").and_then(|rest| rest.split_once('-')) {
                let what = if what == "fd" { "file" } else { what };
                return one("lat_select", &format!("-n {count} {what}"), us);
            }
            let (processes, size) = subject.strip_prefix("ctxsw-")?.strip_suffix('k')?.split_once("p-")?;
            one("lat_ctx", &format!("-s {size} {processes}"), Switch)
        }
    }
}

fn of(program: &'static str, calls: &[&str], server: Server, printed: Printed) -> Recipe {
    let calls = calls.iter().map(|call| call.split_whitespace().map(str::to_owned).collect()).collect();
    Recipe { program, calls, server, printed }
}

/// Returns the cause of an intended difference to the original's figure, if it is known from strace, messages,
/// addresses or measurements; see docs/lmbench.md.
pub fn cause(subject: &str) -> Option<&'static str> {
    match subject {
        "fork" => Some("the original's process has libraries mapped, and ours more memory of its own"),
        "execve" | "sh" => Some("the original's program is linked with a C library; ours has no libraries"),
        "udp" => Some("the original's server answers by sendto(2) to an address; both our sockets are connected"),
        "tcp-connect" => Some(
            "on one CPU the original's caller overruns its server's queue, and a SYN is sent again after a second; ours waits",
        ),
        "mhz" => Some("the original at times prints a half of the processor's frequency"),
        "http" => Some("the original's server writes a date for every page and maps the large ones"),
        _ if subject.starts_with("select-") => {
            Some("the original's set lacks those of the N descriptors that were open before: 8 or 9")
        }
        _ if subject.starts_with("create-") || subject.starts_with("delete-") => {
            Some("ext4 looks at all inodes that were deleted in the last five seconds: measure in a TMPDIR on tmpfs")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
