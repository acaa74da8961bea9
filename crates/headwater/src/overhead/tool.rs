//! Other tracers as configurations: the command line that each is started with, and where it says how many events it saw.
//! Each starts the command itself, once it is attached; what it takes to attach is not timed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A tracer that this machine may have.
#[derive(Debug)]
pub struct Tool {
    /// The program.
    program: &'static str,
    /// The words before the command, given the patterns of events and the file for what it records. bpftrace takes the
    /// command as one word.
    words: fn(&[String], &str) -> Vec<String>,
    /// Whether the command is one word of its own.
    takes_one_word: bool,
    /// How many events its file, or what it said on standard error, tells of.
    count: fn(file: &[u8], said: &str) -> Option<ToolCounts>,
    /// Whether it sees system calls.
    pub sees_calls: bool,
}

/// What a tracer says that it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolCounts {
    /// Events, recorded or lost.
    pub events: u64,
    /// Of those, lost; none if it does not say.
    pub lost: Option<u64>,
}

/// Where nothing is said of loss.
fn seen(events: u64) -> ToolCounts {
    ToolCounts { events, lost: None }
}

/// `perf record -a` of the events.
pub static PERF_RECORD: Tool = Tool {
    program: "perf",
    words: |events, file| {
        let fixed = ["perf", "record", "-a", "-o", file].map(str::to_owned);
        let events = events.iter().flat_map(|event| ["-e".to_owned(), of_perf(event)]);
        fixed.into_iter().chain(events).chain(["--".to_owned()]).collect()
    },
    takes_one_word: false,
    // "[ perf record: Captured and wrote 1.234 MB FILE (5678 samples) ]"
    count: |_, said| said.split_once(" samples)")?.0.rsplit('(').next()?.trim().parse().ok().map(seen),
    sees_calls: true,
};

/// `perf trace` of the command, all system calls.
pub static PERF_TRACE: Tool = Tool {
    program: "perf",
    words: |_, file| ["perf", "trace", "-o", file, "--"].map(str::to_owned).into(),
    takes_one_word: false,
    // A line for each call, which is two events.
    count: |file, _| Some(seen(2 * lines(file))),
    sees_calls: true,
};

/// `bpftrace`, which counts entries to and exits from system calls of the whole machine.
pub static BPFTRACE: Tool = Tool {
    program: "bpftrace",
    words: |_, file| {
        let script =
            "tracepoint:raw_syscalls:sys_enter { @ = count(); } tracepoint:raw_syscalls:sys_exit { @ = count(); }";
        ["bpftrace", "-o", file, "-e", script, "-c"].map(str::to_owned).into()
    },
    takes_one_word: true,
    count: |file, _| {
        std::str::from_utf8(file).ok()?.lines().find_map(|line| line.strip_prefix("@:")?.trim().parse().ok()).map(seen)
    },
    sees_calls: true,
};

/// `strace -f`, everything into a file.
pub static STRACE: Tool = Tool {
    program: "strace",
    words: |_, file| ["strace", "-f", "-o", file, "--"].map(str::to_owned).into(),
    takes_one_word: false,
    count: |file, _| Some(seen(2 * lines(file))),
    sees_calls: true,
};

/// A session of LTTng of all tracepoints of LTTng-UST, with a session daemon of its own unless one of this user runs. The daemon
/// keeps to a private directory (as root its sockets are in /var/run/lttng); both go with the command, whatever it ends by.
pub static LTTNG_UST: Tool = Tool {
    program: "lttng",
    words: |_, file| ["sh", "-c", LTTNG_SCRIPT, "lttng-ust", file].map(str::to_owned).into(),
    takes_one_word: false,
    // "recorded N" by babeltrace2, if that is installed; "discarded N" by lttng.
    count: |file, _| {
        let text = std::str::from_utf8(file).ok()?;
        let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let lost = number("discarded ")?;
        Some(ToolCounts { events: number("recorded ")? + lost, lost: Some(lost) })
    },
    sees_calls: false,
};

