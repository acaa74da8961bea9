//! The machine and its state (MEASURING.md 2.10), captured before and after a run.
//!
//! [`Source`] reads the files; the pure `parse_*` functions interpret the texts. A fact that the machine does not
//! provide is absent, never an error. Capturing runs no program, mounts nothing and changes nothing.

mod cgroup;
mod clock;
mod cpu;
mod kernel;
mod limits;
mod load;
mod machine_id;
mod memory;
mod other_measurements;
mod scheduling;
mod source;
mod tracing;
mod virtualisation;

use headwater_os_tools::machine;
use headwater_results::schema::Environment;

pub use cgroup::parse_cpu_max;
pub use cpu::parse_cpu_list;
pub use machine_id::parse_machine_id;
pub use source::Source;

/// Captures the present state of this machine. Takes a few milliseconds.
pub fn capture() -> Environment {
    capture_from(&Source::machine())
}

/// Captures like [`capture`], with the files of `source`. System calls still report on this machine.
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
        scheduling: scheduling::capture(source),
        tracing: tracing::capture(source),
        host: names.host,
        machine: machine_id::capture(source),
    }
}

#[cfg(test)]
mod tests;
