//! The workloads: the user's command, or the workloads of the old report, generated here and always the same. All their
//! files are in the run's private directory.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headwater_results::published;
use headwater_results::random::Random;
use headwater_results::schema::Row;

use super::timed::Task;
use headwater_gauge::plan::rows;
use headwater_gauge::{facilities, patterns, transports};
use headwater_results::schema::Placement;

/// A workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The subject of its rows.
    pub name: String,
    /// The work.
    pub task: Task,
    /// Exit codes that count as success.
    pub codes: &'static [i32],
    /// The run that it writes, whose rows are included.
    pub run: Option<PathBuf>,
}

/// The names of the generated workloads.
pub const BUILT_IN: [&str; 4] = ["compile", "compress", CALLS, LMBENCH];

/// Those that run when none is named.
pub const DEFAULT: [&str; 3] = ["compile", "compress", CALLS];

/// The rows of LMbench that tracing affects most.
pub const CALLS: &str = "lmbench-calls";

/// All rows of the published table, so that the wall time is the report's total time of LMbench.
pub const LMBENCH: &str = "lmbench";

/// C files, and functions in each: about half a second of compiling. A short workload gets more blocks in the same
/// time, and is disturbed less often.
const FILES: u32 = 4;
const FUNCTIONS: u32 = 2;

/// Bytes of the text to compress: about half a second of bzip2.
const TEXT_BYTES: usize = 4 << 20;

/// The rows of `lmbench-calls`: those that contain a system call, a fault or a context switch, and a few that tracing
/// does not affect.
const LMBENCH_CALLS: [&str; 24] = [
    "null-call",
    "null-io",
    "stat",
    "fstat",
    "open-close",
    "signal-install",
    "signal-handle",
    "fork",
    "execve",
    "sh",
    "select-10-fd",
    "select-100-fd",
    "select-10-tcp",
    "select-100-tcp",
    "ctxsw-2p-0k",
    "ctxsw-8p-0k",
    "create-0k",
    "delete-0k",
    "prot-fault",
    "page-fault",
    "tcp-connect",
    "file-reread",
    "bcopy-libc",
    "memory-read",
];

/// The round trips among them, with their sizes.
const ROUND_TRIPS: [(&str, u64); 4] = [("pipe", 1), ("unix-stream", 1), ("udp", 4), ("tcp", 1)];

/// Makes the workload of a command.
pub fn of_command(words: &[String]) -> Workload {
    let file = words.first().map(String::as_str).unwrap_or_default().rsplit('/').next().unwrap_or_default();
    let name: String = file
        .chars()
        .map(|letter| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '_' })
        .collect();
    Workload { name, task: Task::Command { words: words.to_vec(), directory: None }, codes: &[0], run: None }
}

/// Makes a workload of the report below `directory`; returns the reason if this machine cannot run it.
///
/// # Errors
/// Errors of the file system.
pub fn built_in(name: &str, directory: &Path) -> io::Result<Result<Workload, String>> {
    let place = directory.join(name);
    fs::create_dir_all(&place)?;
    let workload = |words: Vec<String>, place| Workload {
        name: name.to_owned(),
        task: Task::Command { words, directory: Some(place) },
        codes: &[0],
        run: None,
    };
    Ok(match name {
        "compile" => match installed(&["cc", "gcc", "clang"]) {
            None => Err("no C compiler is installed (cc, gcc, clang)".to_owned()),
            Some(compiler) => {
                let files: Vec<String> = (0..FILES).map(|number| format!("part{number}.c")).collect();
                for (number, file) in (0..).zip(&files) {
                    fs::write(place.join(file), c_file(number))?;
                }
                let fixed = [compiler, "-O2", "-c"].map(str::to_owned);
                Ok(workload(fixed.into_iter().chain(files).collect(), place))
            }
        },
        "compress" => match installed(&["bzip2", "gzip", "xz"]) {
            None => Err("no compressor is installed (bzip2, gzip, xz)".to_owned()),
            Some(compressor) => {
                let mut text = String::new();
                let mut number = 0;
                while text.len() < TEXT_BYTES {
                    text.push_str(&c_file(number));
                    number += 1;
                }
                fs::write(place.join("text"), &text.as_bytes()[..TEXT_BYTES])?;
                Ok(workload([compressor, "-c", "text"].map(str::to_owned).into(), place))
            }
        },
        _ => {
            let run = place.join("run");
            let own = std::env::current_exe()?.to_string_lossy().into_owned();
            let output = run.to_string_lossy().into_owned();
            // On one CPU these rows would otherwise be measured as `same-cpu`.
            let fixed = "run lmbench --placement free --launches 1 --time 5ms --warm-up 1ms --seed 1 --quiet --output";
            let words = [own].into_iter().chain(fixed.split(' ').map(str::to_owned)).chain([output]);
            let words = words.chain(lmbench_rows(name).into_iter().map(|row| row.id)).collect();
            // 4: some rows cannot run on this machine.
            Ok(Workload { codes: &[0, 4], run: Some(run), ..workload(words, place) })
        }
    })
}

