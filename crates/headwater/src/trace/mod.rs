//! `headwater trace`: makes recordings of programs and of the kernel, and processes them.
//!
//! A *recording* is a directory: `user` and `kernel`, each a trace in CTF, and `session.json`. Nothing here prints.

mod copier;
mod descendants;
mod kernel_side;
mod memory;
mod program;
pub mod record;
pub mod recording;
pub mod recover;
pub mod rows;
mod session_file;
pub mod snapshot;
pub mod switch;
pub mod view;

pub use copier::Copier;
pub use headwater_trace_tools::consumer::HOME;
pub use kernel_side::{KernelConfig, KernelEnd};
pub use memory::{SessionMemory, found};
pub use recording::{ClockChoice, Recording, RecordingConfig, RecordingOutcome};
pub use session_file::{FILE, SessionFile, WaitsForRoom};

/// The trace of programs in a recording.
const USER: &str = "user";
/// The permissions of the directory of a recording: other users are not told what programs did.
const DIRECTORY_MODE: u32 = 0o700;
/// The trace of the kernel in a recording.
const KERNEL: &str = "kernel";
/// The directory of the kernel's pages in a recording, until they are converted to a trace.
const PAGES: &str = "kernel.pages";

/// The default size of a CPU's buffer, bytes: a tenth of a second at a million events per second.
pub const BUFFER_BYTES: usize = 4 << 20;

/// Returns the environment of a trace: the program that wrote it, the host, the recorded command.
fn environment(command: &str) -> Vec<(String, String)> {
    let facts = [
        ("hostname", headwater_os_tools::machine::uname().host),
        ("tracer_name", "headwater".to_owned()),
        ("tracer_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("command", command.escape_debug().to_string()),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Returns the current time in the form that directory names use.
fn date_and_time() -> String {
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    now.replace(':', "-")
}

/// Returns the path of a new directory of that kind in the current one.
fn fresh_directory(kind: &str) -> std::path::PathBuf {
    let name = format!("{kind}-{}", date_and_time());
    let others = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(others).map(std::path::PathBuf::from);
    names.find(|path| !path.exists()).expect("there is always another number")
}
