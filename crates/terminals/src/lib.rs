//! Pseudo-terminals for `headwater-streams`: the driver of `ptm` and `pts`, and the modules `ptem`, `ldterm` and `pckt`. Every process
//! that uses a stream with one of them calls [`register`] first. They are written against the public interface of streams alone.
//!
//! ```
//! use headwater_streams::{DeviceOptions, IoctlTimeout};
//!
//! headwater_terminals::register()?;
//! # let path = std::env::temp_dir().join(format!("headwater-terminals-{}", std::process::id()));
//! let devices = DeviceOptions::new().directory(&path);
//! let master = devices.open("ptm")?;
//! master.ioctl(headwater_terminals::pty::UNLOCK, &mut Vec::new(), IoctlTimeout::Usual)?;
//! let terminal = devices.clone().minor(master.minor().unwrap()).open("pts")?;
//! terminal.push("ptem")?;
//! terminal.push("ldterm")?;
//! master.write(b"typed\r")?;
//! let mut line = [0; 80];
//! let count = terminal.read(&mut line)?;
//! assert_eq!(&line[..count], b"typed\n");
//! # std::fs::remove_dir_all(path).ok();
//! # Ok::<(), headwater_streams::Error>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs, missing_debug_implementations)]
#![warn(clippy::missing_errors_doc)]

pub mod ldterm;
pub mod pckt;
pub mod ptem;
pub mod pty;
pub mod termios;

use headwater_streams::{Driver, Module, Result, register_all};

static MODULES: &[&dyn Module] = &[&ldterm::LineDiscipline, &pckt::PacketMode, &ptem::TerminalEmulation];
static DRIVERS: &[&dyn Driver] = &[&pty::Pty];

/// Makes the modules and drivers of this crate known to this process; further calls do nothing.
///
/// # Errors
/// `EBUSY` if the process has registered another module or driver under one of their names.
pub fn register() -> Result<()> {
    register_all(MODULES, DRIVERS)
}
