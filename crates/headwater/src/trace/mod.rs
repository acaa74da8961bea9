//! What `headwater trace` does: recordings of programs and of the kernel, and what is done with them afterwards.
//!
//! A *recording* is a directory: `user` and `kernel`, each a trace in CTF, and `session.json`. Nothing here prints.

mod kernel_side;
mod memory;
mod pace;
mod program;
pub mod record;
pub mod recording;
pub mod recover;
pub mod rows;
mod session_file;
pub mod snapshot;
pub mod view;

pub use kernel_side::{KernelConfig, KernelEnd};
pub use memory::{HOME, SessionMemory, found};
pub use pace::Pace;
pub use recording::{ClockChoice, Recording, RecordingConfig, RecordingOutcome};
pub use session_file::{FILE, SessionFile};

/// The trace of programs in a recording.
const USER: &str = "user";
/// The trace of the kernel in a recording.
const KERNEL: &str = "kernel";
/// The kernel's pages in a recording, until they are a trace.
const PAGES: &str = "kernel.pages";

/// Bytes of a CPU's buffer unless an option says otherwise: a tenth of a second at a million events a second.
pub const BUFFER_BYTES: usize = 4 << 20;

/// The environment of a trace: who wrote it, where, of what.
fn environment(command: &str) -> Vec<(String, String)> {
    let facts = [
        ("hostname", headwater_os_tools::machine::uname().host),
        ("tracer_name", "headwater".to_owned()),
        ("tracer_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("command", command.escape_debug().to_string()),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Now, as the name of a directory may have it.
fn date_and_time() -> String {
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    now.replace(':', "-")
}

/// A directory of that kind in the current one that does not exist yet.
fn fresh_directory(kind: &str) -> std::path::PathBuf {
    let name = format!("{kind}-{}", date_and_time());
    let others = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(others).map(std::path::PathBuf::from);
    names.find(|path| !path.exists()).expect("there is always another number")
}
