//! The machine and its state (MEASURING.md 2.10), captured before and after a run.
//!
//! Reading is [`Source`]'s part; what a text means is decided by pure `parse_*` functions beside it. What the machine
//! does not say is absent, never an error. Capturing runs no program, mounts nothing and changes nothing.

mod cgroup;
mod clock;
mod cpu;
mod kernel;
mod limits;
mod load;
mod memory;
mod source;
mod tracing;
mod virtualisation;

use headwater_os_tools::machine;
use headwater_results::schema::Environment;

pub use cgroup::parse_cpu_max;
pub use cpu::parse_cpu_list;
pub use source::Source;

/// The present state of this machine. Takes a few milliseconds.
pub fn capture() -> Environment {
    capture_from(&Source::machine())
}

/// As [`capture`], with the files of `source`; what system calls tell is of this machine all the same.
pub fn capture_from(source: &Source) -> Environment {
    let names = machine::uname();
    Environment {
        cpu: cpu::capture(source, &names.architecture),
        kernel: kernel::capture(source, &names),
        memory: memory::capture(source),
        limits: limits::capture(source),
        load: load::capture(source),
        virtualisation: virtualisation::capture(source, &names.architecture),
        cgroup: cgroup::capture(source, &machine::Group::own()),
        clock: clock::capture(source),
        tracing: tracing::capture(source),
        host: names.host,
    }
}

#[cfg(test)]
mod tests;