/// What it is started with: a file for its counts, then the command.
const LTTNG_SCRIPT: &str = r#"
counts=$1; shift
export LTTNG_HOME="$counts.lttng"
session=headwater-$$
mkdir -p "$LTTNG_HOME" || exit
lttng-sessiond --no-kernel >&2 & daemon=$!
end() {
    lttng --no-sessiond destroy $session >&2
    kill $daemon; wait $daemon
    rm -rf "$LTTNG_HOME"
}
trap end EXIT
trap 'exit 143' HUP INT TERM
tries=0
until lttng --no-sessiond create $session --output="$LTTNG_HOME/trace" >&2; do
    tries=$((tries + 1)); [ $tries -lt 100 ] || exit
    sleep 0.1
done
lttng --no-sessiond enable-event --userspace --all --session=$session >&2 || exit
lttng --no-sessiond start $session >&2 || exit
"$@"
status=$?
lttng --no-sessiond stop $session >&2
lttng --no-sessiond list $session | awk '/Discarded events:/ { sum += $3 } END { print "discarded", sum + 0 }' > "$counts"
if [ -z "$(find "$LTTNG_HOME/trace" -name metadata)" ]; then
    echo recorded 0 >> "$counts"
else
    babeltrace2 "$LTTNG_HOME/trace" --component=sink.utils.counter |
        awk '/^ *[0-9]+ Event messages/ { last = $1 } END { print "recorded", last }' >> "$counts"
fi
exit $status
"#;

fn lines(file: &[u8]) -> u64 {
    file.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A pattern as perf has it: `irq` means `irq:*`.
fn of_perf(event: &str) -> String {
    if event.contains(':') { event.to_owned() } else { format!("{event}:*") }
}

impl Tool {
    /// Why it cannot be started.
    pub fn obstacle(&self) -> Option<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = std::env::split_paths(&path).any(|directory| directory.join(self.program).is_file());
        (!is_there).then(|| format!("{} is not installed", self.program))
    }

    /// The command line that runs `command` under it.
    pub fn wrap(&self, command: Vec<String>, events: &[String], file: &Path) -> Vec<String> {
        let file = file.to_string_lossy();
        let mut words = (self.words)(events, &file);
        if self.takes_one_word {
            words.push(command.join(" "))
        } else {
            words.extend(command)
        }
        words
    }

    /// How many events it saw, as far as it says; its file is removed.
    pub fn count(&self, file: &Path, said: &[u8]) -> Option<ToolCounts> {
        let recorded = fs::read(file).unwrap_or_default();
        let _ = fs::remove_file(file);
        let _ = fs::remove_file(file.with_extension("data.old"));
        (self.count)(&recorded, &OsStr::from_bytes(said).to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_where_each_tool_says_them() {
        let said = "Warning\n[ perf record: Captured and wrote 0.9 MB /tmp/a(b)/t (5678 samples) ]\n";
        assert_eq!((PERF_RECORD.count)(b"", said), Some(seen(5678)));
        assert_eq!((PERF_RECORD.count)(b"", "perf: cannot"), None);
        assert_eq!((BPFTRACE.count)(b"Attaching 2 probes...\n\n@: 1234\n", ""), Some(seen(1234)));
        assert_eq!((STRACE.count)(b"1 getppid() = 0\n1 exit(0)\n", ""), Some(seen(4)));
        let of_lttng = Some(ToolCounts { events: 1005, lost: Some(5) });
        assert_eq!((LTTNG_UST.count)(b"discarded 5\nrecorded 1000\n", ""), of_lttng);
        assert_eq!((LTTNG_UST.count)(b"discarded 5\n", ""), None, "without babeltrace2");
    }

    #[test]
    fn a_command_stays_one_word_where_the_tool_wants_one() {
        let command = || vec!["a".to_owned(), "b".to_owned()];
        let events = ["irq".to_owned(), "sched:*".to_owned()];
        let of = |tool: &Tool| tool.wrap(command(), &events, Path::new("/f"));
        assert_eq!(of(&BPFTRACE).last().map(String::as_str), Some("a b"));
        assert_eq!(of(&STRACE)[2..], ["-o", "/f", "--", "a", "b"]);
        assert_eq!(of(&PERF_RECORD)[3..9], ["-o", "/f", "-e", "irq:*", "-e", "sched:*"]);
    }
}
