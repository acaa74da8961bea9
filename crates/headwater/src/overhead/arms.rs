//! The configurations under which a command is measured: a table. A new one is a line here, and for a tool a line in
//! `tool.rs`.

use headwater_gauge::plan::suggest;
use headwater_trace_tools::kernel::{self, Error, Session, Settings, Support, Tracefs};

use super::kernel::Tracing;
use super::tool::{self, Tool};
use super::user::Sessions;

/// What runs while the command runs.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Nothing.
    Plain,
    /// Nothing, but the program is linked with the tracer: the command of `--built`.
    Built,
    /// A kernel session whose events are enabled, with recording off.
    Armed,
    /// A kernel session without a reader.
    Flight,
    /// A kernel session whose events are written to files.
    Drain,
    /// A session of our tracer without a reader.
    UserFlight,
    /// A session of our tracer whose events are written to files.
    UserDrain,
    /// Another tracer.
    Tool(&'static Tool),
}

/// An operation that is repeated to measure the cost of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// getppid, for which the kernel records two events.
    Calls,
    /// An event of our tracer.
    Events,
}

impl Probe {
    /// Returns the subject of its rows.
    pub fn subject(self) -> &'static str {
        match self {
            Probe::Calls => "getppid",
            Probe::Events => "event",
        }
    }
}

/// A configuration.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    /// The name: the variant of its rows.
    pub name: &'static str,
    /// The letter of the same configuration in the old experiment, if it had one.
    pub letter: &'static str,
    /// A short description.
    pub summary: &'static str,
    /// What runs while the command runs.
    pub kind: Kind,
}

/// All configurations, in the order of the tables.
pub static TABLE: &[Arm] = &[
    Arm { name: "off", letter: "A", summary: "no tracing", kind: Kind::Plain },
    Arm {
        name: "null",
        letter: "A'",
        summary: "no tracing, once more: what this run shows of nothing",
        kind: Kind::Plain,
    },
    Arm {
        name: "built",
        letter: "B",
        summary: "the tracer linked in and no session: the command of --built",
        kind: Kind::Built,
    },
    Arm {
        name: "armed",
        letter: "C",
        summary: "kernel session, events enabled, recording off: nothing is recorded",
        kind: Kind::Armed,
    },
    Arm { name: "flight", letter: "", summary: "kernel session, overwriting, no reader", kind: Kind::Flight },
    Arm { name: "drain", letter: "D", summary: "kernel session, everything into files by splice", kind: Kind::Drain },
    Arm {
        name: "user-flight",
        letter: "",
        summary: "a session of our tracer for the program's own events, overwriting, no reader",
        kind: Kind::UserFlight,
    },
    Arm {
        name: "user-drain",
        letter: "D",
        summary: "a session of our tracer for the program's own events, everything into files",
        kind: Kind::UserDrain,
    },
    Arm {
        name: "perf-record",
        letter: "",
        summary: "perf record of the same events",
        kind: Kind::Tool(&tool::PERF_RECORD),
    },
    Arm { name: "perf-trace", letter: "", summary: "perf trace of the command", kind: Kind::Tool(&tool::PERF_TRACE) },
    Arm {
        name: "bpftrace-count",
        letter: "",
        summary: "bpftrace, which counts system calls",
        kind: Kind::Tool(&tool::BPFTRACE),
    },
    Arm {
        name: "lttng-ust",
        letter: "",
        summary: "a session of LTTng for the program's own tracepoints of LTTng-UST",
        kind: Kind::Tool(&tool::LTTNG_UST),
    },
    Arm { name: "strace", letter: "", summary: "strace -f", kind: Kind::Tool(&tool::STRACE) },
];

/// Returns the configuration with that name.
///
/// # Errors
/// Returns all names in one line.
pub fn find(name: &str) -> Result<&'static Arm, String> {
    let found = TABLE.iter().find(|arm| arm.name == name);
    found.ok_or_else(|| suggest::there_are(name, TABLE.iter().map(|arm| arm.name)))
}