/// Returns the rows of a workload of LMbench as the suite has them.
pub fn lmbench_rows(workload: &str) -> Vec<Row> {
    let published = published::run("ltt", "up-a").expect("a table of the program");
    let is_in = |name: &str| match workload {
        CALLS => LMBENCH_CALLS.contains(&name),
        _ => published.results.iter().any(|result| result.row.subject == name && result.row.pattern == "lmbench"),
    };
    let lmbench = facilities::find("lmbench").expect("a facility of the table");
    let subjects = (lmbench.subjects)().into_iter().filter(|subject| is_in(subject.name));
    let rtt = patterns::find("rtt").expect("a pattern of the table");
    let round_trips = ROUND_TRIPS.iter().filter_map(|&(name, size)| {
        let transport = transports::find(name)?;
        Some(rows::of_transport(transport.info, rtt.info, size, None, Placement::Free))
    });
    subjects.map(|subject| rows::of_subject(&subject, lmbench.info, Placement::Free)).chain(round_trips).collect()
}

fn installed(names: &[&'static str]) -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    names.iter().copied().find(|name| std::env::split_paths(&path).any(|directory| directory.join(name).is_file()))
}

/// Writes a C file with work for a compiler and enough text for a compressor; the same number gives the same file.
fn c_file(number: u64) -> String {
    const WORDS: [&str; 12] = [
        "queue", "message", "band", "stream", "window", "reader", "writer", "credit", "module", "head", "put",
        "service",
    ];
    let mut random = Random::new(number);
    let mut text = format!("/* Generated, file {number}. */\nstatic unsigned long table{number}[256];\n\n");
    for function in 0..FUNCTIONS {
        let (first, second) = (WORDS[random.below(12) as usize], WORDS[random.below(12) as usize]);
        let name = format!("{first}_{second}_{number}_{function}");
        let _ = writeln!(text, "unsigned long {name}(unsigned long {first}, int n) {{");
        let _ = writeln!(text, "    unsigned long sum = {first} ^ {}ul;", random.bits());
        let _ = writeln!(text, "    for (int i = 0; i < n; i++) {{");
        for _ in 0..3 + random.below(5) {
            let (shift, at) = (1 + random.below(31), random.below(256));
            let _ = writeln!(
                text,
                "        sum = (sum << {shift} | sum >> {}) + table{number}[(sum + {at}) & 255];",
                64 - shift
            );
            let _ = writeln!(
                text,
                "        if (sum & {}) table{number}[i & 255] ^= sum * {}ul;",
                1 << (shift % 16),
                random.bits()
            );
        }
        let _ = writeln!(text, "    }}\n    return sum;\n}}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use headwater_results::overhead::WORKLOAD;

    use super::*;

    #[test]
    fn what_is_generated_is_the_same_every_time_and_not_the_same_everywhere() {
        assert_eq!(c_file(3), c_file(3));
        assert_ne!(c_file(3), c_file(4).replace("file 4", "file 3"));
    }

    #[test]
    fn the_rows_of_lmbench_are_all_there() {
        let rows = lmbench_rows(CALLS);
        assert_eq!(rows.len(), LMBENCH_CALLS.len() + ROUND_TRIPS.len(), "a name has changed");
        assert!(rows.iter().any(|row| row.id == "null-call/lmbench/free"));
    }

    #[test]
    fn the_workloads_of_lmbench_ask_for_their_rows_also_on_one_cpu() {
        let place = tempfile::tempdir().expect("a directory");
        for name in [CALLS, LMBENCH] {
            let workload = built_in(name, place.path()).expect("room").expect("it needs nothing");
            let Task::Command { words, .. } = workload.task else { panic!("{name}") };
            let words = words.join(" ");
            assert!(words.contains(" --placement free ") && words.contains(" null-call/lmbench/free "), "{words}");
        }
    }

    #[test]
    fn workload_lmbench_has_every_row_of_the_published_table() {
        let rows = lmbench_rows(LMBENCH);
        for machine in ["up-a", "smp4-a"] {
            let published = published::run("ltt", machine).expect("a table of the program");
            for old in published.results.iter().map(|result| &result.row).filter(|row| row.pattern != WORKLOAD) {
                let is_it = |row: &&Row| (&row.subject, &row.pattern) == (&old.subject, &old.pattern);
                assert_eq!(rows.iter().filter(is_it).count(), 1, "{}", old.id);
            }
        }
    }

    #[test]
    fn a_command_is_named_by_its_file() {
        assert_eq!(of_command(&["/usr/bin/a b".to_owned(), "c".to_owned()]).name, "a_b");
    }
}
