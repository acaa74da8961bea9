//! A driver that writes a log of its opens and closes, for tests of the close procedure.

#![allow(dead_code, reason = "each test program uses its part")]

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::private_directory;
use headwater_streams::{Driver, DriverInfo, Kind, Message, Opening, Queue, Result, register_driver};

/// The driver's names: with streams that stand alone, and in pairs.
pub const ALONE: &str = "closing";
pub const PAIRED: &str = "closing-pairs";

/// Writes a line for each call of its close procedure, and for each first open. What is written to a stream is its state.
#[derive(Debug)]
struct Closing {
    name: &'static str,
    pairs: bool,
}

/// All processes of a test append to it.
static LOG: OnceLock<File> = OnceLock::new();
/// The close procedure of this process does not come to its end.
pub static DIES: AtomicBool = AtomicBool::new(false);

impl Driver for Closing {
    fn info(&self) -> DriverInfo {
        let info = DriverInfo::new(self.name);
        if self.pairs { info.pairs() } else { info }
    }

    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        assert!(!queue.is_stand_in());
        if opening.is_first {
            log(&format!("open {}", opening.minor));
        }
        Ok(())
    }

    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        let minor = queue.minor().expect("a device");
        let what = if queue.is_stand_in() { "lost".to_owned() } else { format!("of {}", queue.state()[0]) };
        log(&format!("close {minor} {what}"));
        if DIES.load(Ordering::Relaxed) {
            headwater_os::child::kill_self();
        }
        log(&format!("closed {minor} by {}", std::process::id()));
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if message.header.kind != Kind::Data {
            return Ok(());
        }
        let mut state = queue.state();
        state[0] = message.data().and_then(|data| std::str::from_utf8(data).ok()?.parse().ok()).expect("a number");
        queue.set_state(state);
        if queue.has_partner() { queue.put_partner(message) } else { Ok(()) }
    }
}

fn log(line: &str) {
    LOG.get().expect("made before").write_all(format!("{line}\n").as_bytes()).expect("room");
}

/// A directory of devices, and an empty log.
pub fn start() -> tempfile::TempDir {
    LOG.get_or_init(|| {
        register_driver(Closing { name: ALONE, pairs: false }).expect("new");
        register_driver(Closing { name: PAIRED, pairs: true }).expect("new");
        let path = tempfile::NamedTempFile::new().expect("a file").into_temp_path();
        File::options().read(true).append(true).open(&path).expect("it is there")
    });
    forget();
    private_directory()
}

/// Empties the log.
pub fn forget() {
    LOG.get().expect("made before").set_len(0).expect("own");
}

pub fn logged() -> Vec<String> {
    let mut bytes = vec![0; 10_000];
    let count = LOG.get().expect("made before").read_at(&mut bytes, 0).expect("own");
    String::from_utf8_lossy(&bytes[..count]).lines().map(str::to_owned).collect()
}

/// Lines that begin like that.
pub fn count(prefix: &str) -> usize {
    logged().iter().filter(|line| line.starts_with(prefix)).count()
}

/// Each open has a close; a second one at most where the process was killed between its line and the end of the procedure, and one
/// without an open where the process was killed in that.
pub fn check_closes(lines: &[String], minor: u32, killed: &[String]) {
    let is_of = |line: &&String| line.split(' ').nth(1) == Some(&minor.to_string());
    let (mut is_open, mut may_repeat, mut begun) = (false, false, 0);
    for line in lines.iter().filter(is_of) {
        let words: Vec<_> = line.split(' ').collect();
        match words[0] {
            "open" => {
                assert!(!is_open, "{minor} is opened twice: {lines:?}");
                (is_open, may_repeat, begun) = (true, false, 0);
            }
            "close" => {
                begun += 1;
                // Of an open that was killed before its line.
                may_repeat |= words[2] == "lost" && !killed.is_empty();
            }
            _ => {
                assert!(is_open || may_repeat, "{minor} is closed twice: {lines:?}");
                is_open = false;
                may_repeat = killed.iter().any(|killed| killed == words[3]);
            }
        }
        // Those that were killed in the procedure.
        assert!(begun <= 1 + killed.len(), "{lines:?}");
    }
    assert!(!is_open, "{minor} is left open: {lines:?}");
}
