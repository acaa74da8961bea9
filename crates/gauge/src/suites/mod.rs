//! The suites: the rows that answer one question. One file each, and the table below.

use headwater_results::schema::{Placement, Row, WorkerKind};

use crate::harness::protocol::Description;
use crate::plan::rows;
use crate::plan::sizes::Sizes;
use crate::{facilities, patterns, transports};

pub mod choice;
pub mod fifo;
pub mod ipc;
pub mod lmbench;
pub mod netperf;
pub mod overview;
pub mod pipes;
pub mod pty;
pub mod sync;
pub mod tracing;
pub mod udp;
pub mod uses;
pub mod why;
pub mod xti;

/// A suite.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// The name on the command line.
    pub name: &'static str,
    /// The question that the suite answers, in one line.
    pub summary: &'static str,
    /// The settings that apply unless an option overrides them.
    pub defaults: Defaults,
    /// Returns its rows.
    pub rows: fn(&Axes<'_>) -> Vec<Row>,
}

/// The default settings of a suite.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Launches per row.
    pub launches: u32,
    /// Measured time per launch, s.
    pub time_s: f64,
    /// Minimum warm-up per launch, s.
    pub warm_up_s: f64,
    /// The time limit of a run, s.
    pub budget_s: Option<f64>,
    /// Placements on a machine with two CPUs or more. With one CPU, all processes share it.
    pub placements: &'static [Placement],
}

/// The values of a suite's parameters: the user's choice, or the defaults.
#[derive(Clone, Debug)]
pub struct Axes<'a> {
    /// Message sizes that replace those of the suite.
    pub sizes: Option<&'a Sizes>,
    /// Placements.
    pub placements: &'a [Placement],
    /// The external programs that take part.
    pub externals: &'a [Description],
}

/// All suites, in the order of the help text; the first is that of a run without words.
pub static TABLE: &[Suite] = &[
    choice::SUITE,
    overview::SUITE,
    ipc::SUITE,
    fifo::SUITE,
    sync::SUITE,
    lmbench::SUITE,
    pipes::SUITE,
    pty::SUITE,
    why::SUITE,
    udp::SUITE,
    xti::SUITE,
    netperf::SUITE,
    uses::SUITE,
    tracing::SUITE,
];

/// The suite whose rows words select from that name no suite: the one with every transport.
pub static WHOLE: &Suite = &overview::SUITE;

/// Returns the suite with that name.
pub fn find(name: &str) -> Option<&'static Suite> {
    TABLE.iter().find(|suite| suite.name == name)
}

impl Axes<'_> {
    /// Returns the sizes that the user chose, or else `own`.
    pub fn sizes_or(&self, own: &[u64]) -> Vec<u64> {
        self.sizes.map_or_else(|| own.to_vec(), |sizes| sizes.0.clone())
    }

    /// Returns the rows of a pattern: every transport that `wanted` accepts and that the pattern accepts, then the
    /// external programs that support it, at each size and placement.
    pub fn messaging(&self, pattern: &str, sizes: &[u64], wanted: impl Fn(&transports::Info) -> bool) -> Vec<Row> {
        let entry = patterns::find(pattern).expect("suites name patterns of the table");
        let mut rows = Vec::new();
        for &placement in self.placements {
            for transport in transports::TABLE.iter().map(|entry| entry.info).filter(|info| wanted(info)) {
                for &size in sizes {
                    if makes_sense(entry, transport, size, placement).is_ok() {
                        rows.push(rows::of_transport(transport, entry.info, size, None, placement));
                    }
                }
            }
            let players = self
                .externals
                .iter()
                .filter(|description| entry.info.external && description.patterns.iter().any(|known| known == pattern));
            for description in players {
                for &size in sizes.iter().filter(|&&size| fits(description, size)) {
                    rows.push(rows::of_external(description, entry.info, size, placement));
                }
            }
        }
        rows
    }

    /// Returns the rows of a pattern with a fixed number of messages: the named transports at each size and count.
    pub fn counted(&self, pattern: &str, names: &[&str], sizes: &[u64], counts: &[u64]) -> Vec<Row> {
        let entry = patterns::find(pattern).expect("suites name patterns of the table");
        let mut rows = Vec::new();
        for &placement in self.placements {
            for transport in transports::TABLE.iter().map(|entry| entry.info).filter(|info| names.contains(&info.name))
            {
                for &size in sizes {
                    for &count in counts {
                        if makes_sense(entry, transport, size, placement).is_ok() {
                            rows.push(rows::of_transport(transport, entry.info, size, Some(count), placement));
                        }
                    }
                }
            }
        }
        rows
    }

    /// Returns the rows of a facility without parameters: one for each subject.
    pub fn subjects(&self, facility: &str) -> Vec<Row> {
        let entry = facilities::find(facility).expect("suites name facilities of the table");
        let of_placement = |&placement: &Placement| {
            let subjects = (entry.subjects)().into_iter();
            subjects.map(move |subject| rows::of_subject(&subject, entry.info, placement))
        };
        self.placements.iter().flat_map(of_placement).collect()
    }

    /// Returns the rows of a facility with workers: each subject with each number of processes, then of threads.
    pub fn workers(&self, facility: &str, numbers: &[u32], kinds: &[WorkerKind]) -> Vec<Row> {
        let entry = facilities::find(facility).expect("suites name facilities of the table");
        let mut rows = Vec::new();
        for &placement in self.placements {
            for &kind in kinds {
                for subject in (entry.subjects)() {
                    for &workers in numbers {
                        let row = rows::of_workers(&subject, entry.info, workers, kind, placement);
                        if (entry.accepts)(&row).is_ok() {
                            rows.push(row);
                        }
                    }
                }
            }
        }
        rows
    }
}

/// Checks whether a pattern makes sense over a transport, on any machine.
///
/// # Errors
/// The reason why not.
pub fn makes_sense(
    pattern: &patterns::Entry,
    transport: &transports::Info,
    size: u64,
    placement: Placement,
) -> Result<(), String> {
    if transport.spins && placement == Placement::SameCpu {
        return Err(format!("{} spins: on one CPU each end would wait out the other's time slice", transport.name));
    }
    (pattern.accepts)(transport, usize::try_from(size).unwrap_or(usize::MAX))
}

/// Selects the transports of a suite that covers all transports: those that do not belong to one suite only.
pub fn general_purpose(transport: &transports::Info) -> bool {
    !transport.special
}

fn fits(description: &Description, size: u64) -> bool {
    size >= description.size_min && description.size_max.is_none_or(|size_max| size <= size_max)
}

/// Returns the sizes from `from` to `to`, each twice the previous one.
pub fn doubling(from: u64, to: u64) -> Vec<u64> {
    std::iter::successors(Some(from), |size| size.checked_mul(2)).take_while(|&size| size <= to).collect()
}
