//! The limits of a process, setrlimit(2): under each of them a stream is made and used, or the call fails. No signal ends the
//! process, and nothing that a call has reported as written is lost.

use std::time::Duration;

use headwater_streams::{Access, Device, Errno, Events, Result, Stream, pipe};

use crate::common::{child, fifo, in_own_process, open, within};

/// Every limit that Linux has, and the values that are tried. Of the two that count memory it is added to what the process has: without
/// room for its allocator a program of Rust ends, whatever library it uses.
const LIMITS: [(&str, u32, &[u64]); 16] = [
    ("RLIMIT_AS", libc::RLIMIT_AS, &[2 << 20, 7 << 20, 30 << 20]),
    ("RLIMIT_CORE", libc::RLIMIT_CORE, &[0]),
    // Seconds: 0 would end the process by itself.
    ("RLIMIT_CPU", libc::RLIMIT_CPU, &[100]),
    ("RLIMIT_DATA", libc::RLIMIT_DATA, &[1 << 20]),
    ("RLIMIT_FSIZE", libc::RLIMIT_FSIZE, &[0, 4096, 1 << 20, 7 << 20]),
    ("RLIMIT_LOCKS", libc::RLIMIT_LOCKS, &[0]),
    ("RLIMIT_MEMLOCK", libc::RLIMIT_MEMLOCK, &[0]),
    ("RLIMIT_MSGQUEUE", libc::RLIMIT_MSGQUEUE, &[0]),
    ("RLIMIT_NICE", libc::RLIMIT_NICE, &[0]),
    ("RLIMIT_NOFILE", libc::RLIMIT_NOFILE, &[0, 4, 5, 6, 7, 8, 10, 16]),
    ("RLIMIT_NPROC", libc::RLIMIT_NPROC, &[0]),
    ("RLIMIT_RSS", libc::RLIMIT_RSS, &[0]),
    ("RLIMIT_RTPRIO", libc::RLIMIT_RTPRIO, &[0]),
    ("RLIMIT_RTTIME", libc::RLIMIT_RTTIME, &[1]),
    ("RLIMIT_SIGPENDING", libc::RLIMIT_SIGPENDING, &[0]),
    ("RLIMIT_STACK", libc::RLIMIT_STACK, &[64 << 10]),
];

/// Makes an object, and moves bytes through it if it was made.
type Use = fn(&std::path::Path) -> Result<()>;

const USES: [(&str, Use); 4] = [
    ("a pipe", |_| {
        let (near, far) = pipe()?;
        passes(&near, &far)?;
        passes(&far, &near)
    }),
    ("modules", |_| {
        let (near, far) = pipe()?;
        near.push("srvmod")?;
        near.push("bufmod")?;
        near.pop()?;
        passes(&near, &far)
    }),
    ("a FIFO", |path| {
        let reader = open(path, Access::Read)?;
        let writer = open(path, Access::Write)?;
        passes(&writer, &reader)
    }),
    ("a device", |_| {
        let echo = Device::open("echo")?;
        let mut buffer = [0; 8];
        echo.write(b"echo")?;
        assert!(echo.poll(Events::IN, Some(Duration::from_secs(10)))?.contains(Events::IN), "it was written");
        assert_eq!(echo.read(&mut buffer)?, 4);
        Ok(())
    }),
];

/// Bytes of this process's memory, as /proc/self/status counts them.
fn memory_of_process(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10
}

/// Writes by every kind of call, and reads all of it.
fn passes(writer: &Stream, reader: &Stream) -> Result<()> {
    let mut buffer = [0; 64];
    writer.write(b"bytes")?;
    assert_eq!(reader.read(&mut buffer)?, 5, "they were written");
    writer.putmsg(Some(b"control"), Some(b"data"))?;
    let mut control = [0; 64];
    let got = reader.getmsg(Some(&mut control), Some(&mut buffer))?;
    assert_eq!((got.control, got.data), (Some(7), Some(4)), "it was sent");
    Ok(())
}

#[test]
fn under_each_limit_of_a_process_a_stream_works_or_a_call_fails() {
    in_own_process!();
    let (_directory, path) = fifo();
    let mut failures = Vec::new();
    for (name, limit, values) in LIMITS {
        for value in values {
            for (what, uses) in USES {
                within(Duration::from_secs(60), format!("{what} with {name} {value}"));
                let mut tried = child(|| {
                    let value = value
                        + match limit {
                            libc::RLIMIT_AS => memory_of_process("VmSize:"),
                            libc::RLIMIT_DATA => memory_of_process("VmData:"),
                            _ => 0,
                        };
                    let both = libc::rlimit { rlim_cur: value, rlim_max: value };
                    // SAFETY: a valid structure; the limit is of this child alone.
                    assert_eq!(unsafe { libc::setrlimit(limit, &both) }, 0, "{name}");
                    if let Err(error) = uses(&path) {
                        let number = error.errno();
                        println!("{what} with {name} {value}: {number:?}, {error}");
                        // Nothing but what a limit means.
                        let expected = [Errno::Mfile, Errno::Fbig, Errno::new(libc::ENOMEM), Errno::Again];
                        assert!(expected.contains(&number), "{what} with {name} {value}: {error:?}");
                    }
                    Ok(())
                });
                let ended = tried.wait().expect("wait");
                if !ended.success() {
                    failures.push(format!("{what} with {name} {value}: {ended}"));
                }
            }
        }
    }
    assert_eq!(failures, [] as [String; 0]);
}