/// The reason for which the kernel half has no `built`.
const NO_BUILT: &str = "not here: tracing that is built into the kernel and off is `off`, and A and B coincide on one \
                        kernel; `headwater compare RUNS --by kernel` compares kernels, and --built names a program's \
                        build with the tracer linked in";

impl Arm {
    /// Checks whether this machine can measure it; returns the reason why not.
    ///
    /// # Errors
    /// An event that does not exist, to get the error message of the kernel session.
    pub fn obstacle(&self, tracing: &Tracing, user: &Sessions, has_built: bool) -> Result<Option<String>, Error> {
        match self.kind {
            Kind::Plain => Ok(None),
            Kind::Built => Ok((!has_built).then(|| NO_BUILT.to_owned())),
            Kind::Armed | Kind::Flight | Kind::Drain => {
                if let Some(why) = Support::look().obstacle() {
                    return Ok(Some(why.to_owned()));
                }
                trial(tracing)
            }
            Kind::UserFlight | Kind::UserDrain => Ok(user.obstacle()),
            Kind::Tool(tool) => Ok(tool.obstacle()),
        }
    }

    /// Returns whether it records the events of programs that are linked with our tracer.
    pub fn is_of_user(&self) -> bool {
        matches!(self.kind, Kind::UserFlight | Kind::UserDrain)
    }

    /// Returns whether it runs the program that is linked with the tracer, if there is one.
    pub fn takes_built(&self) -> bool {
        matches!(self.kind, Kind::Built) || self.is_of_user()
    }

    /// Returns the probes that measure the cost of an event in it, given the configurations of the run. getppid costs
    /// the same in a build with the tracer.
    pub fn probes(&self, others: &[&Arm]) -> &'static [Probe] {
        match self.kind {
            Kind::Plain if others.iter().any(|arm| arm.is_of_user()) => &[Probe::Calls, Probe::Events],
            Kind::Plain | Kind::Armed | Kind::Flight | Kind::Drain => &[Probe::Calls],
            Kind::UserFlight | Kind::UserDrain => &[Probe::Events],
            Kind::Tool(tool) if tool.sees_calls => &[Probe::Calls],
            Kind::Built | Kind::Tool(_) => &[],
        }
    }
}

/// Checks whether a session with these events can be started. It records this process only and disturbs no other.
fn trial(tracing: &Tracing) -> Result<Option<String>, Error> {
    // An abandoned instance that keeps recording would be part of the measurement.
    let _ = Tracefs::find().and_then(|found| kernel::sweep(&found));
    let settings = Settings { processes: Some(vec![std::process::id()]), ..tracing.settings() };
    match Session::start(&settings) {
        Ok(_) => Ok(None),
        Err(error @ Error::UnknownEvent { .. }) => Err(error),
        Err(error) => Ok(Some(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_a_wrong_one_gets_the_list() {
        for arm in TABLE {
            assert_eq!(find(arm.name).expect("of the table").name, arm.name);
        }
        assert!(find("drian").expect_err("there is none").contains("drain"));
    }

    #[test]
    fn what_is_priced_is_priced_by_a_probe_that_is_measured_without_tracing_too() {
        let all: Vec<&Arm> = TABLE.iter().collect();
        let off = find("off").expect("of the table");
        for arm in &all {
            assert!(arm.probes(&all).iter().all(|probe| off.probes(&all).contains(probe)), "{arm:?}");
        }
        assert_eq!(off.probes(&[off]), [Probe::Calls], "what nobody records is not probed");
    }

    #[test]
    fn the_kernel_half_has_no_build_without_tracing_and_says_why() {
        let built = find("built").expect("of the table");
        let tracing = Tracing::default();
        let user = Sessions::new(&["*".to_owned()], &std::env::temp_dir());
        assert!(built.obstacle(&tracing, &user, false).expect("no event").expect("a reason").starts_with("not here"));
        assert_eq!(built.obstacle(&tracing, &user, true).expect("no event"), None);
    }
}
